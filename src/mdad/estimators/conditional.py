"""The best linear predictor: the full score expected of a model with these scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad.errors import MethodError
from mdad.estimators._base import Estimates
from mdad.estimators.mean import FittedMean
from mdad.selectors import Covariance
from mdad.selectors._covariance import population
from mdad.selectors.c_optimal import Linear, chosen_covariance, predictor

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """An intercept and coefficients; see :class:`mdad.selectors.c_optimal.Linear`.

    Parameters
    ----------
    linear : the predictor
    needs_probabilities : whether its features are probabilities
    """

    linear: Linear
    needs_probabilities: bool = False

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`.

        All models have the standard error of the population. An unknown probability counts as
        the mean of its item, which says nothing.

        Raises
        ------
        MethodError
            when probabilities are read and there are none.
        """
        scores = values.astype(np.float64)
        features = None
        if self.needs_probabilities:
            if probabilities is None:
                raise MethodError(
                    "this estimator reads the probability of the right answer on each chosen item; "
                    "these models have none. Choose items with features='values'."
                )
            known = probabilities.astype(np.float64)
            features = np.where(np.isnan(known), self.linear.mean, known)
        found = self.linear.predict(scores, features)
        return Estimates(found, np.full(len(found), self.linear.standard_error))


@dataclass(frozen=True)
class BestLinear:
    """The best linear predictor under a covariance of the items, for any selection.

    With all items chosen it is the plain mean, exactly.

    Parameters
    ----------
    covariance, shrinkage : see :class:`mdad.selectors.COptimal`

    Raises
    ------
    MethodError
        when there is one source model only, or probabilities are asked for and there are none.

    Notes
    -----
    The standard error is that of a model drawn from the population of the covariance, over the
    seen items. It knows nothing of the selection having been made with the same source models.
    """

    covariance: Covariance = field(default_factory=Covariance)
    shrinkage: str = "cv"

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedLinear | FittedMean:
        """Fit to source models x seen items; see :class:`Estimator`."""
        if selection.size == scores.n_items:
            return FittedMean(selection.weights, None)
        covariance = chosen_covariance(
            scores, self.covariance, aggregate, search=self.shrinkage == "cv"
        )
        chosen = np.array([scores.item_position[item] for item in selection.items], dtype=np.intp)
        linear = predictor(population(scores, covariance, aggregate), chosen)
        return FittedLinear(linear, needs_probabilities=covariance.features == "probabilities")
