"""Optional libraries that experiments compare with."""

from collections.abc import Iterable
from importlib.util import find_spec


class NotInstalled(ImportError):
    """Libraries that an experiment needs are not installed."""


def installed(library: str) -> bool:
    return find_spec(library) is not None


def print_missing(libraries: Iterable[str]) -> None:
    for library in libraries:
        if not installed(library):
            print(f"Left out: {library} is not installed", flush=True)


def require(libraries: Iterable[str], extra: str) -> None:
    """Raise an error that names the missing libraries and the extra of kdi that installs them."""
    missing = [library for library in libraries if not installed(library)]
    if missing:
        raise NotInstalled(f"this experiment needs {', '.join(missing)}: pip install 'kdi[{extra}]'")
