"""Libraries of others that an experiment compares with, where they are installed."""

from collections.abc import Iterable
from importlib.util import find_spec


def installed(library: str) -> bool:
    return find_spec(library) is not None


def say_missing(libraries: Iterable[str]) -> None:
    for library in libraries:
        if not installed(library):
            print(f"Left out: {library} is not installed", flush=True)
