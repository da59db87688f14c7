"""A budget of bytes on the disk that several downloads share."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Budget", "OverBudgetError"]


class OverBudgetError(Exception):
    """There is no room for a file, and nothing under way that would make some."""


class Budget:
    """Bytes that are kept, and bytes reserved for files under way.

    A file takes more room while it is fetched than when it is kept, for it is compressed. So a
    file that does not fit waits for those under way, and is refused when none is.

    Parameters
    ----------
    limit : bytes; None = no limit
    used : bytes that are there already
    """

    def __init__(self, limit: int | None, used: int) -> None:
        self._limit, self.used = limit, used
        self._reserved = 0
        self._changed = threading.Condition()

    @contextmanager
    def room(self, size: int, begun: int = 0) -> Iterator[None]:
        """Room for a file of so many bytes while it is fetched.

        Parameters
        ----------
        begun : bytes of it that are there already, and counted as used

        Raises
        ------
        OverBudgetError
            when there is none.
        """
        with self._changed:
            while not self._fits(size - begun):
                if not self._reserved:
                    raise OverBudgetError
                self._changed.wait()
            self._reserved += size
            self.used -= begun
        try:
            yield
        finally:
            with self._changed:
                self._reserved -= size
                self._changed.notify_all()

    def _fits(self, size: int) -> bool:
        return self._limit is None or self.used + self._reserved + size <= self._limit

    def keep(self, size: int) -> None:
        """Count a file that stays."""
        with self._changed:
            self.used += size
