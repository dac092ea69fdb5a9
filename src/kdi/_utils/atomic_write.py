"""Atomic writes: a file appears when it is complete; until then, and after an error, the old one stays."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import Any


def target_path(target: Any, what: str) -> str:
    """Check the path of a file to write and resolve its links; raise where the file cannot be written.

    `what` is what messages call the file, "a Parquet file" for example.
    """
    if not isinstance(target, str | os.PathLike):
        raise TypeError(f"the target must be the path of {what}, got {type(target).__name__}.")
    path = os.path.realpath(os.path.expanduser(os.fsdecode(target)))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path!r} is a directory; cannot write {what}.")
    if os.path.exists(path) and not os.path.isfile(path):  # never replace a device or a pipe by a file
        raise ValueError(f"{path!r} is not a regular file; cannot write {what}.")
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(f"there is no directory {os.path.dirname(path)!r} to write {path!r} into.")
    if os.path.exists(path) and not os.access(path, os.W_OK):  # replacing it by a new file would succeed
        raise PermissionError(f"{path!r} is read-only, and is not replaced.")
    if not os.access(os.path.dirname(path), os.W_OK):
        raise PermissionError(f"the directory of {path!r} cannot be written to.")
    return path


DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)  # no space left, file too large, quota exceeded


@contextmanager
def disk_full_context(target: str, temporary: str | None = None) -> Iterator[None]:
    """Make errors of a full disk name the target, which the writing library does not always know."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL and error.filename in (None, temporary):
            raise OSError(error.errno, os.strerror(error.errno), target) from error
        raise


@contextmanager
def atomic_write(path: str) -> Iterator[str]:
    """Yield the name of a temporary file beside `path`, which replaces `path` if the block ends without an error."""
    name = os.fsencode(os.path.basename(path))[:200].decode(errors="ignore")  # file systems limit the bytes of a name
    temporary = os.path.join(os.path.dirname(path), f".{name}.{token_hex(8)}.tmp")
    try:
        with disk_full_context(path, temporary):
            yield temporary
        with suppress(FileNotFoundError):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:  # includes KeyboardInterrupt: leave nothing behind
        with suppress(FileNotFoundError):
            os.remove(temporary)
        raise
