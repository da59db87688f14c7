"""The contract of every method in the registry; a method inherits it by being registered."""

from __future__ import annotations

import numpy as np
import pytest

from mdad._rng import Stream
from mdad.errors import MethodError
from mdad.experiment import Experiment, estimate
from mdad.methods import METHODS, default_methods, make_method
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix

N_MODELS, N_ITEMS = 24, 30
LABELS = [["few", "some", "many"][min(i // 4, 2)] for i in range(N_ITEMS)]
FORMS = ("default", "paper")
AGGREGATES = ("micro", "macro")
SIZES = (1, 2, 7, N_ITEMS - 1, N_ITEMS)


def matrix(values, subtasks=None, **fields):
    values = np.asarray(values)
    return ScoreMatrix(
        values,
        [f"model-{i:02d}" for i in range(values.shape[0])],
        [f"item-{i:02d}" for i in range(values.shape[1])],
        subtasks,
        **fields,
    )


def zero_one(seed=0):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.1, 0.9, (N_MODELS, 1)) + rng.normal(0, 0.2, (1, N_ITEMS))
    return (rng.random(chance.shape) < chance).astype(int)


def constant_items():
    values = zero_one()
    values[:, :5], values[:, 5:8] = 1, 0
    return values


def duplicates():
    values = zero_one()
    values[:, 10:20] = values[:, :1]
    values[12:18] = values[:1]
    return values


def graded():
    return np.random.default_rng(3).uniform(-33, 10, (N_MODELS, N_ITEMS))


def probabilities():
    return np.random.default_rng(4).uniform(0, 1, (N_MODELS, N_ITEMS))


def options():
    """Probabilities of four options, three on some items; the answer is the most probable one."""
    rng = np.random.default_rng(5)
    right = rng.integers(0, 3, N_ITEMS)
    ability = rng.uniform(0, 3, N_MODELS)[:, None] + rng.normal(0, 1, N_ITEMS)
    logits = rng.normal(size=(N_MODELS, N_ITEMS, 4))
    logits[:, np.arange(N_ITEMS), right] += ability
    chances = np.exp(logits)
    chances[:, 20:, 3] = 0
    chances /= chances.sum(axis=2, keepdims=True)
    values = chances.argmax(axis=2) == right
    chances[:, 20:, 3] = np.nan
    return values.astype(int), {"option_probabilities": chances, "right_options": right}


def with_options():
    values, layers = options()
    return matrix(values, LABELS, **layers)


CASES = {
    "no subtasks": lambda: matrix(zero_one()),
    "subtasks": lambda: matrix(zero_one(), LABELS),
    "one subtask": lambda: matrix(zero_one(), ["all"] * N_ITEMS),
    "subtasks of one item": lambda: matrix(zero_one(), [f"t{i:02d}" for i in range(N_ITEMS)]),
    "one subtask of one item": lambda: matrix(zero_one(), ["odd"] + ["rest"] * (N_ITEMS - 1)),
    "constant items": lambda: matrix(constant_items(), LABELS),
    "nothing but right answers": lambda: matrix(np.ones((N_MODELS, N_ITEMS), dtype=int), LABELS),
    "duplicate models and items": lambda: matrix(duplicates(), LABELS),
    "graded": lambda: matrix(graded(), LABELS, score_range=(-33.0, 10.0)),
    "probabilities": lambda: matrix(zero_one(), LABELS, probabilities=probabilities()),
    "options": with_options,
}

# What a method cannot do it refuses, naming the reason: (method, case) -> part of the message.
REFUSED: dict[tuple[str, str], str] = {
    ("anchor-points-predictor", case): "needs the probability of every option"
    for case in CASES
    if case != "options"
} | {
    (name, "graded"): "needs scores that are right or wrong"
    for name in ("tinybenchmarks", "tinybenchmarks-pirt", "tinybenchmarks-gpirt", "irt-information")
}

# What these draw is where a search starts; several starts may end in one minimum.
SEARCHES = {
    "anchor-points",
    "anchor-ridge",
    "anchor-points-predictor",
    "tinybenchmarks",
    "tinybenchmarks-pirt",
    "tinybenchmarks-gpirt",
}

# These draw nothing: their answer is the same for every stream.
DETERMINISTIC = {
    "c-optimal",
    "c-optimal-factor",
    "mrmr-ridge",
    "mrmr-kernel-ridge",
    "lasso",
    "irt-information",
}

CELLS = [
    pytest.param(name, form, case, aggregate, id=f"{name}-{form}-{case}-{aggregate}")
    for name in METHODS
    for form in FORMS
    for case in CASES
    for aggregate in AGGREGATES
    if (name, case) not in REFUSED
]
DEFAULTS = [cell for cell in CELLS if cell.values[1] == "default"]
each_cell = pytest.mark.parametrize(("name", "form", "case", "aggregate"), CELLS)


def allowed(name):
    """Scores of several subtasks that the method does not refuse."""
    return CASES["options" if (name, "subtasks") in REFUSED else "subtasks"]()


def prepared(name, form, scores, aggregate, seed=0):
    """Prepared on the first 16 models; the other 8 are targets."""
    source = scores.restrict(models=scores.models[:16])
    return make_method(name, form).prepare(source, aggregate=aggregate, stream=Stream(seed))


@each_cell
def test_chooses_exactly_size_distinct_known_items_whose_weights_sum_to_one(
    name, form, case, aggregate
):
    scores = CASES[case]()
    build = prepared(name, form, scores, aggregate)
    for size in SIZES:
        selection = build(size).selection
        assert selection.size == len(selection.items) == len(set(selection.items)) == size
        assert set(selection.items) <= set(scores.items)
        assert selection.weights.shape == (size,)
        assert selection.weights.sum() == pytest.approx(1, abs=1e-12)


# The paper's forms promise no such thing.
@pytest.mark.parametrize(("name", "form", "case", "aggregate"), DEFAULTS)
def test_all_items_give_the_full_score(name, form, case, aggregate):
    scores = CASES[case]()
    target = scores.restrict(models=scores.models[16:])
    found = estimate(prepared(name, form, scores, aggregate)(N_ITEMS), target)
    assert found.values == pytest.approx(target.full_scores(aggregate), abs=1e-9)
    known = found.standard_errors[~np.isnan(found.standard_errors)]
    assert known == pytest.approx(0, abs=1e-9)


@each_cell
def test_estimates_are_finite_and_equal_models_get_equal_ones(name, form, case, aggregate):
    scores = CASES[case]()
    row = scores.models[16]
    build = prepared(name, form, scores, aggregate)
    for size in SIZES:
        target = scores.restrict(models=[row, *scores.models[17:]])
        found = estimate(build(size), target)
        assert found.values.shape == found.standard_errors.shape == (8,)
        assert np.isfinite(found.values).all()
        alike = [k for k in range(8) if (target.values[k] == target.values[0]).all()]
        assert len(set(found.values[alike])) == 1
        assert not (found.standard_errors < 0).any()


@each_cell
def test_the_input_is_not_changed(name, form, case, aggregate):
    scores = CASES[case]()
    source = scores.restrict(models=scores.models[:16])
    before = (
        source.values.copy(),
        None if source.probabilities is None else (source.probabilities.copy()),
    )
    build = make_method(name, form).prepare(source, aggregate=aggregate, stream=Stream(0))
    for size in SIZES:
        estimate(build(size), scores.restrict(models=scores.models[16:]))
    assert (source.values == before[0]).all()
    if before[1] is not None:
        assert (source.probabilities == before[1]).all()


@each_cell
def test_a_size_gets_the_same_answer_whatever_else_was_asked(name, form, case, aggregate):
    scores = CASES[case]()
    target = scores.restrict(models=scores.models[16:])
    ascending = prepared(name, form, scores, aggregate)
    together = {size: ascending(size) for size in SIZES}
    backwards = prepared(name, form, scores, aggregate)
    for size in reversed(SIZES):
        alone = prepared(name, form, scores, aggregate)(size)
        for other in (alone, backwards(size)):
            assert other.selection.items == together[size].selection.items
            assert (other.selection.weights == together[size].selection.weights).all()
            assert (estimate(other, target).values == estimate(together[size], target).values).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", METHODS)
def test_streams_of_other_seeds_give_other_random_items(name, form):
    scores = allowed(name)
    if name in SEARCHES:
        builds = [prepared(name, form, scores, "micro", seed) for seed in range(20)]
        found = {(size, build(size).selection.items) for build in builds for size in (2, 7, 15)}
        assert len(found) > 3
        return
    chosen = {
        frozenset(prepared(name, form, scores, "micro", s)(7).selection.items) for s in (0, 1, 2)
    }
    assert len(chosen) == (1 if name in DETERMINISTIC else 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", METHODS)
def test_sizes_that_cannot_be_are_refused(name, form):
    build = prepared(name, form, allowed(name), "micro")
    with pytest.raises(MethodError, match="cannot choose 31 items from a pool of 30"):
        build(N_ITEMS + 1)
    with pytest.raises(ValueError, match="size must be a whole number of 1 or more"):
        build(0)


def test_what_a_method_cannot_do_it_refuses():
    for (name, case), message in REFUSED.items():
        for form in FORMS:
            with pytest.raises(MethodError, match=message):
                prepared(name, form, CASES[case](), "micro")(7)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", ["subtasks", "graded", "probabilities", "options"])
def test_the_order_of_models_and_items_changes_no_estimate(case, form, aggregate):
    scores = CASES[case]()
    rng = np.random.default_rng(8)
    shuffled = scores.restrict(
        models=[scores.models[i] for i in rng.permutation(N_MODELS)],
        items=[scores.items[i] for i in rng.permutation(N_ITEMS)],
    )
    methods = tuple(name for name in METHODS if (name, case) not in REFUSED)
    experiment = Experiment(
        methods=methods, sizes=(2, 7), runs=4, form=form, aggregate=aggregate, seed=1
    )
    a, b = (run_experiment(Completed(s, (), ()), experiment) for s in (scores, shuffled))
    assert (a.estimates == b.estimates).all()
    assert all((a.full(items) == b.full(items)).all() for items in ("seen", "unseen", "all"))
    assert a.spec == b.spec


def test_every_method_says_what_it_does_and_makes_itself_under_its_name():
    for name, info in METHODS.items():
        assert info.help
        assert info.reads
        for form in FORMS:
            assert make_method(name, form).name == name
            assert make_method(name, form) == make_method(name, form)
        same = make_method(name, "paper") == make_method(name, "default")
        assert same == (not info.paper_form)


def test_unknown_methods_are_refused_with_the_nearest_name():
    with pytest.raises(MethodError, match="did you mean 'random'"):
        make_method("randm")


def test_default_methods_fit_the_scores():
    assert default_methods(CASES["no subtasks"]()) == ("random",)
    assert default_methods(CASES["one subtask"]()) == ("random",)
    assert len(default_methods(CASES["subtasks"]())) == 3
