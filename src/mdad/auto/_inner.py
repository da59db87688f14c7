"""The inner experiment: how candidates do among the source models themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mdad.splits import draw_models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad._method import Method
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.splits import SplitKind

FloatArray = npt.NDArray[np.float64]

Aim = Literal["pool", "ability"]
"""What is to be ranked rightly: the score on the pool at hand, or on unseen items of the kind."""

TARGET_SHARE, MIN_TARGET, MAX_TARGET = 4, 10, 75
"""A quarter of the source models are inner targets: more would starve the designs, fewer tell
little."""

FRONTIER_SHARE = 8
"""At the frontier an eighth: the wider the top, the less it is like models above all sources."""

KEPT = 0.8
"""Share of the source models in an inner run of a frontier split, which is not random by itself."""

SEEN_SHARE = 2 / 3
"""Items an inner selector sees where the aim is ability; the others stand for unseen ones."""

TIE = 1e-9

TIES = (0.25, 0.5)
"""What an estimated tie counts: where candidates are ranked, and where a lead is confirmed."""


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

    def most(self, scores: ScoreMatrix) -> int:
        """Largest size that candidates can be compared at."""
        if self.aim == "pool":
            return scores.n_items
        # With nearly all inner items chosen, nothing would be left to choose well.
        return max(1, int(0.75 * SEEN_SHARE * scores.n_items))

    def agreements(
        self, scores: ScoreMatrix, methods: Sequence[Method], size: int, runs: int, stream: Stream
    ) -> FloatArray:
        """Mean agreement of each method in each run, by what an estimated tie counts.

        Parameters
        ----------
        scores : source models x seen items
        methods : candidates
        size : number of items
        runs : number of inner runs
        stream : randomness of the inner experiment

        Returns
        -------
        array of shape (n_methods, 2, runs): ties count a quarter, and half; NaN where all inner
        targets tie
        """
        found = np.empty((len(methods), 2, runs))
        for run in range(runs):
            found[:, :, run] = self._run(scores, methods, size, stream.child(run))
        return found

    def _run(
        self, scores: ScoreMatrix, methods: Sequence[Method], size: int, stream: Stream
    ) -> list[list[float]]:
        share = TARGET_SHARE
        if self.split == "frontier":
            share = FRONTIER_SHARE
            order = stream.child("kept").rng().permutation(scores.n_models)
            kept = np.sort(order[: int(KEPT * scores.n_models)])
            scores = scores.restrict(models=[scores.models[i] for i in kept.tolist()])
        n_target = min(MAX_TARGET, max(MIN_TARGET, scores.n_models // share))
        target, source = draw_models(
            scores,
            n_source=scores.n_models - n_target,
            n_target=n_target,
            stream=stream.child("models"),
            kind=self.split,
            groups=self.groups,
            aggregate=self.aggregate,
        )
        seen, judged = self._items(scores, stream.child("items"))
        known = scores.restrict(
            models=[scores.models[i] for i in np.sort(source).tolist()], items=seen
        )
        targets = scores.restrict(models=[scores.models[i] for i in np.sort(target).tolist()])
        full = targets.restrict(items=judged).full_scores(self.aggregate)
        tolerance = TIE * (scores.score_range[1] - scores.score_range[0])
        estimates = (
            _estimates(method, known, targets, size, self.aggregate, stream) for method in methods
        )
        return [[agreement(found, full, tolerance, tie=tie) for tie in TIES] for found in estimates]

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


def _estimates(
    method: Method,
    known: ScoreMatrix,
    targets: ScoreMatrix,
    size: int,
    aggregate: Aggregate,
    stream: Stream,
) -> FloatArray:
    built = method.prepare(known, aggregate=aggregate, stream=stream)(min(size, known.n_items))
    columns = [targets.item_position[item] for item in built.selection.items]
    layer = targets.probabilities
    probabilities = None if layer is None else layer[:, columns]
    return built.estimator.estimate(targets.values[:, columns], probabilities).values


def agreement(
    estimates: FloatArray, full: FloatArray, tolerance: float, *, tie: float = 0.25
) -> float:
    """Share of pairs that are ordered alike.

    Parameters
    ----------
    estimates, full : arrays of shape (n_models,)
    tolerance : differences up to this are ties; pairs tied in ``full`` are left out
    tie : what an estimated tie counts. A quarter is the mean of the two rules, of which one
        flatters methods that never tie and the other those that often do

    Returns
    -------
    float in [0, 1], NaN when all pairs are tied in ``full``

    >>> agreement(np.array([0.1, 0.2, 0.2]), np.array([0.1, 0.3, 0.5]), 1e-9)
    0.75
    """
    first, second = np.triu_indices(len(full), k=1)

    def signs(scores: FloatArray) -> npt.NDArray[np.int8]:
        difference = scores[first] - scores[second]
        return np.sign(np.where(np.abs(difference) > tolerance, difference, 0)).astype(np.int8)

    right = signs(full)
    ordered = right != 0
    if not ordered.any():
        return float("nan")
    alike = (signs(estimates) * right)[ordered]
    return float((alike > 0).mean() + tie * (alike == 0).mean())
