"""A plugin of `make test-gpu`: writes what was tested, where, and with which outcome, to the file in KDI_GPU_REPORT.

PYTHONPATH=tests/helpers KDI_GPU_REPORT=report.txt python -m pytest -p gpu_report tests/torch
"""

import hashlib
import os
import platform
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from paths import ROOT

LIBRARIES = ["torch", "cuda-core", "cuda-bindings", "cupy", "cupy-cuda12x", "cupy-cuda13x", "numpy", "scipy",
             "scikit-learn", "pytest", "array-api-strict", "onnx", "onnxruntime", "tabpfn"]  # fmt: skip
OUTCOMES = ["passed", "skipped", "failed", "error", "xfailed"]


def pytest_terminal_summary(terminalreporter, exitstatus):
    """Write the report; with pytest-xdist, only the process that collects all outcomes gets here."""
    target = os.environ.get("KDI_GPU_REPORT")
    if target:
        Path(target).write_text(report(terminalreporter.stats, int(exitstatus)), encoding="utf-8")
        terminalreporter.write_line(f"wrote {target}")


def report(stats, exitstatus):
    """Return the report as text."""
    outcomes = {name: [one for one in stats.get(name, []) if hasattr(one, "nodeid")] for name in OUTCOMES}
    passed, skipped = outcomes["passed"], outcomes["skipped"]
    lines = ["The tests of kdi.torch and of the array API, as `make test-gpu` runs them.", ""]
    lines += [f"{name:<18}{text}" for name, text in surroundings()]
    lines += ["", ", ".join(f"{len(found)} {name}" for name, found in outcomes.items() if found or name == "passed")]
    on_gpu = sum("cuda" in one.nodeid.partition("[")[2] for one in passed)
    lines += [f"{on_gpu} of those that passed have a GPU or its kernels as a parameter", f"exit status {exitstatus}"]
    files = Counter((one.nodeid.partition("::")[0], name) for name, found in outcomes.items() for one in found)
    lines += ["", *(f"{count:>6} {name:<8} {path}" for (path, name), count in sorted(files.items()))]
    reasons = Counter(reason(one) for one in skipped)
    lines += ["", "skipped:", *(f"{count:>6} {text}" for text, count in sorted(reasons.items()))] if reasons else []
    wrong = [f"{name} {one.nodeid}" for name in ("failed", "error") for one in outcomes[name]]
    return "\n".join([*lines, *([""] if wrong else []), *wrong, ""])


def surroundings():
    """The date, the machine, the versions, and what identifies the sources."""
    import torch

    yield "date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    for name in ("kernels.cu", "_cuda.py"):
        source = ROOT / "src" / "kdi" / "torch" / name
        yield name, f"sha256 {hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    if torch.cuda.is_available():
        name, capability = torch.cuda.get_device_name(), ".".join(map(str, torch.cuda.get_device_capability()))
        yield "GPU", f"{name}, compute capability {capability}, CUDA {torch.version.cuda}"
    else:
        yield "GPU", "none"
    yield (
        "system",
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
    )
    for library in LIBRARIES:
        try:
            yield library, version(library)
        except PackageNotFoundError:
            if not library.startswith("cupy"):
                yield library, "not installed"


def reason(one):
    """Why a test was skipped."""
    text = one.longrepr[2] if isinstance(one.longrepr, tuple) else str(one.longrepr)
    return text.removeprefix("Skipped: ")
