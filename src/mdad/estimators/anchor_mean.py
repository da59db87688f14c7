"""The mean probability over anchor points, weighted by the share each one stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad.estimators._base import Estimates, FloatArray
from mdad.estimators.mean import FittedMean

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection


@dataclass(frozen=True, eq=False)
class FittedAnchorMean:
    """A weighted mean of the probabilities of the right answer.

    Parameters
    ----------
    weights : array of shape (size,), sums to 1
    """

    weights: FloatArray

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`. There is no standard error.

        A model's unknown probability is replaced by its score on the item.
        """
        signal = values if probabilities is None else probabilities
        signal = np.where(np.isnan(signal), values, signal).astype(np.float64)
        means: FloatArray = signal @ self.weights
        return Estimates(means, np.full(len(means), np.nan))


@dataclass(frozen=True)
class AnchorMean:
    """The target's probability of the right answer on each anchor, weighted by its cluster's share.

    Where the scores have no probabilities, or are graded, the values themselves are weighted.

    Notes
    -----
    As in the paper: what is estimated is then the mean *probability* of the right answer. A model
    that is surer, or less sure, than it is right has another mean score than that, so the estimate
    is biased for it however many anchors there are, and its distance to the full score is not
    comparable with that of other methods. When all items are chosen nothing is left to stand for,
    and the estimate is the mean of the values: the full score itself.
    """

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedMean | FittedAnchorMean:
        """Take the selection's weights; nothing is learned from scores."""
        del aggregate  # the weights aim at it
        if (
            selection.size == scores.n_items
            or scores.probabilities is None
            or scores.kind != "correctness"
        ):
            return FittedMean(selection.weights, None)
        return FittedAnchorMean(selection.weights)
