"""kernels.cu compiled by NVRTC through cuda.core, which needs no GPU; the folder of compiled programs; no cuda.core."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from cuda_emulator import compiler, find_kernels
from engines import missing

from kdi.torch import _cuda, _functional, _plain

SMALL = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
ARCHITECTURES = ["sm_75", "sm_80", "sm_90"]


@pytest.fixture
def compiled():
    """The module that compiles the kernels; the tests that need it are skipped without cuda.core or NVRTC."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        from kdi.torch import _kernels
    except ImportError as error:
        missing(str(error))
    try:
        load_nvidia_dynamic_lib("nvrtc")
    except Exception as error:  # of its own class
        missing(f"NVRTC is not installed ({type(error).__name__})")
    return _kernels


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of compiled programs, which is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def small(compiled, monkeypatch):
    """The same with a kernel that compiles in no time."""
    monkeypatch.setattr(compiled, "kernel_source", lambda: SMALL)
    return compiled


def entries(folder):
    """The compiled programs in the folder."""
    return [path for path in folder.rglob("*") if path.is_file() and "entries" in path.parts]


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_all_kernels_compile(compiled, folder, architecture):
    code = compiled.compile_kernels(architecture).code
    assert len(entries(folder)) == 1
    if compiler() is not None:
        for name in find_kernels(compiled.kernel_source()):
            assert f".text.{name}\0".encode() in code


def test_a_program_is_compiled_once_per_architecture_and_source(small, folder, monkeypatch):
    code = small.compile_kernels("sm_90").code
    (entry,) = entries(folder)
    assert entry.read_bytes() == code
    entry.write_bytes(b"kept")  # what is in the folder is taken as it is
    assert small.compile_kernels("sm_90").code == b"kept"
    small.compile_kernels("sm_80")
    monkeypatch.setattr(small, "kernel_source", lambda: SMALL.replace("2;", "3;"))
    assert small.compile_kernels("sm_90").code not in (code, b"kept")
    assert len(entries(folder)) == 3


@pytest.mark.slow
def test_several_processes_at_once(small, folder):
    program = f"""if True:
        import hashlib
        from kdi.torch import _kernels
        _kernels.kernel_source = lambda: {SMALL!r}
        print("ready", flush=True)
        input()
        for architecture in {ARCHITECTURES}:
            print(hashlib.sha256(_kernels.compile_kernels(architecture).code).hexdigest())
    """
    command = [sys.executable, "-c", program]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    printed = {process.communicate(timeout=300)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(printed) == 1
    assert len(set(printed.pop().split())) == len(entries(folder)) == len(ARCHITECTURES)
    assert not [path for path in folder.rglob("tmp/*") if path.is_file()]


@pytest.mark.parametrize("is_file", [True, False])
def test_a_folder_that_cannot_be_written(small, folder, is_file, monkeypatch):
    expected = small.compile_kernels("sm_90").code
    place = folder / "home"
    if is_file:  # in place of a folder
        place.touch()
    elif os.name == "nt" or os.geteuid() == 0:
        pytest.skip("this user may write everywhere")
    else:
        place.mkdir(mode=0o500)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    monkeypatch.setenv("LOCALAPPDATA", str(place))
    assert small.compile_kernels("sm_90").code == expected


def test_the_source_is_package_data(compiled):
    assert compiled.kernel_source() == Path(_cuda.__file__).with_name("kernels.cu").read_text(encoding="utf-8")


@pytest.fixture
def no_kernels(monkeypatch):
    """What was loaded is forgotten, and loaded again after the test."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.delitem(sys.modules, "kdi.torch._kernels", raising=False)
    loaders = _cuda._kernels, _functional._load_kernels
    for one in loaders:
        one.cache_clear()
    yield
    for one in loaders:
        one.cache_clear()


@pytest.mark.parametrize("library", ["cuda.bindings", "cuda.core"])
def test_without_cuda_core_plain_operations_are_used(library, no_kernels, monkeypatch, recwarn):
    monkeypatch.setitem(sys.modules, library, None)  # cannot be imported
    with pytest.raises(ImportError, match="cuda-core cannot be imported"):
        _cuda.check_available()
    for _ in range(3):
        assert _functional.backend_for(torch.device("cuda")) is _plain
    (warning,) = recwarn
    assert warning.category is UserWarning
    assert "its CUDA kernels cannot be loaded: cuda-core cannot be imported" in str(warning.message)
    assert "pip install 'kdi[cuda]' installs what they need" in str(warning.message)


def test_kernels_that_do_not_load_are_no_error(no_kernels, monkeypatch):
    """Such as those for a device that the driver does not know."""

    def fail(index):
        raise RuntimeError("no kernel image is available")

    monkeypatch.setattr(_cuda, "_kernels", fail)
    with pytest.warns(UserWarning, match="cannot be loaded: RuntimeError: no kernel image is available"):
        assert _functional.backend_for(torch.device("cuda")) is _plain
