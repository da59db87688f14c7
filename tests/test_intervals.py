"""Bootstrap weights, percentiles and crossings against slow versions, and coverage in small."""

from __future__ import annotations

import importlib.util
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

from mdad._rng import Stream
from mdad._tables import bootstrap_weights
from mdad.errors import SettingError
from mdad.intervals import (
    Interval,
    crossing,
    interval_ends,
    isotonic,
    percentile_interval,
    resample_counts,
)
from naive import crossing_by_search, percentiles, random_counts

CELLS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda c: (min(c), max(c))),
    min_size=1,
    max_size=12,
)
THRESHOLDS = st.sampled_from([0.25, 0.5, 0.7, 0.8, 0.9])


def as_arrays(cells):
    sums, weights = np.array(cells, dtype=float).T
    return sums, weights, (np.arange(len(cells)) + 0.5) / 200


@settings(max_examples=150, deadline=None)
@given(CELLS, THRESHOLDS)
def test_crossing_is_where_scikit_learns_fit_reaches_the_threshold(cells, threshold):
    sums, weights, x = as_arrays(cells)
    table = {b: [*cell, 1, x[b]] for b, cell in enumerate(cells)}
    expected = crossing_by_search(table, threshold)
    assert float(crossing(sums, weights, x, threshold)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.lists(CELLS, min_size=2, max_size=5), THRESHOLDS)
def test_many_crossings_at_once_are_single_ones(many, threshold):
    n_bins = max(map(len, many))
    padded = [cells + [(0, 0)] * (n_bins - len(cells)) for cells in many]
    sums, weights = np.moveaxis(np.array(padded, dtype=float), -1, 0)
    x = (np.arange(n_bins) + 0.5) / 200
    together = crossing(sums, weights, x, threshold)
    single = [float(crossing(s, w, x, threshold)) for s, w in zip(sums, weights, strict=True)]
    assert together.tolist() == single


def test_crossing_by_hand():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    ten = np.full(4, 10.0)

    def at(*right, threshold=0.8):
        return float(crossing(np.array(right, dtype=float), ten, x, threshold))

    assert at(5, 7, 9, 10) == 2.5  # half way from .7 to .9
    assert at(5, 8, 9, 10) == 2  # a mean that is the threshold reaches it
    assert at(9, 9, 9, 9) == 1  # reached from the start
    assert at(5, 9, 6, 10) == pytest.approx(3.2)  # the lucky second bin is pooled with the third
    assert at(5, 5, 5, 5) == math.inf
    assert float(crossing(np.zeros(4), np.zeros(4), x, 0.8)) == math.inf  # no pairs at all


@settings(max_examples=100, deadline=None)
@given(CELLS)
def test_isotonic_is_scikit_learns_and_nan_in_empty_bins(cells):
    sums, weights, x = as_arrays(cells)
    fit = isotonic(sums, weights)
    used = weights > 0
    assert np.isnan(fit[~used]).all()
    if used.any():
        expected = IsotonicRegression().fit_transform(
            x[used], sums[used] / weights[used], sample_weight=weights[used]
        )
        assert fit[used] == pytest.approx(expected)


def test_percentile_interval_by_hand():
    replicates = np.arange(1.0, 101.0)  # 1 to 100: five per cent above 95, five below 6
    low, high = percentile_interval(replicates, 0.9)
    assert (low, high) == (5, 95)
    assert percentiles(replicates, 0.9) == (5, 95)


@given(
    st.lists(st.floats(0, 1) | st.just(math.inf), min_size=1, max_size=40),
    st.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
def test_ends_are_replicates_even_where_some_are_infinite(values, level):
    low, high = percentile_interval(np.array(values), level)
    assert (float(low), float(high)) == percentiles(values, level)


def test_weights_count_draws_with_replacement():
    counts = resample_counts(50, 4000, Stream(1))
    assert counts.shape == (4000, 50)
    assert (counts.sum(axis=1) == 50).all()
    assert (counts == np.rint(counts)).all()
    # Binomial(50, 1/50): mean 1, variance .98; bounds of five standard errors over 200,000 counts.
    assert abs(counts.mean() - 1) < 1e-12
    assert abs(counts.var() - 0.98) < 0.02
    # Draws of one replicate compete: correlation -1/49 between two things.
    assert abs(np.corrcoef(counts[:, 0], counts[:, 1])[0, 1] + 1 / 49) < 5 / math.sqrt(4000)


def test_all_methods_and_measures_share_weights():
    both = random_counts(1)
    one = replace(both, chosen=both.chosen[:1, :1], sizes=both.sizes[:1])
    interval = Interval(n_resamples=10)
    a, b = (bootstrap_weights(c.results, interval) for c in (both, one))
    assert (a.runs == b.runs).all()
    assert (a.models == b.models).all()
    assert bootstrap_weights(both.results, Interval("runs")).models is None


@pytest.mark.parametrize(
    "settings_", [{"level": 0}, {"level": 1}, {"level": 95}, {"n_resamples": -1}]
)
def test_impossible_intervals_are_refused(settings_):
    with pytest.raises(SettingError):
        Interval(**settings_)


@pytest.fixture(scope="module")
def coverage():
    path = Path(__file__).parents[1] / "experiments" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_study", path)
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("unit", ["runs", "models"])
def test_intervals_hold_the_truth_about_as_often_as_they_say(coverage, unit):
    """The study of experiments/coverage.py in small; the full one has 1,000 replicates."""
    replicates = 60
    setting = coverage.Setting(
        unit=unit,
        runs=20,
        n_target=12,
        n_items=100,
        sizes=(30,),
        n_models=40,
        n_resamples=200,
        truth_models=400,
    )
    table, rows = coverage.study(setting, replicates, 1500)
    # An interval that holds the truth in 90 % of the cases fails here once in 10,000 times.
    least = binom.ppf(1e-4, replicates, 0.9) / replicates
    assert set(table["measure"]) == {"agreement", "monotone", "first"}
    assert (table["covered"] >= least).all()
    # The snapshot's interval of agreement, for contrast, is too narrow.
    agreement = table[table["measure"] == "agreement"].iloc[0]
    assert agreement["reference"] < agreement["covered"]
    # Nor are ours wide for safety: their width is that of the values' own spread.
    mine = rows[rows["measure"] == "agreement"]
    ratio = (mine["high"] - mine["low"]).mean() / 3.92 / mine["value"].std()
    # The standard deviation of 60 values is known to 9 %.
    assert 0.7 < ratio < 1.4


def test_the_spread_of_models_and_runs_is_that_of_two_way_clustering():
    # Values with runs' and models' effects and noise of both: replicates' spreads as of theory.
    rng = np.random.default_rng(0)
    runs, models, noise = 3.0, 4.0, 2.0
    drawn = [
        sd * rng.standard_normal(20_000)
        for sd in (
            math.hypot(models, noise),
            math.hypot(runs, noise),
            # Resampled together, the noise counts three times.
            math.sqrt(runs**2 + models**2 + 3 * noise**2),
        )
    ]
    low, high = interval_ends(0.0, drawn, 0.95, (-math.inf, math.inf))
    truth = 1.96 * math.sqrt(runs**2 + models**2 + noise**2)
    assert float(low) == pytest.approx(-truth, rel=0.04)
    assert float(high) == pytest.approx(truth, rel=0.04)


def test_interval_ends_stay_within_bounds_and_at_infinity():
    replicates = [np.linspace(0, 1, 101)] * 3
    low, high = interval_ends(0.9, replicates, 0.95, (0.0, 1.0))
    assert 0 <= low < 0.9 < high <= 1
    never = [np.array([0.1, 0.2, math.inf, math.inf])] * 3
    assert interval_ends(math.inf, never, 0.5) == (0.1, math.inf)
    nothing = [np.full(4, math.nan)] * 3
    assert np.isnan(interval_ends(0.5, nothing, 0.95)).all()
    assert np.isnan(interval_ends(0.5, [np.empty(0)] * 3, 0.95)).all()
