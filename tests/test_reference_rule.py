"""The rule "reference" against the July 2025 snapshot's algorithm, written anew from its faults."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdad import measures
from mdad._reference import reference_mdad
from naive import random_counts, results_of


def snapshot(gaps, estimated, threshold):
    """Bins in use are floored floats; each is floored again to look its outcomes up."""
    bins = {}
    for gap, seen in zip(gaps, estimated, strict=True):
        # A pair tied on the full benchmark counts as "first ahead"; an estimated tie never agrees.
        full_sign = math.copysign(1, gap)
        seen_sign = (seen > 0) - (seen < 0)
        key = math.floor(abs(gap) * 200) / 200
        bins.setdefault(key, []).append(full_sign == seen_sign)
    for key in sorted(bins):
        looked_up = math.floor(key * 200) / 200
        outcomes = bins.get(looked_up, [])
        if outcomes and sum(outcomes) / len(outcomes) >= threshold:
            return looked_up
    return 0.5


def ours(gaps, estimated, threshold):
    return reference_mdad(np.array(gaps), np.sign(estimated).astype(np.int8), threshold)


SPECIAL = [0.0, 0.005, 0.14, 0.145, 0.285, 0.29, 0.565, 0.57, 0.575, 0.58, 0.6 - 0.455, 1.0]
GAPS = st.one_of(
    st.sampled_from(SPECIAL),
    st.sampled_from(SPECIAL).map(lambda gap: -gap or 0.0),
    st.integers(-224, 224).map(lambda right: right / 224),
    st.floats(-1, 1).map(lambda gap: gap + 0.0),
)
PAIRS = st.lists(st.tuples(GAPS, st.sampled_from([-0.1, 0.0, 0.1])), min_size=1, max_size=60)


@given(PAIRS, st.sampled_from([0.5, 0.7, 0.8, 0.9]))
@example([(0.145, 0.1)], 0.8)
@example([(0.29, 0.1), (0.285, -0.1)], 0.8)
@example([(0.0, 0.1)], 0.8)
@example([(0.0, 0.0)], 0.8)
def test_it_is_the_snapshots_algorithm(pairs, threshold):
    gaps, estimated = zip(*pairs, strict=True)
    assert ours(gaps, estimated, threshold) == snapshot(gaps, estimated, threshold)


@pytest.mark.parametrize("j", [29, 57, 58, 113, 114, 115, 116])
def test_bins_that_are_not_looked_up(j):
    # The only pair is right, but nobody looks there: "not reached" is 0.5.
    gap = (j + 0.5) / 200
    assert ours([gap], [0.1], 0.8) == snapshot([gap], [0.1], 0.8) == 0.5
    assert ours([gap - 9 / 200], [0.1], 0.8) == (j - 9) / 200


def test_bin_57_is_read_when_58_is_in_use():
    pairs = [57.5 / 200, 58.5 / 200], [0.1, -0.1], 0.8
    assert ours(*pairs) == snapshot(*pairs) == 57 / 200


def test_a_full_tie_is_right_when_the_first_listed_model_is_ahead():
    assert ours([0.0], [0.1], 0.8) == 0
    assert ours([0.0], [-0.1], 0.8) == 0.5


@pytest.mark.parametrize("threshold", [0.7, 0.8, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_the_rule_on_results_is_the_snapshots_algorithm(seed, threshold):
    counts = random_counts(seed, n_runs=20, n_items=(224, 200, 424))
    results = counts.results
    frame = measures.mdad(results, rule="reference", threshold=threshold)
    assert set(frame["mdad"]) != {0.5}
    for which, items in enumerate(("seen", "unseen")):
        full = results.full(items)
        for row, (method, size, m, s) in zip(
            frame[frame["items"] == items].itertuples(), counts.cells, strict=True
        ):
            gaps, estimated = [], []
            for run in range(20):
                for a in range(6):
                    for b in range(a + 1, 6):
                        gaps.append(float(full[run, a] - full[run, b]))
                        estimated.append(
                            float(results.estimates[m, s, run, a] - results.estimates[m, s, run, b])
                        )
            assert (row.method, row.size) == (method, size)
            assert row.mdad == snapshot(gaps, estimated, threshold), which
            assert row.n_pairs == 20 * 15
            assert math.isnan(row.low)
            assert math.isnan(row.high)


def test_other_ranges_are_brought_to_the_scale_it_knows():
    # No gap of these numbers of items lies on the edge of a bin, where rounding would decide.
    counts = random_counts(1, n_runs=20, n_items=(223, 211, 434))
    results = counts.results
    wide = results_of(
        results.estimates * 64 - 32,
        np.stack([results.full(items) for items in ("seen", "unseen", "all")]) * 64 - 32,
        counts.n_items,
        counts.sizes,
        [run.models for run in results.runs],
        kind="graded",
        score_range=(-32.0, 32.0),
    )
    plain, scaled = (measures.mdad(r, rule="reference") for r in (results, wide))
    assert scaled["mdad"].tolist() == pytest.approx((plain["mdad"] * 64).tolist())
    assert scaled["unresolved"].tolist() == plain["unresolved"].tolist()
    assert set(plain["mdad"]) != {0.5}
