"""Every measure against a double loop and against numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from mdad import measures
from mdad._tables import bootstrap_weights
from mdad.errors import SettingError, UnknownIdError
from mdad.experiment import ITEM_SETS
from mdad.intervals import Interval
from naive import (
    Counts,
    agreed,
    bin_index,
    bins_of,
    crossing_by_search,
    first_bin,
    interval_of,
    percentiles,
    random_counts,
    results_of,
    weights_of,
)

NONE = Interval(n_resamples=0)
SEEDS = range(6)
UNITS = ("runs", "models")


def frame_cell(frame, method, size, items=None):
    row = frame[(frame["method"] == method) & (frame["size"] == size)]
    if items is not None:
        row = row[row["items"] == items]
    assert len(row) == 1
    return row.iloc[0]


def agreement_rows(counts, items, m, s, ties="wrong"):
    return [
        (run, a, b, gap, agreed(gap, seen, ties))
        for run, a, b, gap, seen in counts.pairs(items, m, s)
        if gap != 0
    ]


def trust_rows(counts, items, m, s, _ties=None):
    return [
        (run, a, b, seen, agreed(gap, seen, "wrong"))
        for run, a, b, gap, seen in counts.pairs(items, m, s)
        if gap != 0 and seen != 0
    ]


def close(a, b):
    return a == pytest.approx(b, abs=1e-9, nan_ok=True)


# Three models, 200 seen items: 100, 110 and 130 right; 10 chosen items: 6, 6 and 5 right.
# Gaps .05, .15, .10 in bins 10, 30, 20. Pair a-b is an estimated tie, a-c and b-c are wrong.
# In the second run the estimates are 4, 5 and 7: all three right.
HAND = Counts(
    full=np.array([[[100, 110, 130]] * 2, [[90, 90, 120]] * 2, [[190, 200, 250]] * 2]),
    chosen=np.array([[[[6, 6, 5], [4, 5, 7]]]]),
    n_items=(200, 200, 400),
    sizes=(10,),
    models=(("a", "b", "c"), ("a", "b", "c")),
)


def test_agreement_by_hand():
    frame = measures.agreement(HAND.results, interval=NONE)
    seen, unseen = (frame_cell(frame, "random", 10, items) for items in ("seen", "unseen"))
    assert (seen["agreement"], seen["n_pairs"], seen["n_tied"]) == (3 / 6, 6, 0)
    # a and b are tied on the unseen items: no right order, left out of both runs.
    assert (unseen["agreement"], unseen["n_pairs"], unseen["n_tied"]) == (2 / 4, 4, 2)
    half = measures.agreement(HAND.results, ties="half", interval=NONE)
    assert frame_cell(half, "random", 10, "seen")["agreement"] == 3.5 / 6


def test_agreement_curve_by_hand():
    curve = measures.agreement_curve(HAND.results, "random", 10, interval=NONE)
    assert curve["gap"].tolist() == pytest.approx([0.05, 0.10, 0.15])
    assert curve["mean_gap"].tolist() == pytest.approx([0.05, 0.10, 0.15])
    assert curve["agreement"].tolist() == [0.5, 0.5, 0.5]
    assert curve["n_pairs"].tolist() == [2, 2, 2]


def test_errors_by_hand():
    row = frame_cell(measures.errors(HAND.results, interval=NONE), "random", 10, "seen")
    # |.6-.5| + |.6-.55| + |.5-.65| + |.4-.5| + |.5-.55| + |.7-.65| = .5, over 6 models
    assert row["error"] == pytest.approx(0.5 / 6)
    # +.1 +.05 -.15 -.1 -.05 +.05 = -.1
    assert row["bias"] == pytest.approx(-0.1 / 6)
    # Run 1: no pair right, two wrong, one tied: -2 / sqrt(3 x 2). Run 2: all right: 1.
    assert row["kendall_tau"] == pytest.approx((-2 / math.sqrt(6) + 1) / 2)
    assert row["n_undefined"] == 0


def test_mdad_monotone_by_hand():
    # Bins 2, 4, 6, 8 hold 40 pairs each with agreement .5, .9, .6, 1: the fit pools the two in
    # the middle to .75 and reaches .8 a fifth of the way from bin 6 to bin 8.
    results = curve_results({2: (20, 40), 4: (36, 40), 6: (24, 40), 8: (40, 40)})
    row = measures.mdad(results, items=("seen",), interval=NONE).iloc[0]
    assert row["mdad"] == pytest.approx(0.03 + 0.2 * 0.01)
    assert row["n_pairs"] == 160
    # Pairs of bins 2, 4 and 6 lie below it.
    assert row["unresolved"] == 0.75


def test_mdad_first_takes_the_lucky_bin_and_ignores_bins_of_few_pairs():
    lucky = {2: (20, 40), 3: (29, 29), 4: (36, 40), 6: (24, 40), 8: (40, 40)}
    row = measures.mdad(curve_results(lucky), rule="first", items=("seen",), interval=NONE)
    assert row.iloc[0]["mdad"] == pytest.approx(0.02)
    enough = {2: (20, 40), 3: (24, 30), 8: (40, 40)}
    row = measures.mdad(curve_results(enough), rule="first", items=("seen",), interval=NONE)
    assert row.iloc[0]["mdad"] == pytest.approx(0.015)


@pytest.mark.parametrize("rule", ["monotone", "first"])
def test_mdad_not_reached_is_nan_and_leaves_every_pair_unresolved(rule):
    results = curve_results({2: (20, 40), 8: (31, 40)})
    interval = Interval("runs", n_resamples=50)
    row = measures.mdad(results, rule=rule, items=("seen",), interval=interval).iloc[0]
    assert math.isnan(row["mdad"])
    assert row["unresolved"] == 1
    assert row["high"] == math.inf


@pytest.mark.parametrize("seed", [10, 53, 91])
def test_an_interval_that_leaves_the_range_of_scores_is_not_reached_at_its_end(seed):
    # Few runs vary so much that the corrected interval would end at 1.02 to 1.22 of the range.
    results = random_counts(seed).results
    frame = measures.mdad(results, items=("seen",), interval=Interval(n_resamples=50))
    wide = frame[(frame["high"] == math.inf) & frame["mdad"].notna()]
    assert len(wide) > 0
    assert not ((frame["high"] > 1) & np.isfinite(frame["high"])).any()


def test_a_gap_of_the_whole_range_is_reached():
    results = curve_results({200: (40, 40)})
    row = measures.mdad(results, items=("seen",), interval=Interval("runs", n_resamples=20))
    assert row.loc[0, ["mdad", "low", "high"]].tolist() == [1, 1, 1]


def test_mdad_reference_by_hand():
    # The first bin whose mean reaches the threshold, however few its pairs.
    results = curve_results({2: (20, 40), 3: (1, 1), 8: (40, 40)})
    frame = measures.mdad(results, rule="reference", items=("seen",))
    assert frame.iloc[0]["mdad"] == 0.015
    results = curve_results({2: (20, 40), 8: (31, 40)})
    assert measures.mdad(results, rule="reference", items=("seen",)).iloc[0]["mdad"] == 0.5


def curve_results(bins):
    """Results of two models per run with this many agreements out of pairs in each bin."""
    full, chosen = [], []
    for b, (right, pairs) in bins.items():
        for pair in range(pairs):
            full.append((0, b))
            chosen.append((0, 1) if pair < right else (1, 0))
    full = np.array(full)
    counts = Counts(
        np.stack([full, full, 2 * full]),
        np.array(chosen)[None, None],
        (200, 200, 400),
        (10,),
        (("a", "b"),) * len(full),
    )
    return counts.results


def test_trust_by_hand():
    # Observed gaps .1 (right), .2 (right), .1 (wrong), .1 (wrong), .3 (right), .2 (right):
    # run 1 of HAND has estimates 6, 6, 5: a-b tied (out), a-c and b-c off by .1, wrong.
    curve = measures.trust_curve(HAND.results, "random", 10, interval=NONE)
    assert curve["gap"].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert curve["trust"].tolist() == pytest.approx([1 / 3, 1, 1])
    assert curve["n_pairs"].tolist() == [3, 1, 1]
    frame = measures.smallest_trustworthy_gap(
        HAND.results, probability=0.8, items=("seen",), interval=NONE
    )
    # From .1 (trust 1/3) to .2 (trust 1): .8 lies 7/10 of the way.
    assert frame.iloc[0]["gap"] == pytest.approx(0.1 + 0.1 * (0.8 - 1 / 3) / (2 / 3))


@pytest.mark.parametrize("ties", ["wrong", "half"])
@pytest.mark.parametrize("seed", SEEDS)
def test_agreement_is_the_double_loop(seed, ties):
    counts = random_counts(seed)
    frame = measures.agreement(counts.results, items=ITEM_SETS, ties=ties, interval=NONE)
    assert len(frame) == 2 * 2 * 3
    for items in ITEM_SETS:
        for method, size, m, s in counts.cells:
            outcomes = [row[-1] for row in agreement_rows(counts, items, m, s, ties)]
            tied = sum(pair[3] == 0 for pair in counts.pairs(items, m, s))
            row = frame_cell(frame, method, size, items)
            assert close(row["agreement"], float(sum(outcomes) / len(outcomes)))
            assert (row["n_pairs"], row["n_tied"]) == (len(outcomes), tied)
            assert tied > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_agreement_curve_is_the_double_loop(seed):
    counts = random_counts(seed)
    for method, size, m, s in counts.cells:
        curve = measures.agreement_curve(
            counts.results, method, size, items="unseen", interval=NONE
        )
        table = bins_of(agreement_rows(counts, "unseen", m, s))
        assert np.rint(curve["gap"] * 200).astype(int).tolist() == sorted(table)
        for row, b in zip(curve.itertuples(), sorted(table), strict=True):
            right, _, pairs, distance = table[b]
            assert row.n_pairs == pairs
            assert close(row.agreement, right / pairs)
            assert close(row.mean_gap, distance / pairs)


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("seed", SEEDS)
def test_mdad_is_the_crossing_of_scikit_learns_isotonic_fit(seed, threshold):
    counts = random_counts(seed, n_runs=8)
    frame = measures.mdad(counts.results, threshold=threshold, items=ITEM_SETS, interval=NONE)
    for items in ITEM_SETS:
        for method, size, m, s in counts.cells:
            table = bins_of(agreement_rows(counts, items, m, s))
            expected = crossing_by_search(table, threshold)
            row = frame_cell(frame, method, size, items)
            assert close(row["mdad"], expected if math.isfinite(expected) else math.nan)
            below = [abs(pair[3]) < expected - 1e-9 for pair in counts.pairs(items, m, s)]
            assert close(row["unresolved"], sum(below) / len(below))


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("seed", SEEDS)
def test_mdad_first_is_the_loop_over_bins(seed, threshold):
    counts = random_counts(seed, n_runs=60, n_target=8, n_items=(40, 40, 80))
    frame = measures.mdad(
        counts.results, rule="first", threshold=threshold, items=ITEM_SETS, interval=NONE
    )
    for items in ITEM_SETS:
        for method, size, m, s in counts.cells:
            expected = first_bin(bins_of(agreement_rows(counts, items, m, s)), threshold)
            found = frame_cell(frame, method, size, items)["mdad"]
            assert close(found, expected if math.isfinite(expected) else math.nan)
    assert frame["mdad"].notna().any()


@pytest.mark.parametrize("seed", SEEDS)
def test_trust_is_the_double_loop_over_observed_gaps(seed):
    counts = random_counts(seed, n_runs=8)
    gaps = measures.smallest_trustworthy_gap(counts.results, probability=0.8, interval=NONE)
    for items in ("seen", "unseen"):
        for method, size, m, s in counts.cells:
            table = bins_of(trust_rows(counts, items, m, s))
            curve = measures.trust_curve(counts.results, method, size, items=items, interval=NONE)
            assert np.rint(curve["gap"] * 200).astype(int).tolist() == sorted(table)
            for row, b in zip(curve.itertuples(), sorted(table), strict=True):
                assert close(row.trust, table[b][0] / table[b][1])
                assert row.n_pairs == table[b][2]
            expected = crossing_by_search(table, 0.8)
            found = frame_cell(gaps, method, size, items)["gap"]
            assert close(found, expected if math.isfinite(expected) else math.nan)


@pytest.mark.parametrize("seed", SEEDS)
def test_errors_and_kendalls_tau_b_are_loops_and_scipy(seed):
    counts = random_counts(seed, n_runs=8, sizes=(1, 20))
    frame = measures.errors(counts.results, items=ITEM_SETS, interval=NONE)
    for which, items in enumerate(ITEM_SETS):
        for method, size, m, s in counts.cells:
            taus, wrong = [], []
            for run in range(8):
                full = counts.full[which, run] / counts.n_items[which]
                chosen = counts.chosen[m, s, run] / size
                wrong += [c - f for c, f in zip(chosen, full, strict=True)]
                if len(set(counts.chosen[m, s, run])) > 1:
                    taus.append(kendalltau(counts.full[which, run], counts.chosen[m, s, run])[0])
            row = frame_cell(frame, method, size, items)
            assert close(row["error"], np.abs(wrong).mean())
            assert close(row["bias"], np.mean(wrong))
            assert close(row["kendall_tau"], np.mean(taus))
            assert row["n_undefined"] == 8 - len(taus)


def test_tau_b_is_undefined_for_equal_estimates_and_counted():
    chosen = np.array([[[[3, 3, 3], [1, 2, 3]]]])
    full = np.array([[[10, 20, 30]] * 2] * 3)
    counts = Counts(full, chosen, (200, 200, 400), (10,), (("a", "b", "c"),) * 2)
    row = measures.errors(counts.results, interval=NONE).iloc[0]
    assert (row["kendall_tau"], row["n_undefined"]) == (1, 1)
    assert math.isnan(measures.kendall_tau(counts.results)[0, 0, 0])
    constant = Counts(full, chosen[:, :, :1].repeat(2, 2), (200, 200, 400), (10,), counts.models)
    row = measures.errors(constant.results).iloc[0]
    assert math.isnan(row["kendall_tau"])
    assert row["n_undefined"] == 2


@pytest.mark.parametrize("ties", ["wrong", "half"])
@pytest.mark.parametrize("unit", UNITS)
def test_agreement_and_its_curve_have_the_loops_intervals(unit, ties):
    counts = random_counts(3, n_runs=5, sizes=(20,))
    interval = Interval(unit, level=0.8, n_resamples=40)
    frame = measures.agreement(counts.results, ties=ties, interval=interval)
    for items, method, size, plain, parts in bootstrapped(counts, interval, ties):

        def mean(table):
            return sum(c[0] for c in table.values()) / sum(c[1] for c in table.values())

        means = [[mean(table) for table in tables] for tables in parts]
        row = frame_cell(frame, method, size, items)
        assert close((row["low"], row["high"]), interval_of(mean(plain), means, 0.8, 1.0))
        curve = measures.agreement_curve(
            counts.results, method, size, items=items, ties=ties, interval=interval
        )
        for point in curve.itertuples():
            b = round(point.gap * 200)
            means = [[bin_mean(table[b], math.nan) for table in tables] for tables in parts]
            expected = interval_of(plain[b][0] / plain[b][1], means, 0.8, 1.0)
            assert close((point.low, point.high), expected)


@pytest.mark.parametrize("unit", UNITS)
def test_mdad_has_the_loops_interval(unit):
    counts = random_counts(4, n_runs=12, n_target=7, n_items=(60, 40, 100), sizes=(20,))
    interval = Interval(unit, level=0.8, n_resamples=20)
    frame = measures.mdad(counts.results, threshold=0.7, interval=interval)
    for items, method, size, plain, parts in bootstrapped(counts, interval):
        positions = {b: cell[3] / cell[2] for b, cell in plain.items()}
        values = [
            [crossing_by_search(table, 0.7, positions) for table in tables] for tables in parts
        ]
        row = frame_cell(frame, method, size, items)
        value = crossing_by_search(plain, 0.7)
        assert close((row["low"], row["high"]), interval_of(value, values, 0.8))


@pytest.mark.parametrize("unit", UNITS)
def test_mdad_first_has_the_loops_interval(unit):
    counts = random_counts(
        4, n_runs=40, n_target=8, n_models=40, n_items=(30, 20, 50), sizes=(20,), n_methods=1
    )
    interval = Interval(unit, level=0.8, n_resamples=20)
    frame = measures.mdad(counts.results, rule="first", threshold=0.55, interval=interval)
    for items, method, size, plain, parts in bootstrapped(counts, interval):

        def bounds(level, guess, end, plain=plain, parts=parts):
            """Ends of every bin's interval, as bins; one without weight may have any mean."""
            found = {}
            for b, cell in plain.items():
                main, *others = [[bin_mean(table[b], math.nan) for table in t] for t in parts]
                filled = [guess if math.isnan(m) else m for m in main]
                ends = interval_of(cell[0] / cell[1], [filled, *others], level, 1.0)
                found[b] = (ends[end] * cell[2], cell[2])
            return found

        low, high = first_bin(bounds(0.8, 1.0, 1), 0.55), first_bin(bounds(0.8, 0.0, 0), 0.55)
        between = [b for b in plain if plain[b][2] >= 30 and low - 1e-9 <= b / 200 < high - 1e-9]
        high = first_bin(bounds(1 - 0.2 / max(len(between), 1), 0.0, 0), 0.55)
        row = frame_cell(frame, method, size, items)
        assert close((row["low"], row["high"]), (low, high))
        assert not row["low"] > row["mdad"]
        assert not row["high"] < row["mdad"]
    assert np.isfinite(frame["high"]).any()


def bin_mean(cell, empty):
    return cell[0] / cell[1] if cell[1] else empty


def bootstrapped(counts, interval, ties="wrong", rows_of=agreement_rows):
    """Bins of each cell: plain, and in every replicate of every kind."""
    weights = weights_of(counts.results, interval)
    for items in ("seen", "unseen"):
        for method, size, m, s in counts.cells:
            rows = rows_of(counts, items, m, s, ties)
            parts = [
                [
                    bins_of(rows, lambda *pair, b=b, w=weight: w(b, *pair))
                    for b in range(interval.n_resamples)
                ]
                for weight in weights
            ]
            yield items, method, size, bins_of(rows), parts


@pytest.mark.parametrize("unit", UNITS)
def test_trust_has_the_loops_interval(unit):
    counts = random_counts(5, n_runs=8, sizes=(20,))
    interval = Interval(unit, level=0.8, n_resamples=20)
    frame = measures.smallest_trustworthy_gap(counts.results, probability=0.8, interval=interval)
    for items, method, size, plain, parts in bootstrapped(counts, interval, "wrong", trust_rows):
        positions = {b: cell[3] / cell[2] for b, cell in plain.items()}
        values = [
            [crossing_by_search(table, 0.8, positions) for table in tables] for tables in parts
        ]
        row = frame_cell(frame, method, size, items)
        value = crossing_by_search(plain, 0.8)
        assert close((row["low"], row["high"]), interval_of(value, values, 0.8))


@pytest.mark.parametrize("unit", UNITS)
def test_errors_have_the_loops_intervals(unit):
    counts = random_counts(6, n_runs=5, sizes=(1, 20))
    results = counts.results
    interval = Interval(unit, level=0.8, n_resamples=40)
    drawn = bootstrap_weights(results, interval)
    place = {model: i for i, model in enumerate(results.models)}
    weights = [lambda b, run, _: drawn.runs[b, run]]
    if unit == "models":
        of_model = lambda b, _, model: drawn.models[b, place[model]]  # noqa: E731
        weights = [of_model, *weights, lambda *at: weights[1](*at) * of_model(*at)]
    frame = measures.errors(results, items=("seen",), interval=interval)
    taus = measures.kendall_tau(results)
    for method, size, m, s in counts.cells:
        wrong = {
            (run, model): abs(counts.chosen[m, s, run, k] / size - counts.full[0, run, k] / 224)
            for run in range(5)
            for k, model in enumerate(counts.models[run])
        }
        parts = []
        for weight in weights:
            each = [{at: weight(b, *at) for at in wrong} for b in range(40)]
            parts.append([sum(w[at] * wrong[at] for at in w) / sum(w.values()) for w in each])
        row = frame_cell(frame, method, size)
        value = sum(wrong.values()) / len(wrong)
        assert close((row["error_low"], row["error_high"]), interval_of(value, parts, 0.8))
        # tau-b is resampled by runs, whatever the unit.
        defined = [(r, tau) for r, tau in enumerate(taus[m, s]) if not math.isnan(tau)]
        means = []
        for b in range(40):
            mass = sum(drawn.runs[b, r] for r, _ in defined)
            total = sum(drawn.runs[b, r] * tau for r, tau in defined)
            means.append(total / mass if mass else math.nan)
        assert close((row["tau_low"], row["tau_high"]), percentiles(means, 0.8))


def test_half_point_bins_on_the_edges_floats_miss():
    # 0.29 x 200 is 57.999...: floats put it one bin down; so with 14.5, 28.5 and 56.5 points.
    for b in (29, 57, 58, 113, 114, 115, 116):
        results = curve_results({b: (40, 40)})
        curve = measures.agreement_curve(results, "random", 10, interval=NONE)
        assert curve["gap"].tolist() == pytest.approx([b / 200])
        row = measures.mdad(results, rule="first", items=("seen",), interval=NONE).iloc[0]
        assert row["mdad"] == pytest.approx(b / 200)
        # The pairs lie at the MDAD, not below it.
        assert row["unresolved"] == 0


def test_every_difference_of_gpqas_seen_items_is_in_its_bin():
    # B32: 0.44 % of all differences of two shares of 224 fall one bin down in floats.
    full = np.array([[(0, d)] for d in range(1, 225)])[:, 0]
    start = np.arange(224) % 17
    counts = Counts(
        np.stack([np.minimum(full + start[:, None], 224)] * 3),
        np.tile([0, 1], (1, 1, 224, 1)),
        (224, 224, 224),
        (10,),
        (("a", "b"),) * 224,
    )
    curve = measures.agreement_curve(counts.results, "random", 10, interval=NONE)
    expected = sorted({bin_index(pair[3]) for pair in counts.pairs("seen", 0, 0)})
    assert np.rint(curve["gap"] * 200).astype(int).tolist() == expected


def test_two_identical_models_are_no_evidence_either_way():
    # User case 15: tied on the full benchmark: left out and counted, not right or wrong.
    full = np.array([[[50, 50, 80]]] * 3)
    counts = Counts(full, np.array([[[[4, 4, 9]]]]), (200, 200, 400), (10,), (("a", "b", "c"),))
    row = measures.agreement(counts.results, interval=NONE).iloc[0]
    assert (row["agreement"], row["n_pairs"], row["n_tied"]) == (1, 2, 1)


def test_no_ordered_pair_at_all_is_nan_everywhere():
    full = np.array([[[50, 50]]] * 3)
    counts = Counts(full, np.array([[[[4, 5]]]]), (200, 200, 400), (10,), (("a", "b"),))
    results, interval = counts.results, Interval(n_resamples=20)
    row = measures.agreement(results, interval=interval).iloc[0]
    assert math.isnan(row["agreement"])
    assert math.isnan(row["low"])
    assert (row["n_pairs"], row["n_tied"]) == (0, 1)
    assert math.isnan(measures.mdad(results, interval=interval).iloc[0]["mdad"])
    assert measures.agreement_curve(results, "random", 10, interval=interval).empty
    assert math.isnan(measures.smallest_trustworthy_gap(results).iloc[0]["gap"])


def test_gaps_are_in_the_unit_of_the_scores():
    # A judge's scale from 1 to 11: a point is .1, a bin .05. Gap .5 is bin 10.
    full = np.array([[[3.0, 3.5, 5.0]]] * 3)
    results = results_of(
        np.array([[[[2.0, 4.0, 5.5]]]]),
        full,
        (20, 20, 40),
        (5,),
        (("a", "b", "c"),),
        kind="graded",
        score_range=(1.0, 11.0),
    )
    curve = measures.agreement_curve(results, "random", 5, interval=NONE)
    assert curve["gap"].tolist() == pytest.approx([0.5, 1.5, 2.0])
    row = measures.mdad(results, items=("seen",), interval=NONE).iloc[0]
    assert row["mdad"] == pytest.approx(0.5)
    assert measures.errors(results).iloc[0]["error"] == pytest.approx((1 + 0.5 + 0.5) / 3)


def test_unresolved_share_counts_gaps_below_of_either_sign():
    assert measures.unresolved_share([0.01, -0.02, 0.05, -0.10], 0.05) == 0.5
    assert measures.unresolved_share([0.01, -0.02], math.nan) == 1
    # 0.35 - 0.3 is 0.04999...: a pair at the MDAD is not below it.
    assert measures.unresolved_share([0.35 - 0.3], 0.05) == 0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: measures.mdad(r, threshold=1.0), SettingError, "threshold"),
        (lambda r: measures.mdad(r, rule="frist"), SettingError, "did you mean 'first'"),
        (lambda r: measures.agreement(r, ties="hald"), SettingError, "did you mean 'half'"),
        (lambda r: measures.agreement(r, items=("sene",)), SettingError, "did you mean 'seen'"),
        (lambda r: measures.agreement_curve(r, "random", 11), UnknownIdError, "sizes: 10"),
        (lambda r: measures.trust_curve(r, "rnd", 10), UnknownIdError, "methods: random"),
        (
            lambda r: measures.smallest_trustworthy_gap(r, probability=0),
            SettingError,
            "probability",
        ),
        (lambda r: measures.kendall_tau(r, "sene"), SettingError, "did you mean 'seen'"),
    ],
)
def test_settings_that_cannot_be_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(HAND.results)
