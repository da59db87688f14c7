"""EvalPerf: ``*_evalperf_results.brief.json``, one file per model.

Each task has ``dps`` and ``dps_norm`` (how fast the right solutions are) and ``pass@1``, all in
per cent; which is wanted has to be said. A task with too few right solutions has no ``dps``:
missing, not 0. Tables of all models (``COMBINED-RESULTS.json``) have no score per task and are
not read.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import (
    begins,
    fitting,
    model_of,
    no_number,
    number_of,
    shape_of,
    some_files,
)
from mdad.loaders._logs import Findings, Record, collect, no_choice, not_there
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

METRICS = ("dps", "dps_norm", "pass@1")
PER_CENT = (0.0, 100.0)
ENDINGS = ("_evalperf_results.brief", "_evalperf_results", ".evalperf_results")


class _Document(msgspec.Struct):
    eval: dict[str, dict[str, Any]]


_DECODER = msgspec.json.Decoder(_Document)


def _is_results(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "{" and names >= {"eval", "config", "summary"} and b'"dps"' in head


def detect(tree: Tree) -> bool:
    """Whether there are results of EvalPerf."""
    return begins(tree, [".json"], _is_results)


def load(tree: Tree, setup: Setup, *, metric: str | None = None) -> Loaded:
    """Read the results below a folder, one model each.

    Parameters
    ----------
    metric : "dps", "dps_norm" or "pass@1"; in per cent, so that the range is 0 to 100
    """
    source = Source(tree.root.name)
    if metric is None:
        raise no_choice(source, "metric", METRICS, "metric")
    if metric not in METRICS:
        raise not_there(source, "metric", metric, METRICS)
    files = some_files(tree, fitting(tree, [".json"], _is_results), "results of EvalPerf per task")
    names = {path: model_of(tree, path, (), *ENDINGS) for path in files}
    if setup.score_range is None:
        setup = dataclasses.replace(setup, score_range=PER_CENT)
    read = partial(_read, models=names, metric=metric)
    return collect(tree, files, read, setup, format="evalperf", metric=metric, unit="task")


def _read(
    path: Path, findings: Findings, *, models: dict[Path, str], metric: str
) -> Iterator[Record]:
    document = json_document(path, findings.source, _DECODER)
    for entry, (task, found) in enumerate(document.eval.items(), 1):
        if metric not in found:
            findings.bad(entry, f"({task}) has no {metric!r}; no other metric is taken instead.")
            continue
        score = number_of(found[metric])
        if score is None:
            findings.bad(entry, f"({task}) {no_number(metric, found[metric])}")
            continue
        if found[metric] is None:
            findings.drop(f"task without {metric} (too few right solutions): missing")
        subtask = task.rpartition("/")[0]
        yield Record(models[path], task, score, subtask=subtask, line=entry)
