"""Fitting items and models together: maximum a posteriori by alternating Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad._checks import check_int, check_real, counted
from mdad.errors import MethodError
from mdad.irt._model import IrtFit
from mdad.irt._newton import Penalty, newton_step

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

FloatArray = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]

DIMS = 10
SWEEPS = 12

MIN_DISCRIMINATION_SD = 0.05
"""Prior standard deviation of discriminations that do not rise above noise: nearly none."""

MIN_DIFFICULTY_VARIANCE = 0.25
"""Keeps the prior proper when all items are equally hard."""

NO_SIGNAL = 1e-3
"""A dimension weaker than this share of the strongest one is set to 0: its axis is arbitrary."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Normal priors: theta_d ~ N(0, 1), a_d ~ N(0, sd_d^2), D b ~ N(mean, sd^2).

    Parameters
    ----------
    discrimination_sd : array of shape (dims,), in the frame the objective is maximised in
    difficulty_mean, difficulty_sd : of D b, in logits
    """

    discrimination_sd: FloatArray
    difficulty_mean: float
    difficulty_sd: float


@dataclass(frozen=True, eq=False)
class State:
    """Parameters in the frame of the objective, before they are brought to canonical form.

    Parameters
    ----------
    ability : array of shape (n_models, dims)
    item : array of shape (n_items, dims + 1): a, then D b
    """

    ability: Single
    item: Single


def fit(
    scores: ScoreMatrix,
    *,
    dims: int = DIMS,
    sweeps: int = SWEEPS,
    threshold: float | None = None,
) -> IrtFit:
    """Fit a multidimensional 2PL to 0/1 scores.

    Parameters
    ----------
    scores : models x items; missing cells are left out of the likelihood
    dims : ability dimensions, D; fewer when there are not more models and items than that
    sweeps : alternations of a Newton step for all items and one for all models
    threshold : count a graded score as right when it is above; needed for graded scores

    Raises
    ------
    MethodError
        when scores are graded and no threshold is given, when there are fewer than two models,
        or a model or an item has no score at all.

    Notes
    -----
    The objective is the log posterior density of all parameters,

        sum over scored cells [y eta - log(1 + exp(eta))]
        - sum theta^2 / 2 - sum a_d^2 / (2 s_d^2) - sum (D b - m)^2 / (2 s^2),

    with eta = a . theta - D b. The priors are set once, from the scores (empirical Bayes): m and
    s^2 are mean and variance of the items' smoothed logits, and s_d^2 is the variance of signal
    along the d-th principal axis of the standardised residuals, freed of what noise alone puts
    there [1]_; 0.05^2 on axes that do not rise above noise. The paper's code puts
    Gamma(1, 1) hyperpriors on the precisions instead and samples them [2]_; in a mode those
    would shrink whole dimensions to nothing, because a density has no bound where a prior narrows
    around its mean.

    Work is done in float32 on items and models sorted by id, so the order of rows and columns
    changes nothing. Nothing is random.

    References
    ----------
    .. [1] Benaych-Georges and Nadakuditi, The singular values and vectors of low rank
       perturbations of large rectangular random matrices, 2012 (arXiv 1103.2221).
    .. [2] Polo et al., tinyBenchmarks, 2024 (arXiv 2402.14992); Lalor et al., py-irt.

    Examples
    --------
    >>> from mdad.datasets import simulate
    >>> result = fit(simulate(n_models=60, n_items=200, seed=1), dims=3)
    >>> result.discrimination.shape, result.difficulty.shape, result.ability.shape
    ((200, 3), (200,), (60, 3))
    """
    dims, sweeps = check_int("dims", dims, 1), check_int("sweeps", sweeps, 1)
    ordered = scores.sorted()
    right, scored = responses(ordered, threshold)
    dims = min(dims, ordered.n_models - 1, ordered.n_items)
    state, prior = start(right, scored, dims)
    state = climb(state, prior, right, scored, sweeps)
    log_likelihood, objective = log_densities(state, prior, right, scored)
    ability, item = canonical(state, right, scored)
    rows = [ordered.model_position[model] for model in scores.models]
    columns = [ordered.item_position[name] for name in scores.items]
    return IrtFit(
        models=scores.models,
        items=scores.items,
        discrimination=item[columns, :-1],
        difficulty=item[columns, -1] / dims,
        ability=ability[rows],
        log_likelihood=log_likelihood,
        objective=objective,
        n_scored=right.size if scored is None else int(scored.sum(dtype=np.float64)),
        prior=prior,
    )


def responses(scores: ScoreMatrix, threshold: float | None) -> tuple[Single, Single | None]:
    """Right answers (0 where not scored) and which cells are scored (None = all)."""
    if scores.kind == "graded" and threshold is None:
        raise MethodError(
            "an item response model needs scores that are right or wrong (0/1); these are graded. "
            "Give a threshold above which a score counts as right, or choose a method that takes "
            "graded scores."
        )
    if scores.n_models < 2:  # noqa: PLR2004  # one model says nothing about items
        raise MethodError(
            "an item response model needs two models or more, to see on which items they differ; "
            f"got {counted(scores.n_models, 'model')}."
        )
    values: npt.NDArray[Any] = scores.values
    if threshold is not None:
        low, high = scores.score_range
        threshold = check_real("threshold", threshold, low, high)
        # NaN compares false; it is masked below.
        values = values > threshold
    right = np.ascontiguousarray(np.nan_to_num(values, nan=0.0), dtype=np.float32)
    if not scores.n_missing:
        return right, None
    scored = (~np.isnan(scores.values)).astype(np.float32)
    if not (scored.any(axis=0).all() and scored.any(axis=1).all()):
        raise MethodError(
            "an item response model needs at least one score of every model and every item; "
            "drop the empty ones."
        )
    return right, scored


def start(right: Single, scored: Single | None, dims: int) -> tuple[State, Prior]:
    """Where to begin, and the priors: both from the standardised residuals' principal axes.

    An item's residual is y - p over sqrt(p (1 - p)), p its smoothed share of right answers, so
    noise has variance 1. With n models, N items and noise alone the eigenvalues of R R' / N stay
    below (1 + sqrt(n / N))^2; signal of variance v along an axis lifts one to
    (l + 1) (l + n / N) / l, with l = n v, which is solved for v.
    """
    n_models, n_items = right.shape
    of_item = np.full(n_items, n_models) if scored is None else scored.sum(axis=0)
    share = (right.sum(axis=0, dtype=np.float64) + 0.5) / (of_item + 1.0)
    spread = np.sqrt(share * (1 - share))
    residual = ((right - share) / spread).astype(np.float32)
    density = 1.0
    if scored is not None:
        residual *= scored
        density = float(scored.mean())
    gram = (residual @ residual.T).astype(np.float64) / (n_items * density)
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1][:dims], vectors[:, ::-1][:, :dims]
    variance = signal_variance(values, n_models, n_items) / density
    noise = 1 / (n_models * density)
    sd = np.sqrt(variance / (spread**2).mean())
    ability = (vectors * np.sqrt(n_models)).astype(np.float32)
    loading = residual.T @ ability / of_item[:, None] * (variance / (variance + noise))
    logits = np.log((1 - share) / share)
    prior = Prior(
        np.maximum(sd, MIN_DISCRIMINATION_SD),
        float(logits.mean()),
        float(np.sqrt(max(logits.var(), MIN_DIFFICULTY_VARIANCE))),
    )
    item = np.column_stack([loading / spread[:, None], logits])
    return State(ability, item.astype(np.float32)), prior


def signal_variance(eigenvalues: FloatArray, n_models: int, n_items: int) -> FloatArray:
    """Variance of the signal behind each eigenvalue of noise of variance 1 plus signal.

    >>> signal_variance(np.array([0.5, 4.25]), 100, 100).round(4).tolist()
    [0.0, 0.0164]
    """
    ratio = n_models / n_items
    excess = eigenvalues - 1 - ratio
    root = np.sqrt(np.maximum(excess**2 - 4 * ratio, 0))
    above = eigenvalues > (1 + np.sqrt(ratio)) ** 2
    result: FloatArray = np.where(above, (excess + root) / 2, 0) / n_models
    return result


def climb(state: State, prior: Prior, right: Single, scored: Single | None, sweeps: int) -> State:
    """Maximise the objective: all items given the models, all models given the items, in turn."""
    n_models, dims = state.ability.shape
    by_item = np.ascontiguousarray(right.T)
    scored_by_item = None if scored is None else np.ascontiguousarray(scored.T)
    zero, one = np.zeros(dims, np.float32), np.ones(dims, np.float32)
    of_items = Penalty(
        np.append(zero, np.float32(prior.difficulty_mean)),
        np.append(prior.discrimination_sd, prior.difficulty_sd).astype(np.float32) ** -2,
    )
    of_models = Penalty(zero, one)
    minus = np.full((n_models, 1), -1, np.float32)
    ability, item = state.ability, state.item
    for _ in range(sweeps):
        design = np.hstack([ability, minus])
        item = newton_step(item, design, by_item, scored_by_item, None, of_items)
        slopes = np.ascontiguousarray(item[:, :-1])
        ability = newton_step(ability, slopes, right, scored, -item[:, -1], of_models)
    return State(ability, item)


def log_densities(
    state: State, prior: Prior, right: Single, scored: Single | None
) -> tuple[float, float]:
    """Log-likelihood, and log posterior density up to a constant."""
    logits = state.ability @ state.item[:, :-1].T - state.item[:, -1]
    cells = right * logits - np.logaddexp(np.float32(0), logits)
    if scored is not None:
        cells *= scored
    log_likelihood = float(cells.sum(dtype=np.float64))
    ability, item = state.ability.astype(np.float64), state.item.astype(np.float64)
    penalty = (ability**2).sum() + ((item[:, :-1] / prior.discrimination_sd) ** 2).sum()
    penalty += (((item[:, -1] - prior.difficulty_mean) / prior.difficulty_sd) ** 2).sum()
    return log_likelihood, log_likelihood - float(penalty) / 2


def canonical(state: State, right: Single, scored: Single | None) -> tuple[FloatArray, FloatArray]:
    """The same logits with abilities centred and white, discriminations orthogonal, signs fixed.

    Returns
    -------
    ability, of shape (n_models, dims), and items, of shape (n_items, dims + 1): a, then D b
    """
    ability, item = state.ability.astype(np.float64), state.item.astype(np.float64)
    slopes, mean = item[:, :-1], ability.mean(axis=0)
    difficulty = item[:, -1] - slopes @ mean
    # SVD of the centred logits, a product of two thin matrices, by way of their QR parts.
    left, upper = np.linalg.qr(ability - mean)
    right_basis, lower = np.linalg.qr(slopes)
    u, strength, vt = np.linalg.svd(upper @ lower.T)
    alive = strength > NO_SIGNAL * max(strength[0], NO_SIGNAL)
    root = np.sqrt(len(ability))
    dims = len(mean)
    new_ability, new_slopes = np.zeros_like(ability), np.zeros((len(item), dims))
    new_ability[:, : len(alive)] = left @ u * root * alive
    new_slopes[:, : len(alive)] = right_basis @ vt.T * (strength / root * alive)
    accuracy = right.mean(axis=1) if scored is None else right.sum(axis=1) / scored.sum(axis=1)
    sign = np.where((accuracy - accuracy.mean()) @ new_ability < 0, -1.0, 1.0)
    return new_ability * sign, np.column_stack([new_slopes * sign, difficulty])
