"""What a selector is and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from mdad._checks import check_int, counted
from mdad.errors import MethodError

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen items, in order, and the weight of each in a weighted mean.

    Parameters
    ----------
    items : ids, all different
    weights : array of shape (size,), sums to 1
    total : what the weights summed to before they were scaled; 1 where scaling them is part of
        the method. Read by :class:`mdad.estimators.WeightedTotal` alone.
    """

    items: tuple[str, ...]
    weights: FloatArray
    total: float = 1.0

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return len(self.items)


Prepared = Callable[[int], Selection]
"""A selector made ready for one pool: size -> selection."""


class Selector(Protocol):
    """Settings in the constructor, data in the call.

    Laws, checked for every registered method: exactly ``size`` distinct known items; weights sum
    to 1; the same stream gives the same answer, whatever other sizes were asked for; the input is
    not changed.
    """

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Do what all sizes share and return the function from size to selection.

        Parameters
        ----------
        scores : source models x seen items
        aggregate : how a full score is formed; the weights aim at the same
        stream : randomness of this method in this run; a draw per size adds the size to its name
        """
        ...


def check_size(size: int, scores: ScoreMatrix) -> int:
    """``size`` as an int between 1 and the number of items.

    Raises
    ------
    MethodError
        when there are fewer items than asked for.
    """
    size = check_int("size", size, 1)
    if size > scores.n_items:
        raise MethodError(
            f"cannot choose {counted(size, 'item')} from a pool of {scores.n_items:,}; "
            f"ask for {scores.n_items:,} or fewer."
        )
    return size


def selection_of(
    scores: ScoreMatrix,
    chosen: npt.NDArray[np.intp],
    weights: FloatArray,
    *,
    total: float = 1.0,
) -> Selection:
    """A selection from positions, its weights scaled to sum to 1."""
    items = tuple([scores.items[i] for i in chosen.tolist()])
    return Selection(items, weights / weights.sum(), total)
