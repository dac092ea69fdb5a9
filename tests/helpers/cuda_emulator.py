r"""CUDA kernels on the CPU: a .cu file compiled as C++ with tests/torch/emulator/cuda_shim.hpp, and a launcher.

    kernels = EmulatedKernels(Path("src/kdi/torch/kernels.cu").read_text())
    kernels.launch("scan_float32", (4, 1), 256, 0, x, np.int64(len(x)), ..., partial)

Compiled libraries are kept in build/cuda_emulator, by a hash of what they are made of. `$CXX`, or g++, compiles them.

Undefined behaviour, and reads and writes out of bounds of tensors, arrays and shared memory, are found by sanitizers:

    KDI_EMULATOR_FLAGS="-fsanitize=undefined -fno-sanitize-recover" pytest tests/torch

    LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 PYTHONMALLOC=malloc \
    KDI_EMULATOR_FLAGS="-fsanitize=address,undefined" pytest -s tests/torch -k "not beyond_dynamic"

`KDI_EMULATOR_ORDER=reverse`, or `random`, changes the order in which threads run between barriers; results must not
depend on it.
"""

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from paths import ROOT

SHIM = ROOT / "tests" / "torch" / "emulator" / "cuda_shim.hpp"
CACHE = ROOT / "build" / "cuda_emulator"
# -fwrapv: integers of CUDA wrap. A sanitizer looks for overflow all the same.
FLAGS = shlex.split("-std=c++17 -O1 -g -shared -fPIC -fvisibility=hidden -ffp-contract=off -Wall -Wno-unknown-pragmas")
ORDERS = {"forward": 0, "reverse": 1, "random": 2}
NUMBERS = {"i": (np.int32, np.uint32), "l": (np.int64, np.uint64), "f": (np.float32,), "d": (np.float64,)}

Order = Literal["forward", "reverse", "random"]


class EmulatorError(RuntimeError):
    """What a launch on the CPU found: a deadlock, a write beyond shared memory, arguments that do not fit."""


def compiler() -> str | None:
    """Path of the C++ compiler, or None."""
    return shutil.which(os.environ.get("CXX", "g++"))


def rewrite_shared_memory(source: str) -> str:
    """Replace declarations of shared memory, on the same lines, by such as C++ knows."""
    dynamic = re.compile(r"\bextern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w:]+)\s+(\w+)\s*\[\s*\]\s*;")
    static = re.compile(r"(?<!extern )\b__shared__\s+([\w:]+)\s+(\w+)((?:\s*\[[^\]]*\])*)\s*;")
    source = dynamic.sub(r"\1* const \2 = emulator::dynamic_shared<\1>();", source)
    return static.sub(r"static \1 \2\3; emulator::claim(&\2, sizeof(\2));", source)


def find_kernels(source: str) -> dict[str, int]:
    """Names of the kernels in a source, macros expanded, and the largest block of each."""
    command = [compiler() or "g++", "-E", "-P", "-x", "c++", "-"]
    expanded = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    kernel = re.compile(r"\b__global__\s+void\s+(?:__launch_bounds__\s*\(\s*(\d+)[^)]*\)\s*)?(\w+)\s*\(")
    return {match[2]: int(match[1] or 1024) for match in kernel.finditer(expanded)}


def compile_library(source: str, name: str = "kernels.cu") -> Path:
    """Compile a .cu source, unless that has been done, and return the shared library."""
    flags = FLAGS + shlex.split(os.environ.get("KDI_EMULATOR_FLAGS", ""))
    if not any("sanitize" in flag for flag in flags):
        flags.append("-fwrapv")
    version = subprocess.run([compiler() or "g++", "--version"], capture_output=True, text=True, check=True).stdout
    parts = [source, SHIM.read_text(), Path(__file__).read_text(), version, *flags]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    library = CACHE / f"{key}.so"
    if library.exists():
        return library
    registrations = [f'{{"{kernel}", {kernel}, {limit}}}' for kernel, limit in find_kernels(source).items()]
    text = f'#include "{SHIM}"\n#line 1 "{name}"\n{rewrite_shared_memory(source)}\n#line 1 "registrations"\n'
    text += "".join(f"static emulator::Registration registration_{k}{one};\n" for k, one in enumerate(registrations))
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        made = Path(folder) / "library.so"
        command = [compiler() or "g++", *flags, "-x", "c++", "-", "-o", str(made)]
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if run.returncode:
            raise EmulatorError(f"{name} does not compile:\n{run.stderr[:8000]}")
        if run.stderr:
            library.with_suffix(".warnings").write_text(run.stderr)
        os.replace(made, library)  # other processes may do the same
    return library


class EmulatedKernels:
    """The kernels of a .cu source; `launch` runs one of them and returns when it is done."""

    shared_bytes = 232448  # of a block, at most
    memory_bytes = 2**32

    def __init__(self, source: str, name: str = "kernels.cu", order: Order | None = None, seed: int = 0) -> None:
        self.order = order or os.environ.get("KDI_EMULATOR_ORDER", "forward")
        self.seed = seed
        self.path = compile_library(source, name)
        self._library = ctypes.CDLL(str(self.path))
        self._library.emulator_name.restype = ctypes.c_char_p
        self._library.emulator_signature.restype = ctypes.c_char_p
        self.signatures: dict[str, list[str]] = {}
        self._places: dict[str, int] = {}
        self._limits: dict[str, int] = {}
        for k in range(self._library.emulator_count()):
            kernel = self._library.emulator_name(k).decode()
            self._places[kernel] = k
            self._limits[kernel] = self._library.emulator_max_block(k)
            self.signatures[kernel] = self._library.emulator_signature(k).decode().split()

    @property
    def warnings(self) -> str:
        """What the compiler said."""
        path = self.path.with_suffix(".warnings")
        return path.read_text() if path.exists() else ""

    def resident_blocks(self, name: str, block: int, shared_bytes: int) -> int:
        """Return the number of blocks that a device would run at once: few, so that each has several rows."""
        return 4

    def launch(self, name: str, grid: tuple[int, int], block: int, shared_bytes: int, *args: Any) -> None:
        """Run a kernel.

        Arguments are CPU tensors or arrays (their address is passed), None (a null pointer), a Python float (double),
        or NumPy scalars of 4 or 8 bytes.
        """
        if name not in self._places:
            raise EmulatorError(f"no kernel is called {name}; there are {', '.join(sorted(self._places))}")
        if not 1 <= block <= self._limits[name]:
            raise EmulatorError(f"{name}: block must be between 1 and {self._limits[name]}, got {block}")
        if not (1 <= grid[0] < 2**31 and 1 <= grid[1] < 2**16):
            raise EmulatorError(f"{name}: grid must be between (1, 1) and (2**31 - 1, 65535), got {grid}")
        if not 0 <= shared_bytes <= self.shared_bytes:
            raise EmulatorError(f"{name}: shared_bytes must be between 0 and {self.shared_bytes}, got {shared_bytes}")
        signature = self.signatures[name]
        if len(args) != len(signature):
            raise EmulatorError(f"{name} takes {len(signature)} arguments, got {len(args)}")
        slots = np.zeros(max(len(args), 1), dtype=np.uint64)
        for k, (letter, value) in enumerate(zip(signature, args, strict=True)):
            try:
                slots[k] = _slot(letter, value)
            except TypeError as error:
                raise EmulatorError(f"{name}: argument {k + 1} {error}") from None
        message = ctypes.create_string_buffer(2001)
        launch = self._library.emulator_launch
        failed = launch(
            ctypes.c_int(self._places[name]),
            ctypes.c_uint(grid[0]),
            ctypes.c_uint(grid[1]),
            ctypes.c_int(block),
            ctypes.c_size_t(shared_bytes),
            ctypes.c_int(ORDERS[self.order]),
            ctypes.c_uint(self.seed),
            slots.ctypes.data_as(ctypes.c_void_p),
            message,
        )
        if failed:
            raise EmulatorError(f"{name}, {message.value.decode(errors='replace')}")


def _slot(letter: str, value: Any) -> int:
    """Return the 8 bytes of an argument, after a check that its type is that of the parameter."""
    if letter.startswith("*"):
        return _address(letter, value)
    expected = NUMBERS[letter]
    if isinstance(value, float) and not isinstance(value, np.generic):
        value = np.float64(value)
    if not isinstance(value, np.generic) or value.dtype.type not in expected:
        raise TypeError(f"must be np.{expected[0].__name__}, got {value!r} of {type(value).__name__}")
    return int.from_bytes(value.tobytes(), "little")


def _address(letter: str, value: Any) -> int:
    """Return the address of an array whose numbers have the parameter's size; bytes fit every parameter."""
    if value is None:
        return 0
    if isinstance(value, int):  # an address
        return value
    if isinstance(value, np.ndarray):
        size, address = value.itemsize, value.ctypes.data
    elif hasattr(value, "data_ptr"):
        if value.device.type != "cpu":
            raise TypeError(f"must be a tensor on the CPU, got one on {value.device}")
        size, address = value.element_size(), value.data_ptr()
    else:
        raise TypeError(f"must be a tensor, an array or None, got {type(value).__name__}")
    wanted = int(letter[1:])
    if 0 < wanted <= 8 and size not in (1, wanted):  # larger ones are structures
        raise TypeError(f"must hold numbers of {wanted} bytes, got {value.dtype}")
    return int(address)
