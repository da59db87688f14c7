"""Items in the order in which they enter the lasso path of the full score."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdad.selectors._base import FloatArray, Prepared, Selection, check_size, selection_of
from mdad.selectors._correlation import unit_rows
from mdad.selectors._covariance import Covariance, IntArray, population
from mdad.selectors.c_optimal import Greedy

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix


@dataclass(frozen=True)
class LassoPath:
    """The lasso of the full score on the items, over source models, as its penalty falls.

    Items come in the order in which they first enter the path (least angle regression), so a size
    is filled exactly, and designs are nested. The path holds fewer items at a time than there are
    source models; when it ends, the greedy c-optimal design goes on from there.

    Raises
    ------
    MethodError
        when there is one source model only.

    References
    ----------
    B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", Annals of
    Statistics 32 (2004).
    """

    def prepare(
        self,
        scores: ScoreMatrix,
        *,
        aggregate: Aggregate,
        stream: Stream,  # noqa: ARG002  # part of the protocol; nothing is drawn
    ) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        weights = scores.item_weights(aggregate)
        found = population(scores, Covariance(), aggregate)
        values = scores.values.astype(np.float64)
        greedy: list[Greedy] = []

        def build(size: int) -> Selection:
            size = check_size(size, scores)
            if not greedy:
                path = lasso_order(values, values @ weights)
                order = tuple((path[k : k + 1], 1) for k in range(len(path)))
                greedy.append(Greedy(found, order))
            chosen = greedy[0].take(size)
            return selection_of(scores, chosen, weights[chosen])

        return build


def lasso_order(values: FloatArray, full: FloatArray) -> IntArray:
    """Positions of the items in the order in which they first enter the path.

    Parameters
    ----------
    values : array of shape (n_models, n_items)
    full : array of shape (n_models,), full scores
    """
    from sklearn.linear_model import lars_path  # noqa: PLC0415  # slow to import

    unit = unit_rows(values.T)[0]
    # Of equal items the path may hold one; the others would stop it.
    _, first = np.unique(unit.round(12), axis=0, return_index=True)
    kept = np.sort([i for i in first if unit[i].any()]).astype(np.intp)
    target = full - full.mean()
    if len(kept) == 0 or not np.abs(target).max() > 0:
        return np.zeros(0, dtype=np.intp)
    with warnings.catch_warnings():
        # It warns when it drops items that depend on others; those come later, from the design.
        warnings.simplefilter("ignore")
        _, _, path = lars_path(unit[kept].T.copy(), target / np.linalg.norm(target), method="lasso")
    entered = path != 0
    some = np.flatnonzero(entered.any(axis=1))
    order = some[np.argsort(entered[some].argmax(axis=1), kind="stable")]
    found: IntArray = kept[order]
    return found
