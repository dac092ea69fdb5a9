"""The emulator of CUDA itself, on kernels of a few lines."""

import numpy as np
import pytest
from cuda_emulator import EmulatedKernels, EmulatorError, compiler
from scipy import special

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")

SOURCE = r"""
typedef long long int64;
struct Half { unsigned short bits; };

extern "C" __global__ void __launch_bounds__(256) reverse_block(const float* x, int n, float* out) {
    extern __shared__ float values[];
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    values[threadIdx.x] = k < n ? x[k] : 0;
    __syncthreads();
    if (k < n) out[k] = values[blockDim.x - 1 - threadIdx.x];
}

template <class Number>
__device__ void reverse_static(Number* x) {
    __shared__ Number values[64];
    values[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = values[63 - threadIdx.x];
}
extern "C" __global__ void reverse_floats(float* x) { reverse_static(x); }
extern "C" __global__ void reverse_doubles(double* x) { reverse_static(x); }

extern "C" __global__ void without_barrier(const float* x, float* out) {
    extern __shared__ float values[];
    values[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void read_shared(double* dynamic, double* fixed) {
    extern __shared__ double values[];
    __shared__ double others[4];
    if (threadIdx.x == 0) {
        dynamic[blockIdx.x] = values[0];
        fixed[blockIdx.x] = others[3];
        values[0] = others[3] = 1;
    }
}

extern "C" __global__ void write_beyond(int n) {
    extern __shared__ int values[];
    for (int k = threadIdx.x; k < n; k += blockDim.x) values[k] = 0;
}

extern "C" __global__ void shuffle(const int* x, double* up, int* exclusive, int* across, int* votes) {
    const int t = threadIdx.x, own = x[t];
    up[t] = __shfl_up_sync(0xffffffff, static_cast<double>(own), 3);
    exclusive[t] = __shfl_xor_sync(0xffffffff, own, 5);
    across[t] = __shfl_sync(0xffffffff, own, 1, 8) + 1000 * __shfl_down_sync(0xffffffff, own, 2, 16);
    const int n_multiples = __popc(__ballot_sync(0xffffffff, own % 3 == 0));
    votes[t] = __any_sync(0xffffffff, own == 40) + 2 * __all_sync(0xffffffff, own < 64) + 4 * n_multiples;
}

extern "C" __global__ void shuffle_often(const double* x, double* out) {
    double total = x[threadIdx.x];
    for (int step = 0; step < 100; ++step)
        for (int gap = 16; gap > 0; gap /= 2) total = 0.5 * (total + __shfl_xor_sync(0xffffffff, total, gap));
    out[threadIdx.x] = total;
}

extern "C" __global__ void half_a_warp(int* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0x0000ffff, static_cast<int>(threadIdx.x), 1);
    else out[threadIdx.x] = -1;
}

extern "C" __global__ void count(const int* x, int n, int* counts, int64* total, double* sum, int* largest) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        atomicAdd(counts + x[k], 1);
        const int64 amount = -x[k];
        atomicAdd(reinterpret_cast<unsigned long long*>(total), static_cast<unsigned long long>(amount));
        atomicAdd(sum, 0.5 * x[k]);
        atomicMax(largest, x[k]);
    }
}

extern "C" __global__ void return_early(int* out) {
    if (threadIdx.x >= 40) return;
    out[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] += out[39 - threadIdx.x];
}

extern "C" __global__ void miss_shuffle(int* out) {
    if (threadIdx.x % 2) out[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1, 1);
    __syncthreads();
}

extern "C" __global__ void diverge(int* out) {
    if (threadIdx.x < 32) __syncthreads();
    else {
        out[threadIdx.x] = 0;
        __syncthreads();
    }
}

extern "C" __global__ void arguments(int a, int64 b, float c, double d, const double* e, Half* f, double* out) {
    out[0] = a;
    out[1] = static_cast<double>(b);
    out[2] = c;
    out[3] = d;
    out[4] = e == nullptr;
    out[5] = f->bits;
}

extern "C" __global__ void functions(const double* x, int n, double* cdf, double* quantile, double* halves) {
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        cdf[k] = normcdf(x[k]);
        quantile[k] = normcdfinv(x[k]);
        halves[k] = __hiloint2double(__double2hiint(x[k]), __double2loint(x[k]));
    }
}

extern "C" __global__ void halves(const unsigned short* bits, int n, float* numbers, const float* x, int m,
                                  unsigned short* rounded) {
    for (int k = threadIdx.x; k < n; k += blockDim.x) numbers[k] = emulator::half_to_float(bits[k]);
    for (int k = threadIdx.x; k < m; k += blockDim.x) rounded[k] = emulator::float_to_half(x[k]);
}
"""

ORDERS = ["forward", "reverse", "random"]


@pytest.fixture(params=ORDERS)
def kernels(request):
    return EmulatedKernels(SOURCE, "emulator.cu", order=request.param)


@pytest.fixture
def forward():
    return EmulatedKernels(SOURCE, "emulator.cu", order="forward")


def test_threads_wait_at_a_barrier(kernels):
    x = np.arange(600, dtype=np.float32)
    out = np.full(600, -1, np.float32)
    kernels.launch("reverse_block", (3, 1), 200, 800, x, np.int32(600), out)
    np.testing.assert_array_equal(out, x.reshape(3, 200)[:, ::-1].ravel())


@pytest.mark.parametrize(("name", "dtype"), [("reverse_floats", np.float32), ("reverse_doubles", np.float64)])
def test_static_shared_memory_belongs_to_one_instance(kernels, name, dtype):
    x = np.arange(64, dtype=dtype)
    kernels.launch(name, (1, 1), 64, 0, x)
    np.testing.assert_array_equal(x, np.arange(64)[::-1])


def test_the_order_of_threads_shows_a_missing_barrier():
    x = np.arange(64, dtype=np.float32)
    results = []
    for order in ORDERS:
        out = np.empty(64, np.float32)
        EmulatedKernels(SOURCE, "emulator.cu", order=order).launch("without_barrier", (1, 1), 64, 256, x, out)
        results.append(out)
    assert not np.array_equal(results[0], results[1], equal_nan=True)
    assert np.isnan(results[0]).any()


def test_shared_memory_is_poisoned_before_each_block(kernels):
    dynamic, fixed = np.zeros(3), np.zeros(3)
    kernels.launch("read_shared", (3, 1), 32, 64, dynamic, fixed)
    assert np.isnan(dynamic).all()
    assert np.isnan(fixed).all()


def test_writes_beyond_dynamic_shared_memory_are_reported(forward):
    forward.launch("write_beyond", (1, 1), 32, 400, np.int32(100))
    with pytest.raises(EmulatorError, match="write beyond 400 bytes of dynamic shared memory, at byte 400"):
        forward.launch("write_beyond", (1, 1), 32, 400, np.int32(101))


def test_shuffles_and_votes(kernels, rng):
    x = rng.integers(0, 64, 96).astype(np.int32)
    up, exclusive, across, votes = np.zeros(96), *(np.zeros(96, np.int32) for _ in range(3))
    kernels.launch("shuffle", (1, 1), 96, 0, x, up, exclusive, across, votes)
    t = np.arange(96)
    np.testing.assert_array_equal(up, x[np.where(t % 32 >= 3, t - 3, t)])
    np.testing.assert_array_equal(exclusive, x[t ^ 5])
    np.testing.assert_array_equal(across, x[t // 8 * 8 + 1] + 1000 * x[np.where(t % 16 < 14, t + 2, t)])
    warps = x.reshape(3, 32)
    expected = (warps == 40).any(1) + 2 * (warps < 64).all(1) + 4 * (warps % 3 == 0).sum(1)
    np.testing.assert_array_equal(votes, np.repeat(expected, 32))


def test_many_shuffles_keep_lanes_apart(kernels, rng):
    x, out = rng.normal(size=1024), np.zeros(1024)
    kernels.launch("shuffle_often", (1, 1), 1024, 0, x, out)
    np.testing.assert_allclose(out, np.repeat(x.reshape(32, 32).mean(1), 32), rtol=1e-13, atol=1e-15)


def test_part_of_a_warp_may_shuffle(kernels):
    out = np.zeros(32, np.int32)
    kernels.launch("half_a_warp", (1, 1), 32, 0, out)
    np.testing.assert_array_equal(out, np.r_[np.arange(16) ^ 1, np.full(16, -1)])


def test_atomic_functions(kernels, rng):
    x = rng.integers(0, 10, 5000).astype(np.int32)
    counts, largest = np.zeros(10, np.int32), np.zeros(1, np.int32)
    total, total_of_halves = np.zeros(1, np.int64), np.zeros(1)
    kernels.launch("count", (3, 1), 100, 0, x, np.int32(len(x)), counts, total, total_of_halves, largest)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=10))
    assert (total[0], total_of_halves[0], largest[0]) == (-x.sum(), 0.5 * x.sum(), x.max())


def test_threads_that_have_returned_count_as_arrived(kernels):
    out = np.zeros(64, np.int32)
    kernels.launch("return_early", (1, 1), 64, 0, out)
    assert (out[40:] == 0).all()
    assert (out[:40] >= 2).all()


def test_a_shuffle_that_some_lanes_miss_is_a_deadlock(kernels):
    out = np.zeros(64, np.int32)
    with pytest.raises(EmulatorError, match=r"deadlock(.|\n)*threads 1 to 1 wait in __shfl_xor_sync on line \d+"):
        kernels.launch("miss_shuffle", (1, 1), 64, 0, out)
    kernels.launch("return_early", (1, 1), 64, 0, out)  # the next launch is not affected


def test_barriers_on_different_lines_are_reported(kernels):
    with pytest.raises(EmulatorError, match="__syncthreads on different lines"):
        kernels.launch("diverge", (1, 1), 64, 0, np.zeros(64, np.int32))


def test_arguments_are_passed_by_their_types(forward):
    out = np.zeros(6)
    numbers = np.int32(-3), np.int64(1 << 40), np.float32(0.1), 0.1
    forward.launch("arguments", (1, 1), 1, 0, *numbers, None, np.ones(1, np.float16), out)
    np.testing.assert_array_equal(out, [-3, 2.0**40, np.float32(0.1), 0.1, 1, 0x3C00])


def test_tensors_are_arguments(forward):
    torch = pytest.importorskip("torch")
    out = torch.zeros(6, dtype=torch.float64)
    numbers = np.int32(-3), np.int64(1 << 40), np.float32(0.1), 0.1
    tensors = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float16)
    forward.launch("arguments", (1, 1), 1, 0, *numbers, *tensors, out)
    assert out.tolist()[3:] == [0.1, 0, 0x3C00]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.int64(1), "argument 1 must be np.int32"),
        (0, 1, "argument 1 must be np.int32"),
        (1, np.int32(1), "argument 2 must be np.int64"),
        (2, 1.0, "argument 3 must be np.float32"),
        (3, np.float32(1), "argument 4 must be np.float64"),
        (4, np.zeros(1, np.float32), "argument 5 must hold numbers of 8 bytes, got float32"),
        (5, 3.0, "argument 6 must be a tensor, an array or None"),
    ],
)
def test_arguments_of_another_type_are_rejected(forward, place, value, message):
    given = [np.int32(1), np.int64(1), np.float32(1), 1.0, None, np.ones(1, np.float16), np.zeros(6)]
    given[place] = value
    with pytest.raises(EmulatorError, match=message):
        forward.launch("arguments", (1, 1), 1, 0, *given)


def test_launches_that_no_gpu_takes_are_rejected(forward):
    with pytest.raises(EmulatorError, match="no kernel is called nothing"):
        forward.launch("nothing", (1, 1), 1, 0)
    with pytest.raises(EmulatorError, match="takes 1 arguments, got 0"):
        forward.launch("write_beyond", (1, 1), 32, 0)
    with pytest.raises(EmulatorError, match="block must be between 1 and 256, got 512"):
        forward.launch("reverse_block", (1, 1), 512, 0, None, np.int32(0), None)
    with pytest.raises(EmulatorError, match="grid must be"):
        forward.launch("write_beyond", (1, 70000), 32, 0, np.int32(0))


def test_normal_cdf_and_quantiles(forward):
    small = 10.0 ** np.arange(-300, 0, 7)
    p = np.r_[5e-324, 1e-310, small, np.linspace(0.001, 0.999, 999), 1 - 2.0**-53, 0, 1, 2, np.nan]
    x = np.r_[p, np.linspace(-36, 9, 500)]
    cdf, quantile, halves = (np.zeros(len(x)) for _ in range(3))
    forward.launch("functions", (1, 1), 32, 0, x, np.int32(len(x)), cdf, quantile, halves)
    np.testing.assert_array_equal(halves, x)
    np.testing.assert_allclose(cdf, special.ndtr(x), rtol=1e-12)  # ours is the more exact
    np.testing.assert_allclose(quantile[: len(p)], special.ndtri(p), rtol=1e-14, atol=1e-16)


def test_halves(forward, rng):
    bits = np.arange(65536, dtype=np.uint16)
    values = bits.view(np.float16).astype(np.float32)
    finite = values[np.abs(values) < 60000]
    ties = (finite + np.nextafter(finite.astype(np.float16), np.float16(np.inf)).astype(np.float32)) / 2
    others = np.array([65519.99, 65520, -1e9, 1e-30, np.inf], np.float32)
    x = np.concatenate([values, ties, rng.normal(size=10000).astype(np.float32), others])
    numbers, rounded = np.zeros(65536, np.float32), np.zeros(len(x), np.uint16)
    forward.launch("halves", (1, 1), 64, 0, bits, np.int32(65536), numbers, x, np.int32(len(x)), rounded)
    np.testing.assert_array_equal(numbers, values)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    is_nan = np.isnan(x)
    np.testing.assert_array_equal(rounded[~is_nan], expected.view(np.uint16)[~is_nan])
    assert np.isnan(rounded.view(np.float16)[is_nan]).all()


def test_a_source_that_does_not_compile_is_an_error():
    with pytest.raises(EmulatorError, match=r"broken.cu does not compile:\n(.|\n)*broken.cu:2"):
        EmulatedKernels('extern "C" __global__ void f() {\n    int x = "a";\n}', "broken.cu")
