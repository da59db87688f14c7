"""Random samples spread over the subtasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad.selectors._base import Prepared, Selection, check_size, selection_of

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix

IntArray = npt.NDArray[np.int64]


def equal_allocation(capacities: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Share ``size`` equally among strata; leftovers go to random strata that have room.

    A stratum with fewer items than its share gives all it has and the rest is shared again.

    >>> equal_allocation(np.array([3, 1000, 1000]), 12, np.random.default_rng(0)).tolist()[0]
    3
    """
    taken = np.zeros_like(capacities)
    while (left := size - int(taken.sum())) > 0:
        open_strata = np.flatnonzero(taken < capacities)
        share = left // len(open_strata)
        if share == 0:
            taken[rng.choice(open_strata, size=left, replace=False)] += 1
        else:
            taken[open_strata] += np.minimum(share, (capacities - taken)[open_strata])
    return taken


def proportional_allocation(capacities: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Share ``size`` in proportion to the strata's sizes, each rounded up or down at random.

    Systematic rounding: the chance to be rounded up is the fraction lost by rounding down, so
    every item of every stratum is chosen with the same probability, size / n_items, and the plain
    mean is unbiased. (Largest remainders would leave small strata out for good at small sizes.)

    >>> proportional_allocation(np.array([50, 30, 20]), 10, np.random.default_rng(0)).tolist()
    [5, 3, 2]
    """
    order = rng.permutation(len(capacities))
    edges = np.concatenate([[0], np.cumsum(capacities[order])]) * (size / capacities.sum())
    # The last edge is `size` up to rounding; a grid point just above or below it must not be lost.
    edges[-1] = size
    grid = np.floor(edges - rng.random() + 1)
    grid[0], grid[-1] = 0, size
    taken = np.zeros_like(capacities)
    taken[order] = np.diff(grid).astype(np.int64)
    return taken


def draw_within(
    parts: list[npt.NDArray[np.intp]], taken: IntArray, rng: np.random.Generator
) -> list[npt.NDArray[np.intp]]:
    """Uniform draws without replacement of the allotted number from each stratum."""
    return [
        rng.choice(part, size=int(count), replace=False)
        for part, count in zip(parts, taken, strict=True)
    ]


@dataclass(frozen=True)
class EqualSubtasks:
    """The same number of items from each subtask, leftovers to random subtasks.

    Parameters
    ----------
    weighted : weight each drawn item by the share of its subtask in the full score. Without, all
        drawn items count the same (the paper's form), which is biased towards small subtasks.

    Notes
    -----
    With fewer items than subtasks some subtasks are left out by chance and the weights of the
    others are scaled up: a ratio, which keeps a bias. From one item per subtask on there is none.
    """

    weighted: bool = True

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        parts = list(scores.subtask_positions.values())
        capacities = np.array([len(part) for part in parts])
        weights = scores.item_weights(aggregate)
        mass = np.array([weights[part].sum() for part in parts])

        def build(size: int) -> Selection:
            rng = stream.child(check_size(size, scores)).rng()
            taken = equal_allocation(capacities, size, rng)
            drawn = draw_within(parts, taken, rng)
            each = mass / np.maximum(taken, 1) if self.weighted else np.ones(len(parts))
            return selection_of(scores, np.concatenate(drawn), np.repeat(each, taken))

        return build


@dataclass(frozen=True)
class ProportionalSubtasks:
    """Items from each subtask in proportion to its size.

    Parameters
    ----------
    equal_shares : give every subtask the same expected number instead (what the paper's code
        does under this name) and count all drawn items the same; biased towards small subtasks.
    """

    equal_shares: bool = False

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        parts = list(scores.subtask_positions.values())
        capacities = np.array([len(part) for part in parts])
        weights = scores.item_weights(aggregate)

        def build(size: int) -> Selection:
            rng = stream.child(check_size(size, scores)).rng()
            if self.equal_shares:
                chances = np.empty(scores.n_items)
                for part in parts:
                    chances[part] = 1 / (len(parts) * len(part))
                chosen = rng.choice(scores.n_items, size=size, replace=False, p=chances)
                return selection_of(scores, chosen, np.ones(size))
            taken = proportional_allocation(capacities, size, rng)
            chosen = np.concatenate(draw_within(parts, taken, rng))
            return selection_of(scores, chosen, weights[chosen])

        return build


@dataclass(frozen=True)
class MinimumPerSubtask:
    """A random sample with a minimum from each subtask; items weigh their subtask's share.

    Parameters
    ----------
    minimum : items of each subtask, or all it has when that is fewer
    """

    minimum: int

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        parts = list(scores.subtask_positions.values())
        capacities = np.array([len(part) for part in parts])
        weights = scores.item_weights(aggregate)
        mass = np.array([weights[part].sum() for part in parts])
        least = np.minimum(capacities, self.minimum)

        def build(size: int) -> Selection:
            rng = stream.child(check_size(size, scores)).rng()
            rest = size - int(least.sum())
            # A uniform draw of the rest from all items that the minimum leaves.
            taken = least + rng.multivariate_hypergeometric(capacities - least, rest)
            drawn = draw_within(parts, taken, rng)
            each = mass / np.maximum(taken, 1)
            return selection_of(scores, np.concatenate(drawn), np.repeat(each, taken))

        return build
