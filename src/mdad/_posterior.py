"""What a gap on random items says of the gap over the pool, given how such gaps are distributed."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._moments import share_left

if TYPE_CHECKING:
    from mdad.paired import Paired

__all__ = ["GAP_SD", "believed_error", "items_to_decide", "probability_ahead"]

FloatArray = npt.NDArray[np.float64]

_MOST = 10**9

GAP_SD = 0.05
"""Prior standard deviation of a full-score gap as a share of the range: 5 points. Of gaps between
models of GPQA and MuSR leaderboards it is 5.7 points, of IFEval and FaRel 25 to 29."""

MOST_PSEUDO = 1000.0
"""Pseudo-observations where all pairs of models differ alike."""

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
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import

    return float(stdtr(freedom, z))


def items_to_decide(found: Paired, confidence: float) -> int | None:
    """Smallest size at which a gap as observed would be decided; None when there is no gap.

    Parameters
    ----------
    found : of :func:`paired_interval`
    confidence : probability of a better model that decides

    Notes
    -----
    The standard error shrinks with the square root of the size, and to 0 when the whole pool is
    scored; the prior is that of the comparison.

    Examples
    --------
    >>> from mdad.paired import paired_interval
    >>> close = paired_interval([1] * 52 + [0] * 48, [0] * 40 + [1] * 50 + [0] * 10, 1000)
    >>> items_to_decide(close, 0.95) > 100
    True
    """
    if found.gap == 0 or found.standard_error == 0:
        return None
    left = share_left(found.n, found.n_items)
    variance = found.standard_error**2 * found.n / left
    wanted = NormalDist().inv_cdf(confidence)
    lead = abs(found.gap)
    spread = GAP_SD * found.width if found.gap_sd is None else found.gap_sd
    low, high = found.n, found.n_items if found.n_items is not None else _MOST
    while low < high:
        size = (low + high) // 2
        rest = variance / size * share_left(size, found.n_items)
        shrink = 1.0 if math.isinf(spread) else spread / math.hypot(spread, rest**0.5)
        z = math.inf if rest == 0 else lead / math.sqrt(rest) * shrink
        low, high = (low, size) if z >= wanted else (size + 1, high)
    return low
