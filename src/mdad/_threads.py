"""One thread for numerics while runs are done, whoever does them.

Workers share the cores, so each takes one; and a sum that more threads share may have another last
bit. The threads of BLAS belong to the whole process, those of OpenMP to the thread that asks for
them, and libraries are loaded when they are first needed: all three are seen to.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
"""A library reads them when it is loaded: what a run loads starts with one thread."""


class _Process:
    """The limit on BLAS: set when the first run begins, lifted when the last one ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = self._n_modules = 0
        self._pools: ThreadpoolController | None = None
        self._limit: Any = None
        self._known: set[str] = set()
        self._variables: dict[str, str | None] = {}

    def enter(self) -> ThreadpoolController:
        """Count one run more; the thread pools of OpenMP, which each thread limits for itself."""
        with self._lock:
            pools = self._found()
            if not self._running:
                self._known = {pool.filepath for pool in pools.lib_controllers}
                self._variables = {name: os.environ.get(name) for name in VARIABLES}
                os.environ.update(dict.fromkeys(VARIABLES, "1"))
                _nobody_controls()
                self._limit = pools.select(user_api="blas").limit(limits=1)
                _nobody_controls()
            self._running += 1
            return pools.select(user_api="openmp")

    def leave(self) -> None:
        """Count one run less."""
        with self._lock:
            self._running -= 1
            if self._running:
                return
            for name, value in self._variables.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            _nobody_controls()
            self._limit.restore_original_limits()
            for pool in self._found().lib_controllers:
                if pool.filepath not in self._known:
                    # Loaded by a run; what the process does next has what the user wants.
                    pool.set_num_threads(_wanted(self._variables))
            _nobody_controls()

    def _found(self) -> ThreadpoolController:
        """The thread pools of loaded libraries, looked for anew when a module was imported."""
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415  # slow to import

        if self._pools is None or self._n_modules != len(sys.modules):
            self._pools, self._n_modules = ThreadpoolController(), len(sys.modules)
        return self._pools


def _nobody_controls() -> None:
    """Let any thread set the number of threads of OpenBLAS.

    It is one number for the process, and threadpoolctl leaves it to the thread that set it first;
    here the thread that lifts the limit is seldom the one that set it.
    """
    from threadpoolctl import OpenBLASController  # noqa: PLC0415  # slow to import

    # Versions before 3.7 let any thread set it.
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _wanted(variables: dict[str, str | None]) -> int:
    """Threads of a library that is loaded without a limit: what a variable says, or one a core."""
    for value in variables.values():
        if value is not None and value.isdecimal() and int(value) > 0:
            return int(value)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


_PROCESS = _Process()


@contextmanager
def one_thread() -> Iterator[None]:
    """Numerics take one thread inside; other threads may be inside at the same time."""
    limit = _PROCESS.enter().limit(limits=1)
    try:
        yield
    finally:
        limit.restore_original_limits()
        _PROCESS.leave()
