"""Regressions and the difference estimator against scikit-learn, plain loops and simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeCV

from mdad._rng import Stream
from mdad.datasets import simulate_population
from mdad.errors import MethodError
from mdad.estimators import Aipw, KernelRidge, Ridge
from mdad.estimators.aipw import COMPONENTS, FOLDS, PENALTIES, ItemRidge, distinct
from mdad.estimators.regression import PENALTIES as MODEL_PENALTIES
from mdad.estimators.regression import linear_ridge, parts, spectral_ridge
from mdad.experiment import estimate
from mdad.methods import make_method
from mdad.scores import ScoreMatrix
from mdad.selectors import LassoPath, Mrmr, Uniform
from mdad.selectors.lasso import lasso_order


def zero_one(n_models=60, n_items=40, seed=0):
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(n_models, 1)) * rng.uniform(0.3, 2, n_items) + rng.normal(size=n_items)
    return (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(float)


def matrix(values, subtasks=None, **fields):
    models = [f"m{i:03d}" for i in range(len(values))]
    return ScoreMatrix(
        values, models, [f"q{i:03d}" for i in range(values.shape[1])], subtasks, **fields
    )


def chosen(scores, size, seed=0):
    return Uniform().prepare(scores, aggregate="micro", stream=Stream(seed))(size)


def columns(scores, selection):
    return [scores.item_position[item] for item in selection.items]


@pytest.mark.parametrize("aggregate", ["micro", "macro"])
def test_ridge_is_scikit_learns_with_the_same_penalty(aggregate):
    scores = matrix(zero_one(), ["a"] * 10 + ["b"] * 30)
    selection = chosen(scores, 12)
    fitted = Ridge().fit(scores, selection, aggregate=aggregate)
    x, direct, rest = parts(scores, selection, aggregate)
    assert x @ direct + rest == pytest.approx(scores.full_scores(aggregate))
    centred = x - x.mean(axis=0)
    mean = np.trace(centred @ centred.T) / len(x)
    predictions = [
        SklearnRidge(alpha=mean * p, solver="cholesky").fit(x, rest).predict(x)
        for p in MODEL_PENALTIES
    ]
    found = fitted.estimate(x).values - x @ direct
    assert min(np.abs(found - p).max() for p in predictions) < 1e-8


def test_the_penalty_minimises_generalised_cross_validation():
    x = zero_one()[:, :15]
    y = zero_one().mean(axis=1)
    centred, target = x - x.mean(axis=0), y - y.mean()
    kernel = centred @ centred.T
    mean, n = np.trace(kernel) / len(x), len(x)
    scores = []
    for penalty in MODEL_PENALTIES:
        hat = kernel @ np.linalg.inv(kernel + mean * penalty * np.eye(n))
        residual = target - hat @ target
        scores.append(residual @ residual / n / ((n - 1 - np.trace(hat)) / n) ** 2)
    assert spectral_ridge(kernel, target).score == pytest.approx(min(scores))
    # Leaving one out instead chooses a penalty that predicts as well.
    loo = RidgeCV(alphas=[mean * p for p in MODEL_PENALTIES]).fit(x, y)
    best = MODEL_PENALTIES[int(np.argmin(scores))]
    assert abs(math.log(loo.alpha_ / mean / best)) < math.log(5)


def test_kernel_ridge_is_scikit_learns_with_a_centred_kernel():
    scores = matrix(zero_one())
    selection = chosen(scores, 10)
    fitted = KernelRidge().fit(scores, selection, aggregate="micro")
    x, direct, rest = parts(scores, selection, "micro")
    kernel = np.exp(-fitted.width * ((x[:, None] - x[None]) ** 2).sum(axis=2))
    centre = np.eye(len(x)) - 1 / len(x)
    found = fitted.estimate(x).values - x @ direct
    errors = []
    for penalty in MODEL_PENALTIES:
        alpha = penalty * np.trace(centre @ kernel @ centre) / len(x)
        other = SklearnKernelRidge(kernel="precomputed", alpha=alpha)
        other.fit(centre @ kernel @ centre, rest - rest.mean())
        expected = rest.mean() + other.predict(centre @ kernel @ centre)
        errors.append(np.abs(found - expected).max())
    assert min(errors) < 1e-8


def test_regressions_state_the_size_of_their_errors():
    scores = matrix(zero_one(400, 80, seed=1))
    source, target = (scores.restrict(models=m) for m in (scores.models[:300], scores.models[300:]))
    for estimator in (Ridge(), KernelRidge()):
        squares, claimed = [], []
        for seed in range(20):
            selection = chosen(source, 15, seed)
            found = estimator.fit(source, selection, aggregate="micro").estimate(
                target.values[:, columns(target, selection)]
            )
            squares.append(((found.values - target.full_scores()) ** 2).mean())
            claimed.append((found.standard_errors**2).mean())
        assert np.mean(squares) / np.mean(claimed) == pytest.approx(1, abs=0.15)


def test_one_source_model_is_no_regression():
    scores = matrix(zero_one(1, 10))
    for estimator in (Ridge(), KernelRidge()):
        with pytest.raises(MethodError, match="two or more"):
            estimator.fit(scores, chosen(scores, 4), aggregate="micro")
    with pytest.raises(MethodError, match="two or more"):
        Mrmr().prepare(scores, aggregate="micro", stream=Stream(0))


def item_ridge_by_hand(features, train, queries, target):
    """Regress over items with every penalty; the prediction of the best by GCV."""
    part = features[:, train].T
    best = (np.inf, None)
    centred, y = part - part.mean(axis=0), target[train]
    n = len(train)
    kernel = centred @ centred.T
    for penalty in PENALTIES:
        hat = kernel @ np.linalg.inv(kernel + penalty * np.trace(kernel) * np.eye(n))
        residual = (y - y.mean()) - hat @ (y - y.mean())
        score = residual @ residual / (n - 1 - np.trace(hat)) ** 2
        if score < best[0]:
            model = SklearnRidge(alpha=penalty * np.trace(kernel)).fit(part, y)
            best = (score, model.predict(queries.T))
    null = ((y - y.mean()) ** 2).sum() / (n - 1) ** 2
    return np.full(queries.shape[1], y.mean()) if null <= best[0] else best[1]


@pytest.mark.parametrize("n_sources", [6, 50])
def test_the_regression_over_items_is_scikit_learns(n_sources):
    rng = np.random.default_rng(3)
    features, target = zero_one(n_sources, 30), zero_one(5, 30, seed=0)
    train = np.sort(rng.choice(30, 20, replace=False))
    queries = features[:, :7]
    found = ItemRidge.of(features, train, queries).predict(target.T)
    for model in range(5):
        expected = item_ridge_by_hand(features, train, queries, target[model])
        assert found[:, model] == pytest.approx(expected, abs=1e-8)


def leading(source):
    """Principal components of the items, by another library."""
    return PCA(COMPONENTS).fit_transform(source.values.T.astype(float)).T


@pytest.mark.parametrize("aggregate", ["micro", "macro"])
def test_the_difference_estimator_is_its_sum_written_out(aggregate):
    scores = matrix(two_kinds(60, 40), ["a"] * 10 + ["b"] * 30)
    source, target = scores.restrict(models=scores.models[:50]), scores.values[50:].astype(float)
    selection = chosen(source, 15)
    places = np.array(columns(source, selection))
    others = np.setdiff1d(np.arange(40), places)
    features, weights = leading(source), source.item_weights(aggregate)
    fitted = replace(Aipw(uniform=True).fit(source, selection, aggregate=aggregate), trust=0.7)
    found = fitted.estimate(target[:, places])
    for model, row in enumerate(target):
        predicted, residual = np.zeros(40), np.zeros(40)
        for k in range(FOLDS):
            held = places[k::FOLDS]
            train = np.setdiff1d(places, held)
            f = fitted.trust * item_ridge_by_hand(features, train, features, row)
            predicted += f / FOLDS
            residual[held] = (row - f)[held]
        a = weights[places] / weights[places].sum()
        mean = a @ residual[places]
        expected = weights[places] @ row[places] + weights[others] @ (predicted[others] + mean)
        assert found.values[model] == pytest.approx(expected, abs=1e-8)


def test_the_correction_is_not_zero_and_observed_items_stay():
    # The faults of the strongest peer's implementation.
    scores = matrix(two_kinds(80, 60))
    source, target = (scores.restrict(models=m) for m in (scores.models[:60], scores.models[60:]))
    selection = chosen(source, 20)
    values = target.values[:, columns(target, selection)]
    corrected, plain = (
        Aipw(corrected=c).fit(source, selection, aggregate="micro").estimate(values).values
        for c in (True, False)
    )
    assert np.abs(corrected - plain).max() > 1e-3
    nearly = chosen(source, 59)
    found = Aipw().fit(source, nearly, aggregate="micro")
    found = found.estimate(target.values[:, columns(target, nearly)]).values
    assert np.abs(found - target.full_scores()).max() < 2 / 60


def test_the_difference_estimator_is_unbiased_and_its_interval_holds():
    # Targets unlike the sources: better than all of them, on other items.
    population = simulate_population(subtasks={"all": 300}, seed=3, probabilities=False)
    scores = population.scores(population.draw_models(80))
    order = np.argsort(scores.full_scores())
    source = scores.restrict(models=[scores.models[i] for i in order[:70]])
    target = scores.restrict(models=[scores.models[i] for i in order[70:]])
    method, draws = make_method("random-aipw"), 200
    errors, claimed = np.empty((2, draws, 10))
    plain = np.empty((draws, 10))
    for draw in range(draws):
        built = method.prepare(source, aggregate="micro", stream=Stream(draw))(40)
        found = estimate(built, target)
        errors[draw] = found.values - target.full_scores()
        claimed[draw] = found.standard_errors
        values = target.values[:, columns(target, built.selection)]
        plain[draw] = values.mean(axis=1) - target.full_scores()
    mean = errors.mean(axis=1)
    assert abs(mean.mean()) < 4.5 * mean.std(ddof=1) / math.sqrt(draws)
    assert 0.92 < (np.abs(errors) < 1.96 * claimed).mean() < 0.985
    assert (errors**2).mean() == pytest.approx((claimed**2).mean(), rel=0.15)
    assert (errors**2).mean() < (plain**2).mean()


def two_kinds(n_models, n_items):
    """Each kind of model is good at items of its own."""
    rng = np.random.default_rng(1)
    share = (np.arange(n_items) % 4 == 0)[None] == (np.arange(n_models) % 2 == 0)[:, None]
    return (rng.random(share.shape) < np.where(share, 0.95, 0.1)).astype(float)


def test_predictions_are_not_trusted_where_sources_do_not_predict_each_other():
    noise = np.random.default_rng(0).integers(0, 2, (60, 40)).astype(float)
    trusted = []
    for values in (noise, two_kinds(60, 40), two_kinds(7, 40)):
        scores = matrix(values)
        trusted.append(
            [Aipw().fit(scores, chosen(scores, 20, s), aggregate="micro").trust for s in range(20)]
        )
    assert np.mean(trusted[0]) < 0.1
    assert np.mean(trusted[1]) > 0.5
    assert trusted[2] == [0] * 20


def test_a_model_all_right_has_an_error_too():
    scores = matrix(zero_one())
    selection = chosen(scores, 10)
    found = Aipw(uniform=True).fit(scores, selection, aggregate="micro")
    assert found.estimate(np.ones((1, 10))).standard_errors[0] > 0.02
    other = Aipw(uniform=False).fit(scores, selection, aggregate="micro")
    assert np.isnan(other.estimate(np.ones((1, 10))).standard_errors).all()


@pytest.mark.parametrize("size", [1, 5, 30, 50])
def test_few_features_are_fitted_as_their_kernel_is(size):
    rng = np.random.default_rng(size)
    features, target = rng.normal(size=(30, size)), rng.normal(size=30)
    features[:, -1] = features[:, 0]
    features, target = features - features.mean(axis=0), target - target.mean()
    direct, kernel = linear_ridge(features, target), spectral_ridge(features @ features.T, target)
    assert direct.score == pytest.approx(kernel.score)
    assert features.T @ direct.dual == pytest.approx(features.T @ kernel.dual)


def test_equal_rows_are_found_and_zeros_have_no_sign():
    rows, which = distinct(np.array([[0.5, -0.0], [1.0, 0.0], [0.5, 0.0]]))
    assert rows.tolist() == [[0.5, 0.0], [1.0, 0.0]]
    assert which.tolist() == [0, 1, 0]


def test_mrmr_is_its_definition():
    scores = matrix(zero_one(50, 20))
    values = scores.values.astype(float)
    r = np.abs(np.corrcoef(np.column_stack([values, values.mean(axis=1)]).T))
    order = [int(r[:20, 20].argmax())]
    while len(order) < 8:
        merit = r[:20, 20] - r[:20][:, order].mean(axis=1)
        merit[order] = -np.inf
        order.append(int(merit.argmax()))
    found = Mrmr().prepare(scores, aggregate="micro", stream=Stream(0))(8)
    assert columns(scores, found) == order


def test_the_lasso_path_fills_every_size():
    values = zero_one(15, 40)
    scores = matrix(values)
    order = lasso_order(values, values.mean(axis=1))
    assert len(set(order.tolist())) == len(order) < 40
    best = np.abs([np.corrcoef(v, values.mean(axis=1))[0, 1] if np.ptp(v) else 0 for v in values.T])
    assert order[0] == best.argmax()
    build = LassoPath().prepare(scores, aggregate="micro", stream=Stream(0))
    assert columns(scores, build(30))[: len(order)] == order.tolist()
    assert len(set(build(39).items)) == 39
    assert len(lasso_order(np.ones((5, 4)), np.ones(5))) == 0


def test_information_is_highest_where_items_tell_models_apart():
    rng = np.random.default_rng(0)
    ability = rng.normal(size=(200, 1))
    steep = np.where(np.arange(40) < 10, 2.5, 0.3)
    chance = 1 / (1 + np.exp(-steep * ability))
    scores = matrix((rng.random(chance.shape) < chance).astype(float))
    found = make_method("irt-information").prepare(scores, aggregate="micro", stream=Stream(0))(8)
    assert np.mean([place < 10 for place in columns(scores, found.selection)]) > 0.85
