"""Logs of Inspect AI, ``.eval`` archives and ``.json``, read without Inspect being installed.

Of an archive only the header and the summaries of the samples are read; of a ``.json`` log only
identities, scores and errors are kept. A sample that ended with an error was not scored, which
is not the same as wrong.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from mdad._checks import check_choice, listed, shorten
from mdad.errors import FormatError
from mdad.loaders._cells import number
from mdad.loaders._inspect_content import content_hash
from mdad.loaders._log_files import document, json_document
from mdad.loaders._log_zip import Archive, archive
from mdad.loaders._logs import (
    Findings,
    Record,
    Run,
    Setup,
    collect,
    newest_runs,
    no_choice,
    not_there,
)
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded

Errors = Literal["missing", "wrong"]
ModelNames = Literal["log", "folder"]

HEADER, START, SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_PARTS = re.compile(r"_journal/summaries/(\d+)\.json")
_SAMPLE = re.compile(r"samples/.+\.json")
_KEYS = (re.compile(rb'"eval"\s*:\s*\{'), re.compile(rb'"task(_id|_version)?"\s*:'))
_CLOSE = 1e-6
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class _Dataset(msgspec.Struct):
    sample_ids: list[int | str] | None = None


class _Config(msgspec.Struct):
    epochs_reducer: list[str] | str | None = None
    limit: Any = None


class _Spec(msgspec.Struct):
    task: str
    model: str
    created: str = ""
    task_args: Any = None
    dataset: _Dataset | None = None
    config: _Config | None = None


class _Metric(msgspec.Struct):
    value: Any = None


class _Reported(msgspec.Struct):
    name: str = ""
    metrics: dict[str, _Metric] | None = None


class _Results(msgspec.Struct):
    scores: list[_Reported] | None = None


class _Score(msgspec.Struct):
    value: Any = None


class _Sample(msgspec.Struct, gc=False):
    id: int | str
    epoch: int = 1
    scores: dict[str, _Score] | None = None
    error: Any = None
    input: Any = None
    choices: Any = None
    target: Any = None


class _Options(msgspec.Struct):
    choices: Any = None


class _Header(msgspec.Struct):
    eval: _Spec
    status: str = "started"
    results: _Results | None = None
    invalidated: bool | None = False


class _Log(_Header):
    samples: list[_Sample] | None = None


_HEADER = msgspec.json.Decoder(_Header)
_LOG = msgspec.json.Decoder(_Log)
_SAMPLES = msgspec.json.Decoder(list[_Sample])
_ONE = msgspec.json.Decoder(_Sample)
_OPTIONS = msgspec.json.Decoder(_Options)


def detect(tree: Tree) -> bool:
    """Whether there is a log of Inspect."""
    return bool(_logs(tree))


def _logs(tree: Tree) -> list[Path]:
    found = [path for path in tree.ending(".eval") if tree.head(path).startswith(b"PK")]
    for path in tree.ending(".json"):
        head = tree.head(path).lstrip()
        if head.startswith(b"{") and b'"status"' in head and all(k.search(head) for k in _KEYS):
            found.append(path)
    return sorted(found)


def load(
    tree: Tree,
    setup: Setup,
    *,
    scorer: str | None = None,
    metric: str | None = None,
    errors: Errors = "missing",
    model_names: ModelNames = "log",
) -> Loaded:
    """Read the samples of one or more runs.

    Items are named ``task/id``; tasks are subtasks; epochs of a sample are averaged.

    Parameters
    ----------
    scorer : the scorer, where samples have several
    metric : the name of the value, where a score is a table of several
    errors : what a sample that ended with an error counts as
    model_names : "log" takes the model's name; "folder" the folder's, for runs of one model
        with several settings

    Raises
    ------
    FormatError, SettingError
        see :mod:`mdad.loaders._logs`.
    """
    check_choice("errors", errors, get_args(Errors))
    check_choice("model_names", model_names, get_args(ModelNames))
    facts: dict[Path, str] = {}
    runs, unfinished, invalid = [], [], []
    for path in _logs(tree):
        header = _header(path, Source(tree.shown(path)))
        name = tree.shown(path)
        if header.invalidated:
            invalid.append(f"{name}: the log is marked as invalidated")
            continue
        if header.status != "success":
            unfinished.append(f"{name} ({header.status})")
        spec = header.eval
        facts[path] = _folder(tree, path) if model_names == "folder" else spec.model
        key = facts[path], spec.task, *(_arguments(spec.task_args))
        runs.append(Run(key, spec.created, path))
    kept, chosen = newest_runs(
        tree,
        runs,
        ", or where they are models of their own, name them by their folders: "
        "model_names='folder' (--model-names folder)",
    )
    return collect(
        tree,
        [run.path for run in kept],
        partial(_read, scorer=scorer, metric=metric, errors=errors),
        setup,
        format="inspect",
        chosen=chosen,
        dropped=invalid,
        suspicious=[f"runs that did not end well: {listed(unfinished)}"] if unfinished else (),
        unit="sample",
        facts=facts,
    )


def _arguments(args: Any) -> tuple[str, ...]:
    """Arguments of a task as part of the name of a run: another value is another run."""
    if not isinstance(args, dict) or not args:
        return ()
    return (", ".join(f"{name}={shorten(args[name])}" for name in sorted(args)),)


def _folder(tree: Tree, path: Path) -> str:
    name = "" if tree.root in {path, path.parent} else tree.shown(path.parent)
    return name or path.parent.resolve().name


def _header(path: Path, source: Source) -> _Header:
    if path.suffix != ".eval":
        return json_document(path, source, _HEADER)
    with archive(path, source) as members:
        return _header_of(members, source)


def _header_of(members: Archive, source: Source) -> _Header:
    """The header; of a run that was cut off, what was written at its start."""
    name = HEADER if HEADER in members.names else START
    return document(members.read(name), source, _HEADER)


def _log(path: Path, source: Source) -> tuple[_Header, list[_Sample], bool]:
    """Header and samples of one log, and whether the samples are whole in what was read."""
    if path.suffix != ".eval":
        log = json_document(path, source, _LOG)
        return log, log.samples or [], True
    with archive(path, source) as members:
        header = _header_of(members, source)
        if SUMMARIES in members.names:
            samples = document(members.read(SUMMARIES), source, _SAMPLES)
            return header, samples, _has_choices(members, samples, source)
        parts = [(match, name) for name in members.names if (match := _PARTS.fullmatch(name))]
        parts.sort(key=lambda part: int(part[0][1]))
        if parts:
            found = [document(members.read(name), source, _SAMPLES) for _, name in parts]
            samples = [sample for part in found for sample in part]
            return header, samples, _has_choices(members, samples, source)
        names = [name for name in members.names if _SAMPLE.fullmatch(name)]
        return header, [document(members.read(name), source, _ONE) for name in names], True


def _has_choices(members: Archive, samples: list[_Sample], source: Source) -> bool:
    """Whether summaries have the choices of the samples; those of older versions do not."""
    if any(sample.choices for sample in samples) or all(s.input is None for s in samples):
        return True
    name = next((name for name in members.names if _SAMPLE.fullmatch(name)), None)
    try:
        return name is None or not document(members.read(name), source, _OPTIONS).choices
    except FormatError:
        return False


def _read(
    path: Path, findings: Findings, *, scorer: str | None, metric: str | None, errors: Errors
) -> Iterator[Record]:
    source = findings.source
    header, samples, whole = _log(path, source)
    if not samples:
        raise source.error(
            "the log has no samples: they were not logged, or only the header was kept. Remove "
            "it, or run again with samples logged."
        )
    name = _scorer(source, samples, scorer)
    task = header.eval.task
    if name is not None:
        findings.same("scorer", task, name)
    if not whole:
        findings.choose(f"{task}: the log's summaries lack the choices, so no content hashes")
    values: dict[str, list[float]] = {}
    for line, sample in enumerate(samples, 1):
        score = _score(sample, name, metric, errors, findings)
        if isinstance(score, str):
            findings.bad(line, score)
            continue
        item = str(sample.id).strip()
        values.setdefault(item, []).append(score)
        record = _record(findings.fact, task, item, score, str(sample.epoch), line)
        if whole and sample.input is not None:
            record.content_hash = content_hash(sample.input, sample.choices, sample.target)
        yield record
    for item in _unlogged(header.eval, values):
        findings.drop(f"{task}: sample of the run that is not in its log: not scored")
        yield _record(findings.fact, task, item, math.nan, "1", len(samples))
    _compare(header, name, values, findings)


def _record(model: str, task: str, item: str, score: float, trial: str, line: int) -> Record:
    return Record(
        model.strip(), f"{task}/{item}" if item else "", score, subtask=task, trial=trial, line=line
    )


def _scorer(source: Source, samples: list[_Sample], wanted: str | None) -> str | None:
    """The scorer to take; None when no sample has a score."""
    names = sorted({name for sample in samples for name in sample.scores or ()})
    if wanted is not None:
        if wanted not in names:
            raise not_there(source, "scorer", wanted, names)
        return wanted
    if len(names) > 1:
        raise no_choice(source, "scorer", names, "scorer")
    return names[0] if names else None


def _score(
    sample: _Sample, name: str | None, metric: str | None, errors: Errors, findings: Findings
) -> float | str:
    """A sample's score, NaN when it has none; a text says what is wrong."""
    if sample.error:
        counts = "wrong" if errors == "wrong" else "not scored"
        findings.drop(f"sample ended with an error: {counts}")
        return 0.0 if errors == "wrong" else math.nan
    score = (sample.scores or {}).get(name or "")
    if score is None:
        findings.drop("sample without a score, and without an error: not scored")
        return math.nan
    value = score.value
    if isinstance(value, dict):
        if metric is None:
            raise no_choice(findings.source, "value", map(str, value), "metric")
        if metric not in value:
            return f"has no value {metric!r} for the scorer {name!r}; it has {listed(value)}."
        value = value[metric]
    return to_number(value, str(name))


def to_number(value: Any, scorer: str) -> float | str:
    """A score as a number, as Inspect does it; but what it does not know is an error, not 0.

    >>> to_number("C", "match"), to_number("P", "match"), to_number("0.7", "match")
    (1.0, 0.5, 0.7)
    >>> to_number("maybe", "match")
    "has the value 'maybe' of scorer 'match', which is no number, C, P, I, N, yes or no."
    """
    if value is None:
        return math.nan
    if isinstance(value, int | float):  # also True and False
        return float(value)
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        if value.strip().lower() in WORDS:
            return WORDS[value.strip().lower()]
        found = number(value) if value.strip() else None
        if found is not None and not math.isnan(found):
            return found
    return (
        f"has the value {shorten(value)} of scorer {scorer!r}, which is no number, C, P, I, N, "
        "yes or no."
    )


def _unlogged(spec: _Spec, logged: dict[str, list[float]]) -> list[str]:
    """Samples the run was asked for that are not in its log."""
    ids = spec.dataset.sample_ids if spec.dataset is not None else None
    return [name for name in (str(i).strip() for i in ids or ()) if name and name not in logged]


def _compare(
    header: _Header, scorer: str | None, values: dict[str, list[float]], findings: Findings
) -> None:
    """Say when our mean is not the accuracy the log reports."""
    reported = next(
        (each for each in (header.results and header.results.scores) or () if each.name == scorer),
        None,
    )
    said = None if reported is None else (reported.metrics or {}).get("accuracy")
    means = [
        sum(scored) / len(scored)
        for found in values.values()
        if (scored := [value for value in found if not math.isnan(value)])
    ]
    if said is None or not isinstance(said.value, int | float) or not means:
        return
    mean = sum(means) / len(means)
    if abs(mean - said.value) > _CLOSE:
        findings.choose(
            f"{findings.source.name}: the mean here is {mean:.4f}, the log reports an accuracy of "
            f"{said.value:.4f} (other epochs, or samples counted in another way)"
        )
