"""Rules that read an MDAD off a binned agreement curve: its value and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mdad.intervals import crossing, interval_ends, percentile_interval

if TYPE_CHECKING:
    from mdad._tables import Binned
    from mdad.intervals import Interval

FloatArray = npt.NDArray[np.float64]

MIN_PAIRS = 30
"""Pairs a bin needs before the rule "first" believes its mean."""

ROUNDING = 1e-9
"""A mean this little below the threshold is the threshold."""


class Found(NamedTuple):
    """An MDAD and the ends of its interval; inf = not reached, NaN = no interval."""

    value: float
    low: float
    high: float


def monotone(table: Binned, cell: int, threshold: float, interval: Interval) -> Found:
    """Where the isotonic fit reaches the threshold; percentile interval of that crossing."""
    value = crossing(table.sums[cell], table.counts, table.position, threshold)
    replicates = crossing(
        table.replicate_sums[cell], table.replicate_counts, table.position, threshold
    )
    return Found(float(value), *interval_ends(replicates, interval.level))


def first(table: Binned, cell: int, threshold: float, interval: Interval) -> Found:
    """Left edge of the first bin with enough pairs whose mean reaches the threshold.

    Notes
    -----
    The interval runs from the first bin whose mean may reach the threshold (the upper end of its
    percentile interval does) to the first whose mean surely does (the lower end does). The
    percentile interval of the edge itself fails at small sizes: among many bins of few pairs one
    is lucky, in nearly every replicate, so that replicates lie below the truth as the value does;
    of 95 % intervals 72 to 75 % held it at size 10.
    """
    with np.errstate(invalid="ignore"):
        means = table.replicate_sums[cell] / table.replicate_counts
        value = _first_bin(table.sums[cell] / table.counts, table, threshold)
    if not interval.n_resamples:
        return Found(value, np.nan, np.nan)
    # A bin without pairs in a replicate says nothing there: its mean may be anything.
    empty = np.isnan(means)
    _, upper = percentile_interval(np.where(empty, 1.0, means).T, interval.level)
    lower, _ = percentile_interval(np.where(empty, 0.0, means).T, interval.level)
    low, high = (_first_bin(bound, table, threshold) for bound in (upper, lower))
    return Found(value, low, high)


def _first_bin(means: FloatArray, table: Binned, threshold: float) -> float:
    reached = (table.counts >= MIN_PAIRS) & (means >= threshold - ROUNDING)
    return float(reached.argmax() * table.width) if reached.any() else np.inf
