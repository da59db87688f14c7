"""Progress on the error stream: a bar on a terminal, a line now and then in a file."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

__all__ = ["Bar", "console", "progress_bar"]

LINE_EVERY = 30.0
"""Seconds between two lines of progress in a file."""

MINUTE, HOUR = 60, 3600


def console(*, error: bool = False) -> Console:
    """A console on the output or the error stream."""
    from rich.console import Console  # noqa: PLC0415  # slow to import

    return Console(stderr=error, highlight=False)


def duration(seconds: float) -> str:
    """A time for people, to two digits or so.

    >>> duration(42), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h"


class Pace:
    """The time that is left, from what was finished since this command began alone.

    What an earlier command finished was there at once and says nothing of the time a run takes.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._first: int | None = None

    def left(self, done: int, total: int) -> float | None:
        """Seconds that are left; None before the first thing is finished."""
        if self._first is None or done < self._first:
            self._first, self._start = done, time.monotonic()
        if done == self._first:
            return None
        return (time.monotonic() - self._start) / (done - self._first) * (total - done)


class Bar:
    """What a command tells of its progress: call it with things done and in all."""

    def __init__(self, label: str, terminal: Console, bar: Any) -> None:
        self._label, self._terminal, self._bar = label, terminal, bar
        self._pace, self._last = Pace(), time.monotonic()
        self._task = bar.add_task(label, total=None, left="")

    def __call__(self, done: int, total: int) -> None:
        """So many of so many things are done."""
        left = self._pace.left(done, total)
        text = "" if left is None or done == total else f"about {duration(left)} left"
        self._bar.update(self._task, completed=done, total=total, left=text)
        now = time.monotonic()
        if not self._terminal.is_terminal and now - self._last >= LINE_EVERY:
            self._last = now
            self.tell(f"{done:,} of {total:,} {self._label} done{text and ', '}{text}")

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        self._terminal.print(line, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(label: str) -> Iterator[Bar]:
    """A progress bar on the error stream, when that is a terminal; else a line now and then."""
    from rich import progress  # noqa: PLC0415  # slow to import

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[left]}"),
    )
    terminal = console(error=True)
    with progress.Progress(
        *columns, console=terminal, transient=True, disable=not terminal.is_terminal
    ) as bar:
        yield Bar(label, terminal, bar)
