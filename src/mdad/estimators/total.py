"""A weighted sum whose weights need not sum to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad.estimators._base import Estimates, FloatArray

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection


@dataclass(frozen=True, eq=False)
class FittedTotal:
    """A weighted sum over chosen items.

    Parameters
    ----------
    weights : array of shape (size,), whatever their sum
    """

    weights: FloatArray

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # the same
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`. There is no standard error."""
        sums: FloatArray = values.astype(np.float64) @ self.weights
        return Estimates(sums, np.full(len(sums), np.nan))


@dataclass(frozen=True)
class WeightedTotal:
    """The weighted sum of the chosen items, with the weights as the selector made them.

    Where those do not sum to 1 an estimate may leave the range of the scores. Only for forms that
    show what another code does.
    """

    def fit(
        self,
        scores: ScoreMatrix,  # noqa: ARG002  # part of the protocol
        selection: Selection,
        *,
        aggregate: Aggregate,  # noqa: ARG002  # the same
    ) -> FittedTotal:
        """Undo the scaling of the selection's weights; nothing is learned from scores."""
        return FittedTotal(selection.weights * selection.total)
