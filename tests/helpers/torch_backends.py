"""The backends of kdi.torch, as tests see them: a device, and what computes there.

"core" is the CPU's core, "plain" plain torch operations on CPU tensors as on a device without kernels, "cuda" and
"cuda plain" a real GPU; where there is none, "emulator" stands for it: the CUDA kernels compiled for the CPU. A test
that takes the fixture `backend` runs on each.
"""

from contextlib import contextmanager
from functools import cache

import torch
from cuda_emulator import EmulatedKernels, compiler
from engines import missing
from paths import ROOT

from kdi.torch import _cuda, _functional, _plain

KERNELS = ROOT / "src" / "kdi" / "torch" / "kernels.cu"
HAS_CUDA = torch.cuda.is_available()
ON_KERNELS = ["cuda"] if HAS_CUDA else ["emulator"]
BACKENDS = ["core", "plain", *ON_KERNELS, *(["cuda plain"] if HAS_CUDA else [])]


class Backend:
    """A device, and whether its results come from the CPU's core or from somewhere else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.device = torch.device("cuda:0" if name.startswith("cuda") else "cpu")

    @property
    def has_kernels(self) -> bool:
        return self.name in ON_KERNELS

    def put(self, x):
        return torch.as_tensor(x).to(self.device)

    def __repr__(self) -> str:
        return self.name


@cache
def emulated_kernels() -> EmulatedKernels:
    return EmulatedKernels(KERNELS.read_text())


def choose(name: str, monkeypatch) -> Backend:
    """Make kdi.torch use a backend for the tensors of its device."""
    backend = Backend(name)
    modules = {"core": None, "plain": _plain, "cuda plain": _plain, "emulator": _cuda}
    if name == "emulator":
        if compiler() is None:
            missing("there is no C++ compiler for the emulated kernels")
        kernels = emulated_kernels()
        monkeypatch.setattr(_cuda, "kernels_of", lambda device: kernels)
    if name != "cuda":
        monkeypatch.setattr(_functional, "backend_for", lambda device: modules[name])
    return backend


@contextmanager
def on_core(monkeypatch):
    """Let the CPU's core compute, whatever backend was chosen."""
    with monkeypatch.context() as patch:
        patch.setattr(_functional, "backend_for", lambda device: None)
        yield
