"""What a gap on random items says of the gap over the pool, given how such gaps are distributed."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

__all__ = ["believed_error", "probability_ahead"]

FloatArray = npt.NDArray[np.float64]

MOST_PSEUDO = 1000.0

LEAST_ABILITY = 0.1
"""Of the variance of full-score gaps at least so much is not noise of the pool."""


def believed_error(
    differences: FloatArray, left: float, mean: float, sd: float, spread: float
) -> float:
    """Standard error of a gap, the variance of the differences shrunk to what it is for others.

    Parameters
    ----------
    differences : as shares of the range
    left : share of the pool that was not scored
    mean, sd : of mean squared differences, over pairs of such models
    spread : standard deviation of gaps
    """
    size, gap = len(differences), float(differences.mean())
    # As many items as would know a pair's mean square as well as it is known from other pairs.
    pseudo = min(mean * (1 - mean) / sd**2, MOST_PSEUDO) if sd > 0 else MOST_PSEUDO
    square = (float(differences @ differences) + pseudo * mean) / (size + pseudo)
    noise = square / size * left
    # The observed gap is partly noise; taken whole it would make a lucky pair look sure.
    likely = gap if math.isinf(spread) else gap * spread**2 / (spread**2 + noise)
    return math.sqrt(max(square - likely**2, square / size) / size * left)


def probability_ahead(
    centre: float, se: float, freedom: int | None, spread: float, other: float = 0.0
) -> float:
    """Probability of a gap above 0; see :func:`paired_interval`.

    Parameters
    ----------
    other : size of the sample over that of another pool the gap is to be over, 0 = this one
    """
    if se == 0:
        return 0.5 if centre == 0 else float(centre > 0)
    if math.isinf(spread):
        z = centre / se / math.sqrt(1 + other)
    else:
        noise = se**2 * other
        # What gaps of the pool vary by is partly its own noise, which another pool does not share.
        ability = max(spread**2 - noise, LEAST_ABILITY * spread**2)
        seen, unseen = ability + se**2, ability + noise
        z = centre * ability / math.sqrt(seen * (seen * unseen - ability**2))
    if freedom is None:
        return NormalDist().cdf(z)
    from scipy.special import stdtr  # noqa: PLC0415

    return float(stdtr(freedom, z))
