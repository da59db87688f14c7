"""How the scores on an item go with the scores on all others, and whether they go against them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

STRONG_SHARE = 0.25
"""The strong models: the best quarter on the other items."""

AGREE_ON_FAILING = 2 / 3
"""So many of the strong models fail an item whose key is suspicious."""

AGREE_ON_OPTION = 0.5
"""So many of the strong models choose one and the same wrong option."""


@dataclass(frozen=True, eq=False)
class Discrimination:
    """Item by item, arrays of shape (n_items,); NaN for constant items.

    Parameters
    ----------
    item_rest : correlation of the item's scores with the mean of all other items
    p_negative : one-sided p-value of the rank correlation, small where it is below 0
    negative : whether it is below 0 after the correction for all items
    strong_score : mean score of the strong models
    """

    item_rest: FloatArray
    p_negative: FloatArray
    negative: BoolArray
    strong_score: FloatArray


def discrimination(values: FloatArray, level: float) -> Discrimination:
    """Item-rest correlations, and a test of the hypothesis that they are not below 0.

    Parameters
    ----------
    values : array of shape (n_models, n_items); no two rows copies of one model
    level : false discovery rate of the negative items

    Notes
    -----
    The statistic is Spearman's correlation of item and rest times sqrt(n_models - 1), against the
    Normal law. For 0/1 scores that is the rank-sum test of the models that fail against those that
    do not; its permutation law has lighter tails than the Normal one, so rare failures are judged
    with caution. Items are corrected for by Benjamini and Hochberg [1]_.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995), 289-300.
    """
    rest = values.sum(axis=1, keepdims=True) - values
    item_rest = correlations(values, rest)
    p_negative = rank_p(values, rest, below=True)
    return Discrimination(
        item_rest=item_rest,
        p_negative=p_negative,
        negative=discoveries(p_negative, level) & (item_rest < 0),
        strong_score=values[strong(values)].mean(axis=0),
    )


def strong(values: FloatArray) -> npt.NDArray[np.intp]:
    """Rows of the best quarter of the models, one at least."""
    count = max(1, round(STRONG_SHARE * len(values)))
    return np.argsort(-values.mean(axis=1), kind="stable")[:count]


def correlations(a: FloatArray, b: FloatArray) -> FloatArray:
    """Correlation of the columns of two arrays, pair by pair; NaN where a column is constant."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    there = scale > 1e-9 * len(a)  # below it is rounding
    found: FloatArray = np.where(there, (a * b).sum(axis=0) / np.where(there, scale, 1), np.nan)
    return found


def rank_p(values: FloatArray, rest: FloatArray, *, below: bool) -> FloatArray:
    """One-sided p-values of the rank correlations; see :func:`discrimination`."""
    from scipy.special import ndtr  # noqa: PLC0415  # slow to import
    from scipy.stats import rankdata  # noqa: PLC0415

    # Sums of scores in another order differ in their last bits, which must not break ties.
    ranks = rankdata(values, axis=0), rankdata(np.round(rest, 9), axis=0)
    z = correlations(*ranks) * np.sqrt(len(values) - 1)
    found: FloatArray = ndtr(z if below else -z)
    return found


def discoveries(p: FloatArray, level: float) -> BoolArray:
    """Which hypotheses Benjamini and Hochberg's procedure rejects; NaN never is.

    >>> discoveries(np.array([0.001, 0.02, 0.04, np.nan, 0.9]), 0.05).tolist()
    [True, True, False, False, False]
    """
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    below = np.flatnonzero(p[order] <= level * np.arange(1, len(order) + 1) / max(len(order), 1))
    found = np.zeros(len(p), dtype=bool)
    if below.size:
        found[order[: below[-1] + 1]] = True
    return found


@dataclass(frozen=True, eq=False)
class Keys:
    """Which keys look wrong, arrays of shape (n_items,).

    Parameters
    ----------
    suspicious : see :func:`keys`
    option : position of the wrong option that most of the strong models choose; -1 = not known
    option_share : share of the strong models that choose it; NaN = not known
    """

    suspicious: BoolArray
    option: npt.NDArray[np.intp]
    option_share: FloatArray


def keys(
    values: FloatArray,
    found: Discrimination,
    level: float,
    options: npt.NDArray[np.float32] | None,
    right: npt.NDArray[np.intp] | None,
) -> Keys:
    """Keys that the strong models contradict.

    Without options: items of negative discrimination that two thirds of the strong models fail.
    With them: items whose key does not go with the rest, while one wrong option does (after
    Benjamini and Hochberg's correction) and half of the strong models choose it.

    Parameters
    ----------
    values : array of shape (n_models, n_items), 0/1
    options : array of shape (n_models, n_items, n_options), probability of each; or None
    right : array of shape (n_items,), position of the right option
    """
    n_items = values.shape[1]
    if options is None or right is None:
        failing = 1 - found.strong_score >= AGREE_ON_FAILING
        unknown = np.full(n_items, -1, dtype=np.intp)
        return Keys(found.negative & failing, unknown, np.full(n_items, np.nan))
    known = ~np.isnan(options).all(axis=2)
    chosen = np.where(known, np.where(np.isnan(options), -1, options).argmax(axis=2), -1)
    best = strong(values)
    counts = np.stack([(chosen[best] == option).sum(axis=0) for option in range(options.shape[2])])
    counts[right, np.arange(n_items)] = -1
    likely = counts.argmax(axis=0)
    share = counts.max(axis=0) / len(best)
    picks = (chosen == likely).astype(np.float64)
    rest = values.sum(axis=1, keepdims=True) - values
    goes_with = discoveries(rank_p(picks, rest, below=False), level)
    against = np.nan_to_num(found.item_rest, nan=0.0) <= 0
    suspicious = goes_with & against & (share >= AGREE_ON_OPTION)
    return Keys(suspicious, np.where(share > 0, likely, -1), np.where(share > 0, share, np.nan))
