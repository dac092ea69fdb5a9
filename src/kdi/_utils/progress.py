"""A progress bar on stderr: share and remaining time where the total is known, rows done, rows per second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any, TextIO

REDRAW_SECONDS = 0.2  # least time between two drawings
BAR_WIDTH = 20


class Progress:
    """Progress bar that counts rows; only a final line where the stream is not a terminal.

    Parameters
    ----------
    total : int, optional
        Number of rows, where it is known.
    stream : file, optional
        By default stderr.
    share : callable, optional
        Returns the share that is done, from 0 to 1, or None; used where `total` is not known.
    """

    def __init__(
        self,
        total: int | None = None,
        stream: TextIO | None = None,
        share: Callable[[], float | None] = lambda: None,
    ) -> None:
        self.total = total
        self.share = share
        self.done = 0
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream is not None and self._stream.isatty()
        self._start = self._drawn = monotonic()
        self._length = 0

    def add(self, rows: int) -> None:
        """Count more rows, and redraw unless the last drawing was just now."""
        self.done += rows
        now = monotonic()
        if self._is_terminal and now - self._drawn >= REDRAW_SECONDS:
            self._drawn = now
            self._draw(self._line(now - self._start))

    def close(self) -> None:
        """Write the final line."""
        if self._stream is None:
            return
        seconds = monotonic() - self._start
        last = f"{self.done:,} rows in {seconds:.1f} s{self._rate(seconds)}"
        if self._is_terminal:
            self._draw(last)
        else:
            self._stream.write(last)
        self._stream.write("\n")
        self._stream.flush()

    def _line(self, seconds: float) -> str:
        share = min(self.done / self.total, 1.0) if self.total else self.share()
        rate = self._rate(seconds)
        if share is None:
            return f"{self.done:,} rows{rate}"
        bar = ("█" * round(share * BAR_WIDTH)).ljust(BAR_WIDTH, "░")
        left = _clock(seconds * (1 - share) / share) if share else "?"
        total = f" of {self.total:,}" if self.total else ""
        line = f"{bar} {share:4.0%}  {left} left, {self.done:,}{total} rows"
        return f"{line}{rate}" if len(line + rate) < _width(self._stream) else line

    def _rate(self, seconds: float) -> str:
        return f", {self.done / seconds:,.0f} rows/s" if seconds > 0 else ""

    def _draw(self, line: str) -> None:
        """Overwrite the current line; a line wider than the terminal would wrap and could not be overwritten."""
        line = line[: _width(self._stream) - 1]
        self._stream.write("\r" + line.ljust(self._length))
        self._stream.flush()
        self._length = len(line)


def with_progress(
    batches: Iterable[Any], total: int | None, share: Callable[[], float | None] = lambda: None
) -> Iterator[Any]:
    """Yield the same batches; a progress bar counts each one after it was processed."""
    progress = Progress(total, share=share)
    try:
        for batch in batches:
            yield batch
            progress.add(batch.num_rows)
    finally:
        progress.close()


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
