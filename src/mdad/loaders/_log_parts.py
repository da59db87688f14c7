"""What loaders of logs are made of: records, what every format can be asked, and findings."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mdad._checks import check_int, check_jobs, counted, listed
from mdad._score_parts import checked_range
from mdad.errors import FormatError, SettingError
from mdad.loaders._log_report import first_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._names import Source
    from mdad.scores import Kind

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
class Batch:
    """Many records of one model and subtask; what a quick reader may yield beside records.

    A reader yields a batch only when every record in it is sound; where one is not, it yields
    the records one by one, so that messages are the same.
    """

    model: str
    subtask: str
    items: list[str]
    scores: list[float]
    probabilities: list[float] | None
    hashes: list[str]
    alternates: list[str]
    lines: Sequence[int]

    def records(self) -> Iterator[Record]:
        """The same, one by one."""
        layer = self.probabilities or [math.nan] * len(self.items)
        columns = self.items, self.scores, layer, self.hashes, self.alternates, self.lines
        for item, score, probability, content, other, line in zip(*columns, strict=True):
            yield Record(
                self.model, item, score, probability, self.subtask, content, other, "", line
            )


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
        check_jobs(self.n_jobs)

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
