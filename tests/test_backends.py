"""The same bytes whoever does the runs; clusters that cannot be had are refused in a paragraph."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import mdad
from mdad import _backends, _cluster
from mdad._threads import VARIABLES, one_thread
from mdad.datasets import simulate
from mdad.errors import BackendError, SettingError
from mdad.experiment import Experiment
from mdad.runner import run_experiment
from mdad.scores import Completed
from mdad.storage import write_directory

EXPERIMENT = Experiment(
    methods=("random", "random-subtasks-proportional", "stratified-confidence", "c-optimal"),
    sizes=(5, 20),
    runs=5,
    n_source=20,
    n_target=8,
    seed=6,
)
CLUSTER_STARTS = 90
"""Seconds after which a cluster that does not start fails a test instead of holding it up."""


@pytest.fixture(scope="module")
def completed():
    return Completed(simulate(n_models=40, n_items=150, seed=2), (), ())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def one(completed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one") / "out"
    run_experiment(completed, EXPERIMENT, out=folder)
    found = contents(folder)
    assert len(found) == EXPERIMENT.runs + 1
    return found


def bounded(seconds, start):
    """What ``start`` returns; fails when it takes longer."""
    answer = []
    thread = threading.Thread(target=lambda: answer.append(start()), daemon=True)
    thread.start()
    thread.join(seconds)
    if not answer:
        pytest.fail(f"not started after {seconds} seconds")
    return answer[0]


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed")
    cluster = bounded(
        CLUSTER_STARTS,
        lambda: distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ),
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("settings", [{"n_jobs": 2}, {"n_jobs": 2, "backend": "threads"}])
def test_processes_and_threads_give_the_bytes_of_one_worker(tmp_path, completed, one, settings):
    lines = []
    run_experiment(completed, EXPERIMENT, out=tmp_path / "o", tell=lines.append, **settings)
    assert contents(tmp_path / "o") == one
    who = "2 threads of this process" if "backend" in settings else "2 processes"
    assert lines[0].startswith(f"5 runs to do: {who}, one thread each")


def test_dask_gives_the_bytes_of_one_worker(tmp_path, completed, one, dask):
    lines = []
    run_experiment(completed, EXPERIMENT, out=tmp_path / "a", backend=dask, tell=lines.append)
    assert contents(tmp_path / "a") == one
    assert "2 Dask workers with 2 runs at a time, one thread each" in lines[0]
    address = dask.scheduler.address
    scores = completed.scores
    settings = {f: getattr(EXPERIMENT, f) for f in ("methods", "sizes", "runs", "seed")}
    audit = mdad.audit(
        scores,
        **settings,
        n_source=20,
        n_target=8,
        backend="dask",
        scheduler=address,
        out=tmp_path / "b",
    )
    assert contents(tmp_path / "b") == one
    assert len(audit.results.runs) == EXPERIMENT.runs
    # A client in use is found, used, and left open.
    run_experiment(completed, EXPERIMENT, out=tmp_path / "c", backend="dask")
    assert contents(tmp_path / "c") == one
    assert dask.status == "running"


def test_scores_are_scattered_once_where_workers_do_not_see_the_disk(
    tmp_path, completed, one, dask, monkeypatch
):
    scattered, tasks = [], []
    scatter, submit = type(dask).scatter, type(dask).submit

    def watch(self, data, **settings):
        scattered.append(data)
        return scatter(self, data, **settings)

    def count(self, *args, **settings):
        tasks.append(args)
        return submit(self, *args, **settings)

    monkeypatch.setattr(type(dask), "scatter", watch)
    monkeypatch.setattr(type(dask), "submit", count)
    monkeypatch.setattr(_backends, "visible_to_all", lambda _client, _path: False)
    run_experiment(completed, EXPERIMENT, out=tmp_path / "o", backend=dask)
    assert contents(tmp_path / "o") == one
    assert len(scattered) == 1
    assert tasks


def test_a_folder_is_visible_to_workers_of_this_machine(tmp_path, dask):
    (tmp_path / "scores").mkdir()
    assert _cluster.visible_to_all(dask, tmp_path / "scores")
    assert not _cluster._is_there(str(tmp_path / "elsewhere"))


def test_a_killed_dask_worker_costs_nothing(tmp_path, completed, dask):
    experiment = replace(EXPERIMENT, runs=30)
    run_experiment(completed, experiment, out=tmp_path / "whole")
    before = set(dask.run(os.getpid).values())
    victim = min(before)

    def progress(done, _total):
        if done == 3:
            os.kill(victim, signal.SIGKILL)

    run_experiment(completed, experiment, out=tmp_path / "o", backend=dask, progress=progress)
    assert contents(tmp_path / "o") == contents(tmp_path / "whole")
    deadline = time.monotonic() + CLUSTER_STARTS
    while len(set(dask.run(os.getpid).values()) - {victim}) < 2:
        assert time.monotonic() < deadline, "the nanny did not start another worker"
        time.sleep(0.1)


def test_dask_and_a_number_of_workers_exclude_each_other(completed, dask):
    with pytest.raises(SettingError, match="Dask uses all workers"):
        run_experiment(completed, EXPERIMENT, backend=dask, n_jobs=2)


def test_workers_with_another_version_are_refused(completed, dask, monkeypatch):
    monkeypatch.setattr(_cluster, "__version__", "99.0")
    with pytest.raises(BackendError, match=r"Dask workers have mdad .* and this is 99\.0"):
        run_experiment(completed, EXPERIMENT, backend=dask)


def test_a_scheduler_without_workers_is_refused():
    class Empty:
        scheduler = SimpleNamespace(address="tcp://h:1")

        def wait_for_workers(self, _count, timeout):
            assert timeout > 0
            raise TimeoutError

    with pytest.raises(BackendError, match="at tcp://h:1 has no workers after 10 seconds"):
        _cluster.dask_workers(Empty())


def test_a_worker_without_the_package_is_refused():
    class Bare:
        def wait_for_workers(self, _count, timeout):
            assert timeout > 0

        def run(self, _function):
            raise ModuleNotFoundError(name="mdad")

    with pytest.raises(BackendError, match="a Dask worker cannot import 'mdad'"):
        _cluster.dask_workers(Bare())


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_what_cannot_be_reached_is_refused_in_one_paragraph(completed, backend, monkeypatch):
    pytest.importorskip({"dask": "distributed"}.get(backend, backend))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for address, kind, text in (
        (f"127.0.0.1:{unused_port()}", BackendError, "cannot be reached"),
        ("nonsense", SettingError, "'nonsense' is no address"),
    ):
        with pytest.raises(kind, match=text) as refusal:
            run_experiment(completed, EXPERIMENT, backend=backend, scheduler=address)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_named_with_how_to_get_it(completed, backend, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BackendError, match=rf"pip install 'mdad\[{backend}\]'"):
        run_experiment(completed, EXPERIMENT, backend=backend, scheduler="127.0.0.1:1")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"backend": "spark"}, "backend"),
        ({"backend": "threads", "scheduler": "tcp://h:1"}, "a scheduler .* belongs to"),
        ({"scheduler": "tcp://h:1"}, "a scheduler .* belongs to"),
        ({"backend": 7}, "or a Dask client; got int"),
        ({"n_jobs": -2}, "n_jobs"),
        ({"n_jobs": 0}, "n_jobs must be 1 or more, or -1"),
    ],
)
def test_settings_that_cannot_be_are_refused(completed, settings, text):
    with pytest.raises(SettingError, match=text):
        run_experiment(completed, EXPERIMENT, **settings)


def test_dask_without_a_scheduler_says_how_to_start_one(completed, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def none():
        raise ValueError

    monkeypatch.setattr(distributed.Client, "current", none)
    with pytest.raises(SettingError, match="dask scheduler"):
        run_experiment(completed, EXPERIMENT, backend="dask")


def test_finished_results_need_no_cluster(tmp_path, completed):
    experiment = replace(EXPERIMENT, methods=("random",), runs=2)
    run_experiment(completed, experiment, out=tmp_path)
    again = run_experiment(
        completed, experiment, out=tmp_path, backend="dask", scheduler="tcp://127.0.0.1:1"
    )
    assert len(again.runs) == 2


def test_lost_workers_are_explained_and_faults_are_not_hidden():
    lost = type("KilledWorker", (Exception,), {})
    explained = _backends._explained(lost())
    assert isinstance(explained, BackendError)
    assert "Dask gave a run up" in str(explained)
    fault = ZeroDivisionError()
    assert _backends._explained(fault) is fault


def test_what_workers_do_gives_the_same_run_here(tmp_path, completed, monkeypatch):
    experiment = EXPERIMENT.resolve(completed.scores.sorted())
    write_directory(completed.scores.sorted(), tmp_path / "scores")
    expected = _backends.work(completed.scores.sorted(), experiment, 1).estimates
    served = []
    monkeypatch.setattr(_backends, "_serve", served.append)
    found = _backends.work_for(7, tmp_path / "scores", experiment, 1)
    assert (found.estimates == expected).all()
    assert served == [7]
    store = SimpleNamespace(get={"reference": completed.scores.sorted()}.__getitem__)
    monkeypatch.setitem(sys.modules, "ray", store)
    found = _backends.work_kept(_backends._Kept("reference"), experiment, 1)
    assert (found.estimates == expected).all()


def test_a_worker_ends_when_its_parent_is_another(monkeypatch):
    parents, ended = iter([5, 5, 1]), []
    system = SimpleNamespace(getppid=lambda: next(parents), _exit=ended.append)
    monkeypatch.setattr(_backends, "os", system)
    monkeypatch.setattr(_backends, "time", SimpleNamespace(sleep=lambda _seconds: None))
    _backends._end_with(5)
    assert ended == [1]


def test_no_room_for_the_copy_of_the_scores_is_told(completed, monkeypatch):
    def full(*_args, **_settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_backends, "write_directory", full)
    with pytest.raises(BackendError, match=r"No space left on device\. Free space there"):
        run_experiment(completed, EXPERIMENT, n_jobs=2)


def test_dead_workers_end_the_audit_with_what_is_kept(tmp_path, completed, monkeypatch):
    def dying(*_args):
        raise type("TerminatedWorkerError", (Exception,), {})

    monkeypatch.setattr(_backends, "work", dying)
    with pytest.raises(
        BackendError, match=r"a worker process died.* 0 of 5 runs are done and kept"
    ):
        run_experiment(completed, EXPERIMENT, backend="threads", n_jobs=2, out=tmp_path / "o")


def threads_of(user_api):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == user_api}


def test_numerics_take_one_thread_in_any_number_of_threads_at_a_time():
    importlib.import_module("sklearn.cluster")  # loads OpenMP
    before = threads_of("blas"), threads_of("openmp")
    variables = {name: os.environ.get(name) for name in VARIABLES}
    inside, leave = threading.Barrier(3), threading.Event()
    seen = []

    def run(first):
        with one_thread():
            inside.wait()
            seen.append((threads_of("blas"), threads_of("openmp")))
            if not first:
                leave.wait()
                # The first one is gone; the limit holds as long as anybody is inside.
                seen.append((threads_of("blas"), threads_of("openmp")))

    threads = [threading.Thread(target=run, args=(first,)) for first in (True, False)]
    for thread in threads:
        thread.start()
    inside.wait()
    threads[0].join()
    leave.set()
    threads[1].join()
    assert seen == [({1}, {1})] * 3
    assert (threads_of("blas"), threads_of("openmp")) == before
    assert {name: os.environ.get(name) for name in VARIABLES} == variables


LATE = """
import os, sys
for name in list(os.environ):
    if name.endswith("_NUM_THREADS"):
        del os.environ[name]
wanted = len(os.sched_getaffinity(0))
if len(sys.argv) > 1:
    os.environ["OMP_NUM_THREADS"] = sys.argv[1]
    wanted = int(sys.argv[1])
from mdad._threads import one_thread
from threadpoolctl import threadpool_info
assert threadpool_info() == []
with one_thread():
    import sklearn.cluster, scipy.linalg
    inside = {p["filepath"]: p["num_threads"] for p in threadpool_info()}
after = {p["filepath"]: p["num_threads"] for p in threadpool_info()}
assert len(inside) > 1 and set(inside.values()) == {1}, inside
assert set(after.values()) == {wanted}, after
assert os.environ.get("OMP_NUM_THREADS") == (sys.argv[1] if len(sys.argv) > 1 else None)
"""


@pytest.mark.parametrize("wanted", [(), ("3",)])
def test_libraries_loaded_by_a_run_have_one_thread_and_what_is_wanted_afterwards(wanted):
    subprocess.run([sys.executable, "-c", LATE, *wanted], check=True)


def test_a_failing_run_leaves_the_limits_as_they_were():
    before = threads_of("blas")
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert threads_of("blas") == before
    assert np.ones(3) @ np.ones(3) == 3
