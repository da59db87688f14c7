"""The base of all loaders of evaluation logs: streamed records of many files to one matrix.

A format is a module with two functions and one line in ``LOADERS``::

    def detect(tree: Tree) -> bool: ...
    def load(tree: Tree, setup: Setup, *, metric: str | None = None) -> Loaded: ...

``detect`` looks at names and heads (``tree.files``, ``tree.head``, ``tree.first_record``) and
never raises. The keyword-only parameters of ``load`` are the format's own options. ``load``
chooses files and ends with :func:`collect`, which calls the format's reader once per file, in
worker processes where asked for::

    def read(path: Path, findings: Findings, *, metric: str) -> Iterator[Record]:
        for line, row in json_lines(path, findings.source, DECODER):
            if isinstance(row, str):  # why the line is no record
                findings.bad(line, row)
            else:
                yield Record(row.model, row.id, row.score, line=line)

    return collect(tree, files, partial(read, metric=metric), setup, format="mine")

The reader is a function of a module (it is pickled). What is wrong with one record goes to
``findings.bad(line, why)``, which raises in strict mode (the default) and counts in lenient
mode, after which the reader goes on with the next record. What is wrong with a whole file is
raised as a FormatError (``findings.source.error``), what needs a choice of the user as a
SettingError (:func:`no_choice`, :func:`not_there`) in either mode. What must be the same for all
models of a task (metric, filter, scorer) is told to ``findings.same``. A score is a number, or
NaN when the item was not scored; a text or list is never guessed to be a number. Ids are text:
the reader makes them with ``str``. Re-runs are told apart by :func:`newest` before anything is
read.

The base joins by id (never by position), refuses an item scored twice for one model (with both
places), averages trials where records say which trial they are, checks range and content
hashes, sorts models and items by their ids (1, 2, 10), and writes the report.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import counted, shorten
from mdad.errors import FormatError, SettingError
from mdad.loaders._log_columns import Columns, Gathering
from mdad.loaders._log_matrix import Collector
from mdad.loaders._log_parts import (
    Batch,
    Findings,
    Record,
    Run,
    Setup,
    newest,
    newest_runs,
    no_choice,
    not_there,
)
from mdad.loaders._log_report import Loaded, LoadReport, facts_of, subtask_sizes, suspicions
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.scores import ScoreMatrix

    Reader = Callable[[Path, Findings], Iterable[Record | Batch]]

__all__ = [
    "Batch",
    "Findings",
    "Record",
    "Run",
    "Setup",
    "collect",
    "newest",
    "newest_runs",
    "no_choice",
    "not_there",
    "read_file",
    "unit_of",
]

PARALLEL_ABOVE = 64 << 20
"""Bytes of logs below which starting worker processes takes longer than reading."""


def collect(
    tree: Tree,
    files: Sequence[Path],
    read: Reader,
    setup: Setup,
    *,
    format: str,  # noqa: A002  # what everybody calls it
    metric: str = "",
    chosen: Iterable[str] = (),
    dropped: Iterable[str] = (),
    suspicious: Iterable[str] = (),
    unit: str = "",
    facts: Mapping[Path, Any] | None = None,
    keys: tuple[str, str] | None = None,
    support: int = 0,
) -> Loaded:
    """Read files with a reader and join their records into one matrix.

    Parameters
    ----------
    metric : what is taken as the score, where that is the same in all logs of the format
    chosen, dropped, suspicious : sentences for the report
    unit : what a record is called in messages; default line in JSON Lines, else record
    facts : what the reader should find as ``findings.fact`` of a file
    keys : names of the item key and of the other key that ``Record.alternate`` holds
    support : files read beside those that hold records, for the report's count

    Raises
    ------
    FormatError
        when a file is not in order (the first bad record in strict mode), an item is scored
        twice for one model, or nothing is left.
    """
    source = Source(tree.root.name)
    collector = Collector(source, keys)
    jobs = [
        (path, Source(tree.shown(path), unit or unit_of(path)), (facts or {}).get(path))
        for path in files
    ]
    found = _gathered(collector, jobs, read, setup)
    name = tree.root.name.split(".")[0] if setup.name is None else setup.name
    scores, notes = collector.finish(bounds=setup.bounds, kind=setup.kind, name=name)
    _check(source, scores, found, setup)
    about = facts_of(scores, collector.files)
    links = [f"link that leaves the folder, not followed: {link}" for link in tree.outside]
    report = LoadReport(
        format=format,
        n_files=len(files) + support,
        n_ignored=len(tree.files) - len(files) - support,
        models=about,
        n_items=scores.n_items,
        subtasks=subtask_sizes(scores),
        metric=metric,
        used=_used(found),
        chosen=(*chosen, *_counts(found.chosen)),
        dropped=(*dropped, *_counts(found.dropped), *links),
        suspicious=(*suspicious, *notes, *suspicions(scores, about)),
        n_errors=found.n_errors,
        errors=tuple(found.errors),
    )
    return Loaded(scores, report)


def _gathered(
    collector: Collector, jobs: list[tuple[Path, Source, Any]], read: Reader, setup: Setup
) -> Findings:
    """Read every file into the collector; what was found beside the records."""
    total = Findings(collector.source, setup.strict)
    for done, (columns, findings) in enumerate(_results(jobs, read, setup), 1):
        total.add(findings)
        for part in columns:
            collector.add(part)
        if setup.progress is not None:
            setup.progress(done, len(jobs))
    if not collector.rows and total.n_errors:
        raise collector.source.error(f"no record could be read. {total.errors[0]}")
    return total


def _check(source: Source, scores: ScoreMatrix, findings: Findings, setup: Setup) -> None:
    """The matrix has scores, and of enough models."""
    if scores.n_models < setup.min_models:
        raise source.error(
            f"it has {counted(scores.n_models, 'model')}; {setup.min_models:,} or more are needed "
            "here."
        )
    if scores.n_missing == scores.values.size:
        raise source.error(
            f"{counted(scores.n_items, 'item')} without a single score: "
            f"{'; '.join(_counts(findings.dropped)) or 'all are empty'}."
        )


def _counts(counter: Counter[str]) -> list[str]:
    return [f"{what} ({number:,})" for what, number in sorted(counter.items())]


def _used(findings: Findings) -> dict[str, dict[str, list[str]]]:
    used: dict[str, dict[str, list[str]]] = {}
    for (what, where), (value, _) in sorted(findings.alike.items()):
        used.setdefault(what, {}).setdefault(value, []).append(where)
    return used


def unit_of(path: Path) -> str:
    """What a record of a file is called in messages: a line of JSON Lines, else a record."""
    return (
        "line"
        if path.name.lower().removesuffix(".gz").endswith((".jsonl", ".jsonlines"))
        else "record"
    )


def _results(
    jobs: list[tuple[Path, Source, Any]], read: Reader, setup: Setup
) -> Iterator[tuple[list[Columns], Findings]]:
    """What every file holds, in the order of the files."""
    size = sum(path.stat().st_size for path, _, _ in jobs) if setup.n_jobs != 1 else 0
    how = read, setup.bounds
    if size <= PARALLEL_ABOVE:
        for path, source, fact in jobs:
            yield read_file(path, Findings(source, setup.strict, fact), *how)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415  # slow to import

    yield from Parallel(n_jobs=setup.n_jobs, return_as="generator")(
        delayed(read_file)(path, Findings(source, setup.strict, fact), *how)
        for path, source, fact in jobs
    )


def read_file(
    path: Path, findings: Findings, read: Reader, bounds: tuple[float, float]
) -> tuple[list[Columns], Findings]:
    """The records of one file as columns, one set per model.

    Raises
    ------
    FormatError
        in strict mode, when the file is not in order.
    SettingError
        when an item has two scores, or a choice is needed.
    """
    gathering = Gathering(findings.source.name)
    try:
        for found in read(path, findings):
            if isinstance(found, Record):
                _take(found, gathering, findings, bounds)
            elif not (_all_inside(found, bounds) and gathering.add_batch(found)):
                for record in found.records():
                    _take(record, gathering, findings, bounds)
    except FormatError as error:
        if findings.strict:
            raise
        if str(error) not in findings.errors:
            findings.bad_file(error)
    findings.fact = None
    return gathering.columns(), findings


def _take(
    record: Record, gathering: Gathering, findings: Findings, bounds: tuple[float, float]
) -> None:
    wrong = _wrong(record, bounds) or gathering.add(record)
    if wrong is not None:
        findings.bad(record.line, wrong)
    elif gathering.conflict:
        # Which of two scores is right nobody can tell, so lenient mode cannot either.
        place = findings.source.at(record.line)
        raise SettingError(f"{findings.source.name}: {place} {gathering.conflict}")


def _all_inside(batch: Batch, bounds: tuple[float, float]) -> bool:
    """Whether every score and probability is in its range, or missing."""
    scores = np.array(batch.scores, dtype=np.float64)
    layer = np.array(batch.probabilities or (), dtype=np.float64)
    return not (
        ((scores < bounds[0]) | (scores > bounds[1])).any() or ((layer < 0) | (layer > 1)).any()
    )


def _wrong(record: Record, bounds: tuple[float, float]) -> str | None:
    """What is wrong with a record by itself."""
    score = record.score
    if not (bounds[0] <= score <= bounds[1]) and not math.isnan(score):
        per_cent = " (per cent? then --score-range 0 100)" if score > 1 else ""
        return (
            f"has the score {score:g} for {shorten(record.item)}, outside the range from "
            f"{bounds[0]:g} to {bounds[1]:g}. Correct it, or declare score_range=(low, high)"
            f"{per_cent}."
        )
    if not (0 <= record.probability <= 1) and not math.isnan(record.probability):
        return f"has the probability {record.probability:g} for {shorten(record.item)}."
    return None
