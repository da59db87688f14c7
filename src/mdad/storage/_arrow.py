"""pyarrow, imported when a file needs it: it takes longer to import than the command may start."""

from __future__ import annotations

from typing import Any


def arrow() -> tuple[Any, Any]:
    """The modules ``pyarrow`` and ``pyarrow.parquet``."""
    import pyarrow as pa  # noqa: PLC0415  # see the module's docstring
    import pyarrow.parquet as pq  # noqa: PLC0415

    return pa, pq


def arrow_errors() -> tuple[type[Exception], ...]:
    """What pyarrow raises on bytes that are not the file they are taken for."""
    known = (OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError)
    return (arrow()[0].ArrowException, *known)


def first_line(error: Exception) -> str:
    """The first line of a foreign error message, or its class."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
