"""Learned designs: the order of the items, the predictors, and intervals by replaying sessions.

The whole procedure - order, predictors, looks - is made anew from nine tenths of the source models
and played with pairs of the others, whose full scores are known. How far the predicted gaps were
from the true ones at the worst look gives the width of the intervals, so that those of all looks
together hold the gap with the promised probability. ``docs/design/adaptive.md`` derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._rng import Stream
from mdad.adaptive._plan import Design, Plan, Predictor
from mdad.errors import MethodError
from mdad.quality import distinct_models
from mdad.selectors import Covariance, IrtInformation
from mdad.selectors._covariance import population
from mdad.selectors.c_optimal import Greedy, predictor

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

FOLDS = 10
NEAR = 0.5
"""Pairs are weighted by exp(-(gap / (NEAR sd))^2 / 2): an error matters where models are close."""

EXACT = 1e-9
"""An error below this share of the range is rounding."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A learned order and its predictors at every look."""

    order: IntArray
    predictors: tuple[Predictor, ...]


def learned_plan(
    scores: ScoreMatrix,
    design: Design,
    looks: tuple[int, ...],
    *,
    alpha: float,
    aggregate: Aggregate = "micro",
    reference: float | None = None,
) -> Plan:
    """The plan of a learned design.

    Parameters
    ----------
    scores : source models x items of the pool, complete
    design : "c-optimal" or "irt-information"
    looks : numbers of items at which is decided
    alpha : error probability, over all looks
    aggregate : how a full score is formed
    reference : score that one model is compared with; None = two models

    Raises
    ------
    MethodError
        when there are too few distinct source models for this error probability.
    """
    sources = distinct_models(scores)
    most = len(sources.models) // (1 if reference is not None else 2)
    level = (1 - alpha) * (most + 1) / most
    if level > 1:
        needed = math.ceil(1 / alpha - 1) * (1 if reference is not None else 2)
        raise MethodError(
            f"{design} learns how far it is off from source models that differ; an error "
            f"probability of {alpha:g} takes {needed} of them or more, got {sources.n_models}. "
            "The design 'random' needs none."
        )
    errors, weights = replayed_errors(sources, design, looks, aggregate, reference)
    spread = np.sqrt((errors**2 @ weights) / weights.sum())
    # With all items there is no error but rounding.
    known = spread > EXACT * (scores.score_range[1] - scores.score_range[0])
    worst = np.zeros(errors.shape[1])
    if known.any():
        worst = (np.abs(errors[known]) / spread[known, None]).max(axis=0)
    factor = weighted_quantile(worst, weights, level)
    fitted = _fit(sources, design, looks, aggregate)
    return Plan(
        design=design,
        order=tuple(sources.items[i] for i in fitted.order.tolist()),
        looks=looks,
        bounds=tuple(np.where(known, factor * spread, 0).tolist()),
        predictors=fitted.predictors,
    )


def weighted_quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """Smallest value with at least this share of the weight at or below it.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.ones(3), 0.5)
    2.0
    """
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    place = int(np.searchsorted(share, level - 1e-12))
    return float(values[order[min(place, len(values) - 1)]])


def replayed_errors(
    scores: ScoreMatrix,
    design: Design,
    looks: tuple[int, ...],
    aggregate: Aggregate,
    reference: float | None,
) -> tuple[FloatArray, FloatArray]:
    """Errors of held-out gaps at every look, (n_looks, n_pairs), and weights of the pairs.

    Models alternate over the folds in the order of their full scores, so that every fold spans
    them. A pair is two models of one fold.
    """
    full = scores.full_scores(aggregate)
    spread = float(full.std()) or 1.0
    rank = np.empty(len(full), dtype=np.intp)
    # Neighbours are shuffled first: equal scores should not always fall into different folds.
    mixed = Stream(0).child("replay").rng().permutation(len(full))
    rank[mixed[np.argsort(full[mixed], kind="stable")]] = np.arange(len(full))
    folds = min(FOLDS, len(full) // 2)
    errors, weights = [], []
    for fold in range(folds):
        test = np.flatnonzero(rank % folds == fold)
        train = [m for i, m in enumerate(scores.models) if rank[i] % folds != fold]
        fitted = _fit(scores.restrict(models=train), design, looks, aggregate)
        off = predictions(fitted, scores.values[test]) - full[test]
        if reference is None:
            first, second = np.triu_indices(len(test), 1)
            errors.append(off[:, first] - off[:, second])
            away = full[test][first] - full[test][second]
        else:
            errors.append(off)
            away = full[test] - reference
        weights.append(np.exp(-((away / (NEAR * spread)) ** 2) / 2))
    return np.concatenate(errors, axis=1), np.concatenate(weights)


def predictions(fitted: Fitted, values: npt.NDArray[np.generic]) -> FloatArray:
    """Predicted full scores at every look, shape (n_looks, n_models)."""
    ordered = values[:, fitted.order].astype(np.float64)
    return np.stack(
        [
            each.constant + ordered[:, : len(each.coefficients)] @ np.array(each.coefficients)
            for each in fitted.predictors
        ]
    )


def _fit(
    scores: ScoreMatrix, design: Design, looks: tuple[int, ...], aggregate: Aggregate
) -> Fitted:
    """Order and predictors from source models."""
    found = population(scores, Covariance(), aggregate)
    if design == "c-optimal":
        order = Greedy(found).take(looks[-1])
    else:
        choose = IrtInformation().prepare(scores, aggregate=aggregate, stream=Stream(0))
        chosen = choose(looks[-1]).items
        order = np.array([scores.item_position[item] for item in chosen], dtype=np.intp)
    predictors = []
    for size in looks:
        linear = predictor(found, order[:size])
        weights = linear.direct + linear.slope
        predictors.append(Predictor(linear.constant, tuple(weights.tolist())))
    return Fitted(order, tuple(predictors))
