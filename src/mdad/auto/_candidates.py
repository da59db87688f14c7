"""What ``auto`` chooses from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdad._method import Method
from mdad.estimators import Aipw, BestLinear, Ridge, WeightedMean
from mdad.selectors import COptimal, Covariance, Mrmr, ProportionalSubtasks, Uniform

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix
    from mdad.splits import SplitKind

MRMR_SIZE = 100
"""mRMR is slow on more items, and by then behind."""


def _designed(name: str, covariance: Covariance) -> Method:
    return Method(name, COptimal(covariance, "fixed"), BestLinear(covariance, "fixed"))


def random_family(scores: ScoreMatrix) -> list[Method]:
    """Methods that draw items at random and rely on nothing learned; the safest of them first."""
    family = [
        Method("random-aipw", Uniform(), Aipw(uniform=True)),
        Method("random", Uniform(), WeightedMean(uniform=True)),
    ]
    if scores.subtasks is not None and len(scores.subtask_positions) > 1:
        name = "random-subtasks-proportional"
        family.append(Method(name, ProportionalSubtasks(), WeightedMean()))
    return family


def learned(size: int, split: SplitKind) -> list[Method]:
    """Methods that learn from the source models.

    Parameters
    ----------
    size : number of items to choose
    split : how targets are split from sources. At the frontier fewer are compared: what suits
        the mass of the sources leads by chance alone, and every candidate is one more chance.
    """
    near_top = Covariance(shrinkage=0.2, neighbours=0.5, focus="top")
    methods = [
        _designed("c-optimal, shrinkage 0.1", Covariance(shrinkage=0.1)),
        _designed("c-optimal, shrinkage 0.3", Covariance(shrinkage=0.3)),
        _designed("c-optimal, focus top", Covariance(shrinkage=0.1, focus="top")),
        _designed("c-optimal, focus top, neighbours 0.5", near_top),
        Method(
            "c-optimal, focus top, neighbours 0.5; imputed",
            COptimal(near_top, "fixed"),
            Aipw(corrected=False),
        ),
    ]
    if split == "frontier":
        return methods
    methods += [
        _designed("c-optimal, neighbours 0.5", Covariance(shrinkage=0.2, neighbours=0.5)),
        _designed("c-optimal, 10 factors", Covariance(form="factor")),
        Method("random-ridge", Uniform(), Ridge()),
    ]
    if size <= MRMR_SIZE:
        methods.append(Method("mrmr-ridge", Mrmr(), Ridge()))
    return methods
