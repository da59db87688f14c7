"""Rules that read an MDAD off a binned agreement curve: its value and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mdad._pairs import BINS_PER_RANGE
from mdad.intervals import crossing, interval_ends

if TYPE_CHECKING:
    from mdad._tables import Binned
    from mdad.intervals import Interval

FloatArray = npt.NDArray[np.float64]

MIN_PAIRS = 30
"""Pairs a bin needs before the rule "first" believes its mean."""

ROUNDING = 1e-9
"""A mean this little below the threshold is the threshold; a gap this little beyond the range of
scores, as a share of it, is the range."""


class Found(NamedTuple):
    """An MDAD and the ends of its interval; inf = not reached, NaN = no interval."""

    value: float
    low: float
    high: float


def monotone(table: Binned, cell: int, threshold: float, interval: Interval) -> Found:
    """Where the isotonic fit reaches the threshold, and the interval of that crossing.

    No two scores are further apart than their range: what lies beyond it is not reached. The ends
    of a wide interval, stretched to hold what varies from run to run, can lie there.
    """
    value = crossing(table.sums[cell], table.counts, table.position, threshold)
    replicates = [
        crossing(part.sums[cell], part.counts, table.position, threshold)
        for part in table.replicates
    ]
    widest = BINS_PER_RANGE * table.width * (1 + ROUNDING)
    found = (value, *interval_ends(value, replicates, interval.level))
    return Found(*(np.inf if gap > widest else float(gap) for gap in found))


def first(table: Binned, cell: int, threshold: float, interval: Interval) -> Found:
    """Left edge of the first bin with enough pairs whose mean reaches the threshold.

    Notes
    -----
    The interval runs from the first bin whose mean may reach the threshold (the upper end of its
    interval does) to the first whose mean surely does (the lower end does, at a level shared among
    the bins between, as Bonferroni's). The percentile interval of the edge itself fails at small
    sizes: among many bins of few pairs one is lucky, in nearly every replicate, so replicates lie
    below the truth as the value does; of 95 % intervals 72 to 75 % held it at size 10.
    """
    with np.errstate(invalid="ignore"):
        means = table.sums[cell] / table.counts
        replicates = [(part.sums[cell] / part.counts).T for part in table.replicates]
    value = _first_bin(means, table, threshold)
    if not interval.n_resamples:
        return Found(value, np.nan, np.nan)
    # A bin without pairs in a replicate says nothing there: its mean may be anything.
    main, *others = replicates
    high_main, low_main = (np.where(np.isnan(main), guess, main) for guess in (1.0, 0.0))
    _, upper = interval_ends(means, [high_main, *others], interval.level, (0.0, 1.0))
    lower, _ = interval_ends(means, [low_main, *others], interval.level, (0.0, 1.0))
    low, high = (_first_bin(bound, table, threshold) for bound in (upper, lower))
    # The more bins may be the first, the surer one must be: any of them could be the lucky one.
    edges = np.arange(len(means)) * table.width
    candidates = int(((table.counts >= MIN_PAIRS) & (edges >= low) & (edges < high)).sum())
    level = 1 - (1 - interval.level) / max(candidates, 1)
    lower, _ = interval_ends(means, [low_main, *others], level, (0.0, 1.0))
    return Found(value, low, _first_bin(lower, table, threshold))


def _first_bin(means: FloatArray, table: Binned, threshold: float) -> float:
    reached = (table.counts >= MIN_PAIRS) & (means >= threshold - ROUNDING)
    return float(reached.argmax() * table.width) if reached.any() else np.inf
