"""Audits that are stopped, killed or run out of disk: nothing lost, nothing half-written kept."""

from __future__ import annotations

import errno
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import mdad
from mdad import runner
from mdad._files import write_atomically
from mdad.cli import _progress
from mdad.cli._progress import Bar, Pace, duration
from mdad.datasets import simulate
from mdad.errors import ResultsError
from mdad.experiment import Experiment
from mdad.runner import Interrupted, run_experiment
from mdad.scores import Completed
from mdad.storage import write_directory

RUNS = 30
EXPERIMENT = Experiment(methods=("random", "c-optimal"), sizes=(5, 20), runs=RUNS, seed=0)
WAIT = 300
"""Seconds after which a command that does not end fails a test instead of holding it up."""


@pytest.fixture(scope="module")
def completed():
    return Completed(simulate(n_models=60, n_items=2000, seed=2), (), ())


@pytest.fixture(scope="module")
def place(completed, tmp_path_factory):
    """A folder with stored scores, and the results of an audit that nothing happened to."""
    folder = tmp_path_factory.mktemp("survival")
    write_directory(completed.scores, folder / "scores")
    run_experiment(completed, EXPERIMENT, out=folder / "whole")
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.glob("runs/run-*.parquet")}


def begin(place, out, *options, temporary):
    temporary.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "mdad", "audit", "scores", "--methods", "random,c-optimal"]
    command += ["--sizes", "5,20", "--runs", str(RUNS), "--out", str(out), "--json", *options]
    return subprocess.Popen(
        command,
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )


def until(process, out, count):
    deadline = time.monotonic() + WAIT
    while process.poll() is None and len(list(out.glob("runs/run-*.parquet"))) < count:
        assert time.monotonic() < deadline, "no run was finished"
        time.sleep(0.005)


def emptied(folder):
    """Whether a folder becomes empty before long."""
    deadline = time.monotonic() + WAIT
    while any(folder.glob("mdad-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(folder.glob("mdad-*"))


def alone(process):
    """Whether no process of its session is left before long."""
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("whole_group", [True, False])
def test_ctrl_c_says_what_is_kept_and_how_to_go_on(place, tmp_path, whole_group):
    out, temporary = tmp_path / "o", tmp_path / "t"
    process = begin(place, out, "--n-jobs", "2", temporary=temporary)
    until(process, out, 2)
    # A terminal sends it to all processes of the command, `kill` to one.
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    _, text = process.communicate(timeout=WAIT)
    kept = len(contents(out))
    assert process.returncode == 130
    assert f"mdad: stopped. {kept} of {RUNS} runs are done and kept in {out}" in text
    assert "the same command goes on from there" in text
    assert "Traceback" not in text
    assert emptied(temporary)
    assert alone(process)
    process = begin(place, out, temporary=temporary)
    _, text = process.communicate(timeout=WAIT)
    assert process.returncode == 0, text
    assert contents(out) == contents(place / "whole")


def test_kill_minus_9_at_random_points(place, tmp_path):
    out, temporary, rng = tmp_path / "o", tmp_path / "t", random.Random(5)
    whole = contents(place / "whole")
    for workers in ("2", "1", "2"):
        process = begin(place, out, "--n-jobs", workers, temporary=temporary)
        until(process, out, min(RUNS, len(contents(out)) + rng.randint(0, 4)))
        time.sleep(rng.random() * 0.2)
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=WAIT)
        assert all(whole[name] == content for name, content in contents(out).items())
        # What workers mapped is removed, and they are gone, though nobody told them.
        assert alone(process)
        assert emptied(temporary)
    process = begin(place, out, temporary=temporary)
    process.communicate(timeout=WAIT)
    assert process.returncode == 0
    assert contents(out) == whole


def failing(number, problem):
    """Writes as the package does until the given call, which fails like a full disk."""
    calls = []

    def write(path, content):
        if path.name.startswith("run-"):
            calls.append(path)
            if len(calls) == number:
                raise OSError(problem, os.strerror(problem))
        write_atomically(path, content)

    return write


def test_a_full_disk_is_told_and_what_is_written_stays(completed, place, tmp_path, monkeypatch):
    out = tmp_path / "o"
    monkeypatch.setattr("mdad._shards.write_atomically", failing(4, errno.ENOSPC))
    with pytest.raises(ResultsError, match=r"No space left on device\. Finished runs .* go"):
        run_experiment(completed, EXPERIMENT, out=out)
    assert len(contents(out)) == 3
    monkeypatch.undo()
    run_experiment(completed, EXPERIMENT, out=out)
    assert contents(out) == contents(place / "whole")


def test_a_folder_that_cannot_be_written_is_refused_before_a_run(completed, tmp_path, monkeypatch):
    out, few = tmp_path / "o", Experiment(methods=("random",), sizes=(5,), runs=2)
    run_experiment(completed, few, out=out)
    (out / "runs" / "run-00001.parquet").unlink()

    def read_only(_path, _content):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(runner, "write_atomically", read_only)
    done = []
    with pytest.raises(ResultsError, match="Read-only file system"):
        run_experiment(completed, few, out=out, progress=lambda *at: done.append(at))
    assert done == [(1, 2)]
    monkeypatch.setattr(runner, "set_aside", lambda path: read_only(path, b""))
    (out / "runs" / "run-00000.parquet").write_bytes(b"torn")
    with pytest.raises(ResultsError, match="Read-only file system"):
        run_experiment(completed, few, out=out)


def test_finished_results_are_read_from_a_folder_that_cannot_be_written(completed, tmp_path):
    few = Experiment(methods=("random",), sizes=(5,), runs=2)
    run_experiment(completed, few, out=tmp_path / "o")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "write_atomically", None)
        assert len(run_experiment(completed, few, out=tmp_path / "o").runs) == 2


@pytest.mark.parametrize("backend", ["processes", "threads"])
def test_an_interrupt_without_a_folder_says_that_runs_are_lost(completed, backend):
    def stop(done, _total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=rf"stopped\. 1 of {RUNS} runs were done and are lost"):
        run_experiment(completed, EXPERIMENT, backend=backend, n_jobs=2, progress=stop)


def test_a_bug_in_a_callers_progress_is_not_taken_for_a_full_disk(completed):
    def broken(done, _total):
        if done:
            raise OSError(errno.ENOSPC, "of the caller")

    with pytest.raises(OSError, match="of the caller"):
        run_experiment(completed, EXPERIMENT, progress=broken)


def test_small_audits_one_after_another_leave_nothing_behind(tmp_path):
    scores = simulate(n_models=30, n_items=80, seed=1)

    def some(numbers):
        for number in numbers:
            settings = {"n_jobs": 2, "backend": "threads"} if number % 3 == 0 else {}
            out = tmp_path / str(number) if number % 2 else None
            names = ["random", "stratified-confidence", "c-optimal"]
            mdad.audit(scores, methods=names, sizes=[5], runs=2, seed=number, out=out, **settings)
        gc.collect()
        files = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
        # Of numpy alone: what pandas, coverage and the interpreter keep of their own is not ours.
        arrays = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
        held = tracemalloc.take_snapshot().filter_traces([arrays]).traces
        return sum(trace.size for trace in held), files, threading.active_count()

    tracemalloc.start()
    try:
        some(range(10))
        before = some(range(10, 20))
        after = some(range(20, 60))
    finally:
        tracemalloc.stop()
    assert after[0] <= before[0]
    assert after[1] <= before[1]
    assert after[2] <= before[2]


class Clock:
    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_progress, "time", clock)
    return clock


def test_the_time_left_comes_from_what_this_command_did(clock):
    pace = Pace()
    clock.now += 5
    assert pace.left(40, 50) is None
    clock.now += 60
    # Two runs in a minute, eight to go: what was there at once does not count.
    assert pace.left(42, 50) == pytest.approx(240)
    clock.now += 60
    assert pace.left(43, 50) == pytest.approx(7 * 40)
    # Another audit of the same command begins anew.
    assert pace.left(0, 50) is None


def test_durations_for_people():
    assert [duration(s) for s in (3, 119, 121, 7300)] == ["3 s", "119 s", "2 min", "2.0 h"]


class Recorder:
    def __init__(self, *, terminal):
        self.is_terminal, self.lines, self.updates = terminal, [], []

    def print(self, line, **_):
        self.lines.append(line)

    def add_task(self, *_args, **_settings):
        return 0

    def update(self, _task, **fields):
        self.updates.append(fields)


def test_a_file_gets_a_line_now_and_then_and_a_terminal_a_bar(clock):
    for terminal in (False, True):
        recorder = Recorder(terminal=terminal)
        bar = Bar("runs", recorder, recorder)
        bar(0, 9)
        clock.now += 10
        bar(1, 9)
        clock.now += 25
        bar(2, 9)
        bar(9, 9)
        assert [update["left"] for update in recorder.updates[1:]] == [
            "about 80 s left",
            "about 2 min left",
            "",
        ]
        expected = [] if terminal else ["2 of 9 runs done, about 2 min left"]
        assert recorder.lines == expected
