"""Optional libraries that experiments compare with."""

from collections.abc import Iterable
from importlib.util import find_spec


def installed(library: str) -> bool:
    return find_spec(library) is not None


def print_missing(libraries: Iterable[str]) -> None:
    for library in libraries:
        if not installed(library):
            print(f"Left out: {library} is not installed", flush=True)
