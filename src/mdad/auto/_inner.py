"""The inner experiment: how candidates do among the source models themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mdad.splits import draw_models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdad._method import Built, Method
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.splits import SplitKind

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

Aim = Literal["pool", "ability"]
"""What is to be ranked rightly: the score on the pool at hand, or on unseen items of the kind."""

TARGET_SHARE, MIN_TARGET, MAX_TARGET = 4, 10, 75
"""A quarter of the source models are inner targets: more would starve the designs, fewer tell
little, and fewer than ten nothing."""

FRONTIER_SHARE = 8
"""At the frontier an eighth: the wider the top, the less it is like models above all sources."""

KEPT = 0.8
"""Share of the source models in an inner run of a frontier split, which is not random by itself."""

SEEN_SHARE = 2 / 3
"""Items an inner selector sees where the aim is ability; the others stand for unseen ones."""

TIE = 1e-9

TIES = (0.25, 0.5)
"""What an estimated tie counts: where candidates are ranked, and where a lead is confirmed. A
quarter is the mean of the two rules, of which one flatters methods that never tie and the other
those that often do."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a method ordered the targets of one inner run.

    Parameters
    ----------
    agreement : array of shape (2,), mean over pairs that differ; an estimated tie counts a quarter,
        and half
    by_model : array of shape (2, n_models): the same summed over the pairs of each source model
        and divided by the number of all pairs; 0 for models that are no targets
    """

    agreement: FloatArray
    by_model: FloatArray


@dataclass(frozen=True, eq=False)
class InnerRun:
    """One inner run at one size.

    Parameters
    ----------
    pairs : array of shape (n_models,), share of the run's pairs that each source model is in
    outcomes : of the candidates, by name
    """

    pairs: FloatArray
    outcomes: dict[str, Outcome]


@dataclass(frozen=True)
class Inner:
    """Settings of the inner experiment.

    Parameters
    ----------
    aim : "pool" or "ability"
    split, groups : as of the outer experiment, see :func:`mdad.splits.draw_models`
    aggregate : how a full score is formed
    """

    aim: Aim
    split: SplitKind
    groups: str
    aggregate: Aggregate

    @property
    def shares(self) -> tuple[float, int]:
        """Share of the models in an inner run, and of them one in how many is a target."""
        return (KEPT, FRONTIER_SHARE) if self.split == "frontier" else (1.0, TARGET_SHARE)

    @property
    def least(self) -> int:
        """Source models without which there are too few inner targets to tell anything."""
        kept, share = self.shares
        return math.ceil(MIN_TARGET * share / kept)

    def most(self, scores: ScoreMatrix) -> int:
        """Largest size that candidates can be compared at."""
        if self.aim == "pool":
            return scores.n_items
        # With nearly all inner items chosen, nothing would be left to choose well.
        return max(1, int(0.75 * SEEN_SHARE * scores.n_items))

    def run(
        self, scores: ScoreMatrix, wanted: Mapping[int, Sequence[Method]], stream: Stream
    ) -> dict[int, InnerRun]:
        """Do one run: every method prepared once, and built at every size it is wanted at.

        What is found of a method at a size does not depend on the other methods and sizes.

        Parameters
        ----------
        scores : source models x seen items
        wanted : size -> candidates
        stream : randomness of this inner run

        Returns
        -------
        what was found at each size; nothing where all targets tie

        Raises
        ------
        ScoresError
            when models cannot be split like this.
        """
        target, source = self._models(scores, stream)
        seen, judged = self._items(scores, stream.child("items"))
        known = scores.restrict(models=[scores.models[i] for i in source.tolist()], items=seen)
        targets = scores.restrict(models=[scores.models[i] for i in target.tolist()])
        full = targets.restrict(items=judged).full_scores(self.aggregate)
        tolerance = TIE * (scores.score_range[1] - scores.score_range[0])
        right = signs(full, tolerance)
        if not right.any():
            return {}
        methods = {method.name: method for some in wanted.values() for method in some}
        names = {size: {method.name for method in some} for size, some in wanted.items()}
        found: dict[int, dict[str, Outcome]] = {size: {} for size in wanted}
        for name, method in methods.items():
            build = method.prepare(known, aggregate=self.aggregate, stream=stream)
            for size in (size for size in wanted if name in names[size]):
                estimates = _estimates(build(min(size, known.n_items)), targets)
                found[size][name] = outcome(estimates, right, target, scores.n_models, tolerance)
        pairs = np.zeros(scores.n_models)
        pairs[target] = (right != 0).sum(axis=1) / ((right != 0).sum() / 2)
        return {size: InnerRun(pairs, outcomes) for size, outcomes in found.items()}

    def _models(self, scores: ScoreMatrix, stream: Stream) -> tuple[IntArray, IntArray]:
        """Positions of inner targets and inner sources."""
        (some, share), kept = self.shares, np.arange(scores.n_models)
        if some < 1:
            order = stream.child("kept").rng().permutation(scores.n_models)
            kept = np.sort(order[: int(some * scores.n_models)])
        part = scores.restrict(models=[scores.models[i] for i in kept.tolist()])
        n_target = min(MAX_TARGET, len(kept) // share)
        target, source = draw_models(
            part,
            n_source=len(kept) - n_target,
            n_target=n_target,
            stream=stream.child("models"),
            kind=self.split,
            groups=self.groups,
            aggregate=self.aggregate,
        )
        return kept[np.sort(target)], kept[np.sort(source)]

    def _items(self, scores: ScoreMatrix, stream: Stream) -> tuple[list[str], list[str]]:
        """Items that selectors see, and those that the truth is made of."""
        if self.aim == "pool":
            return list(scores.items), list(scores.items)
        rng = stream.rng()
        visible = np.zeros(scores.n_items, dtype=bool)
        for part in scores.subtask_positions.values():
            # Of a subtask of one item chance decides on which side it is.
            count = int(len(part) * SEEN_SHARE + rng.random())
            visible[rng.permutation(part)[:count]] = True
        if visible.all() or not visible.any():
            visible[int(rng.integers(scores.n_items))] ^= True
        names = np.array(scores.items, dtype=object)
        return names[visible].tolist(), names[~visible].tolist()


def _estimates(built: Built, targets: ScoreMatrix) -> FloatArray:
    columns = [targets.item_position[item] for item in built.selection.items]
    layer = targets.probabilities
    probabilities = None if layer is None else layer[:, columns]
    return built.estimator.estimate(targets.values[:, columns], probabilities).values


def signs(scores: FloatArray, tolerance: float) -> npt.NDArray[np.int8]:
    """Whether the model of a row is ahead (1), behind (-1) or level, shape (n_models, n_models).

    >>> signs(np.array([0.2, 0.5, 0.5]), 1e-9).tolist()
    [[0, -1, -1], [1, 0, 0], [1, 0, 0]]
    """
    difference = scores[:, None] - scores
    return (difference > tolerance).astype(np.int8) - (difference < -tolerance).astype(np.int8)


def outcome(
    estimates: FloatArray,
    right: npt.NDArray[np.int8],
    target: IntArray,
    n_models: int,
    tolerance: float,
) -> Outcome:
    """How estimates order the targets.

    Parameters
    ----------
    estimates : array of shape (n_target,)
    right : array of shape (n_target, n_target), signs of their full scores
    target : their positions among the source models
    n_models : number of source models
    tolerance : estimates that differ by no more are tied
    """
    ordered = right != 0
    alike = signs(estimates, tolerance) * right
    sure, tied = (alike > 0).sum(axis=1), ((alike == 0) & ordered).sum(axis=1)
    by_model = np.zeros((len(TIES), n_models))
    for row, tie in zip(by_model, TIES, strict=True):
        row[target] = (sure + tie * tied) / (ordered.sum() / 2)
    # Each pair is in the sums of two models.
    return Outcome(by_model.sum(axis=1) / 2, by_model)
