// CUDA C++ as plain C++17: kernels run on the CPU, so that tests of them need no GPU.
//
//     grid     blocks run one after another
//     block    threads are fibers on stacks of their own; they switch at barriers and at intrinsics of a warp, and nowhere else
//     shared   static storage, filled with 0xff (NaN, -1) before each block, as is dynamic shared memory
//
// tests/helpers/cuda_emulator.py puts this text in front of a .cu file, rewrites its declarations of shared memory and registers its
// kernels. Errors that a GPU may not report end a launch with a message: a barrier or an intrinsic that other threads never reach,
// barriers on different lines, writes beyond dynamic shared memory. The order in which threads run can be forward, reverse or random;
// results that depend on it mean that a barrier is missing.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(__x86_64__) || defined(KDI_EMULATOR_UCONTEXT)
#define EMULATOR_UCONTEXT
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace emulator {

// ---------------------------------------------------------------------------------------------------------------------- fibers

#ifdef EMULATOR_UCONTEXT

struct Context {
    ucontext_t saved;
};
inline void switch_to(Context& from, Context& to) { swapcontext(&from.saved, &to.saved); }
inline void prepare(Context& context, char* stack, size_t size, void (*entry)()) {
    getcontext(&context.saved);
    context.saved.uc_stack.ss_sp = stack;
    context.saved.uc_stack.ss_size = size;
    context.saved.uc_link = nullptr;
    makecontext(&context.saved, entry, 0);
}

#else

extern "C" void emulator_switch(void** from, void* to);
asm(R"(
    .text
    .p2align 4
    .globl emulator_switch
    .hidden emulator_switch
    .type emulator_switch, @function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulator_switch, .-emulator_switch
)");

struct Context {
    void* stack_pointer = nullptr;
};
inline void switch_to(Context& from, Context& to) { emulator_switch(&from.stack_pointer, to.stack_pointer); }
inline void prepare(Context& context, char* stack, size_t size, void (*entry)()) {
    void** top = reinterpret_cast<void**>(stack + size) - 3;  // 8 more than a multiple of 16, as after a call
    *top = nullptr;                                           // the entry's return address: it never returns
    *--top = reinterpret_cast<void*>(entry);
    context.stack_pointer = top - 6;
}

#endif

// ----------------------------------------------------------------------------------------------------------------------- blocks

struct Index {
    unsigned x = 0, y = 0, z = 0;
};

constexpr int warp_size = 32, max_threads = 1024;
constexpr size_t stack_size = 256 * 1024, canary_size = 4096, max_shared = 232448;
constexpr unsigned char poison = 0xff, canary = 0xc5;

enum class State { ready, at_barrier, at_warp, finished };
enum Order { forward, reverse, shuffled };

// A thread of the block, and what it waits for.
struct Thread {
    Context context;
    Index index;
    State state = State::finished;
    int line = 0;
    const char* operation = "";
    unsigned mask = 0;
    int source = 0;  // lane of a shuffle
    uint64_t sent = 0, received = 0;
    unsigned ballot = 0;
};

struct Machine {
    Context scheduler;
    Thread threads[max_threads];
    Thread* current = nullptr;
    int n_threads = 0;
    Index block, block_size, grid;
    std::function<void()> kernel;
    std::string error;
    std::vector<unsigned char> dynamic;
    size_t dynamic_size = 0, static_size = 0;
    std::vector<const void*> claimed;
    char* stacks = nullptr;
    Order order = forward;
    std::mt19937 random;
    std::mutex mutex;

    [[noreturn]] void fail(const std::string& message) {
        if (error.empty()) error = message;
        switch_to(current->context, scheduler);  // which abandons the block
        std::abort();
    }
    void wait(State state, const char* operation, int line) {
        current->state = state;
        current->operation = operation;
        current->line = line;
        switch_to(current->context, scheduler);
    }
};

inline Machine machine;

// Threads that wait at the same place, as text.
inline std::string describe_waiting() {
    std::string text;
    const auto same = [](const Thread& a, const Thread& b) {
        return a.state == b.state && (a.state == State::finished || (a.operation == b.operation && a.line == b.line && a.mask == b.mask));
    };
    for (int first = 0, last; first < machine.n_threads; first = last) {
        const Thread& thread = machine.threads[first];
        for (last = first; last < machine.n_threads && same(machine.threads[last], thread);) ++last;
        text += "\n  threads " + std::to_string(first) + " to " + std::to_string(last - 1);
        if (thread.state == State::finished) text += " have returned";
        else text += std::string(" wait in ") + thread.operation + " on line " + std::to_string(thread.line);
        if (text.size() > 1500) return text + "\n  ...";
    }
    return text;
}

inline void release_barrier() {
    int line = 0, n_waiting = 0;
    bool is_divergent = false;
    for (int t = 0; t < machine.n_threads; ++t) {
        const Thread& thread = machine.threads[t];
        if (thread.state == State::finished) continue;
        if (thread.state != State::at_barrier) return;
        is_divergent |= n_waiting && thread.line != line;
        line = thread.line;
        ++n_waiting;
    }
    if (is_divergent) {
        machine.error = "__syncthreads on different lines" + describe_waiting();
        return;
    }
    for (int t = 0; t < machine.n_threads; ++t)
        if (machine.threads[t].state == State::at_barrier) machine.threads[t].state = State::ready;
}

// Exchange values between lanes once all lanes of a mask, except those that have returned, have come to the same intrinsic.
inline void release_warp(int warp) {
    Thread* const lanes = machine.threads + warp * warp_size;
    const int n_lanes = std::min(warp_size, machine.n_threads - warp * warp_size);
    for (int k = 0; k < n_lanes; ++k) {
        if (lanes[k].state != State::at_warp) continue;
        const unsigned mask = lanes[k].mask;
        unsigned present = 0, ballot = 0;
        bool is_complete = true;
        for (int l = 0; l < n_lanes; ++l) {
            if (!(mask >> l & 1) || lanes[l].state == State::finished) continue;
            if (lanes[l].state != State::at_warp || lanes[l].mask != mask || lanes[l].operation != lanes[k].operation ||
                lanes[l].line != lanes[k].line)
                is_complete = false;
            present |= 1u << l;
            ballot |= lanes[l].sent ? 1u << l : 0;
        }
        if (!is_complete) continue;
        for (int l = 0; l < n_lanes; ++l) {
            if (!(present >> l & 1)) continue;
            const int source = lanes[l].source;
            lanes[l].received = present >> source & 1 ? lanes[source].sent : ~uint64_t(0);
            lanes[l].ballot = ballot;
            lanes[l].state = State::ready;
        }
    }
}

inline void run_thread() {
    machine.kernel();
    machine.current->state = State::finished;
    switch_to(machine.current->context, machine.scheduler);
    std::abort();
}

inline std::vector<int> ordered(int n) {
    std::vector<int> result(n);
    std::iota(result.begin(), result.end(), 0);
    if (machine.order == reverse) std::reverse(result.begin(), result.end());
    if (machine.order == shuffled) std::shuffle(result.begin(), result.end(), machine.random);
    return result;
}

inline void run_block() {
    const int n_threads = machine.n_threads, n_warps = (n_threads + warp_size - 1) / warp_size;
    std::fill(machine.dynamic.begin(), machine.dynamic.begin() + machine.dynamic_size, poison);
    std::fill(machine.dynamic.begin() + machine.dynamic_size, machine.dynamic.end(), canary);
    machine.claimed.clear();
    machine.static_size = 0;
    for (int t = 0; t < n_threads; ++t) {
        Thread& thread = machine.threads[t];
        thread = Thread();
        thread.index.x = t;
        thread.state = State::ready;
        prepare(thread.context, machine.stacks + t * stack_size, stack_size, run_thread);
    }
    for (;;) {
        bool has_moved = false;
        for (const int warp : ordered(n_warps)) {
            const int first = warp * warp_size, n_lanes = std::min(warp_size, n_threads - first);
            const std::vector<int> lanes = ordered(n_lanes);
            for (bool has_run = true; has_run;) {
                has_run = false;
                for (const int lane : lanes) {
                    Thread& thread = machine.threads[first + lane];
                    if (thread.state != State::ready) continue;
                    machine.current = &thread;
                    switch_to(machine.scheduler, thread.context);
                    if (!machine.error.empty()) return;
                    has_run = has_moved = true;
                }
                if (has_run) release_warp(warp);
            }
        }
        release_barrier();
        if (!machine.error.empty()) return;
        int n_finished = 0;
        for (int t = 0; t < n_threads; ++t) n_finished += machine.threads[t].state == State::finished;
        if (n_finished == n_threads) break;
        if (!has_moved) {
            machine.error = "deadlock" + describe_waiting();
            return;
        }
    }
    for (size_t k = machine.dynamic_size; k < machine.dynamic.size(); ++k)
        if (machine.dynamic[k] != canary) {
            machine.error = "write beyond " + std::to_string(machine.dynamic_size) + " bytes of dynamic shared memory, at byte " +
                std::to_string(k);
            return;
        }
}

// ------------------------------------------------------------------------------------------------------------- shared memory

template <class Number>
Number* dynamic_shared() {
    return reinterpret_cast<Number*>(machine.dynamic.data());
}

// Called by every thread at the declaration of a shared variable; the first one of a block poisons it.
inline void claim(void* variable, size_t size) {
    if (std::find(machine.claimed.begin(), machine.claimed.end(), variable) != machine.claimed.end()) return;
    machine.claimed.push_back(variable);
    machine.static_size += size;
    if (machine.static_size > 49152) machine.fail("more than 48 KiB of static shared memory");
    if (machine.static_size + machine.dynamic_size > max_shared) machine.fail("more than 227 KiB of shared memory");
    std::memset(variable, poison, size);
}

// ------------------------------------------------------------------------------------------------------------------- launches

// A letter per parameter: i, l, f, d for numbers of 4 and 8 bytes; for pointers, * and the size of what they point to.
template <class Arg>
std::string letter_of() {
    if constexpr (std::is_pointer_v<Arg>) {
        typedef std::remove_cv_t<std::remove_pointer_t<Arg>> Value;
        if constexpr (std::is_void_v<Value>) return "*0";
        else return "*" + std::to_string(sizeof(Value));
    } else {
        static_assert(std::is_arithmetic_v<Arg> && (sizeof(Arg) == 4 || sizeof(Arg) == 8), "a type that the launcher cannot pass");
        if constexpr (std::is_floating_point_v<Arg>) return sizeof(Arg) == 4 ? "f" : "d";
        else return sizeof(Arg) == 4 ? "i" : "l";
    }
}

struct Entry {
    std::string name, signature;
    int max_block;
    std::function<std::function<void()>(const uint64_t*)> bind;
};

inline std::vector<Entry>& entries() {
    static std::vector<Entry> all;
    return all;
}

template <class Arg>
Arg slot_as(uint64_t slot) {
    Arg value;
    std::memcpy(&value, &slot, sizeof(Arg));
    return value;
}

template <class... Args, size_t... places>
std::function<void()> bind_slots(void (*kernel)(Args...), const uint64_t* slots, std::index_sequence<places...>) {
    (void)slots;
    return [kernel, values = std::make_tuple(slot_as<Args>(slots[places])...)] { std::apply(kernel, values); };
}

struct Registration {
    template <class... Args>
    Registration(const char* name, void (*kernel)(Args...), int max_block) {
        std::string signature;
        ((signature += letter_of<Args>() + " "), ...);
        entries().push_back(
            {name, signature, max_block, [kernel](const uint64_t* slots) { return bind_slots(kernel, slots, std::index_sequence_for<Args...>()); }});
    }
};

}  // namespace emulator

// Everything else is hidden, so that libraries that are loaded together share no state.
#define EMULATOR_EXPORT __attribute__((visibility("default"), used)) inline

extern "C" {

EMULATOR_EXPORT int emulator_count() { return static_cast<int>(emulator::entries().size()); }
EMULATOR_EXPORT const char* emulator_name(int k) { return emulator::entries()[k].name.c_str(); }
EMULATOR_EXPORT const char* emulator_signature(int k) { return emulator::entries()[k].signature.c_str(); }
EMULATOR_EXPORT int emulator_max_block(int k) { return emulator::entries()[k].max_block; }

// Return 0, or 1 and write a message of at most 2000 characters.
EMULATOR_EXPORT int emulator_launch(int k, unsigned grid_x, unsigned grid_y, int block, size_t shared_bytes, int order, unsigned seed,
                                    const uint64_t* slots, char* message) {
    using emulator::machine;
    const std::lock_guard<std::mutex> lock(machine.mutex);
    machine.error.clear();
    if (!machine.stacks) {
        void* const memory = mmap(nullptr, emulator::max_threads * emulator::stack_size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            std::snprintf(message, 2000, "no memory for stacks");
            return 1;
        }
        machine.stacks = static_cast<char*>(memory);
    }
#ifdef __SANITIZE_ADDRESS__
    std::vector<unsigned char>(shared_bytes).swap(machine.dynamic);  // of the exact size: the sanitizer sees reads beyond it too
#else
    machine.dynamic.resize(shared_bytes + emulator::canary_size);
#endif
    machine.dynamic_size = shared_bytes;
    machine.n_threads = block;
    machine.block_size = {static_cast<unsigned>(block), 1, 1};
    machine.grid = {grid_x, grid_y, 1};
    machine.order = static_cast<emulator::Order>(order);
    machine.random.seed(seed);
    machine.kernel = emulator::entries()[k].bind(slots);
    for (unsigned y = 0; y < grid_y && machine.error.empty(); ++y)
        for (unsigned x = 0; x < grid_x && machine.error.empty(); ++x) {
            machine.block = {order ? grid_x - 1 - x : x, order ? grid_y - 1 - y : y, 0};
#ifdef __SANITIZE_ADDRESS__
            ASAN_UNPOISON_MEMORY_REGION(machine.stacks, block * emulator::stack_size);
#endif
            emulator::run_block();
        }
    machine.kernel = nullptr;
    if (machine.error.empty()) return 0;
    std::snprintf(message, 2000, "block (%u, %u): %s", machine.block.x, machine.block.y, machine.error.c_str());
    return 1;
}

}  // extern "C"

// ------------------------------------------------------------------------------------------------------ the language of CUDA

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __restrict__
#define threadIdx (::emulator::machine.current->index)
#define blockIdx (::emulator::machine.block)
#define blockDim (::emulator::machine.block_size)
#define gridDim (::emulator::machine.grid)

constexpr int warpSize = 32;

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

// Barriers and intrinsics of a warp. A default argument is evaluated where the function is called: it gives the caller's line.
inline void __syncthreads(int line = __builtin_LINE()) {
    emulator::machine.wait(emulator::State::at_barrier, "__syncthreads", line);
}

namespace emulator {

// `operation` must be one pointer per intrinsic.
inline const Thread& exchange(const char* operation, unsigned mask, uint64_t sent, int source, int line) {
    Thread& own = *machine.current;
    if (!(mask >> own.index.x % warp_size & 1)) machine.fail(std::string(operation) + " by a lane that its mask does not name");
    own.mask = mask;
    own.sent = sent;
    own.source = source;
    machine.wait(State::at_warp, operation, line);
    return own;
}

template <class Number>
Number shuffle(const char* operation, unsigned mask, Number value, int source, int width, int line) {
    static_assert(sizeof(Number) == 4 || sizeof(Number) == 8, "shuffles take 4 or 8 bytes");
    const int lane = machine.current->index.x % warp_size, begin = lane / width * width;
    if (source < begin || source >= begin + width) source = lane;
    uint64_t sent = 0;
    std::memcpy(&sent, &value, sizeof(Number));
    return slot_as<Number>(exchange(operation, mask, sent, source, line).received);
}

inline int lane() { return machine.current->index.x % warp_size; }

inline const char *const in_sync = "__syncwarp", *const in_any = "__any_sync", *const in_all = "__all_sync",
                         *const in_ballot = "__ballot_sync", *const in_shfl = "__shfl_sync", *const in_up = "__shfl_up_sync",
                         *const in_down = "__shfl_down_sync", *const in_xor = "__shfl_xor_sync";

}  // namespace emulator

inline void __syncwarp(unsigned mask = 0xffffffff, int line = __builtin_LINE()) {
    emulator::exchange(emulator::in_sync, mask, 0, 0, line);
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return emulator::exchange(emulator::in_any, mask, predicate != 0, 0, line).ballot != 0;
}
inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return emulator::exchange(emulator::in_ballot, mask, predicate != 0, 0, line).ballot;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return emulator::exchange(emulator::in_all, mask, predicate == 0, 0, line).ballot == 0;
}
template <class Number>
Number __shfl_sync(unsigned mask, Number value, int source, int width = 32, int line = __builtin_LINE()) {
    return emulator::shuffle(emulator::in_shfl, mask, value, emulator::lane() / width * width + (source & (width - 1)), width, line);
}
template <class Number>
Number __shfl_up_sync(unsigned mask, Number value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
    return emulator::shuffle(emulator::in_up, mask, value, emulator::lane() - static_cast<int>(delta), width, line);
}
template <class Number>
Number __shfl_down_sync(unsigned mask, Number value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
    return emulator::shuffle(emulator::in_down, mask, value, emulator::lane() + static_cast<int>(delta), width, line);
}
template <class Number>
Number __shfl_xor_sync(unsigned mask, Number value, int lane_mask, int width = 32, int line = __builtin_LINE()) {
    return emulator::shuffle(emulator::in_xor, mask, value, emulator::lane() ^ lane_mask, width, line);
}

inline void __threadfence() {}
inline void __threadfence_block() {}

// Threads only switch at barriers, so that these need no atomic instruction.
template <class Number>
Number atomicAdd(Number* to, std::common_type_t<Number> amount) {
    const Number before = *to;
    *to = before + amount;
    return before;
}
template <class Number>
Number atomicMin(Number* to, std::common_type_t<Number> value) {
    const Number before = *to;
    if (value < before) *to = value;
    return before;
}
template <class Number>
Number atomicMax(Number* to, std::common_type_t<Number> value) {
    const Number before = *to;
    if (value > before) *to = value;
    return before;
}
template <class Number>
Number atomicExch(Number* to, std::common_type_t<Number> value) {
    const Number before = *to;
    *to = value;
    return before;
}
template <class Number>
Number atomicCAS(Number* to, std::common_type_t<Number> expected, std::common_type_t<Number> value) {
    const Number before = *to;
    if (before == expected) *to = value;
    return before;
}
template <class Number>
Number atomicOr(Number* to, std::common_type_t<Number> value) {
    const Number before = *to;
    *to = before | value;
    return before;
}

// ------------------------------------------------------------------------------------------------------------------- numbers

namespace emulator {

template <class To, class From>
To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

// float16 by its bits; every one is a float.
inline float half_to_float(unsigned short bits) {
    const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    if (exponent == 31) return bits_as<float>(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
    if (exponent) return bits_as<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float tiny = static_cast<float>(fraction) * 5.9604644775390625e-08f;  // 2^-24
    return sign ? -tiny : tiny;
}

// Round to nearest, ties to even, as cvt.rn.f16.f32 does.
inline unsigned short float_to_half(float x) {
    const unsigned bits = bits_as<unsigned>(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return 0x7fff;
    if (size >= 0x477ff000) return static_cast<unsigned short>(sign | 0x7c00);  // 65520 and above
    if (size < 0x38800000) {                                                    // below 2^-14: a multiple of 2^-24
        const float tiny = bits_as<float>(size) + 0.5f;                         // whose last bit is worth 2^-24
        return static_cast<unsigned short>(sign | (bits_as<unsigned>(tiny) - 0x3f000000));
    }
    return static_cast<unsigned short>(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

}  // namespace emulator

inline int __float_as_int(float x) { return emulator::bits_as<int>(x); }
inline unsigned __float_as_uint(float x) { return emulator::bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return emulator::bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return emulator::bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return emulator::bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return emulator::bits_as<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(emulator::bits_as<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(emulator::bits_as<uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
    return emulator::bits_as<double>(static_cast<uint64_t>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low));
}
inline float __double2float_ru(double x) {
    const float nearest = static_cast<float>(x);
    return static_cast<double>(nearest) < x ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}
inline long long __double2ll_rn(double x) { return std::llrint(x); }
inline int __double2int_rn(double x) { return static_cast<int>(std::lrint(x)); }
inline int __float2int_rn(float x) { return static_cast<int>(std::lrint(x)); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
template <class Number>
Number __ldg(const Number* from) {
    return *from;
}

#define EMULATED_EXTREMES(TYPE)                                  \
    inline TYPE min(TYPE a, TYPE b) { return b < a ? b : a; }    \
    inline TYPE max(TYPE a, TYPE b) { return a < b ? b : a; }
EMULATED_EXTREMES(int)
EMULATED_EXTREMES(unsigned)
EMULATED_EXTREMES(long long)
EMULATED_EXTREMES(unsigned long long)
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

using std::isfinite;
using std::isinf;
using std::isnan;

inline double rsqrt(double x) { return 1 / std::sqrt(x); }

namespace emulator {

inline long double normal_cdf(long double x) { return 0.5L * std::erfc(-x * 0.707106781186547524400844362104849039L); }

// p in (0, 1/2]: the tail's asymptotic form as a start, then Halley's method on the logarithm of the cdf's ratio to p.
inline long double normal_quantile(long double p) {
    const long double s = std::sqrt(-2 * std::log(p));
    long double x = s - (2.515517L + s * (0.802853L + s * 0.010328L)) / (1 + s * (1.432788L + s * (0.189269L + s * 0.001308L)));
    x = -x;
    for (int step = 0; step < 4; ++step) {
        const long double density = 0.398942280401432677939946059934381868L * std::exp(-0.5L * x * x);
        const long double newton = (normal_cdf(x) - p) / density;
        x -= newton / (1 + 0.5L * x * newton);
    }
    return x;
}

}  // namespace emulator

inline double normcdf(double x) { return static_cast<double>(emulator::normal_cdf(x)); }
inline double normcdfinv(double p) {
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    return static_cast<double>(p <= 0.5 ? emulator::normal_quantile(p) : -emulator::normal_quantile(1 - static_cast<long double>(p)));
}
