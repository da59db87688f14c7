"""Ray: the same bytes as one worker. A module of its own, for Ray is started once for it."""

from __future__ import annotations

import sys
import threading

import pytest

from mdad import _cluster
from mdad.datasets import simulate
from mdad.errors import BackendError, SettingError
from mdad.experiment import Experiment
from mdad.runner import run_experiment
from mdad.scores import Completed

STARTS = 120
"""Seconds after which a Ray that does not start fails a test instead of holding it up."""

EXPERIMENT = Experiment(
    methods=("random", "stratified-confidence", "c-optimal"), sizes=(5, 20), runs=4, seed=6
)

try:
    import ray
except ImportError:  # pragma: no cover  # only where Ray has no wheels
    pytest.skip(
        f"RAY IS NOT TESTED: it is not installed for this Python ({sys.version.split()[0]})",
        allow_module_level=True,
    )


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def completed():
    return Completed(simulate(n_models=40, n_items=150, seed=2), (), ())


@pytest.mark.filterwarnings("ignore")  # Ray's own: deprecations and files it leaves to the system
def test_ray_gives_the_bytes_of_one_worker(tmp_path, completed, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    run_experiment(completed, EXPERIMENT, out=tmp_path / "one")
    lines, failures = [], []

    def run():
        try:
            run_experiment(
                completed,
                EXPERIMENT,
                out=tmp_path / "ray",
                backend="ray",
                n_jobs=2,
                tell=lines.append,
            )
        except BaseException as error:  # noqa: BLE001  # told below, in the test's own thread
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(STARTS)
    assert not thread.is_alive(), f"not done after {STARTS} seconds"
    assert failures == []
    assert contents(tmp_path / "ray") == contents(tmp_path / "one")
    assert lines[0] == "4 runs to do: 2 Ray workers, one thread each."
    # What was started for the audit is gone with it.
    assert not ray.is_initialized()


def test_a_ray_in_use_is_used_and_left(monkeypatch):
    class InUse:
        def is_initialized(self):
            return True

        def cluster_resources(self):
            return {"CPU": 3.0}

    monkeypatch.setitem(sys.modules, "ray", InUse())
    monkeypatch.setattr(_cluster, "_register", lambda: None)
    with _cluster.ray_cluster(None, None) as (found, cores):
        assert (type(found), cores) == (InUse, 3)
    with pytest.raises(SettingError, match="in use already"), _cluster.ray_cluster("h:1", None):
        pass


def test_a_ray_without_cores_is_refused():
    class Empty:
        def cluster_resources(self):
            return {}

    with pytest.raises(BackendError, match="0 cores"):
        _cluster._ray_cores(Empty())
