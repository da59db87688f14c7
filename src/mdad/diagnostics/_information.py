"""How much items, and subtasks, say of the full score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad.selectors import Covariance
from mdad.selectors._covariance import population

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors._covariance import Population

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SubtaskInformation:
    """What the items of a subtask say of the full score.

    Parameters
    ----------
    subtask : label
    n_items : of it
    mean : mean score of all models, in the unit of the scores
    item_rest : mean correlation of its items with the rest; None when all are constant
    alone : mean share of the full score's variance that one of its items explains
    together : share that all of its items explain together, by the best linear predictor
    flagged : items with a fault
    """

    subtask: str
    n_items: int
    mean: float
    item_rest: float | None
    alone: float
    together: float
    flagged: int


def information(scores: ScoreMatrix, aggregate: Aggregate) -> tuple[FloatArray, FloatArray]:
    """Share of the variance of full scores that items explain, alone and by subtask together.

    The models' covariance is that of :class:`mdad.selectors.COptimal`, 20 % of it moved to the
    diagonal: an item that explains much alone is where its greedy design begins.

    Returns
    -------
    arrays of shape (n_items,) and (n_subtasks,); zeros where all full scores are equal
    """
    found = population(scores, Covariance(), aggregate)
    total = float(found.weights @ _times(found, found.weights))
    parts = list(scores.subtask_positions.values())
    if np.ptp(scores.full_scores(aggregate)) == 0:
        return np.zeros(scores.n_items), np.zeros(len(parts))
    variance, cross = found.variance, found.cross
    varying = variance > 0
    alone = np.where(varying, cross**2 / np.where(varying, variance, 1), 0) / total
    together = [_together(found, part[varying[part]]) / total for part in parts]
    return alone, np.minimum(np.array(together), 1)


def _times(found: Population, vector: FloatArray) -> FloatArray:
    product: FloatArray = found.factors.T @ (found.factors @ vector) + found.own * vector
    return product


def _together(found: Population, group: npt.NDArray[np.intp]) -> float:
    """c'C^-1 c over a group, C = G'G + diag(own) inverted by its factors (Woodbury)."""
    if not len(group):
        return 0.0
    factors, own, cross = found.factors[:, group], found.own[group], found.cross[group]
    scaled = factors / own
    middle = np.eye(len(factors)) + scaled @ factors.T
    side = scaled @ cross
    return float(cross @ (cross / own) - side @ np.linalg.solve(middle, side))
