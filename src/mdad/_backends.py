"""Who does the runs: this process, others, threads, or a cluster that Dask or Ray looks after.

All of them go through joblib. The scores travel once: a directory that every worker maps into its
memory, or, where workers do not see this machine's disk, an object that Dask or Ray keeps for all.
A run comes back as a few numbers, and whoever asked for it writes them down.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdad._checks import check_choice, check_jobs, counted
from mdad._cluster import (
    RAY_BACKEND,
    dask_client,
    dask_workers,
    ray_cluster,
    visible_to_all,
)
from mdad._threads import one_thread
from mdad.errors import BackendError, SettingError
from mdad.experiment import run_once
from mdad.storage import open_directory, write_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from mdad.experiment import Experiment, Run
    from mdad.scores import ScoreMatrix

__all__ = ["BACKENDS", "Crew", "crew"]

BACKENDS = ("processes", "threads", "dask", "ray")


@dataclass(frozen=True)
class Crew:
    """Workers that are ready.

    Parameters
    ----------
    line : who they are, for people
    n_workers : runs done at a time
    n_processes : processes they are in, each of which loads what it needs
    do : scores, experiment and numbers of runs -> the runs, in the order in which they are done;
        closing the generator gives up those that are not
    """

    line: str
    n_workers: int
    n_processes: int
    do: Callable[[ScoreMatrix, Experiment, Sequence[int]], Generator[Run]]


@contextmanager
def crew(
    backend: Any = "processes",
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    n_runs: int = 1,
) -> Iterator[Crew]:
    """Get workers, and let go of those that were started here.

    Parameters
    ----------
    backend : "processes", "threads", "dask", "ray", or a Dask client
    n_jobs : workers; -1 = one per core; None = 1, or all of a cluster
    scheduler : address of a cluster, as in "tcp://host:8786" for Dask
    n_runs : how many runs there are to do; no more workers are started

    Raises
    ------
    SettingError
        when a setting has a value it cannot have.
    BackendError
        when a package is missing or a cluster cannot be reached.
    """
    if n_jobs is not None:
        check_jobs(n_jobs)
    named = isinstance(backend, str)
    if named:
        check_choice("backend", backend, BACKENDS)
    if scheduler is not None and backend not in {"dask", "ray"}:
        raise SettingError(
            f"a scheduler ({scheduler!r}) belongs to the backends 'dask' and 'ray'; say one of "
            "them (--backend dask), or leave it out."
        )
    if backend == "dask" or not named:
        with dask_client(scheduler if named else backend) as client:
            yield _dask(client, n_jobs)
    elif backend == "ray":
        with _ray(scheduler, n_jobs, n_runs) as found:
            yield found
    else:
        yield _local(backend, n_jobs, n_runs)


def _local(backend: str, n_jobs: int | None, n_runs: int) -> Crew:
    from joblib import cpu_count  # noqa: PLC0415  # slow to import

    count = cpu_count() if n_jobs == -1 else n_jobs or 1
    count = max(1, min(count, n_runs))
    if count == 1:
        return Crew(_line("this process", 1), 1, 1, _here)
    apart = backend == "processes"
    do = _in_processes if apart else _in_threads
    who = f"{count} {'processes' if apart else 'threads of this process'}"
    return Crew(_line(who, count), count, count if apart else 1, partial(do, count))


def _line(who: str, count: int) -> str:
    from joblib import cpu_count  # noqa: PLC0415  # slow to import

    each = "one thread" if count == 1 else "one thread each"
    return f"{who}, {each} ({counted(cpu_count(), 'core')} here)"


def work(scores: ScoreMatrix, experiment: Experiment, number: int) -> Run:
    """Do one run on one thread."""
    with one_thread():
        return run_once(scores, experiment, number)


def _here(scores: ScoreMatrix, experiment: Experiment, todo: Sequence[int]) -> Generator[Run]:
    return (work(scores, experiment, number) for number in todo)


def _in_threads(
    count: int, scores: ScoreMatrix, experiment: Experiment, todo: Sequence[int]
) -> Generator[Run]:
    tasks = [(work, scores, experiment, number) for number in todo]
    return _joblib({"backend": "threading", "n_jobs": count}, tasks)


def _in_processes(
    count: int, scores: ScoreMatrix, experiment: Experiment, todo: Sequence[int]
) -> Generator[Run]:
    with _stored(scores) as path:
        tasks = [(work_for, os.getpid(), path, experiment, number) for number in todo]
        yield from _joblib({"backend": "loky", "n_jobs": count}, tasks)


@contextmanager
def _stored(scores: ScoreMatrix) -> Iterator[Path]:
    """A directory of the scores that processes map into their memory, gone afterwards."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mdad-"))
            stack.enter_context(_removed_at_death(folder))
            path = Path(folder) / "scores"
            # As bytes, though bits would be an eighth: a worker reads only the rows it needs.
            write_directory(scores, path, packed=False)
        except OSError as error:
            raise BackendError(
                f"cannot put the scores where workers find them, {tempfile.gettempdir()}: "
                f"{error.strerror}. Free space there, set TMPDIR to another folder, or use one "
                "worker (--n-jobs 1)."
            ) from None
        yield path


@contextmanager
def _removed_at_death(folder: str) -> Iterator[None]:
    """Have the folder removed even when this process is killed: joblib keeps a process for that."""
    from joblib.externals.loky.backend import resource_tracker  # noqa: PLC0415  # slow to import

    resource_tracker.register(folder, "folder")
    try:
        yield
    finally:
        resource_tracker.unregister(folder, "folder")


def work_for(parent: int, path: Path, experiment: Experiment, number: int) -> Run:
    """Do one run in a process that another one started, and that ends with it."""
    _serve(parent)
    return work_at(path, experiment, number)


@lru_cache(maxsize=1)
def _serve(parent: int) -> None:
    # Ctrl-C reaches every process of a terminal; the one that asked for the runs answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent was killed, for nobody else would."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def work_at(path: Path, experiment: Experiment, number: int) -> Run:
    """Do one run on the scores that lie in a directory."""
    return work(_opened(path), experiment, number)


@lru_cache(maxsize=1)
def _opened(path: Path) -> ScoreMatrix:
    return open_directory(path)


def _dask(client: Any, n_jobs: int | None) -> Crew:
    if n_jobs not in {None, -1}:
        raise SettingError(
            f"Dask uses all workers of its cluster; leave --n-jobs out (got {n_jobs}), and start "
            "the cluster with as many workers as you want."
        )
    n_workers, n_threads = dask_workers(client)

    def do(scores: ScoreMatrix, experiment: Experiment, todo: Sequence[int]) -> Generator[Run]:
        config = {"backend": "dask", "client": client}
        with _stored(scores) as path:
            task: Callable[..., Run] = work_at
            where: Path | ScoreMatrix = path
            if not visible_to_all(client, path):
                task, where = work, scores
                config["scatter"] = [scores]
            yield from _joblib(config, [(task, where, experiment, number) for number in todo])

    who = f"{counted(n_workers, 'Dask worker')} with {counted(n_threads, 'run')} at a time"
    return Crew(f"{who}, one thread each", n_threads, n_workers, do)


@contextmanager
def _ray(address: str | None, n_jobs: int | None, n_runs: int) -> Iterator[Crew]:
    with ray_cluster(address, n_jobs) as (ray, n_cores):
        count = max(1, min(n_cores if n_jobs in {None, -1} else n_jobs or 1, n_runs))

        def do(scores: ScoreMatrix, experiment: Experiment, todo: Sequence[int]) -> Generator[Run]:
            kept = _Kept(ray.put(scores))
            tasks = [(work_kept, kept, experiment, number) for number in todo]
            yield from _joblib({"backend": RAY_BACKEND, "n_jobs": count}, tasks)

        yield Crew(f"{counted(count, 'Ray worker')}, one thread each", count, count, do)


@dataclass(frozen=True)
class _Kept:
    """Scores in Ray's object store; wrapped, for Ray would send what a bare reference names."""

    reference: Any


def work_kept(kept: _Kept, experiment: Experiment, number: int) -> Run:
    """Do one run on scores in Ray's object store, which workers of a machine share."""
    import ray  # noqa: PLC0415  # not everybody has it

    return work(ray.get(kept.reference), experiment, number)


def _joblib(config: dict[str, Any], tasks: Sequence[tuple[Any, ...]]) -> Generator[Run]:
    from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415  # slow to import

    with parallel_config(**config):
        parallel = Parallel(return_as="generator_unordered")
    runs: Any = parallel(delayed(task)(*args) for task, *args in tasks)
    try:
        # Not `yield from`: that would close the runs before warnings are off.
        for run in runs:  # noqa: UP028
            yield run
    except Exception as error:
        explained = _explained(error)
        if explained is error:
            raise
        raise explained from error
    finally:
        with warnings.catch_warnings():
            # joblib warns of tasks that are given up; that is what stopping means.
            warnings.simplefilter("ignore")
            runs.close()


MEMORY = (
    "Most often the system ended it because memory ran out: take fewer workers (--n-jobs), or "
    "--memory, which says beforehand what fits."
)
GONE = "Is the cluster still there?"
LOST = {
    "TerminatedWorkerError": f"a worker process died. {MEMORY}",
    "BrokenProcessPool": f"a worker process died. {MEMORY}",
    "KilledWorker": f"Dask gave a run up, for the workers that did it died one by one. {MEMORY}",
    "CancelledError": f"Dask lost a run. {GONE}",
    "FutureCancelledError": f"Dask lost a run. {GONE}",
    "CommClosedError": f"the connection to the Dask scheduler broke. {GONE}",
    "RayActorError": f"a Ray worker died. {MEMORY}",
    "ActorDiedError": f"a Ray worker died. {MEMORY}",
    "WorkerCrashedError": f"a Ray worker died. {MEMORY}",
    "OutOfMemoryError": f"a Ray worker ran out of memory. {MEMORY}",
}
"""What it means when joblib, Dask or Ray raise these; none of them is always installed."""


def _explained(error: Exception) -> Exception:
    """A lost worker in one paragraph; any other error is a fault and stays as it is."""
    what = next((LOST[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in LOST), "")
    return BackendError(what) if what else error
