"""Doing the runs of an experiment, in this process or in several."""

from __future__ import annotations

import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from mdad._checks import check_int
from mdad.experiment import Experiment, Run, run_once
from mdad.quality import assess
from mdad.results import (
    Results,
    ScoresFacts,
    Spec,
    open_results,
    read_shard,
    write_shard,
)
from mdad.storage import open_directory, write_directory

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from threadpoolctl import ThreadpoolController

    from mdad.scores import Completed, ScoreMatrix

__all__ = ["run_experiment", "scores_facts"]


def scores_facts(completed: Completed) -> ScoresFacts:
    """What results say of the scores they were measured on."""
    # In the order of ids, like everything that identifies results.
    scores = completed.scores.sorted()
    return ScoresFacts(
        name=scores.name,
        simulated=scores.simulated,
        kind=scores.kind,
        score_range=scores.score_range,
        n_models=scores.n_models,
        n_items=scores.n_items,
        n_subtasks=0 if scores.subtasks is None else len(set(scores.subtasks)),
        data_fingerprint=scores.data_fingerprint,
        items_fingerprint=scores.items_fingerprint,
        dropped_models=tuple(sorted(completed.dropped_models)),
        dropped_items=tuple(sorted(completed.dropped_items)),
        quality=assess(scores),
    )


def run_experiment(
    completed: Completed,
    experiment: Experiment,
    *,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """Do all runs of an experiment, or those that are not done yet.

    Parameters
    ----------
    completed : a matrix without missing cells, and what was dropped to get it
    experiment : settings; defaults are filled in for these scores
    out : directory for the shards. Finished runs found there are kept: an audit that was
        stopped goes on where it was. Without, results live in memory only.
    n_jobs : worker processes; -1 = one per core. Results do not depend on it.
    progress : called with the number of finished runs and of all runs

    Raises
    ------
    ScoresError, SettingError
        when the experiment cannot be done on these scores.
    ResultsError
        when ``out`` holds another experiment or cannot be written.
    """
    n_jobs = check_int("n_jobs", n_jobs, -1)
    scores = completed.scores.sorted()
    spec = Spec(experiment.resolve(scores), scores_facts(completed))
    folder = None if out is None else open_results(Path(out), spec)
    done = {} if folder is None else _finished(folder, spec)
    todo = [number for number in range(spec.experiment.runs) if number not in done]
    report = progress or (lambda _done, _all: None)
    report(len(done), spec.experiment.runs)
    for run in _runs(scores, spec, folder, todo, n_jobs):
        done[run.number] = run
        report(len(done), spec.experiment.runs)
    return Results(spec, tuple(done[number] for number in sorted(done)))


def _finished(folder: Path, spec: Spec) -> dict[int, Run]:
    runs = (read_shard(folder, number, spec) for number in range(spec.experiment.runs))
    return {run.number: run for run in runs if run is not None}


def _runs(
    scores: ScoreMatrix, spec: Spec, folder: Path | None, todo: list[int], n_jobs: int
) -> Iterator[Run]:
    from joblib import Parallel, cpu_count, delayed  # noqa: PLC0415  # slow to import

    n_jobs = min(cpu_count() if n_jobs == -1 else max(n_jobs, 1), len(todo))
    if n_jobs <= 1:
        yield from (_work(scores, spec, folder, number) for number in todo)
        return
    # Workers get the path of a memory-mapped copy, not the scores.
    with tempfile.TemporaryDirectory(prefix="mdad-") as temporary:
        stored = Path(temporary) / "scores"
        write_directory(scores, stored)
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        yield from parallel(delayed(_work_at)(stored, spec, folder, number) for number in todo)


def _work_at(stored: Path, spec: Spec, folder: Path | None, number: int) -> Run:
    return _work(_opened(stored), spec, folder, number)


@lru_cache(maxsize=1)
def _opened(stored: Path) -> ScoreMatrix:
    return open_directory(stored)


@lru_cache(maxsize=1)
def _thread_pools(_n_modules: int) -> ThreadpoolController:
    """The thread pools of loaded libraries, looked for anew when a module was imported."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  # slow to import

    return ThreadpoolController()


def _work(scores: ScoreMatrix, spec: Spec, folder: Path | None, number: int) -> Run:
    # One thread each: workers share the cores, and sums keep one order whatever the machine.
    with _thread_pools(len(sys.modules)).limit(limits=1):
        run = run_once(scores, spec.experiment, number)
    if folder is not None:
        write_shard(folder, run, spec)
    return run
