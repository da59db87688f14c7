"""Terminal-Bench: ``results.json`` of a run, a list of trials.

The score of a task is ``is_resolved``; several trials are averaged. A trial that ended without a
verdict (``is_resolved`` null: tests timed out, no result could be read) is missing;
``errors="wrong"`` counts it as not resolved, as the leaderboard does. The model is named by
``run_metadata.json`` beside the file where there is one, else by the run's id.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mdad._checks import listed
from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import begins, beside, error_score, fitting, some_files
from mdad.loaders._logs import Findings, Record, collect
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

METADATA = "run_metadata.json"
_TRIAL = re.compile(r"\.(?P<trial>\d+)-of-\d+\.(?P<run>.+)$")


class _Trial(msgspec.Struct):
    task_id: str
    is_resolved: bool | None = None
    failure_mode: str | None = None
    trial_name: str = ""


class _Document(msgspec.Struct):
    results: list[_Trial]
    n_resolved: int | None = None


class _Metadata(msgspec.Struct):
    agent_name: str = ""
    model_name: str = ""


_DECODER = msgspec.json.Decoder(_Document)
_METADATA = msgspec.json.Decoder(_Metadata)


def _is_results(head: bytes) -> bool:
    return (
        head.lstrip()[:1] == b"{"
        and b'"results"' in head
        and b'"is_resolved"' in head
        and b'"trial_name"' in head
    )


def detect(tree: Tree) -> bool:
    """Whether there are results of Terminal-Bench."""
    return begins(tree, [".json"], _is_results)


def load(tree: Tree, setup: Setup, *, errors: str = "missing") -> Loaded:
    """Read the results below a folder, one run each.

    Parameters
    ----------
    errors : what a trial without a verdict counts as: "missing" or "wrong"
    """
    error_score(errors)
    files = some_files(tree, fitting(tree, [".json"], _is_results), "results of Terminal-Bench")
    return collect(
        tree,
        files,
        partial(_read, errors=errors),
        setup,
        format="terminal-bench",
        metric="is_resolved",
        unit="trial",
        support=sum(beside(path, METADATA) is not None for path in files),
    )


def _read(path: Path, findings: Findings, *, errors: str) -> Iterator[Record]:
    source = findings.source
    document = json_document(path, source, _DECODER)
    resolved = sum(trial.is_resolved is True for trial in document.results)
    if document.n_resolved not in {None, resolved}:
        raise source.error(
            f"it counts {document.n_resolved} resolved trials, but {resolved} are: the file is "
            "damaged or edited."
        )
    model = _model(path, source, document.results)
    for entry, trial in enumerate(document.results, 1):
        verdict = trial.is_resolved
        if verdict is None:
            findings.drop(f"trial without a verdict ({trial.failure_mode}): {errors}")
        score = error_score(errors) if verdict is None else float(verdict)
        name = _TRIAL.search(trial.trial_name)
        yield Record(model, trial.task_id, score, trial=name["trial"] if name else "", line=entry)


def _model(path: Path, source: Source, trials: list[_Trial]) -> str:
    there = beside(path, METADATA)
    if there is not None:
        found = json_document(there, Source(METADATA), _METADATA)
        named = ":".join(filter(None, (found.agent_name, found.model_name)))
        if named:
            return named
    runs = {name["run"] for trial in trials if (name := _TRIAL.search(trial.trial_name))}
    if len(runs) != 1:
        raise source.error(
            f"its trials name {len(runs)} runs ({listed(sorted(runs))}), so that the model is not "
            f"known. Put {METADATA} beside it."
        )
    return runs.pop()
