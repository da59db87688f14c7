"""The random methods: who is chosen how often, and whether estimates are biased."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdad._rng import Stream
from mdad.datasets import simulate_population
from mdad.methods import make_method
from mdad.scores import ScoreMatrix
from mdad.selectors.stratified import (
    equal_allocation,
    proportional_allocation,
)

SUBTASKS = {"tiny": 20, "small": 60, "large": 320}
DRAWS = 2000
BOUND = 4.5
"""In standard errors. About 30 figures are tested: one passes it by chance once in 5,000 times."""
FAR = 10


@pytest.fixture(scope="module")
def scores():
    """Simulated subtasks of unequal size and difficulty, whose truth is the mean of all items."""
    population = simulate_population(subtasks=SUBTASKS, seed=8, probabilities=False)
    return population.scores(population.draw_models(12))


def errors(scores, name, form, size, aggregate="micro"):
    """Mean over models of estimate - full score, one per draw."""
    method, full = make_method(name, form), scores.full_scores(aggregate)
    # The mean over models of a linear estimate is the estimate of the mean model.
    values = scores.values.mean(axis=0)
    found = np.empty(DRAWS)
    for draw in range(DRAWS):
        built = method.prepare(scores, aggregate=aggregate, stream=Stream(draw))(size)
        columns = [scores.item_position[item] for item in built.selection.items]
        found[draw] = built.estimator.estimate(values[None, columns]).values[0]
    return found - full.mean()


def z(errors, expected=0.0):
    return (errors.mean() - expected) / (errors.std(ddof=1) / math.sqrt(len(errors)))


def subtask_means(scores):
    means = scores.values.mean(axis=0)
    return np.array([means[part].mean() for part in scores.subtask_positions.values()])


@pytest.mark.parametrize("size", [3, 10, 48])
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("random", "default"),
        ("random", "paper"),
        ("random-subtasks-equal", "default"),
        ("random-subtasks-proportional", "default"),
    ],
)
def test_our_forms_are_unbiased(scores, name, form, size):
    assert abs(z(errors(scores, name, form, size))) < BOUND


@pytest.mark.parametrize("size", [3, 48])
@pytest.mark.parametrize("name", ["random-subtasks-equal", "random-subtasks-proportional"])
def test_the_papers_forms_are_biased_towards_small_subtasks(scores, name, size):
    # Subtasks count the same, whatever their size: what they estimate is the mean of the means.
    bias = subtask_means(scores).mean() - scores.full_scores().mean()
    assert abs(bias) > 0.03
    found = errors(scores, name, "paper", size)
    assert abs(z(found)) > FAR
    if size == 3:
        # Exactly, until draws without replacement use small subtasks up.
        assert abs(z(found, bias)) < BOUND or name == "random-subtasks-proportional"
    assert np.sign(found.mean()) == np.sign(bias)


@pytest.mark.parametrize("size", [3, 12])
def test_the_equal_form_is_unbiased_for_the_macro_mean_too(scores, size):
    assert abs(z(errors(scores, "random-subtasks-equal", "default", size, "macro"))) < BOUND


def test_a_uniform_sample_states_its_standard_error(scores):
    # s^2 / n x (1 - n / N) is unbiased for the variance of the mean of n items of N.
    size, method = 40, make_method("random")
    full = scores.full_scores()
    squares, claimed = np.empty((DRAWS, 12)), np.empty((DRAWS, 12))
    for draw in range(DRAWS):
        built = method.prepare(scores, aggregate="micro", stream=Stream(draw))(size)
        columns = [scores.item_position[item] for item in built.selection.items]
        found = built.estimator.estimate(scores.values[:, columns])
        squares[draw], claimed[draw] = (found.values - full) ** 2, found.standard_errors**2
    # One figure per draw, for the models share its items.
    assert abs(z((squares - claimed).mean(axis=1))) < BOUND
    by_hand = math.sqrt(0.25 * 40 / 39 / 40 * (1 - 40 / 400))
    half = built.estimator.estimate(np.array([[0, 1] * 20]))
    assert half.standard_errors[0] == pytest.approx(by_hand)


def test_items_of_a_uniform_sample_are_chosen_equally_often(scores):
    counts = item_counts(scores, "random", "default", 40)
    expected, variance = DRAWS * 0.1, DRAWS * 0.1 * 0.9
    assert (np.abs(counts - expected) < 5 * math.sqrt(variance)).all()


def test_items_of_a_proportional_sample_are_chosen_equally_often(scores):
    # Size 7 of subtasks of 20, 60 and 320: exact shares .35, 1.05 and 5.6, rounded at random.
    counts = item_counts(scores, "random-subtasks-proportional", "default", 7)
    for part in scores.subtask_positions.values():
        drawn = counts[part].sum()
        share = 7 * len(part) / 400
        # Rounded up or down: variance f (1 - f) of each draw, f the fraction.
        sd = math.sqrt(DRAWS * (share % 1) * (1 - share % 1))
        assert abs(drawn - DRAWS * share) < BOUND * sd


def item_counts(scores, name, form, size):
    counts = np.zeros(scores.n_items)
    for draw in range(DRAWS):
        build = make_method(name, form).prepare(scores, aggregate="micro", stream=Stream(draw))
        counts[[scores.item_position[item] for item in build(size).selection.items]] += 1
    return counts


def capacities(*sizes):
    return np.array(sizes)


@pytest.mark.parametrize("size", [1, 2, 3, 12, 15, 100, 2002, 2003])
@pytest.mark.parametrize("allocation", [equal_allocation, proportional_allocation])
def test_allocations_sum_to_the_size_within_capacity(allocation, size):
    room = capacities(3, 1000, 1000)
    for seed in range(50):
        taken = allocation(room, size, np.random.default_rng(seed))
        assert taken.sum() == size
        assert (taken >= 0).all()
        assert (taken <= room).all()


def test_equal_allocation_by_hand():
    rng = np.random.default_rng(0)
    # User case 21: a used-up subtask gives all it has; the rest is shared again.
    assert equal_allocation(capacities(3, 1000, 1000), 12, rng).tolist()[0] == 3
    assert sorted(equal_allocation(capacities(3, 1000, 1000), 12, rng).tolist()) == [3, 4, 5]
    assert equal_allocation(capacities(*[9] * 10), 30, rng).tolist() == [3] * 10
    leftovers = [equal_allocation(capacities(9, 9), 3, rng).tolist() for _ in range(50)]
    assert {tuple(taken) for taken in leftovers} == {(1, 2), (2, 1)}


def test_proportional_allocation_rounds_up_or_down():
    room = capacities(717, 789, 1132, 410, 844)
    exact = 50 * room / room.sum()
    for seed in range(200):
        taken = proportional_allocation(room, 50, np.random.default_rng(seed))
        assert (np.abs(taken - exact) < 1).all()


def test_a_whole_small_subtask_can_be_taken():
    # B12: the snapshot asserted size < subtask and failed when they were equal.
    values = np.eye(6, dtype=int)
    scores = ScoreMatrix(values, range(6), range(6), ["a", "a", "b", "b", "b", "b"])
    build = make_method("random-subtasks-equal").prepare(
        scores, aggregate="micro", stream=Stream(0)
    )
    assert {"0", "1"} <= set(build(4).selection.items)
