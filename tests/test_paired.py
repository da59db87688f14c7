"""mdad.paired: hand-worked intervals, oracles, and coverage by simulation."""

import importlib
import math
import os

import numpy as np
import pytest

from mdad._moments import excess_kurtosis, graded_bounds, wilson
from mdad.errors import ScoresError, SettingError
from mdad.paired import full_score_interval, mcnemar_exact, paired_interval


def oracle(name):
    if os.environ.get("MDAD_REQUIRE_ALL"):
        return importlib.import_module(name)
    return pytest.importorskip(name)


def vectors(wins, ties, losses):
    return [1] * wins + [1] * ties + [0] * losses, [0] * wins + [1] * ties + [1] * losses


# Full scores


def test_wilson_with_the_effective_number_of_items_by_hand():
    # k = 50 of N = 100, p = 0.8: n = 49 / 0.5 = 98, z^2 = 3.8415.
    # centre (0.8 + 3.8415 / 196) / (1 + 3.8415 / 98) = 0.81960 / 1.03920 = 0.78869
    # half   1.95996 sqrt(0.16 / 98 + 3.8415 / 38416) / 1.03920 = 0.07849
    found = full_score_interval(0.8, 50, 100)
    bounds = wilson(0.8, 98, 0.95)
    assert bounds == pytest.approx((0.78869 - 0.07849, 0.78869 + 0.07849), abs=1e-4)
    # Outwards to whole numbers of 100 items: 0.7102 and 0.8672.
    assert (found.low, found.high) == (0.71, 0.87)


def test_wilson_against_statsmodels_where_the_pool_has_no_bound():
    proportion = oracle("statsmodels.stats.proportion")
    for right in (0, 3, 50, 99):
        found = full_score_interval(right / 99, 100)
        # Ours divides by k - 1, so 99 items stand for 100.
        expected = proportion.proportion_confint(right, 99, method="wilson")
        assert (found.low, found.high) == pytest.approx(expected)


def test_the_standard_error_is_that_of_a_finite_population():
    found = full_score_interval(0.5, 2001, 4000)
    expected = math.sqrt(0.25 / 2000 * (1 - 2001 / 4000))
    assert (found.high - found.low) / (2 * 1.959964) == pytest.approx(expected, rel=1e-3)


def test_width_is_zero_only_with_all_items():
    for mean in (0.0, 1.0, 0.5):
        assert full_score_interval(mean, 10, 10).low == full_score_interval(mean, 10, 10).high
        assert full_score_interval(mean, 10, 11).low < full_score_interval(mean, 10, 11).high
        constant = full_score_interval(mean, 10, 11, variance=0.0)
        assert constant.low < constant.high


def test_what_is_left_bounds_the_interval():
    # 9 of 10 items scored and right: the full score is 0.9 or 1.
    assert full_score_interval(1.0, 9, 10).low == pytest.approx(0.9)
    assert full_score_interval(0.0, 1, 2).high == pytest.approx(0.5)
    assert (full_score_interval(1.0, 1).low, full_score_interval(1.0, 1).high) == (0.0, 1.0)


def test_graded_interval_by_hand():
    # Mean 0.52, sample variance 0.067, 5 items: se^2 = 0.0134, n = 0.2496 / 0.0134 = 18.627;
    # t with 4 degrees of freedom 2.7764, t^2 = 7.7087.
    # centre (0.52 + 7.7087 / 37.254) / (1 + 7.7087 / 18.627) = 0.72692 / 1.41385 = 0.51415
    # half   2.7764 sqrt(0.0134 + 7.7087 / 1387.9) / 1.41385 = 0.27034
    scores = np.array([0.2, 0.5, 0.9, 0.4, 0.6])
    found = full_score_interval(0.52, 5, variance=scores.var(ddof=1))
    assert (found.low, found.high) == pytest.approx((0.24381, 0.78449), abs=1e-4)
    scaled = full_score_interval(5.2, 5, variance=100 * scores.var(ddof=1), score_range=(0, 10))
    assert (scaled.low, scaled.high) == pytest.approx((2.4381, 7.8449), abs=1e-3)


def test_many_graded_items_approach_students_t():
    stats = oracle("scipy.stats")
    scores = np.random.default_rng(0).uniform(0.3, 0.7, 2000)
    found = full_score_interval(scores.mean(), 2000, 4000, variance=scores.var(ddof=1))
    half = stats.t.ppf(0.975, 1999) * stats.sem(scores) * math.sqrt(0.5)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-3)


def test_one_graded_item_says_nothing():
    found = full_score_interval(7.0, 1, variance=0.0, score_range=(1, 10))
    assert (found.low, found.high) == (1, 10)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_hold_the_full_score_as_often_as_they_say(level):
    # Summed over all samples, and averaged over full scores: right answers are whole numbers, so
    # at one full score coverage is a little above or below; moving the bounds to whole numbers
    # of right answers adds a little.
    hypergeom = oracle("scipy.stats").hypergeom
    found = [full_score_interval(x / 80, 80, 500, level=level) for x in range(81)]
    held = []
    for right in range(25, 476, 5):
        inside = [i.low <= right / 500 <= i.high for i in found]
        held.append(hypergeom.pmf(np.arange(81), 500, right, 80)[inside].sum())
    assert level - 0.005 < np.mean(held) < level + 0.02
    assert min(held) > level - 0.04


# Pairs


def test_paired_interval_by_hand():
    # 12 wins, 3 losses, 100 items of 400. With one more of each: gap 9 / 102, discordance 17 / 102.
    a, b = vectors(12, 85, 3)
    found = paired_interval(a, b, 400)
    centre = 9 / 102
    se = math.sqrt((17 / 102 - centre**2) / 102 * 0.75)
    assert found.gap == pytest.approx(0.09)
    assert found.standard_error == pytest.approx(se)
    assert (found.low, found.high) == pytest.approx(
        (centre - 1.959964 * se, centre + 1.959964 * se)
    )
    assert (found.wins, found.ties, found.losses) == (12, 85, 3)
    z = centre / se * math.sqrt(0.05**2 / (0.05**2 + se**2))
    assert found.a_better == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)))


def test_swapping_the_models_swaps_the_answer():
    a, b = vectors(9, 40, 4)
    one, other = paired_interval(a, b, 300), paired_interval(b, a, 300)
    assert (one.gap, one.low, one.high) == pytest.approx((-other.gap, -other.high, -other.low))
    assert one.a_better == pytest.approx(other.b_better)
    assert one.mcnemar == other.mcnemar


def test_equal_answers_decide_nothing_but_leave_a_width():
    found = paired_interval([1, 0, 1], [1, 0, 1], 100)
    assert found.a_better == 0.5
    assert found.low < 0 < found.high
    graded = paired_interval([0.3, 0.5], [0.3, 0.5], 100)
    assert graded.a_better == 0.5
    assert graded.low < 0 < graded.high


def test_the_whole_pool_leaves_no_doubt():
    a, b = vectors(3, 5, 2)
    found = paired_interval(a, b, 10)
    assert (found.low, found.gap, found.high, found.a_better) == pytest.approx((0.1, 0.1, 0.1, 1))
    assert paired_interval(b, b, 10).a_better == 0.5


def test_graded_pairs_against_scipy():
    stats = oracle("scipy.stats")
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 10, 30), rng.uniform(0, 10, 30)
    test = stats.ttest_rel(a, b, alternative="less")
    found = paired_interval(a, b, score_range=(0, 10), gap_sd=math.inf)
    assert found.a_better == pytest.approx(test.pvalue)
    assert (found.low, found.high) == pytest.approx(
        tuple(stats.ttest_rel(a, b).confidence_interval())
    )
    assert found.mcnemar is None


def test_the_prior_is_in_the_unit_of_the_scores():
    a, b = np.array([0.1, 0.9, 0.4, 0.7]), np.array([0.2, 0.5, 0.3, 0.3])
    small, large = paired_interval(a, b), paired_interval(10 * a, 10 * b, score_range=(0, 10))
    assert small.a_better == pytest.approx(large.a_better)
    assert small.low * 10 == pytest.approx(large.low)
    assert paired_interval(a, b, gap_sd=math.inf).a_better > small.a_better > 0.5


def test_gaps_are_held_as_often_as_the_interval_says():
    rng = np.random.default_rng(2)
    differences = np.repeat([1, -1, 0], [90, 60, 350])
    held = []
    for _ in range(1500):
        drawn = rng.permutation(differences)[:60]
        found = paired_interval(drawn > 0, drawn < 0, 500)
        held.append(found.low <= 0.06 <= found.high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (5, 0), (3, 3), (12, 4), (40, 61)])
def test_mcnemar_against_statsmodels_and_scipy(wins, losses):
    found = mcnemar_exact(wins, losses)
    if wins + losses:
        mcnemar = oracle("statsmodels.stats.contingency_tables").mcnemar
        expected = mcnemar([[10, wins], [losses, 10]], exact=True).pvalue
        assert found == pytest.approx(expected)
        test = oracle("scipy.stats").binomtest(wins, wins + losses, alternative="greater")
        assert mcnemar_exact(wins, losses, alternative="greater") == pytest.approx(test.pvalue)
    else:
        assert found == 1.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: full_score_interval(1.5, 10), SettingError, "mean must be"),
        (lambda: full_score_interval(0.5, 11, 10), SettingError, "size must be"),
        (lambda: full_score_interval(0.5, 10, level=1), SettingError, "level must be"),
        (lambda: full_score_interval(0.5, 10, variance=-1), SettingError, "variance must be"),
        (
            lambda: full_score_interval(5, 10, score_range=(0, 10)),
            SettingError,
            "need their variance",
        ),
        (lambda: full_score_interval(5, 10, score_range=(1, 0)), SettingError, "low < high"),
        (lambda: full_score_interval(5, 10, score_range=3), SettingError, "two numbers"),
        (lambda: paired_interval([1], [1, 0]), ScoresError, "got 1 and 2 scores"),
        (lambda: paired_interval([1, None], [1, 0]), ScoresError, "Missing is not wrong"),
        (lambda: paired_interval([[1]], [[0]]), ScoresError, "got shape"),
        (lambda: paired_interval(["x"], [0]), ScoresError, "sequence of numbers"),
        (lambda: paired_interval([2], [0]), ScoresError, "outside its range"),
        (lambda: paired_interval([1, 0], [0, 0], 1), SettingError, "n_items must be"),
        (lambda: paired_interval([1, 0], [0, 0], gap_sd=0), SettingError, "gap_sd must be above 0"),
        (lambda: mcnemar_exact(-1, 0), SettingError, "wins must be"),
        (lambda: mcnemar_exact(1, 0, alternative="less"), SettingError, "unknown alternative"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_heavy_tails_cost_degrees_of_freedom_by_hand():
    # Scores 0, 1, 1, 1, 1 / 2: mean 0.7, second moment 0.16, fourth 0.7^4 + 3 0.3^4 + 0.2^4 over 5.
    row = np.array([0, 1, 1, 1, 0.5])
    fourth = (0.7**4 + 3 * 0.3**4 + 0.2**4) / 5
    assert excess_kurtosis(row) == pytest.approx(fourth / 0.16**2 - 3)
    assert excess_kurtosis(np.ones(4)) == 0
    # k = 41, kurtosis 3: 2 / (2 / 40 + 3 / 41) = 16.24 degrees of freedom instead of 40.
    z, t = 1.959964, 2.117387
    bounds = graded_bounds(0.5, 0.04, 3.0, 41, 1.0, 0.95)
    expected = wilson(0.5, 0.25 / (0.04 / 41) * (z / t) ** 2, 0.95)
    assert bounds == pytest.approx(expected, abs=1e-6)
    plain = full_score_interval(0.5, 41, variance=0.04)
    heavy = full_score_interval(0.5, 41, variance=0.04, kurtosis=3.0)
    light = full_score_interval(0.5, 41, variance=0.04, kurtosis=-1.5)
    assert heavy.high - heavy.low > plain.high - plain.low
    assert light == plain
