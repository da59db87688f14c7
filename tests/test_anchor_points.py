"""Anchor points: distances, clusters and weights, and the predictor against plain loops."""

from __future__ import annotations

import gc
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdad._rng import Stream
from mdad.datasets import load, simulate
from mdad.errors import MethodError
from mdad.estimators import AnchorMean, AnchorPredictor
from mdad.experiment import Experiment, estimate, run_once
from mdad.methods import make_method
from mdad.runner import run_experiment
from mdad.scores import ScoreMatrix
from mdad.selectors import AnchorPoints, OptionAnchors, Selection
from mdad.selectors._correlation import (
    _KNOWN,
    Correlations,
    distance_matrix,
    logits,
    nearest,
    option_logits,
)
from mdad.selectors.anchor_points import CLIP, Clusters

NAN = np.nan


def matrix(values, subtasks=None, **fields):
    values = np.asarray(values)
    return ScoreMatrix(
        values,
        [f"m{i:03d}" for i in range(values.shape[0])],
        [f"q{i:04d}" for i in range(values.shape[1])],
        subtasks,
        **fields,
    )


def planted(sizes=(5, 10, 25), n_models=200, seed=0):
    """Items in clusters: each copies the answers to its cluster's question, one in 20 at random."""
    rng = np.random.default_rng(seed)
    answers = np.repeat(rng.integers(0, 2, (n_models, len(sizes))), sizes, axis=1)
    flip = rng.random(answers.shape) < 0.05
    return np.where(flip, 1 - answers, answers), np.repeat(np.arange(len(sizes)), sizes)


def with_options(n_models=30, n_items=12, n_options=4, *, padded=(), seed=0):
    """Options' probabilities from a low-rank signal; ``padded`` items lack the last option."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(n_models, 2))
    found = np.einsum("md,dio->mio", ability, rng.normal(size=(2, n_items, n_options)))
    chances = np.exp(found + rng.normal(0, 0.5, found.shape))
    chances[:, list(padded), -1] = 0
    chances /= chances.sum(axis=2, keepdims=True)
    right = rng.integers(0, n_options - 1, n_items)
    values = (chances.argmax(axis=2) == right).astype(int)
    chances[:, list(padded), -1] = NAN
    return matrix(values, option_probabilities=chances, right_options=right)


def build(scores, size, selector=None, aggregate="micro", seed=0):
    selector = selector or AnchorPoints()
    return selector.prepare(scores, aggregate=aggregate, stream=Stream(seed))(size)


def positions(scores, selection):
    return [scores.item_position[item] for item in selection.items]


# --- distances ------------------------------------------------------------------------------


def test_the_distance_is_one_less_the_correlation():
    scores = matrix(np.random.default_rng(0).integers(0, 2, (50, 700)))
    found = distance_matrix(Correlations.of(scores), 700)
    assert found.dtype == np.float32
    assert found == pytest.approx(1 - np.corrcoef(scores.values.T), abs=1e-5)
    assert (found == found.T).all()
    assert (np.diag(found) == 0).all()


def test_probabilities_are_preferred_to_values():
    rng = np.random.default_rng(1)
    layer = rng.random((40, 9))
    scores = matrix(rng.integers(0, 2, (40, 9)), probabilities=layer)
    found = distance_matrix(Correlations.of(scores), 9)
    assert found == pytest.approx(1 - np.corrcoef(layer.T), abs=1e-5)


def test_constant_items_are_at_distance_one_by_rule():
    values = np.random.default_rng(2).random((30, 6))
    # A mean of thirds is not exact: rounding must not leave a correlation behind.
    values[:, 1], values[:, 4] = 1 / 3, 0
    geometry = Correlations.of(matrix(values))
    found = distance_matrix(geometry, 6)
    off = ~np.eye(6, dtype=bool)
    assert (found[1][off[1]] == 1).all()
    assert (found[4][off[4]] == 1).all()
    assert geometry.varies.tolist() == [True, False, True, True, False, True]


def test_logits_of_stored_zeros_and_ones_are_finite():
    # B21: the logit of the 0 of a padded option is minus infinity.
    assert np.isfinite(logits(np.array([0.0, 1e-12, 1.0]), CLIP)).all()
    p = np.array([0.2, 0.5, 0.9])
    assert logits(p, CLIP) == pytest.approx(np.log(p / (1 - p)), rel=1e-6)


def naive_option_distance(scores, i, j, joined="each"):
    layer = np.clip(scores.option_probabilities.astype(float), CLIP, 1 - CLIP)
    found = np.log(layer / (1 - layer))
    total, counts = 0.0, [0, 0]
    for option in range(layer.shape[2]):
        a, b = found[:, i, option], found[:, j, option]
        counts[0] += not np.isnan(a).any()
        counts[1] += not np.isnan(b).any()
        if np.isnan(a).any() or np.isnan(b).any() or np.ptp(a) == 0 or np.ptp(b) == 0:
            continue
        r = np.corrcoef(a, b)[0, 1]
        total += abs(r) if joined == "each" else r
    return 1 - abs(total) / max(counts)


@pytest.mark.parametrize("joined", ["each", "sum"])
def test_option_distances_by_loops(joined):
    scores = with_options(padded=(3, 7))
    found = distance_matrix(replace(option_logits(scores, CLIP), joined=joined), 12)
    for i in range(12):
        for j in range(12):
            expected = 0 if i == j else naive_option_distance(scores, i, j, joined)
            assert found[i, j] == pytest.approx(expected, abs=2e-5)
    # B22: the snapshot's distances go down to 1 - options.
    assert found.min() >= 0
    assert found.max() <= 1


def test_a_constant_option_says_nothing():
    scores = with_options()
    layer = scores.option_probabilities.copy()
    layer[:, 2, 1] = 0.25
    layer[:, 5] = 0.25
    changed = matrix(scores.values, option_probabilities=layer, right_options=[0] * 12)
    geometry = option_logits(changed, CLIP)
    found = distance_matrix(geometry, 12)
    assert found[2, 3] == pytest.approx(naive_option_distance(changed, 2, 3), abs=2e-5)
    assert (np.delete(found[5], 5) == 1).all()
    assert not geometry.varies[5]


def test_logits_are_made_once_and_forgotten_with_their_matrix():
    gc.collect()
    before = len(_KNOWN)
    scores = with_options()
    assert option_logits(scores, CLIP) is option_logits(scores, CLIP)
    assert len(_KNOWN) == before + 1
    del scores
    gc.collect()
    assert len(_KNOWN) == before


def test_an_anchor_is_nearest_to_itself_even_beside_its_equal():
    values = np.random.default_rng(3).integers(0, 2, (40, 5))
    values[:, 3] = values[:, 1]
    found = nearest(Correlations.of(matrix(values)), 5, np.array([0, 1, 3]))
    assert found[[0, 1, 3]].tolist() == [0, 1, 2]


# --- anchors and their weights --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_planted_clusters_are_found_and_weighted_by_their_share(seed):
    values, cluster = planted(seed=seed)
    scores = matrix(values)
    # A start within one cluster may end in a local minimum; most starts do not.
    found = [build(scores, 3, seed=start) for start in range(7)]
    right = [s for s in found if cluster[positions(scores, s)].tolist() == [0, 1, 2]]
    assert len(right) >= 4
    for selection in right:
        assert selection.weights == pytest.approx([5 / 40, 10 / 40, 25 / 40])


def test_macro_weights_are_those_of_the_subtasks():
    values, _ = planted()
    # Subtask "a" is the 15 items of two clusters, "b" the 25 of the third.
    labels = ["a"] * 15 + ["b"] * 25
    scores = matrix(values, labels)
    micro = build(scores, 3, aggregate="micro")
    macro = build(scores, 3, aggregate="macro")
    assert macro.items == micro.items
    assert micro.weights == pytest.approx([5 / 40, 10 / 40, 25 / 40])
    assert macro.weights == pytest.approx([5 / 30, 10 / 30, 15 / 30])


def test_items_without_a_correlation_weigh_on_all_anchors_alike():
    values, cluster = planted()
    values = np.concatenate([np.ones((200, 20), dtype=int), values], axis=1)
    scores = matrix(values)
    for seed in range(20):
        selection = build(scores, 3, seed=seed)
        chosen = positions(scores, selection)
        if min(chosen) >= 20 and len(set(cluster[np.array(chosen) - 20])) == 3:
            assert selection.weights == pytest.approx([5 / 40, 10 / 40, 25 / 40])
            return
    pytest.fail("no start found the three clusters")


def test_nothing_but_constant_items():
    selection = build(matrix(np.ones((9, 30), dtype=int)), 4)
    assert len(set(selection.items)) == 4
    assert selection.weights == pytest.approx([0.25] * 4)


def test_more_anchors_than_different_items():
    # User case 19: 20 equal items, 5 anchors.
    values = np.repeat(np.arange(10)[:, None] % 2, 20, axis=1)
    selection = build(matrix(values), 5)
    assert len(set(selection.items)) == 5
    assert selection.weights.sum() == pytest.approx(1)


def test_one_source_model_is_refused():
    with pytest.raises(MethodError, match="two or more; got one"):
        build(matrix(planted()[0][:1]), 2)
    with pytest.raises(MethodError, match=r"anchor-points-predictor correlates .* got one"):
        build(with_options(n_models=1), 2, OptionAnchors())


def test_all_items_weigh_as_in_the_full_score():
    scores = matrix(planted()[0], ["a"] * 15 + ["b"] * 25)
    selection = build(scores, 40, aggregate="macro")
    assert selection.items == scores.items
    assert selection.weights == pytest.approx([1 / 30] * 15 + [1 / 50] * 25)


@st.composite
def small_matrices(draw):
    n_models, n_items = draw(st.integers(2, 8)), draw(st.integers(1, 12))
    # Few levels, so that constant and equal items are common.
    row = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n_items, max_size=n_items)
    values = draw(st.lists(row, min_size=n_models, max_size=n_models))
    return matrix(np.array(values), kind="graded"), draw(st.integers(1, n_items))


@settings(deadline=None)
@given(small_matrices(), st.integers(0, 3))
def test_laws_of_selection(case, seed):
    scores, size = case
    selection = build(scores, size, seed=seed)
    assert list(selection.items) == sorted(set(selection.items))
    assert len(selection.items) == size
    assert selection.weights.sum() == pytest.approx(1)
    assert (selection.weights > 0).all()


# --- above the memory budget ----------------------------------------------------------------


def loss(geometry, n, anchors):
    places = nearest(geometry, n, anchors)
    to_anchors = geometry.between(slice(0, n), anchors)
    return float(to_anchors[np.arange(n), places].sum())


@pytest.fixture(scope="module")
def mid_size():
    scores = simulate(n_models=120, n_items=2400, seed=3)
    return scores, Correlations.of(scores)


@pytest.mark.parametrize("size", [10, 50, 150])
def test_a_sample_gives_nearly_the_loss_of_all_items(mid_size, size):
    _, geometry = mid_size
    whole = Clusters(geometry, 2400, Stream(0))
    part = Clusters(geometry, 2400, Stream(0), max_bytes=4 * 1500**2, sample=800)
    full_loss = loss(geometry, 2400, whole.find(size)[0])
    anchors, places = part.find(size)
    assert loss(geometry, 2400, anchors) < 1.03 * full_loss
    assert (places == nearest(geometry, 2400, anchors)).all()
    # What is clustered: 800 items, or eight for each anchor.
    assert [len(found) for found, _ in part._matrices.values()] == [max(800, 8 * size)]


def test_a_sample_is_the_same_whatever_else_was_asked(mid_size):
    scores, _ = mid_size
    selector = AnchorPoints(max_bytes=4 * 1000**2, sample=500)
    build_all = selector.prepare(scores, aggregate="micro", stream=Stream(1))
    for size in (200, 30, 10):
        alone = build(scores, size, selector, seed=1)
        assert build_all(size).items == alone.items
        assert (build_all(size).weights == alone.weights).all()


def test_more_anchors_than_there_is_memory_for_are_refused(mid_size):
    scores, _ = mid_size
    selector = AnchorPoints(max_bytes=4 * 1000**2)
    assert build(scores, 1000, selector).size == 1000
    with pytest.raises(MethodError, match=r"1,001 anchors among 2,400 items: .* of 1,000"):
        build(scores, 1001, selector)
    # All items need no clustering.
    assert build(scores, 2400, selector).size == 2400


def test_a_sample_of_items_with_options():
    scores = with_options(n_items=60)
    selection = build(scores, 6, OptionAnchors(max_bytes=4 * 30**2, sample=24))
    assert len(set(selection.items)) == 6
    assert selection.weights.sum() == pytest.approx(1)


# --- the mean -------------------------------------------------------------------------------


def test_the_mean_is_of_probabilities_weighted_by_share():
    scores = matrix([[1, 0, 1], [0, 0, 1]], probabilities=[[0.9, 0.2, 0.6], [0.3, 0.1, 0.8]])
    fitted = AnchorMean().fit(
        scores, Selection(scores.items[:2], np.array([0.25, 0.75])), aggregate="micro"
    )
    found = fitted.estimate(np.array([[1, 0], [1, 1]]), np.array([[0.8, 0.4], [NAN, 0.6]]))
    # .25 x .8 + .75 x .4; an unknown probability is replaced by the score 1.
    assert found.values == pytest.approx([0.5, 0.25 + 0.45])
    assert np.isnan(found.standard_errors).all()
    # A target without probabilities is measured by its values.
    assert fitted.estimate(np.array([[1, 0]])).values == pytest.approx([0.25])


def test_graded_values_are_not_mixed_with_probabilities():
    scores = matrix(
        [[5.0, 1.0], [2.0, 3.0]],
        score_range=(0, 10),
        probabilities=[[0.9, 0.2], [0.3, 0.1]],
    )
    fitted = AnchorMean().fit(scores, Selection(scores.items[:1], np.ones(1)), aggregate="micro")
    assert fitted.estimate(np.array([[7.0]]), np.array([[0.4]])).values.tolist() == [7.0]


# --- the predictor --------------------------------------------------------------------------


def naive_prediction(scores, items, target, *, joined="each", observed=True):
    """Estimate of one target from its options on the chosen items, by loops."""
    layer = np.clip(scores.option_probabilities.astype(float), CLIP, 1 - CLIP)
    found = np.log(layer / (1 - layer))
    chosen = [scores.item_position[item] for item in items]
    kept = np.clip(target.option_probabilities[0].astype(float), CLIP, 1 - CLIP)
    seen = np.log(kept / (1 - kept))
    right = []
    for i in range(scores.n_items):
        if i in chosen:
            if observed:
                right.append(float(target.values[0, i]))
            continue
        anchor = min(chosen, key=lambda a: naive_option_distance(scores, i, a, joined))
        predicted = []
        for option in range(layer.shape[2]):
            x, y = found[:, anchor, option], found[:, i, option]
            if np.isnan(y).any():
                predicted.append(-math.inf)
            elif np.isnan(x).any() or np.ptp(x) == 0:
                predicted.append(y.mean())
            else:
                slope, intercept = np.polyfit(x, y, 1)
                predicted.append(slope * seen[anchor, option] + intercept)
        right.append(float(int(np.argmax(predicted)) == scores.right_options[i]))
    return float(np.mean(right))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1, 3, 6])
@pytest.mark.parametrize("form", ["default", "paper"])
def test_predictions_by_loops(form, size, seed):
    scores = with_options(n_models=36, padded=(2, 5, 9), seed=seed)
    source = scores.restrict(models=scores.models[:26])
    method = make_method("anchor-points-predictor", form)
    built = method.prepare(source, aggregate="micro", stream=Stream(seed))(size)
    settings_of = {"joined": "sum", "observed": False} if form == "paper" else {}
    for model in scores.models[26:]:
        target = scores.restrict(models=[model])
        expected = naive_prediction(source, built.selection.items, target, **settings_of)
        assert estimate(built, target).values == pytest.approx([expected], abs=1e-9)


def test_items_on_a_line_are_predicted_exactly():
    # Every item's logits are a line of the first item's, half of them falling.
    rng = np.random.default_rng(4)
    base = rng.normal(size=(60, 1, 3))
    slopes = rng.uniform(0.5, 2, (1, 8, 3)) * rng.choice([-1, 1], (1, 8, 3))
    found = slopes * base + rng.normal(size=(1, 8, 3))
    layer = 1 / (1 + np.exp(-found))
    right = rng.integers(0, 3, 8)
    values = (layer.argmax(axis=2) == right).astype(int)
    scores = matrix(values, option_probabilities=layer, right_options=right)
    source, target = (
        scores.restrict(models=part) for part in (scores.models[:40], scores.models[40:])
    )
    built = make_method("anchor-points-predictor").prepare(
        source, aggregate="micro", stream=Stream(0)
    )(1)
    assert estimate(built, target).values == pytest.approx(target.full_scores())


def test_the_observed_items_are_part_of_the_estimate():
    # B23: one of two items is seen, and right; the other is predicted, and wrong.
    scores = with_options(n_items=2, seed=1)
    selection = Selection(scores.items[:1], np.ones(1))
    options = scores.option_probabilities[:5, :1]
    ours = AnchorPredictor().fit(scores, selection, aggregate="micro")
    predicted = np.array([ours.predict(one)[0] for one in options])
    for value in (0, 1):
        values = np.full((5, 1), value)
        both = ours.estimate(values, None, options).values
        assert both == pytest.approx((value + predicted) / 2)
        paper = AnchorPredictor(observed=False).fit(scores, selection, aggregate="micro")
        assert paper.estimate(values, None, options).values == pytest.approx(
            predicted.astype(float)
        )


def test_macro_estimates_weigh_predictions_by_subtask():
    scores = with_options(n_items=6)
    labelled = matrix(
        scores.values,
        ["a", "a", "b", "b", "b", "b"],
        option_probabilities=scores.option_probabilities,
        right_options=scores.right_options,
    )
    selection = Selection((labelled.items[0], labelled.items[3]), np.array([0.5, 0.5]))
    fitted = AnchorPredictor().fit(labelled, selection, aggregate="macro")
    options = labelled.option_probabilities[:1, [0, 3]]
    right = fitted.predict(options[0]).astype(float)
    expected = (1 + right[0]) / 4 + (0 + right[1:].sum()) / 8
    found = fitted.estimate(np.array([[1, 0]]), None, options).values
    assert found == pytest.approx([expected])


def test_what_the_predictor_cannot_do_it_refuses():
    scores = with_options()
    method = make_method("anchor-points-predictor")

    def prepared(changed):
        return method.prepare(changed, aggregate="micro", stream=Stream(0))

    with pytest.raises(MethodError, match="needs the probability of every option"):
        prepared(matrix(scores.values))
    layers = {
        "option_probabilities": scores.option_probabilities,
        "right_options": scores.right_options,
    }
    with pytest.raises(MethodError, match="these scores are graded"):
        prepared(matrix(scores.values / 2, **layers))
    layer = scores.option_probabilities.copy()
    layer[3, 4] = NAN
    with pytest.raises(MethodError, match="some source models only, on 1 item: 'q0004'"):
        prepared(matrix(scores.values, **{**layers, "option_probabilities": layer}))
    built = prepared(scores)(3)
    values = np.zeros((1, 3))
    with pytest.raises(MethodError, match="some are unknown"):
        built.estimator.estimate(values)
    with pytest.raises(MethodError, match="some are unknown"):
        built.estimator.estimate(values, None, np.full((1, 3, 4), NAN))


# --- a real matrix --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    return load("digits-zoo-options").sorted()


def experiment(scores, **fields):
    methods = ("random", "anchor-points", "anchor-points-predictor")
    return Experiment(methods=methods, sizes=(10, 50), n_target=20, **fields).resolve(scores)


def test_digits_zoo_from_end_to_end(digits):
    runs = [run_once(digits, experiment(digits, runs=3), number) for number in range(3)]
    errors = np.mean([np.abs(run.estimates - run.full[0]).mean(axis=2) for run in runs], axis=0)
    random, _, predictor = errors
    # Ten anchors and lines on logits say more than the mean of ten random images.
    assert predictor[0] < random[0]
    assert (predictor < 0.1).all()
    for run in runs:
        assert np.corrcoef(run.estimates[2, 1], run.full[0])[0, 1] > 0.9
        # What anchor points estimate is the mean probability; these models are not calibrated.
        sure = digits.restrict(models=run.models).probabilities.mean(axis=1)
        assert np.abs(run.estimates[1, 1] - sure).mean() < 0.04
        assert np.abs(sure - run.full[2]).mean() > 0.1


def test_the_same_bytes_with_two_workers(digits):
    done = digits.complete()
    alone, shared = (
        run_experiment(done, experiment(digits, runs=2), n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert (alone.estimates == shared.estimates).all()
