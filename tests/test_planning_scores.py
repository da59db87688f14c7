"""mdad.planning on score matrices: pairs, curves, and simulation as a witness."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from mdad.errors import ScoresError, SettingError, UnknownIdError
from mdad.planning import _matrix as matrix_module
from mdad.planning import agreement, items_for_gap, mdad, plan
from mdad.planning._chance import Rule, count_chances
from mdad.planning._matrix import MeasuredPairs, isotonic, pooled_source, source_of, step_of
from mdad.planning._sources import AssumedDiscordance, AssumedSpread
from mdad.scores import ScoreMatrix

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="module")
def experiment():
    """The module of experiments/closed_form.py: an experiment that is not run rots."""
    spec = importlib.util.spec_from_file_location(
        "closed_form", ROOT / "experiments" / "closed_form.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulated(n_models=40, n_items=120, *, graded=False, seed=3):
    """Models of evenly spread ability on items of random difficulty."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(-1, 1, n_models)[:, None]
    chance = 1 / (1 + np.exp(-(ability - rng.normal(size=n_items))))
    tries = 10 if graded else 1
    values = rng.binomial(tries, chance) / tries
    models = [f"m{i}" for i in range(n_models)]
    return ScoreMatrix(values, models, [f"q{j}" for j in range(n_items)], simulated=True)


def naive_pairs(scores):
    """Wins and losses of the better model, one pair at a time."""
    found = []
    for i in range(scores.n_models):
        for j in range(i):
            a, b = scores.values[i].astype(int), scores.values[j].astype(int)
            if a.sum() == b.sum():
                continue
            a, b = (a, b) if a.sum() > b.sum() else (b, a)
            found.append((int((a > b).sum()), int((a < b).sum())))
    return found


def test_pairs_are_counted_like_one_at_a_time():
    scores = simulated(12, 40)
    source, n_pairs = source_of(scores)
    kinds = zip(source.wins, source.losses, source.numbers, strict=True)
    found = [(int(w), int(x)) for w, x, n in kinds for _ in range(int(n))]
    assert sorted(found) == sorted(naive_pairs(scores))
    assert n_pairs == source.n_pairs == len(found)
    shares = np.array(naive_pairs(scores)) / 40
    expected = shares.sum(axis=1) - (shares[:, 0] - shares[:, 1]) ** 2
    ours = np.repeat(source.variances, source.numbers.astype(int))
    assert np.sort(ours) == pytest.approx(np.sort(expected))


def test_the_curve_is_the_mean_over_the_pairs_of_each_bin():
    scores = simulated(12, 200)
    source, _ = source_of(scores)
    gaps, chances = source.curve(30, Rule())
    wins, losses = np.array(naive_pairs(scores)).T
    each = count_chances(wins, losses, 30, 200)[0]
    bins = wins - losses  # half a point is one of 200 items
    means = np.array([each[bins == b].mean() for b in np.unique(bins)])
    weights = np.array([(bins == b).sum() for b in np.unique(bins)])
    assert gaps == pytest.approx(np.append(0, np.unique(bins) / 200))
    assert chances[1:] == pytest.approx(isotonic(means, weights.astype(float)))
    assert np.average(chances[1:], weights=weights) == pytest.approx(each.mean())


def test_isotonic_against_scikit_learn():
    fit = pytest.importorskip("sklearn.isotonic").IsotonicRegression()
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, weights = rng.normal(size=30), rng.integers(1, 9, size=30).astype(float)
        expected = fit.fit_transform(np.arange(30), values, sample_weight=weights)
        assert isotonic(values, weights) == pytest.approx(expected)


def test_graded_pairs_by_hand():
    scores = ScoreMatrix([[1, 0.5, 0.25, 0.75], [0.5] * 4], ["a", "b"], list("wxyz"))
    found = matrix_module._graded(scores)
    # Differences 0.5, 0, -0.25, 0.25: mean 0.125, variance 0.09375 - 0.015625.
    assert (found.gaps[0], found.variances[0]) == pytest.approx((0.125, 0.078125))
    assert found.bins.tolist() == [25]
    assert found.step == 0.25
    # Two of the four items: se^2 = 0.078125 / 2 * 2 / 3; a tie is worth 0.25 / 4.
    se = np.sqrt(0.078125 / 3)
    z = [(0.125 - side * 0.0625) / se for side in (1, -1)]
    ahead, above = (0.5 * math.erfc(-x / math.sqrt(2)) for x in z)
    arguments = (found.gaps, found.variances, 2, 4, found.step)
    assert Rule().spread(*arguments)[0] == pytest.approx(ahead)
    assert Rule(ties="half").spread(*arguments)[0] == pytest.approx((ahead + above) / 2)


def test_steps_of_graded_scores():
    assert step_of(np.array([1.0, 4.0, 6.0, 10.0]), 9.0) == 1.0
    assert step_of(np.array([-1.0, -0.99, 0.37]), 2.0) == 0.01
    assert step_of(np.array([0.3, 0.3]), 1.0) == 0.0
    assert step_of(np.array([0.0, 1e-5, 1.0]), 1.0) == 0.0
    assert step_of(np.array([0.0, 0.25, 0.25 * np.sqrt(2), 1.0]), 1.0) == 0.0
    assert step_of(np.random.default_rng(0).random(5000), 1.0) == 0.0


def test_few_pairs_are_pooled():
    scores = simulated(6, 50)
    source = pooled_source(scores)
    pairs = [(i, j) for i in range(6) for j in range(i)]
    differ = [(scores.values[i] != scores.values[j]).mean() for i, j in pairs]
    assert isinstance(source, AssumedDiscordance)
    assert source.discordance == pytest.approx(np.mean(differ))
    assert type(source_of(scores)[0]) is AssumedDiscordance
    graded = simulated(6, 50, graded=True)
    spread = pooled_source(graded)
    variances = [(graded.values[i] - graded.values[j]).var() for i, j in pairs]
    assert isinstance(spread, AssumedSpread)
    assert spread.spread**2 == pytest.approx(np.mean(variances))
    assert "too few for a curve" in plan(size=10, scores=scores).assumptions[0]


def test_named_models():
    scores = simulated()
    named = plan(scores=scores, models=["m0", "m39"])
    difference = scores.values[39].astype(float) - scores.values[0]
    assert named.gap == pytest.approx(difference.mean())
    assert named.discordance == pytest.approx(np.abs(difference).mean())
    few = [f"m{i}" for i in range(12)]
    assert mdad(30, scores=scores, models=few) == mdad(30, scores=scores.restrict(models=few))
    with pytest.raises(UnknownIdError, match="m99"):
        plan(size=10, scores=scores, models=["m0", "m99"])


def test_a_plan_from_scores_says_where_it_comes_from():
    found = plan(gap=0.05, size=30, scores=simulated())
    assert found.discordance is None
    assert found.n_items == 120
    assert "40 models on 120 items" in found.assumptions[0]
    assert "simulated" in found.assumptions[0]
    assert found.items == items_for_gap(0.05, scores=simulated())
    assert found.achieved == pytest.approx(agreement(0.05, 30, scores=simulated()))


def test_mdad_and_items_for_a_gap_agree_on_a_matrix():
    scores = simulated()
    source, _ = source_of(scores)
    found = mdad(40, scores=scores)
    assert source.chance(found, 40, Rule()) == pytest.approx(0.8, abs=1e-5)
    assert items_for_gap(found + 1e-6, scores=scores) <= 41
    short = [k for k in range(1, 121) if source.chance(found, k, Rule()) < 0.8 - 1e-6]
    assert abs(items_for_gap(found, scores=scores) - (max(short) + 1)) <= 1
    assert mdad(120, scores=scores) == 0.0


def test_not_reached_is_none_and_said():
    rng = np.random.default_rng(0)
    values = rng.permuted(np.tile([1] * 50 + [0] * 50, (12, 1)), axis=1)
    for model in range(12):  # 50 to 61 right: no gap above 11 points
        values[model, np.flatnonzero(values[model] == 0)[:model]] = 1
    scores = ScoreMatrix(values, [f"m{i}" for i in range(12)], [f"q{i}" for i in range(100)])
    found = plan(size=5, scores=scores)
    assert found.mdad is None
    assert "the MDAD is not reached" in found.answer
    assert np.isnan(found.sizes_frame()["mdad"].iloc[0])
    far = plan(gap=0.5, size=5, scores=scores)
    assert "no known gap is wide enough" in far.answer


def test_equal_models_have_no_pairs_with_a_gap():
    same = ScoreMatrix([[1, 0], [0, 1]], ["a", "b"], ["x", "y"])
    assert source_of(same) == (AssumedDiscordance(1.0, 2), 0)
    graded = ScoreMatrix([[0.5, 0.1], [0.1, 0.5]], ["a", "b"], ["x", "y"])
    assert source_of(graded)[1] == 0
    with pytest.raises(ScoresError, match="at least two models"):
        plan(size=1, scores=same.restrict(models=["a"]))
    with pytest.raises(SettingError, match="n_items has no effect beside scores"):
        plan(size=1, scores=same, n_items=5)


def test_merging_kinds_of_pairs_changes_little(monkeypatch):
    scores = simulated(60, 400)
    exact = mdad(50, scores=scores)
    monkeypatch.setattr(matrix_module, "MAX_KINDS", 100)
    merged, _ = source_of(scores)
    assert isinstance(merged, MeasuredPairs)
    assert mdad(50, scores=scores) == pytest.approx(exact, abs=0.0005)


def test_power_to_show_is_how_often_the_paired_test_shows_it():
    # 60 won and 30 lost of 300 items, 90 drawn: gap 0.1, variance 0.29.
    rng = np.random.default_rng(5)
    items = np.repeat([1, -1, 0], [60, 30, 210])
    drawn = np.array([rng.permutation(items)[:90] for _ in range(4000)])
    se = np.sqrt(drawn.var(axis=1, ddof=1) / 90 * (1 - 90 / 300))
    shown = (drawn.mean(axis=1) / se > 1.645).mean()
    found = agreement(0.1, 90, goal="show", discordance=0.3, n_items=300)
    assert found == pytest.approx(shown, abs=0.03)


@pytest.mark.parametrize("graded", [False, True])
def test_closed_form_against_simulation(experiment, graded):
    scores = simulated(graded=graded)
    sizes = [10, 11, 20, 40, 60]
    drawn = experiment.simulated_mdad(scores, sizes, runs=400, seed=0, blocks=True)
    closed = [mdad(size, scores=scores) for size in sizes]
    assert closed == pytest.approx(drawn, abs=0.005)


@pytest.mark.skipif(not DATA.exists(), reason="real score matrices are not here")
@pytest.mark.parametrize("name", ["farel_bench", "evalperf_pass1", "eqbench_v2_first"])
def test_closed_form_against_simulation_on_real_scores(experiment, name):
    scores = experiment.read(DATA, name)
    sizes = [10, 25, scores.n_items // 4, scores.n_items // 2]
    drawn = experiment.simulated_mdad(scores, sizes, runs=300, seed=0, blocks=True)
    closed = np.array([mdad(size, scores=scores) for size in sizes])
    assert np.abs(closed - drawn).max() < scores.point / 2
