"""The audit object, its summary and its sentences."""

import math
from dataclasses import replace

import numpy as np
import pytest

import mdad
from mdad import datasets, measures
from mdad.auditing import Audit
from mdad.intervals import Interval
from mdad.quality import assess, copy_groups
from mdad.report import sentences
from mdad.report.summary import Estimate, Row, summarize
from mdad.scores import ScoreMatrix


@pytest.fixture(scope="module")
def scores():
    return datasets.simulate(n_models=45, n_items=200, subtasks=4, seed=5)


@pytest.fixture(scope="module")
def audit(scores):
    return mdad.audit(scores, sizes=[10, 40, 90], runs=12, seed=2)


def test_tables_are_those_of_the_measures(audit):
    results = audit.results
    assert audit.mdad().equals(measures.mdad(results))
    assert audit.agreement(ties="half").equals(measures.agreement(results, ties="half"))
    assert audit.errors().equals(measures.errors(results))
    assert audit.curve("random", 40).equals(measures.agreement_curve(results, "random", 40))
    assert audit.trust("random", 40).equals(measures.trust_curve(results, "random", 40))
    assert audit.smallest_trustworthy_gap(0.9).equals(
        measures.smallest_trustworthy_gap(results, probability=0.9)
    )


def test_save_and_load(audit, tmp_path):
    audit.save(tmp_path / "results")
    assert Audit.load(tmp_path / "results").mdad().equals(audit.mdad())


def test_summary_is_in_points_and_agrees_with_the_tables(audit):
    summary = audit.summary()
    table = audit.mdad().set_index(["method", "size", "items"])
    assert len(summary.rows) == len(table) == 3 * 3 * 2
    for row in summary.rows:
        expected = table.loc[(row.method, row.size, row.items)]
        if math.isnan(expected["mdad"]):
            assert row.mdad.value is None
        else:
            assert row.mdad.value == pytest.approx(100 * expected["mdad"], abs=1e-4)
        assert row.unresolved == expected["unresolved"]
    assert summary.simulated
    assert any("simulated" in note for note in summary.notes)
    assert sum(summary.pair_gaps) == 12 * 15 * 14 // 2


def test_summary_of_a_graded_range_uses_its_own_points():
    rng = np.random.default_rng(0)
    ability = rng.normal(0, 6, size=(30, 1))
    values = np.clip(ability + rng.normal(0, 8, size=(30, 80)), -33.3, 10)
    graded = ScoreMatrix(
        values, [f"m{i}" for i in range(30)], range(80), score_range=(-33.3, 10), name="eq"
    )
    result = mdad.audit(graded, sizes=[10, 20], runs=10)
    row, table = result.summary().rows[0], result.mdad()
    assert row.mdad.value == pytest.approx(table["mdad"][0] / 0.433, abs=1e-3)
    full = np.sort(graded.full_scores())
    shown = result.summary().full_scores
    assert all(0 <= score <= 100 for score in shown)
    assert min(shown) >= (full[0] + 33.3) / 0.433 - 1e-5


def test_reports_are_written(audit, tmp_path):
    path = audit.report(tmp_path / "audit.html")
    assert "<html" in path.read_text(encoding="utf-8")


def row(size, value, low=None, high=None, **changes):
    """A row of a summary with the numbers that sentences read."""
    estimate = Estimate(value, low, high)
    made = Row(
        method="random",
        size=size,
        items="seen",
        mdad=estimate,
        agreement=Estimate(0.8, None, None),
        agreement_ties_half=0.82,
        observed_gap_95=estimate,
        observed_gap_80=value,
        error=estimate,
        kendall_tau=estimate,
        unresolved=0.38,
        n_pairs=1000,
    )
    return replace(made, **changes)


def test_advice_says_what_a_reader_asks():
    rows = [row(50, 6.0, 5, 7), row(100, 4.5, 4, 5.2), row(400, 1.9, 1.5, 2.2)]
    said = sentences.advice(rows, 0.8)
    assert said[0] == (
        "With 100 random items two models must be 4.5 points apart before the micro-benchmark "
        "ranks them correctly with probability 0.8 (95 % interval 4.0 to 5.2)."
    )
    assert said[1].startswith("38 % of the pairs compared are closer than that")
    # log-log between 100 (4.5) and 400 (1.9): 100 * 4 ** (log(4.5 / 2) / log(4.5 / 1.9)) = 368
    assert said[2] == "For 2 points take about 370 items."


def test_advice_without_an_answer():
    nothing = sentences.advice([row(10, None), row(25, None)], 0.8)
    assert "no gap found" in nothing[0]
    assert "more than 25 items" in nothing[1]
    easy = sentences.advice([row(10, 1.5), row(25, 1)], 0.8)
    assert "10 items are enough for 2 points." in easy
    beyond = sentences.advice([row(100, 8.0, 6.0, None)], 0.8)
    assert "6.0 to beyond reach" in beyond[0]


def test_advice_names_a_better_method_only_when_intervals_are_apart():
    base = row(100, 4.5, 4, 5)
    better = row(100, 2.0, 1.5, 2.5, method="clever")
    level = row(100, 4.0, 3.5, 4.6, method="clever")
    assert any("clever does better: 2 points" in s for s in sentences.advice([base, better], 0.8))
    assert any("No other method" in s for s in sentences.advice([base, level], 0.8))


def test_size_for_gap_stays_inside_the_audited_sizes():
    rows = [row(50, 6.0), row(100, 4.0), row(200, 4.0)]
    assert sentences.size_for_gap(rows, 4.0) == pytest.approx(100)
    assert sentences.size_for_gap(rows, 2.0) is None
    assert sentences.size_for_gap(rows, 8.0) is None
    assert sentences.size_for_gap([row(50, 4.0), row(100, 4.0)], 4.0) == 50


def test_scope_says_split_truth_and_rule(audit):
    spec = audit.results.spec
    by_runs = sentences.scope_notes(spec, Interval(unit="runs"), "half", 0.8)
    assert "12 runs" in by_runs[0]
    assert "15 target models" in by_runs[0]
    assert "half right" in by_runs[1]
    assert "these very models" in by_runs[2]
    paper = replace(spec, experiment=replace(spec.experiment, form="paper", aggregate="macro"))
    lines = sentences.scope_notes(paper, Interval(), "wrong", 0.8)
    assert "subtasks count the same" in lines[1]
    assert "paper" in lines[-1]


def test_quality_by_hand():
    values = np.array(
        [
            [1, 1, 0, 0, 1, 1],
            [1, 1, 0, 0, 1, 1],
            [1, 0, 1, 0, 0, 0],
            [1, 0, 1, 1, 0, 0],
            [1, 1, 1, 0, 1, 1],
        ]
    )
    found = assess(ScoreMatrix(values, list("edcba"), range(6)))
    assert (found.copied_models, found.surplus_models) == (2, 1)
    assert found.copies == (("d", "e"),)
    assert found.constant_items == 1
    # items 1, 4 and 5 have the same column
    assert found.duplicate_items == 3


def test_near_copies_share_their_mistakes():
    rng = np.random.default_rng(3)
    values = (rng.random((20, 400)) < 0.6).astype(int)
    values[1] = values[0]
    values[1, :3] = 1 - values[1, :3]
    # Two models at the ceiling with different mistakes are no copies.
    values[2:4] = 1
    values[2, 5:7] = values[3, 15:17] = 0
    found = assess(ScoreMatrix(values, range(20), range(400)))
    assert found.copied_models == 0
    assert found.near_copies == 2
    graded = ScoreMatrix(values / 2, range(20), range(400))
    assert assess(graded).near_copies == 0


def test_copies_of_gpqa(shared_data):
    scores = mdad.load(shared_data / "gpqa.csv.gz")
    groups = copy_groups(scores)
    assert (sum(map(len, groups)), sum(len(g) - 1 for g in groups)) == (37, 22)
    assert assess(scores).constant_items == 5


def test_dropped_models_and_items_are_listed():
    simulated = datasets.simulate(n_models=30, n_items=60, seed=2, probabilities=False)
    values = simulated.values.astype(float)
    values[4, :10] = np.nan
    values[5, 7] = np.nan
    holes = ScoreMatrix(values, simulated.models, simulated.items)
    result = mdad.audit(holes, sizes=[10], runs=3)
    facts = result.results.spec.scores
    assert facts.dropped_models == (simulated.models[4],)
    assert facts.dropped_items == (simulated.items[7],)
    notes = " ".join(summarize(result.results).notes)
    assert simulated.models[4] in notes
    assert simulated.items[7] in notes


def test_public_names_exist_and_are_documented():
    for name in mdad.__all__:
        value = getattr(mdad, name)
        assert name == "__version__" or value.__doc__
    assert set(mdad.__all__) <= set(dir(mdad))
    with pytest.raises(AttributeError, match="no attribute 'adit'"):
        mdad.adit  # noqa: B018  # the attribute is what is tested
