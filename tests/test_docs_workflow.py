"""The workflow in the docs: its comparison runs here as it stands."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mdad
from harness_logs import lm_record, lm_run

yaml = pytest.importorskip("yaml")

WORKFLOW = Path(__file__).resolve().parents[1] / "docs" / "compare-workflow.yml"
N = 60


def step(name):
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    (found,) = [step for step in job["steps"] if step.get("name") == name]
    return found["run"]


def logged(folder, share, **fields):
    records = [
        lm_record(i, float(i * 7 % 10 < share), metric="acc_norm", **fields) for i in range(N)
    ]
    lm_run(folder, "org/model", records)


@pytest.fixture
def compare(tmp_path):
    """The step on a candidate that is right on so many items of ten: exit code and summary."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not here")
    logged(tmp_path / "baseline", 7)
    micro = mdad.select(mdad.load(tmp_path / "baseline"), size=N - 1, seed=1)
    micro.save(tmp_path / "micro.json")
    scripts = tmp_path / "bin"
    scripts.mkdir()
    (scripts / "mdad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mdad "$@"\n')
    (scripts / "mdad").chmod(0o755)

    def run(share, **fields):
        logged(tmp_path / "logs" / "candidate", share, **fields)
        summary = tmp_path / "summary.md"
        summary.write_text("")
        done = subprocess.run(
            [bash, "-e", "-c", step("Compare")],
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
                "METRIC": "acc_norm",
                "GITHUB_STEP_SUMMARY": str(summary),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert (tmp_path / "verdict.md").read_text() == summary.read_text()
        return done.returncode, summary.read_text(), done.stderr

    return run


def test_the_verdict_is_posted_whatever_it_is(compare):
    code, text, _ = compare(10)
    assert code == 0
    assert "candidate is better than baseline" in text
    assert "| candidate |" in text
    code, text, err = compare(2)
    assert code == 1
    assert "baseline is better than candidate" in text
    assert "shown worse than baseline" in err
    code, text, err = compare(10, doc_hash="new")
    assert code == 2
    assert text.startswith("**Nothing was compared.**")
    assert "has changed" in text
    assert "|" not in text


def test_the_other_steps_name_what_there_is():
    assert "mdad export micro.json --to lm-eval --out samples.json" in step("Run the chosen items")
    assert "--body-file verdict.md" in step("Post the verdict")
    assert json.dumps(yaml.safe_load(WORKFLOW.read_text())[True]) == json.dumps(
        {"pull_request": None, "workflow_dispatch": None}
    )
