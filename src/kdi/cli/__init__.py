"""The command line: `kdi`, or `python -m kdi`.

    arguments ──▶ inputs: files, stdin ──▶ a command ──▶ outputs: files that appear when whole, stdout

What goes wrong is one line on stderr and an exit code; KDI_TRACEBACK=1 shows where it did.
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

FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141  # 2 is wrong usage; 128 and more as shells count signals
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stopped(BaseException):
    """The process is asked to end; files that are not whole are removed on the way out."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of `kdi`, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after `kdi`; that of the process by default.
    """
    asked: list[int] = []
    try:
        with _stopped_by_signals(asked), warnings_as_notes():
            return _run(arguments)
    except (Stopped, KeyboardInterrupt):
        code = 128 + asked[0] if asked else INTERRUPTED
    except Exception as error:
        if asked:  # while a library was imported, which then says that it is broken
            code = 128 + asked[0]
        elif isinstance(error, OSError) and error.errno == errno.EPIPE:  # whoever reads our output has seen enough
            code = PIPE_CLOSED
        else:
            code = FAILED
            if os.environ.get("KDI_TRACEBACK"):
                write_stderr(traceback.format_exc())
            print_error(describe_error(error))
    if arguments is None:
        _drop_output()
    return code


def _run(arguments: Sequence[str] | None) -> int:
    from kdi.cli._arguments import parse  # here, where an interrupt is one

    code = 0
    try:
        options = parse(arguments)
    except SystemExit as end:  # of argparse, after help, the version or an error
        code = end.code if isinstance(end.code, int) else FAILED
    else:
        options.run(options)
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


@contextmanager
def _stopped_by_signals(asked: list[int]) -> Iterator[None]:
    """Signals that end a process as errors, so that it cleans up first; they are noted in `asked`."""

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, before[number])  # whoever asks twice does not want to wait
        asked.append(number)
        raise Stopped(number)

    if threading.current_thread() is not threading.main_thread():  # others may not set handlers
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}  # as of nohup
    try:
        for number in before:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _drop_output() -> None:
    """Leave out what is still on its way to standard output: nobody may be there to take it, and Python would wait."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
