"""How the scores of a population of models vary together: a low-rank covariance and its means.

Every model of the covariance C of the items has the form G'G + diag(own): ``factors`` G of shape
(n_factors, n_items) that items share, and variance of their own. C itself is never formed.

- "diagonal": the weighted sample covariance, a share of it moved to the diagonal (shrinkage).
- "factor": the leading principal components of the weighted sample; all else is an item's own.

Source models may be weighted by focus, and pairs of them by how near their full scores are.
``docs/design/c-optimal.md`` derives all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_int, check_real
from mdad.errors import MethodError, SettingError
from mdad.selectors._signal import source_signal

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

CovarianceForm = Literal["diagonal", "factor"]
Features = Literal["values", "probabilities"]
Target = Literal["pool", "others"]

BETA = 2.0
"""Focus on the top: a model one standard deviation better counts exp(2) times as much."""

NEAR_WIDTH = 1.0
"""Width of a focus near a score, in standard deviations of the full scores."""

NULL = 1e-10
"""Eigenvalues of the pair weights below this share of the largest are rounding."""


@dataclass(frozen=True)
class Covariance:
    """Settings of the covariance model.

    Parameters
    ----------
    form : "diagonal" or "factor"
    shrinkage : share of the sample covariance moved to its diagonal, in [0, 1]; ignored by "factor"
    factors : number of components of "factor"
    neighbours : width h of the weights exp(-(difference of full scores / (h sd))^2 / 2) of pairs of
        source models; None = all pairs count the same
    focus : which models will be measured: "all", "top", or "near=S", S a full score
    beta : strength of the focus "top"
    features : what an item tells: "values" or "probabilities"; the target is the mean of values
    target : "pool": the full score on the items themselves; "others": on other items of the kind,
        of which only what items share says something

    Raises
    ------
    SettingError
        when a setting has a value it cannot have.
    """

    form: CovarianceForm = "diagonal"
    shrinkage: float = 0.2
    factors: int = 10
    neighbours: float | None = None
    focus: str = "all"
    beta: float = BETA
    features: Features = "values"
    target: Target = "pool"

    def __post_init__(self) -> None:
        check_choice("form of the covariance", self.form, get_args(CovarianceForm))
        check_choice("features", self.features, get_args(Features))
        check_choice("target", self.target, get_args(Target))
        check_real("shrinkage", self.shrinkage, 0, 1)
        check_int("factors", self.factors, 1)
        check_real("beta", self.beta, 0, 100)
        if self.neighbours is not None:
            check_real("neighbours", self.neighbours, 0, np.inf, open_ends=True)
        focus_score(self.focus)


def focus_score(focus: str) -> float | None:
    """The score of a focus "near=S", None for "all" and "top".

    Raises
    ------
    SettingError
        when it is none of the three.

    >>> focus_score("near=0.6"), focus_score("top")
    (0.6, None)
    """
    if focus in {"all", "top"}:
        return None
    name, _, number = focus.partition("=")
    try:
        if name == "near":
            return float(number)
    except ValueError:
        pass
    raise SettingError(f"focus must be 'all', 'top' or 'near=SCORE'; got {focus!r}.")


@dataclass(frozen=True, eq=False)
class Population:
    """Means and covariance of the features of the items, and what they say of the full score.

    Parameters
    ----------
    factors : array of shape (n_factors, n_items), G; the covariance is G'G + diag(own)
    own : array of shape (n_items,), variance of an item's feature that no other item shares
    mean : array of shape (n_items,), mean feature
    value_factors, value_own, value_mean : the same of the values. The features themselves where
        these are values
    own_cross : array of shape (n_items,), covariance of an item's feature with its own value that
        no other item shares
    weights : array of shape (n_items,), of the items in a full score; they sum to 1
    n_models : effective number of source models behind the means
    others : whether the full score of other items of the kind is wanted
    """

    factors: FloatArray
    own: FloatArray
    mean: FloatArray
    value_factors: FloatArray
    value_own: FloatArray
    value_mean: FloatArray
    own_cross: FloatArray
    weights: FloatArray
    n_models: float
    others: bool = False

    @property
    def variance(self) -> FloatArray:
        """Variance of each item's feature, shape (n_items,)."""
        found: FloatArray = np.einsum("rj,rj->j", self.factors, self.factors) + self.own
        return found

    @property
    def cross(self) -> FloatArray:
        """Covariance of each item's feature with the full score, shape (n_items,)."""
        found: FloatArray = self.factors.T @ (self.value_factors @ self.weights)
        return found if self.others else found + self.own_cross * self.weights

    def block(self, chosen: IntArray) -> FloatArray:
        """Covariance of some items' features, shape (size, size)."""
        part = self.factors[:, chosen]
        found: FloatArray = part.T @ part
        found[np.diag_indices(len(chosen))] += self.own[chosen]
        return found


_KNOWN: WeakKeyDictionary[ScoreMatrix, dict[tuple[Covariance, str], Population]] = (
    WeakKeyDictionary()
)


def population(scores: ScoreMatrix, covariance: Covariance, aggregate: Aggregate) -> Population:
    """The population that source models show, made once for a matrix and forgotten with it.

    Parameters
    ----------
    scores : source models x seen items
    covariance : settings
    aggregate : how a full score is formed

    Raises
    ------
    MethodError
        when there is one source model only, or probabilities are asked for and there are none.
    """
    known = _KNOWN.setdefault(scores, {})
    key = (covariance, aggregate)
    if key not in known:
        known[key] = _population(scores, covariance, aggregate)
    return known[key]


def _population(scores: ScoreMatrix, covariance: Covariance, aggregate: Aggregate) -> Population:
    values = scores.values.astype(np.float64)
    weights = scores.item_weights(aggregate)
    features = values
    if covariance.features == "probabilities":
        if scores.probabilities is None:
            raise MethodError(
                "probabilities were asked for as features, but these scores have none; use "
                "features='values'."
            )
        features = source_signal(scores)
    return population_of(features, values, weights, covariance)


def population_of(
    features: FloatArray, values: FloatArray, weights: FloatArray, covariance: Covariance
) -> Population:
    """The population behind bare arrays; see :func:`population`.

    Parameters
    ----------
    features, values : arrays of shape (n_models, n_items); the same object where values are read
    weights : array of shape (n_items,), of the items in a full score

    Raises
    ------
    MethodError
        when there is one model only.
    """
    if len(values) == 1:
        raise MethodError(
            "c-optimal learns how items vary together and needs the scores of two source models "
            "or more; got one."
        )
    full = values @ weights
    shares = model_shares(full, covariance)
    rows = _rooted(full, shares, covariance.neighbours, features)
    value_rows = rows
    if features is not values:
        value_rows = _rooted(full, shares, covariance.neighbours, values)
    variance, value_variance = _squares(rows, rows), _squares(value_rows, value_rows)
    if covariance.form == "factor":
        basis = _leading(rows, covariance.factors)
        rows = basis @ rows
        value_rows = rows if features is values else basis @ value_rows
        own = np.maximum(variance - _squares(rows, rows), 0)
        value_own = np.maximum(value_variance - _squares(value_rows, value_rows), 0)
        cross = own if features is values else np.zeros_like(own)
    else:
        kept = np.sqrt(1 - covariance.shrinkage)
        cross = covariance.shrinkage * _squares(rows, value_rows)
        own, value_own = covariance.shrinkage * variance, covariance.shrinkage * value_variance
        rows = kept * rows
        value_rows = rows if features is values else kept * value_rows
    return Population(
        rows,
        own,
        shares @ features,
        value_rows,
        value_own,
        shares @ values,
        cross,
        weights,
        float(1 / (shares @ shares)),
        covariance.target == "others",
    )


def _rooted(
    full: FloatArray, shares: FloatArray, neighbours: float | None, features: FloatArray
) -> FloatArray:
    """R X, see :func:`pair_root`; without neighbours R need not be formed."""
    if neighbours is not None:
        found: FloatArray = pair_root(full, shares, neighbours) @ features
        return found
    scale = np.sqrt(shares / (1 - shares @ shares))
    return scale[:, None] * (features - shares @ features)


def _squares(a: FloatArray, b: FloatArray) -> FloatArray:
    found: FloatArray = np.einsum("rj,rj->j", a, b)
    return found


def _leading(rows: FloatArray, count: int) -> FloatArray:
    """Orthonormal rows that take ``rows`` to its leading principal components."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    kept = [k for k in np.argsort(-values)[:count] if values[k] > NULL * values[-1]]
    found: FloatArray = vectors[:, kept].T
    return found


def model_shares(full: FloatArray, covariance: Covariance) -> FloatArray:
    """Share of each source model in the population, by the focus; they sum to 1.

    Parameters
    ----------
    full : array of shape (n_models,), full scores
    """
    spread = float(full.std())
    if covariance.focus == "all" or spread == 0:
        return np.full(len(full), 1 / len(full))
    near = focus_score(covariance.focus)
    if near is None:
        exponent = covariance.beta * (full - full.mean()) / spread
    else:
        exponent = -(((full - near) / (NEAR_WIDTH * spread)) ** 2) / 2
    shares = np.exp(exponent - exponent.max())
    found: FloatArray = shares / shares.sum()
    return found


def pair_root(full: FloatArray, shares: FloatArray, neighbours: float | None) -> FloatArray:
    """R with R'R the weights of pairs of models in the covariance X'R'R X.

    Without neighbours (R x)'(R x) is the weighted variance of x. With, it is half the mean squared
    difference of two models, near pairs counting more: w_ij = s_i s_j v_ij, v the kernel of the
    difference of full scores scaled by the roots of its row sums.

    Returns
    -------
    array of shape (n_models or fewer, n_models)
    """
    n, spread = len(full), float(full.std())
    if neighbours is None or spread == 0:
        centred: FloatArray = np.sqrt(shares)[:, None] * (np.eye(n) - shares)
        # Unbiased, as half the mean squared difference of two different models is.
        return centred / np.sqrt(1 - shares @ shares)
    kernel = np.exp(-(((full[:, None] - full) / (neighbours * spread)) ** 2) / 2)
    np.fill_diagonal(kernel, 0)
    degree = kernel.sum(axis=1)
    # A model without any neighbour says nothing of near pairs.
    scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    pairs = kernel * scale[:, None] * scale * shares[:, None] * shares
    total = pairs.sum()
    if total == 0:
        return pair_root(full, shares, None)
    values, vectors = np.linalg.eigh(np.diag(pairs.sum(axis=1)) - pairs)
    kept = values > NULL * values[-1]
    root: FloatArray = (vectors[:, kept] * np.sqrt(values[kept] / total)).T
    return root
