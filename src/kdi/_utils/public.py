"""Public names report the package that users import them from, not the private module that defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Public = TypeVar("Public", bound=Callable[..., object])


def public_in(package: str) -> Callable[[Public], Public]:
    """Set `__module__` of a class or function to the package that exports it.

    Help and the reference then name that package, and pickles survive a move of the private module.
    """

    def set_module(public: Public) -> Public:
        public.__module__ = package
        return public

    return set_module
