"""Fuzz a target for some seconds, beginning with its corpus.

    python -m fuzz TARGET [--seconds N] [--seed N] [--keep-going] [--core MODULE]

`make fuzz` runs all targets with a core that Clang has instrumented. Findings are kept in build/fuzz/findings and, with
--keep-going, inputs that reach new code in build/fuzz/corpus.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import pkgutil
import re
import shutil
import sys
import traceback
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from types import ModuleType

import atheris

from fuzz import CORPUS, HERE, TARGETS

BUILD = HERE.parent / "build" / "fuzz"
MOST_PER_PLACE = 40  # findings that are kept per line at which they were raised


def main() -> None:
    """Parse the arguments and hand over to libFuzzer, which ends the process."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of libFuzzer's random numbers; 0 takes the time")
    parser.add_argument("--keep-going", action="store_true", help="keep findings, and go on")
    parser.add_argument("--core", help="path of an instrumented core")
    options = parser.parse_args()
    if options.core:
        _load_core(options.core)
    with atheris.instrument_imports(include=["kdi"]), redirect_stderr(io.StringIO()):  # a line per module
        check = import_module(f"fuzz.{options.target}").check
        _import_everything()
    findings = BUILD / "findings" / options.target
    work, corpus = BUILD / "corpus" / options.target, CORPUS / options.target
    if not options.keep_going:  # a short run begins with the committed corpus alone
        work = BUILD / "short" / options.target
        shutil.rmtree(work, ignore_errors=True)
    for path in (findings, work, corpus):
        path.mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}

    def one(data: bytes) -> None:
        try:
            check(data)
        except Exception as error:
            if not options.keep_going:
                raise
            _keep(findings, data, error, counts)

    arguments = [
        sys.argv[0],
        *(str(work), str(corpus)),
        *(f"-max_total_time={options.seconds}", "-max_len=8192", "-len_control=0", "-timeout=60", "-rss_limit_mb=4000"),
        *(f"-artifact_prefix={findings}/", "-print_final_stats=1", f"-seed={options.seed}"),
    ]
    atheris.Setup(arguments, one)
    atheris.Fuzz()


def _load_core(path: str) -> None:
    """Load a core in place of the installed one."""
    name = "kdi._numerics._core"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module


def _import_everything() -> None:
    """Import the modules that kdi imports when they are first used, so that they are instrumented too."""
    import kdi

    for found in pkgutil.walk_packages(kdi.__path__, "kdi."):
        if not re.match(r"kdi\.(dask|spark|compat|__main__|_plots)", found.name) and found.name not in sys.modules:
            import_module(found.name)


def _keep(folder: Path, data: bytes, error: Exception, counts: dict[str, int]) -> None:
    """Save an input that raised an error, with the traceback; few per place."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = (str(HERE), str(HERE.parent / "src"))
    last = next(frame for frame in reversed(frames) if frame.filename.startswith(ours))
    place = f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"
    counts[place] = counts.get(place, 0) + 1
    if counts[place] <= MOST_PER_PLACE:
        name = f"{place}-{hashlib.sha1(data).hexdigest()[:8]}"
        (folder / name).write_bytes(data)
        (folder / f"{name}.txt").write_text("".join(traceback.format_exception(error)))
        print(f"finding: {name}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()
