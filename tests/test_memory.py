"""The plan of memory: an upper bound of what is held, and what it refuses."""

from __future__ import annotations

import gc
import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from mdad import _memory, datasets, quality
from mdad._memory import Plan, bytes_of, check_memory, memory_plan, shown
from mdad.datasets import simulate
from mdad.errors import SettingError
from mdad.experiment import Experiment, run_once
from mdad.methods import METHODS
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix

GIB = 2**30
SLOW = {"auto", "auto-ability", "tinybenchmarks", "tinybenchmarks-pirt", "tinybenchmarks-gpirt"}
OPTIONS = "anchor-points-predictor"


@pytest.fixture(scope="module")
def scores():
    return simulate(n_models=130, n_items=1600, seed=1).sorted()


def held_by(scores, experiment):
    """Bytes held at most, by the interpreter's own account (numpy reports there, too)."""
    run_once(scores, experiment, 1)
    gc.collect()
    tracemalloc.start()
    run_once(scores, experiment, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("method", [name for name in METHODS if name not in {OPTIONS, *SLOW}])
def test_the_plan_is_above_what_a_run_holds_and_not_far_above(scores, method):
    experiment = Experiment(methods=(method,), sizes=(40,), runs=2, n_source=100, n_target=30)
    experiment = experiment.resolve(scores)
    held, planned = held_by(scores, experiment), memory_plan(scores, experiment, 1, 1).run
    assert held <= planned <= 4 * held


def test_the_plan_holds_for_the_methods_of_options():
    scores = datasets.load("digits-zoo-options").sorted()
    experiment = Experiment(methods=(OPTIONS,), sizes=(20,), runs=2, n_source=40, n_target=10)
    experiment = experiment.resolve(scores)
    assert held_by(scores, experiment) <= memory_plan(scores, experiment, 1, 1).run


def test_every_method_has_measured_needs():
    assert set(_memory.NEEDS) == set(METHODS)


def test_methods_of_other_packages_are_taken_to_need_much(scores, monkeypatch):
    experiment = Experiment(methods=("random",), sizes=(40,)).resolve(scores)
    known = memory_plan(scores, experiment, 1, 1).run
    monkeypatch.delitem(_memory.NEEDS, "random")
    assert memory_plan(scores, experiment, 1, 1).run > 2 * known


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 * GIB), ("1.5 GiB", 1.5 * GIB), ("800mb", 800 * 2**20), ("7", 7), (1e9, 1e9)],
)
def test_sizes_of_memory(text, size):
    assert bytes_of(text) == size


@pytest.mark.parametrize("wrong", ["", "4 gigs", "-1G", "0G", "G", "nan", 0, float("nan")])
def test_what_is_no_size_of_memory_is_refused(wrong):
    with pytest.raises(SettingError, match="memory"):
        bytes_of(wrong)


def plan(**changes):
    given = {"scores": GIB, "run": GIB, "largest": "c-optimal", "n_processes": 2, "n_workers": 2}
    return Plan(**{**given, **changes})


def test_the_total_counts_every_process_and_every_run():
    process = _memory.PROCESS
    assert plan().total == 3 * process + 3 * GIB
    assert plan(n_processes=1).total == 2 * process + 3 * GIB
    assert plan(n_processes=1, n_workers=1).total == process + 2 * GIB
    assert plan(scores=0).line.startswith("Memory: 2.6 GiB at most, 0 MiB of it scores and 1.0 GiB")
    assert "x 2 at a time (most for c-optimal)" in plan().line


@pytest.mark.parametrize(
    ("given", "memory", "text"),
    [
        (
            plan(n_workers=4, n_processes=4),
            "5G",
            r"With 3 workers \(--n-jobs 3\) it needs 4\.9 GiB",
        ),
        (plan(n_workers=4, n_processes=4), "3G", r"With 1 worker \(--n-jobs 1\) it needs 2\.2 GiB"),
        (plan(), "2G", r"about 79% of them fit \(--n-source\), or leave out c-optimal"),
        (plan(), "1G", "The scores alone need 1.2 GiB"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(given, memory, text):
    with pytest.raises(SettingError, match=text) as refusal:
        check_memory(given, memory)
    assert "\n" not in str(refusal.value)


def test_what_fits_is_not_refused():
    check_memory(plan(), None)
    check_memory(plan(), "4G")


def test_an_audit_that_does_not_fit_is_refused_before_a_run(tmp_path):
    scores = simulate(n_models=30, n_items=60, seed=0)
    done, lines = [], []
    with pytest.raises(SettingError, match=r"this audit needs .* and may take 100 MiB"):
        run_experiment(
            Completed(scores, (), ()),
            Experiment(runs=2),
            out=tmp_path / "o",
            memory="100M",
            progress=lambda *at: done.append(at),
        )
    assert done == [(0, 2)]
    assert not list((tmp_path / "o" / "runs").iterdir())
    run_experiment(
        Completed(scores, (), ()),
        Experiment(runs=2),
        out=tmp_path / "o",
        memory="1G",
        tell=lines.append,
    )
    assert re.match(r"Memory: \d+ MiB at most", lines[1])


def test_a_system_that_does_not_say_what_is_free(monkeypatch, tmp_path):
    monkeypatch.setattr(_memory, "Path", lambda _name: tmp_path / "nothing")
    assert _memory.available() is None
    assert "free" not in plan().line
    assert shown(GIB) == "1.0 GiB"


def near_by_hand(scores):
    values = scores.values.astype(int)
    n = len(values)
    near = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            wrong = (values[i] == 0) | (values[j] == 0)
            both = (values[i] == 0) & (values[j] == 0)
            few = (values[i] != values[j]).sum() <= 0.01 * values.shape[1]
            near[i, j] = i != j and few and both.sum() >= 0.9 * wrong.sum()
    return near


@pytest.mark.parametrize("neighbours", [3, 256])
def test_near_copies_are_found_in_blocks_as_one_by_one(monkeypatch, neighbours):
    monkeypatch.setattr(quality, "NEIGHBOURS", neighbours)
    monkeypatch.setattr(quality, "AT_A_TIME", 37)
    rng = np.random.default_rng(4)
    values = rng.integers(0, 2, (40, 300))
    for row in range(0, 24, 2):
        values[row + 1] = values[row]
        flipped = rng.choice(300, row // 4, replace=False)
        values[row + 1, flipped] = 1 - values[row + 1, flipped]
    values[:, [3, 200]] = 1
    values[:, 250] = values[:, 40]
    scores = ScoreMatrix(values, [f"m{i}" for i in range(40)], [f"q{i}" for i in range(300)])
    near = quality.near_pairs(scores)
    assert 4 < near.sum() < 24
    assert (near == near_by_hand(scores)).all()
    found = quality.assess(scores)
    assert (found.constant_items, found.duplicate_items) == (2, 2)


def test_the_plan_of_a_resolved_experiment_counts_layers(scores):
    experiment = Experiment(methods=("random",), sizes=(40,)).resolve(scores)
    with_layer = memory_plan(scores, experiment, 1, 1)
    bare = ScoreMatrix(scores.values, scores.models, scores.items)
    assert with_layer.scores == 5 * memory_plan(bare, experiment, 1, 1).scores
    fewer = memory_plan(bare, replace(experiment, n_source=10), 1, 1)
    assert fewer.run < memory_plan(bare, experiment, 1, 1).run
