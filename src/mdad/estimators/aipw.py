"""A target model's other items imputed from its chosen ones, and the difference estimator on it.

The other way round than a regression over source models: here *items* are the observations, the
source models' scores on an item its features, and the regression is fitted to one target model.
Nothing is assumed of how targets relate to sources, so it holds for models better than all of
them, where what was learned over source models breaks.

References
----------
.. [1] C. Cassel, C. Särndal and J. Wretman, "Some results on generalized difference estimation
   and generalized regression estimation for finite populations", Biometrika 63 (1976).
.. [2] A. Angelopoulos et al., "Prediction-powered inference", Science 382 (2023).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mdad.estimators._base import Estimates, FloatArray
from mdad.estimators.mean import FittedMean

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection

IntArray = npt.NDArray[np.intp]

FOLDS = 5
MIN_SIZE = 4
"""Fewer items than this cannot teach a regression; the estimate is their plain mean."""

PENALTIES = tuple(float(x) for x in np.geomspace(3e-3, 10, 8))
"""Ridge penalties tried, in units of the sum of the eigenvalues of the kernel of the items."""

COMPONENTS = 20
"""Principal components of the sources' scores that tell of an item; others are mostly noise."""

DOUBT = 2.0
"""Standard errors that are taken off the factor of the predictions."""

MIN_HALF = 4
"""Fewer source models than this in a half cannot show whether they predict the others."""

PRIOR = 2.0
"""Pseudo-observations of an average model's variance: a model all right on ten items has some."""


@dataclass(frozen=True, eq=False)
class ItemRidge:
    """Ridge regression over some chosen items, for any target model; penalty by GCV for each.

    Parameters
    ----------
    train : positions among the chosen items
    values, vectors : arrays of shape (rank,) and (n_train, rank), of the centred kernel
    read : array of shape (n_queries, n_train): a prediction is mean + read @ dual
    """

    train: IntArray
    values: FloatArray
    vectors: FloatArray
    read: FloatArray

    @classmethod
    def of(cls, features: FloatArray, train: IntArray, queries: FloatArray) -> ItemRidge:
        """Prepare for the items ``train``.

        Parameters
        ----------
        features : array of shape (n_features, size), of the chosen items
        queries : array of shape (n_features, n_queries), where predictions are wanted
        """
        part = features[:, train]
        centre = part.mean(axis=1, keepdims=True)
        part = part - centre
        if part.shape[1] <= part.shape[0]:
            values, vectors = np.linalg.eigh(part.T @ part)
        else:
            values, left = np.linalg.eigh(part @ part.T)
            vectors = part.T @ left / np.sqrt(np.maximum(values, 1e-12))
        kept = values > 1e-10 * max(float(values[-1]), 1e-300)
        return cls(train, values[kept], vectors[:, kept], (queries - centre).T @ part)

    def predict(self, observed: FloatArray) -> FloatArray:
        """Predictions at the queries, shape (n_queries, n_models).

        Parameters
        ----------
        observed : array of shape (size, n_models), scores on the chosen items
        """
        target = observed[self.train]
        mean = target.mean(axis=0)
        target = target - mean
        along = self.vectors.T @ target
        n, whole = len(target), (target**2).sum(axis=0)
        squares = along**2
        outside = np.maximum(whole - squares.sum(axis=0), 0)
        penalties = self.values.sum() * np.array(PENALTIES)[:, None]
        left = penalties / (self.values + penalties)
        # The mean takes one degree of freedom; a fit that leaves none is none.
        freedom = n - 1 - (1 - left).sum(axis=1)
        scores = np.full((len(PENALTIES) + 1, len(whole)), np.inf)
        real = freedom > 0
        scores[:-1][real] = (left[real] ** 2 @ squares + outside) / freedom[real, None] ** 2
        scores[-1] = whole / max(n - 1, 1) ** 2
        best = scores.argmin(axis=0)
        chosen = np.append(penalties, np.inf)[best]
        dual = along / (self.values[:, None] + chosen)
        found: FloatArray = mean + self.read @ (self.vectors @ dual)
        return found


@dataclass(frozen=True, eq=False)
class FittedAipw:
    """Chosen items as scored, all others as predicted, and the predictions' error corrected.

    Parameters
    ----------
    folds : a regression on the items outside each fold; its queries are the items of the fold and,
        last, the weighted mean of the items that were not chosen. One without a fold where
        nothing is corrected
    held : positions of each fold's items
    direct : array of shape (size,), weights of the chosen items in the full score
    rest : weight of all other items together
    n_rest : their number
    variance : of an average source model's scores, a prior for the standard error
    uniform : the items are a uniform random sample
    features : array of shape (n_features, size), what source models say of the chosen items
    others : array of shape (n_features,), its weighted means over the items not chosen
    trust : factor of all predictions, in [0, 1]; 0 leaves the plain mean
    """

    folds: tuple[ItemRidge, ...]
    held: tuple[IntArray, ...]
    direct: FloatArray
    rest: float
    n_rest: int
    variance: float
    uniform: bool
    features: FloatArray
    others: FloatArray
    trust: float = 1.0

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # the same
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`."""
        # Equal scores get equal estimates to the last bit, so they tie.
        rows, which = distinct(values)
        result, residuals = self.parts(np.ascontiguousarray(rows.T))
        errors = np.full(len(result), np.nan)
        if self.uniform:
            share = self.direct / self.direct.sum()
            errors = self._errors(residuals - share @ residuals, share)
        return Estimates(result[which], errors[which])

    def parts(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimates, and the errors of cross-fitted predictions on the chosen items.

        Parameters
        ----------
        scores : array of shape (size, n_models)

        Returns
        -------
        arrays of shape (n_models,) and (size, n_models)
        """
        predicted = np.zeros(scores.shape[1])
        residuals = np.zeros_like(scores)
        for fold, held in zip(self.folds, self.held, strict=True):
            found = fold.predict(scores)
            predicted += self.trust * found[-1] / len(self.folds)
            residuals[held] = scores[held] - self.trust * found[:-1]
        share = self.direct / self.direct.sum()
        correction = share @ residuals
        return self.direct @ scores + self.rest * (predicted + correction), residuals

    def _errors(self, residuals: FloatArray, share: FloatArray) -> FloatArray:
        size = len(share)
        # With equal weights: the sample variance / size x (1 - size / n).
        squares = size**2 * (share**2 @ residuals**2) + PRIOR * self.variance
        spread = squares / (size - 1 + PRIOR) / size
        found: FloatArray = self.rest * np.sqrt(spread * (1 + size / self.n_rest))
        return found


@dataclass(frozen=True)
class Aipw:
    """The generalised difference estimator (augmented inverse probability weighting).

    Over the pool of N items, with f predicting the target model's score on an item from the source
    models' scores on it:

        estimate = sum of a_j x_j, chosen + sum of a_j f(j), others + (rest) mean of e_j, chosen

    where a are the items' weights, rest the weight of the others, and e_j = x_j - f(j) with f
    fitted to the chosen items *outside the fold of j*. f is a ridge regression on the leading
    principal components of the source models' scores, times a factor in
    [0, 1] that is best for one half of the source models predicted from the other half ("power
    tuning" [2]_): where the sources cannot predict each other, the plain mean is left.
    In-sample residuals have mean 0 by construction and correct nothing. Given the other folds,
    each fold is a random sample of the items left, so with a uniform sample the estimate is
    unbiased whatever f is, and

        se^2 = s_e^2 / n (1 - n / N), s_e^2 the sample variance of the cross-fitted residuals,

    to which two pseudo-observations of an average source model's variance are added.

    Parameters
    ----------
    corrected : without, predictions are taken as they are, and fitted to all chosen items: a
        little less noise where items were not drawn at random
    uniform : the items are a uniform random sample, so the standard error holds
    """

    corrected: bool = True
    uniform: bool = False

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedAipw | FittedMean:
        """Take source models' scores as features of the items; see :class:`Estimator`."""
        size = selection.size
        if size == scores.n_items or size < MIN_SIZE:
            plain = self.uniform and (aggregate == "micro" or scores.subtasks is None)
            return FittedMean(selection.weights, scores.n_items if plain else None)
        columns = np.array([scores.item_position[item] for item in selection.items])
        known = _sources(scores, aggregate)
        fitted = _fitted(known.whole, columns, known, corrected=self.corrected)
        if not self.corrected:
            return fitted
        return replace(fitted, uniform=self.uniform, trust=_trust(known, columns))


@dataclass(frozen=True, eq=False)
class _Sources:
    """What all selections from one matrix share.

    Parameters
    ----------
    values : array of shape (n_models, n_items)
    weights : array of shape (n_items,), of the items in a full score
    whole : array of shape (n_components, n_items), the components of all models
    halves : positions of a half of the models, those of the others, and the components of the
        half; empty where there are too few models
    """

    values: FloatArray
    weights: FloatArray
    whole: FloatArray
    halves: tuple[tuple[IntArray, IntArray, FloatArray], ...]


_KNOWN: WeakKeyDictionary[ScoreMatrix, dict[Aggregate, _Sources]] = WeakKeyDictionary()


def _sources(scores: ScoreMatrix, aggregate: Aggregate) -> _Sources:
    known = _KNOWN.setdefault(scores, {})
    if aggregate not in known:
        values, weights = scores.values.astype(np.float64), scores.item_weights(aggregate)
        order = np.argsort(values @ weights, kind="stable")
        halves = [(order[::2], order[1::2]), (order[1::2], order[::2])]
        if len(order) // 2 < MIN_HALF:
            halves = []
        known[aggregate] = _Sources(
            values,
            weights,
            components(values),
            tuple((half, other, components(values[half])) for half, other in halves),
        )
    return known[aggregate]


def distinct(values: npt.NDArray[Any]) -> tuple[FloatArray, IntArray]:
    """Different rows, and which of them each row is.

    >>> distinct(np.array([[1, 0], [0, 0], [1, 0]]))
    (array([[1., 0.],
           [0., 0.]]), array([0, 1, 0]))
    """
    # Adding 0 makes one of the two zeros.
    rows = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    known: dict[bytes, int] = {}
    which = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.intp)
    first = np.unique(which, return_index=True)[1]
    return rows[first], which


def components(values: FloatArray) -> FloatArray:
    """What models say of the items, in few numbers for each: the leading principal components.

    Parameters
    ----------
    values : array of shape (n_models, n_items)

    Returns
    -------
    array of shape (at most ``COMPONENTS``, n_items)
    """
    centred = values - values.mean(axis=1, keepdims=True)
    _, vectors = np.linalg.eigh(centred @ centred.T)
    found: FloatArray = vectors[:, ::-1][:, :COMPONENTS].T @ values
    return found


def _fitted(
    signal: FloatArray, columns: IntArray, known: _Sources, *, corrected: bool
) -> FittedAipw:
    """The estimator with full trust.

    Parameters
    ----------
    signal : array of shape (n_features, n_items)
    columns : positions of the chosen items
    """
    left = known.weights.copy()
    left[columns] = 0
    rest = float(left.sum())
    return fitted_aipw(
        signal[:, columns],
        signal @ left / rest,
        known.weights[columns],
        rest=rest,
        n_rest=len(left) - len(columns),
        variance=float(known.values.var(axis=1).mean()),
        corrected=corrected,
        uniform=False,
    )


def fitted_aipw(
    features: FloatArray,
    others: FloatArray,
    direct: FloatArray,
    *,
    rest: float,
    n_rest: int,
    variance: float,
    corrected: bool,
    uniform: bool,
) -> FittedAipw:
    """The estimator from the parts it rests on; see :class:`FittedAipw`."""
    everything = np.arange(len(direct))
    held = [everything[k::FOLDS] for k in range(min(FOLDS, len(direct)))]
    if not corrected:
        held = [everything[:0]]
    folds = tuple(
        ItemRidge.of(
            features,
            np.delete(everything, part),
            np.concatenate([features[:, part], others[:, None]], axis=1),
        )
        for part in held
    )
    return FittedAipw(folds, tuple(held), direct, rest, n_rest, variance, uniform, features, others)


def _trust(known: _Sources, columns: IntArray) -> float:
    """The factor of the predictions that is best for source models predicted from each other.

    Each half of the models (alternating in full score) is predicted from the other. Of the plain
    mean's errors, and what the predictions change in it, only what differs between models counts:
    all models share how hard the chosen items are. The factor is a regression of errors on
    changes, less twice its standard error: with few models little is trusted.
    """
    if not known.halves:
        return 0.0
    full = known.values @ known.weights
    changes, errors = np.zeros(len(full)), np.zeros(len(full))
    for _, other, signal in known.halves:
        fitted = _fitted(signal, columns, known, corrected=True)
        scores = known.values[np.ix_(other, columns)]
        plain = scores @ (fitted.direct / fitted.direct.sum())
        change = fitted.parts(np.ascontiguousarray(scores.T))[0] - plain
        error = full[other] - plain
        changes[other], errors[other] = change - change.mean(), error - error.mean()
    squares = float(changes @ changes)
    if squares == 0:
        return 0.0
    factor = float(changes @ errors) / squares
    left = errors - factor * changes
    doubt = float(np.sqrt(left @ left / (len(full) - 3) / squares))
    return min(max(factor - DOUBT * doubt, 0.0), 1.0)
