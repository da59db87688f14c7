"""Several splits side by side in one audit."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import mdad
from mdad import datasets, storage
from mdad._groups import Grouping, grouping
from mdad._several import split_kinds
from mdad.auditing import Audit
from mdad.cli import app
from mdad.errors import ResultsError, ScoresError, SettingError
from mdad.experiment import run_once
from mdad.report.sentences import across_splits
from mdad.report.summary import Estimate
from mdad.report.terminal import render_terminal
from mdad.scores import ScoreMatrix

KINDS = ["random", "grouped", "frontier"]
SETTINGS = {"methods": ["random", "anchor-points"], "sizes": [10, 25], "runs": 4, "seed": 3}


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def scores():
    return datasets.simulate(n_models=30, n_items=90, probabilities=False, seed=4)


@pytest.fixture(scope="module")
def together(scores):
    return mdad.audit(scores, split=KINDS, **SETTINGS)


def test_every_table_is_that_of_the_splits_one_by_one(scores, together):
    alone = {kind: mdad.audit(scores, split=kind, **SETTINGS) for kind in KINDS}
    tables = {
        "mdad": (),
        "agreement": (),
        "errors": (),
        "smallest_trustworthy_gap": (),
        "curve": ("random", 25),
        "trust": ("anchor-points", 10),
    }
    for name, arguments in tables.items():
        found = getattr(together, name)(*arguments)
        assert list(dict.fromkeys(found.split)) == KINDS
        for kind in KINDS:
            part = found[found.split == kind].drop(columns="split").reset_index(drop=True)
            pd.testing.assert_frame_equal(part, getattr(alone[kind], name)(*arguments))
        assert "split" not in getattr(alone["random"], name)(*arguments)
    for kind, part in together.splits.items():
        assert part.mdad().equals(alone[kind].mdad())
        assert part.further == ()


def test_saved_results_come_back_and_a_folder_grows(scores, together, tmp_path):
    out = tmp_path / "audit"
    mdad.audit(scores, split=KINDS[:2], out=out, **SETTINGS)
    before = files(out)
    mdad.audit(scores, split=KINDS, out=out, **SETTINGS)
    after = files(out)
    assert {name: after[name] for name in before if name != "splits.json"} == {
        name: content for name, content in before.items() if name != "splits.json"
    }
    again = Audit.load(out)
    assert again.mdad().equals(together.mdad())
    together.save(tmp_path / "saved")
    assert files(tmp_path / "saved") == after
    assert Audit.load(out / "grouped").mdad().equals(together.splits["grouped"].mdad())


def test_a_stopped_process_leaves_a_folder_that_can_be_used(scores, tmp_path):
    out = tmp_path / "audit"
    out.mkdir()
    (out / ".splits.json.17.partial").write_text("{")
    mdad.audit(scores, split=KINDS[:2], out=out, **SETTINGS)
    assert list(Audit.load(out).splits) == KINDS[:2]


def test_progress_counts_the_runs_of_all_splits(scores):
    seen = []
    mdad.audit(
        scores,
        split=["random", "frontier"],
        sizes=[10],
        runs=2,
        progress=lambda *now: seen.append(now),
    )
    assert seen == [(0, 4), (1, 4), (2, 4), (2, 4), (3, 4), (4, 4)]


def test_folders_of_something_else_are_left_alone(together, tmp_path):
    (tmp_path / "mine.txt").write_text("dear")
    with pytest.raises(ResultsError, match="holds no results of several splits"):
        together.save(tmp_path)
    with pytest.raises(ResultsError, match="cannot write results"):
        together.save(tmp_path / "mine.txt" / "below")
    for content in ("{", '{"format": "x"}', '{"format": "mdad-splits", "format_version": 9}'):
        (tmp_path / "splits.json").write_text(content)
        with pytest.raises(ResultsError, match=r"splits\.json"):
            Audit.load(tmp_path)
    document = {"format": "mdad-splits", "format_version": 1, "splits": ["../random"]}
    (tmp_path / "splits.json").write_text(json.dumps(document))
    with pytest.raises(ResultsError, match="damaged: unknown split"):
        Audit.load(tmp_path)
    (tmp_path / "splits.json").unlink()
    (tmp_path / "splits.json").mkdir()
    with pytest.raises(ResultsError, match="cannot read"):
        Audit.load(tmp_path)


def test_splits_are_known_and_named_once(scores):
    assert split_kinds("frontier") == ("frontier",)
    with pytest.raises(SettingError, match="did you mean 'random'"):
        mdad.audit(scores, split=["randm", "grouped"])
    with pytest.raises(SettingError, match="named once"):
        mdad.audit(scores, split=["random", "random"])
    with pytest.raises(SettingError, match="no split is named"):
        mdad.audit(scores, split=[])


def one_family(scores):
    info = pd.DataFrame({"family": ["f"] * scores.n_models}, index=scores.models)
    return ScoreMatrix(scores.values, scores.models, scores.items, model_info=info)


def test_a_split_that_cannot_be_is_named_before_any_run_is_done(scores, tmp_path):
    out = tmp_path / "audit"
    with pytest.raises(ScoresError, match=r"^split 'grouped': .* leaves no source model"):
        mdad.audit(one_family(scores), split=KINDS, out=out, **SETTINGS)
    assert not out.exists()
    with pytest.raises(SettingError, match=r"^split 'frontier': .* name none"):
        mdad.audit(scores, split=KINDS, targets=scores.models[:5], **SETTINGS)
    with pytest.raises(SettingError, match="groups belong to the split 'grouped'"):
        mdad.audit(scores, split=["random", "frontier"], groups="family", **SETTINGS)


def test_groups_are_those_of_the_grouped_split(scores):
    result = mdad.audit(scores, split=["random", "grouped"], groups=r"(\d)$", runs=1, sizes=[10])
    groups = {k: part.results.experiment.groups for k, part in result.splits.items()}
    assert groups == {"random": "", "grouped": r"(\d)$"}


def test_a_split_that_breaks_loses_nothing_of_the_others(scores, tmp_path, monkeypatch):
    def breaks(values, experiment, number):
        if experiment.split == "random" and number == 2:
            raise ScoresError("something is wrong.")
        return run_once(values, experiment, number)

    out = tmp_path / "audit"
    monkeypatch.setattr("mdad._backends.run_once", breaks)
    said = r"split 'random': something is wrong. Finished and kept in .*: 'frontier'\."
    with pytest.raises(ScoresError, match=said):
        mdad.audit(scores, split=["random", "frontier"], out=out, **SETTINGS)
    assert len(list((out / "random" / "runs").iterdir())) == 2
    assert Audit.load(out / "frontier").results.experiment.runs == 4
    with pytest.raises(ResultsError, match="are not done"):
        Audit.load(out)
    monkeypatch.undo()
    result = mdad.audit(scores, split=["random", "frontier"], out=out, **SETTINGS)
    assert result.mdad().equals(mdad.audit(scores, split=["random", "frontier"], **SETTINGS).mdad())


def test_the_summary_says_each_split_in_a_sentence(together):
    summary = together.summary()
    assert [part.split for part in summary.splits] == KINDS
    for part in summary.further:
        (sentence,) = [line for line in summary.answer if f"({part.split} split)" in line]
        # Sizes are 10 and 25; the one nearer to 100 is spoken of.
        row = next(r for r in part.rows if (r.method, r.size, r.items) == ("random", 25, "seen"))
        shown = "not reached" if row.mdad.value is None else f"{row.mdad.value:.1f}"
        assert shown.removesuffix(".0") in sentence
    document = summary.to_dict()
    assert [part["spec"]["experiment"]["split"] for part in document["further"]] == KINDS[1:]
    assert "further" not in document["further"][0]
    assert "further" not in together.splits["random"].summary().to_dict()


def test_subtasks_keep_their_splits():
    scores = datasets.simulate(n_models=20, n_items=60, subtasks=2, probabilities=False, seed=1)
    settings = {"fractions": [0.5], "subtasks": "separate", "runs": 2}
    result = mdad.audit(scores, split=["random", "frontier"], **settings)
    alone = mdad.audit(scores, split="frontier", **settings)
    for label, part in result.subtasks.items():
        assert list(part.splits) == ["random", "frontier"]
        assert part.splits["frontier"].mdad().equals(alone.subtasks[label].mdad())


@pytest.fixture(scope="module")
def table(scores, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "scores.csv"
    storage.write_csv(scores, path)
    return str(path)


COMMAND = ["--methods", "random", "--sizes", "10,25", "--runs", "3"]


def test_command_prints_splits_side_by_side(table, tmp_path):
    out = tmp_path / "audit"
    arguments = ["audit", table, *COMMAND, "--split", "random,grouped,frontier"]
    arguments += ["--groups", r"(\d)$", "--out", str(out)]
    found = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
    assert found.exit_code == 0
    head = next(line for line in found.stdout.splitlines() if "frontier" in line)
    assert head.split() == ["items", *KINDS]
    assert found.stdout.count("MDAD seen") == 2
    assert "Near copies: " in found.stdout
    kept = files(out)
    assert {"splits.json", "summary.json", "report.html", "random/experiment.json"} <= set(kept)
    again = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
    assert (again.stdout, files(out)) == (found.stdout, kept)


def test_command_prints_json(table):
    arguments = ["audit", table, *COMMAND, "--split", "random,frontier", "--json"]
    document = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert document["spec"]["experiment"]["split"] == "random"
    assert document["further"][0]["spec"]["experiment"]["split"] == "frontier"
    assert document["spec"]["scores"]["quality"]["near_copies"] >= 0
    one = json.loads(CliRunner().invoke(app, [*arguments[:-3], "--json"]).stdout)
    assert one["rows"] == document["rows"]
    assert "further" not in one


def copies(values, **settings):
    names = [f"m{i}" for i in range(len(values))]
    result = mdad.audit(ScoreMatrix(values, names, range(values.shape[1]), **settings), runs=1)
    (note,) = [line for line in result.summary().notes if line.startswith("Near copies")]
    return note


def test_near_copies_are_counted_in_every_summary():
    values = np.random.default_rng(0).integers(0, 2, (20, 200))
    assert copies(values) == "Near copies: no model answers exactly or nearly like another one."
    values[3] = values[4] = values[5]
    values[7] = values[8]
    values[7, 0] = 1 - values[8, 0]
    assert copies(values).startswith(
        "Near copies: 3 models answer exactly like another one (2 could go); 2 further models "
        "nearly so (at most 1 % of the items differ)."
    )
    graded = copies(values / 2)
    assert "3 models answer exactly" in graded
    assert "near copies are told for 0/1 scores only" in graded


def test_not_reached_in_a_further_split_is_said(together):

    rows = together.summary().rows
    nothing = Estimate(None, None, None)

    said = across_splits(
        rows, {"frontier": ("the best", [replace(row, mdad=nothing) for row in rows])}
    )
    assert "(frontier split) the MDAD of 25 random items is not reached" in said[0]


def test_a_folder_of_several_splits_is_named_where_one_is_to_be_kept(scores, together, tmp_path):
    together.save(tmp_path)
    with pytest.raises(ResultsError, match="holds an audit of several splits"):
        mdad.audit(scores, runs=2, sizes=[5], out=tmp_path)
    assert len(Audit.load(tmp_path).splits) == len(together.splits)


def test_models_that_all_score_the_same_are_said_to(tmp_path):
    values = np.tile(np.arange(40) % 2, (20, 1))
    models, items = [f"m{i}" for i in range(20)], [f"q{i}" for i in range(40)]
    storage.write_csv(ScoreMatrix(values, models, items), tmp_path / "s.csv")
    page = tmp_path / "r.html"
    shown = CliRunner().invoke(
        app,
        ["audit", str(tmp_path / "s.csv"), "--runs", "2", "--sizes", "10", "--report", str(page)],
    )
    assert shown.exit_code == 0
    assert "All models score the same" in shown.output
    assert "nan" not in shown.output
    assert "more items" not in shown.output
    assert "<td>nan</td>" not in page.read_text(encoding="utf-8")


def test_what_groups_are_of_is_counted():
    scores = datasets.simulate(n_models=30, n_items=90, families=4, probabilities=False, seed=4)
    assert grouping(scores) == Grouping("column", "family", 4, 4)
    assert grouping(scores, "size").of == "column"
    assert grouping(scores, r"(\d)$") == Grouping("pattern", r"(\d)$", 10, 10)
    bare = scores._replace(model_info=None)
    assert grouping(bare) == Grouping("answers", "", 30, 0)
    values = np.vstack([bare.values, bare.values[:3]])
    more = ScoreMatrix(values, [*bare.models, "x", "y", "z"], bare.items)
    assert grouping(more) == Grouping("answers", "", 30, 3)


@pytest.mark.parametrize("doubled", [0, 3])
def test_without_families_none_are_claimed(tmp_path, doubled):
    scores = datasets.simulate(n_models=30, n_items=90, probabilities=False, seed=4)
    values = np.vstack([scores.values, scores.values[:doubled]])
    models = [*scores.models, *(f"copy-{i}" for i in range(doubled))]
    result = mdad.audit(ScoreMatrix(values, models, scores.items), split=KINDS[:2], **SETTINGS)
    result.save(tmp_path / "a")
    result = Audit.load(tmp_path / "a")
    summary = result.summary()
    said = f"No families known: groups are models that answer almost alike, {doubled} group"
    assert sum(said in line for line in summary.scopes) == 1
    assert any("--groups or --models-file says" in line for line in summary.scopes)
    assert any("so this is the random split" in line for line in summary.scopes) == (not doubled)
    assert not any("family of models" in line for line in summary.answer)
    assert summary.to_dict()["further"][0]["spec"]["grouping"]["n_several"] == doubled
    page = result.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert said in page
    assert "no family of models is among" not in page
    assert "no family of models among" not in page
    console = Console(record=True, width=80, file=StringIO())
    render_terminal(summary, console)
    assert said in " ".join(console.export_text().split())


def test_known_families_are_named(together):
    summary = together.summary()
    assert any("Families are those of the column 'family': 12 groups" in s for s in summary.scopes)
    assert any("With no family of models among both" in line for line in summary.answer)
    assert "grouping" not in together.splits["random"].summary().spec
    # What groups are of follows from scores and settings: it is no part of what identifies results.
    spec = together.splits["grouped"].results.spec
    assert replace(spec, grouping=None).fingerprint == spec.fingerprint
