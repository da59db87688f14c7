"""The method that chooses among methods, for each size, by an inner experiment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from mdad._checks import check_choice, check_int
from mdad._method import Built, Choice, Method
from mdad.auto._candidates import learned, random_family
from mdad.auto._evidence import Evidence, Tried
from mdad.auto._inner import Aim, Inner
from mdad.errors import ScoresError
from mdad.estimators import Aipw, Estimator
from mdad.selectors import Selector, Uniform, check_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.splits import SplitKind

__all__ = ["Aim", "Auto"]

MIN_MODELS = 40
"""With fewer source models an inner experiment shows nothing; random-aipw it is."""

GRID = (10, 25, 50, 100, 250, 500, 1000)
"""Sizes candidates are compared at; another size takes the choice of the nearest in ratio."""

MOST_RUNS, LEAST_RUNS = 12, 2
WORK = 2.5e9
"""Models x items x size x runs of an inner experiment: keeps seven sizes of 300 x 6,012 scores
below half a minute on one core."""

CAUTION = 1.0
"""Standard errors by which a learned method must lead the random ones to be chosen."""


@dataclass(frozen=True)
class Auto(Method):
    """The candidate with the best mean agreement among the source models.

    For a size, source models are split again and again, in the way targets are split from sources,
    into inner sources and inner targets; every candidate chooses items with the inner sources and
    is judged on the inner targets. The best random method is kept unless a learned one leads it by
    a standard error. The chosen candidate is then built with all source models.

    Parameters
    ----------
    name : of the method
    selector, estimator : what is built without an inner experiment, below 40 source models
    aim : "pool": judged on the pool itself; "ability": items are split too, and candidates are
        judged on items that they could not choose
    split, groups : how targets will be split from sources
    runs : most inner runs; there are fewer where scores are many
    """

    name: str = "auto"
    selector: Selector = field(default_factory=Uniform)
    estimator: Estimator = field(default_factory=lambda: Aipw(uniform=True))
    aim: Aim = "pool"
    split: SplitKind = "random"
    groups: str = ""
    runs: int = MOST_RUNS

    def __post_init__(self) -> None:
        check_choice("aim", self.aim, get_args(Aim))
        check_int("runs", self.runs, LEAST_RUNS)

    def for_split(self, split: SplitKind, groups: str = "") -> Method:
        """The method whose inner experiment splits models like this."""
        return replace(self, split=split, groups=groups)

    def prepare(
        self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream
    ) -> Callable[[int], Built]:
        """Return the function from size to micro-benchmark; see :class:`Method`.

        The choice for a size is in the ``choice`` of what is built.
        """
        own = stream.child(self.name)
        tried: dict[int, Tried] = {}
        choices: dict[int, tuple[Method, Choice]] = {}

        def at(size: int) -> Tried:
            if size not in tried:
                tried[size] = self._try(size, scores, aggregate, own.child("inner", size))
            return tried[size]

        def build(size: int) -> Built:
            size = check_size(size, scores)
            near = self._compared_at(size, scores, aggregate)
            if near not in choices:
                choices[near] = self._choose(near, scores, aggregate, at)
            method, choice = choices[near]
            built = method.prepare(scores, aggregate=aggregate, stream=own)(size)
            return replace(built, choice=choice)

        return build

    def _inner(self, aggregate: Aggregate) -> Inner:
        return Inner(self.aim, self.split, self.groups, aggregate)

    def _compared_at(self, size: int, scores: ScoreMatrix, aggregate: Aggregate) -> int:
        """Size at which candidates are compared; 0 = not at all."""
        if scores.n_models < MIN_MODELS or size == scores.n_items:
            return 0
        near = min(GRID, key=lambda g: abs(np.log(g / size)))
        # Where the pool is small, a size of the grid may be most of it while the size asked for
        # is not; then the size itself is compared.
        near = size if near > scores.n_items // 2 else near
        return min(near, self._inner(aggregate).most(scores))

    def _choose(
        self,
        size: int,
        scores: ScoreMatrix,
        aggregate: Aggregate,
        at: Callable[[int], Tried],
    ) -> tuple[Method, Choice]:
        fallback = Method("random-aipw", self.selector, self.estimator)
        if not size:
            reason = f"no inner experiment: fewer than {MIN_MODELS} source models, or all items."
            return fallback, Choice(fallback.name, 0, 0, (), reason)
        most = self._inner(aggregate).most(scores)
        try:
            around = _around(size, min(most, scores.n_items // 2))
            tried = [(weight, at(g)) for g, weight in around]
        except ScoresError as error:
            reason = f"the inner experiment cannot be done: {error}"
            return fallback, Choice(fallback.name, 0, 0, (), reason)
        family, methods = random_family(scores), self._methods(size, scores)
        found = Evidence([method.name for method in methods], tried)
        if not found.runs:
            return fallback, Choice(fallback.name, size, 0, (), "all source models tie.")
        best, reason = found.best(len(family), CAUTION)
        return methods[best], Choice(methods[best].name, size, found.runs, found.table(), reason)

    def _methods(self, size: int, scores: ScoreMatrix) -> list[Method]:
        return [*random_family(scores), *learned(size, self.split)]

    def _try(self, size: int, scores: ScoreMatrix, aggregate: Aggregate, stream: Stream) -> Tried:
        methods = self._methods(size, scores)
        runs = int(WORK / (scores.n_models * scores.n_items * size))
        runs = min(max(runs, LEAST_RUNS), self.runs)
        found = self._inner(aggregate).agreements(scores, methods, size, runs, stream)
        kept = found[:, :, ~np.isnan(found).any(axis=(0, 1))]
        return {method.name: row for method, row in zip(methods, kept, strict=True)}


def _around(size: int, most: int) -> list[tuple[int, float]]:
    """A size and its neighbours on the grid, with the weight of what is found there.

    What is best changes slowly with the size, and three sizes tell more than one.
    """
    below = [g for g in GRID if g < size][-1:]
    above = [g for g in GRID if size < g <= most][:1]
    weights = [(size, 1.0), *((g, 0.5) for g in (*below, *above))]
    total = sum(weight for _, weight in weights)
    return [(g, weight / total) for g, weight in weights]
