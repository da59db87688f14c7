"""What ``auto`` chooses from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mdad._method import Method
from mdad.estimators import Aipw, BestLinear, Ridge, WeightedMean
from mdad.selectors import COptimal, Covariance, Mrmr, Uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad._method import Built
    from mdad._rng import Stream
    from mdad.auto._inner import Inner
    from mdad.scores import Aggregate, ScoreMatrix

MRMR_SIZE = 100
"""mRMR is slow on more items, and by then behind."""


@dataclass(frozen=True)
class Drawn(Method):
    """A method that draws the very items of the method ``random``, whatever its estimator.

    Estimators are then compared on the same items, without the noise of two draws.
    """

    def prepare(
        self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream
    ) -> Callable[[int], Built]:
        """Return the function from size to micro-benchmark; see :class:`Method`."""
        drawn = Method("random", self.selector, self.estimator)
        return drawn.prepare(scores, aggregate=aggregate, stream=stream)


def _designed(name: str, covariance: Covariance) -> Method:
    return Method(name, COptimal(covariance, "fixed"), BestLinear(covariance, "fixed"))


def random_family() -> list[Method]:
    """Methods that draw items at random and rely on nothing learned; the safest of them first."""
    return [
        Drawn("random-aipw", Uniform(), Aipw(uniform=True)),
        Method("random", Uniform(), WeightedMean(uniform=True)),
    ]


def learned(size: int, inner: Inner) -> list[Method]:
    """Methods that learn from the source models, from the simplest.

    They are few: each one more is a chance more to lead by luck alone.

    Parameters
    ----------
    size : number of items to choose
    inner : how candidates are compared
    """
    near = Covariance(shrinkage=0.2, neighbours=1.0)
    closer, factors = replace(near, neighbours=0.5), Covariance(form="factor")
    if inner.split == "frontier":
        return [
            _designed("c-optimal", Covariance(shrinkage=0.1)),
            _designed("c-optimal, neighbours 1", near),
            _designed("c-optimal, neighbours 0.5, focus top", replace(closer, focus="top")),
        ]
    methods = [
        _designed("c-optimal, neighbours 1", near),
        _designed("c-optimal, neighbours 0.5", closer),
        _designed("c-optimal, 10 factors", factors),
    ]
    if inner.aim == "pool":
        return methods
    others = replace(factors, target="others")
    methods += [
        _designed("c-optimal, 10 factors, other items", others),
        _designed("c-optimal, 5 factors, other items", replace(others, factors=5)),
    ]
    if size <= MRMR_SIZE:
        methods.append(Method("mrmr-ridge", Mrmr(), Ridge()))
    return methods
