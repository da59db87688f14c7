"""Student's t fitted to the errors of estimated full scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mdad._specs import Spread

if TYPE_CHECKING:
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

__all__ = ["FREEDOMS", "spread_of", "upper"]

FREEDOMS = (4.0, 6.0, 10.0, 20.0, 100.0)
"""Tried; the last is as good as Normal, and below the first a variance means little."""

STEPS = 100


def spread_of(errors: FloatArray) -> Spread:
    """The most likely scaled t of some errors, widened for their number.

    Parameters
    ----------
    errors : array of shape (n,)
    """
    from scipy.special import gammaln  # noqa: PLC0415  # slow to import

    n, centre = len(errors), float(errors.mean())
    rest = errors - centre
    if not rest.any():
        return Spread(0.0, FREEDOMS[-1], centre)
    best, found = -math.inf, Spread(0.0, FREEDOMS[-1], centre)
    for freedom in FREEDOMS:
        square = float((rest**2).mean())
        for _ in range(STEPS):
            square = float((rest**2 * (freedom + 1) / (freedom + rest**2 / square)).mean())
        kernel = np.log1p(rest**2 / (freedom * square)).sum() * (freedom + 1) / 2
        constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(freedom * square) / 2
        likelihood = float(len(rest) * constant - kernel)
        if likelihood > best:
            best, found = likelihood, Spread(math.sqrt(square), freedom, centre)
    # Scale and centre are learned from n errors.
    wider = math.sqrt(1 + 1 / n)
    return Spread(found.scale * wider, min(found.freedom, max(n - 1.0, 1.0)), centre)


def upper(spread: Spread, level: float) -> float:
    """Half the width of the two-sided interval of this level."""
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import

    return spread.scale * float(stdtrit(spread.freedom, (1 + level) / 2))
