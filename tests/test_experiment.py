"""The experiment: defaults, refusals, and one run done by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from mdad._rng import Stream
from mdad.errors import MethodError, ScoresError, SettingError
from mdad.estimators.mean import FittedMean
from mdad.experiment import Experiment, run_once
from mdad.methods import METHODS, make_method
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix
from mdad.splits import draw_split


def scored(n_models=24, n_items=40, seed=0, subtasks=3):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.2, 0.9, (n_models, 1)) * rng.uniform(0.5, 1, (1, n_items))
    values = (rng.random((n_models, n_items)) < chance).astype(int)
    # Four options; the right one is the most probable where the score is 1, else the least.
    right = rng.integers(0, 4, n_items)
    options = rng.uniform(0.1, 0.2, (n_models, n_items, 4))
    options[:, np.arange(n_items), right] = np.where(values, 0.3, 0) + rng.random(values.shape) / 10
    return ScoreMatrix(
        values,
        [f"m{i:03d}" for i in range(n_models)],
        [f"q{i:03d}" for i in range(n_items)],
        [f"t{i % subtasks}" for i in range(n_items)] if subtasks else None,
        option_probabilities=options / options.sum(axis=2, keepdims=True),
        right_options=right,
    )


@pytest.mark.parametrize(
    ("n_models", "n_source", "n_target"),
    [(15, 10, 5), (60, 40, 20), (150, 100, 50), (420, 300, 50)],
)
def test_default_numbers_of_models(n_models, n_source, n_target):
    found = Experiment().resolve(scored(n_models))
    assert (found.n_source, found.n_target) == (n_source, n_target)


def test_default_sizes_and_methods_fit_the_scores():
    assert Experiment().resolve(scored(n_items=448, subtasks=0)).sizes == (10, 25, 50, 100)
    assert Experiment().resolve(scored(n_items=500, subtasks=0)).sizes == (10, 25, 50, 100, 250)
    # Fewer than ten seen items: all of them.
    assert Experiment().resolve(scored(n_items=10, subtasks=0)).sizes == (5,)
    assert Experiment().resolve(scored(subtasks=0)).methods == ("random",)
    assert Experiment().resolve(scored()).methods == tuple(METHODS)[:3]
    assert Experiment().resolve(scored()).runs == 50


def test_what_is_set_is_kept():
    experiment = Experiment(
        methods=("random",), sizes=(3, 7), runs=2, n_source=5, n_target=4, aggregate="macro", seed=3
    )
    assert experiment.resolve(scored()) == experiment


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"runs": 0}, "runs must be a whole number of 1 or more; got 0"),
        ({"runs": 2.5}, "runs must be a whole number"),
        ({"seed": -1}, "seed"),
        ({"split": "randm"}, "did you mean 'random'"),
        ({"aggregate": "mean"}, "unknown aggregate"),
        ({"form": "papers"}, "did you mean 'paper'"),
        ({"sizes": (0,)}, "size must be a whole number of 1 or more"),
        ({"sizes": (5, 5)}, "every size may be named once"),
        ({"methods": ("random", "random")}, "every method may be named once"),
        ({"n_source": 0}, "n_source"),
        ({"n_target": 1}, "n_target must be a whole number of 2 or more"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, text):
    with pytest.raises(SettingError, match=text):
        Experiment(**settings)


def test_unknown_methods_are_refused_at_once():
    with pytest.raises(MethodError, match="unknown method 'rndm'"):
        Experiment(methods=("rndm",))


@pytest.mark.parametrize(
    ("settings", "scores", "error", "text"),
    [
        ({}, scored(14), ScoresError, "needs 15 models or more.*got 14.*mdad plan"),
        ({"n_target": 20, "n_source": 5}, scored(), SettingError, "20 target models and 5 source"),
        ({"n_target": 24}, scored(), SettingError, "no model may be both"),
        ({"sizes": (5, 20)}, scored(), SettingError, "size 20 is more than the 19 seen items"),
        (
            {},
            scored(subtasks=40),
            ScoresError,
            "no item can be seen",
        ),
    ],
)
def test_what_the_scores_do_not_allow_is_refused(settings, scores, error, text):
    with pytest.raises(error, match=text):
        Experiment(**settings).resolve(scores)


def test_missing_cells_are_refused():
    values = scored().values.astype(float)
    values[3, 4] = np.nan
    plain = scored()
    with pytest.raises(ScoresError, match="1 cell of 24 x 40"):
        Experiment().resolve(ScoreMatrix(values, plain.models, plain.items))


def test_settings_survive_json():
    experiment = Experiment(sizes=(3, 7)).resolve(scored())
    text = json.dumps(experiment.to_dict())
    assert msgspec.convert(json.loads(text), Experiment) == experiment


@pytest.mark.parametrize("aggregate", ["micro", "macro"])
@pytest.mark.parametrize("name", METHODS)
def test_a_run_by_hand(name, aggregate):
    scores = scored()
    experiment = Experiment(
        methods=(name,), sizes=(4, 9), n_source=10, n_target=6, aggregate=aggregate, seed=11
    ).resolve(scores)
    run = run_once(scores, experiment, 3)
    stream = Stream(11).child("run", 3)
    split = draw_split(scores, n_source=10, n_target=6, stream=stream.child("split"))
    assert run.models == split.target
    assert run.n_items == (len(split.seen), len(split.unseen), 40)
    subtask = dict(zip(scores.items, scores.subtasks, strict=True))

    def score(model, items):
        """Mean over items, or over the means of subtasks."""
        row = dict(zip(scores.items, scores.values[scores.models.index(model)], strict=True))
        if aggregate == "micro":
            return np.mean([row[item] for item in items])
        names = sorted({subtask[item] for item in items})
        return np.mean([np.mean([row[i] for i in items if subtask[i] == t]) for t in names])

    for k, model in enumerate(run.models):
        for row, items in enumerate((split.seen, split.unseen, scores.items)):
            assert run.full[row, k] == pytest.approx(score(model, items))
    source = scores.restrict(models=split.source, items=split.seen)
    build = make_method(name).prepare(source, aggregate=aggregate, stream=stream.child("select"))
    for s, size in enumerate((4, 9)):
        built = build(size)
        chosen = built.selection
        assert set(chosen.items) <= set(split.seen)
        for k, model in enumerate(run.models):
            row = scores.values[scores.models.index(model)]
            by_hand = sum(
                weight * row[scores.items.index(item)]
                for item, weight in zip(chosen.items, chosen.weights, strict=True)
            )
            if not isinstance(built.estimator, FittedMean):
                # Predictions have tests of their own; here: from the chosen items alone.
                part = scores.restrict(models=[model], items=chosen.items)
                found = built.estimator.estimate(part.values, None, part.option_probabilities)
                by_hand = found.values[0]
            assert run.estimates[0, s, k] == pytest.approx(by_hand)


def altered(scores, models=None, items=None):
    """The same matrix with the answers of these models to these items turned round."""
    values, options = scores.values.copy(), scores.option_probabilities.copy()
    rows = [scores.models.index(m) for m in models or scores.models]
    columns = [scores.items.index(i) for i in items or scores.items]
    values[np.ix_(rows, columns)] = 1 - values[np.ix_(rows, columns)]
    options[np.ix_(rows, columns)] = options[np.ix_(rows, columns)][..., ::-1]
    return ScoreMatrix(
        values,
        scores.models,
        scores.items,
        scores.subtasks,
        option_probabilities=options,
        right_options=scores.right_options,
    )


@pytest.mark.parametrize("form", ["default", "paper"])
@pytest.mark.parametrize("name", METHODS)
def test_nothing_leaks_into_estimates(name, form):
    scores = scored()
    experiment = Experiment(
        methods=(name,), sizes=(4, 9), n_source=10, n_target=6, form=form, seed=2
    ).resolve(scores)
    stream = Stream(2).child("run", 0)
    split = draw_split(scores, n_source=10, n_target=6, stream=stream.child("split"))
    plain = run_once(scores, experiment, 0)
    # What models answer on unseen items reaches no estimate, only the full scores.
    unseen = run_once(altered(scores, items=split.unseen), experiment, 0)
    assert (unseen.estimates == plain.estimates).all()
    assert (unseen.full[1] != plain.full[1]).any()
    # Models that are neither source nor target reach nothing.
    others = sorted(set(scores.models) - set(split.source) - set(split.target))
    rest = run_once(altered(scores, models=others), experiment, 0)
    assert (rest.estimates == plain.estimates).all()
    assert (rest.full == plain.full).all()
    # One target's answers reach no other target's estimate.
    first = run_once(altered(scores, models=split.target[:1]), experiment, 0)
    assert (first.estimates[..., 1:] == plain.estimates[..., 1:]).all()
    assert (first.estimates[..., 0] != plain.estimates[..., 0]).any()


def test_leaving_out_methods_sizes_or_runs_changes_no_other_number():
    completed = Completed(scored(), (), ())
    everything = Experiment(methods=tuple(METHODS), sizes=(2, 4, 9), runs=4, seed=6)
    whole = run_experiment(completed, everything)
    for m, name in enumerate(METHODS):
        alone = run_experiment(completed, replace(everything, methods=(name,)))
        assert (alone.estimates[0] == whole.estimates[m]).all()
        assert (alone.full("seen") == whole.full("seen")).all()
    backwards = run_experiment(completed, replace(everything, methods=tuple(METHODS)[::-1]))
    assert (backwards.estimates == whole.estimates[::-1]).all()
    for s, size in enumerate((2, 4, 9)):
        alone = run_experiment(completed, replace(everything, sizes=(size,)))
        assert (alone.estimates[:, 0] == whole.estimates[:, s]).all()
    fewer = run_experiment(completed, replace(everything, runs=2))
    assert (fewer.estimates == whole.estimates[:, :, :2]).all()


def test_runs_differ():
    results = run_experiment(Completed(scored(), (), ()), Experiment(sizes=(9,), runs=6))
    assert len({run.models for run in results.runs}) == 6
    other = run_experiment(Completed(scored(), (), ()), Experiment(sizes=(9,), runs=6, seed=1))
    assert not {run.models for run in results.runs} & {run.models for run in other.runs}
