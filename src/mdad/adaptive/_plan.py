"""What a session will do, fixed before the first answer: order of items, looks, boundaries."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from mdad._checks import counted
from mdad.errors import SettingError

FloatArray = npt.NDArray[np.float64]

Design = Literal["random", "c-optimal", "irt-information"]

ROUNDING = 1e-12
"""A bound this near to 0 is at 0."""

MAX_LOOKS = 100
"""More looks cost nothing in items, but boundaries would take long to compute."""


class Predictor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Full score from the scores on the first items: constant + coefficients . scores.

    Parameters
    ----------
    constant : what it says where all scores are 0
    coefficients : one per item, in the order of the plan
    """

    constant: float
    coefficients: tuple[float, ...]


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Order, looks and boundaries.

    Parameters
    ----------
    design : how items were ordered
    order : ids of the items, as many as the budget
    looks : numbers of items at which is decided, rising; the last is the budget
    bounds : one per look. Design "random": the boundary of |z|. Learned designs: half the width of
        the interval of the gap, in the unit of the scores
    predictors : one per look; empty for "random"
    """

    design: Design
    order: tuple[str, ...]
    looks: tuple[int, ...]
    bounds: tuple[float, ...]
    predictors: tuple[Predictor, ...] = ()


class Look(msgspec.Struct, frozen=True):
    """What one look says.

    Parameters
    ----------
    size : items looked at
    gap, low, high : estimate and interval of the full-score gap (or of the full score less the
        reference); the intervals of all looks hold it together
    sign : 1 or -1 where it is decided, else 0
    """

    size: int
    gap: float
    low: float
    high: float
    sign: int


def looks_of(batch: int, budget: int) -> tuple[int, ...]:
    """Multiples of the batch up to the budget, and the budget; thinned out to a hundred.

    >>> looks_of(10, 35)
    (10, 20, 30, 35)
    """
    step = batch * math.ceil(budget / batch / MAX_LOOKS)
    return (*range(step, budget, step), budget)


def check_budget(batch: int, budget: int, n_items: int) -> None:
    """Refuse a budget that the pool cannot give.

    Raises
    ------
    SettingError
        when the budget is larger than the pool, or the batch larger than the budget.
    """
    if budget > n_items:
        raise SettingError(f"the budget is {budget:,}; there are {counted(n_items, 'item')}.")
    if batch > budget:
        raise SettingError(f"a batch of {batch:,} is more than the budget of {budget:,} items.")


def random_look(
    contrast: FloatArray,
    bound: float,
    n_items: int,
    extremes: tuple[float, float],
    null_variance: float | None,
) -> Look:
    """Look at a random sample without replacement.

    Parameters
    ----------
    contrast : array of shape (size,): difference of two models, or of a model and a reference
    bound : boundary of |z|
    n_items : of the pool
    extremes : smallest and largest value a contrast can have
    null_variance : of one contrast, where that is known if there is no gap; otherwise its mean
        square in the sample stands for it, with one win and one loss added (for 0/1 scores
        McNemar's statistic with these two)
    """
    size, total = len(contrast), float(contrast.sum())
    left = n_items - size
    squares, step = _squares(contrast, extremes)
    if null_variance is not None:
        squares, step = size * null_variance, extremes[1] - extremes[0]
    # Sums of whole steps: half a step more is what a Normal law takes for them.
    half = (bound * math.sqrt(squares * left / n_items) + (step / 2 if left else 0)) / size
    gap = total / size
    # What was seen is certain, and the rest of the pool can add only so much.
    least, most = ((total + left * end) / n_items for end in extremes)
    low, high = max(gap - half, least), min(gap + half, most)
    return Look(size, gap, min(low, high), max(low, high), _sign(low, high))


def _squares(contrast: FloatArray, extremes: tuple[float, float]) -> tuple[float, float]:
    """Sum of squares with one win and one loss of the usual size added, and that size.

    Without them ten discordant items in a pool of 200 were called a difference in 8 % of the
    orders where there was none, at a promised 5 %.
    """
    different = int(np.count_nonzero(contrast))
    if not different:
        width = max(map(abs, extremes))
        return 2 * width**2, width
    squares = float(contrast @ contrast)
    return squares * (1 + 2 / different), math.sqrt(squares / different)


def learned_look(gap: float, half: float, size: int) -> Look:
    """Look at the prediction from the first items of a learned design."""
    low, high = gap - half, gap + half
    return Look(size, gap, low, high, _sign(low, high))


def _sign(low: float, high: float) -> int:
    """Which side of 0 an interval is on; 0 where it holds it."""
    return 1 if low > ROUNDING else -1 if high < -ROUNDING else 0
