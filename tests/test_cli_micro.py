"""plan, select, show, score, compare and export, run as a user runs them."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import mdad
from mdad import datasets, storage
from mdad.cli import app, main
from mdad.microbenchmark import Microbenchmark

runner = CliRunner()


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run the command in an empty folder, with its error handling: code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mdad", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def bench(tmp_path):
    """A simulated benchmark, ids of its items, a micro-benchmark and three models' runs on it."""
    scores = datasets.simulate(n_models=20, n_items=300, seed=6, probabilities=False)
    order = np.argsort(scores.full_scores())
    best, middle, worst = (scores.models[i] for i in (order[-1], order[10], order[0]))
    (tmp_path / "ids.txt").write_text("\n".join(scores.items) + "\n")
    micro = mdad.select(items=scores.items, size=120, seed=3)
    micro.save(tmp_path / "m.json")
    part = scores.restrict(items=micro.items)
    for name, model in (("best", best), ("middle", middle), ("worst", worst)):
        storage.write_csv(part.restrict(models=[model]), tmp_path / f"{name}.csv")
    storage.write_csv(scores, tmp_path / "scores.csv")
    return {"best": best, "middle": middle, "worst": worst, "scores": scores, "micro": micro}


def test_plan_answers_in_points(call):
    code, out, err = call("plan", "--gap", "2", "--discordance", "0.3", "--n-items", "12032")
    assert (code, err) == (0, "")
    expected = mdad.plan(gap=0.02, discordance=0.3, n_items=12032)
    assert out.splitlines()[0].startswith(f"{expected.items} of the 12,032 items")
    assert "points" in out
    assert "Assumed: two models differ on 30.0% of the items." in out
    code, out, _ = call("plan", "--gap", "2", "--discordance", "0.3", "--json")
    assert code == 0
    assert json.loads(out)["items"] == mdad.plan(gap=0.02, discordance=0.3).items


def test_plan_from_scores_a_pair_and_money(call, bench):
    scores = bench["scores"]
    code, out, _ = call("plan", "scores.csv", "--size", "50", "--json")
    assert code == 0
    assert json.loads(out)["mdad"] == pytest.approx(mdad.plan(size=50, scores=scores).mdad)
    names = f"{bench['best']},{bench['worst']}"
    code, out, _ = call("plan", "scores.csv", "--pair", names, "--size", "50", "--json")
    assert code == 0
    a, b = (scores.restrict(models=[m]).values[0].astype(float) for m in names.split(","))
    assert json.loads(out)["achieved"] == pytest.approx(mdad.plan(a=a, b=b, size=50).achieved)
    few = ",".join(scores.models[:6])
    assert call("plan", "scores.csv", "--models", few, "--gap", "5")[0] == 0
    code, out, _ = call("plan", "--budget", "10", "--cost-per-item", "0.05", "--discordance", "0.2")
    assert code == 0
    assert "200" in out
    assert "cost" in out


def test_plan_for_graded_scores_in_their_own_points(call):
    arguments = ["--sd", "6", "--score-range", "-33.3", "10", "--n-items", "171", "--json"]
    code, out, err = call("plan", "--gap", "5", *arguments)
    assert (code, err) == (0, "")
    assert json.loads(out)["gap"] == pytest.approx(5 * 0.433)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing is asked"),
        (["--models", "a,b"], "--models need a FILE"),
        (["scores.csv", "--pair", "one", "--gap", "2"], "takes two models"),
        (["scores.csv", "--pair", "one,two", "--gap", "2"], "not found"),
        (["--gap", "2", "--discordance", "0.01"], "discordance"),
        (["--gap", "2", "--budget", "3"], "no effect without cost_per_item"),
    ],
)
@pytest.mark.usefixtures("bench")
def test_plan_refuses_in_one_paragraph(call, arguments, said):
    code, out, err = call("plan", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_select_without_scores_then_show(call, bench):
    arguments = ["select", "--random", "--items", "ids.txt", "--size", "120", "--seed", "3"]
    code, out, err = call(*arguments, "--out", "again.json")
    assert (code, err) == (0, "")
    assert "120 of 300 items" in out
    assert Microbenchmark.load("again.json") == bench["micro"]
    code, out, _ = call("show", "again.json")
    assert code == 0
    assert "120 of 300 items" in out
    assert bench["micro"].fingerprint in out
    code, out, _ = call("show", "again.json", "--json")
    assert json.loads(out)["items"] == list(bench["micro"].items)
    code, _, err = call(*arguments, "--out", "again.json")
    assert code == 2
    assert "--overwrite" in err


def test_select_with_scores_forms_minimum_and_exclusions(call, bench, tmp_path):
    items = bench["scores"].items
    rows = "\n".join(f"{item},{'ab'[i % 2]}" for i, item in enumerate(items))
    (tmp_path / "items.csv").write_text(f"item_id,subtask\n{rows}\n")
    (tmp_path / "no.txt").write_text("\n".join(items[:5]))
    code, out, err = call(
        *("select", "scores.csv", "--items", "items.csv", "--size", "20", "--forms", "2"),
        *("--min-per-subtask", "4", "--exclude", "no.txt", "--out", "f.json"),
    )
    assert (code, err) == (0, "")
    one, two = Microbenchmark.load("f-1.json"), Microbenchmark.load("f-2.json")
    assert not set(one.items) & set(two.items)
    assert not set(items[:5]) & set(one.items + two.items)
    assert min(one.subtasks.count("a"), one.subtasks.count("b")) >= 4
    assert "f-1.json" in out
    code, out, _ = call("show", "f-1.json")
    assert "form 1 of 2" in out
    assert "5 items were excluded" in out
    assert "20 source models" in out
    assert "items per subtask: a" in out
    code, out, _ = call(
        *("select", "--random", "--items", "items.csv", "--size", "20", "--out", "g.json"),
        *("--min-per-subtask", "4"),
    )
    assert code == 0
    assert min(map(Microbenchmark.load("g.json").subtasks.count, "ab")) >= 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["select"], "give a FILE with scores, or --random"),
        (["select", "--random"], "needs --items"),
        (["select", "--random", "--items", "none.txt"], "cannot read"),
        (["select", "--random", "--items", "bad.txt"], "not UTF-8"),
        (["select", "--random", "--items", "ids.txt", "--size", "301"], "300 can be chosen"),
        (["select", "scores.csv", "--random", "--method", "random-subtasks-equal"], "contradict"),
        (["select", "scores.csv", "--preset", "x"], "unknown preset"),
        (["show", "none.json"], "cannot read none.json"),
        (["show", "scores.csv"], "not a micro-benchmark"),
        (["export", "m.json", "--to", "pdf"], "unknown export form"),
        (["export", "m.json", "--out", "no/x.txt"], "cannot write"),
        (["score", "m.json", "none.csv"], "no file"),
        (["compare", "m.json", "best.csv"], "two models or more"),
        (["compare", "m.json", "best.csv", "best.csv"], "more than one file"),
        (["compare", "m.json", "best.csv", "worst.csv", "--margin", "1"], "go together"),
        (["compare", "m.json", "best.csv", "worst.csv", "--json", "--markdown"], "at once"),
        (["compare", "m.json", "best.csv", "worst.csv", "--names", "a"], "name every file"),
        (["compare", "m.json", "best.csv", "worst.csv", "--missing", "skip"], "unknown missing"),
        (["compare", "m.json", "scores.csv", "worst.csv", "--names", "a,b"], "files of one model"),
    ],
)
@pytest.mark.usefixtures("bench")
def test_bad_input_is_one_paragraph(call, tmp_path, arguments, said):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00x")
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_score_and_compare(call, bench):
    code, out, err = call("score", "m.json", "best.csv", "worst.csv")
    assert (code, err) == (0, "")
    assert out.index(bench["best"]) < out.index(bench["worst"])
    code, out, _ = call("score", "m.json", "best.csv", "--json")
    (found,) = json.loads(out)
    row = mdad.load("best.csv", min_models=1).values[0]
    assert found["value"] == pytest.approx(row.mean())
    assert found["low"] < found["value"] < found["high"]
    code, out, _ = call("compare", "m.json", "best.csv", "worst.csv")
    assert code == 0
    assert f"{bench['best']} is better than {bench['worst']}" in out
    code, out, _ = call("compare", "m.json", "best.csv", "worst.csv", "--json")
    assert json.loads(out)["pairs"][0]["better"] == bench["best"]
    code, out, _ = call("compare", "m.json", "best.csv", "middle.csv", "worst.csv", "--markdown")
    assert code == 0
    assert out.startswith("**")
    code, out, _ = call("compare", "m.json", "best.csv", "best.csv", "--names", "a,b")
    assert code == 0
    assert "equal on 120 items" in out
    code, out, _ = call("compare", "m.json", "scores.csv")
    assert code == 0
    assert "of 190 pairs decided" in out


def test_gates(call, bench):
    better, worse = ["best.csv", "worst.csv"], ["worst.csv", "best.csv"]
    code, _, err = call("compare", "m.json", *better, "--fail-if-worse")
    assert code == 1
    assert f"shown worse than {bench['best']}" in err
    assert call("compare", "m.json", *worse, "--fail-if-worse")[0] == 0
    proof = ["--margin", "1", "--require-proof"]
    assert call("compare", "m.json", *worse, *proof)[0] == 0
    code, _, err = call("compare", "m.json", *better, *proof)
    assert code == 1
    assert "not shown to be within 1 points" in err
    # The same answers twice: nobody is worse, yet 0.1 points are not proved by 120 items.
    twins = ["best.csv", "best.csv", "--names", "a,b"]
    assert call("compare", "m.json", *twins, "--fail-if-worse")[0] == 0
    assert call("compare", "m.json", *twins, "--margin", "0.1", "--require-proof")[0] == 1


@pytest.mark.usefixtures("bench")
def test_missing_and_extra_items(call, tmp_path):
    lines = (tmp_path / "best.csv").read_text().splitlines()
    header, row = (line.split(",") for line in lines)
    (tmp_path / "short.csv").write_text(f"{','.join(header[:-3])}\n{','.join(row[:-3])}\n")
    (tmp_path / "long.csv").write_text(f"{lines[0]},other\n{lines[1]},1\n")
    code, _, err = call("score", "m.json", "short.csv")
    assert code == 2
    assert "3 chosen items of 120" in err
    assert call("score", "m.json", "short.csv", "--missing", "drop")[0] == 0
    code, _, err = call("score", "m.json", "long.csv")
    assert code == 2
    assert "'other'" in err
    assert call("score", "m.json", "long.csv", "--extra", "ignore")[0] == 0


def test_several_trials_per_item_are_averaged_when_asked(call, bench, tmp_path):
    items = bench["micro"].items
    rows = [
        f"{m},{item},{(i + t) % 2}" for m in "ab" for t in (0, 0, 1) for i, item in enumerate(items)
    ]
    (tmp_path / "trials.csv").write_text("model,item,score\n" + "\n".join(rows) + "\n")
    code, _, err = call("score", "m.json", "trials.csv")
    assert code == 2
    assert "more than one for the same model and item" in err
    code, out, err = call("score", "m.json", "trials.csv", "--mean-of-trials", "--json")
    assert (code, err) == (0, "")
    # Odd and even items: 1/3 and 2/3 of three trials, half of each.
    assert json.loads(out)[0]["value"] == pytest.approx(0.5)


def test_export(call, bench):
    code, out, _ = call("export", "m.json", "--to", "ids")
    assert code == 0
    assert out.split() == list(bench["micro"].items)
    code, out, _ = call("export", "m.json", "--to", "hf", "--order", "ids.txt")
    places = {item: i for i, item in enumerate(bench["scores"].items)}
    assert json.loads(out) == sorted(places[item] for item in bench["micro"].items)
    code, out, _ = call("export", "m.json", "--to", "lm-eval", "--task", "t", "--out", "s.json")
    assert code == 0
    assert "s.json" in out


def test_a_changed_item_is_noticed(call, tmp_path):
    scores = datasets.load("digits-zoo")
    micro = mdad.select(scores, size=20)
    micro.save(tmp_path / "d.json")
    part = scores.restrict(models=scores.models[:2], items=micro.items)
    storage.write_parquet(part, tmp_path / "same.parquet")
    assert call("compare", "d.json", "same.parquet")[0] == 0
    info = part.item_info.copy()
    info.loc[micro.items[4], "content_hash"] = "0"
    changed = mdad.ScoreMatrix(part.values, part.models, part.items, item_info=info)
    storage.write_parquet(changed, tmp_path / "changed.parquet")
    code, _, err = call("compare", "d.json", "changed.parquet")
    assert code == 2
    assert micro.items[4] in err
    assert "has changed" in err


def test_every_command_is_listed():
    shown = runner.invoke(app, ["--help"]).output
    for command in ("plan", "select", "show", "score", "compare", "export"):
        assert f"  {command} " in shown
