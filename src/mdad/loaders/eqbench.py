"""EQ-Bench: ``*_eqbench_v2_results.json`` with a score for each question and iteration.

The score is ``first_pass_score`` or ``revised_score`` of a question; iterations are averaged. A
question whose answer could not be parsed is missing. Scores go from 10 far below 0, so that the
range has to be declared. The benchmark's own total is computed in another way and is not their
mean.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import begins, fitting, no_number, number_of, shape_of, some_files
from mdad.loaders._logs import Findings, Record, collect, no_choice, not_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup
    from mdad.loaders._names import Source

_Scores = dict[str, dict[str, Any]]


class _Iteration(msgspec.Struct):
    individual_scores: _Scores = {}


class _Document(msgspec.Struct):
    model_path: str
    raw_results: dict[str, _Iteration]


_DECODER = msgspec.json.Decoder(_Document)


def _is_results(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "{" and "eqbench_version" in names


def detect(tree: Tree) -> bool:
    """Whether there are results of EQ-Bench."""
    return begins(tree, [".json"], _is_results)


def load(tree: Tree, setup: Setup, *, metric: str | None = None) -> Loaded:
    """Read the results below a folder, one model each.

    Parameters
    ----------
    metric : "first_pass_score" or "revised_score"; needed where questions have both
    """
    files = some_files(tree, fitting(tree, [".json"], _is_results), "results of EQ-Bench")
    return collect(
        tree,
        files,
        partial(_read, metric=metric),
        setup,
        format="eqbench",
        metric=metric or "the only score of each question",
        unit="question",
    )


def _read(path: Path, findings: Findings, *, metric: str | None) -> Iterator[Record]:
    source = findings.source
    document = json_document(path, source, _DECODER)
    taken = _metric_of(source, document, metric)
    findings.choose(f"metric {taken}")
    for iteration, part in document.raw_results.items():
        for entry, (question, found) in enumerate(part.individual_scores.items(), 1):
            score = number_of(found.get(taken))
            if score is None:
                findings.bad(entry, f"({question[:60]!r}) {no_number(taken, found[taken])}")
                continue
            if found.get(taken) is None:
                findings.drop(f"question without {taken} (not parsed): missing")
            yield Record(document.model_path, f"eq_{question}", score, trial=iteration, line=entry)


def _metric_of(source: Source, document: _Document, metric: str | None) -> str:
    there = {
        name
        for part in document.raw_results.values()
        for found in part.individual_scores.values()
        for name, value in found.items()
        if value is not None
    }
    if metric is None and len(there) == 1:
        return there.pop()
    if not there:
        raise source.error("no question has a score.")
    if metric is None:
        raise no_choice(source, "score", there, "metric")
    if metric not in there:
        raise not_there(source, "score", metric, there)
    return metric
