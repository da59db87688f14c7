"""What an estimator is and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimated full scores of some models, in the unit of the scores.

    Parameters
    ----------
    values : array of shape (n_models,)
    standard_errors : array of shape (n_models,); NaN where the method has none
    """

    values: FloatArray
    standard_errors: FloatArray


class FittedEstimator(Protocol):
    """An estimator fitted to one selection."""

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,
        options: npt.NDArray[Any] | None = None,
    ) -> Estimates:
        """Estimate full scores.

        Parameters
        ----------
        values : array of shape (n_models, size), columns in the order of the selection
        probabilities : array of the same shape, or None
        options : array of shape (n_models, size, n_options), the probability of every option, NaN
            where an item has fewer; or None
        """
        ...


class Estimator(Protocol):
    """Settings in the constructor, data in the call."""

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedEstimator:
        """Fit to source models x seen items; never sees a target model."""
        ...
