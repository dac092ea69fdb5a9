"""Files that appear when they are whole: what was there before stays until then, and after an error."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import Any


def target_path(target: Any, what: str) -> str:
    """The path of a file to write, in a directory that exists and may be written to; links are followed.

    `what` is what messages call the file, "a Parquet file" for example.
    """
    if not isinstance(target, str | os.PathLike):
        raise TypeError(f"what is written needs the path of {what}, got {type(target).__name__}.")
    path = os.path.realpath(os.path.expanduser(os.fsdecode(target)))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path!r} is a directory, and cannot be written as {what}.")
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe, which a file must not take the place of
        raise ValueError(f"{path!r} is no file, and cannot become {what}.")
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(f"there is no directory {os.path.dirname(path)!r} to write {path!r} into.")
    if os.path.exists(path) and not os.access(path, os.W_OK):  # though a file beside it could take its place
        raise PermissionError(f"{path!r} is read-only, and is not replaced.")
    if not os.access(os.path.dirname(path), os.W_OK):
        raise PermissionError(f"the directory of {path!r} cannot be written to.")
    return path


DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)  # of a disk, of a file, of a share of a disk


@contextmanager
def disk_full_context(target: str, aside: str | None = None) -> Iterator[None]:
    """Errors of what cannot grow any more that say what that is; whoever writes does not always know."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL and error.filename in (None, aside):
            raise OSError(error.errno, os.strerror(error.errno), target) from error
        raise


@contextmanager
def atomic_write(path: str) -> Iterator[str]:
    """The name of a file beside `path` to write to, which takes its place once the block ends without an error."""
    aside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:200]}.{token_hex(8)}.tmp")
    try:
        with disk_full_context(path, aside):
            yield aside
        with suppress(FileNotFoundError):
            shutil.copymode(path, aside)
        os.replace(aside, path)
    except BaseException:  # of an interrupt by the user, too, nothing is left
        with suppress(FileNotFoundError):
            os.remove(aside)
        raise
