"""``mdad load``, and the other commands straight from folders of logs."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import mdad
from harness_logs import generation, inspect_eval, inspect_sample, lm_record, lm_run
from mdad.cli import app
from mdad.errors import FormatError, SettingError

RUN = CliRunner()


def ran(*args):
    result = RUN.invoke(app, list(map(str, args)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def logs(tmp_path):
    """Twenty models on 60 items of two tasks, the better the later."""
    rng = np.random.default_rng(0)
    for number in range(20):
        for task in ("arc", "mmlu_law"):
            right = rng.random(30) < 0.3 + number / 40
            rows = [lm_record(i, float(score)) for i, score in enumerate(right)]
            lm_run(tmp_path / "logs", f"org/m{number}", rows, task=task)
    return tmp_path / "logs"


def test_load_says_what_is_there(logs):
    (logs / "notes.txt").write_text("x")
    text = ran("load", logs)
    assert "20 models x 60 items, correctness and probabilities, 2 subtasks" in text
    assert "lm-eval: 60 files, 1 other file ignored" in text
    assert "metric: acc (arc, mmlu_law)" in text
    assert "filter: none (arc, mmlu_law)" in text
    assert [line.split()[:3] for line in text.splitlines() if line.startswith("org/m3")] == [
        ["org/m3", "60", "100.0%"]
    ]


def test_load_prints_the_report_for_machines(logs):
    report = json.loads(ran("load", logs, "--json"))
    assert report["format"] == "lm-eval"
    assert report["subtasks"] == {"arc": 30, "mmlu_law": 30}
    assert [model["name"] for model in report["models"][:3]] == ["org/m0", "org/m1", "org/m2"]
    assert report["used"]["metric"] == {"acc": ["arc", "mmlu_law"]}
    assert report["alike"] == []


def test_load_writes_what_it_read(logs, tmp_path):
    scores = mdad.load(logs)
    for name in ("scores.parquet", "scores.csv", "store"):
        assert f"written to {tmp_path / name}" in ran("load", logs, "--out", tmp_path / name)
        found = mdad.load(tmp_path / name)
        assert (found.models, found.items) == (scores.models, scores.items)
        np.testing.assert_array_equal(found.values, scores.values)
    assert mdad.load(tmp_path / "store").data_fingerprint == scores.data_fingerprint
    with pytest.raises(SettingError, match="exists; give another name or --overwrite"):
        ran("load", logs, "--out", tmp_path / "store")
    ran("load", logs, "--out", tmp_path / "store", "--overwrite")


def test_load_names_copies_and_odd_models(tmp_path):
    for number, name in enumerate(("a", "b", "c", "d")):
        rows = [lm_record(i, float((i + number // 2) % 3 > 0)) for i in range(6)]
        lm_run(tmp_path, f"org/{name}", rows)
    lm_run(tmp_path, "org/e", [lm_record(i, 0.0) for i in range(6)])
    text = ran("load", tmp_path)
    assert "identical answers: 'org/a', 'org/b'" in text
    assert "1 model with the lowest possible score on every item: 'org/e'" in text


def test_strict_stops_and_lenient_counts(tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0), "{", lm_record(2)])
    with pytest.raises(FormatError, match="line 2 is not valid JSON"):
        ran("load", tmp_path)
    with pytest.raises(FormatError, match="line 2 is not valid JSON"):
        ran("load", tmp_path, "--strict")
    text = ran("load", tmp_path, "--lenient")
    assert "1 bad record left out:" in text
    assert "line 2 is not valid JSON" in text


def test_choices_are_options(tmp_path):
    rows = [
        generation(i, float(i == j), filter=name)
        for i in range(2)
        for j, name in enumerate(("strict-match", "flexible-extract"))
    ]
    lm_run(tmp_path / "lm", "org/a", rows, task="gsm8k")
    with pytest.raises(SettingError, match=r"--filter flexible-extract"):
        ran("load", tmp_path / "lm")
    assert "filter: strict-match (gsm8k)" in ran(
        "load", tmp_path / "lm", "--filter", "strict-match"
    )
    both = {"match": {"value": "C"}, "judge": {"value": {"x": 1, "y": 0}}}
    inspect_eval(tmp_path / "in" / "a.eval", [inspect_sample(1, scores=both)])
    assert "scorer: match (quiz)" in ran("load", tmp_path / "in", "--scorer", "match")
    ran("load", tmp_path / "in", "--scorer", "judge", "--metric", "x", "--format", "inspect")
    with pytest.raises(SettingError, match="format 'inspect' has no option 'filter'"):
        ran("load", tmp_path / "in", "--filter", "none")


def test_other_options_reach_the_library(logs):
    text = ran("load", logs, "--item-key", "question", "--no-cache", "--n-jobs", "2")
    assert "20 models x 60 items" in text
    assert "org__m3 " in ran("load", logs, "--model-names", "folder")
    (logs.parent / "empty").mkdir()
    with pytest.raises(FormatError, match="no known format was found"):
        ran("load", logs.parent / "empty")


def test_options_without_a_flag(logs):
    assert "<ScoreMatrix 'quiz': 20 models" in ran("load", logs, "--option", "name=quiz")
    with pytest.raises(SettingError, match="format 'lm-eval' has no option 'judge'"):
        ran("load", logs, "--option", "judge=x")
    for wrong in ("name", "metric=acc"):
        with pytest.raises(SettingError, match="must be NAME=VALUE"):
            ran("load", logs, "--option", wrong)


def test_the_cache_is_said(logs, monkeypatch, tmp_path):
    monkeypatch.setenv("MDAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("mdad.loaders._cache.WORTH", 0)
    assert "(from the cache)" not in ran("load", logs)
    assert "(from the cache)" in ran("load", logs)
    assert "(from the cache)" not in ran("load", logs, "--no-cache")


def test_audit_select_and_compare_work_from_logs(logs, tmp_path):
    text = ran("audit", logs, "--sizes", "10", "--runs", "3", "--methods", "random", "--json")
    assert json.loads(text)["title"] == "logs"
    assert "6 target models are compared and 14 other source models" in text
    micro = tmp_path / "micro.json"
    ran("select", logs, "--size", "12", "--out", micro)
    chosen = mdad.Microbenchmark.load(micro)
    assert set(chosen.items) <= set(mdad.load(logs).items)
    by_task = {}
    for item in chosen.items:
        task, number = item.split("/")
        by_task.setdefault(task, []).append(int(number))
    # The two models run on the chosen items alone, as the exported list says.
    exported = json.loads(ran("export", micro, "--to", "lm-eval"))
    content = exported.pop("mdad:content")["doc_hash"]
    assert {
        task: {str(n): f"hash-{n}" for n in numbers} for task, numbers in by_task.items()
    } == content
    assert {task: sorted(numbers) for task, numbers in by_task.items()} == exported
    for model, good in (("org/x", 1.0), ("org/y", 0.0)):
        for task, numbers in exported.items():
            rows = [lm_record(i, good) for i in numbers]
            lm_run(tmp_path / model[-1], model, rows, task=task)
    found = json.loads(ran("compare", micro, tmp_path / "x", tmp_path / "y", "--json"))
    assert [score["model"] for score in found["scores"]] == ["org/x", "org/y"]
    assert "org/x" in ran("score", micro, tmp_path / "x")
    changed = [lm_record(i, doc_hash="new") for i in exported["arc"]]
    lm_run(tmp_path / "x", "org/x", changed)
    with pytest.raises(FormatError, match="has changed since the micro-benchmark was made"):
        ran("compare", micro, tmp_path / "x", tmp_path / "y")


def test_metric_and_filter_are_options_of_the_other_commands(tmp_path):
    for name in ("a", "b"):
        rows = [lm_record(i, 1.0, acc_norm=0.0, metrics=["acc", "acc_norm"]) for i in range(8)]
        lm_run(tmp_path / "logs", f"org/{name}", rows)
    with pytest.raises(SettingError, match="2 metrics and none was chosen"):
        ran("select", tmp_path / "logs", "--size", "2", "--out", tmp_path / "m.json")
    for metric, value in (("acc", 1), ("acc_norm", 0)):
        target = tmp_path / f"{metric}.csv"
        ran("convert", tmp_path / "logs", target, "--metric", metric)
        assert (mdad.load(target).values == value).all()
    ran("select", tmp_path / "logs", "--size", "2", "--metric", "acc", "--out", tmp_path / "m.json")
    made = ["compare", tmp_path / "m.json", tmp_path / "logs", "--extra", "ignore"]
    with pytest.raises(SettingError, match="2 metrics and none was chosen"):
        ran(*made)
    ran(*made, "--metric", "acc", "--filter", "none")


def test_the_command_itself(tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0), lm_record(1, 7.0)])
    found = subprocess.run(
        [sys.executable, "-m", "mdad", "load", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith("mdad: org__a/samples_arc_")
    assert "line 2 has the score 7 for 'arc/1'" in found.stderr
    assert found.stderr.count("\n") == 1
