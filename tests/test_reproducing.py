"""The paper's experiments run again: the rules by hand, resuming, and what is said of stand-ins."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import mdad
from mdad import datasets
from mdad.cli import app
from mdad.errors import SettingError
from mdad.reproducing import CLAIMS, GROUPS, PAPER_BENCHMARKS, Measured, markdown, reproduce
from mdad.reproducing import _parts as parts
from mdad.reproducing import _rules as rules
from mdad.reproducing._measured import LEARNED
from mdad.scores import ScoreMatrix

SIZES = (10, 25, 50, 250, 500, 1000)
METHODS = ("random", "random-subtasks-equal", *LEARNED)
INF = float("inf")


@pytest.fixture(scope="module")
def matrix():
    return datasets.simulate(
        n_models=80, n_items=400, subtasks={"x": 200, "y": 200}, seed=3, name="simulated mmlu-pro"
    )


@pytest.fixture(scope="module")
def done(matrix, tmp_path_factory):
    """A whole reproduction, kept."""
    out = tmp_path_factory.mktemp("whole")
    return out, reproduce({"mmlu-pro": matrix}, quick=True, out=out)


def by_hand(mdads=None, taus=None, *, benchmark="mmlu-pro", simulated=False, **other):
    """Measurements made up for a rule; MDADs by method over the sizes, 9 where nothing is said."""
    experiment = SimpleNamespace(methods=METHODS, sizes=SIZES, n_source=300, targets="abc")
    results = SimpleNamespace(experiment=experiment, n_items=lambda _items: 100, runs=(0, 1))
    names = ("main", *{part for part, _ in other})
    measured = Measured(benchmark, dict.fromkeys(names, results), simulated)
    full = {(m, s): 9.0 for m in METHODS for s in SIZES}
    cells = {("main", "seen"): mdads or {}, **other}
    measured.__dict__["_mdads"] = {key: {**full, **values} for key, values in cells.items()}
    measured.__dict__["taus"] = {**dict.fromkeys(full, 0.5), **(taus or {})}
    return measured


def over(method, *values):
    return {(method, size): value for size, value in zip(SIZES, values, strict=True)}


RULES = [
    (rules.tau_hides, {("random", 10): 11.0}, True),
    (rules.tau_hides, {("random", 10): 9.5}, False),
    (rules.tau_hides, dict.fromkeys([(m, s) for m in METHODS for s in SIZES], INF), None),
    (rules.ten_items, {("diversity", 10): 3.6}, True),
    (rules.ten_items, {("diversity", 10): 3.5}, False),
    (rules.anchor_points_first, {("anchor-points", 10): 8.9}, True),
    (rules.anchor_points_first, {("diversity", 10): 8.9}, False),
    (rules.random_needs_twenty, {("random", 10): 15.0}, True),
    (rules.random_needs_twenty, {("random", 10): 25.1}, False),
    (rules.random_needs_twenty, {("random", 10): INF}, False),
    (rules.random_competitive, {("random", 250): 2.5, ("diversity", 250): 2.0}, True),
    (rules.random_competitive, {("random", 250): 2.6, ("diversity", 250): 2.0}, False),
    (rules.all_small, dict.fromkeys([(m, 250) for m in METHODS], 3.0), True),
    (rules.all_small, dict.fromkeys([(m, 250) for m in METHODS[1:]], 3.0), False),
    (rules.same_at_500, {("random", 500): 2.5, ("anchor-points", 500): 3.5}, True),
    (rules.same_at_500, {("random", 500): 2.5, ("anchor-points", 500): 3.6}, False),
    (rules.same_at_500, {("random", 500): INF, ("anchor-points", 500): INF}, False),
    (rules.selected_helps, {("anchor-points", 25): 5.0}, True),
    (rules.selected_helps, {("anchor-points", 25): 5.0, ("random", 25): 5.0}, False),
    (rules.selected_helps, {("anchor-points", 25): 5.1}, False),
    (rules.advice_for_close, over("random", 9, 9, 9, 2.5, 1, 1), True),
    (rules.advice_for_close, over("random", 9, 9, 2.5, 2, 1, 1), False),
    (rules.advice_for_close, {}, False),
    (rules.definition, {}, None),
]


@pytest.mark.parametrize(("rule", "mdads", "holds"), RULES)
def test_a_rule_decides_as_its_words_say(rule, mdads, holds):
    answer = rule(by_hand(mdads))
    assert answer.holds is holds
    assert answer.measured or answer.why


def test_ten_items_has_the_papers_limit_of_each_benchmark():
    value = {("diversity", 10): 3.8}
    assert rules.ten_items(by_hand(value)).holds is True
    assert rules.ten_items(by_hand(value, benchmark="bbh")).holds is False


def test_random_is_read_at_the_tau_of_anchor_points():
    # Halfway between 0.5 and 0.7 random's MDAD is halfway between 8 and 4.
    mdads = {**over("random", 8, 4, 3, 2, 1, 1), ("anchor-points", 10): 5.5}
    taus = {**over("random", 0.5, 0.7, 0.8, 0.9, 0.95, 0.97), ("anchor-points", 10): 0.6}
    answer = rules.same_tau(by_hand(mdads, taus))
    assert (answer.holds, answer.measured[-3:]) == (True, "6.0")
    assert rules.same_tau(by_hand({**mdads, ("anchor-points", 10): 5.6}, taus)).holds is False
    low = {**taus, ("anchor-points", 10): 0.3}
    assert rules.same_tau(by_hand(mdads, low)).holds is None


def test_unseen_items_and_sources():
    seen, unseen = ("main", "seen"), ("main", "unseen")
    measured = by_hand()
    for value, holds in ((9.0, True), (11.0, True), (11.1, False), (8.9, False), (INF, False)):
        measured.__dict__["_mdads"] = {
            seen: over("random", *[9.0] * 6),
            unseen: over("random", *[value] * 6),
        }
        assert rules.unseen_little_higher(measured).holds is holds


def test_a_size_that_was_not_run_cannot_be_judged():
    measured = by_hand()
    measured.parts["main"].experiment.sizes = (100,)
    for rule in (rules.ten_items, rules.same_tau, rules.anchor_points_first,
                 rules.random_needs_twenty, rules.selected_helps, rules.sources_help):  # fmt: skip
        answer = rule(measured)
        assert answer.holds is None
        assert "items was run" in answer.why
    assert measured.middle == 100


def test_every_claim_is_about_something_and_says_its_rule():
    numbers = [claim.number for claim in CLAIMS]
    assert len(set(numbers)) == len(numbers)
    assert {re.match(r"\d+", number)[0] for number in numbers} == set(map(str, range(1, 11)))
    for claim in CLAIMS:
        assert set(claim.about) <= set(PAPER_BENCHMARKS)
        assert claim.says.endswith(".")
        assert claim.rule
    three = next(claim for claim in CLAIMS if claim.number == "3")
    # The paper says nothing of this on MMLU; of a benchmark it does not have it can be asked.
    assert [three.concerns(key) for key in ("bbh", "mmlu", "other")] == [True, False, True]


def test_what_is_measured_is_what_the_audit_says(done, matrix):
    measured = done[1].measured["mmlu-pro"]
    results = measured.parts["main"]
    audit = mdad.Audit(results)
    table = audit.mdad(items=["unseen"], interval=mdad.Interval(n_resamples=0))
    for row in table.itertuples():
        expected = INF if np.isnan(row.mdad) else 100 * row.mdad
        assert measured.at(row.method, row.size, "unseen") == pytest.approx(expected)
    taus = audit.errors(items=["seen"]).set_index(["method", "size"]).kendall_tau
    assert measured.taus["diversity", 25] == pytest.approx(taus["diversity", 25])
    scores = results.full("all")[0]
    gaps = [100 * abs(a - b) for i, a in enumerate(scores) for b in scores[i + 1 :]]
    assert sorted(measured.gaps("main")) == pytest.approx(sorted(gaps))
    assert (len(results.runs), results.experiment.form) == (4, "paper")
    assert results.experiment.n_source == 54 == matrix.n_models - 26


def test_the_parts_are_the_papers_experiments(done):
    measured = done[1].measured["mmlu-pro"]
    experiments = {name: results.experiment for name, results in measured.parts.items()}
    assert set(experiments) == {
        "main", "sources-50", "separate", "all-seen", "fixed-8B", "fixed-70B"
    }  # fmt: skip
    assert experiments["sources-50"].n_source == 50
    assert experiments["separate"].subtasks == "separate"
    assert experiments["separate"].fractions == (0.02, 0.04, 0.08, 0.16, 0.24, 0.32, 0.4)
    assert experiments["all-seen"].seen == "all"
    assert experiments["fixed-8B"].methods == parts.FIXED_METHODS
    # Stand-ins: evenly over the ranks of the middle third, and of the best.
    scores = dict(zip(matrix_of(measured), measured.parts["fixed-8B"].full("all")[0], strict=True))
    best = measured.parts["fixed-70B"].full("all")[0]
    assert len(scores) == len(best) == 20
    assert min(best) >= np.quantile(list(scores.values()), 0.9)


def matrix_of(measured):
    return measured.parts["fixed-8B"].experiment.targets


def test_stand_ins_are_said_loudly(done):
    _, reproduction = done
    text = markdown(reproduction)
    assert text.startswith("**SIMULATED STAND-INS, NOT REAL MODELS")
    assert reproduction.simulated == ("mmlu-pro",)
    rows = [line for line in text.splitlines() if line.startswith("| 4a.")]
    assert len(rows) == 1
    assert "simulated mmlu-pro" in rows[0]
    six = [f for f in reproduction.findings if f.number in {"6a", "6b"}]
    assert {f.verdict for f in six} == {"cannot be checked here"}
    assert all("stand-in" in f.why for f in six)
    assert all(f.measured for f in six)


def test_real_scores_are_not_called_simulated(matrix):
    real = matrix._replace(simulated=False)
    reproduction = reproduce({"gpqa": real}, quick=True, runs=1)
    assert "SIMULATED" not in markdown(reproduction)
    # One run has no halves, and the claims about other benchmarks say so.
    assert {f.steady for f in reproduction.findings} == {None}
    six = next(f for f in reproduction.findings if f.number == "6a")
    assert (six.benchmark, six.verdict) == ("", "cannot be checked here")
    assert "'mmlu-pro'" in six.why


def test_halves_tell_whether_a_verdict_is_steady(done):
    measured = done[1].measured["mmlu-pro"]
    even, odd = measured.halves()
    runs = [[run.number for run in half.parts["main"].runs] for half in (even, odd)]
    assert runs == [[0, 2], [1, 3]]
    judged = [f for f in done[1].findings if f.verdict != "cannot be checked here"]
    assert judged
    for finding in judged:
        claim = next(claim for claim in CLAIMS if claim.number == finding.number)
        whole, *halves = (claim.check(m).holds for m in (measured, even, odd))
        assert finding.steady == all(half == whole for half in halves)


def test_a_reproduction_that_was_stopped_goes_on(matrix, done, tmp_path):
    whole, first = done

    def stop(part, done, _all):
        if part == "mmlu-pro separate" and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce({"mmlu-pro": matrix}, quick=True, out=tmp_path, progress=stop)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert 0 < len(kept) < len(list(whole.rglob("*.parquet")))
    again = reproduce({"mmlu-pro": matrix}, quick=True, out=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert markdown(again) == markdown(first)
    for path in whole.rglob("*.parquet"):
        assert (tmp_path / path.relative_to(whole)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "8B"),
        ("org__model-8b-chat", "8B"),
        ("google/gemma-8b-it", "8B"),
        ("meta-llama/Meta-Llama-3-70B-Instruct", "70B"),
        ("meta-llama/Llama-3.1-8B", None),
        ("org/model-18B-Instruct", None),
        ("org/model-1.8B-Instruct", None),
        ("org/8bit-Instruct", None),
        ("org/italian-8b", None),
    ],
)
def test_groups_of_targets_are_found_by_name(name, group):
    found = [key for key, pattern in GROUPS["mmlu-pro"].items() if re.search(pattern, name)]
    assert found == ([] if group is None else [group])


def test_targets_are_found_in_real_names():
    rng = np.random.default_rng(0)
    names = [f"org/m{i}-{size}B-Instruct" for size in (8, 70) for i in range(3)]
    names += [f"org/base{i}" for i in range(30)]
    scores = ScoreMatrix(rng.integers(0, 2, (36, 80)), names, map(str, range(80)))
    plan = parts.PLANS["quick"]
    made = {p.name: p for p in parts.parts_of("mmlu-pro", scores, plan, 0, GROUPS["mmlu-pro"])}
    assert made["fixed-8B"].settings["targets"] == tuple(names[:3])
    assert made["fixed-70B"].settings["targets"] == tuple(names[3:6])
    assert "no subtasks" in made["separate"].absent
    assert "24 source models at most" in made["sources-50"].absent
    lonely = parts.parts_of("bbh", scores, plan, 0, GROUPS["bbh"])
    assert "0 model ids" in next(p.absent for p in lonely if p.name == "fixed-7B")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "give the scores of a benchmark or ask"),
        ({"scores": {"gpqa": 1}, "simulated": True}, "not both"),
        ({"simulated": True, "runs": 0}, "runs must be"),
    ],
)
def test_bad_settings(settings, text):
    with pytest.raises(SettingError, match=text):
        reproduce(**settings)


def test_groups_of_other_benchmarks_and_few_models(matrix):
    with pytest.raises(SettingError, match="'other'"):
        reproduce({"gpqa": matrix}, groups={"other": {"8B": "x"}})
    few = matrix.restrict(models=matrix.models[:10])
    with pytest.raises(SettingError, match="gpqa: an audit needs 15 models"):
        reproduce({"gpqa": few})


class TestCommand:
    def run(self, *args):
        return CliRunner().invoke(app, ["reproduce", *map(str, args)])

    def test_it_prints_and_keeps_the_claims(self, matrix, tmp_path, monkeypatch):
        monkeypatch.setenv("COLUMNS", "200")
        table = tmp_path / "scores.csv"
        matrix_csv(matrix, table)
        out = tmp_path / "out"
        result = self.run(f"own={table}", "--quick", "--runs", 2, "--n-jobs", 1, "--out", out)
        assert result.exit_code == 0, result.output
        assert "Verdicts:" in result.output
        assert (out / "claims.md").read_text().startswith("# The paper's claims, measured")
        document = json.loads((out / "claims.json").read_text())
        assert {f["benchmark"] for f in document["findings"]} == {"", "own"}
        again = self.run(
            f"own={table}", "--quick", "--runs", 2, "--n-jobs", 1, "--out", out, "--json"
        )
        assert json.loads(again.output) == document

    @pytest.mark.parametrize(
        ("args", "text"),
        [
            ((), "give the scores"),
            (("scores.csv",), "NAME=FILE is expected"),
            (("../x=scores.csv",), "NAME=FILE is expected"),
            (("<b>=scores.csv",), "NAME=FILE is expected"),
            (("a=",), "NAME=FILE is expected"),
            (("a=nowhere.csv",), "there is no file"),
            (("a=digits-zoo", "a=digits-zoo"), "named once"),
            (("--simulated", "--group", "8B"), "NAME:GROUP=REGEX"),
        ],
    )
    def test_bad_input_is_one_paragraph(self, args, text):
        result = self.run(*args)
        assert isinstance(result.exception, mdad.MdadError)
        assert text in str(result.exception)
        assert "\n" not in str(result.exception)


def matrix_csv(matrix, path):
    """The matrix as a table."""
    rows = [",".join(["model", *(item.replace("/", "-") for item in matrix.items)])]
    rows += [
        ",".join([model, *map(str, values)])
        for model, values in zip(matrix.models, matrix.values.tolist(), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
