"""mdad.planning on assumed differences: exact law, searches, and the plan in words."""

import importlib
import itertools
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdad.errors import MdadError, ScoresError, SettingError
from mdad.planning import _chance as chance_module
from mdad.planning import agreement, items_for_gap, mdad, plan
from mdad.planning._chance import Rule, count_chances, log_factorial, normal_cdf
from mdad.planning._sources import AssumedDiscordance, gap_for, size_for


def oracle(name):
    """A library that tests are checked against; missing is a failure where all must run."""
    if os.environ.get("MDAD_REQUIRE_ALL"):
        return importlib.import_module(name)
    return pytest.importorskip(name)


def chances(wins, losses, size, n_items):
    ahead, level = count_chances(np.array([wins]), np.array([losses]), size, n_items)
    return float(ahead[0]), float(level[0])


# The exact law, against enumeration and scipy


@pytest.mark.parametrize("wins", range(9))
def test_every_subset_of_a_benchmark_of_12_items(wins):
    for losses, size in itertools.product(range(0, 13 - wins, 2), range(1, 13, 2)):
        items = [1] * wins + [-1] * losses + [0] * (12 - wins - losses)
        leads = np.array([sum(chosen) for chosen in itertools.combinations(items, size)])
        ahead, level = chances(wins, losses, size, 12)
        assert ahead == pytest.approx((leads > 0).mean(), abs=1e-12)
        assert level == pytest.approx((leads == 0).mean(), abs=1e-12)


def test_two_items_by_hand():
    # 4 items: 2 won, 1 lost, 1 tied; 6 subsets of 2. Ahead: WW, and W with the tie twice = 3.
    # Level: W with L twice = 2. Behind: L with the tie = 1.
    assert chances(2, 1, 2, 4) == pytest.approx((3 / 6, 2 / 6))


@pytest.mark.parametrize(
    ("wins", "losses", "size", "n_items"),
    [(100, 80, 100, 448), (30, 0, 50, 1000), (60, 55, 441, 448), (2, 1, 40, 90), (45, 45, 50, 90)],
)
def test_against_the_multivariate_hypergeometric_of_scipy(wins, losses, size, n_items):
    law = oracle("scipy.stats").multivariate_hypergeom
    top = min(losses, size)
    won, lost = np.array(
        [(w, x) for w in range(min(wins, size) + 1) for x in range(top + 1) if w + x <= size]
    ).T
    rows = np.column_stack([won, lost, size - won - lost])
    weights = law.pmf(rows, [wins, losses, n_items - wins - losses], size)
    ahead, level = chances(wins, losses, size, n_items)
    assert ahead == pytest.approx(weights[won > lost].sum(), abs=1e-9)
    assert level == pytest.approx(weights[won == lost].sum(), abs=1e-9)


@pytest.mark.parametrize(("win", "loss", "size"), [(0.2, 0.15, 50), (0.1, 0, 30), (0.6, 0.4, 20)])
def test_against_the_multinomial_of_scipy(win, loss, size):
    law = oracle("scipy.stats").multinomial
    won, lost = np.array([(w, x) for w in range(size + 1) for x in range(size + 1 - w)]).T
    rows = np.column_stack([won, lost, size - won - lost])
    weights = law.pmf(rows, size, [win, loss, 1 - win - loss])
    ahead, level = chances(win, loss, size, None)
    assert ahead == pytest.approx(weights[won > lost].sum(), abs=1e-10)
    assert level == pytest.approx(weights[won == lost].sum(), abs=1e-10)


def test_one_discordant_item_is_a_hypergeometric_draw():
    hypergeom = oracle("scipy.stats").hypergeom
    assert chances(3, 0, 20, 100)[0] == pytest.approx(hypergeom.sf(0, 100, 3, 20))


@given(st.integers(2, 400), st.data())
@settings(max_examples=60, deadline=None)
def test_swapping_the_models_swaps_the_answer(n_items, data):
    wins = data.draw(st.integers(0, n_items))
    losses = data.draw(st.integers(0, n_items - wins))
    size = data.draw(st.integers(1, n_items))
    ahead, level = chances(wins, losses, size, n_items)
    behind, also_level = chances(losses, wins, size, n_items)
    assert ahead + level + behind == pytest.approx(1, abs=1e-9)
    assert level == pytest.approx(also_level, abs=1e-9)


@given(st.sampled_from([500, 1319, 12032, None]), st.floats(0.02, 1), st.floats(0, 3), st.data())
@settings(max_examples=150, deadline=None)
def test_the_normal_form_takes_over_within_half_a_percent(n_items, discordance, z, data):
    size = data.draw(st.integers(100, (n_items or 6000) - 100))
    left = 1 if n_items is None else (n_items - size) / (n_items - 1)
    if size * discordance * left < 101:
        return
    # A lead of z standard deviations, so that the order is in doubt.
    lead = min(z * np.sqrt(discordance * left / size), discordance)
    wins, losses = (discordance + lead) / 2, (discordance - lead) / 2
    if n_items is not None:
        wins, losses = round(wins * n_items), round(losses * n_items)
        if wins + losses > n_items:
            losses -= 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chance_module, "EXACT_VARIANCE", np.inf)
        exact = chances(wins, losses, size, n_items)
        patch.setattr(chance_module, "EXACT_VARIANCE", -1.0)
        normal = chances(wins, losses, size, n_items)
    assert normal == pytest.approx(exact, abs=0.001)


def test_the_normal_form_by_hand():
    # s = 0.5, k = 25 of N = 101: se^2 = 0.25 / 25 * 76 / 100 = 0.0076; 0.1 / 0.08718 = 1.1471.
    found = agreement(0.1, 25, sd=0.5, score_range=(0, 1), n_items=101)
    assert found == pytest.approx(0.87433, abs=1e-5)
    # With all items nothing is left to chance.
    assert agreement(0.1, 101, sd=0.5, score_range=(0, 1), n_items=101) == 1.0


def test_normal_cdf_is_the_same_for_few_and_many():
    x = np.linspace(-6, 6, 601)
    few = np.concatenate([normal_cdf(part) for part in np.array_split(x, 3)])
    assert normal_cdf(x) == pytest.approx(few, abs=1e-15)


# Agreement, MDAD and items for a gap


def test_ties_count_as_wrong_or_half():
    settings_ = {"discordance": 0.3, "n_items": 448}
    wrong = agreement(10 / 448, 50, **settings_)
    half = agreement(10 / 448, 50, ties="half", **settings_)
    ahead, level = chances(72, 62, 50, 448)
    assert wrong == pytest.approx(ahead)
    assert half == pytest.approx(ahead + level / 2)


def test_a_gap_between_whole_items_lies_between():
    low, high = (agreement(lead / 100, 20, discordance=0.3, n_items=100) for lead in (4, 5))
    assert agreement(0.045, 20, discordance=0.3, n_items=100) == pytest.approx((low + high) / 2)


@given(st.floats(0, 1), st.integers(1, 12), st.sampled_from([12, 13, 60, None]))
@settings(max_examples=60, deadline=None)
def test_agreement_rises_with_the_gap(discordance, size, n_items):
    source = AssumedDiscordance(discordance, n_items)
    found = [source.chance(gap, size, Rule()) for gap in np.linspace(0, 1, 101)]
    assert np.all(np.diff(found) >= -1e-12)


@pytest.mark.parametrize("n_items", [12, 61, 448, None])
@pytest.mark.parametrize("discordance", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("wanted", [0.6, 0.8, 0.95])
def test_items_for_a_gap_is_where_all_larger_sizes_reach_it(n_items, discordance, wanted):
    gap = 0.04 if n_items != 12 else 1 / 12
    gap = min(gap, discordance)
    if n_items and gap * n_items < 1:
        return
    source, last = AssumedDiscordance(discordance, n_items), n_items or 3000
    found = size_for(source, gap, Rule(), wanted)
    if n_items is None and found > 2000:
        return
    reached = [source.chance(gap, size, Rule()) >= wanted for size in range(1, last + 1)]
    short = [size for size, enough in enumerate(reached, 1) if not enough]
    assert found == max(short, default=0) + 1


@pytest.mark.parametrize("size", [1, 10, 99, 224, 440])
@pytest.mark.parametrize("goal", ["rank", "show"])
def test_mdad_is_where_agreement_crosses(size, goal):
    known = {"discordance": 0.3, "n_items": 448, "goal": goal}
    found = mdad(size, **known)
    if found > 0.3:
        return
    assert agreement(found, size, **known) == pytest.approx(0.8, abs=1e-5)


def test_mdad_and_items_for_a_gap_are_inverse():
    gap = mdad(157, discordance=0.3, n_items=12032)
    assert items_for_gap(gap + 1e-6, discordance=0.3, n_items=12032) in (156, 157, 158)


def test_mdad_where_a_gap_needs_more_discordance_than_assumed():
    # Alike models: no gap within a discordance of 5 % shows on 10 items, a wider one does. It is
    # all won items: 1 - (1 - g)^10 = 0.8, so g = 1 - 0.2^(1/10) = 0.1487.
    assert mdad(10, discordance=0.05) == pytest.approx(1 - 0.2**0.1, abs=1e-6)


def test_the_full_benchmark_resolves_every_gap():
    assert mdad(448, discordance=0.3, n_items=448) == 0.0
    assert items_for_gap(1 / 448, agreement=0.999, discordance=0.3, n_items=448) == 448


def test_a_graded_gap_nothing_resolves():
    # One item with a spread as wide as the range: Phi(1) = 0.84 at the widest gap.
    assert mdad(1, agreement=0.9, sd=1.0, score_range=(0, 1)) is None
    source = AssumedDiscordance(0.3)
    assert size_for(source, 0.0, Rule(), 0.8) is None
    assert gap_for(source, 1, Rule("show"), 0.9999) is not None


@pytest.mark.parametrize("gap", [0.02, 0.1])
def test_show_against_the_power_of_statsmodels(gap):
    power = oracle("statsmodels.stats.power")
    sd = np.sqrt(0.3 - gap**2)
    for size in (30, 400):
        expected = power.normal_power(gap / sd, size, 0.05, alternative="larger")
        assert agreement(gap, size, goal="show", discordance=0.3) == pytest.approx(expected)
    needed = power.normal_sample_size_one_tail(gap, 0.8, 0.05, sd)
    assert items_for_gap(gap, goal="show", discordance=0.3) == int(np.ceil(needed))


def test_comparisons_divide_the_level_or_the_chance_of_failure():
    several = plan(gap=0.05, goal="show", discordance=0.3, comparisons=5)
    assert several.level == pytest.approx(0.01)
    assert several.items == items_for_gap(0.05, goal="show", level=0.01, discordance=0.3)
    ranked = plan(gap=0.05, discordance=0.3, comparisons=4)
    assert ranked.per_pair == pytest.approx(0.95)
    assert ranked.items == items_for_gap(0.05, agreement=0.95, discordance=0.3)
    assert "union bound" in " ".join(ranked.assumptions)
    assert "Holm" in " ".join(several.assumptions)


# The plan


def test_the_plan_of_the_design():
    found = plan(gap=0.02, agreement=0.8, discordance=0.3, n_items=12032)
    assert found.items == items_for_gap(0.02, discordance=0.3, n_items=12032) == 556
    assert found.answer == (
        "556 of the 12,032 items, drawn at random, rank two models 2 points apart rightly with "
        "probability 0.8."
    )
    assert (found.mdad, found.achieved, found.cost) == (None, None, None)
    at = {(point.size, point.gap): point.agreement for point in found.curve}
    assert at[556, 0.02] >= 0.8
    assert at[100, 0.05] == agreement(0.05, 100, discordance=0.3, n_items=12032)


def test_size_and_gap_together():
    found = plan(gap=0.02, size=100, discordance=0.3, n_items=12032)
    assert found.achieved == agreement(0.02, 100, discordance=0.3, n_items=12032)
    assert found.mdad == mdad(100, discordance=0.3, n_items=12032)
    assert (
        "with probability 0.61; for 0.8 it takes 556 items, or a gap of 5.1 points" in found.answer
    )
    assert "for 0.8 over 3 pairs" in plan(gap=0.02, size=100, comparisons=3).answer
    graded = plan(gap=0.5, size=1, sd=1, score_range=(0, 1), agreement=0.9)
    assert "no known gap is wide enough" in graded.answer


def test_budget():
    found = plan(cost_per_item=0.1, budget=25, n_items=448)
    assert (found.affordable, found.size) == (250, None)
    assert found.affordable_mdad == mdad(250, n_items=448)
    assert found.answer.startswith("The budget of 25 pays for 250 items, which rank")
    asked = plan(gap=0.03, cost_per_item=2, n_items=448)
    assert asked.cost == 2 * asked.items
    assert asked.affordable is None
    assert asked.sizes[0].cost == 20
    assert "the full benchmark" in plan(cost_per_item=1, budget=999, n_items=448).answer
    poor = plan(cost_per_item=1, budget=1, sd=1, score_range=(0, 1), agreement=0.9)
    assert "no gap that is known" in poor.answer


def test_nothing_known_is_said():
    found = plan(size=100)
    assert found.discordance == 0.3
    assert found.assumptions[0].startswith("Nothing is known of the models")
    assert plan(gap=0.4, size=100).discordance == 0.4


def test_accuracies():
    # Independent answers differ on 0.7 * 0.28 + 0.3 * 0.72 = 0.412; two thirds of it.
    found = plan(accuracies=(0.7, 0.72), n_items=500)
    assert found.gap == pytest.approx(0.02)
    assert found.discordance == pytest.approx(0.412 * 2 / 3)
    # Two models that get all but 1 and 2 % right differ on at most 3 %.
    assert plan(accuracies=(0.99, 0.98), discordance=0.03).discordance == 0.03
    assert plan(accuracies=(0.9, 0.1)).discordance == pytest.approx(0.8)
    assert plan(accuracies=(0.7, 0.7), size=50).gap is None


def test_two_score_vectors():
    a, b = [1] * 60 + [0] * 40, [1] * 50 + [0] * 45 + [1] * 5
    found = plan(a=a, b=b, n_items=1000)
    assert (found.gap, found.discordance, found.n_items) == pytest.approx((0.05, 0.15, 1000))
    assert found.items == items_for_gap(0.05, discordance=0.15, n_items=1000)
    assert "is taken as the one to resolve" in " ".join(found.assumptions)
    assert plan(a=a, b=b).n_items == 100
    # Differences 0.5, 0, -0.25, 0.25: mean 0.125, mean square 0.09375, variance 0.078125.
    graded = plan(a=[1, 0.5, 0.25, 0.75], b=[0.5, 0.5, 0.5, 0.5])
    assert graded.gap == pytest.approx(0.125)
    assert graded.sd == pytest.approx(np.sqrt(0.078125))
    # These scores come in steps of a quarter, so ties have weight.
    assert graded.ties == "wrong"
    assert plan(gap=0.02, sd=0.3, score_range=(0, 1)).ties is None


def test_only_the_full_benchmark():
    found = plan(gap=1 / 448, agreement=0.999, discordance=0.3, n_items=448)
    assert found.answer.startswith("Only all 448 items rank two models 0.22 points apart")
    assert plan(size=448, n_items=448).answer.startswith("All 448 items rank all models")


def test_a_pool_without_bound_that_never_suffices():
    found = plan(gap=1e-9, discordance=0.3)
    assert found.items is None
    assert found.answer.startswith("No subset is known")
    both = plan(gap=1e-9, size=10, discordance=0.3)
    assert "no known subset suffices" in both.answer


def test_a_graded_scale_is_said_in_points_and_in_its_unit():
    found = plan(gap=0.5, sd=2.5, score_range=(-40, 10))
    assert "1 point (0.5 in the unit of the scores)" in found.answer
    assert "no weight in graded scores without steps" in " ".join(found.assumptions)


def test_plans_are_plain_values_and_tables():
    found = plan(gap=0.02, size=50, n_items=448, cost_per_item=1, budget=100)
    again = json.loads(json.dumps(found.to_dict()))
    assert again["items"] == found.items
    assert again["curve"][0] == {
        "size": found.curve[0].size,
        "gap": found.curve[0].gap,
        "agreement": found.curve[0].agreement,
    }
    assert list(found.curve_frame().columns) == ["size", "gap", "agreement"]
    sizes = found.sizes_frame()
    assert sizes["size"].tolist() == [point.size for point in found.sizes]
    assert sizes["mdad"].is_monotonic_decreasing


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({}, "nothing is asked"),
        ({"gap": 0}, "no right order"),
        ({"gap": 2}, "gap must be"),
        ({"gap": 0.001, "n_items": 448}, "less than one of 448 items"),
        ({"gap": 0.2, "discordance": 0.1}, "needs two models to differ"),
        ({"size": 0}, "size must be"),
        ({"size": 500, "n_items": 448}, "from 1 to 448"),
        ({"size": 10, "agreement": 0.5}, "agreement must be"),
        ({"size": 10, "agreement": 1}, "agreement must be"),
        ({"size": 10, "goal": "win"}, "unknown goal"),
        ({"size": 10, "level": 0.05}, "level has no effect"),
        ({"size": 10, "goal": "show", "ties": "half"}, "ties has no effect"),
        ({"size": 10, "ties": "half", "sd": 1, "score_range": (0, 10)}, "ties has no effect"),
        ({"size": 10, "comparisons": 0}, "comparisons must be"),
        ({"size": 10, "aggregate": "macro"}, "micro"),
        ({"size": 10, "aggregate": "mean"}, "unknown aggregate"),
        ({"size": 10, "budget": 5}, "budget has no effect"),
        ({"cost_per_item": 5, "budget": 1}, "pays for no item"),
        ({"cost_per_item": 0, "budget": 1}, "cost_per_item must be"),
        ({"size": 10, "models": ["a", "b"]}, "models has no effect"),
        ({"size": 10, "score_range": (0, 1)}, "score_range has no effect"),
        ({"size": 10, "sd": 1, "discordance": 0.3}, "discordance has no effect beside sd"),
        ({"size": 10, "sd": 1}, "give score_range"),
        ({"size": 10, "sd": 1, "score_range": (1, 0)}, "low < high"),
        ({"size": 10, "sd": 1, "score_range": 3}, "two numbers"),
        ({"size": 10, "sd": 3, "score_range": (0, 1)}, "sd must be"),
        ({"size": 10, "accuracies": 0.7}, "two shares"),
        ({"size": 10, "accuracies": (0.7, 1.2)}, "accuracies must be"),
        ({"size": 10, "accuracies": (0.9, 0.95), "discordance": 0.3}, "differ on 5.0% to 15.0%"),
        ({"size": 10, "discordance": 1.5}, "discordance must be"),
        ({"size": 1, "a": [1, 0]}, "give both or neither"),
        ({"size": 1, "a": [1, 0], "b": [1]}, "got 2 and 1 scores"),
        ({"size": 1, "a": [1, 0], "b": [1, None]}, "Missing is not wrong"),
        ({"size": 1, "a": ["x", 0], "b": [1, 0]}, "sequence of numbers"),
        ({"size": 1, "a": [[1, 0]], "b": [[1, 0]]}, "got shape"),
        ({"size": 1, "a": [1, 0], "b": [1, 1], "n_items": 1}, "fewer than the 2 scores"),
        ({"size": 1, "scores": [[1, 0]]}, "must be a ScoreMatrix"),
    ],
)
def test_refusals(settings_, words):
    with pytest.raises((SettingError, ScoresError), match=words) as caught:
        plan(**settings_)
    assert isinstance(caught.value, MdadError)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_any_plan_is_consistent_or_refused(data):
    pick = lambda *choices: data.draw(st.sampled_from(choices))  # noqa: E731
    known = pick(
        {},
        {"discordance": 0},
        {"discordance": 1},
        {"discordance": 0.01},
        {"accuracies": (0, 1)},
        {"accuracies": (1, 1)},
        {"accuracies": (0.7, 0.72)},
        {"sd": 0, "score_range": (0, 1)},
        {"sd": 0.4, "score_range": (0, 1)},
    )
    asked = {
        "gap": pick(None, 1e-6, 0.01, 0.3, 1),
        "size": pick(None, 1, 2, 11, 100, 448),
        "n_items": pick(None, 1, 2, 12, 448),
        "goal": pick("rank", "show"),
        "comparisons": pick(1, 7),
        "agreement": pick(0.6, 0.99),
    }
    try:
        found = plan(**known, **asked)
    except MdadError:
        return
    if found.items is not None and found.size is not None and found.size >= found.items:
        assert found.achieved >= found.per_pair
    assert all(0 <= point.agreement <= 1 + 1e-12 for point in found.curve)
    assert found.answer.endswith(".")


def test_large_pools_use_stirling_for_large_factorials():
    n = np.array([0, 1, 5, 170, 140_000, 999_999])
    expected = [math.lgamma(x + 1) for x in n]
    assert log_factorial(n) == pytest.approx(expected, rel=1e-13)
    # 3 won items in a million: 1 - (1 - k / N)^3, nearly.
    assert chances(3, 0, 200_000, 10**6)[0] == pytest.approx(1 - 0.8**3, abs=1e-5)


def test_unknown_settings_are_refused():
    with pytest.raises(SettingError, match="unknown setting 'discordence'"):
        mdad(10, discordence=0.3)


def test_a_plan_without_a_file_imports_nothing_heavy():
    code = (
        "import sys; from mdad.planning import plan; plan(gap=0.02, n_items=12032); "
        "print([m for m in ('pandas', 'scipy', 'sklearn') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
