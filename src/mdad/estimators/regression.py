"""Regressions over source models: from the chosen items to the mean of all others.

In all of them the chosen items enter the estimate with their own scores at their own weight, and
only what is left of the full score is predicted. So an estimate tends to the full score as more
items are chosen, whatever the regression does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad.errors import MethodError
from mdad.estimators._base import Estimates, FloatArray
from mdad.estimators.mean import FittedMean

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection

PENALTIES = tuple(float(x) for x in np.geomspace(1e-3, 1e3, 19))
"""Ridge penalties tried, in units of the mean eigenvalue of the kernel."""

WIDTHS = (0.25, 0.5, 1.0, 2.0)
"""Kernel widths tried: exponents at the median distance of two source models."""

NULL = 1e-12
"""Eigenvalues below this share of the largest are rounding."""

MIN_FREEDOM = 0.25
"""Share of the models that must be left as degrees of freedom. Copies among the source models make
a fit that interpolates look good to generalised cross-validation."""


@dataclass(frozen=True, eq=False)
class Spectral:
    """Ridge regression in dual form, its penalty chosen by generalised cross-validation.

    Parameters
    ----------
    dual : array of shape (n_models,), fitted values are kernel @ dual + mean
    score : the generalised cross-validation error, a mean square
    """

    dual: FloatArray
    score: float


def spectral_ridge(kernel: FloatArray, target: FloatArray) -> Spectral:
    """Fit K alpha = target with the penalty that minimises n RSS / (n - 1 - df)^2.

    Parameters
    ----------
    kernel : array of shape (n_models, n_models), centred in rows and columns
    target : array of shape (n_models,), centred

    References
    ----------
    Golub, Heath and Wahba, "Generalized cross-validation as a method for choosing a good ridge
    parameter", Technometrics 21 (1979).
    """
    values, vectors = np.linalg.eigh(kernel)
    return _penalised(np.maximum(values, 0), vectors, target)


def linear_ridge(features: FloatArray, target: FloatArray) -> Spectral:
    """The same for the kernel of some features; quick where they are few.

    Parameters
    ----------
    features : array of shape (n_models, n_features), centred
    target : array of shape (n_models,), centred
    """
    if features.shape[1] >= features.shape[0]:
        return spectral_ridge(features @ features.T, target)
    values, right = np.linalg.eigh(features.T @ features)
    kept = values > NULL * max(float(values[-1]), 0.0)
    vectors = features @ (right[:, kept] / np.sqrt(values[kept]))
    return _penalised(values[kept], vectors, target)


def _penalised(values: FloatArray, vectors: FloatArray, target: FloatArray) -> Spectral:
    """The best penalty for a kernel.

    Parameters
    ----------
    values, vectors : arrays of shape (rank,) and (n_models, rank), of the kernel; eigenvalues that
        are 0 may be left out
    """
    n, along = len(target), vectors.T @ target
    outside = max(float(target @ target - along @ along), 0.0)
    mean = float(values.sum()) / n
    best = Spectral(np.zeros(n), float(target @ target) * n / max(n - 1, 1) ** 2)
    for penalty in (mean * p for p in PENALTIES if mean > 0):
        left = penalty / (values + penalty)
        # One degree of freedom is the mean's.
        freedom = float(left.sum()) + n - len(values) - 1
        if freedom < MIN_FREEDOM * n:
            continue
        score = (float(((left * along) ** 2).sum()) + outside) * n / freedom**2
        if score < best.score:
            best = Spectral(vectors @ (along / (values + penalty)), score)
    return best


@dataclass(frozen=True, eq=False)
class FittedRidge:
    """constant + values @ coefficients.

    Parameters
    ----------
    constant : what it says where all scores are 0
    coefficients : array of shape (size,)
    standard_error : root of the generalised cross-validation error
    """

    constant: float
    coefficients: FloatArray
    standard_error: float

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # the same
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`."""
        # A sum along rows, unlike a matrix product, does not depend on where a row stands.
        terms = np.ascontiguousarray(values * self.coefficients)
        found = self.constant + terms.sum(axis=1)
        return Estimates(found, np.full(len(found), self.standard_error))


@dataclass(frozen=True)
class Ridge:
    """Ridge regression of the score on the items that were not chosen, over source models.

    Raises
    ------
    MethodError
        when there is one source model only.

    Notes
    -----
    The standard error is over the seen items, for models like the sources; it does not know
    whether the selection was made with their scores.
    """

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedRidge | FittedMean:
        """Fit to source models x seen items; see :class:`Estimator`."""
        if selection.size == scores.n_items:
            return FittedMean(selection.weights, None)
        chosen, direct, rest = parts(scores, selection, aggregate)
        mean, centre = chosen.mean(axis=0), float(rest.mean())
        centred = chosen - mean
        found = linear_ridge(centred, rest - centre)
        slope = centred.T @ found.dual
        return FittedRidge(
            centre - float(mean @ slope), direct + slope, float(np.sqrt(found.score))
        )


@dataclass(frozen=True, eq=False)
class FittedKernelRidge:
    """values @ direct + kernel(values, source models) @ dual + constant.

    Parameters
    ----------
    direct : array of shape (size,), weights of the chosen items in the full score
    sources : array of shape (n_models, size), the source models' scores on the chosen items
    width : factor of the squared distance in the exponent
    dual : array of shape (n_models,)
    constant, standard_error : as in :class:`FittedRidge`
    """

    direct: FloatArray
    sources: FloatArray
    width: float
    dual: FloatArray
    constant: float
    standard_error: float

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
        options: npt.NDArray[Any] | None = None,  # noqa: ARG002  # the same
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`."""
        # Equal scores get equal estimates to the last bit, so they tie.
        rows, which = np.unique(values, axis=0, return_inverse=True)
        rows = rows.astype(np.float64)
        kernel = np.exp(-self.width * squared_distances(rows, self.sources))
        found = self.constant + rows @ self.direct + kernel @ self.dual
        return Estimates(found[which.ravel()], np.full(len(values), self.standard_error))


@dataclass(frozen=True)
class KernelRidge:
    """The same with a Gaussian kernel; width and penalty by generalised cross-validation.

    Raises
    ------
    MethodError
        when there is one source model only.
    """

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedKernelRidge | FittedMean:
        """Fit to source models x seen items; see :class:`Estimator`."""
        if selection.size == scores.n_items:
            return FittedMean(selection.weights, None)
        chosen, direct, rest = parts(scores, selection, aggregate)
        centre = float(rest.mean())
        distances = squared_distances(chosen, chosen)
        apart = distances[distances > 0]
        median = float(np.median(apart)) if apart.size else 1.0
        best: tuple[float, float, FloatArray, float] | None = None
        for width in (w / median for w in WIDTHS):
            kernel = np.exp(-width * distances)
            means = kernel.mean(axis=0)
            centred = kernel - means - means[:, None] + means.mean()
            found = spectral_ridge(centred, rest - centre)
            if best is None or found.score < best[3]:
                # Centring the kernel is centring its dual and moving the constant.
                dual = found.dual - found.dual.mean()
                best = (width, centre - float(means @ dual), dual, found.score)
        width, constant, dual, score = best or (1.0, centre, np.zeros(len(rest)), 0.0)
        return FittedKernelRidge(direct, chosen, width, dual, constant, float(np.sqrt(score)))


def parts(
    scores: ScoreMatrix, selection: Selection, aggregate: Aggregate
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores on the chosen items, their weights, and what the others add to the full score.

    Returns
    -------
    arrays of shape (n_models, size), (size,) and (n_models,)

    Raises
    ------
    MethodError
        when there is one source model only.
    """
    if scores.n_models == 1:
        raise MethodError(
            "a regression over source models needs the scores of two or more; got one."
        )
    columns = [scores.item_position[item] for item in selection.items]
    weights = scores.item_weights(aggregate)
    values = scores.values.astype(np.float64)
    chosen, direct = values[:, columns], weights[columns]
    weights[columns] = 0
    return chosen, direct, values @ weights


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Squared Euclidean distances of rows, shape (n_a, n_b), never below 0."""
    found: FloatArray = (
        np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2 * a @ b.T
    )
    return np.maximum(found, 0)
