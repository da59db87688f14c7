"""What is true of every measure: declared in a table, tested over all of them.

A measure that is in no set below fails the first test: nobody adds one without saying what is
true of it.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdad import measures
from mdad.experiment import ITEM_SETS, Experiment
from mdad.intervals import Interval
from mdad.methods import METHODS
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix
from naive import random_counts, renamed, results_of

RUNS = Interval("runs", n_resamples=20)
MODELS = Interval("models", n_resamples=20)
NO_MEASURES = {"Rule", "Ties"}


def first_cell(results):
    return results.experiment.methods[0], results.experiment.sizes[0]


# Each measure as it is called here: name -> function of results and an interval.
CALLS = {
    "agreement": lambda r, i: measures.agreement(r, items=ITEM_SETS, interval=i),
    "agreement, ties half": lambda r, i: measures.agreement(r, ties="half", interval=i),
    "agreement_curve": lambda r, i: measures.agreement_curve(r, *first_cell(r), interval=i),
    "mdad": lambda r, i: measures.mdad(r, items=ITEM_SETS, interval=i),
    "mdad, first": lambda r, i: measures.mdad(r, rule="first", threshold=0.7, interval=i),
    "mdad, reference": lambda r, _: measures.mdad(r, rule="reference"),
    "errors": lambda r, i: measures.errors(r, items=ITEM_SETS, interval=i),
    "kendall_tau": lambda r, _: pd.DataFrame(measures.kendall_tau(r).reshape(-1, len(r.runs))),
    "trust_curve": lambda r, i: measures.trust_curve(r, *first_cell(r), interval=i),
    "smallest_trustworthy_gap": lambda r, i: measures.smallest_trustworthy_gap(
        r, probability=0.7, interval=i
    ),
    "unresolved_share": lambda r, _: pd.DataFrame(
        {
            "unresolved": [
                measures.unresolved_share(np.subtract.outer(f, f), 0.1) for f in r.full("seen")
            ]
        }
    ),
}

# Which model of a pair is listed first makes no difference. The snapshot's rule calls a pair tied
# on the full benchmark right when the first is ahead, so it is not among them.
SYMMETRIC = set(CALLS) - {"mdad, reference"}
NOT_SYMMETRIC = {"mdad, reference"}

# Results in the unit of the scores grow with it; the others are shares and have none.
IN_SCORE_UNITS = {
    "agreement_curve": {"gap", "mean_gap"},
    "mdad": {"mdad", "low", "high"},
    "mdad, first": {"mdad", "low", "high"},
    "mdad, reference": {"mdad"},
    "errors": {"error", "error_low", "error_high", "bias"},
    "trust_curve": {"gap", "mean_gap"},
    "smallest_trustworthy_gap": {"gap", "low", "high"},
}
UNIT_FREE = {"agreement", "agreement, ties half", "kendall_tau"}
# Takes gaps and an MDAD, not results.
OF_GAPS = {"unresolved_share"}


def measured(name):
    return name.split(",")[0]


def test_every_public_measure_is_in_the_property_sets():
    public = set(measures.__all__) - NO_MEASURES
    assert {measured(name) for name in CALLS} == public
    assert set(CALLS) == SYMMETRIC | NOT_SYMMETRIC
    assert not SYMMETRIC & NOT_SYMMETRIC
    assert set(CALLS) == set(IN_SCORE_UNITS) | UNIT_FREE | OF_GAPS


def same(a, b, tolerance=1e-12):
    assert list(a.columns) == list(b.columns)
    assert len(a) == len(b)
    for column in a.columns:
        if a[column].dtype.kind in "fi":
            np.testing.assert_allclose(a[column], b[column], atol=tolerance, rtol=1e-9)
        else:
            assert a[column].tolist() == b[column].tolist()


def exactly_same(a, b):
    pd.testing.assert_frame_equal(a, b, check_exact=True)


SEEDS = st.integers(0, 10_000)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
@pytest.mark.parametrize("name", sorted(SYMMETRIC))
def test_swapping_models_changes_nothing(name, seed):
    counts = random_counts(seed)
    # Names in the opposite order: the first model of every pair becomes the second.
    names = {f"model-{i}": f"model-{9 - i}" for i in range(9)}
    for interval in (RUNS, Interval(n_resamples=0)):
        same(
            CALLS[name](counts.results, interval),
            CALLS[name](renamed(counts, names).results, interval),
        )


@pytest.mark.parametrize("name", sorted(NOT_SYMMETRIC))
def test_what_is_declared_unsymmetric_is(name):
    changed = 0
    for seed in range(20):
        counts = random_counts(seed, n_runs=1, n_target=5)
        names = {f"model-{i}": f"model-{9 - i}" for i in range(9)}
        a, b = (CALLS[name](c.results, RUNS) for c in (counts, renamed(counts, names)))
        changed += a["mdad"].tolist() != b["mdad"].tolist()
    assert changed > 0


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, data=st.data())
@pytest.mark.parametrize("name", sorted(SYMMETRIC))
def test_naming_the_models_in_any_order_changes_no_value(name, seed, data):
    counts = random_counts(seed)
    order = data.draw(st.permutations(range(9)))
    names = {f"model-{i}": f"model-{k}" for i, k in enumerate(order)}
    none = Interval(n_resamples=0)
    same(CALLS[name](counts.results, none), CALLS[name](renamed(counts, names).results, none))


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
@pytest.mark.parametrize("interval", [RUNS, MODELS], ids=["runs", "models"])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_renaming_in_the_same_order_changes_no_bit(name, interval, seed):
    counts = random_counts(seed)
    names = {f"model-{i}": f"the {i}th" for i in range(9)}
    exactly_same(
        CALLS[name](counts.results, interval),
        CALLS[name](renamed(counts, names).results, interval),
    )


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
@pytest.mark.parametrize("name", sorted(set(CALLS) - OF_GAPS))
def test_measures_scale_with_the_declared_range(name, seed):
    counts = random_counts(seed, n_items=(223, 211, 434))
    results = counts.results
    full = np.stack([results.full(items) for items in ITEM_SETS])
    # A power of two scales without rounding; half-point bins of 1/223 have no gap on an edge.
    scaled = results_of(
        results.estimates * 64,
        full * 64,
        counts.n_items,
        counts.sizes,
        [run.models for run in results.runs],
        kind="graded",
        score_range=(0.0, 64.0),
    )
    plain, wide = (CALLS[name](r, RUNS) for r in (results, scaled))
    for column in IN_SCORE_UNITS.get(name, ()):
        plain[column] = plain[column] * 64
    same(plain, wide, tolerance=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_thresholds_order_mdads(seed):
    results = random_counts(seed, n_runs=6).results
    for rule in ("monotone", "first", "reference"):
        found = [
            measures.mdad(results, rule=rule, threshold=t, interval=RUNS)["mdad"].fillna(math.inf)
            for t in (0.6, 0.7, 0.8, 0.9)
        ]
        for lower, higher in pairwise(found):
            assert (lower <= higher + 1e-12).all()


def scored(seed, n_models=18, n_items=40):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.1, 0.9, (n_models, 1)) * rng.uniform(0.5, 1, (1, n_items))
    return ScoreMatrix(
        (rng.random((n_models, n_items)) < chance).astype(int),
        [f"m{i:02d}" for i in range(n_models)],
        [f"q{i:02d}" for i in range(n_items)],
        [f"t{i % 3}" for i in range(n_items)],
    )


def audited(scores):
    experiment = Experiment(methods=tuple(METHODS)[:3], sizes=(4, 9), runs=3, seed=5)
    return run_experiment(Completed(scores, (), ()), experiment)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_order_of_rows_and_columns_changes_no_bit(name, permuted_pair):
    exactly_same(*(CALLS[name](results, MODELS) for results in permuted_pair))


@pytest.fixture(scope="module")
def permuted_pair():
    scores = scored(1)
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(18), rng.permutation(40)
    permuted = ScoreMatrix(
        scores.values[np.ix_(rows, columns)],
        [scores.models[i] for i in rows],
        [scores.items[i] for i in columns],
        [scores.subtasks[i] for i in columns],
    )
    return audited(scores), audited(permuted)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_new_names_in_the_same_order_change_no_bit(name, relabelled_pair):
    exactly_same(*(CALLS[name](results, MODELS) for results in relabelled_pair))


@pytest.fixture(scope="module")
def relabelled_pair():
    scores = scored(3)
    relabelled = ScoreMatrix(
        scores.values,
        [f"model {name}" for name in scores.models],
        [f"item {name}" for name in scores.items],
        [f"subtask {name}" for name in scores.subtasks],
    )
    return audited(scores), audited(relabelled)
