"""tinybenchmarks and its two predicting forms, beyond the contract of every method."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import mdad
from mdad import irt
from mdad._rng import Stream
from mdad.errors import MethodError
from mdad.estimators import IrtPrediction
from mdad.experiment import Experiment, estimate, run_once
from mdad.irt import _shared
from mdad.methods import make_method
from mdad.scores import ScoreMatrix
from mdad.selectors import IrtClusters
from mdad.selectors.irt_clusters import clusters, representatives, shares

NAMES = ("tinybenchmarks", "tinybenchmarks-pirt", "tinybenchmarks-gpirt")


@pytest.fixture(scope="module")
def experiment():
    path = Path(__file__).parents[1] / "experiments" / "irt.py"
    spec = importlib.util.spec_from_file_location("irt_experiment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def scores():
    return mdad.datasets.simulate(n_models=60, n_items=80, subtasks=4, guessing=0, seed=3)


def built(name, scores, size, aggregate="micro", seed=0):
    source = scores.restrict(models=scores.models[:40])
    prepare = make_method(name).prepare
    return prepare(source, aggregate=aggregate, stream=Stream(seed))(size)


def test_fewer_distinct_points_than_items_wanted():
    # 100 items of 9 kinds, 25 wanted: every kind is there, the heaviest give more.
    kinds = np.random.default_rng(0).normal(size=(9, 3))
    of = np.repeat(np.arange(9), [40, 20, 10, 10, 5, 5, 5, 4, 1])
    weights = np.full(100, 0.01)
    labels, distances = clusters(kinds[of], weights, 25, n_init=1, seed=0)
    chosen = representatives(labels, distances, weights, 25)
    assert len(set(chosen.tolist())) == 25
    assert set(of[chosen]) == set(range(9))
    found = shares(labels, weights, chosen)
    assert found.sum() == pytest.approx(1)
    for kind in range(9):
        assert found[of[chosen] == kind].sum() == pytest.approx((of == kind).mean())


def test_centres_that_would_share_an_item_get_two():
    # Of the 8 points in a row the centres are 0.5, 2.5, ...: nearest items are distinct.
    points = np.arange(8.0)[:, None]
    for number in range(1, 9):
        labels, distances = clusters(points, np.ones(8), number, n_init=5, seed=1)
        chosen = representatives(labels, distances, np.ones(8), number)
        assert len(set(chosen.tolist())) == number
        assert shares(labels, np.full(8, 0.125), chosen).sum() == pytest.approx(1)


def test_each_chosen_item_is_the_nearest_of_its_cluster_and_weighs_its_share(scores):
    source = scores.restrict(models=scores.models[:40])
    points, weights = irt.fit(source).item_parameters(), source.item_weights("macro")
    labels, distances = clusters(points, weights, 7, n_init=1, seed=5)
    chosen = representatives(labels, distances, weights, 7)
    assert sorted(labels[chosen].tolist()) == list(range(7))
    for item, share in zip(chosen, shares(labels, weights, chosen), strict=True):
        members = np.flatnonzero(labels == labels[item])
        assert distances[item] == distances[members].min()
        assert share == pytest.approx(weights[members].sum())
        centre = np.average(points[members], axis=0, weights=weights[members])
        assert distances[item] == pytest.approx(np.linalg.norm(points[item] - centre), abs=1e-4)


def test_settings_of_the_selector_change_what_is_chosen(scores):
    source = scores.restrict(models=scores.models[:40])
    chosen = {
        selector.prepare(source, aggregate="micro", stream=Stream(0))(12).items
        for selector in (IrtClusters(), IrtClusters(scale="logit"), IrtClusters(dims=1))
    }
    assert len(chosen) == 3


@pytest.mark.parametrize("aggregate", ["micro", "macro"])
@pytest.mark.parametrize("name", NAMES[1:])
def test_predicting_estimates_are_the_naive_ones(name, aggregate, scores):
    made = built(name, scores, 10, aggregate)
    source = scores.restrict(models=scores.models[:40])
    fitted, pool = irt.fit(source), source.item_weights(aggregate)
    target = scores.restrict(models=scores.models[40:])
    found = estimate(made, target)
    mix = made.estimator.mix
    assert (mix == 0) == (name == "tinybenchmarks-pirt")
    assert np.isnan(found.standard_errors).all()
    for row in range(target.n_models):
        answers = dict(zip(target.items, target.values[row].tolist(), strict=True))
        shown = [[answers[item] for item in made.selection.items]]
        chance = fitted.predict(irt.fit_ability(fitted, shown, made.selection.items).ability)[0]
        predicted = mean = 0.0
        for weight, item, p in zip(pool, fitted.items, chance, strict=True):
            predicted += weight * (answers[item] if item in made.selection.items else p)
        for weight, item in zip(made.selection.weights, made.selection.items, strict=True):
            mean += weight * answers[item]
        assert found.values[row] == pytest.approx(mix * mean + (1 - mix) * predicted, abs=1e-9)


def test_the_weight_of_the_mixture_is_polo_and_others(scores):
    source = scores.restrict(models=scores.models[:40])
    # Every fifth model held out, abilities from every second item, error on the others.
    held_out = source.models[::5]
    rest = source.restrict(models=[m for m in source.models if m not in held_out])
    fitted = irt.fit(rest)
    errors = []
    for model in held_out:
        row = source.restrict(models=[model]).values[0].astype(float)
        ability = irt.fit_ability(fitted, row[None, ::2], source.items[::2]).ability
        errors.append(abs(fitted.predict(ability)[0, 1::2].mean() - row[1::2].mean()))
    b, v = np.mean(errors), np.var(source.values, axis=1).mean()
    assert irt.prediction_error(source) == pytest.approx(b)
    mixes = [built("tinybenchmarks-gpirt", scores, k).estimator.mix for k in (5, 20, 60)]
    for mix, size in zip(mixes, (5, 20, 60), strict=True):
        assert mix == pytest.approx(b**2 / (v / (4 * size) + b**2))
    assert 0 < mixes[0] < mixes[1] < mixes[2] < 1


def test_the_mixture_needs_source_models_to_hold_out(scores):
    few = scores.restrict(models=scores.models[:4])
    build = make_method("tinybenchmarks-gpirt").prepare(few, aggregate="micro", stream=Stream(0))
    with pytest.raises(MethodError, match="needs 5 source models and 2 items; got 4 models"):
        build(5)
    one = scores.restrict(models=scores.models[:1])
    with pytest.raises(MethodError, match="two models or more"):
        make_method("tinybenchmarks").prepare(one, aggregate="micro", stream=Stream(0))


def test_a_chosen_item_that_was_not_scored_is_predicted(scores):
    made = built("tinybenchmarks-pirt", scores, 10)
    shown = scores.restrict(models=scores.models[40:44], items=made.selection.items)
    values = shown.values.astype(float)
    values[:, 3] = np.nan
    found = made.estimator.estimate(values).values
    fitted = made.estimator.fit
    known = [item for k, item in enumerate(made.selection.items) if k != 3]
    chance = fitted.predict(irt.fit_ability(fitted, np.delete(values, 3, axis=1), known).ability)
    columns = [fitted.items.index(item) for item in known]
    chance[:, columns] = np.delete(values, 3, axis=1)
    assert found == pytest.approx(chance.mean(axis=1), abs=1e-7)


def test_one_fit_serves_all_methods_and_sizes_of_a_run(scores, monkeypatch):
    calls = []
    real = _shared.fit
    monkeypatch.setattr(_shared, "fit", lambda s, **k: calls.append(s.n_models) or real(s, **k))
    source = scores.restrict(models=scores.models[:40])
    for name in NAMES:
        build = make_method(name).prepare(source, aggregate="micro", stream=Stream(0))
        for size in (5, 10, 20):
            build(size)
    # The whole, and the four fifths that give the weight of the mixture.
    assert calls == [40, 32]
    assert source in _shared._KNOWN


def test_nothing_is_remembered_longer_than_the_scores():
    own = mdad.datasets.simulate(n_models=20, n_items=30, seed=1)
    before = len(_shared._KNOWN)
    irt.shared_fit(own)
    assert len(_shared._KNOWN) == before + 1
    del own
    assert len(_shared._KNOWN) == before


def test_other_methods_of_a_run_change_nothing(scores):
    def run(methods):
        experiment = Experiment(methods=methods, sizes=(5, 20), n_source=40, n_target=20, runs=2)
        return run_once(scores.sorted(), experiment, 1)

    together = run(("random", *NAMES))
    for k, name in enumerate(NAMES):
        assert (run((name,)).estimates[0] == together.estimates[k + 1]).all()


def test_prediction_beats_the_weighted_mean_where_the_model_is_true(scores):
    target = scores.restrict(models=scores.models[40:])
    full = target.full_scores()
    errors = {
        name: np.mean(
            [
                np.abs(estimate(built(name, scores, 10, seed=s), target).values - full).mean()
                for s in range(5)
            ]
        )
        for name in NAMES
    }
    assert errors["tinybenchmarks-pirt"] < errors["tinybenchmarks"]
    assert errors["tinybenchmarks-gpirt"] < errors["tinybenchmarks"]


def test_the_estimator_reads_source_models_alone(scores):
    source = scores.restrict(models=scores.models[:40])
    selection = built("tinybenchmarks", scores, 10).selection
    fitted = IrtPrediction(mixed=True).fit(source, selection, aggregate="micro")
    assert fitted.fit.models == source.models
    assert not set(fitted.fit.models) & set(scores.models[40:])


def test_gpqa_through_run_once(shared_data):
    gpqa = mdad.load(shared_data / "gpqa.csv.gz").sorted()
    experiment = Experiment(methods=NAMES, sizes=(25, 200), n_source=300, n_target=50, runs=2)
    for number in (0, 1):
        run = run_once(gpqa, experiment, number)
        assert run.estimates.shape == (3, 2, 50)
        assert (np.abs(run.estimates - run.full[0]).mean(axis=-1) < [[0.12, 0.03]] * 3).all()


def test_gpqa_agreement_is_the_papers(experiment, shared_data):
    # Ten runs of one seed; the whole table is printed by experiments/irt.py.
    table = experiment.agreement(shared_data.parent, seeds=1, runs=10)
    rows = table[(table["method"] == "tinybenchmarks") & (table["size"] >= 25)]
    assert len(rows) == 4
    assert rows["difference"].min() > -0.04
    assert rows["difference"].max() < 0.06


def test_the_same_models_without_labels_and_with_others(scores):
    # One subtask and none are the same scores.
    bare = ScoreMatrix(scores.values, scores.models, scores.items)
    one = ScoreMatrix(scores.values, scores.models, scores.items, ["all"] * scores.n_items)
    for name in NAMES:
        a, b = (estimate(built(name, s, 10, "macro"), s).values for s in (bare, one))
        assert a == pytest.approx(b, abs=1e-12)
