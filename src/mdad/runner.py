"""Doing the runs of an experiment, in this process or in several."""

from __future__ import annotations

import warnings
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdad._backends import crew
from mdad._checks import counted
from mdad._files import write_atomically
from mdad._groups import grouping
from mdad._memory import check_memory, memory_plan
from mdad._shards import DamagedShardError, set_aside
from mdad.errors import BackendError
from mdad.quality import assess
from mdad.results import (
    Results,
    ScoresFacts,
    Spec,
    cannot_write,
    open_results,
    read_shard,
    shard_path,
    write_shard,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator

    from mdad.experiment import Experiment, Run
    from mdad.scores import Completed

__all__ = ["Interrupted", "run_experiment", "scores_facts"]


MUCH = 1 << 30
"""An audit that needs more bytes than this says so before it starts."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while runs were done: how many are, and how to go on."""


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
    n_jobs: int | None = None,
    backend: Any = "processes",
    scheduler: str | None = None,
    memory: str | float | None = None,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Results:
    """Do all runs of an experiment, or those that are not done yet.

    Parameters
    ----------
    completed : a matrix without missing cells, and what was dropped to get it
    experiment : settings; defaults are filled in for these scores
    out : directory for the shards. Finished runs found there are kept: an audit that was
        stopped goes on where it was. Without, results live in memory only.
    n_jobs : workers; -1 = one per core; None = 1, or all of a cluster. Results do not depend on
        it, nor on the backend.
    backend : who does the runs: "processes", "threads", "dask", "ray", or a Dask client
    scheduler : address of the Dask scheduler or of the Ray cluster
    memory : most memory for this process and its workers on this machine, as in "4G" or in bytes;
        an experiment that does not fit is refused before it starts
    progress : called with the number of finished runs and of all runs
    tell : called with lines for people: workers, plan of memory, damaged files that were set
        aside (without it, the last are warnings)

    Raises
    ------
    ScoresError, SettingError
        when the experiment cannot be done on these scores, or not in this memory.
    ResultsError
        when ``out`` holds another experiment or cannot be written.
    BackendError
        when there are no workers, or they die.
    Interrupted
        at Ctrl-C, with finished runs kept.
    """
    scores = completed.scores.sorted()
    grouped = grouping(scores, experiment.groups) if experiment.split == "grouped" else None
    spec = Spec(experiment.resolve(scores), scores_facts(completed), grouping=grouped)
    folder = None if out is None else open_results(Path(out), spec)
    done = {} if folder is None else _finished(folder, spec, tell or _warn)
    todo = [number for number in range(spec.experiment.runs) if number not in done]
    report = progress or (lambda _done, _all: None)
    report(len(done), spec.experiment.runs)
    if todo:
        if folder is not None:
            _check_writable(folder)
        with crew(backend, n_jobs=n_jobs, scheduler=scheduler, n_runs=len(todo)) as workers:
            plan = memory_plan(scores, spec.experiment, workers.n_processes, workers.n_workers)
            check_memory(plan, memory)
            (tell or _ignore)(f"{counted(len(todo), 'run')} to do: {workers.line}.")
            if memory is not None or plan.total > MUCH:
                (tell or _ignore)(plan.line)
            _do(workers.do(scores, spec.experiment, todo), done, spec, folder, report)
    return Results(spec, tuple(done[number] for number in sorted(done)))


def _ignore(_line: str) -> None:
    pass


def _warn(line: str) -> None:
    warnings.warn(line, stacklevel=2)


def _do(
    runs: Generator[Run],
    done: dict[int, Run],
    spec: Spec,
    folder: Path | None,
    report: Callable[[int, int], None],
) -> None:
    """Take finished runs from the workers and write each at once."""
    with closing(runs):
        try:
            for run in runs:
                if folder is not None:
                    write_shard(folder, run, spec)
                done[run.number] = run
                report(len(done), spec.experiment.runs)
        except OSError as error:
            if folder is None:
                raise
            raise cannot_write(folder, error) from None
        except BackendError as error:
            raise BackendError(f"{error} {_kept(done, spec, folder)}") from error
        except KeyboardInterrupt:
            raise Interrupted(f"stopped. {_kept(done, spec, folder)}") from None


def _kept(done: dict[int, Run], spec: Spec, folder: Path | None) -> str:
    of = f"{len(done):,} of {counted(spec.experiment.runs, 'run')}"
    if folder is None:
        return f"{of} were done and are lost; with an output folder (--out DIR) they are kept."
    return f"{of} are done and kept in {folder}; the same command goes on from there."


def _finished(folder: Path, spec: Spec, tell: Callable[[str], None]) -> dict[int, Run]:
    done = {}
    for number in range(spec.experiment.runs):
        try:
            run = read_shard(folder, number, spec)
        except DamagedShardError as error:
            run = None
            try:
                aside = set_aside(shard_path(folder, number))
            except OSError as problem:
                raise cannot_write(folder, problem) from None
            tell(f"{error} It was set aside as {aside.name}; its run is done again.")
        if run is not None:
            done[number] = run
    return done


def _check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written before a run is done for nothing."""
    probe = shard_path(folder, 0).with_name(".writable")
    try:
        write_atomically(probe, b"")
        probe.unlink()
    except OSError as error:
        raise cannot_write(folder, error) from None
