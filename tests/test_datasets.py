"""Simulated benchmarks: shapes, spread, determinism, and answers that follow the known truth."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdad.datasets import SimulationSettings, simulate, simulate_population
from mdad.datasets._settings import SimulationOptions, proportional
from mdad.errors import SettingError

PAPER_SEEN = {"mmlu": 5306, "mmlu-pro": 6012, "bbh": 2880, "gpqa": 224}


def gaps_of(scores):
    full = scores.full_scores()
    return np.abs(full[:, None] - full)[np.triu_indices(len(full), 1)]


def disagreement(scores, one, other):
    return (scores.values[one] != scores.values[other]).mean()


@pytest.mark.parametrize(
    ("preset", "n_models", "n_items", "n_subtasks", "n_options"),
    [
        ("mmlu", 366, 10631, 48, {4}),
        ("mmlu-pro", 470, 12032, 14, {10}),
        ("bbh", 409, 5761, 24, {2, 3, 4, 5, 6, 7, 11, 18, 19}),
        ("gpqa", 420, 448, 1, {4}),
    ],
)
def test_presets_have_the_sizes_of_the_real_benchmarks(
    preset, n_models, n_items, n_subtasks, n_options
):
    scores = simulate(preset=preset)
    assert (scores.n_models, scores.n_items) == (n_models, n_items)
    assert scores.simulated
    assert scores.name == f"simulated {preset}"
    parts = scores.subtask_positions.values()
    assert len(parts) == n_subtasks
    assert sum(len(columns) // 2 for columns in parts) == PAPER_SEEN[preset]
    assert set(scores.item_info["n_options"]) == n_options
    assert scores.values.dtype == np.int8
    assert scores.probabilities.dtype == np.float32
    assert {"family", "size"} <= set(scores.model_info.columns)


def test_a_preset_can_be_made_smaller_and_keeps_its_subtasks():
    scores = simulate(preset="bbh", n_models=20, n_items=300)
    assert (scores.n_models, scores.n_items) == (20, 300)
    assert len(scores.subtask_positions) == 24
    other = simulate(preset="bbh", n_models=20, subtasks={"x": 30, "y": 10})
    assert {name: len(part) for name, part in other.subtask_positions.items()} == {
        "x": 30,
        "y": 10,
    }
    assert simulate(preset="gpqa", n_models=5, subtasks={"x": 30}).n_items == 30


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not():
    first, again, other = (simulate(n_models=30, n_items=80, seed=seed) for seed in (3, 3, 4))
    assert first.values.tobytes() == again.values.tobytes()
    assert first.probabilities.tobytes() == again.probabilities.tobytes()
    assert first.model_info.equals(again.model_info)
    assert first.data_fingerprint == again.data_fingerprint
    assert (first.values != other.values).any()


def test_blocks_change_nothing(monkeypatch):
    settings = {"n_models": 17, "n_items": 60, "near_copies": 0.3, "missing": 0.1}
    whole = simulate(**settings)
    monkeypatch.setattr("mdad.datasets._population.BLOCK_CELLS", 150)
    parts = simulate(**settings)
    assert np.array_equal(whole.values, parts.values, equal_nan=True)
    assert np.array_equal(whole.probabilities, parts.probabilities, equal_nan=True)


@pytest.mark.parametrize(("mean", "sd", "n_options"), [(0.55, 0.12, 4), (0.8, 0.05, None)])
def test_full_scores_have_the_wanted_mean_and_spread(mean, sd, n_options):
    population = simulate_population(
        n_items=4000, accuracy_mean=mean, accuracy_sd=sd, n_options=n_options, seed=2
    )
    models = population.draw_models(600, seed=1)
    expected = population.probability(models).mean(axis=1)
    # Standard errors: sd / sqrt(600) of the mean, sd / sqrt(1200) of the spread; half the items
    # are probed for the ability, which moves both by a few thousandths.
    assert expected.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(600) + 0.005)
    assert expected.std() == pytest.approx(sd, rel=0.15)
    full = population.scores(models).full_scores()
    assert np.abs(full - expected).max() < 5 * np.sqrt(0.25 / 4000)


def test_answers_follow_the_true_probabilities():
    """Each cell answered 300 times: z-scores of cells, models and items stay within bounds."""
    population = simulate_population(n_items=90, probabilities=False, near_copies=0.2, seed=5)
    models = population.draw_models(40, seed=1)
    chance = population.probability(models).astype(float)
    n_draws = 300
    counts = sum(population.scores(models, seed=k).values.astype(float) for k in range(n_draws))
    excess, variance = counts - n_draws * chance, n_draws * chance * (1 - chance)
    usual = variance > 5
    squares = (excess[usual] ** 2) / variance[usual]
    # A squared z-score has mean 1 and variance near 2 (up to 2 + 1/5 at the smallest counts);
    # near copies repeat their originals' draws, which doubles the variance of the mean at most.
    assert abs(squares.mean() - 1) < 5 * np.sqrt(2 * 2.2 / usual.sum())
    originals = models.copy_of < 0
    by_model = excess.sum(axis=1) / np.sqrt(variance.sum(axis=1))
    by_item = excess[originals].sum(axis=0) / np.sqrt(variance[originals].sum(axis=0))
    assert np.abs(by_model).max() < 5
    assert np.abs(by_item).max() < 5


def test_models_are_independent_given_the_truth_unless_one_copies_the_other():
    population = simulate_population(n_items=3000, probabilities=False, n_options=None, seed=5)
    models = population.draw_models(30, seed=1)
    residual = population.scores(models).values - population.probability(models)
    correlation = np.corrcoef(residual)[np.triu_indices(30, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(3000)


def test_fresh_models_share_items_but_not_ids_or_answers():
    population = simulate_population(n_items=300, families=4, seed=5)
    one, other = (population.scores(population.draw_models(50, seed=s)) for s in (1, 2))
    assert one.items == other.items
    assert one.items_fingerprint == other.items_fingerprint
    assert not set(one.models) & set(other.models)
    difficulty = [matrix.values.mean(axis=0) for matrix in (one, other)]
    assert np.corrcoef(difficulty)[0, 1] > 0.8


def test_the_true_order_is_recovered():
    population = simulate_population(n_items=3000, seed=6)
    models = population.draw_models(60, seed=1)
    true = population.probability(models).mean(axis=1)
    full = population.scores(models).full_scores()
    apart = np.abs(true[:, None] - true) > 0.05
    assert apart.sum() > 1000
    assert (np.sign(true[:, None] - true) == np.sign(full[:, None] - full))[apart].all()


@pytest.mark.parametrize(("n_options", "guessing"), [(4, 1.0), (10, 1.0), (4, 0.4), (4, 0.0)])
def test_a_model_that_knows_nothing_is_at_chance_level(n_options, guessing):
    population = simulate_population(n_items=5000, n_options=n_options, guessing=guessing, seed=3)
    chance = population.guessing
    assert (chance >= 0).all()
    # The floors' standard deviation is at most sqrt(p (1 - p) / 13).
    level = guessing / n_options
    assert chance.mean() == pytest.approx(level, abs=5 * np.sqrt(level / 13 / 5000) + 1e-9)
    models = population.draw_models(200, seed=1)
    assert (population.probability(models) >= chance - 1e-6).all()


@pytest.mark.parametrize("n_options", [2, 4, 10, None])
def test_the_chosen_option_is_the_most_probable_one(n_options):
    scores = simulate(n_models=60, n_items=500, n_options=n_options, accuracy_mean=0.7, seed=1)
    right, belief = scores.values == 1, scores.probabilities
    assert (belief[right] >= 1 / (n_options or 2) - 1e-6).all()
    assert (belief[~right] <= 0.5).all()
    assert right[belief > 0.5].all()
    assert ((belief >= 0) & (belief <= 1)).all()
    assert belief.std() > 0.1


def test_probabilities_carry_more_than_the_answers():
    """The mean probability of 20 items tells more about a model than its mean score does."""
    population = simulate_population(n_items=2000, seed=9)
    models = population.draw_models(200, seed=1)
    scores = population.scores(models)
    true = population.probability(models).mean(axis=1)
    tells = [
        np.corrcoef(layer[:, ::100].mean(axis=1), true)[0, 1]
        for layer in (scores.probabilities, scores.values)
    ]
    assert tells[0] > tells[1]
    # Imperfectly calibrated, but the overall level is right within ten points.
    assert abs(scores.probabilities.mean() - scores.values.mean()) < 0.1


def test_models_differ_in_how_sharp_their_probabilities_are():
    scores = simulate(n_models=100, n_items=1000, accuracy_sd=0.02, seed=1)
    sure = np.abs(scores.probabilities - 0.5).mean(axis=1)
    assert sure.max() / sure.min() > 1.2


def test_subtasks_have_unequal_sizes_and_difficulties():
    scores = simulate(n_models=50, n_items=1000, subtasks=8, seed=2)
    sizes = [len(part) for part in scores.subtask_positions.values()]
    assert sum(sizes) == 1000
    assert max(sizes) > 2 * min(sizes)
    means = [scores.values[:, part].mean() for part in scores.subtask_positions.values()]
    assert np.ptp(means) > 0.05
    assert scores.items[0] == "subtask-01/0000"


def test_a_subtask_has_its_own_ranking():
    scores = simulate(n_models=150, n_items=2000, subtasks={"a": 1000, "b": 1000}, seed=2)
    whole = scores.values.astype(float)
    within = np.corrcoef(whole[:, :500].mean(axis=1), whole[:, 500:1000].mean(axis=1))[0, 1]
    across = np.corrcoef(whole[:, :500].mean(axis=1), whole[:, 1000:1500].mean(axis=1))[0, 1]
    assert within > across


def test_near_copies_answer_like_their_originals():
    scores = simulate(n_models=100, n_items=400, near_copies=0.3, copy_redraws=0.1, seed=1)
    original = scores.model_info["copy_of"]
    copies = [
        (scores.model_position[m], scores.model_position[o]) for m, o in original.items() if o
    ]
    assert len(copies) == 30
    # At most 10 % are answered afresh, and at most about half of those differ.
    shares = [disagreement(scores, copy, source) for copy, source in copies]
    assert max(shares) < 0.08
    assert np.mean(shares) > 0
    others = [disagreement(scores, k, k + 1) for k in range(0, 99, 3) if (k, k + 1) not in copies]
    assert np.median(others) > 0.2
    families = scores.model_info["family"].to_numpy()
    assert all(families[copy] == families[source] for copy, source in copies)


def test_copies_without_redraws_are_exact():
    scores = simulate(n_models=20, n_items=100, near_copies=0.5, copy_redraws=0)
    for model, original in scores.model_info["copy_of"].items():
        if original:
            rows = [scores.model_position[name] for name in (model, original)]
            assert disagreement(scores, *rows) == 0


def test_families_explain_part_of_the_scores():
    shares = []
    for effect in (0.0, 0.8):
        scores = simulate(n_models=400, n_items=500, families=8, family_effect=effect, seed=1)
        full = scores.full_scores()
        family = scores.model_info["family"].to_numpy()
        assert len(set(family)) == 8
        means = np.array([full[family == name].mean() for name in family])
        shares.append(means.var() / full.var())
    assert shares[0] < 0.1
    assert shares[1] > 0.5


def test_larger_models_are_better_on_average():
    scores = simulate(n_models=300, n_items=500, seed=1)
    assert np.corrcoef(np.log(scores.model_info["size"]), scores.full_scores())[0, 1] > 0.4


def test_two_groups_of_models_are_far_apart():
    scores = simulate(n_models=100, n_items=1000, groups=2, seed=1)
    full, group = scores.full_scores(), scores.model_info["group"].to_numpy()
    weak, strong = full[group == "weak"], full[group == "strong"]
    assert len(weak) == len(strong) == 50
    assert strong.min() - weak.max() > 0.2
    assert strong.mean() - weak.mean() == pytest.approx(0.4, abs=0.03)


def test_missing_cells_are_missing_in_both_layers():
    scores = simulate(n_models=60, n_items=200, missing=0.1, seed=1)
    absent = np.isnan(scores.values)
    assert absent.mean() == pytest.approx(0.1, abs=5 * np.sqrt(0.09 / 12000))
    assert np.array_equal(absent, np.isnan(scores.probabilities))
    complete = simulate(n_models=60, n_items=200, seed=1)
    assert np.array_equal(scores.values[~absent], complete.values[~absent])


@settings(max_examples=60, deadline=None)
@given(
    n_models=st.integers(1, 12),
    n_items=st.integers(3, 30),
    subtasks=st.none() | st.integers(1, 3),
    n_dims=st.integers(1, 6),
    families=st.integers(0, 4),
    groups=st.integers(1, 2),
    n_options=st.none() | st.integers(2, 12),
    shares=st.tuples(*[st.floats(0, 0.9)] * 4),
    seed=st.integers(0, 2**40),
)
def test_any_settings_give_consistent_layers(shares, **options):
    near_copies, copy_redraws, family_effect, missing = shares
    # A mean of .77 keeps both groups above the guessing floor, even that of three lucky items.
    scores = simulate(
        near_copies=near_copies,
        copy_redraws=copy_redraws,
        family_effect=family_effect,
        missing=missing,
        accuracy_mean=0.77,
        accuracy_sd=0.02,
        group_gap=0.1,
        guessing=0.5 if options["n_options"] else 1.0,
        **options,
    )
    known = ~np.isnan(scores.values)
    assert np.array_equal(known, ~np.isnan(scores.probabilities))
    right, belief = scores.values[known] == 1, scores.probabilities[known]
    assert right[belief > 0.5].all()
    assert (belief[right] >= 1 / (options["n_options"] or 2) - 1e-6).all()


def test_smallest_settings():
    scores = simulate(n_models=1, n_items=1, n_dims=1, families=0, probabilities=False)
    assert scores.values.shape == (1, 1)
    assert scores.probabilities is None
    assert scores.subtasks is None
    assert list(scores.model_info.columns) == ["size"]
    free = simulate(n_models=2, n_items=5, n_options=None)
    assert "n_options" not in free.item_info
    assert (free.item_info["guessing"] == 0).all()


def test_scores_spread_over_many_close_pairs():
    assert (gaps_of(simulate(preset="gpqa")) < 0.02).mean() > 0.2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "mmlu_pro"}, "did you mean 'mmlu-pro'"),
        ({"n_modles": 3}, "did you mean 'n_models'"),
        ({"n_models": 0}, "n_models must be a whole number of 1 or more"),
        ({"n_dims": 0}, "n_dims"),
        ({"seed": -1}, "seed"),
        ({"near_copies": 1.0}, "near_copies must be below 1"),
        ({"groups": 3}, "groups must be a whole number from 1 to 2"),
        ({"accuracy_mean": 0.2}, "guessing alone is right on 0.2"),
        ({"accuracy_sd": 0.45}, "no models can have a mean accuracy of 0.55"),
        ({"groups": 2, "group_gap": 0.9}, "group_gap"),
        ({"n_items": 5, "subtasks": {"a": 3, "b": 3}}, "add up to 6"),
        ({"n_items": 5, "subtasks": 6}, "subtasks must be a whole number from 1 to 5"),
        ({"subtasks": {"a": 0}}, "the size of subtask 'a'"),
        ({"subtasks": {}}, "subtasks"),
        ({"subtasks": {"a": 3}, "n_options": {"b": 4}}, "only one of them has 'a', 'b'"),
        ({"subtasks": {"a": 3}, "n_options": {"a": 1}}, "n_options of subtask 'a'"),
        ({"n_options": 1}, "n_options must be"),
        ({"n_options": None, "guessing": 0.5}, "guessing has no effect"),
        ({"name": "leaderboard"}, "must say 'simulated'"),
        ({"preset": "bbh", "n_items": 20}, "n_items must be a whole number of 24 or more"),
    ],
)
def test_impossible_settings_are_refused(options, words):
    with pytest.raises(SettingError, match=words):
        simulate(**options)


def test_keyword_arguments_are_the_settings():
    assert list(SimulationOptions.__annotations__) == [f.name for f in fields(SimulationSettings)]


def test_proportional_by_hand():
    # 10 items, 1 each for three parts, 7 free: exact shares 4.2, 2.1, 0.7 -> 5, 3, 1 and the
    # last item to the largest remainder, .7.
    assert proportional(10, [6, 3, 1]) == [5, 3, 2]
    assert proportional(3, [100, 1, 1]) == [1, 1, 1]
