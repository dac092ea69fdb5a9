"""The command line: `kdi`, or `python -m kdi`.

    arguments ──▶ inputs: files, stdin ──▶ a command ──▶ outputs: files, written atomically, stdout

An error is one line on stderr and an exit code; KDI_TRACEBACK=1 adds the traceback.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from kdi.cli._errors import describe_error, print_error, warnings_as_notes, write_stderr

__all__ = ["main"]

FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141  # 2 is wrong usage; 128 + n is signal n, as in shells
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stopped(BaseException):
    """A signal asks the process to end; incomplete files are removed while it propagates."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of `kdi`, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after `kdi`; by default those of the process.
    """
    signals: list[int] = []
    try:
        with _raise_on_signals(signals), warnings_as_notes():
            return _run(arguments)
    except (Stopped, KeyboardInterrupt):
        code = 128 + signals[0] if signals else INTERRUPTED
    except Exception as error:
        if signals:  # during the import of a library, which may turn `Stopped` into an error of its own
            code = 128 + signals[0]
        elif isinstance(error, OSError) and error.errno == errno.EPIPE:  # the reader of our output has closed it
            code = PIPE_CLOSED
        else:
            code = FAILED
            if os.environ.get("KDI_TRACEBACK"):
                write_stderr(traceback.format_exc())
            print_error(describe_error(error))
    if arguments is None:
        _discard_output()
    return code


def _run(arguments: Sequence[str] | None) -> int:
    from kdi.cli._arguments import parse  # imported here, so that an interrupt during the import is handled

    code = 0
    try:
        options = parse(arguments)
    except SystemExit as end:  # raised by argparse after help, the version or an error
        code = end.code if isinstance(end.code, int) else FAILED
    else:
        options.run(options)
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


@contextmanager
def _raise_on_signals(signals: list[int]) -> Iterator[None]:
    """Raise `Stopped` on signals that would end the process, so that it cleans up first; record them in `signals`."""

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, before[number])  # a second signal ends the process at once
        signals.append(number)
        raise Stopped(number)

    if threading.current_thread() is not threading.main_thread():  # other threads cannot set handlers
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}  # as by nohup
    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _discard_output() -> None:
    """Discard buffered standard output: if its reader is gone, Python would fail to flush it at exit."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, sys.stdout.fileno())
            os.close(devnull)


def __dir__() -> list[str]:
    return __all__
