"""One cell: a number, a missing score, or a mistake.

Zeros and ones are int8 with -1 for a missing score as long as nothing else turns up, so that
a large table costs one byte per cell while it is read.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

MISSING_TEXTS = ("", "NA", "NaN", "nan", "null", "None")
"""The only texts that mean "not scored"; white space around them does not count."""

TRUE_TEXTS = ("True", "true", "TRUE")
FALSE_TEXTS = ("False", "false", "FALSE")

MISSING = -1
ABSENT = -2

_COMMON: dict[str, int] = {
    **dict.fromkeys(("0", "0.0", *FALSE_TEXTS), 0),
    **dict.fromkeys(("1", "1.0", *TRUE_TEXTS), 1),
    **dict.fromkeys(MISSING_TEXTS, MISSING),
}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_NUMERALS = re.compile(r"[0-9.eE+-]*")


def number(text: str) -> float | None:
    """A cell as a number; NaN when it was not scored, None when it is neither.

    >>> number(" 0.5 "), number("True"), number("NA"), number("0,5"), number("1_000")
    (0.5, 1.0, nan, None, None)
    """
    text = text.strip()
    if text in _COMMON:
        return float(_COMMON[text]) if _COMMON[text] != MISSING else math.nan
    # float() would also take 1_000, infinity and digits of other scripts.
    return float(text) if _NUMBER.fullmatch(text) else None


def parsed(cells: Sequence[str]) -> tuple[npt.NDArray[Any], list[int]]:
    """The numbers of a row of cells, int8 or float64, and the positions of the mistakes."""
    size = len(cells)
    try:
        return np.fromiter(map(_COMMON.__getitem__, cells), np.int8, size), []
    except KeyError:
        pass
    if _NUMERALS.fullmatch("".join(cells)):
        try:
            filled = [cell or "nan" for cell in cells]
            return np.fromiter(map(float, filled), np.float64, size), []
        except ValueError:
            pass  # a thing such as 1-2
    found = [number(cell) for cell in cells]
    wrong = [position for position, value in enumerate(found) if value is None]
    array = np.array([math.nan if value is None else value for value in found], dtype=np.float64)
    return array, wrong


def as_codes(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Zeros, ones and NaN as int8 codes; everything else as float64."""
    if array.dtype == bool:
        return array.astype(np.int8)
    if np.issubdtype(array.dtype, np.floating):
        absent = np.isnan(array)
        if ((array == 0) | (array == 1) | absent).all():
            return np.where(absent, MISSING, array).astype(np.int8)
    elif ((array == 0) | (array == 1)).all():
        return array.astype(np.int8)
    return array.astype(np.float64)


def as_floats(array: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Codes as floats, NaN where there is no score."""
    result = array.astype(dtype)
    if array.dtype == np.int8:
        result[array < 0] = np.nan
    return result


def finished(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What a score matrix takes: int8 when complete, else floats with NaN."""
    if array.dtype == np.int8 and (array < 0).any():
        return as_floats(array, np.float32)
    return array


def hint(text: str) -> str:
    """What to do about a cell that is no number."""
    bare = text.strip().lower().lstrip("+-")
    if bare in {"inf", "infinity"}:
        return "An infinite score is not a score: correct the cell or leave it empty."
    if re.fullmatch(r"\d+,\d+", bare):
        return "Write decimal points instead of commas."
    if bare.endswith("%"):
        return "Write numbers without the % sign and declare score_range=(0, 100)."
    known = ", ".join(filter(None, MISSING_TEXTS))
    return (
        "Every cell must be a number, True or False; one that was not scored is empty "
        f"(or {known}). Labels of models belong into models_file=, labels of items into items=."
    )
