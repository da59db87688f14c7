"""Full scores and their differences from a uniform random subset, with intervals.

These speak of the very pool of N items the k chosen ones were drawn from: with k = N there is
nothing left to be uncertain about, and the width is 0 only then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_int, check_real
from mdad._moments import (
    checked_weights,
    graded_bounds,
    moments,
    share_left,
    t_quantile,
    weighted_moments,
    wilson,
)
from mdad._posterior import GAP_SD, believed_error, items_to_decide, probability_ahead
from mdad.errors import ScoresError, SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "GAP_SD",
    "Interval",
    "Paired",
    "full_score_interval",
    "items_to_decide",
    "mcnemar_exact",
    "paired_interval",
]

FloatArray = npt.NDArray[np.float64]
Alternative = Literal["two-sided", "greater"]


@dataclass(frozen=True)
class Interval:
    """An estimate of a full score (unit of the scores) with its two-sided interval.

    Parameters
    ----------
    value, low, high : estimate and bounds
    level : share of subsets whose interval should hold the full score
    n, n_items : items scored, and items of the pool (None = without bound)
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    n_items: int | None


@dataclass(frozen=True)
class Paired:
    """Two models on the same random items: how far a is ahead of b, and how sure that is.

    Parameters
    ----------
    gap : mean score of a less that of b, in the unit of the scores
    low, high, level : two-sided interval of the full-score gap
    standard_error : its standard error
    a_better : probability that a has the higher full score (half of a tie's), see
        :func:`paired_interval`
    wins, ties, losses : items on which a scores more, the same, less
    mcnemar : exact two-sided McNemar p-value; None for graded scores
    n, n_items : items scored, and items of the pool (None = without bound)
    width : of the score range
    gap_sd : of the prior; None = the default one
    """

    gap: float
    low: float
    high: float
    level: float
    standard_error: float
    a_better: float
    wins: int
    ties: int
    losses: int
    mcnemar: float | None
    n: int
    n_items: int | None
    width: float = 1.0
    gap_sd: float | None = None

    @property
    def b_better(self) -> float:
        """Probability that b has the higher full score."""
        return 1 - self.a_better


def full_score_interval(
    mean: float,
    size: int,
    n_items: int | None = None,
    *,
    variance: float | None = None,
    kurtosis: float = 0.0,
    score_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> Interval:
    """Interval of a full score from a uniform random subset.

    Parameters
    ----------
    mean : mean score on the chosen items, in the unit of the scores
    size : number of chosen items
    n_items : items of the pool; None = without bound
    variance : sample variance (ddof 1) of the scores on the chosen items, in the squared unit;
        left out for 0/1 scores
    kurtosis : excess kurtosis of the graded scores on the chosen items; 0 = as of a Normal law
    score_range : (low, high), the declared range
    level : two-sided level

    Raises
    ------
    SettingError
        when a value is out of bounds.

    Notes
    -----
    0/1 scores: Wilson's interval [1]_ with the effective number of items (k - 1) / (1 - k / N),
    which gives the finite-population standard error sqrt(p (1 - p) / (k - 1) (1 - k / N)) in the
    middle of the range and a width above 0 at its ends. Graded scores: the same with Student's t
    and p (1 - p) / se^2 items, se^2 = variance / k (1 - k / N) and p the mean as a share of the
    range; near an end of the range it leans inwards. Scores with heavy tails have a less certain
    variance: t has 2 / (2 / (k - 1) + kurtosis / k) degrees of freedom [2]_. Equal scores on all
    chosen items have no sample variance: the share of items that score otherwise is then bounded
    as Wilson bounds 0 of k. All are cut to what the scored items leave possible, and bounds of 0/1
    scores are moved outwards to whole numbers of right answers.

    References
    ----------
    .. [1] E. B. Wilson, JASA 22 (1927), 209-212.
    .. [2] G. E. P. Box, Biometrika 40 (1953), 318-335: the variance of a sample variance.

    Examples
    --------
    >>> found = full_score_interval(0.7, 100, 1000)
    >>> round(found.low, 3), round(found.high, 3)
    (0.608, 0.778)
    """
    low, high = _range(score_range)
    mean = check_real("mean", mean, low, high)
    n_items = None if n_items is None else check_int("n_items", n_items, 1)
    size = check_int("size", size, 1, n_items)
    level = check_real("level", level, 0, 1, open_ends=True)
    left = share_left(size, n_items)
    if left == 0:
        return Interval(mean, mean, mean, level, size, n_items)
    if variance is None:
        if (low, high) != (0.0, 1.0):
            raise SettingError("scores with a range other than (0, 1) need their variance.")
        below, above = wilson(mean, (size - 1) / left, level)
    else:
        variance = check_real("variance", variance, 0, math.inf)
        share, width = (mean - low) / (high - low), high - low
        tails = check_real("kurtosis", kurtosis, -3, math.inf)
        below, above = graded_bounds(share, variance / width**2, tails, size, left, level)
        below, above = low + below * width, low + above * width
    # The unscored share of the pool can only move the full score so far.
    certain = 0.0 if n_items is None else size / n_items
    below = max(below, certain * mean + (1 - certain) * low)
    above = min(above, certain * mean + (1 - certain) * high)
    if variance is None and n_items is not None:
        # A full score is a whole number of right answers: between two of them there is nothing.
        below = math.floor(round(below * n_items, 9)) / n_items
        above = math.ceil(round(above * n_items, 9)) / n_items
    return Interval(mean, min(below, mean), max(above, mean), level, size, n_items)


def paired_interval(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    n_items: int | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    strata: Sequence[str] | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    gap_sd: float | None = None,
    differing: tuple[float, float] | None = None,
    unseen: bool = False,
) -> Paired:
    """Compare two models scored on the same random subset.

    Parameters
    ----------
    a, b : arrays of shape (size,)
        Scores of the two models on the same items in the same order, in their unit.
    n_items : items of the pool; None = without bound
    weights : array of shape (size,), sums to 1, or None for a uniform subset
    strata : label of each item where items were drawn within strata and weigh by them
    score_range : (low, high), the declared range
    level : two-sided level of the interval
    gap_sd : standard deviation, in the unit of the scores, that full-score gaps of such models
        have; a twentieth of the range by default, ``math.inf`` for no prior knowledge
    differing : mean and standard deviation, over pairs of such models, of their mean squared
        difference on an item, where it is known
    unseen : speak of as many other items of the kind as the pool has, none of them scored

    Raises
    ------
    ScoresError
        when the two do not fit together, miss scores or leave the range.
    SettingError
        when another value is out of bounds.

    Notes
    -----
    0/1 scores: one win and one loss are added to the observed ones (Bonett and Price [1]_), so
    that pairs without discordant items still have an error; the variance of their differences,
    over n = size + 2 and times 1 - size / N, is the squared standard error. Graded scores: the
    mean difference with its sample variance and Student's t; where all differences are equal, the
    variance is that of 0/1 scores without discordant items, in the squared width of the range.
    With weights: the variance of a stratified mean [2]_ (of a ratio mean without strata) plus that
    of one added win and loss; a stratum with one item takes the pooled variance of the others.

    ``a_better`` is the posterior probability of a gap above 0 in the pool for a Normal prior of
    mean 0 and standard deviation ``gap_sd``: Phi(z sqrt(gap_sd^2 / (gap_sd^2 + se^2))) with z the
    ratio of gap and standard error, so the prior counts where few items were scored. Without a
    prior, "0.95 or more" was wrong for 8 to 27 % of the pairs of GPQA and MuSR with 10 to 50
    items, since models that close differ by less than chance does; with it, for at most 4 % on
    six leaderboards with 10 to 200 items, wherever more than one pair in a hundred was called so
    (``experiments/paired_calibration.py``, 200 runs of 15 models). For unseen items: of gaps d of
    the abilities, e on the sample and u on another pool with variances t^2, t^2 + se^2 and
    t^2 + se^2 size / N and the covariance t^2, the probability that u is above 0 given e;
    t^2 + se^2 size / N is ``gap_sd^2``. With ``differing``, the mean squared difference is that of
    the sample with m items of the mean added, m = mean (1 - mean) / sd^2 (empirical Bayes: a pair
    that differs on few items of a small sample mostly differs on more). The interval uses no
    prior. McNemar's test asks about an unbounded pool, so it is cautious where much of the pool
    was scored.

    References
    ----------
    .. [1] D. G. Bonett and R. M. Price, J. Educ. Behav. Stat. 37 (2012), 479-488.
    .. [2] W. G. Cochran, Sampling Techniques, 3rd ed. (1977), equation 5.12.

    Examples
    --------
    >>> found = paired_interval([1] * 70 + [0] * 30, [1] * 58 + [0] * 42, 1000)
    >>> found.wins, found.losses, found.mcnemar, round(found.a_better, 3)
    (12, 0, 0.00048828125, 0.999)
    """
    low, high = _range(score_range)
    width = high - low
    first, second = _scores("a", a, low, high), _scores("b", b, low, high)
    if len(first) != len(second):
        raise ScoresError(
            "a and b must be scores on the same items in the same order; "
            f"got {len(first):,} and {len(second):,} scores."
        )
    n_items = None if n_items is None else check_int("n_items", n_items, len(first))
    level = check_real("level", level, 0, 1, open_ends=True)
    spread = GAP_SD * width if gap_sd is None else check_real("gap_sd", gap_sd, 0, math.inf)
    if spread == 0:
        raise SettingError("gap_sd must be above 0: with 0 no two models would differ.")
    differences = first - second
    size = len(differences)
    left = 1.0 if unseen else share_left(size, n_items)
    other = size / n_items if unseen and n_items is not None else 0.0
    binary = (low, high) == (0.0, 1.0) and bool(
        np.isin(np.concatenate([first, second]), (0, 1)).all()
    )
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    if weights is None:
        gap = float(differences.mean())
        centre, se, freedom = moments(differences, width, left, binary=binary)
    else:
        share = checked_weights(weights, size)
        gap, freedom = float(share @ differences), None
        centre, se = weighted_moments(differences, share, strata, width, left)
    believed = (centre, se, freedom)
    if weights is None and differing is not None and left > 0:
        mean, sd = (moment / width**2 for moment in differing)
        se_believed = width * believed_error(differences / width, left, mean, sd, spread / width)
        believed = (gap, se_believed, None)
    below, above = _bounds(centre, se, freedom, level, gap)
    certain = 0.0 if n_items is None or unseen else size / n_items
    reach = (1 - certain) * width
    return Paired(
        gap=gap,
        low=max(below, certain * gap - reach),
        high=min(above, certain * gap + reach),
        level=level,
        standard_error=se,
        a_better=probability_ahead(*believed, spread, other),
        wins=wins,
        ties=size - wins - losses,
        losses=losses,
        mcnemar=mcnemar_exact(wins, losses) if binary else None,
        n=size,
        n_items=n_items,
        width=width,
        gap_sd=gap_sd,
    )


def mcnemar_exact(wins: int, losses: int, *, alternative: Alternative = "two-sided") -> float:
    """Exact McNemar p-value: the binomial test of wins among discordant items.

    Parameters
    ----------
    wins, losses : items that only the first, or only the second, model gets right
    alternative : "two-sided", or "greater": that the first model is better

    Raises
    ------
    SettingError
        when a count is not a whole number of 0 or more, or the alternative is unknown.

    Examples
    --------
    5 wins, no loss: (1/2)^5 on one side.

    >>> mcnemar_exact(5, 0, alternative="greater"), mcnemar_exact(5, 0)
    (0.03125, 0.0625)
    """
    wins, losses = check_int("wins", wins, 0), check_int("losses", losses, 0)
    check_choice("alternative", alternative, get_args(Alternative))
    if wins + losses == 0:
        return 1.0
    from scipy.special import bdtr  # noqa: PLC0415

    if alternative == "greater":
        return float(bdtr(losses, wins + losses, 0.5))
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def _range(score_range: Any) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in score_range)
    except (TypeError, ValueError):
        raise SettingError("score_range must be two numbers (low, high).") from None
    if not low < high or not math.isfinite(high - low):
        raise SettingError(f"score_range must have low < high; got ({low:g}, {high:g}).")
    return low, high


def _scores(name: str, values: npt.ArrayLike, low: float, high: float) -> FloatArray:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoresError(f"{name} must be a sequence of numbers, one score per item.") from None
    if scores.ndim != 1 or not scores.size:
        raise ScoresError(f"{name} must be one score per item; got shape {scores.shape}.")
    if np.isnan(scores).any():
        raise ScoresError(
            f"{name} misses {int(np.isnan(scores).sum()):,} of {scores.size:,} scores. Missing is "
            "not wrong: compare on the items both models were scored on."
        )
    outside = scores[(scores < low) | (scores > high)]
    if outside.size:
        raise ScoresError(
            f"{name} has the score {outside[0]:g}, outside its range from {low:g} to {high:g}."
        )
    return scores


def _bounds(
    centre: float, se: float, freedom: int | None, level: float, gap: float
) -> tuple[float, float]:
    """The interval, widened to hold the observed gap where the centre was moved."""
    tail = (1 + level) / 2
    factor = NormalDist().inv_cdf(tail) if freedom is None else t_quantile(tail, freedom)
    return min(centre - factor * se, gap), max(centre + factor * se, gap)
