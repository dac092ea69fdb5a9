// Loops over ranges, split among threads that live for one call. Without a thread pool, a fork between calls is safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace kdi {

// Keeps the first exception of several threads: one that left a thread would end the process.
class FirstException {
  public:
    template <class Function>
    void guard(Function function) noexcept {
        try {
            function();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!exception_) exception_ = std::current_exception();
        }
    }

    void rethrow() const {
        if (exception_) std::rethrow_exception(exception_);
    }

  private:
    std::mutex mutex_;
    std::exception_ptr exception_;
};

// Split [0, n) into n_threads consecutive ranges and call work(range, begin, end) for each on its own thread. The calling
// thread takes the last range, and every range for which the system cannot start a thread. When all have ended, the first
// exception is thrown again.
template <class Work>
void parallel_for(std::size_t n, int n_threads, const Work& work) {
    const auto n_ranges = static_cast<std::size_t>(std::max(n_threads, 1));
    FirstException first;
    const auto run = [&](std::size_t range) {
        first.guard([&] { work(static_cast<int>(range), n * range / n_ranges, n * (range + 1) / n_ranges); });
    };
    std::vector<std::thread> threads;
    threads.reserve(n_ranges - 1);
    std::size_t range = 0;
    try {
        for (; range + 1 < n_ranges; ++range) threads.emplace_back(run, range);
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    for (; range < n_ranges; ++range) run(range);
    for (auto& thread : threads) thread.join();
    first.rethrow();
}

// Call work(block) for every block; a thread takes the next one when it has finished one. After an exception, no thread takes
// another one.
template <class Work>
void for_each_block(std::size_t n_blocks, int n_threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    const std::size_t n_useful = std::clamp<std::size_t>(n_blocks, 1, static_cast<std::size_t>(std::max(n_threads, 1)));
    parallel_for(n_useful, static_cast<int>(n_useful), [&](int, std::size_t, std::size_t) {
        try {
            for (std::size_t block = next++; block < n_blocks; block = next++) work(block);
        } catch (...) {
            next = n_blocks;
            throw;
        }
    });
}

}  // namespace kdi
