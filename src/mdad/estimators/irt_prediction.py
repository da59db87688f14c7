"""Full scores by predicting the items that were not chosen with an item response model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad.estimators._base import Estimates, FloatArray
from mdad.irt import IrtFit, fit_ability, prediction_error, shared_fit

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection

CLUSTER_GAIN = 4.0
"""Chosen items are taken to cut the variance of a random mean to a quarter (Polo et al.'s code)."""


@dataclass(frozen=True, eq=False)
class FittedIrtPrediction:
    """Chosen items count as scored, all others as predicted from the ability they show.

    Parameters
    ----------
    fit : items of the pool
    items : ids of the chosen ones
    pool_weights : array of shape (n_items,), weight of each item of the pool in a full score
    weights : array of shape (size,), of the chosen items in the weighted mean
    mix : weight of the weighted mean in the estimate, in [0, 1]; 0 = prediction alone
    """

    fit: IrtFit
    items: tuple[str, ...]
    pool_weights: FloatArray
    weights: FloatArray
    mix: float

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`."""
        # Equal scores get equal estimates to the last bit, so they tie.
        rows, which = np.unique(values, axis=0, return_inverse=True)
        rows = rows.astype(np.float64)
        ability = fit_ability(self.fit, rows, self.items).ability
        position = {item: column for column, item in enumerate(self.fit.items)}
        columns = [position[item] for item in self.items]
        chance = self.fit.predict(ability)
        # A chosen item that was not scored is predicted like those that were not chosen.
        known = np.where(np.isnan(rows), chance[:, columns], rows)
        weighted_mean = known @ self.weights
        chance[:, columns] = known
        result = self.mix * weighted_mean + (1 - self.mix) * (chance @ self.pool_weights)
        return Estimates(result[which.ravel()], np.full(len(values), np.nan))


@dataclass(frozen=True)
class IrtPrediction:
    """p-IRT, or with ``mixed`` gp-IRT, of Polo et al. 2024.

    p-IRT: a target model's ability is fitted to its scores on the chosen items, the other items'
    probabilities are predicted, and the estimate is the mean over the pool of scores where there
    are any and predictions elsewhere. gp-IRT: lambda x weighted mean + (1 - lambda) x p-IRT with

        lambda = b^2 / (v / (4 size) + b^2),

    v the variance of a source model's scores over items, averaged over models, and b how far
    predictions of held-out source models are off, see :func:`mdad.irt.prediction_error`. No
    target model is looked at. Abilities have a standard Normal prior here, where the authors'
    code takes the maximum of the likelihood, which is infinite for a model all right or wrong.

    Parameters
    ----------
    mixed : gp-IRT
    dims : ability dimensions of the item response model

    References
    ----------
    Polo et al., tinyBenchmarks, 2024 (arXiv 2402.14992); the factor 4 is from the authors' code.
    """

    mixed: bool = False
    dims: int = 10

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedIrtPrediction:
        """Fit items, and the weight of the mixture, to source models alone.

        Raises
        ------
        MethodError
            when scores are graded, or there are too few source models.
        """
        return FittedIrtPrediction(
            shared_fit(scores, dims=self.dims),
            selection.items,
            scores.item_weights(aggregate),
            selection.weights,
            self._mix(scores, selection.size, aggregate) if self.mixed else 0.0,
        )

    def _mix(self, scores: ScoreMatrix, size: int, aggregate: Aggregate) -> float:
        error = prediction_error(scores, aggregate=aggregate, dims=self.dims)
        weights = scores.item_weights(aggregate)
        values = scores.values.astype(np.float64)
        mean = values @ weights
        variance = float(((values - mean[:, None]) ** 2 @ weights).mean())
        total = variance / (CLUSTER_GAIN * size) + error**2
        return error**2 / total if total > 0 else 0.0
