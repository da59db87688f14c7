"""Bootstrap weights, percentile intervals and monotone crossings. No measure is defined here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mdad._checks import check_int, check_real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad._rng import Stream

__all__ = [
    "Interval",
    "Unit",
    "crossing",
    "interval_ends",
    "isotonic",
    "percentile_interval",
    "resample_counts",
]

Unit = Literal["runs", "models"]
FloatArray = npt.NDArray[np.float64]

MIDDLE = 0.68
"""Of a Normal distribution, within one standard deviation of the mean."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class Interval:
    """How intervals are made.

    Parameters
    ----------
    unit : whose variation the interval holds. "runs": what more runs on this very matrix would
        give; runs are resampled. "models": also what other models like those in the matrix would
        give; models are resampled, a pair weighing the product of its models' weights, and the
        spread is corrected for the runs, see :func:`interval_ends`.
    level : of the percentile interval
    n_resamples : bootstrap replicates; 0 = no interval

    Raises
    ------
    SettingError
        when the level is not inside (0, 1) or the number of resamples is negative.
    """

    unit: Unit = "models"
    level: float = 0.95
    n_resamples: int = 1000

    def __post_init__(self) -> None:
        check_real("level", self.level, 0, 1, open_ends=True)
        check_int("n_resamples", self.n_resamples, 0)


def resample_counts(n: int, n_resamples: int, stream: Stream) -> FloatArray:
    """How often each of n things is drawn in n draws with replacement; (n_resamples, n)."""
    rng = stream.rng()
    return rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)


def percentile_interval(replicates: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper percentile over the last axis; undefined replicates (NaN) are left out.

    Infinite replicates are ordered as such. Interpolating between a number and infinity has no
    meaning, so both ends are replicates. NaN where no replicate is defined.
    """
    tail = (1 - level) / 2
    ordered = np.sort(replicates, axis=-1)  # NaN last
    defined = (~np.isnan(ordered)).sum(axis=-1, keepdims=True)
    if not ordered.shape[-1]:
        nothing = np.full(ordered.shape[:-1], np.nan)
        return nothing, nothing
    low, high = (
        np.take_along_axis(
            ordered, np.maximum(np.ceil(q * defined - ROUNDING).astype(np.intp) - 1, 0), axis=-1
        )[..., 0]
        for q in (tail, 1 - tail)
    )
    return low, high


def interval_ends(
    value: float | FloatArray,
    replicates: Sequence[FloatArray],
    level: float,
    bounds: tuple[float, float] = (0.0, np.inf),
) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of a value from its bootstrap replicates.

    Parameters
    ----------
    value : number, or array of shape (...)
    replicates : arrays of shape (..., n_resamples): with one, the percentile interval; with three,
        replicates of resampled models, of resampled runs, and of both together
    level : of the interval
    bounds : that no end may pass

    Notes
    -----
    Resampling models and runs together counts what is neither a model's nor a run's own - the luck
    of a model, or of a pair, with the items of one run - three to seven times: with fresh models
    each time its 95 % intervals hold the truth in 99 to 100 % of the cases. Resampling models
    alone leaves out what all pairs of a run share. With variances R (runs), M (models) and B
    (both), B - R - M is that noise once more than it should be counted in R + M, so the variance is
    R + M - (B - R - M), at least R; as for standard errors clustered in two ways [1]. The
    percentile interval of resampled models is stretched or shrunk about the value to that variance.
    The spreads are those of the middle 68 %, which single infinite replicates do not move.

    References
    ----------
    [1] Cameron, Gelbach and Miller, Robust inference with multiway clustering, Journal of Business
        & Economic Statistics 29 (2011).
    """
    low, high = percentile_interval(replicates[0], level)
    if len(replicates) == 1:
        return low, high
    centre = np.asarray(value, dtype=np.float64)
    models, runs, both = (_spread(part) for part in replicates)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.maximum(2 * (runs**2 + models**2) - both**2, runs**2)
        scale = np.sqrt(variance) / models
        ends = [centre + scale * (end - centre) for end in (low, high)]
    known = np.isfinite(scale) & np.isfinite(centre)
    low, high = (
        np.where(known, np.clip(end, *bounds), plain)
        for end, plain in zip(ends, (low, high), strict=True)
    )
    return low, high


def _spread(replicates: FloatArray) -> FloatArray:
    """Half the width of the middle 68 % of the replicates; infinite where they are."""
    low, high = percentile_interval(replicates, MIDDLE)
    with np.errstate(invalid="ignore"):
        return np.asarray(high - low) / 2


def isotonic(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted isotonic (non-decreasing) fit of the bin means; NaN in empty bins.

    Parameters
    ----------
    sums, weights : arrays of shape (n_bins,), weighted sum of the outcomes and total weight
    """
    from sklearn.isotonic import isotonic_regression  # noqa: PLC0415  # slow to import

    fit = np.full(len(weights), np.nan)
    used = weights > 0
    if used.any():
        means = sums[used] / weights[used]
        fit[used] = isotonic_regression(means, sample_weight=weights[used])
    return fit


def crossing(sums: FloatArray, weights: FloatArray, x: FloatArray, threshold: float) -> FloatArray:
    """Where the isotonic fit of outcome on x reaches a threshold, interpolated between bins.

    Parameters
    ----------
    sums : array of shape (..., n_bins), weighted sum of the outcomes in each bin
    weights : array broadcastable to it, total weight of each bin; 0 = empty
    x : array of shape (n_bins,), increasing position of each bin
    threshold : outcome to be reached

    Returns
    -------
    array of shape (...): the crossing; inf where the fit stays below the threshold; the position
    of the first bin in use where it starts at or above it

    Notes
    -----
    The fit is the slope of the greatest convex minorant of the cumulative sums, so it is below the
    threshold exactly up to the minimum of D_k = sum over the first k bins of (sum - threshold *
    weight). The block that ends there has the largest mean of all blocks ending there, the block
    that begins there the smallest of all beginning there. No pooling is needed, and many
    bootstrap replicates are done at once.
    """
    sums, weights = np.broadcast_arrays(sums, weights)
    n_bins = sums.shape[-1]
    zero = np.zeros((*sums.shape[:-1], 1))
    total = np.concatenate([zero, np.cumsum(sums, axis=-1)], axis=-1)
    mass = np.concatenate([zero, np.cumsum(weights, axis=-1)], axis=-1)
    excess = total - threshold * mass
    slack = 1e-9 * np.maximum(mass[..., -1:], 1)
    # First minimum: a block whose mean is exactly the threshold reaches it.
    cut = np.argmax(excess <= excess.min(axis=-1, keepdims=True) + slack, axis=-1)[..., None]
    k = np.arange(n_bins + 1)
    at_total, at_mass = (np.take_along_axis(a, cut, axis=-1) for a in (total, mass))
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (total - at_total) / (mass - at_mass)
    apart = mass != at_mass
    left = np.where((k < cut) & apart, slope, -np.inf).max(axis=-1)
    right = np.where((k > cut) & apart, slope, np.inf).min(axis=-1)
    used, bins = weights > 0, np.arange(n_bins)
    last = np.where(used & (bins < cut), bins, -1).max(axis=-1)
    first = np.where(used & (bins >= cut), bins, n_bins).min(axis=-1)
    return _interpolate(left, right, last, first, x, threshold)


def _interpolate(
    left: FloatArray,
    right: FloatArray,
    last: npt.NDArray[np.intp],
    first: npt.NDArray[np.intp],
    x: FloatArray,
    threshold: float,
) -> FloatArray:
    """Crossing between bin ``last`` (fit ``left``) and bin ``first`` (fit ``right``)."""
    reached, below = first < len(x), last >= 0
    x_right, x_left = x[np.minimum(first, len(x) - 1)], x[np.maximum(last, 0)]
    with np.errstate(invalid="ignore"):
        share = (threshold - left) / (right - left)
    between = x_left + np.where(below & reached, share, 0.0) * (x_right - x_left)
    return np.where(reached, np.where(below, between, x_right), np.inf)
