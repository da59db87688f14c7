"""The mean of the chosen items' scores, weighted as the selector says."""

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
class FittedMean:
    """A weighted mean over chosen items.

    Parameters
    ----------
    weights : array of shape (size,), sums to 1
    pool_size : items of the pool the sample was drawn from, or None when the items are no uniform
        sample and the formula of the standard error does not hold
    """

    weights: FloatArray
    pool_size: int | None

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # the same
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`.

        The standard error is that of a uniform sample of n from N items without replacement:
        sqrt(s^2 / n * (1 - n / N)), s^2 the sample variance (n - 1 in the denominator).
        """
        size = values.shape[1]
        if np.ptp(self.weights) == 0:
            # Sums of 0/1 scores are exact, so equal numbers of right answers tie exactly.
            means = values.sum(axis=1, dtype=np.float64) / size
        else:
            means = values.astype(np.float64) @ self.weights
        errors = np.full(len(means), np.nan)
        if self.pool_size is not None and size > 1:
            variance = values.astype(np.float64).var(axis=1, ddof=1)
            errors = np.sqrt(variance / size * (1 - size / self.pool_size))
        return Estimates(means, errors)


@dataclass(frozen=True)
class WeightedMean:
    """The weighted mean of the chosen items.

    Parameters
    ----------
    uniform : the items are a uniform random sample, so a standard error is known (when all items
        count the same)
    """

    uniform: bool = False

    def fit(self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate) -> FittedMean:
        """Take the selection's weights; nothing is learned from scores."""
        plain = self.uniform and (aggregate == "micro" or scores.subtasks is None)
        return FittedMean(selection.weights, scores.n_items if plain else None)
