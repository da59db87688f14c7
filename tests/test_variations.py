"""Variations of the experiment: fractions, fixed targets, all items seen, separate subtasks."""

import json
import sys

import numpy as np
import pytest

import mdad
from mdad import datasets, measures, storage
from mdad._rng import Stream
from mdad.auditing import matching
from mdad.cli import main
from mdad.errors import ScoresError, SettingError, UnknownIdError
from mdad.experiment import Experiment, run_once
from mdad.intervals import Interval
from mdad.presets import FRACTIONS, PAPER_METHODS, PRESETS, preset_settings
from mdad.results import Results
from mdad.scores import ScoreMatrix
from mdad.splits import draw_split

NONE = Interval(n_resamples=0)


@pytest.fixture(scope="module")
def scores():
    return datasets.simulate(n_models=40, subtasks={"a": 20, "b": 60, "c": 120}, seed=8)


def test_fractions_are_shares_of_the_seen_pool(scores):
    result = mdad.audit(scores, fractions=[0.1, 0.25], methods=["random"], runs=3)
    # Seen: 10 + 30 + 60 items.
    assert result.results.experiment.sizes == (10, 25)
    plain = mdad.audit(scores, sizes=[10, 25], methods=["random"], runs=3)
    assert np.array_equal(result.results.estimates, plain.results.estimates)


def test_fixed_targets_are_the_targets_of_every_run(scores):
    wanted = scores.models[3:9]
    result = mdad.audit(scores, targets=wanted, methods=["random"], sizes=[10], runs=4)
    assert all(run.models == tuple(sorted(wanted)) for run in result.results.runs)
    assert result.results.experiment.n_target == 6
    by_name = mdad.audit(
        scores, targets="|".join(f"^{m}$" for m in wanted), methods=["random"], sizes=[10], runs=4
    )
    assert np.array_equal(result.results.estimates, by_name.results.estimates)
    assert any("the same in every run" in line for line in result.summary().scope)


def test_fixed_targets_are_no_sources(scores):
    experiment = Experiment(
        methods=("random",), sizes=(10,), runs=1, targets=tuple(scores.models[:5])
    ).resolve(scores)
    for run in range(5):
        split = draw_split(
            scores,
            n_source=experiment.n_source,
            n_target=experiment.n_target,
            targets=experiment.targets,
            stream=Stream(0).child("run", run).child("split"),
        )
        assert set(split.target) == set(scores.models[:5])
        assert not set(split.source) & set(split.target)


def test_all_items_seen_leaves_no_unseen_claim(scores):
    result = mdad.audit(scores, seen="all", methods=["random"], sizes=[50, 200], runs=3)
    results = result.results
    assert results.n_items("seen") == results.n_items("all") == 200
    assert results.n_items("unseen") == 0
    # A micro-benchmark of all items is the benchmark.
    assert np.allclose(results.estimates[0, 1], results.full("seen"))
    assert np.array_equal(results.full("seen"), results.full("all"))
    assert {row.items for row in result.summary().rows} == {"seen"}
    table = result.mdad(items=["unseen"], interval=NONE)
    assert table["mdad"].isna().all()


def test_separate_subtasks_by_hand(scores):
    experiment = Experiment(
        methods=("random", "random-subtasks-equal"),
        fractions=(0.1, 0.5),
        subtasks="separate",
        runs=1,
        n_source=20,
        n_target=10,
    ).resolve(scores.sorted())
    # Seen 10, 30, 60: a tenth is 1 + 3 + 6, half is 5 + 15 + 30.
    assert experiment.sizes == (10, 50)
    run = run_once(scores.sorted(), experiment, 0)
    assert [part.subtask for part in run.parts] == ["a", "b", "c"]
    assert [part.n_items for part in run.parts] == [(10, 10, 20), (30, 30, 60), (60, 60, 120)]
    shares = np.array([0.1, 0.3, 0.6])
    combined = sum(s * part.estimates for s, part in zip(shares, run.parts, strict=True))
    assert np.allclose(run.estimates, combined)
    full = sum(s * part.full[0] for s, part in zip(shares, run.parts, strict=True))
    assert np.allclose(run.full[0], full)
    errors = np.sqrt(
        sum((s * p.standard_errors) ** 2 for s, p in zip(shares, run.parts, strict=True))
    )
    assert np.allclose(run.standard_errors, errors, equal_nan=True)


def test_separate_subtasks_in_macro_count_the_same(scores):
    settings = {"fractions": [0.2], "subtasks": "separate", "methods": ["random"], "runs": 2}
    run = mdad.audit(scores, aggregate="macro", **settings).results.runs[0]
    assert np.allclose(run.estimates, np.mean([part.estimates for part in run.parts], axis=0))
    assert np.allclose(run.full[0], np.mean([part.full[0] for part in run.parts], axis=0))


def test_separate_subtasks_are_kept_and_measured(scores, tmp_path):
    result = mdad.audit(
        scores, fractions=[0.1, 0.4], subtasks="separate", methods=["random"], runs=4, out=tmp_path
    )
    again = Results.load(tmp_path)
    assert np.array_equal(again.estimates, result.results.estimates)
    assert list(again.subtasks) == ["a", "b", "c"]
    for label, part in again.subtasks.items():
        assert np.array_equal(part.estimates, result.results.subtasks[label].estimates)
        assert part.n_items("seen") == result.results.subtasks[label].n_items("seen")
    frame = again.frame()
    assert set(frame["subtask"].astype(str)) == {"", "a", "b", "c"}
    n_target = result.results.experiment.n_target
    assert len(frame) == 4 * 4 * 2 * n_target
    summary = result.summary()
    assert len(summary.subtask_rows) == 3 * 2
    inside = measures.agreement(again.subtasks["b"], items=["seen"], interval=NONE)
    shown = [row for row in summary.subtask_rows if row.subtask == "b"]
    assert [row.agreement for row in shown] == inside["agreement"].tolist()
    assert [row.n_items for row in shown] == [30, 30]


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"sizes": [10], "fractions": [0.1, 0.2]}, SettingError, "not both"),
        ({"subtasks": "separate", "sizes": [10]}, SettingError, "take sizes as fractions"),
        ({"fractions": [1.5]}, SettingError, "a fraction must be"),
        ({"fractions": [0.1, 0.1]}, SettingError, "named once"),
        ({"fractions": [0.1, 0.101]}, SettingError, "same number of items"),
        ({"targets": ["nobody", "no one"]}, UnknownIdError, "not found"),
        ({"targets": "^never$"}, SettingError, "two or more"),
        ({"targets": "("}, SettingError, "no regular expression"),
        ({"seen": "most"}, SettingError, "unknown seen"),
        ({"subtasks": "apart"}, SettingError, "unknown subtasks"),
    ],
)
def test_what_cannot_be_done(scores, settings, error, said):
    with pytest.raises(error, match=said):
        mdad.audit(scores, runs=1, **settings)


def test_settings_that_contradict_each_other(scores):
    with pytest.raises(SettingError, match="leave n_target out"):
        mdad.audit(scores, targets=scores.models[:4], n_target=5)
    with pytest.raises(SettingError, match="got one"):
        mdad.audit(scores, targets=scores.models[:1])
    plain = ScoreMatrix(scores.values, scores.models, scores.items)
    with pytest.raises(ScoresError, match="need scores with subtasks"):
        mdad.audit(plain, subtasks="separate", fractions=[0.1])
    tiny = ScoreMatrix(scores.values[:, :5], scores.models, scores.items[:5], list("aabbc"))
    with pytest.raises(ScoresError, match="no seen item"):
        mdad.audit(tiny, subtasks="separate", fractions=[0.5])


def test_matching_keeps_a_list_of_ids():
    assert matching(["a", "b"], ["b"]) == ("b",)
    assert matching(["xa", "xb", "c"], "^x") == ("xa", "xb")


def test_presets_fit_the_scores(scores):
    large = datasets.simulate(n_models=400, n_items=700, seed=1, probabilities=False)
    paper = preset_settings("paper", large, {})
    assert paper["methods"] == PAPER_METHODS
    assert paper["sizes"] == (10, 25, 50, 100, 250)
    assert paper["n_source"] == 300
    assert preset_settings("paper", scores, {})["sizes"] == (10, 25, 50, 100)
    assert preset_settings("paper", scores, {})["n_source"] == 27
    sources = preset_settings("paper-sources", large, {})["n_source"]
    assert sources == [10, 50, 100, 150, 200, 250, 300]
    separate = preset_settings("paper-separate", scores, {"runs": 3, "methods": ()})
    assert separate["fractions"] == FRACTIONS
    assert separate["sizes"] == ()
    assert separate["runs"] == 3
    assert preset_settings("paper", scores, {"fractions": (0.1,)})["sizes"] == ()
    assert preset_settings("paper-separate", scores, {"sizes": (5,)})["fractions"] == ()
    with pytest.raises(SettingError, match="--targets"):
        preset_settings("paper-fixed-targets", scores, {})
    with pytest.raises(SettingError, match="unknown preset"):
        preset_settings("papers", scores, {})
    assert all(PRESETS.values())


@pytest.fixture
def call(monkeypatch, capsys, tmp_path, scores):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    storage.write_parquet(scores, tmp_path / "s.parquet")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mdad", "audit", "s.parquet", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return run


def test_variations_on_the_command_line(call, scores, tmp_path):
    code, out, err = call(
        *("--subtasks", "separate", "--fractions", "0.1,0.4", "--methods", "random"),
        *("--runs", "3", "--out", "apart"),
    )
    assert code == 0
    assert "MDAD within each subtask, 40 items in all" in out
    page = (tmp_path / "apart" / "report.html").read_text(encoding="utf-8")
    assert "Within each subtask, seen items" in page
    code, out, _ = call(
        *("--n-source", "5,20", "--sizes", "10", "--methods", "random", "--runs", "2"),
        *("--out", "sweep", "--json"),
    )
    assert code == 0
    assert [d["spec"]["experiment"]["n_source"] for d in json.loads(out)] == [5, 20]
    assert (tmp_path / "sweep" / "n-source-5" / "report.html").exists()
    (tmp_path / "names.txt").write_text("\n".join(scores.models[:4]))
    common = ["--sizes", "10", "--methods", "random", "--runs", "2", "--json"]
    for targets in ("@names.txt", ",".join(scores.models[:4]), "/000[0-3]$/"):
        code, out, err = call("--targets", targets, *common)
        assert (code, err) == (0, "")
        assert json.loads(out)["spec"]["experiment"]["targets"] == sorted(scores.models[:4])
    page = tmp_path / "all" / "report.html"
    code, out, _ = call("--seen", "all", *common, "--out", page.parent)
    text = page.read_text(encoding="utf-8").split("<script")[0]
    assert "table-seen" in text
    assert "table-unseen" not in text
    assert {row["items"] for row in json.loads(out)["rows"]} == {"seen"}
    code, _, err = call("--fractions", "x")
    assert code == 2
    assert "numbers separated by commas" in err


def test_the_papers_experiment_is_one_command(call):
    code, out, err = call("--preset", "paper", "--runs", "2", "--sizes", "10,20", "--json")
    assert (code, err) == (0, "")
    experiment = json.loads(out)["spec"]["experiment"]
    assert experiment["form"] == "paper"
    assert experiment["methods"] == list(PAPER_METHODS)
    code, _, err = call("--preset", "paper-fixed-targets")
    assert code == 2
    assert "--targets" in err


def test_splits_on_the_command_line(call, scores):
    common = ["--sizes", "10", "--methods", "random", "--runs", "2", "--json"]
    code, out, err = call("--split", "frontier", *common)
    assert (code, err) == (0, "")
    assert json.loads(out)["spec"]["experiment"]["split"] == "frontier"
    code, out, err = call("--split", "grouped", "--groups", "family", *common)
    assert (code, err) == (0, "")
    assert json.loads(out)["spec"]["experiment"]["groups"] == "family"
    assert any("grouped split" in line for line in json.loads(out)["scope"])
    code, _, err = call("--groups", "family", *common)
    assert code == 2
    assert "grouped" in err
    same = mdad.audit(
        scores, split="grouped", groups="family", sizes=[10], methods=["random"], runs=2
    )
    assert same.results.experiment.groups == "family"
