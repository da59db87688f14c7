"""Where the differences between two models are known from, and the two searches over them.

A *source* answers one question: the chance that a pair with this gap is ranked rightly (or shown
to differ) on this many items. It rises with the gap, and with the size along sizes of one parity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mdad.planning._chance import Rule

LARGEST_SIZE = 10**9
"""Where a search over an unbounded pool gives up."""

STEPS = 60


class Source(Protocol):
    """What is known, or assumed, about the item-wise differences of a pair."""

    @property
    def n_items(self) -> int | None:
        """Items in the pool; None = without bound."""

    @property
    def largest_gap(self) -> float:
        """Largest gap this source can speak about, in the unit of the scores."""

    def chance(self, gap: float, size: int, rule: Rule) -> float:
        """Chance of success at this gap and size."""

    def sd(self, gap: float) -> float:
        """Standard deviation of the item-wise differences of a pair with this gap."""


@dataclass(frozen=True)
class AssumedDiscordance:
    """0/1 scores: two models differ on this share of the items, or on as many as the gap needs.

    Parameters
    ----------
    discordance : share of items that one model gets right and the other wrong, in [0, 1]
    n_items : size of the pool
    """

    discordance: float
    n_items: int | None = None

    @property
    def largest_gap(self) -> float:
        """The whole range of 0/1 scores."""
        return 1.0

    def sd(self, gap: float) -> float:
        """Standard deviation of differences: sqrt(discordance - gap^2)."""
        return math.sqrt(max(max(self.discordance, abs(gap)) - gap**2, 0.0))

    def chance(self, gap: float, size: int, rule: Rule) -> float:
        """Chance of success; between gaps that whole items can make, interpolated."""
        if self.n_items is None:
            differ = max(self.discordance, abs(gap))
            wins = np.array([(differ + gap) / 2])
            return float(rule.counts(wins, differ - wins, size, None)[0])
        # Rounding keeps a gap that was given as a decimal on its whole number of items.
        lead = round(gap * self.n_items, 9)
        below = math.floor(lead)
        leads = np.array([below, min(below + 1, self.n_items)])
        counts = self._discordant(leads)
        low, high = rule.counts((counts + leads) / 2, (counts - leads) / 2, size, self.n_items)
        return float(low + (lead - below) * (high - low))

    def _discordant(self, leads: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Items on which a pair with each lead differs: the share, odd where the lead is odd.

        From one lead to the next this adds an item won or takes away an item lost, so that the
        chance never falls as the gap grows.
        """
        total = int(self.n_items or 0)
        nearest = round(self.discordance * total)
        other = nearest + 1 if nearest < total else nearest - 1
        differ = np.where((leads - nearest) % 2 == 0, nearest, other)
        return np.maximum(differ, leads)


@dataclass(frozen=True)
class AssumedSpread:
    """Graded scores: item-wise differences have this standard deviation (ddof 0) at any gap.

    Parameters
    ----------
    spread : standard deviation of the differences, in the unit of the scores
    width : high - low of the declared range
    n_items : size of the pool
    step : smallest difference of two scores; 0 where they do not come in steps
    """

    spread: float
    width: float
    n_items: int | None = None
    step: float = 0.0

    @property
    def largest_gap(self) -> float:
        """The whole range."""
        return self.width

    def sd(self, gap: float) -> float:  # noqa: ARG002 - the same at every gap
        """The assumed standard deviation."""
        return self.spread

    def chance(self, gap: float, size: int, rule: Rule) -> float:
        """Chance of success by the Normal form."""
        variance = np.array([self.spread**2])
        return float(rule.spread(np.array([gap]), variance, size, self.n_items, self.step)[0])


def gap_for(source: Source, size: int, rule: Rule, probability: float) -> float | None:
    """Smallest gap at which the chance of success reaches a probability.

    Returns
    -------
    gap in the unit of the scores; None when no gap the source knows of reaches it.
    """
    low, high = 0.0, source.largest_gap
    if source.chance(high, size, rule) < probability:
        return None
    if size == source.n_items:
        return 0.0
    tolerance = source.largest_gap * 1e-7
    f_low, f_high = rule.at_no_gap - probability, source.chance(high, size, rule) - probability
    for step in range(STEPS):
        if high - low <= tolerance:
            break
        # Halving never fails; the secant in between is quick where the curve is smooth.
        middle = (low + high) / 2
        if step % 3 and f_high > f_low:
            inside = low + (high - low) * min(max(-f_low / (f_high - f_low), 0.01), 0.99)
            middle = inside
        value = source.chance(middle, size, rule) - probability
        if value >= 0:
            high, f_high = middle, value
        else:
            low, f_low = middle, value
    return high


def size_for(source: Source, gap: float, rule: Rule, probability: float) -> int | None:
    """Smallest size from which on every larger one reaches a probability of success.

    An even size can tie where the odd one below cannot, so the chance rises along the odd sizes
    and along the even ones, not from each to the next: a size counts when it and the next reach
    the probability, and that is searched by bisection.

    Returns
    -------
    number of items; None when the whole pool, or :data:`LARGEST_SIZE`, does not reach it.
    """

    def reached(size: int) -> bool:
        if source.chance(gap, size, rule) < probability:
            return False
        return size == source.n_items or source.chance(gap, size + 1, rule) >= probability

    low, high = 0, 8
    last = source.n_items or LARGEST_SIZE
    while high < last and not reached(high):
        low, high = high, high * 2
    high = min(high, last)
    if not reached(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
