"""Chances of ranking one pair rightly on a uniform random subset, vectorised over pairs.

Throughout, x is the number of chosen items the better model wins less the number it loses; it is
ahead when x > 0 and level when x = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Goal = Literal["rank", "show"]
Ties = Literal["wrong", "half"]

EXACT_VARIANCE = 100.0
"""Variance of x up to which the exact form is used. Above it the Normal form with continuity
correction and parity is within 0.001: its first error is z (1 - z^2) phi(z) / (6 variance)."""

CELLS = 250_000
"""Cells of one block of pairs and steps: a few megabytes, which stay in the processor's cache."""

TABLE = 1 << 17
"""Logarithms of factorials kept in a table."""

FEW = 500
"""Values up to which the distribution function is computed one by one."""


def normal_cdf(x: npt.ArrayLike) -> FloatArray:
    """Standard Normal distribution function, elementwise."""
    z = np.asarray(x, dtype=np.float64)
    if z.size <= FEW:
        # scipy.special takes longer to import than a plan takes to compute.
        flat = [0.5 * math.erfc(-v / math.sqrt(2)) for v in z.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(z.shape)
    from scipy.special import ndtr  # noqa: PLC0415

    return np.asarray(ndtr(z), dtype=np.float64)


def normal_quantile(probability: float) -> float:
    """Standard Normal quantile."""
    return NormalDist().inv_cdf(probability)


def left_share(size: int, n_items: int | None) -> float:
    """Finite-population factor (N - k) / (N - 1) of the variance of a mean; 1 without a bound."""
    if n_items is None:
        return 1.0
    return (n_items - size) / (n_items - 1) if n_items > 1 else 0.0


@dataclass(frozen=True)
class Rule:
    """What counts as success on the subset.

    Parameters
    ----------
    goal : "rank" (the better model is ahead) or "show" (it is ahead by ``z`` standard errors)
    ties : whether an estimated tie is "wrong" or "half" right; read by "rank"
    level : one-sided level of the test; read by "show"
    """

    goal: Goal = "rank"
    ties: Ties = "wrong"
    level: float = 0.05

    @property
    def at_no_gap(self) -> float:
        """Chance of success as the gap goes to 0, but for ties."""
        return 0.5 if self.goal == "rank" else self.level

    def counts(
        self, wins: FloatArray, losses: FloatArray, size: int, n_items: int | None
    ) -> FloatArray:
        """Chance of success of pairs given by items won and lost; see :func:`count_chances`."""
        if self.goal == "rank":
            ahead, level = count_chances(wins, losses, size, n_items)
            return ahead + level / 2 if self.ties == "half" else ahead
        total = 1.0 if n_items is None else float(n_items)
        gap = (wins - losses) / total
        return self.spread(gap, (wins + losses) / total - gap**2, size, n_items)

    def spread(
        self,
        gap: FloatArray,
        variance: FloatArray,
        size: int,
        n_items: int | None,
        step: float = 0.0,
    ) -> FloatArray:
        """Chance of success of pairs given by gap and variance of their item-wise differences.

        The Normal form: Phi((gap - step / 2 size) / se) with continuity correction for scores in
        steps, or Phi(gap / se - z) to show it, with
        se^2 = variance / size * (N - size) / (N - 1). Both arrays have shape (n_pairs,), in the
        unit of the scores and its square; ``step`` is 0 for scores that do not tie.
        """
        se = np.sqrt(np.maximum(variance, 0) / size * left_share(size, n_items))
        if self.goal == "show":
            return normal_cdf(_ratio(gap, se) - normal_quantile(1 - self.level))
        half = step / (2 * size)
        # Without an error left the order is that of the gap, whatever the step.
        ahead = np.where(se > 0, normal_cdf(_ratio(gap - half, se)), gap > 0)
        if self.ties == "wrong":
            return ahead
        return (ahead + np.where(se > 0, normal_cdf(_ratio(gap + half, se)), gap >= 0)) / 2


def _ratio(gap: FloatArray, se: FloatArray) -> FloatArray:
    """``gap / se``; without any error the sign decides, and no gap stays undecided."""
    certain = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    return np.where(se > 0, gap / np.where(se > 0, se, 1.0), certain)


def count_chances(
    wins: FloatArray, losses: FloatArray, size: int, n_items: int | None
) -> tuple[FloatArray, FloatArray]:
    """Chances that the better model is ahead, and level, on a uniform random subset.

    Parameters
    ----------
    wins, losses : arrays of shape (n_pairs,)
        Items of the pool that only the better, or only the other, model gets right: whole
        numbers; their shares of the pool where it has no bound (``n_items=None``).
    size : number of items drawn without replacement
    n_items : size of the pool

    Returns
    -------
    ahead, level : arrays of shape (n_pairs,)
    """
    wins, losses = np.asarray(wins, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    if n_items is not None and size == n_items:
        return (wins > losses).astype(np.float64), (wins == losses).astype(np.float64)
    total = 1.0 if n_items is None else float(n_items)
    gap = size * (wins - losses) / total
    spread = size * (wins + losses) / total - gap**2 / size
    sd = np.sqrt(np.maximum(spread, 0) * left_share(size, n_items))
    ahead = normal_cdf(_ratio(gap - 0.5, sd))
    level = normal_cdf(_ratio(gap + 0.5, sd)) - ahead
    # Where the models differ on nearly all items, x is even or odd as the size is: what a tie has
    # too much or too little of goes to either side alike.
    surplus = level * _parity(wins + losses, size, n_items)
    ahead, level = ahead - surplus / 2, level + surplus
    # A lead of ten standard deviations needs no exact form, however many items differ.
    rows = np.flatnonzero((sd**2 <= EXACT_VARIANCE) & (np.abs(gap) <= 10 * sd + 10))
    if rows.size:
        discordant = float((wins + losses)[rows].max())
        mean = size * discordant / total
        reach = min(size, math.ceil(mean + 10 * math.sqrt(mean)) + 20)
        if n_items is not None:
            reach = min(reach, int(discordant))
        parts = min(math.ceil(rows.size * (reach + 1) / CELLS), rows.size)
        for part in np.array_split(rows, parts):
            ahead[part], level[part] = _exact(wins[part], losses[part], size, n_items, reach)
    return ahead, level


def _parity(discordant: FloatArray, size: int, n_items: int | None) -> FloatArray:
    """Chance of an even x less that of an odd one: the mean of (-1)^x.

    With t tied items among the k chosen ones it is (-1)^k times the mean of (-1)^t. Without a
    bound that is (1 - 2 (1 - d))^k; in a pool with T tied items nearly (1 - 2 k / N)^T, which
    differs from it only where both are next to 0.
    """
    sign = -1.0 if size % 2 else 1.0
    if n_items is None:
        return sign * (2 * discordant - 1) ** size
    return sign * (1 - 2 * size / n_items) ** (n_items - discordant)


def _exact(
    wins: FloatArray, losses: FloatArray, size: int, n_items: int | None, reach: int
) -> tuple[FloatArray, FloatArray]:
    """The exact form, summed over the number m of chosen items on which the two models differ.

    Items drawn one after the other make x a random walk over the discordant ones. Its chance to
    be above 0 changes only when it stands at 0 and goes up or at 1 and goes down, so one step
    costs one term: ahead(m + 1) = ahead(m) + P(x = 0) P(up) - P(x = 1) P(down). The last step is
    the hypergeometric (without a bound: binomial) distribution of m.
    """
    m = np.arange(reach + 1, dtype=np.intp)[None, :]
    up, down = (m + 1) // 2, m // 2
    if n_items is None:
        at_edge, rise, fall, share = _unbounded_terms(wins, losses, size, m)
    else:
        at_edge, rise, fall, share = _pool_terms(wins, losses, size, n_items, m)
    change = at_edge * np.where(up == down, rise, -fall)
    ahead = np.zeros_like(change)
    np.cumsum(change[:, :-1], axis=1, out=ahead[:, 1:])
    level = np.where(up == down, at_edge, 0.0)
    total = share.sum(axis=1)
    return (share * ahead).sum(axis=1) / total, (share * level).sum(axis=1) / total


def _pool_terms(
    wins: FloatArray, losses: FloatArray, size: int, n_items: int, m: npt.NDArray[np.intp]
) -> tuple[FloatArray, ...]:
    """Terms of the walk after m discordant items of a pool, drawn without replacement.

    Returns
    -------
    P(x is 0 or 1, as m is even or odd), P(next is a win), P(next is a loss), P(m)
    """
    won, lost = wins.astype(np.intp)[:, None], losses.astype(np.intp)[:, None]
    differ = won + lost
    up, down = (m + 1) // 2, m // 2
    at_edge = np.exp(
        _choose(won, up) + _choose(lost, down) - _choose(differ, np.minimum(m, differ))
    )
    at_edge *= m <= differ
    left = np.maximum(differ - m, 1)
    same = n_items - differ
    # The number of all subsets cancels when the shares are made to sum to 1.
    ways = _choose(differ, m) + _choose(same, size - m)
    share = np.exp(ways - ways.max(axis=1, keepdims=True))
    return at_edge, np.maximum(won - up, 0) / left, np.maximum(lost - down, 0) / left, share


def _unbounded_terms(
    wins: FloatArray, losses: FloatArray, size: int, m: npt.NDArray[np.intp]
) -> tuple[FloatArray, ...]:
    """The same terms for items drawn from a pool without bound."""
    won, lost = wins[:, None], losses[:, None]
    differ = won + lost
    up, down = (m + 1) // 2, m // 2
    p = np.divide(won, differ, out=np.zeros_like(won), where=differ > 0)
    ways = log_factorial(m) - log_factorial(up) - log_factorial(down)
    # x**0 is 1 at x = 0 too, so a pair without losses or without differences needs no care.
    at_edge = np.exp(ways + _power(p, up) + _power(1 - p, down))
    # A table of factorials up to the size would be long where the size is large.
    taken = m[0, :-1].astype(np.float64)
    chosen = np.concatenate([[0.0], np.cumsum(np.log((size - taken) / (taken + 1)))])
    share = np.exp(chosen + _power(differ, m) + _power(1 - differ, size - m))
    return at_edge, np.broadcast_to(p, at_edge.shape), 1 - p, share


def _power(base: FloatArray, exponent: npt.NDArray[np.intp]) -> FloatArray:
    """Logarithm of ``base ** exponent``, with 0 ** 0 = 1."""
    logs = np.log(np.maximum(base, 1e-300))
    return np.asarray(logs * exponent, dtype=np.float64)


@lru_cache(maxsize=1)
def _table() -> FloatArray:
    return np.cumsum(np.log(np.maximum(np.arange(TABLE, dtype=np.float64), 1)))


def log_factorial(n: npt.NDArray[np.intp]) -> FloatArray:
    """Logarithm of n!, elementwise: from a table, and by Stirling's series beyond it."""
    if int(n.max()) < TABLE:
        return np.asarray(_table()[n], dtype=np.float64)
    x = np.maximum(n, 1).astype(np.float64)
    series = x * np.log(x) - x + 0.5 * np.log(2 * np.pi * x) + 1 / (12 * x) - 1 / (360 * x**3)
    return np.where(n < TABLE, _table()[np.minimum(n, TABLE - 1)], series)


def _choose(n: npt.NDArray[np.intp], k: npt.NDArray[np.intp]) -> FloatArray:
    """Logarithm of n choose k; -inf where k is not from 0 to n."""
    inside = (k >= 0) & (k <= n)
    safe = np.clip(k, 0, n)
    ways = log_factorial(n) - log_factorial(safe) - log_factorial(n - safe)
    return np.where(inside, ways, -np.inf)
