"""The command, run as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mdad
from mdad import __version__, datasets, storage
from mdad.cli import app, main

runner = CliRunner()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "scores.csv"
    scores = datasets.simulate(n_models=40, n_items=120, subtasks=3, seed=1, probabilities=False)
    storage.write_csv(scores, path)
    return path


def run(*arguments):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "mdad", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )


def call(monkeypatch, capsys, *arguments):
    """Run the command in this process, with its error handling."""
    monkeypatch.setattr(sys, "argv", ["mdad", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    captured = capsys.readouterr()
    return stopped.value.code or 0, captured.out, captured.err


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).output == f"mdad {__version__}\n"
    shown = runner.invoke(app, ["--help"]).output
    for command in ("demo", "audit", "convert", "datasets", "methods"):
        assert command in shown


def test_help_needs_no_heavy_library():
    code = (
        "import sys, mdad.cli\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'scipy', 'sklearn', 'altair'} & set(sys.modules)\n"
        "sys.exit(' '.join(heavy) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [known.name for known in app.registered_commands])
def test_every_command_shows_an_example(command):
    shown = runner.invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    assert shown.output.count("Example: mdad") == 1
    assert "Examples:" not in shown.output


def test_audit_prints_table_and_sentences(monkeypatch, capsys, table):
    code, out, err = call(
        monkeypatch, capsys, "audit", table, "--sizes", "10,30", "--runs", "8", "--seed", "3"
    )
    assert code == 0
    assert err.startswith("8 runs to do: this process, one thread (")
    assert len(err.splitlines()) == 1
    lines = out.splitlines()
    assert lines[0].startswith("Audit of scores")
    assert any(line.strip().startswith("10 ") for line in lines)
    assert "8 runs" in out
    assert "seen" in out
    assert "unseen" in out
    assert "Nothing was written" in out


def test_audit_json_is_json_only(table):
    done = run("audit", table, "--sizes", "20", "--runs", "5", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert [row["size"] for row in summary["rows"]] == [20, 20]
    assert {row["items"] for row in summary["rows"]} == {"seen", "unseen"}
    assert summary["spec"]["experiment"]["seed"] == 0


def test_audit_out_holds_results_summary_and_report(monkeypatch, capsys, table, tmp_path):
    out = tmp_path / "audit"
    arguments = ["audit", table, "--sizes", "10,20", "--runs", "4", "--out", out]
    code, first, _ = call(monkeypatch, capsys, *arguments)
    assert code == 0
    assert str(out / "report.html") in first
    kept = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert {"experiment.json", "summary.json", "report.html", "run-00003.parquet"} <= set(kept)
    code, again, _ = call(monkeypatch, capsys, *arguments)
    assert (code, again) == (0, first)
    assert kept == {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_audit_refuses_the_folder_of_another_experiment(monkeypatch, capsys, table, tmp_path):
    out = tmp_path / "audit"
    call(monkeypatch, capsys, "audit", table, "--sizes", "10", "--runs", "3", "--out", out)
    code, _, err = call(
        monkeypatch, capsys, "audit", table, "--sizes", "10", "--runs", "4", "--out", out
    )
    assert code == 2
    assert "runs: 3, 4" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-file.csv"], "no file 'no-such-file.csv'"),
        (["TABLE", "--methods", "randm"], "did you mean 'random'"),
        (["TABLE", "--sizes", "10,x"], "whole numbers separated by commas"),
        (["TABLE", "--sizes", "61"], "60 seen items"),
        (["TABLE", "--unit", "pairs"], "unknown unit 'pairs'"),
        (["TABLE", "--rule", "last"], "unknown rule 'last'"),
        (["TABLE", "--ties", "no"], "unknown ties 'no'"),
        (["TABLE", "--preset", "peer"], "unknown preset 'peer'"),
        (["TABLE", "--split", "odd"], "unknown split 'odd'"),
        (["TABLE", "--level", "1"], "level must be"),
        (["TABLE", "--threshold", "1.2"], "threshold must be"),
        (["TABLE", "--n-target", "30", "--n-source", "30"], "no model may be both"),
        (["TABLE", "--runs", "0"], "runs must be"),
        (["digits-zoo", "--score-range", "0", "1"], "leave out --score-range"),
    ],
)
def test_bad_input_is_one_paragraph_and_exit_code_2(monkeypatch, capsys, table, arguments, said):
    given = [table if part == "TABLE" else part for part in arguments]
    code, out, err = call(monkeypatch, capsys, "audit", *given)
    assert (code, out) == (2, "")
    assert err.startswith("mdad: ")
    assert said in err
    assert err.count("\n") == 1


def test_few_models_are_pointed_to_plan(monkeypatch, capsys, tmp_path):
    path = tmp_path / "few.csv"
    storage.write_csv(datasets.simulate(n_models=6, n_items=50, probabilities=False), path)
    code, _, err = call(monkeypatch, capsys, "audit", path)
    assert code == 2
    assert "needs 15 models" in err
    assert "mdad plan" in err


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "folder"])
def test_convert_round_trip(monkeypatch, capsys, table, tmp_path, name):
    target = tmp_path / name
    code, out, err = call(monkeypatch, capsys, "convert", table, target)
    assert (code, err) == (0, "")
    assert "40 models x 120 items" in out
    before, after = mdad.load(table), mdad.load(target)
    assert (before.models, before.items) == (after.models, after.items)
    assert np.array_equal(before.values, after.values)
    code, _, err = call(monkeypatch, capsys, "convert", table, target)
    assert code == 2
    assert "--overwrite" in err
    assert call(monkeypatch, capsys, "convert", table, target, "--overwrite")[0] == 0


def test_convert_refuses_what_it_cannot_name(monkeypatch, capsys, table, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    cases = {
        "scores.xlsx": "cannot tell what scores.xlsx should be",
        "mine": "it is not replaced",
    }
    for name, said in cases.items():
        arguments = ["convert", table, tmp_path / name, "--overwrite"]
        code, _, err = call(monkeypatch, capsys, *arguments)
        assert code == 2
        assert said in err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "dear"
    code, _, err = call(
        monkeypatch, capsys, "convert", table, tmp_path / "b.csv", "--layout", "long"
    )
    assert code == 2
    assert "Parquet" in err


def test_lists_as_text_and_json():
    for command, expected in (("datasets", "digits-zoo"), ("methods", "random-subtasks-equal")):
        assert expected in runner.invoke(app, [command]).output
        rows = json.loads(runner.invoke(app, [command, "--json"]).output)
        assert expected in [row["name"] for row in rows]


def test_demo(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(monkeypatch, capsys, "demo")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"Report: {Path('mdad-demo') / 'report.html'}"
    assert "two models must be" in out
    assert (tmp_path / "mdad-demo" / "report.html").stat().st_size > 10_000


STOPPED = {
    ("plan", "--gap", "2"): ("mdad.planning.plan", "stopped."),
    ("select", "{table}"): ("mdad.selecting.select_forms", "stopped."),
    ("audit", "{table}"): ("mdad.auditing.audit", "stopped."),
    ("reproduce", "--simulated", "--out", "there"): (
        "mdad.reproducing.reproduce",
        "stopped. Finished runs are kept in there; the same command goes on from there.",
    ),
    ("fetch", "open-llm-leaderboard", "--benchmark", "musr", "--models", "{table}"): (
        "mdad.hub.fetch",
        "stopped. What was fetched is kept in musr; the same command goes on from there.",
    ),
}


@pytest.mark.parametrize("command", STOPPED)
def test_ctrl_c_is_told_in_one_line_by_every_command(monkeypatch, capsys, tmp_path, table, command):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt

    where, said = STOPPED[command]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(where, stop)
    code, out, err = call(monkeypatch, capsys, *(part.format(table=table) for part in command))
    assert (code, out, err) == (130, "", f"mdad: {said}\n")


def test_ctrl_c_that_says_what_is_kept_is_not_said_worse(monkeypatch, capsys, tmp_path):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt("stopped. 3 of 9 runs are done and kept in there.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mdad.reproducing.reproduce", stop)
    code, _, err = call(monkeypatch, capsys, "reproduce", "--simulated")
    assert (code, err) == (130, "mdad: stopped. 3 of 9 runs are done and kept in there.\n")
