"""The CUDA kernels of kernels.cu: compiled by NVRTC, kept on disk, and launched in torch's current stream."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

try:
    from cuda.bindings import driver
    from cuda.core import Device, LaunchConfig, ObjectCode, Program, ProgramOptions, Stream, launch
    from cuda.core.utils import FileStreamProgramCache
except ImportError as error:
    raise ImportError(f"cuda-core cannot be imported ({error})") from error

SHARED_BYTES = 32 * 1024  # of dynamic shared memory, which every kernel may have beside 16 kB of its own


def kernel_source() -> str:
    """Return the source of the kernels."""
    return files("kdi.torch").joinpath("kernels.cu").read_text(encoding="utf-8")


def compile_kernels(architecture: str) -> ObjectCode:
    """Compile the kernels for an architecture such as "sm_90", or load them from the user's cache of compiled programs.

    Several processes may do so at once: the files of the cache appear under their names when they are complete.
    """
    options = ProgramOptions(std="c++17", arch=architecture, fma=False, name="kdi_kernels")
    program = Program(kernel_source(), "c++", options)
    try:
        with FileStreamProgramCache() as on_disk:
            return program.compile("cubin", cache=on_disk)
    except OSError:  # a home folder that cannot be written
        return program.compile("cubin")


class CudaKernels:
    """The kernels, loaded on one device."""

    def __init__(self, index: int) -> None:
        self._device = Device(index)
        major, minor = torch.cuda.get_device_capability(index)
        self._code = compile_kernels(f"sm_{major}{minor}")
        self._kernels: dict[str, Any] = {}
        self._shared: dict[str, int] = {}
        self._resident: dict[tuple[str, int, int], int] = {}
        properties = torch.cuda.get_device_properties(index)
        self._n_processors: int = properties.multi_processor_count
        self.shared_bytes: int = properties.shared_memory_per_block_optin
        self.memory_bytes: int = properties.total_memory
        self._index = index

    def resident_blocks(self, name: str, block: int, shared_bytes: int) -> int:
        """Return how many blocks of a kernel run at once on the device."""
        key = name, block, shared_bytes
        if key not in self._resident:
            occupancy = self._kernel(name, shared_bytes).occupancy
            blocks = occupancy.max_active_blocks_per_multiprocessor(block, shared_bytes)
            self._resident[key] = max(blocks, 1) * self._n_processors
        return self._resident[key]

    def _kernel(self, name: str, shared_bytes: int) -> Any:
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._code.get_kernel(name)
        if shared_bytes > self._shared.get(name, SHARED_BYTES):
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            (result,) = driver.cuKernelSetAttribute(attribute, shared_bytes, kernel.handle, self._index)
            if result != driver.CUresult.CUDA_SUCCESS:
                raise RuntimeError(f"{name} cannot have {shared_bytes} bytes of shared memory: {result}")
            self._shared[name] = shared_bytes
        return kernel

    def launch(self, name: str, grid: tuple[int, int], block: int, shared_bytes: int, *args: Any) -> None:
        """Launch a kernel in the current stream of the device.

        Arguments are tensors, whose memory is passed, addresses, None for no memory, and numbers of NumPy or floats.
        """
        kernel = self._kernel(name, shared_bytes)
        plain = [one.data_ptr() if isinstance(one, Tensor) else 0 if one is None else one for one in args]
        launch(_stream(_current_stream(self._index)), _config(grid, block, shared_bytes), kernel, *plain)


def _current_stream(index: int) -> int:
    """Return the handle of torch's current stream."""
    return int(torch.cuda.current_stream(index).cuda_stream)


# What Triton and Inductor call too; making a Stream object takes longer than some kernels.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _current_stream)


@cache
def _stream(handle: int) -> Stream:
    return Stream.from_handle(handle)


@lru_cache(maxsize=1024)
def _config(grid: tuple[int, int], block: int, shared_bytes: int) -> LaunchConfig:
    return LaunchConfig(grid=grid, block=block, shmem_size=shared_bytes)


def load_kernels(index: int) -> CudaKernels:
    """Load the kernels on a device; they are compiled or read from disk."""
    with torch.cuda.device(index):
        Device(index).set_current()
        return CudaKernels(index)
