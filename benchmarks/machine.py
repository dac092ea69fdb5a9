"""The machine and the versions of libraries on which figures were measured."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

LIBRARIES = ["kdi", "numpy", "scipy", "scikit-learn", "kditransform", "numba", "KDEpy", "joblib", "pandas"]
LIBRARIES += ["pyarrow", "dask", "dask-ml", "distributed", "pyspark", "torch", "tabpfn"]


def machine() -> dict[str, object]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "system": platform.platform(terse=True),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "cores_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        # Recorded so that figures from a busy machine can be recognised.
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in LIBRARIES},
        "kdi_compiled": _is_compiled(),
    }


def described(machine: dict) -> str:
    """Describe the machine in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items() if number)
    core = "" if machine["kdi_compiled"] else " WITHOUT its compiled core"
    core += f"; {machine['gpu']}" if "gpu" in machine else ""
    return (
        f"{machine['date']}: {machine['processor']}, {machine['cores_allowed']} of {machine['cores']} cores, "
        f"load {machine['load']:.1f} at the start, {machine['system']}, Python {machine['python']}; {versions}{core}."
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _is_compiled() -> bool:
    """Tell whether kdi uses its compiled core: figures of the NumPy core are not representative."""
    return find_spec("kdi._numerics._core") is not None and os.environ.get("KDI_PURE_PYTHON", "0") in ("", "0")
