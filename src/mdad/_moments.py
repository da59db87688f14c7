"""Standard errors of means of randomly drawn items; what :mod:`mdad.paired` is made of."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]

TINY = 1e-20
"""A squared error below this share of its bound is rounding, not variance."""


def share_left(size: int, n_items: int | None) -> float:
    """Share of the pool that was not scored: 1 - k / N."""
    return 1.0 if n_items is None else 1 - size / n_items


def wilson(p: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval for a share p of n items, n > 0 or 0 when nothing is known."""
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    if n == 0:
        return 0.0, 1.0
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def checked_weights(weights: npt.ArrayLike, size: int) -> FloatArray:
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (size,) or not math.isclose(float(share.sum()), 1, abs_tol=1e-9):
        raise SettingError("weights must be one per item and sum to 1.")
    return share


def weighted_moments(
    differences: FloatArray,
    weights: FloatArray,
    strata: Sequence[str] | None,
    width: float,
    left: float,
) -> tuple[float, float]:
    """Centre and standard error of a weighted mean of differences."""
    size, gap = len(differences), float(weights @ differences)
    if left == 0:
        return gap, 0.0
    added = 2 * (width / (size + 2)) ** 2
    if strata is None:
        deviation = weights * (differences - gap)
        spread = float((deviation**2).sum()) * size / max(size - 1, 1)
    else:
        spread = _stratified_variance(differences, weights, strata)
    return gap * size / (size + 2), math.sqrt((spread + added) * left)


def _stratified_variance(
    differences: FloatArray, weights: FloatArray, strata: Sequence[str]
) -> float:
    """Sum over strata of (share^2 x variance / items); see :func:`paired_interval`."""
    codes = np.unique(np.asarray(strata), return_inverse=True)[1]
    counts = np.bincount(codes)
    share = np.bincount(codes, weights=weights)
    means = np.bincount(codes, weights=differences) / counts
    squares = np.bincount(codes, weights=(differences - means[codes]) ** 2)
    freedom = int((counts - 1).sum())
    pooled = squares.sum() / freedom if freedom else float(differences.var(ddof=0))
    variances = np.where(counts > 1, squares / np.maximum(counts - 1, 1), pooled)
    return float((share**2 * variances / counts).sum())


def moments(
    differences: FloatArray, width: float, left: float, *, binary: bool
) -> tuple[float, float, int | None]:
    """Centre and standard error of the full-score gap, and degrees of freedom (None = Normal)."""
    size, gap = len(differences), float(differences.mean())
    if left == 0:
        return gap, 0.0, None
    if binary:
        n = size + 2
        centre = float(differences.sum()) / n
        discordance = (float(np.abs(differences).sum()) + 2) / n
        return centre, math.sqrt((discordance - centre**2) / n * left), None
    variance = float(differences.var(ddof=1)) if size > 1 else 0.0
    if variance <= (width * 1e-12) ** 2:
        return gap, math.sqrt(2 * left) * width / (size + 2), None
    return gap, math.sqrt(variance / size * left), size - 1


def graded_bounds(
    p: float, variance: float, kurtosis: float, size: int, left: float, level: float
) -> tuple[float, float]:
    """Wilson-type interval for the mean p of graded scores in [0, 1] with this sample variance.

    Wilson's bounds depend on z^2 / n alone, so Student's t comes in as fewer items.
    """
    if size == 1:
        return 0.0, 1.0
    se2 = variance / size * left
    if se2 <= p * (1 - p) * TINY:
        other = wilson(0.0, (size - 1) / left, level)[1]
        return p - other * p, p + other * (1 - p)
    # Light tails, and tails a small sample overstates, are not believed.
    freedom = max(2 / (2 / (size - 1) + max(kurtosis, 0.0) / size), min(size - 1, 2))
    ratio = NormalDist().inv_cdf((1 + level) / 2) / t_quantile((1 + level) / 2, freedom)
    return wilson(p, p * (1 - p) / se2 * ratio**2, level)


def excess_kurtosis(scores: FloatArray) -> float:
    """Fourth central moment over the squared second, less 3; 0 where all scores are equal."""
    deviation = scores - scores.mean()
    square = float((deviation**2).mean())
    return 0.0 if square == 0 else float((deviation**4).mean()) / square**2 - 3


def t_quantile(probability: float, freedom: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import

    return float(stdtrit(freedom, probability))
