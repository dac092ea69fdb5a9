// The kernel density integral transformation on a GPU; compiled by NVRTC, without headers.
//
//     scan    extremes, mean and spread of each column            one pass over the table
//     plan    bandwidth, width and number of cells and knots      one block per column
//     fill    moments of the values in cells, in whole numbers    one pass over the table
//     build   the integral at the knots, and its cubics           one block per column
//     look up T of each value, or the value of each T             one pass over the table
//
// Moments are sums of integers, which do not depend on the order of additions: every run gives the same bits. The formulas of
// bandwidth, cells, knots and bounds are those of cpp/column_map.hpp and cpp/kernel.hpp; there they are explained. Products are not
// fused with sums unless `fma` says so, so that `forward` and `inverse` give the digits of the CPU for float64.

typedef unsigned char uint8;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef long long int64;

struct Half { unsigned short bits; };
struct Bfloat { unsigned short bits; };

// What kernels read: the number itself, or a float for the two kinds of 16 bits.
__device__ inline float number_of(float x) { return x; }
__device__ inline double number_of(double x) { return x; }
__device__ inline float number_of(Half x) {
#ifdef __CUDACC__
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
    return result;
#else  // tests on the CPU
    return emulator::half_to_float(x.bits);
#endif
}
__device__ inline float number_of(Bfloat x) { return __uint_as_float(static_cast<uint32>(x.bits) << 16); }

__device__ inline void store(float* to, double x) { *to = static_cast<float>(x); }
__device__ inline void store(double* to, double x) { *to = x; }
__device__ inline void store(Half* to, double x) {
#ifdef __CUDACC__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(static_cast<float>(x)));
#else
    to->bits = emulator::float_to_half(static_cast<float>(x));
#endif
}
__device__ inline void store(Bfloat* to, double x) {
    const uint32 bits = __float_as_uint(static_cast<float>(x));
    to->bits = x != x ? 0x7fc0 : static_cast<unsigned short>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <class Number> struct Computed { typedef float type; };
template <> struct Computed<double> { typedef double type; };

__device__ inline double infinity() { return __longlong_as_double(0x7ff0000000000000); }
__device__ inline double not_a_number() { return __longlong_as_double(0x7ff8000000000000); }
__device__ inline bool is_finite(double x) { return fabs(x) < infinity(); }
__device__ inline double smaller(double a, double b) { return b < a ? b : a; }
__device__ inline double larger(double a, double b) { return a < b ? b : a; }
__device__ inline double between(double x, double low, double high) { return x < low ? low : high < x ? high : x; }

// A table in rows, and the part of it that a block reads: some columns, and some rows. Each thread keeps to one column.
template <class Number>
struct Tile {
    const Number* x;
    int64 n_rows, row_stride;
    int n_columns, width, height;  // of all columns, and of the threads of a block
    int64 first, last;             // rows
    int column, row;               // of this thread

    __device__ Tile(const Number* x, int64 n_rows, int n_columns, int64 row_stride, int width, int64 rows_per_block)
        : x(x), n_rows(n_rows), row_stride(row_stride), n_columns(n_columns), width(width), height(blockDim.x / width),
          first(blockIdx.x * rows_per_block), last(min(n_rows, (blockIdx.x + 1) * rows_per_block)),
          column(blockIdx.y * width + threadIdx.x % width), row(threadIdx.x / width) {}

    __device__ bool has_column() const { return column < n_columns && row < height; }

    // Visit the values of this thread's column from row `from` to row `to`, several loads at a time.
    template <int at_once = 8, class Visit>
    __device__ void visit(int64 from, int64 to, Visit visit) const {
        if (!has_column()) return;
        int64 r = from + row;
        const Number* at = x + r * row_stride + column;
        const int64 step = height * row_stride;
        for (; r + (at_once - 1) * height < to; r += at_once * height, at += at_once * step) {
            Number block[at_once];
#pragma unroll
            for (int k = 0; k < at_once; ++k) block[k] = at[k * step];
#pragma unroll
            for (int k = 0; k < at_once; ++k) visit(number_of(block[k]), r + k * height);
        }
        for (; r < to; r += height, at += step) visit(number_of(*at), r);
    }
};

// ---------------------------------------------------------------------------------------------------------------- scan and plan

struct Moments {
    double low, high, weight, mean, square;  // square: the sum of squared distances from the mean
    double count;

    // The pairwise formula of Chan, Golub and LeVeque.
    __device__ void add(const Moments& other) {
        count += other.count;
        if (!(other.weight > 0)) return;
        if (!(weight > 0)) {
            const double n = count;
            *this = other;
            count = n;
            return;
        }
        const double total = weight + other.weight, distance = other.mean - mean;
        low = smaller(low, other.low);
        high = larger(high, other.high);
        mean += distance * (other.weight / total);
        square += other.square + distance * distance * (weight / total * other.weight);
        weight = total;
    }
};

constexpr int n_moments_of_scan = 6;

template <class Number, bool is_weighted>
__device__ void scan(const Number* x, int64 n_rows, int n_columns, int64 row_stride, const double* weights, int skip_infinite, int width,
                     int64 rows_per_block, double* partial) {
    __shared__ Moments shared[1024];
    typedef typename Computed<Number>::type Real;
    const Tile<Number> tile(x, n_rows, n_columns, row_stride, width, rows_per_block);
    const Real largest = skip_infinite ? static_cast<Real>(infinity()) : static_cast<Real>(not_a_number());
    Real low = static_cast<Real>(infinity()), high = -low;
    double pivot = not_a_number(), sum = 0, square = 0, weight = 0;
    int count = 0;
    tile.visit(tile.first, tile.last, [&](Real value, int64 row) {
        const double mass = is_weighted ? weights[row] : 1.0;
        // Without skip_infinite, `largest` is NaN, to which nothing is equal.
        if (value != value || value == largest || value == -largest || (is_weighted && !(mass > 0))) return;
        if (pivot != pivot) pivot = value;
        low = value < low ? value : low;
        high = value > high ? value : high;
        const double distance = static_cast<double>(value) - pivot;
        if (is_weighted) {
            weight += mass;
            sum = fma(mass, distance, sum);
            square = fma(mass * distance, distance, square);
        } else {
            sum += distance;
            square = fma(distance, distance, square);
        }
        ++count;
    });
    if (!is_weighted) weight = count;
    Moments own{low, high, weight, 0, 0, static_cast<double>(count)};
    if (weight > 0) {
        own.mean = pivot + sum / weight;
        own.square = larger(square - sum * (sum / weight), 0);
    }
    shared[threadIdx.x] = own;
    __syncthreads();
    for (int n = tile.height; n > 1;) {
        const int half = (n + 1) / 2;
        if (tile.row + half < n) shared[threadIdx.x].add(shared[threadIdx.x + half * width]);
        __syncthreads();
        n = half;
    }
    if (tile.row == 0 && tile.has_column()) {
        double* to = partial + (static_cast<int64>(blockIdx.x) * n_columns + tile.column) * n_moments_of_scan;
        const Moments& all = shared[threadIdx.x];
        to[0] = all.low;
        to[1] = all.high;
        to[2] = all.weight;
        to[3] = all.mean;
        to[4] = all.square;
        to[5] = all.count;
    }
}

// What happens to a column: it gets cubics here, is empty or constant, is fitted by the CPU, or is in error.
enum Status { on_device = 0, is_empty = 1, is_constant = 2, on_host = 3, is_infinite = 4, is_line = 5 };

// Per column, as rows of a matrix: numbers, and integers that the host reads.
enum PlanNumber { plan_low, plan_high, plan_weight, plan_std, plan_alpha, plan_bandwidth, n_plan_numbers };
enum PlanInteger { plan_status, plan_cells, plan_intervals, plan_span, plan_count, plan_middle, plan_exponent, plan_step, n_plan_integers };

struct Kernel {
    int order;  // 0 is the Gaussian
    double scale, peak, max_fourth_derivative, reach;

    __device__ double tail_at(double u) const {
        if (order == 0) return 0.5 * erfc(u * 0.7071067811865475244);
        if (u > 700) return 0;
        double total = 0;
        for (int j = order; j >= 0; --j) total = order + 1 - j + total * u / (j + 1);
        return total * exp(-u) / (2.0 * (order + 1));
    }
    __device__ double least_total(double relative_range) const {
        const double distance = relative_range / scale;
        if (distance < 1e-3) return 0.999 * distance * peak;
        return 0.5 - tail_at(distance);
    }
};

constexpr double flat_range = 1e-4, cell_tolerance = 1e-8, sparse_range = 32768, max_intervals = 262144, vanishing_bandwidth = 1e-290;
constexpr int max_cells_exponent = 19, n_samples = 256;
constexpr double silverman = -2;  // stands for the rule among bandwidth factors, as -1 does for Scott's

__device__ inline int exponent_of(double x) {  // of 2^e <= |x| < 2^(e + 1), for normal numbers
    return static_cast<int>((__double_as_longlong(x) >> 52) & 0x7ff) - 1023;
}
__device__ inline double power_of_two(int exponent) { return __longlong_as_double(static_cast<int64>(exponent + 1023) << 52); }

__device__ void sort_samples(double* values) {
    for (int size = 2; size <= n_samples; size *= 2)
        for (int gap = size / 2; gap > 0; gap /= 2) {
            const int i = threadIdx.x, j = i ^ gap;
            if (j > i) {
                const double a = values[i], b = values[j];
                if ((a > b) == ((i & size) == 0)) {
                    values[i] = b;
                    values[j] = a;
                }
            }
            __syncthreads();
        }
}

template <class Number>
__device__ void plan(const Number* x, int64 n_rows, int n_columns, int64 row_stride, const double* partial, int n_partial,
                     const double* factors, double factor, Kernel kernel, double tolerance, int is_float32, double* numbers, int64* integers) {
    __shared__ Moments parts[n_samples];
    __shared__ double samples[n_samples];
    __shared__ int n_valid;
    const int column = blockIdx.x, thread = threadIdx.x;
    Moments own{infinity(), -infinity(), 0, 0, 0, 0};
    for (int k = thread; k < n_partial; k += n_samples) {
        const double* from = partial + (static_cast<int64>(k) * n_columns + column) * n_moments_of_scan;
        own.add(Moments{from[0], from[1], from[2], from[3], from[4], from[5]});
    }
    parts[thread] = own;
    // A value from each of so many parts of the rows, at a place in it that is not regular.
    const int64 begin = thread * n_rows / n_samples, size = (thread + 1) * n_rows / n_samples - begin;
    const uint32 noise = (thread + 1) * 2654435761u;
    const double sample = size > 0 ? static_cast<double>(number_of(x[(begin + noise % size) * row_stride + column])) : not_a_number();
    const bool is_valid = is_finite(sample);
    if (thread == 0) n_valid = 0;
    __syncthreads();
    if (is_valid) atomicAdd(&n_valid, 1);
    samples[thread] = is_valid ? sample : infinity();
    for (int n = n_samples / 2; n > 0; n /= 2) {
        __syncthreads();
        if (thread < n) parts[thread].add(parts[thread + n]);
    }
    __syncthreads();
    sort_samples(samples);
    if (thread > 0) return;

    const Moments& all = parts[0];
    int64* const out = integers + column;
    const auto finish = [&](Status status) { out[plan_status * n_columns] = status; };
    const auto set = [&](PlanNumber which, double value) { numbers[which * n_columns + column] = value; };
    for (int k = 0; k < n_plan_integers; ++k) out[k * n_columns] = 0;
    for (int k = 0; k < n_plan_numbers; ++k) numbers[k * n_columns + column] = not_a_number();
    out[plan_count * n_columns] = static_cast<int64>(all.count);
    double alpha = factors ? factors[column] : factor;
    if (alpha < 0) alpha = pow(alpha == silverman ? 0.75 * all.weight : all.weight, -0.2);
    set(plan_weight, all.weight);
    set(plan_alpha, alpha);
    if (!(all.weight > 0)) return finish(is_empty);
    set(plan_low, all.low);
    set(plan_high, all.high);
    if (!is_finite(all.low) || !is_finite(all.high)) return finish(is_infinite);
    const double range = all.high - all.low;
    if (range == 0) {
        set(plan_bandwidth, alpha * 0);
        return finish(is_constant);
    }
    const double largest = larger(fabs(all.low), fabs(all.high));
    const int range_exponent = exponent_of(range), least_exponent = is_float32 ? -100 : -250;
    if (!is_finite(range) || range_exponent < least_exponent || range_exponent > 250) return finish(on_host);
    if (!(all.weight > 1e-100 && all.weight < 1e100)) return finish(on_host);
    const double std = smaller(sqrt(all.square / all.weight), 0.5 * range), bandwidth = alpha * std;
    set(plan_std, std);
    set(plan_bandwidth, bandwidth);
    const double relative = range / bandwidth, flatness = relative / kernel.scale;
    const bool is_flat = flatness < flat_range;
    if (!is_flat && (!(relative <= sparse_range) || bandwidth < vanishing_bandwidth)) return finish(on_host);
    const double total = is_flat ? 1 : kernel.least_total(relative);
    // A line needs no cells; whoever asks for a sketch gets as many as there may be of the width of the range.
    const double wanted = is_flat ? range : bandwidth * pow(cell_tolerance * total * 192 / kernel.max_fourth_derivative, 0.25);
    double step = is_flat ? 4 * range : bandwidth * pow(384 * tolerance * total / kernel.max_fourth_derivative, 0.25);
    if (!is_flat) step = larger(smaller(step, range / 4), range / max_intervals);
    const int range_above = range_exponent + (range != power_of_two(range_exponent));
    const int exponent = max(exponent_of(smaller(wanted, step)), range_above - max_cells_exponent);
    if (exponent < exponent_of(largest) + 1 - 50) return finish(on_host);
    const double width = power_of_two(exponent), first = floor(all.low / width);
    const double n_cells = floor(all.high / width) - first + 1, cells_per_step = floor(step / width);
    if (cells_per_step < 1) return finish(on_host);
    const double n = is_flat ? 1 : larger(ceil(range / (cells_per_step * width) * (1 - 1e-12)), 1);
    const double middle = floor(samples[n_valid / 2] / width) - first;
    const double span = n_valid ? (samples[n_valid - 1 - n_valid / 64] - samples[n_valid / 64]) / width + 1 : 1;
    out[plan_cells * n_columns] = static_cast<int64>(n_cells);
    out[plan_intervals * n_columns] = static_cast<int64>(n);
    out[plan_span * n_columns] = static_cast<int64>(span < n_cells ? span : n_cells);
    out[plan_middle * n_columns] = n_valid ? static_cast<int64>(between(middle, 0, n_cells - 1)) : 0;
    out[plan_exponent * n_columns] = exponent;
    out[plan_step * n_columns] = static_cast<int64>(cells_per_step);
    finish(is_flat ? is_line : on_device);
}

// ------------------------------------------------------------------------------------------------------------------------ fill

// The cells of a column, of which some around its median, the window, are summed in shared memory. Planes of moments lie one behind
// the other: moment m of cell k of a column is at cells[m * n_all + start + k].
struct Cells {
    int64 *planes, n_all, start;
    int n, window;

    __device__ Cells(int64* planes, int64 n_all, const int64* starts, const int64* integers, int n_columns, int column, int window_size)
        : planes(planes), n_all(n_all), start(0), n(0), window(0) {
        if (column >= n_columns || integers[plan_cells * n_columns + column] == 0) return;
        n = static_cast<int>(integers[plan_cells * n_columns + column]);
        start = starts[column];
        const int middle = static_cast<int>(integers[plan_middle * n_columns + column]);
        window = max(0, min(middle - window_size / 2, n - window_size));
    }

    __device__ void add(int m, int cell, int64 amount) {
        if (amount) atomicAdd(reinterpret_cast<uint64*>(planes + m * n_all + start + cell), static_cast<uint64>(amount));
    }
};

__device__ inline int rounded(float x) {  // |x| < 2^22
    return __float_as_int(x + 12582912.0f) - 0x4b400000;
}

// Of cells 2^-16 wide, so many values of half a cell fit into 31 bits.
constexpr int rows_per_flush = 65534;

// Moments as integers of 32 bits in shared memory: the count, and the sums of z 2^16, z^2 2^16 and z^3 2^17. They are added to those of
// 64 bits before they can overflow.
template <class Number>
__device__ void fill(const Number* x, int64 n_rows, int n_columns, int64 row_stride, int width, int64 rows_per_block, const double* numbers,
                     const int64* integers, const int64* starts, int64* planes, int64 n_all, int window_size) {
    extern __shared__ int sums[];
    const Tile<Number> tile(x, n_rows, n_columns, row_stride, width, rows_per_block);
    Cells cells(planes, n_all, starts, integers, n_columns, tile.column, window_size);
    const int plane = window_size + 1, n_sums = 4 * width * plane;  // one more, so that columns lie in different banks
    for (int k = threadIdx.x; k < n_sums; k += blockDim.x) sums[k] = 0;
    __syncthreads();
    float per_width = 0, first = 0;
    if (cells.n) {
        const double inverse = power_of_two(-static_cast<int>(integers[plan_exponent * n_columns + tile.column]));
        per_width = static_cast<float>(inverse);
        first = static_cast<float>(floor(numbers[plan_low * n_columns + tile.column] * inverse));  // exact: both are floats
    }
    const float n_cells = cells.n;
    int* const own = sums + 4 * (threadIdx.x % width) * plane;
    const auto add = [&](float value, int64) {
        const float place = value * per_width, cell = floorf(place), index = cell - first;  // exact, where index is small
        if (!(index >= 0 && index < n_cells)) return;                                      // NaN
        const float z = (place - cell) - 0.5f, square = z * z;
        const int k = rounded(index), z1 = rounded(z * 65536.0f), z2 = rounded(square * 65536.0f), z3 = rounded(square * z * 131072.0f);
        const uint32 in_window = static_cast<uint32>(k - cells.window);
        if (in_window < static_cast<uint32>(window_size)) {
            int* const at = own + in_window;
            atomicAdd(at, 1);
            atomicAdd(at + plane, z1);
            atomicAdd(at + 2 * plane, z2);
            atomicAdd(at + 3 * plane, z3);
        } else {
            cells.add(0, k, 1);
            cells.add(1, k, z1);
            cells.add(2, k, z2);
            cells.add(3, k, z3);
        }
    };
    for (int64 from = tile.first; from < tile.last; from += rows_per_flush) {
        if (cells.n) tile.template visit<8>(from, min(tile.last, from + rows_per_flush), add);
        __syncthreads();
        for (int column = 0; column < width; ++column) {
            Cells to(planes, n_all, starts, integers, n_columns, blockIdx.y * width + column, window_size);
            for (int k = threadIdx.x; k < 4 * plane; k += blockDim.x) {
                int* const at = sums + 4 * column * plane + k;
                const int sum = *at, m = k / plane, cell = to.window + k % plane;
                if (sum == 0) continue;
                *at = 0;
                to.add(m, cell, sum);
            }
        }
        __syncthreads();
    }
}

// The same for float64 and for weights, with sums of 64 bits: each value has the weight times `unit`, the largest power of two with
// which no sum can overflow.
template <class Number, bool is_weighted>
__device__ void fill_finely(const Number* x, int64 n_rows, int n_columns, int64 row_stride, const double* weights, int width,
                            int64 rows_per_block, const double* numbers, const int64* integers, const int64* starts, int64* planes,
                            int64 n_all, int window_size) {
    extern __shared__ uint64 fine_sums[];
    const Tile<Number> tile(x, n_rows, n_columns, row_stride, width, rows_per_block);
    Cells cells(planes, n_all, starts, integers, n_columns, tile.column, window_size);
    const int plane = window_size + 1, n_sums = 4 * width * plane;
    for (int k = threadIdx.x; k < n_sums; k += blockDim.x) fine_sums[k] = 0;
    __syncthreads();
    double per_width = 0, first = 0, unit = 0;
    if (cells.n) {
        per_width = power_of_two(-static_cast<int>(integers[plan_exponent * n_columns + tile.column]));
        first = floor(numbers[plan_low * n_columns + tile.column] * per_width);
        unit = power_of_two(60 - exponent_of(numbers[plan_weight * n_columns + tile.column]));
    }
    const double n_cells = cells.n;
    uint64* const own = fine_sums + 4 * (threadIdx.x % width) * plane;
    if (cells.n)
        tile.template visit<4>(tile.first, tile.last, [&](double value, int64 row) {
            const double mass = is_weighted ? weights[row] : 1.0;
            const double place = value * per_width, cell = floor(place), index = cell - first;
            if (!(index >= 0 && index < n_cells) || (is_weighted && !(mass > 0))) return;
            const double z = (place - cell) - 0.5, m0 = mass * unit;
            const int k = static_cast<int>(index);
            const int64 amounts[] = {__double2ll_rn(m0), __double2ll_rn(m0 * z), __double2ll_rn(m0 * z * z), __double2ll_rn(m0 * z * z * z)};
            const uint32 in_window = static_cast<uint32>(k - cells.window);
            for (int m = 0; m < 4; ++m) {
                if (in_window < static_cast<uint32>(window_size)) atomicAdd(own + m * plane + in_window, static_cast<uint64>(amounts[m]));
                else cells.add(m, k, amounts[m]);
            }
        });
    __syncthreads();
    for (int column = 0; column < width; ++column) {
        Cells to(planes, n_all, starts, integers, n_columns, blockIdx.y * width + column, window_size);
        for (int k = threadIdx.x; k < 4 * plane; k += blockDim.x) {
            const uint64 sum = fine_sums[4 * column * plane + k];
            if (sum) to.add(k / plane, to.window + k % plane, static_cast<int64>(sum));
        }
    }
}

// ----------------------------------------------------------------------------------------------------------------------- build

constexpr int max_order = 16;

// The kernel cdf and its first four derivatives at u.
__device__ void cdf_derivatives(int order, double u, double* out) {
    if (order == 0) {
        out[0] = 0.5 * erfc(-u * 0.7071067811865475244);
        double before = 0, derivative = exp(-0.5 * u * u) * 0.39894228040143267794;
        for (int k = 1; k < 5; ++k) {
            out[k] = derivative;
            const double next = -u * derivative - (k - 1) * before;
            before = derivative;
            derivative = next;
        }
        return;
    }
    double c[max_order + 1];  // of the tail, in the basis u^l / l!
    for (int l = 0; l <= order; ++l) c[l] = (order + 1.0 - l) / (2.0 * (order + 1));
    const double distance = fabs(u), decay = exp(-distance);
    for (int k = 0; k < 5; ++k) {
        double total = 0;
        for (int l = order; l >= 0; --l) total = c[l] + total * distance / (l + 1);
        total *= decay;
        out[k] = u >= 0 ? (k == 0 ? 1 - total : -total) : (k % 2 ? -total : total);
        for (int l = 0; l <= order; ++l) c[l] = (l < order ? c[l + 1] : 0.0) - c[l];
    }
}

// Sums and running sums over the threads of a block; the order of additions is fixed.
template <class Combine>
__device__ double scan_block(double own, Combine combine, double* shared) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
    for (int gap = 1; gap < 32; gap *= 2) {
        const double other = __shfl_up_sync(0xffffffff, own, gap);
        if (lane >= gap) own = combine(other, own);
    }
    __syncthreads();
    if (lane == 31) shared[warp] = own;
    __syncthreads();
    if (warp == 0) {
        double total = lane < n_warps ? shared[lane] : shared[0];
        for (int gap = 1; gap < 32; gap *= 2) {
            const double other = __shfl_up_sync(0xffffffff, total, gap);
            if (lane >= gap) total = combine(other, total);
        }
        shared[lane] = total;
    }
    __syncthreads();
    return warp ? combine(shared[warp - 1], own) : own;
}

struct Sum {
    __device__ double operator()(double a, double b) const { return a + b; }
};
struct Largest {
    __device__ double operator()(double a, double b) const { return larger(a, b); }
};
template <class Combine>
__device__ double reduce_block(double own, Combine combine, double* shared) {
    scan_block(own, combine, shared);
    const double total = shared[blockDim.x / 32 - 1];
    __syncthreads();
    return total;
}

struct Sums {
    double value, density;
};
__device__ inline Sums sum_of_warp(Sums own) {
    for (int gap = 16; gap > 0; gap /= 2) {
        own.value += __shfl_xor_sync(0xffffffff, own.value, gap);
        own.density += __shfl_xor_sync(0xffffffff, own.density, gap);
    }
    return own;
}

// All arrays of Maps; cpp/packed.hpp describes them.
struct Maps {
    uint8* kind;
    double *low, *high, *unit, *scale, *low_slope, *high_slope, *low_level, *high_level, *floor, *ceiling;
    int64 *start, *n_knots;
    double *coefficients, *knots, *levels;
    int* guide;
    double* error;
};

// T of a column at its knots, in units of the cells' width. Knot i lies `cells_per_step` cells from the one before, so that a distance
// between a knot and a cell is a whole number and a part that is always the same: what a cell contributes follows from a table.
struct ColumnBuilder {
    const Kernel kernel;
    const double *m0, *m1, *m2, *m3, *mass_before;
    const int n_cells, cells_per_step, reach;  // reach: in cells
    const double bandwidth, start, end;        // of the kernel itself; the extremes, relative to the first cell
    double* const table;                       // five numbers for each distance from -reach to reach

    __device__ void fill_table() const {
        const int size = 2 * reach + 1;
        for (int k = threadIdx.x; k < size; k += blockDim.x) {
            double g[5];
            cdf_derivatives(kernel.order, (k - reach + start - 0.5) / bandwidth, g);
            const double b = bandwidth;
            table[k] = g[0];
            table[size + k] = g[1] / b;
            table[2 * size + k] = -g[2] / (b * b);
            table[3 * size + k] = g[3] / (2 * b * b * b);
            table[4 * size + k] = -g[4] / (6 * b * b * b * b);
        }
    }

    __device__ void add(Sums& sums, double a0, double a1, double a2, double a3, const double* c, int size) const {
        const double d0 = c[size], d1 = c[2 * size], d2 = c[3 * size], d3 = c[4 * size];
        sums.value = fma(a0, c[0], fma(-a1, d0, fma(-0.5 * a2, d1, fma(a3 * (-1.0 / 3), d2, sums.value))));
        sums.density = fma(a0, d0, fma(a1, d1, fma(a2, d2, fma(a3, d3, sums.density))));
    }

    // Write the sums at `n_knots` knots from knot i on to rows, by the threads of a warp, which read each cell once for all of them.
    template <int n_knots>
    __device__ void sum_at_knots(int64 i, int64 last, double* rows) const {
        const int lane = threadIdx.x % 32, size = 2 * reach + 1;
        const auto from_of = [&](int64 knot) { return static_cast<int>(min(max(knot - reach, int64(0)), int64(n_cells))); };
        const int64 knot = i * cells_per_step;
        const int to = static_cast<int>(min(knot + (n_knots - 1) * cells_per_step + reach + 1, int64(n_cells)));
        Sums sums[n_knots] = {};
        constexpr int at_once = n_knots == 1 ? 4 : 2;
        // Of columns with far values, most cells are empty, and most knots have none but empty ones within reach.
        const int begin = mass_before[to] > mass_before[from_of(knot)] ? from_of(knot) : to;
        for (int first = begin; first < to; first += 32 * at_once) {
            bool is_occupied[at_once], some = false;
#pragma unroll
            for (int c = 0; c < at_once; ++c) {
                const int k = first + 32 * c + lane;
                some |= is_occupied[c] = k < to && m0[k] != 0;
            }
            if (!__any_sync(0xffffffff, some)) continue;
#pragma unroll
            for (int c = 0; c < at_once; ++c) {
                const int k = first + 32 * c + lane;
                if (!is_occupied[c]) continue;
                const double a0 = m0[k], a1 = m1[k], a2 = m2[k], a3 = m3[k];
#pragma unroll
                for (int n = 0; n < n_knots; ++n) {
                    const int64 place = knot + n * cells_per_step - k + reach;
                    if (n_knots == 1 || (place >= 0 && place < size)) add(sums[n], a0, a1, a2, a3, table + place, size);
                }
            }
        }
#pragma unroll
        for (int n = 0; n < n_knots; ++n) {
            const Sums all = sum_of_warp(sums[n]);
            if (lane || i + n > last) continue;
            rows[4 * (i + n)] = all.value + mass_before[from_of(knot + n * cells_per_step)];
            rows[4 * (i + n) + 1] = all.density;
        }
    }

    // The sums at the maximum, which is no knot, by all threads of the block.
    __device__ Sums at_end(double* shared) const {
        const int size = 1;
        const int from = max(0, static_cast<int>(end) - reach);
        Sums sums{0, 0};
        for (int k = from + threadIdx.x; k < n_cells; k += blockDim.x) {
            if (m0[k] == 0) continue;
            double g[5];
            cdf_derivatives(kernel.order, (end - k - 0.5) / bandwidth, g);
            const double b = bandwidth;
            const double c[] = {g[0], g[1] / b, -g[2] / (b * b), g[3] / (2 * b * b * b), -g[4] / (6 * b * b * b * b)};
            add(sums, m0[k], m1[k], m2[k], m3[k], c, size);
        }
        return {reduce_block(sums.value, Sum(), shared) + mass_before[from], reduce_block(sums.density, Sum(), shared)};
    }
};

// Where the planes hold integers of fill, the moments are their products with these.
__device__ inline double moment_unit(int m, bool is_fine, double weight) {
    if (is_fine) return power_of_two(exponent_of(weight) - 60);
    return m == 0 ? 1.0 : m == 3 ? 1.0 / 131072 : 1.0 / 65536;
}

// One block per column: its moments as floating-point numbers in the place of the integers, its integral at the knots and its cubics.
__device__ void build(int n_columns, const double* numbers, const int64* integers, const int64* starts, int64* planes, int64 n_all, int is_fine,
                      double* mass_before, Kernel kernel, double low_level, double high_level, int table_size, const Maps& maps,
                      int first_map) {
    extern __shared__ double table[];
    __shared__ double shared[32];
    const int column = blockIdx.x, thread = threadIdx.x, map = first_map + column;
    const auto number = [&](PlanNumber which) { return numbers[which * n_columns + column]; };
    const auto integer = [&](PlanInteger which) { return integers[which * n_columns + column]; };
    const int status = static_cast<int>(integer(plan_status));
    const double low = number(plan_low), high = number(plan_high), range = high - low, stretch = high_level - low_level;
    double* const rows = maps.coefficients + 4 * maps.start[map];
    if (thread == 0) {
        maps.kind[map] = status == is_empty ? 3 : status == is_constant ? 2 : 0;
        maps.low[map] = low;
        maps.high[map] = high;
        maps.unit[map] = 1;
        maps.scale[map] = status == is_line ? 1 / range : 0;
        maps.low_slope[map] = maps.high_slope[map] = status == is_line ? stretch / range : 1;
        maps.low_level[map] = maps.floor[map] = low_level;
        maps.high_level[map] = maps.ceiling[map] = high_level;
        maps.error[map] = 0;
    }
    if (status == is_line && thread == 0) {
        const double flatness = range / number(plan_bandwidth) / kernel.scale;
        maps.error[map] = smaller(flatness * flatness + 2.4e-10, 1) * stretch;  // positions are rounded to 2^-32 intervals
        const double both[] = {low_level, stretch, 0, 0, high_level, 0, 0, 0};
        for (int k = 0; k < 8; ++k) rows[k] = both[k];
    }
    if (status != on_device && status != is_line) return;

    const double weight = number(plan_weight);
    const int n_cells = static_cast<int>(integer(plan_cells));
    const int64 offset = starts[column];
    double* moments[4];
    for (int m = 0; m < 4; ++m) {
        int64* const from = planes + m * n_all + offset;
        moments[m] = reinterpret_cast<double*>(from);
        const double unit = moment_unit(m, is_fine, weight);
        for (int k = thread; k < n_cells; k += blockDim.x) moments[m][k] = static_cast<double>(from[k]) * unit;
    }
    if (status == is_line) return;
    const double width = power_of_two(static_cast<int>(integer(plan_exponent))), h = number(plan_bandwidth) / width;
    const double first = floor(low / width), start = low / width - first, end = high / width - first;
    const int cells_per_step = static_cast<int>(integer(plan_step));
    const int64 n = integer(plan_intervals);
    const int reach = min(static_cast<int>(ceil(kernel.reach * h * kernel.scale)) + 1, n_cells + cells_per_step);
    double* const before = mass_before + offset + column;  // one number more than there are cells
    __syncthreads();
    double carried = 0;
    for (int from = 0; from <= n_cells; from += blockDim.x) {
        const int k = from + thread;
        const double own = k < n_cells ? moments[0][k] : 0;
        const double up_to = scan_block(own, Sum(), shared);
        if (k <= n_cells) before[k] = carried + (up_to - own);
        carried += shared[blockDim.x / 32 - 1];
        __syncthreads();
    }
    const ColumnBuilder builder{kernel, moments[0], moments[1], moments[2], moments[3], before, n_cells, cells_per_step, reach,
                                h * kernel.scale, start, end, table};
    if (2 * reach + 1 > table_size) {  // the host has made sure that this cannot be
        if (thread == 0) maps.error[map] = not_a_number();
        return;
    }
    builder.fill_table();
    __syncthreads();
    const int warp = thread / 32, n_warps = blockDim.x / 32;
    if (n < 8 * n_warps) {
        for (int64 i = warp; i <= n; i += n_warps) builder.sum_at_knots<1>(i, n, rows);
    } else {
        for (int64 i = 4 * warp; i <= n; i += 4 * n_warps) builder.sum_at_knots<4>(i, n, rows);
    }
    __syncthreads();
    const Sums at_end = builder.at_end(shared);
    const double first_value = rows[0], total = at_end.value - first_value, density_unit = stretch * cells_per_step / total;
    __syncthreads();
    if (thread == 0) {
        const double slope = stretch / total / width, least = 1e-12 / range;
        maps.low_slope[map] = larger(slope * rows[1], least);
        maps.high_slope[map] = larger(slope * at_end.density, least);
        maps.scale[map] = 1 / (cells_per_step * width);
    }
    __syncthreads();
    // Levels, which never decrease.
    double highest = 0;
    for (int64 from = 0; from <= n; from += blockDim.x) {
        const int64 i = from + thread;
        const double own = i <= n ? (rows[4 * i] - first_value) / total : 0;
        const double up_to = larger(scan_block(own, Largest(), shared), highest);
        highest = larger(highest, shared[blockDim.x / 32 - 1]);
        __syncthreads();
        if (i > n) continue;
        rows[4 * i] = low_level + stretch * up_to;
        rows[4 * i + 1] *= density_unit;
    }
    __syncthreads();
    // The cubics; a thread reads the knot behind its own before any thread overwrites that.
    const double share = total / weight, relative_width = 1 / h, relative_step = cells_per_step / h;
    const double rounding = 1e-12, b = h * kernel.scale;
    const double density_error = relative_width * relative_width * relative_width * kernel.max_fourth_derivative / 24 + 20 * rounding;
    const double shape_error = stretch *
        (relative_step * relative_step * relative_step * relative_step / 384 * kernel.max_fourth_derivative + density_error * relative_step / 4) /
        share;
    double worst = 0;
    for (int64 from = 0; from <= n; from += blockDim.x) {
        const int64 i = from + thread;
        double value = 0, slope = 0, next = 0, next_slope = 0;
        if (i <= n) {
            value = rows[4 * i];
            slope = rows[4 * i + 1];
        }
        if (i < n) {
            next = rows[4 * i + 4];
            next_slope = rows[4 * i + 5];
        }
        __syncthreads();
        if (i > n) continue;
        double* const c = rows + 4 * i;
        c[0] = value;
        c[1] = c[2] = c[3] = 0;
        if (i == n) continue;
        const double rise = next - value, left = between(slope, 0.25 * rise, 2 * rise), right = between(next_slope, 0.25 * rise, 2 * rise);
        c[1] = left;
        c[2] = 3 * rise - 2 * left - right;
        c[3] = left + right - 2 * rise;
        const double clamping_error = 4.0 / 27.0 * (fabs(left - slope) + fabs(right - next_slope));
        worst = larger(worst, smaller(rise, shape_error + clamping_error));
    }
    worst = reduce_block(worst, Largest(), shared);
    if (thread > 0) return;
    // Rounding z to whole multiples of 2^-16 moves a value by 2^-17 cells at most; the other two moments hardly count.
    const double shift = is_fine ? 1e-12 + 4e-19 * static_cast<double>(integer(plan_count)) : 1.1 / 131072 * kernel.peak / b;
    const double value_error = relative_width * relative_width * relative_width * relative_width / 384 * kernel.max_fourth_derivative + rounding +
                               shift + 2 * kernel.tail_at(kernel.reach);
    maps.error[map] = smaller(worst + stretch * 2 * value_error / share, stretch);
}

// --------------------------------------------------------------------------------------------------------------------- look up

enum OutOfRange { clip, linear, nan_outside };
enum Kind { cubic = 0, lines = 1, constant = 2, empty = 3 };

constexpr double position_rounder = 1.5 * 1048576.0;
constexpr double clipped_score = -5.199337582605575;

__device__ inline double next_to(double x, double towards) {
    if (x == towards) return x;
    if (x == 0) return towards > 0 ? __longlong_as_double(1) : -__longlong_as_double(1);
    const int64 bits = __double_as_longlong(x);
    return __longlong_as_double((x < towards) == (x > 0) ? bits + 1 : bits - 1);
}

// One column of the maps; the functions are those of cpp/lookup.hpp.
struct Column {
    int kind;
    double low, high, unit, scale, low_slope, high_slope, low_level, high_level, floor, ceiling;
    int64 n_intervals;
    const double *coefficients, *knots, *levels;
    const int* guide;

    __device__ Column(const Maps& maps, int j)
        : kind(maps.kind[j]), low(maps.low[j]), high(maps.high[j]), unit(maps.unit[j]), scale(maps.scale[j]), low_slope(maps.low_slope[j]),
          high_slope(maps.high_slope[j]), low_level(maps.low_level[j]), high_level(maps.high_level[j]), floor(maps.floor[j]),
          ceiling(maps.ceiling[j]), n_intervals(maps.n_knots[j] - 1), coefficients(maps.coefficients + 4 * maps.start[j]),
          knots(maps.knots + maps.start[j]), levels(maps.levels + maps.start[j]), guide(maps.guide + maps.start[j]) {}

    __device__ bool is_bounded() const { return low_level == floor; }

    __device__ double forward_inside(double x) const {
        if (kind == cubic) {
            const double moved = ((x - low) * unit * scale + position_rounder) - position_rounder;
            const double position = between(moved, 0, static_cast<double>(n_intervals));
            const int64 i = static_cast<int64>(position);
            const double t = position - static_cast<double>(i);
            const double* c = coefficients + 4 * i;
            return smaller(c[0] + t * (c[1] + t * (c[2] + t * c[3])), high_level);
        }
        if (kind != lines) return not_a_number();
        const double position = between((x - low) * unit * scale, 0, static_cast<double>(n_intervals - 1));
        const int64 bucket = static_cast<int64>(position);
        int64 i = guide[bucket], last = bucket + 1 < n_intervals ? guide[bucket + 1] + 1 : n_intervals;
        while (i > 0 && x < knots[i]) --i;
        while (last < n_intervals && x >= knots[last]) ++last;
        while (last - i > 1) {
            const int64 middle = (i + last) / 2;
            (knots[middle] <= x ? i : last) = middle;
        }
        const double level = levels[i] + (x - knots[i]) / (knots[i + 1] - knots[i]) * (levels[i + 1] - levels[i]);
        return smaller(level, levels[i + 1]);
    }

    __device__ double level_beyond(double level, double slope, double limit, double distance) const {
        if (!is_finite(limit)) return level + distance * slope;
        const double gap = level - limit, nearest = next_to(limit, level);
        const double result = limit + gap * exp(smaller(distance * slope / gap, 0.0));
        return distance < 0 ? larger(smaller(result, level), nearest) : smaller(larger(result, level), nearest);
    }

    __device__ double distance_beyond(double level, double slope, double limit, double y) const {
        if (!is_finite(limit)) return (y - level) / slope;
        const double gap = level - limit, least = fabs(next_to(limit, level) - limit);
        const double left = gap > 0 ? larger(y - limit, least) : smaller(y - limit, -least);
        const double length = smaller(fabs(gap / slope), 1.7976931348623157e308);
        const double distance = smaller(log(left / gap), 0.0) * length;
        return gap > 0 ? distance : -distance;
    }

    // Infinite values become NaN: an error would need the host to wait.
    __device__ double forward(double x, int policy) const {
        if (x >= low && x < high) return forward_inside(x);
        const double top = low == high ? low_level : high_level;
        if (x == high) return top;
        if (!is_finite(x) || low != low) return not_a_number();
        if (!is_bounded()) {
            if (x < low) return level_beyond(low_level, low_slope, floor, x - low);
            return level_beyond(high_level, high_slope, ceiling, x - high);
        }
        if (policy == nan_outside) return not_a_number();
        if (policy == clip) return x < low ? low_level : high_level;
        if (x < low) return low_level + (x - low) * low_slope;
        return top + (x - high) * high_slope;
    }

    __device__ double inverse_inside(double y) const {
        if (kind != cubic && kind != lines) return not_a_number();  // no values: the arrays hold nothing of this column
        if (kind == lines) {
            int64 i = 0, last = n_intervals;
            while (last - i > 1) {
                const int64 middle = (i + last) / 2;
                (levels[middle] <= y ? i : last) = middle;
            }
            const double offset = y - levels[i], rise = levels[i + 1] - levels[i], gap = knots[i + 1] - knots[i], slope = gap / rise;
            const bool is_normal = fabs(slope) >= 2.2250738585072014e-308 && is_finite(slope);
            return smaller(knots[i] + (is_normal ? offset * slope : offset / rise * gap), knots[i + 1]);
        }
        int64 first = 0, last = n_intervals;
        while (last - first > 1) {
            const int64 middle = (first + last) / 2;
            (coefficients[4 * middle] <= y ? first : last) = middle;
        }
        const double* c = coefficients + 4 * first;
        const double rise = c[4] - c[0], wanted = y - c[0];
        double t = wanted / rise, below = 0, above = 1;
        for (int step = 0; step < 50; ++step) {
            const double miss = t * (c[1] + t * (c[2] + t * c[3])) - wanted;
            (miss > 0 ? above : below) = t;
            const double slope = c[1] + t * (2 * c[2] + 3 * t * c[3]);
            double next = t - miss / slope;
            if (!(next > below && next < above)) next = 0.5 * (below + above);
            if (fabs(next - t) < 1e-15) break;
            t = next;
        }
        return smaller(low + (static_cast<double>(first) + t) / scale / unit, high);
    }

    __device__ double inverse(double y, int policy) const {
        const bool is_constant = low == high;
        if (y > low_level && y < high_level) return is_constant ? low + (policy == linear ? y - low_level : 0) : inverse_inside(y);
        if (!is_finite(y) || low != low) return not_a_number();
        if (!is_bounded()) {
            if (policy == nan_outside && (y < floor || y > ceiling)) return not_a_number();
            if (y == low_level) return low;
            if (y < low_level) return low + distance_beyond(low_level, low_slope, floor, y);
            return high + distance_beyond(high_level, high_slope, ceiling, y);
        }
        if (policy == nan_outside && y != low_level && y != high_level) return not_a_number();
        if (policy != linear || y == low_level) return y > low_level ? high : low;
        if (y < low_level || is_constant) return low + (y - low_level) / low_slope;
        return high + (y - high_level) / high_slope;
    }
};

// The normal score of a level, clipped as in QuantileTransformer; levels beyond 0 and 1 go on in a straight line.
__device__ inline double score_of(double level) {
    const double inner = between(level, 0, 1);
    const double score = inner > 0.5 ? -normcdfinv(1 - inner) : normcdfinv(inner);
    return between(score, clipped_score, -clipped_score) + (level - inner);
}

// The level of a normal score: clipped scores are the ends, also where they were rounded to float32.
__device__ inline double level_of(double score) {
    const double inner = between(score, clipped_score, -clipped_score);
    const bool is_end = fabs(inner) >= -clipped_score * (1 - 1e-7);
    return score - inner + (is_end ? (inner > 0 ? 1.0 : 0.0) : normcdf(inner));
}

__device__ inline double largest_of(const double*) { return 1.7976931348623157e308; }
__device__ inline double largest_of(const float*) { return 3.4028234663852886e38; }
__device__ inline double largest_of(const Half*) { return 65504; }
__device__ inline double largest_of(const Bfloat*) { return 3.3895313892515355e38; }

// Every kind of map, every policy, in float64. `out` is contiguous.
template <class Number, bool is_forward>
__device__ void look_up(const Number* x, int64 n_rows, int n_columns, int64 row_stride, int width, int64 rows_per_block, const Maps& maps, int policy,
                        int with_scores, Number* out) {
    const Tile<Number> tile(x, n_rows, n_columns, row_stride, width, rows_per_block);
    if (!tile.has_column()) return;
    const Column map(maps, tile.column);
    tile.template visit<2>(tile.first, tile.last, [&](double value, int64 row) {
        double result;
        if (is_forward) {
            result = map.forward(value, policy);
            if (with_scores) result = score_of(result);
        } else {
            result = map.inverse(with_scores ? level_of(value) : value, policy);
        }
        const double largest = largest_of(out);
        if (is_finite(result) && fabs(result) > largest) result = copysign(largest, result);
        store(out + row * n_columns + tile.column, result);
    });
}

// Where a table has more than `most_rows` cubics, those across which T rises most, in which most values lie: one block per column.
__device__ void find_windows(const Maps& maps, int most_rows, int* windows) {
    __shared__ double rises[256];
    __shared__ int places[256];
    const int column = blockIdx.x, thread = threadIdx.x;
    const int n = maps.kind[column] == cubic ? static_cast<int>(maps.n_knots[column]) : 0;
    const double* c = maps.coefficients + 4 * maps.start[column];
    const bool are_scores = maps.floor[column] == -infinity();
    double highest = -1;
    int best = 0;
    for (int k = thread; k + most_rows < n; k += 256) {
        const double low = c[4 * k], high = c[4 * (k + most_rows)], rise = are_scores ? normcdf(high) - normcdf(low) : high - low;
        if (rise > highest) {
            highest = rise;
            best = k;
        }
    }
    rises[thread] = highest;
    places[thread] = best;
    for (int n_left = 128; n_left > 0; n_left /= 2) {
        __syncthreads();
        if (thread >= n_left) continue;
        const double other = rises[thread + n_left];
        const int place = places[thread + n_left];
        if (other > rises[thread] || (other == rises[thread] && place < places[thread])) {
            rises[thread] = other;
            places[thread] = place;
        }
    }
    if (thread == 0) windows[column] = places[0];
}

// Cubic maps of values of at most 24 bits, clipped beyond the ends: tables in shared memory, and `n_lanes` values at a time.
//
// Where rows cannot be divided into so many values, several rows are taken for one. A block has some of the columns, a thread the same
// columns in all of its rows.
struct Lane {
    double low, scale;
    float high;
    int first;  // row of the tables
    uint32 before, n;  // the first interval in the table, on top of what the rounder adds, and the last one, counted from it
};

template <class Number, int n_lanes>
struct alignas(n_lanes * sizeof(Number)) Packet {
    Number value[n_lanes];
};

constexpr uint32 upper_half_of_rounder = 0x41380000;

// Beyond the ends or the window, NaN, and columns without cubics.
__device__ __noinline__ float look_up_beyond(const Maps& maps, int column, double x) {
    return static_cast<float>(Column(maps, column).forward(x, clip));
}

// T of a value within the ends; `is_beyond` where it is not, or is not a number.
__device__ inline float look_up_one(const Lane& lane, const float4* tables, float x, float ceiling, bool& is_beyond) {
    // The upper half of the sum counts intervals, the lower half is the place in one.
    const double sum = (static_cast<double>(x) - lane.low) * lane.scale + position_rounder;
    const uint32 interval = static_cast<uint32>(__double2hiint(sum)) - lane.before;
    is_beyond = interval > lane.n;
    const float t = __uint_as_float(static_cast<uint32>(__double2loint(sum)) >> 9 | 0x3f800000) - 1.0f;
    const float4 c = tables[lane.first + min(interval, lane.n)];
    return x >= lane.high ? ceiling : fminf(fmaf(t, fmaf(t, fmaf(t, c.w, c.z), c.y), c.x), ceiling);
}

template <class Number, int n_lanes, int at_once>
__device__ void look_up_quickly(const Number* x, int64 n_rows, int64 row_stride, int64 out_stride, int64 n_values, int n_columns,
                                int columns_per_group, int repeats, int64 rows_per_block, float ceiling, int n_table_rows, int most_rows, const int* windows, const Maps& maps,
                                Number* out) {
    extern __shared__ float4 tables[];
    int *const first_rows = reinterpret_cast<int*>(tables + n_table_rows), *const sizes = first_rows + columns_per_group;
    const int from = blockIdx.y * columns_per_group, n_here = min(columns_per_group, n_columns - from);
    for (int j = threadIdx.x; j < n_here; j += blockDim.x)
        sizes[j] = maps.kind[from + j] == cubic ? static_cast<int>(min(maps.n_knots[from + j], int64(most_rows))) : 0;
    __syncthreads();
    for (int j = threadIdx.x; j < n_here; j += blockDim.x) {
        int first = 0;
        for (int i = 0; i < j; ++i) first += sizes[i];
        first_rows[j] = first;
    }
    __syncthreads();
    for (int j = threadIdx.x / 32; j < n_here; j += blockDim.x / 32) {
        const double* c = maps.coefficients + 4 * (maps.start[from + j] + windows[from + j]);
        const int n_rows_here = sizes[j];
        for (int k = threadIdx.x % 32; k < n_rows_here; k += 32) {
            float4 row;
            row.x = static_cast<float>(c[4 * k]);
            row.y = static_cast<float>(c[4 * k + 1]);
            row.z = static_cast<float>(c[4 * k + 2]);
            row.w = static_cast<float>(c[4 * k + 3]);
            tables[first_rows[j] + k] = row;
        }
    }
    __syncthreads();
    const int packets = n_here * repeats / n_lanes, height = blockDim.x / packets;  // packets per row, rows at a time
    const int packet = threadIdx.x % packets, own_row = threadIdx.x / packets;
    if (own_row >= height) return;
    const auto column_of = [&](int k) { return from + (packet * n_lanes + k) % n_here; };
    Lane lanes[n_lanes];
#pragma unroll
    for (int k = 0; k < n_lanes; ++k) {
        const int j = column_of(k), own = j - from;
        // Beyond the highest value, an open map leaves its last cubic: that is looked up exactly.
        const bool is_open = maps.low_level[j] != maps.floor[j];
        const int window = windows[j];
        const int last = min(window + sizes[own] - 1, static_cast<int>(maps.n_knots[j]) - 1 - 2 * is_open) - window;
        const bool is_quick = sizes[own] && last >= 0;
        // A float is not below `high` if it is not below the next float.
        lanes[k] = {maps.low[j], is_quick ? maps.scale[j] * maps.unit[j] : infinity(), __double2float_ru(maps.high[j]), first_rows[own],
                    upper_half_of_rounder + window, is_quick ? static_cast<uint32>(last) : 0};
    }
    typedef Packet<Number, n_lanes> Values;
    const int64 first = blockIdx.x * rows_per_block + own_row, last = min(n_rows, (blockIdx.x + 1) * rows_per_block);
    const int64 place = from + packet * n_lanes;
    const auto apply = [&](Values& values) {
        uint32 beyond = 0;
        Values results;
#pragma unroll
        for (int k = 0; k < n_lanes; ++k) {
            bool is_beyond;
            store(results.value + k, look_up_one(lanes[k], tables, number_of(values.value[k]), ceiling, is_beyond));
            beyond |= static_cast<uint32>(is_beyond) << k;
        }
        if (beyond)
            for (int k = 0; k < n_lanes; ++k)
                if (beyond >> k & 1) store(results.value + k, look_up_beyond(maps, column_of(k), number_of(values.value[k])));
        values = results;
    };
    int64 r = first;
    // Several rows that are taken for one may end within a packet; the last of them go one by one.
    for (; r + (at_once - 1) * height < last && (r + (at_once - 1) * height + 1) * out_stride <= n_values; r += at_once * height) {
        Values block[at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k) block[k] = *reinterpret_cast<const Values*>(x + (r + k * height) * row_stride + place);
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
            apply(block[k]);
            *reinterpret_cast<Values*>(out + (r + k * height) * out_stride + place) = block[k];
        }
    }
    for (; r < last; r += height) {
        for (int k = 0; k < n_lanes; ++k) {
            const int64 at = r * out_stride + place + k;
            if (at >= n_values) continue;
            const float value = number_of(x[r * row_stride + place + k]);
            bool is_beyond;
            const float result = look_up_one(lanes[k], tables, value, ceiling, is_beyond);
            store(out + at, is_beyond ? look_up_beyond(maps, column_of(k), value) : result);
        }
    }
}

// ----------------------------------------------------------------------------------------------------------------- entry points

#define KERNEL int order, double kernel_scale, double peak, double max_fourth_derivative, double reach
#define KERNEL_GIVEN {order, kernel_scale, peak, max_fourth_derivative, reach}

#define ENTRY_POINTS(NUMBER, SUFFIX)                                                                                                    \
    extern "C" __global__ void __launch_bounds__(1024) scan_##SUFFIX(const NUMBER* x, int64 n_rows, int n_columns, int64 row_stride,       \
                                                                     int skip_infinite, int width, int64 rows_per_block,                   \
                                                                     double* partial) {                                                    \
        scan<NUMBER, false>(x, n_rows, n_columns, row_stride, nullptr, skip_infinite, width, rows_per_block, partial);                     \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) scan_weighted_##SUFFIX(const NUMBER* x, int64 n_rows, int n_columns,                \
                                                                              int64 row_stride, const double* weights, int skip_infinite,  \
                                                                              int width, int64 rows_per_block, double* partial) {          \
        scan<NUMBER, true>(x, n_rows, n_columns, row_stride, weights, skip_infinite, width, rows_per_block, partial);                      \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(256) plan_##SUFFIX(const NUMBER* x, int64 n_rows, int n_columns, int64 row_stride,        \
                                                                    const double* partial, int n_partial, const double* factors,           \
                                                                    double factor, KERNEL,                                                 \
                                                                    double tolerance, int is_float32, double* numbers, int64* integers) {  \
        plan<NUMBER>(x, n_rows, n_columns, row_stride, partial, n_partial, factors, factor, KERNEL_GIVEN, tolerance, is_float32, numbers,          \
                     integers);                                                                                                            \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) fill_finely_##SUFFIX(                                                              \
        const NUMBER* x, int64 n_rows, int n_columns, int64 row_stride, int width, int64 rows_per_block, const double* numbers,            \
        const int64* integers, const int64* starts, int64* planes, int64 n_all, int window_size) {                                         \
        fill_finely<NUMBER, false>(x, n_rows, n_columns, row_stride, nullptr, width, rows_per_block, numbers, integers, starts, planes,    \
                                   n_all, window_size);                                                                                    \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) fill_weighted_##SUFFIX(                                                            \
        const NUMBER* x, int64 n_rows, int n_columns, int64 row_stride, const double* weights, int width, int64 rows_per_block,            \
        const double* numbers, const int64* integers, const int64* starts, int64* planes, int64 n_all, int window_size) {                  \
        fill_finely<NUMBER, true>(x, n_rows, n_columns, row_stride, weights, width, rows_per_block, numbers, integers, starts, planes,     \
                                  n_all, window_size);                                                                                     \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) forward_##SUFFIX(const NUMBER* x, int64 n_rows, int n_columns, int64 row_stride,    \
                                                                        int width, int64 rows_per_block, const Maps* maps, int policy,                 \
                                                                        int with_scores, NUMBER* out) {                                    \
        look_up<NUMBER, true>(x, n_rows, n_columns, row_stride, width, rows_per_block, *maps, policy, with_scores, out);              \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) inverse_##SUFFIX(const NUMBER* x, int64 n_rows, int n_columns, int64 row_stride,    \
                                                                        int width, int64 rows_per_block, const Maps* maps, int policy,                 \
                                                                        int with_scores, NUMBER* out) {                                    \
        look_up<NUMBER, false>(x, n_rows, n_columns, row_stride, width, rows_per_block, *maps, policy, with_scores, out);             \
    }

#define QUICK_ENTRY_POINTS(NUMBER, SUFFIX)                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024) fill_##SUFFIX(const NUMBER* x, int64 n_rows, int n_columns, int64 row_stride,       \
                                                                     int width, int64 rows_per_block, const double* numbers,               \
                                                                     const int64* integers, const int64* starts, int64* planes,            \
                                                                     int64 n_all, int window_size) {                                       \
        fill<NUMBER>(x, n_rows, n_columns, row_stride, width, rows_per_block, numbers, integers, starts, planes, n_all, window_size);      \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(512) quick_four_##SUFFIX(                                                               \
        const NUMBER* x, int64 n_rows, int64 row_stride, int64 out_stride, int64 n_values, int n_columns, int columns_per_group,           \
        int repeats, int64 rows_per_block, float highest, int n_table_rows, int most_rows, const int* windows, const Maps* maps, NUMBER* out) {                                           \
        look_up_quickly<NUMBER, 4, 4>(x, n_rows, row_stride, out_stride, n_values, n_columns, columns_per_group, repeats, rows_per_block,     \
                                   highest, n_table_rows, most_rows, windows, *maps, out);                                                                \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(512) quick_long_##SUFFIX(                                                               \
        const NUMBER* x, int64 n_rows, int64 row_stride, int64 out_stride, int64 n_values, int n_columns, int columns_per_group,           \
        int repeats, int64 rows_per_block, float highest, int n_table_rows, int most_rows, const int* windows, const Maps* maps, NUMBER* out) {                                           \
        look_up_quickly<NUMBER, 4, 8>(x, n_rows, row_stride, out_stride, n_values, n_columns, columns_per_group, repeats, rows_per_block,     \
                                   highest, n_table_rows, most_rows, windows, *maps, out);                                                                \
    }                                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(512) quick_one_##SUFFIX(                                                                \
        const NUMBER* x, int64 n_rows, int64 row_stride, int64 out_stride, int64 n_values, int n_columns, int columns_per_group,           \
        int repeats, int64 rows_per_block, float highest, int n_table_rows, int most_rows, const int* windows, const Maps* maps, NUMBER* out) {                                           \
        look_up_quickly<NUMBER, 1, 4>(x, n_rows, row_stride, out_stride, n_values, n_columns, columns_per_group, repeats, rows_per_block,     \
                                   highest, n_table_rows, most_rows, windows, *maps, out);                                                                \
    }

ENTRY_POINTS(float, float32)
ENTRY_POINTS(double, float64)
ENTRY_POINTS(Half, float16)
ENTRY_POINTS(Bfloat, bfloat16)
QUICK_ENTRY_POINTS(float, float32)
QUICK_ENTRY_POINTS(Half, float16)
QUICK_ENTRY_POINTS(Bfloat, bfloat16)

extern "C" __global__ void __launch_bounds__(1024)
    build_maps(int n_columns, const double* numbers, const int64* integers, const int64* starts, int64* planes, int64 n_all, int is_fine,
               double* mass_before, KERNEL, double low_level, double high_level, int table_size, const Maps* maps, int first_map) {
    build(n_columns, numbers, integers, starts, planes, n_all, is_fine, mass_before, KERNEL_GIVEN, low_level, high_level, table_size, *maps,
          first_map);
}

extern "C" __global__ void __launch_bounds__(256) choose_windows(const Maps* maps, int most_rows, int* windows) {
    find_windows(*maps, most_rows, windows);
}
