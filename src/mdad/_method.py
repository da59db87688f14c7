"""What a method is: a selector and an estimator, and what they build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad._rng import Stream
    from mdad.estimators import Estimator, FittedEstimator
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Prepared, Selection, Selector
    from mdad.splits import SplitKind

__all__ = ["Built", "Candidate", "Choice", "Method"]


@dataclass(frozen=True)
class Candidate:
    """What an inner experiment found of one candidate.

    Parameters
    ----------
    name : of the candidate
    agreement : mean over the inner runs at the size asked for, an estimated tie counting a quarter
    lead : mean agreement less that of the plain random mean, at this and neighbouring sizes
    standard_error : of the lead, over the inner runs; NaN of a single one
    """

    name: str
    agreement: float
    lead: float
    standard_error: float


@dataclass(frozen=True)
class Choice:
    """What a method chose for a size, and why.

    Parameters
    ----------
    name : of the chosen candidate
    size : number of items the candidates were compared at; 0 without an inner experiment
    runs : number of inner runs
    evidence : every candidate, best first
    reason : one sentence
    """

    name: str
    size: int
    runs: int
    evidence: tuple[Candidate, ...]
    reason: str


@dataclass(frozen=True, eq=False)
class Built:
    """A micro-benchmark of one size: the chosen items and the estimator fitted to them.

    Parameters
    ----------
    selection : the items
    estimator : fitted to them
    choice : of a method that chooses among others, what it chose; else None
    method : of such a method, the one it chose; else None
    """

    selection: Selection
    estimator: FittedEstimator
    choice: Choice | None = None
    method: Method | None = None


@dataclass(frozen=True)
class Method:
    """A selector and the estimator that reads what it selects."""

    name: str
    selector: Selector
    estimator: Estimator

    def for_split(self, split: SplitKind, groups: str = "") -> Method:  # noqa: ARG002
        """The method for targets that are split from the sources like this; most are the same.

        Parameters
        ----------
        split, groups : see :func:`mdad.splits.draw_models`
        """
        return self

    def prepare(
        self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream
    ) -> Callable[[int], Built]:
        """Do what all sizes share; return the function from size to micro-benchmark.

        Parameters
        ----------
        scores : source models x seen items
        aggregate : how a full score is formed
        stream : randomness of this run; the method adds its name
        """
        select: Prepared = self.selector.prepare(
            scores, aggregate=aggregate, stream=stream.child(self.name)
        )

        def build(size: int) -> Built:
            selection = select(size)
            return Built(selection, self.estimator.fit(scores, selection, aggregate=aggregate))

        return build
