"""kernels.cu compiles: as C++ for the emulator, and as CUDA where there is a compiler for it."""

import re
import shutil
import subprocess

import pytest
from cuda_emulator import EmulatedKernels, compiler, find_kernels
from paths import ROOT

KERNELS = ROOT / "src" / "kdi" / "torch" / "kernels.cu"
NUMBERS = ["float32", "float64", "float16", "bfloat16"]
QUICK = ["float32", "float16", "bfloat16"]


@pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")
def test_the_emulator_compiles_all_kernels_without_warnings():
    kernels = EmulatedKernels(KERNELS.read_text())
    names = ["scan", "scan_weighted", "plan", "fill_finely", "fill_weighted", "forward", "inverse"]
    expected = {f"{name}_{number}" for name in names for number in NUMBERS}
    expected |= {f"{name}_{number}" for name in ["fill", "quick_four", "quick_one"] for number in QUICK}
    assert expected | {"build_maps", "choose_windows"} <= set(kernels.signatures)
    assert kernels.warnings == ""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90"])
def test_nvcc_compiles_all_kernels_without_warnings(architecture, tmp_path):
    known = subprocess.run(["nvcc", "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
    if architecture not in known:
        pytest.skip(f"this nvcc does not know {architecture}")
    command = ["nvcc", f"-arch={architecture}", "-cubin", "-fmad=false", "-Xptxas", "-v"]
    command += ["-o", str(tmp_path / "kernels.cubin"), str(KERNELS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "warning" not in run.stdout + run.stderr
    # A block has 65536 registers; static shared memory is 48 KiB at most.
    used = dict(re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", run.stdout + run.stderr, re.DOTALL))
    threads = find_kernels(KERNELS.read_text())
    assert set(used) == set(threads)
    assert all(int(used[name]) * threads[name] <= 65536 for name in used)
    assert all(int(n) <= 49152 for n in re.findall(r"(\d+) bytes smem", run.stdout + run.stderr))
