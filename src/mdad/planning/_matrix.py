"""Pairs of the models of a score matrix, and the chance of success as a function of their gap."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad.planning._sources import AssumedDiscordance, AssumedSpread, Source

if TYPE_CHECKING:
    from mdad.planning._chance import FloatArray, Rule
    from mdad.scores import ScoreMatrix

MIN_PAIRS = 30
"""Below this many pairs with a gap, a curve over gaps would be a curve over pairs."""

MAX_KINDS = 30_000
"""Kinds of pairs (items won, items lost) worked through one by one."""

BINS = 200
"""Bins of the gap: half a point each."""

FINEST = 1 / 2000
"""Steps of graded scores are looked for down to this share of the range."""

MIN_LEVELS = 2
MAX_PARTS = 4
"""The smallest difference seen may be up to this many steps."""


@dataclass(frozen=True, eq=False)
class MeasuredPairs:
    """Pairs of real models; the chance at a gap is that of the real pairs around it.

    Pairs are binned by half points of gap, the mean chance of each bin (at its mean gap) is made
    monotone (isotonic, weighted by pairs), and gaps in between are interpolated; from no gap,
    where success is a coin toss, to the first bin as well.

    Parameters
    ----------
    gaps, variances : arrays of shape (n_kinds,)
        Full-score gap and variance (ddof 0) of the item-wise differences, in the unit of the
        scores and its square.
    numbers : array of shape (n_kinds,), how many pairs are of each kind
    bins : array of shape (n_kinds,), number of the half-point bin
    wins, losses : arrays of shape (n_kinds,), items won and lost by the better model; 0/1 only
    step : smallest difference of two graded scores; 0 where they do not come in steps
    """

    n_items: int
    gaps: FloatArray
    variances: FloatArray
    numbers: FloatArray
    bins: npt.NDArray[np.intp]
    wins: FloatArray | None = None
    losses: FloatArray | None = None
    step: float = 0.0
    _curves: dict[tuple[int, Rule], tuple[FloatArray, FloatArray]] = field(
        default_factory=dict, repr=False
    )

    @property
    def n_pairs(self) -> int:
        """Number of pairs that differ on the full benchmark."""
        return int(self.numbers.sum())

    @property
    def largest_gap(self) -> float:
        """Mean gap of the bin farthest out."""
        last = self.bins == self.bins.max()
        return float(np.average(self.gaps[last], weights=self.numbers[last]))

    def sd(self, gap: float) -> float:
        """Standard deviation of the differences, interpolated between the bins' mean variances."""
        centres, variances = self._binned(self.variances)[:2]
        return math.sqrt(float(np.interp(gap, centres, variances)))

    def chance(self, gap: float, size: int, rule: Rule) -> float:
        """Chance of success of a pair with this gap, interpolated; beyond the data, the last."""
        gaps, chances = self.curve(size, rule)
        return float(np.interp(gap, gaps, chances))

    def curve(self, size: int, rule: Rule) -> tuple[FloatArray, FloatArray]:
        """Gaps in ascending order from 0, and the monotone chance of success at each."""
        key = (size, rule)
        if key not in self._curves:
            if self.wins is not None and self.losses is not None:
                chances = rule.counts(self.wins, self.losses, size, self.n_items)
            else:
                chances = rule.spread(self.gaps, self.variances, size, self.n_items, self.step)
            centres, means, weights = self._binned(chances)
            fit = isotonic(means, weights)
            start = min(rule.at_no_gap, float(fit[0]))
            self._curves[key] = np.append(0.0, centres), np.append(start, fit)
        return self._curves[key]

    def _binned(self, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean gap, mean value and number of pairs of every bin that has pairs."""
        numbers = np.bincount(self.bins, self.numbers)
        held = numbers > 0
        gaps = np.bincount(self.bins, self.numbers * self.gaps)[held] / numbers[held]
        means = np.bincount(self.bins, self.numbers * values)[held] / numbers[held]
        return gaps, means, numbers[held].astype(np.float64)


def isotonic(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted least-squares non-decreasing fit, by pooling adjacent violators.

    >>> isotonic(np.array([0.5, 0.8, 0.6, 0.9]), np.array([1.0, 1.0, 3.0, 1.0])).round(2).tolist()
    [0.5, 0.65, 0.65, 0.9]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, total, length = value, weight, 1
        while pools and pools[-1][0] >= mean:
            before, heavy, count = pools.pop()
            mean = (before * heavy + mean * total) / (heavy + total)
            total, length = heavy + total, count + length
        pools.append((mean, total, length))
    return np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools]).astype(np.float64)


def source_of(scores: ScoreMatrix) -> tuple[Source, int]:
    """The pairs of a complete matrix, and how many have a gap.

    Where fewer than :data:`MIN_PAIRS` pairs differ, what they have in common (the mean
    discordance, or the root mean variance) is taken for every gap.
    """
    measured = (_counted if scores.kind == "correctness" else _graded)(scores)
    if measured is not None and measured.n_pairs >= MIN_PAIRS:
        return measured, measured.n_pairs
    return pooled_source(scores), 0 if measured is None else measured.n_pairs


def pooled_source(scores: ScoreMatrix) -> Source:
    """One discordance (0/1) or one spread (graded) for every gap: the mean over all pairs."""
    values = scores.values.astype(np.float64)
    # Mean over pairs of mean squared differences, by the sums over models.
    n, low, high = scores.n_models, *scores.score_range
    sums = values.sum(axis=0)
    squares = (n * (values**2).sum(axis=0) - sums**2).mean() / (n * (n - 1) / 2)
    if scores.kind == "correctness":
        return AssumedDiscordance(float(squares), scores.n_items)
    means = values.mean(axis=1)
    gaps = (n * (means**2).sum() - means.sum() ** 2) / (n * (n - 1) / 2)
    spread = math.sqrt(max(squares - gaps, 0.0))
    return AssumedSpread(spread, high - low, scores.n_items, step_of(values, high - low))


def step_of(values: FloatArray, width: float) -> float:
    """The step that all scores are whole numbers of from one another; 0 when there is none.

    Sums of scores in steps tie as sums of 0/1 scores do. Steps finer than :data:`FINEST` of the
    range tie too rarely to matter.

    >>> step_of(np.array([0.2, 0.5, 1.0]), 1.0), step_of(np.array([0.1234, 0.5, 1.0]), 1.0)
    (0.1, 0.0)
    """
    levels = np.unique(values.round(12))
    if len(levels) < MIN_LEVELS or len(levels) > 1 / FINEST:
        return 0.0
    apart = np.diff(levels)
    for parts in range(1, MAX_PARTS + 1):
        step = float(apart.min()) / parts
        if step < width * FINEST:
            return 0.0
        if np.abs((levels - levels[0]) / step % 1 - 0.5).min() > 0.5 - 1e-6:
            return round(step, 12)
    return 0.0


def _counted(scores: ScoreMatrix) -> MeasuredPairs | None:
    """Pairs by items won and lost, equal ones together."""
    right = scores.values.astype(np.float32)
    won = np.rint(right @ (1 - right).T).astype(np.int64)
    i, j = np.triu_indices(scores.n_models, 1)
    wins, losses = np.maximum(won[i, j], won[j, i]), np.minimum(won[i, j], won[j, i])
    leads, losses = (wins - losses)[wins > losses], losses[wins > losses]
    if not leads.size:
        return None
    step, base = 1, scores.n_items + 1
    kinds, numbers = np.unique(leads * base + losses, return_counts=True)
    while len(kinds) > MAX_KINDS and step * 100 < scores.n_items:
        # Merging kinds whose discordance differs by little moves a chance by less than 0.001.
        step *= 2
        rough = (losses + step // 2) // step * step
        kinds, numbers = np.unique(leads * base + rough, return_counts=True)
    lead, lost = kinds // base, kinds % base
    lost = np.minimum(lost, (scores.n_items - lead) // 2)
    gaps = lead / scores.n_items
    return MeasuredPairs(
        n_items=scores.n_items,
        gaps=gaps,
        variances=(lead + 2 * lost) / scores.n_items - gaps**2,
        numbers=numbers.astype(np.float64),
        bins=(lead * BINS // scores.n_items).astype(np.intp),
        wins=(lead + lost).astype(np.float64),
        losses=lost.astype(np.float64),
    )


def _graded(scores: ScoreMatrix) -> MeasuredPairs | None:
    """Pairs by gap and variance of the differences."""
    low, high = scores.score_range
    values = scores.values.astype(np.float64)
    # Centring costs nothing in the variance and keeps its digits.
    centred = values - values.mean(axis=1, keepdims=True)
    cross = centred @ centred.T / scores.n_items
    i, j = np.triu_indices(scores.n_models, 1)
    means = values.mean(axis=1)
    gaps = np.abs(means[i] - means[j])
    variances = np.maximum(cross[i, i] + cross[j, j] - 2 * cross[i, j], 0.0)
    apart = gaps > (high - low) * 1e-12
    if not apart.any():
        return None
    gaps, variances = gaps[apart], variances[apart]
    return MeasuredPairs(
        n_items=scores.n_items,
        gaps=gaps,
        variances=variances,
        numbers=np.ones(len(gaps)),
        bins=np.floor(gaps / ((high - low) / BINS) + 1e-9).astype(np.intp),
        step=step_of(values, high - low),
    )
