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
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mdad._checks import check_int, counted, listed, shorten
from mdad._score_parts import checked_range
from mdad.errors import FormatError, SettingError
from mdad.loaders._log_columns import Columns, Gathering
from mdad.loaders._log_matrix import Collector
from mdad.loaders._log_report import (
    Loaded,
    LoadReport,
    facts_of,
    first_of,
    subtask_sizes,
    suspicions,
)
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.scores import Kind

    Reader = Callable[[Path, "Findings"], Iterable["Record"]]

PARALLEL_ABOVE = 64 << 20
"""Bytes of logs below which starting worker processes takes longer than reading."""

Progress = Any
"""A callable (done, total), counted in files; or None."""


class Record(msgspec.Struct, gc=False):
    """One scored item of one model.

    Parameters
    ----------
    model, item : ids
    score : a number in the declared range; NaN = not scored, never "wrong"
    probability : of the correct answer; NaN = not known
    subtask : of the item; the same for all models
    content_hash : identifies what the item says, where the log has it
    alternate : the item's id under the other key, to say how well that would join
    trial : which of several trials of the item this is; trials are averaged
    line : where the record stands in its file, for messages
    """

    model: str
    item: str
    score: float
    probability: float = math.nan
    subtask: str = ""
    content_hash: str = ""
    alternate: str = ""
    trial: str = ""
    line: int = 0


@dataclass(frozen=True)
class Setup:
    """What every format of logs can be asked.

    Parameters
    ----------
    strict : refuse the first bad record; False leaves bad records out and counts them
    n_jobs : worker processes, one file each; used where there is much to read
    progress : called with the files done and the number of files
    min_models : fewest models
    score_range : (low, high) of a score; None is (0, 1)
    kind : "correctness" or "graded"; None looks at the scores
    name : of the benchmark; None takes it from the path
    """

    strict: bool = True
    n_jobs: int = 1
    progress: Progress = None
    min_models: int = 1
    score_range: tuple[float, float] | None = None
    kind: Kind | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        check_int("min_models", self.min_models, 1)
        check_int("n_jobs", self.n_jobs, -1)

    @property
    def bounds(self) -> tuple[float, float]:
        """The declared range."""
        return checked_range((0.0, 1.0) if self.score_range is None else self.score_range)


@dataclass
class Findings:
    """What a reader found in one file beside the records.

    ``fact`` is what ``load`` knows about this file already (``facts`` of :func:`collect`).
    """

    source: Source
    strict: bool = True
    fact: Any = None
    n_errors: int = 0
    errors: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    chosen: Counter[str] = field(default_factory=Counter)
    alike: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def bad(self, line: int, why: str) -> None:
        """A bad record: an error in strict mode, else one more that is left out.

        Raises
        ------
        FormatError
            in strict mode.
        """
        error = self.source.error(f"{self.source.at(line)} {why}")
        if self.strict:
            raise error
        self.bad_file(error)

    def bad_file(self, error: FormatError) -> None:
        """Count an error and keep the first few."""
        self.n_errors += 1
        self.errors = list(first_of([*self.errors, str(error)]))

    def drop(self, what: str) -> None:
        """Count a thing left out on purpose, as in "sample ended with an error: not scored"."""
        self.dropped[what] += 1

    def choose(self, what: str) -> None:
        """Count a choice made by rule, as in "metric acc of task arc"."""
        self.chosen[what] += 1

    def same(self, what: str, where: str, value: str) -> None:
        """Note what all models must share, as in ("metric", "gsm8k", "exact_match").

        Raises
        ------
        SettingError
            when it was another value before.
        """
        known, file = self.alike.setdefault((what, where), (value, self.source.name))
        if known != value:
            raise SettingError(
                f"{where or 'the logs'}: the {what} is {known!r} in {file} and {value!r} in "
                f"{self.source.name}. All models must be scored alike: choose a {what} that all "
                "have, or load them apart."
            )

    def add(self, other: Findings) -> None:
        """Take over what another file had.

        Raises
        ------
        SettingError
            when it says something else about what must be the same.
        """
        for (what, where), (value, _) in other.alike.items():
            self.source, own = other.source, self.source
            self.same(what, where, value)
            self.source = own
        self.n_errors += other.n_errors
        self.errors = list(first_of([*self.errors, *other.errors]))
        self.dropped.update(other.dropped)
        self.chosen.update(other.chosen)


class Run(NamedTuple):
    """A file that holds one run of one model: which run it is, and when it was made."""

    key: tuple[str, ...]
    stamp: str
    path: Path


def newest(tree: Tree, runs: Iterable[Run], remedy: str = "") -> tuple[list[Path], list[str]]:
    """The newest file of every run, and what was chosen, in sentences.

    Parameters
    ----------
    remedy : what else can be done about a run in several folders; ends the message

    Raises
    ------
    FormatError
        when several files hold the same run and the newest cannot be told.
    """
    found, chosen = newest_runs(tree, runs, remedy)
    return [run.path for run in found], chosen


def newest_runs(tree: Tree, runs: Iterable[Run], remedy: str = "") -> tuple[list[Run], list[str]]:
    """As :func:`newest`, but with the runs, where one file holds several."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    kept, chosen = [], []
    for key, group in sorted(groups.items()):
        group.sort(key=lambda run: run.stamp)
        kept.append(group[-1])
        if len(group) == 1:
            continue
        what, files = " / ".join(key), [tree.shown(run.path) for run in group]
        if len({run.path.parent for run in group}) > 1:
            raise FormatError(
                f"{tree.root.name}: {what} was run in more than one folder: {listed(files)}. "
                f"Which is meant nobody can tell: load one folder at a time{remedy}."
            )
        if not group[-2].stamp or group[-1].stamp == group[-2].stamp:
            raise FormatError(
                f"{tree.root.name}: {counted(len(group), 'file')} hold the same run ({what}) and "
                f"do not say which is newer: {listed(files)}. Keep one of them."
            )
        older = ", ".join(files[:-1])
        chosen.append(f"{what}: the newest of {len(group)} runs, {files[-1]}; not {older}")
    return kept, chosen


def no_choice(
    source: Source, what: str, names: Iterable[str], option: str, also: str = ""
) -> SettingError:
    """Several of a thing and none was asked for."""
    names = sorted(names)
    return SettingError(
        f"{source.name}: there are {len(names)} {what}s and none was chosen: {listed(names)}. "
        f"Choose one: {option}={names[0]!r} (--{option.replace('_', '-')} {names[0]}){also}. "
        "Nothing is averaged."
    )


def not_there(source: Source, what: str, wanted: str, names: Iterable[str]) -> SettingError:
    """A thing was asked for that is not there; no other is taken instead."""
    found = listed(sorted(names)) or "none"
    return SettingError(
        f"{source.name}: there is no {what} {wanted!r}; found: {found}. No other is taken "
        "instead: choose one that all models have."
    )


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
    total = Findings(Source(tree.root.name), setup.strict)
    collector = Collector(Source(tree.root.name), keys)
    jobs = [
        (path, Source(tree.shown(path), unit or unit_of(path)), (facts or {}).get(path))
        for path in files
    ]
    for done, (columns, findings) in enumerate(_results(jobs, read, setup), 1):
        total.add(findings)
        for part in columns:
            collector.add(part)
        if setup.progress is not None:
            setup.progress(done, len(jobs))
    if not collector.rows and total.n_errors:
        raise FormatError(f"{tree.root.name}: no record could be read. {total.errors[0]}")
    name = tree.root.name.split(".")[0] if setup.name is None else setup.name
    scores, notes = collector.finish(bounds=setup.bounds, kind=setup.kind, name=name)
    if scores.n_models < setup.min_models:
        raise FormatError(
            f"{tree.root.name}: it has {counted(scores.n_models, 'model')}; {setup.min_models:,} "
            "or more are needed here."
        )
    if scores.n_missing == scores.values.size:
        raise FormatError(
            f"{tree.root.name}: {counted(scores.n_items, 'item')} without a single score: "
            f"{'; '.join(_counts(total.dropped)) or 'all are empty'}."
        )
    about = facts_of(scores, collector.files)
    report = LoadReport(
        format=format,
        n_files=len(files) + support,
        n_ignored=len(tree.files) - len(files) - support,
        models=about,
        n_items=scores.n_items,
        subtasks=subtask_sizes(scores),
        metric=metric,
        used=_used(total),
        chosen=(*chosen, *_counts(total.chosen)),
        dropped=(
            *dropped,
            *_counts(total.dropped),
            *(f"link that leaves the folder, not followed: {name}" for name in tree.outside),
        ),
        suspicious=(*suspicious, *notes, *suspicions(scores, about)),
        n_errors=total.n_errors,
        errors=tuple(total.errors),
    )
    return Loaded(scores, report)


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
        for record in read(path, findings):
            wrong = _wrong(record, bounds) or gathering.add(record)
            if wrong is not None:
                findings.bad(record.line, wrong)
            elif gathering.conflict:
                # Which of two scores is right nobody can tell, so lenient mode cannot either.
                place = findings.source.at(record.line)
                raise SettingError(f"{findings.source.name}: {place} {gathering.conflict}")
    except FormatError as error:
        if findings.strict:
            raise
        if str(error) not in findings.errors:
            findings.bad_file(error)
    findings.fact = None
    return gathering.columns(), findings


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
