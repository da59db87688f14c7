"""OpenAI Evals: one JSON Lines log per run, a specification and then events.

The score of a sample is ``correct`` of its ``match`` event, or a number of its ``metrics``
event, which has to be named where it has several. A sample with other events only was not
scored: missing. Where the log reports an accuracy, the matches have to agree with it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad._checks import listed
from mdad.loaders._log_files import json_lines
from mdad.loaders._log_shapes import begins, fitting, no_number, number_of, shape_of, some_files
from mdad.loaders._logs import Findings, Record, Run, collect, newest, no_choice, not_there
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

ENDINGS = (".jsonl", ".jsonlines")
MATCH = "correct"
ROUNDING = 1e-9


class _Spec(msgspec.Struct):
    eval_name: str
    completion_fns: list[str] = []
    model_name: str = ""
    created_at: str = ""

    @property
    def model(self) -> str:
        return ", ".join(self.completion_fns) or self.model_name


class _Event(msgspec.Struct):
    spec: _Spec | None = None
    final_report: dict[str, Any] | None = None
    sample_id: str | int | None = None
    type: str = ""
    data: Any = None


_EVENTS = msgspec.json.Decoder(_Event)


def _fits(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "{" and "spec" in names and b'"eval_name"' in head


def detect(tree: Tree) -> bool:
    """Whether there is a log of OpenAI Evals."""
    return begins(tree, ENDINGS, _fits)


def load(tree: Tree, setup: Setup, *, metric: str | None = None) -> Loaded:
    """Read the logs below a folder, the newest of each eval and model.

    Parameters
    ----------
    metric : "correct" of the match events, or a name in the metrics events
    """
    files = fitting(tree, ENDINGS, _fits)
    runs = []
    for path in some_files(tree, files, "log of OpenAI Evals"):
        spec = _spec_of(path, Source(tree.shown(path)))
        runs.append(Run((spec.eval_name, spec.model), spec.created_at, path))
    taken, chosen = newest(tree, runs)
    read = partial(_read, metric=metric)
    shown = metric or "the only metric of each log"
    return collect(tree, taken, read, setup, format="openai-evals", metric=shown, chosen=chosen)


def _spec_of(path: Path, source: Source) -> _Spec:
    for _, event in json_lines(path, source, _EVENTS):
        if isinstance(event, _Event) and event.spec is not None and event.spec.model:
            return event.spec
        break
    raise source.error("its first line is no specification that names eval and model.")


def _read(path: Path, findings: Findings, *, metric: str | None) -> Iterator[Record]:
    source = findings.source
    spec = _spec_of(path, source)
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    report: dict[str, Any] = {}
    for line, event in json_lines(path, source, _EVENTS):
        if isinstance(event, str):
            findings.bad(line, event)
            continue
        report = event.final_report or report
        if event.sample_id is not None:
            scored = found.setdefault(str(event.sample_id), [])
            if event.type in {"match", "metrics"}:
                scored.append((line, event.data if isinstance(event.data, dict) else {}))
    taken = _metric_of(source, found, metric)
    findings.choose(f"metric {taken}")
    records = list(_records(spec, findings, found, taken))
    if not findings.n_errors:  # with records left out, the log's own mean is another one
        _check_report(source, records, report, taken)
    yield from records


def _metric_of(
    source: Source, found: dict[str, list[tuple[int, dict[str, Any]]]], metric: str | None
) -> str:
    there: set[str] = set()
    for events in found.values():
        for _, data in events:
            numeric = {
                name for name, value in data.items() if isinstance(value, bool | int | float)
            }
            there |= {MATCH} if MATCH in data else numeric
    if metric is None and len(there) == 1:
        return there.pop()
    if not there:
        raise source.error("no event of it is a match or has a metric: nothing was scored.")
    if metric is None:
        raise no_choice(source, "metric", there, "metric")
    if metric not in there:
        raise not_there(source, "metric", metric, there)
    return metric


def _records(
    spec: _Spec,
    findings: Findings,
    found: dict[str, list[tuple[int, dict[str, Any]]]],
    metric: str,
) -> Iterator[Record]:
    for sample, events in found.items():
        own = [(line, data) for line, data in events if metric in data]
        if len(own) > 1:
            findings.bad(
                own[1][0], f"is a second score of {sample[:60]!r}, first on {own[0][0]:,}."
            )
            continue
        if not own:
            findings.drop("sample without a score: missing")
        line, value = (own[0][0], own[0][1][metric]) if own else (1, None)
        score = number_of(value)
        if score is None:
            findings.bad(line, no_number(metric, value))
            continue
        yield Record(spec.model, sample, score, subtask=spec.eval_name, line=line)


def _check_report(
    source: Source, records: list[Record], report: dict[str, Any], metric: str
) -> None:
    """The log's own accuracy, where there is one, is the mean of the matches."""
    own = number_of(report.get("accuracy"))
    scores = [record.score for record in records if not math.isnan(record.score)]
    if metric != MATCH or own is None or math.isnan(own) or not scores:
        return
    mean = sum(scores) / len(scores)
    if not abs(mean - own) < ROUNDING:
        raise source.error(
            f"it reports the accuracy {own:g} but its matches give {mean:g} (samples "
            f"{listed(record.item for record in records)}): the log is cut off or edited."
        )
