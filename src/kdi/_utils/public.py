"""The address of public names: the package that users import them from, not the private module that defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Public = TypeVar("Public", bound=Callable[..., object])


def public_in(package: str) -> Callable[[Public], Public]:
    """Set `__module__`, so that help, pickles and the reference name the public package.

    Pickles then survive a move of the private module.
    """

    def address(one: Public) -> Public:
        one.__module__ = package
        return one

    return address
