"""The method that chooses among methods, for each size, by an inner experiment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np

from mdad._checks import check_choice, check_int
from mdad._method import Built, Choice, Method
from mdad.auto._candidates import Drawn, learned, random_family
from mdad.auto._evidence import Evidence, Tried
from mdad.auto._inner import Aim, Inner, InnerRun
from mdad.errors import ScoresError
from mdad.estimators import Aipw, Estimator
from mdad.selectors import Selector, Uniform, check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.splits import SplitKind

__all__ = ["Aim", "Auto"]

GRID = (10, 25, 50, 100, 250, 500, 1000)
"""Sizes candidates are compared at; another size takes the choice of the nearest in ratio."""

SHARE = 0.8
"""Where the grid is more than half of a small pool, this share of it takes its place."""

LARGE = 400
"""Sizes up to this are tried together, with one preparation; larger ones when they are wanted."""

MOST_RUNS, LEAST_RUNS = 12, 2
WORK = 5e9
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
    selector, estimator : what is built without an inner experiment, below 40 source models (100
        at the frontier)
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

        The choice for a size is in the ``choice`` of what is built, and does not depend on the
        other sizes asked for. Items that are drawn at random are those that the method of the
        candidate's name draws.
        """
        inner = Inner(self.aim, self.split, self.groups, aggregate)
        known = Known(self, scores, inner, stream.child(self.name, "inner"))
        choices: dict[int, tuple[Method, Choice]] = {}
        ready: dict[str, Callable[[int], Built]] = {}

        def build(size: int) -> Built:
            size = check_size(size, scores)
            near = known.compared_at(size)
            if near not in choices:
                choices[near] = self._choose(near, known)
            method, choice = choices[near]
            if method.name not in ready:
                ready[method.name] = method.prepare(scores, aggregate=aggregate, stream=stream)
            return replace(ready[method.name](size), choice=choice, method=method)

        return build

    def _choose(self, size: int, known: Known) -> tuple[Method, Choice]:
        fallback = Drawn("random-aipw", self.selector, self.estimator)
        if not size:
            least = known.inner.least
            reason = f"no inner experiment: fewer than {least} source models, or all items."
            return fallback, Choice(fallback.name, 0, 0, (), reason)
        try:
            found = known.evidence(size)
        except ScoresError as error:
            reason = f"the inner experiment cannot be done: {error}"
            return fallback, Choice(fallback.name, 0, 0, (), reason)
        if not found.runs:
            return fallback, Choice(fallback.name, size, 0, (), "all source models tie.")
        methods = {method.name: method for method in known.methods(size)}
        best, reason = found.best(len(random_family()), CAUTION)
        chosen = methods[found.names[best]]
        return chosen, Choice(chosen.name, size, found.runs, found.table(), reason)


@dataclass(frozen=True, eq=False)
class Known:
    """What the inner runs of one matrix have found, made as far as it is asked for."""

    auto: Auto
    scores: ScoreMatrix
    inner: Inner
    stream: Stream
    tried: dict[int, Tried] = field(default_factory=dict)

    @cached_property
    def marks(self) -> tuple[int, ...]:
        """Sizes that candidates are compared at: the grid up to half the pool, and one above.

        The same whatever is asked for, so that a choice does not depend on it.
        """
        most, n = self.inner.most(self.scores), self.scores.n_items
        marks = {g for g in GRID if g <= n // 2} | {int(SHARE * n)}
        return tuple(sorted({min(mark, most) for mark in marks if 0 < mark <= GRID[-1]}))

    def compared_at(self, size: int) -> int:
        """Size at which candidates are compared for this one; 0 = not at all."""
        if self.scores.n_models < self.inner.least or size == self.scores.n_items or not self.marks:
            return 0
        return min(self.marks, key=lambda mark: abs(np.log(mark / size)))

    def methods(self, size: int) -> list[Method]:
        """All candidates for a size."""
        return [*random_family(), *learned(size, self.inner)]

    def evidence(self, size: int) -> Evidence:
        """What is known at a size and its neighbours.

        Raises
        ------
        ScoresError
            when models cannot be split as they should be.
        """
        sizes = around(size, self.marks)
        missing = [size for size, _ in sizes if size not in self.tried]
        if missing:
            self._try(max(LARGE, *missing))
        names = [method.name for method in self.methods(size)]
        return Evidence(names, [(weight, self.tried[size]) for size, weight in sizes])

    def runs(self, size: int) -> int:
        """Number of inner runs at a size."""
        cells = self.scores.n_models * self.scores.n_items
        return min(max(int(WORK / (cells * size)), LEAST_RUNS), self.auto.runs)

    def _try(self, most: int) -> None:
        """Do the inner runs of all sizes up to ``most`` that have not been tried."""
        sizes = [mark for mark in self.marks if mark <= most and mark not in self.tried]
        methods = {size: self.methods(size) for size in sizes}
        found: dict[int, list[InnerRun]] = {size: [] for size in sizes}
        for run in range(max(self.runs(size) for size in sizes)):
            wanted = {size: methods[size] for size in sizes if run < self.runs(size)}
            done = self.inner.run(self.scores, wanted, self.stream.child(run))
            for size, one in done.items():
                found[size].append(one)
        for size in sizes:
            self.tried[size] = Tried.of([method.name for method in methods[size]], found[size])


def around(size: int, marks: Sequence[int]) -> list[tuple[int, float]]:
    """One of the sizes and its neighbours, with the weight of what is found there.

    What is best changes slowly with the size, and three sizes tell more than one.
    """
    below = [mark for mark in marks if mark < size][-1:]
    above = [mark for mark in marks if mark > size][:1]
    weights = [(size, 1.0), *((mark, 0.5) for mark in (*below, *above))]
    total = sum(weight for _, weight in weights)
    return [(mark, weight / total) for mark, weight in weights]
