"""The item response model against hand-worked, naive and long computations."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from mdad.errors import MethodError, SettingError, UnknownIdError
from mdad.irt import IrtFit, Prior, _fit, fit, fit_ability
from mdad.irt._newton import MAX_MOVE, Penalty, hessian, newton_step, sigmoid
from mdad.scores import ScoreMatrix


@pytest.fixture(scope="module")
def experiment():
    path = Path(__file__).parents[1] / "experiments" / "irt.py"
    spec = importlib.util.spec_from_file_location("irt_experiment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def matrix(values, **fields):
    values = np.asarray(values)
    models = [f"m{i:03d}" for i in range(values.shape[0])]
    return ScoreMatrix(values, models, [f"i{i:03d}" for i in range(values.shape[1])], **fields)


def drawn(n_models=60, n_items=40, dims=2, seed=0, spread=0.5):
    rng = np.random.default_rng(seed)
    slopes = rng.normal(0, spread, (n_items, dims))
    slopes[:, 0] = rng.uniform(0.5, 1.5, n_items)
    logits = rng.standard_normal((n_models, dims)) @ slopes.T - rng.normal(0, 1, n_items)
    return (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)


def holes(values, share=0.2, seed=1):
    return np.where(np.random.default_rng(seed).random(values.shape) < share, np.nan, values)


def items_of(discrimination, logit_difficulty):
    """A fit whose items are given; the models do not matter."""
    slopes = np.asarray(discrimination, dtype=float)
    return IrtFit(
        models=("-",),
        items=tuple(f"q{i}" for i in range(len(slopes))),
        discrimination=slopes,
        difficulty=np.asarray(logit_difficulty, dtype=float) / slopes.shape[1],
        ability=np.zeros((1, slopes.shape[1])),
        log_likelihood=0.0,
        objective=0.0,
        n_scored=0,
        prior=Prior(np.ones(slopes.shape[1]), 0.0, 1.0),
    )


# Items known: abilities


def test_two_right_answers_by_hand():
    # a = 1, b = 1 twice, both right: at theta = 1 each logit is 0, so the likelihood pulls up by
    # 2 (1 - 1/2) = 1 and the prior down by theta = 1. Information 1 + 2 / 4.
    found = fit_ability(items_of([[1], [1]], [1, 1]), [[1, 1]])
    assert found.ability == pytest.approx(1, abs=1e-9)
    assert found.information == pytest.approx(1.5)
    assert found.standard_errors == pytest.approx(math.sqrt(2 / 3))
    assert found.covariance == pytest.approx(2 / 3)


def test_one_wrong_answer_in_two_dimensions_by_hand():
    # a = (3, 4) / 5, b = -1/2, wrong: theta = -a / 2 makes the logit -1/2 + 1/2 = 0 and the pull
    # -a / 2.
    found = fit_ability(items_of([[0.6, 0.8]], [-0.5]), [[0]])
    assert found.ability == pytest.approx(np.array([[-0.3, -0.4]]), abs=1e-9)


def test_no_answer_leaves_the_prior():
    found = fit_ability(items_of([[1], [1]], [1, 1]), [[np.nan, np.nan]])
    assert found.ability == pytest.approx(0)
    assert found.standard_errors == pytest.approx(1)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_a_missing_answer_is_an_item_not_given_and_the_order_makes_no_difference(data):
    scores = matrix(drawn())
    known = fit(scores, dims=2)
    size = data.draw(st.integers(1, 40))
    columns = data.draw(st.permutations(range(40)))[:size]
    answers = np.array(
        data.draw(st.lists(st.sampled_from([0, 1, np.nan]), min_size=size, max_size=size))
    )
    names = [scores.items[i] for i in columns]
    whole = fit_ability(known, answers[None], names)
    there = np.flatnonzero(~np.isnan(answers))
    back = there[::-1]
    part = fit_ability(known, answers[None, back], [names[i] for i in back])
    assert whole.ability == pytest.approx(part.ability, abs=1e-7)
    assert whole.standard_errors == pytest.approx(part.standard_errors, abs=1e-7)
    assert (whole.standard_errors <= 1 + 1e-12).all()


def test_more_items_make_an_ability_surer():
    scores = matrix(drawn())
    known = fit(scores, dims=1)
    errors = [
        fit_ability(known, scores.values[:5, :k], scores.items[:k]).standard_errors
        for k in (5, 10, 40)
    ]
    assert (errors[0] > errors[1]).all()
    assert (errors[1] > errors[2]).all()


@pytest.mark.parametrize(
    ("values", "items", "error", "text"),
    [
        ([[0.5, 1]], None, MethodError, "right or wrong"),
        ([[1, 1, 1]], None, MethodError, "one column for each of the 2 items"),
        ([1, 1], None, MethodError, "one row per model"),
        ([[1]], ["q7"], UnknownIdError, "'q7'"),
    ],
)
def test_answers_that_cannot_be_are_refused(values, items, error, text):
    with pytest.raises(error, match=text):
        fit_ability(items_of([[1], [1]], [1, 1]), values, items)


# One step


def log_posterior(c, design, right, scored, offset, penalty):
    """Of one row, one observation at a time."""
    total = 0.0
    for j in range(len(design)):
        if scored[j]:
            eta = sum(c[k] * design[j, k] for k in range(len(c))) + offset[j]
            total += right[j] * eta - math.log1p(math.exp(eta))
    return total - sum(
        penalty.precision[k] * (c[k] - penalty.mean[k]) ** 2 / 2 for k in range(len(c))
    )


def test_a_step_is_newtons_by_finite_differences():
    rng = np.random.default_rng(3)
    design, offset = rng.normal(size=(12, 3)), rng.normal(size=12)
    right = (rng.random((2, 12)) < 0.5).astype(float)
    scored = (rng.random((2, 12)) < 0.8).astype(float)
    penalty = Penalty(np.array([0.1, 0.2, -0.3]), np.array([1.0, 2.0, 3.0]))
    at = rng.normal(0, 0.1, size=(2, 3))
    design /= 2
    right *= scored
    curvature = hessian(at, design, right, scored, offset, penalty)
    step = newton_step(at, design, right, scored, offset, penalty) - at
    assert np.abs(step @ design.T).max() < MAX_MOVE
    h = 1e-4
    for row in range(2):

        def f(c, row=row):
            return log_posterior(c, design, right[row], scored[row], offset, penalty)

        unit = np.eye(3) * h
        gradient = np.array([(f(at[row] + u) - f(at[row] - u)) / (2 * h) for u in unit])
        second = np.array(
            [
                [
                    (
                        f(at[row] + u + v)
                        - f(at[row] + u - v)
                        - f(at[row] - u + v)
                        + f(at[row] - u - v)
                    )
                    / (4 * h * h)
                    for u in unit
                ]
                for v in unit
            ]
        )
        assert curvature[row] == pytest.approx(-second, abs=1e-5)
        assert curvature[row] @ step[row] == pytest.approx(gradient, abs=1e-6)


def test_no_step_moves_a_logit_far():
    design = np.array([[1.0], [2.0]])
    # All right, but the start says surely wrong: Newton's own step would be about exp(20).
    penalty = Penalty(np.zeros(1), np.full(1, 1e-6))
    after = newton_step(np.array([[-20.0]]), design, np.ones((1, 2)), None, None, penalty)
    assert after == pytest.approx(-20 + MAX_MOVE / 2)


def test_the_logistic_function_does_not_overflow():
    assert sigmoid(np.array([-1e30, 0, 1e30], dtype=np.float32)) == pytest.approx([0, 0.5, 1])


# The fit


def naive_densities(state, prior, values):
    """Log-likelihood and objective with one cell at a time; NaN cells are left out."""
    likelihood = 0.0
    for m, theta in enumerate(state.ability.tolist()):
        for i, (*a, b) in enumerate(state.item.tolist()):
            if not np.isnan(values[m, i]):
                eta = sum(x * y for x, y in zip(a, theta, strict=True)) - b
                chance = 1 / (1 + math.exp(-eta))
                likelihood += math.log(chance if values[m, i] == 1 else 1 - chance)
    penalty = sum(t**2 for theta in state.ability.tolist() for t in theta)
    for *a, b in state.item.tolist():
        penalty += sum(
            (x / s) ** 2 for x, s in zip(a, prior.discrimination_sd.tolist(), strict=True)
        )
        penalty += ((b - prior.difficulty_mean) / prior.difficulty_sd) ** 2
    return likelihood, likelihood - penalty / 2


@pytest.mark.parametrize("missing", [False, True])
def test_densities_are_the_naive_ones(missing, experiment):
    values = holes(drawn()) if missing else drawn()
    right, scored = _fit.responses(matrix(values), None)
    state, prior = _fit.start(right, scored, 2)
    state = _fit.climb(state, prior, right, scored, 3)
    found = _fit.log_densities(state, prior, right, scored)
    naive = naive_densities(state, prior, values)
    assert found == pytest.approx(naive, rel=1e-5)
    x = np.concatenate([state.ability.ravel(), state.item.ravel()]).astype(float)
    mask = np.ones_like(right) if scored is None else scored
    value, _ = experiment.objective(x, right, mask, prior, state.ability.shape)
    assert -value == pytest.approx(naive[1], rel=1e-6)


def test_the_long_optimisations_gradient_is_that_of_finite_differences(experiment):
    values = holes(drawn(8, 6))
    right, scored = _fit.responses(matrix(values), None)
    state, prior = _fit.start(right, scored, 2)
    x = np.concatenate([state.ability.ravel(), state.item.ravel()]).astype(float)

    def f(y):
        return experiment.objective(y, right.astype(float), scored, prior, (8, 2))

    numeric = [(f(x + e)[0] - f(x - e)[0]) / 2e-5 for e in np.eye(len(x)) * 1e-5]
    assert f(x)[1] == pytest.approx(np.array(numeric), abs=1e-5)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 25), st.integers(1, 25), st.floats(0.0, 1.0), st.integers(0, 10**6))
def test_every_sweep_climbs(n_models, n_items, chance, seed):
    rng = np.random.default_rng(seed)
    shade = np.clip(chance + rng.normal(0, 0.3, n_models), 0, 1)
    right = (rng.random((n_models, n_items)) < shade[:, None]).astype(np.float32)
    dims = min(3, n_models - 1, n_items)
    state, prior = _fit.start(right, None, dims)
    last = -np.inf
    for _ in range(8):
        _, now = _fit.log_densities(state, prior, right, None)
        assert now >= last - 1e-4 * (1 + abs(now))
        last, state = now, _fit.climb(state, prior, right, None, 1)


def test_many_sweeps_end_where_the_gradient_is_nothing(experiment):
    right, scored = _fit.responses(matrix(drawn()), None)
    state, prior = _fit.start(right, scored, 2)

    def steepest(sweeps):
        s = _fit.climb(state, prior, right, scored, sweeps)
        x = np.concatenate([s.ability.ravel(), s.item.ravel()]).astype(float)
        ones = np.ones(right.shape)
        return np.abs(experiment.objective(x, right.astype(float), ones, prior, (60, 2))[1]).max()

    assert steepest(0) > 1
    assert steepest(300) < 0.02


def test_held_out_cells_are_as_likely_as_after_a_long_optimisation(experiment):
    found = experiment.held_out(matrix(drawn(150, 200, 3)), dims=5, steps=1000)
    assert abs(found["held_out_ours"] / found["held_out_long"] - 1) < 0.01
    assert abs(found["objective_ours"] / found["objective_long"] - 1) < 0.01


def test_held_out_cells_of_gpqa(experiment, shared_data):
    gpqa = experiment.gpqa(shared_data.parent)
    part = gpqa.restrict(models=gpqa.models[:300], items=gpqa.items[::2])
    with threadpool_limits(1):
        found = experiment.held_out(part, steps=200)
    assert abs(found["held_out_ours"] / found["held_out_long"] - 1) < 0.01


def test_parameters_are_recovered(experiment):
    for dims in (1, 3):
        scores, slopes, difficulty = experiment.two_parameter(300, 1000, dims)
        found = fit(scores)
        assert np.corrcoef(found.difficulty, difficulty)[0, 1] > 0.98
        assert np.corrcoef(found.slope, slopes[:, 0])[0, 1] > 0.8
    # Scale too: b is D times smaller than the logit of being wrong.
    assert np.polyfit(difficulty, found.logit_difficulty, 1)[0] == pytest.approx(1, abs=0.15)


# girth 0.8.0, twopl_mml on two_parameter(300, 24, 1, seed=5) of experiments/irt.py: discriminations
# and difficulties times them; log-likelihood with girth's ability_map.
GIRTH_A = [
    2.214,
    1.09,
    0.778,
    0.478,
    0.854,
    0.623,
    0.619,
    0.713,
    0.857,
    0.779,
    1.095,
    0.757,
    0.95,
    1.355,
    0.851,
    1.38,
    1.495,
    1.029,
    1.158,
    0.597,
    1.446,
    1.02,
    0.503,
    1.103,
]
GIRTH_B = [
    -1.781,
    -2.193,
    0.091,
    0.056,
    -0.715,
    -1.152,
    -0.471,
    -0.254,
    -0.422,
    0.076,
    -0.368,
    0.583,
    0.616,
    0.417,
    -0.8,
    -0.589,
    0.475,
    -0.179,
    -0.153,
    -3.033,
    -4.053,
    0.244,
    0.624,
    1.775,
]
GIRTH_LOG_LIKELIHOOD = -3685.0


def test_one_dimension_agrees_with_marginal_maximum_likelihood(experiment):
    scores, _, _ = experiment.two_parameter(300, 24, 1, seed=5)
    found = fit(scores, dims=1)
    assert np.corrcoef(found.difficulty, GIRTH_B)[0, 1] > 0.99
    assert np.corrcoef(found.discrimination[:, 0], GIRTH_A)[0, 1] > 0.9
    assert found.log_likelihood == pytest.approx(GIRTH_LOG_LIKELIHOOD, rel=0.01)


# Conventions


def test_abilities_are_white_discriminations_orthogonal_and_probabilities_unchanged():
    scores = matrix(drawn(150, 80, 2, spread=1.5))
    right, scored = _fit.responses(scores, None)
    state, prior = _fit.start(right, scored, 2)
    state = _fit.climb(state, prior, right, scored, 12)
    found = fit(scores, dims=2)
    logits = state.ability @ state.item[:, :-1].T - state.item[:, -1]
    assert found.predict() == pytest.approx(1 / (1 + np.exp(-logits)), abs=1e-5)
    assert found.ability.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert found.ability.T @ found.ability / 150 == pytest.approx(np.eye(2), abs=1e-9)
    gram = found.discrimination.T @ found.discrimination
    assert gram == pytest.approx(np.diag(np.diag(gram)), abs=1e-9)
    assert (np.diff(np.diag(gram)) <= 0).all()


def test_a_dimension_the_scores_do_not_support_is_nothing():
    # Pure chance has no signal at all; one ability leaves no second one.
    chance = np.random.default_rng(0).integers(0, 2, (60, 40))
    assert (fit(matrix(chance), dims=3).discrimination == 0).all()
    found = fit(matrix(drawn(100, 60, 1)), dims=3)
    assert (found.discrimination[:, 0] != 0).all()
    assert (found.discrimination[:, 2] == 0).all()
    assert (found.ability[:, 2] == 0).all()


def test_ability_rises_with_accuracy_and_items_that_fall_with_it_are_reported():
    values = drawn(200, 60, 1)
    values[:, 7] = 1 - values[:, 7]
    scores = matrix(values)
    for dims in (1, 4):
        found = fit(scores, dims=dims)
        accuracy = values.mean(axis=1)
        assert (accuracy - accuracy.mean()) @ found.ability[:, 0] > 0
        assert np.corrcoef(found.ability[:, 0], accuracy)[0, 1] > 0.95
        assert found.negative_items == ("i007",)
        assert found.slope[7] < -0.3
        assert len(found.items) == 60


def test_all_right_and_all_wrong_models_and_items_are_finite():
    values = drawn()
    values[0], values[1], values[:, 0], values[:, 1] = 1, 0, 1, 0
    values[0, 1], values[1, 0] = 0, 1
    found = fit(matrix(values), dims=10)
    for part in (found.discrimination, found.difficulty, found.ability, found.predict()):
        assert np.isfinite(part).all()
    assert np.argmax(found.ability[:, 0]) == 0
    assert np.argmin(found.ability[:, 0]) == 1
    assert found.difficulty[0] == found.difficulty.min()
    assert found.difficulty[1] == found.difficulty.max()


@pytest.mark.parametrize("value", [0, 1])
def test_scores_without_any_difference_are_finite(value):
    found = fit(matrix(np.full((5, 8), value)), dims=3)
    assert np.isfinite(found.predict()).all()
    assert (np.abs(found.predict() - value) < 0.5).all()
    assert found.negative_items == ()


@pytest.mark.parametrize("missing", [False, True])
def test_the_order_of_models_and_items_changes_nothing(missing):
    values = holes(drawn()) if missing else drawn()
    scores = matrix(values)
    rng = np.random.default_rng(2)
    models, items = rng.permutation(60), rng.permutation(40)
    other = scores.restrict(
        models=[scores.models[i] for i in models], items=[scores.items[i] for i in items]
    )
    with threadpool_limits(1):
        a, b, again = fit(scores, dims=3), fit(other, dims=3), fit(scores, dims=3)
    assert (b.ability == a.ability[models]).all()
    assert (b.discrimination == a.discrimination[items]).all()
    assert (b.difficulty == a.difficulty[items]).all()
    assert (again.ability.tobytes(), again.difficulty.tobytes()) == (
        a.ability.tobytes(),
        a.difficulty.tobytes(),
    )
    assert b.log_likelihood == a.log_likelihood


def test_a_row_of_missing_cells_weighs_nothing():
    # Cells that are missing change the fit only through the cells that are there.
    values = drawn(80, 50)
    hidden = holes(values, 0.3)
    found = fit(matrix(hidden), dims=1)
    assert found.n_scored == (~np.isnan(hidden)).sum()
    full = fit(matrix(values), dims=1)
    assert np.corrcoef(found.difficulty, full.difficulty)[0, 1] > 0.95
    assert np.corrcoef(found.ability[:, 0], full.ability[:, 0])[0, 1] > 0.9
    for fill in (0.0, 1.0):
        right, scored = _fit.responses(matrix(hidden), None)
        filled = np.where(scored == 0, fill, right).astype(np.float32) * scored
        assert (filled == right).all()


def test_fewer_dimensions_when_there_are_few_models_or_items():
    assert fit(matrix(drawn(4, 40))).dims == 3
    assert fit(matrix(drawn(60, 5))).dims == 5
    assert fit(matrix(drawn(2, 5))).dims == 1


def test_item_parameters_on_both_scales():
    found = fit(matrix(drawn(100, 60)), dims=2)
    logit, paper = found.item_parameters("logit"), found.item_parameters()
    assert (logit == np.column_stack([found.discrimination, 2 * found.difficulty])).all()
    assert (paper[:, -1] == found.difficulty).all()
    spread = found.discrimination.std(axis=0)
    assert paper[:, :-1].std(axis=0) == pytest.approx(np.sqrt(spread))
    # Squared distance on the logit scale = mean squared difference of logits over the models.
    logits = found.ability @ found.discrimination.T - found.logit_difficulty
    mean = ((logits[:, 3] - logits[:, 9]) ** 2).mean()
    assert ((logit[3] - logit[9]) ** 2).sum() == pytest.approx(mean)
    with pytest.raises(SettingError, match="unknown scale"):
        found.item_parameters("z")


# What is refused


def test_graded_scores_need_a_threshold():
    values = np.random.default_rng(0).uniform(1, 10, (30, 12))
    values[0, 0] = np.nan
    scores = matrix(values, score_range=(1, 10))
    with pytest.raises(MethodError, match="Give a threshold above which"):
        fit(scores)
    found = fit(scores, threshold=6, dims=2)
    rounded = np.where(np.isnan(values), np.nan, values > 6)
    same = fit(matrix(rounded), dims=2)
    assert (found.ability == same.ability).all()
    with pytest.raises(SettingError, match="threshold must be a number in"):
        fit(scores, threshold=11)


def test_too_little_to_fit_is_refused():
    with pytest.raises(MethodError, match="two models or more"):
        fit(matrix(np.ones((1, 5))))
    values = drawn()
    values[:, 3] = np.nan
    with pytest.raises(MethodError, match="at least one score of every model and every item"):
        fit(matrix(values))
    for setting in ({"dims": 0}, {"sweeps": 0}):
        with pytest.raises(SettingError, match="whole number of 1 or more"):
            fit(matrix(drawn()), **setting)
