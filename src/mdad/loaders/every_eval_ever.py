"""every_eval_ever: ``<uuid>_samples.jsonl`` beside ``<uuid>.json``, one pair per model and run.

A line is the score of one sample by one metric. The metric of a line is named by its
``evaluation_result_id``; the aggregate file beside it says what metric that is, its range and
whether more is better. Several metrics are never mixed. An item is ``<evaluation_name>/<sample
id>``, its subtask the evaluation. A line with an ``error`` is missing; ``errors="wrong"`` counts
it as 0. Files written by :func:`write` give back the same ids.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad._checks import listed
from mdad.loaders._eee_write import ITEM, MODEL, write
from mdad.loaders._log_files import json_document, json_lines
from mdad.loaders._log_shapes import (
    begins,
    beside,
    error_score,
    fitting,
    lines_with,
    no_number,
    number_of,
    some_files,
)
from mdad.loaders._logs import Findings, Record, collect, no_choice, not_there
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

__all__ = ["detect", "load", "write"]

ENDINGS = (".jsonl",)
_SAMPLES = "_samples.jsonl"


class _Evaluation(msgspec.Struct):
    score: Any


class _Row(msgspec.Struct):
    model_id: str
    evaluation_name: str
    sample_id: str
    evaluation: _Evaluation
    evaluation_result_id: str | None = None
    sample_hash: str | None = None
    error: str | None = None
    metadata: dict[str, str] | None = None


class _Metric(msgspec.Struct):
    lower_is_better: bool = False
    metric_id: str | None = None
    metric_name: str | None = None
    min_score: Any = None
    max_score: Any = None


class _Result(msgspec.Struct):
    evaluation_name: str
    evaluation_result_id: str | None = None
    metric_config: _Metric = msgspec.field(default_factory=_Metric)


class _Info(msgspec.Struct):
    additional_details: dict[str, str] | None = None


class _Aggregate(msgspec.Struct):
    evaluation_results: list[_Result]
    model_info: _Info = msgspec.field(default_factory=_Info)


_ROWS = msgspec.json.Decoder(_Row)
_AGGREGATE = msgspec.json.Decoder(_Aggregate)


_fits = lines_with("evaluation_id", "model_id", "sample_id", "evaluation")


def detect(tree: Tree) -> bool:
    """Whether there are samples of every_eval_ever."""
    return begins(tree, ENDINGS, _fits)


def load(tree: Tree, setup: Setup, *, metric: str | None = None, errors: str = "missing") -> Loaded:
    """Read the samples below a folder.

    Parameters
    ----------
    metric : an ``evaluation_result_id``, or the id or name of a metric in the aggregate files;
        needed where samples have several
    errors : what a sample with an error counts as: "missing" or "wrong"
    """
    error_score(errors)
    files = fitting(tree, ENDINGS, _fits)
    some_files(tree, files, "samples of every_eval_ever")
    aggregates = {path: _aggregate(tree, path) for path in files}
    if setup.score_range is None:
        ranges = {_range(found, metric) for found in aggregates.values()}
        known = ranges.pop() if len(ranges) == 1 else None
        setup = dataclasses.replace(setup, score_range=known)
    read = partial(_read, aggregates=aggregates, metric=metric, errors=errors)
    return collect(
        tree,
        files,
        read,
        setup,
        format="every-eval-ever",
        metric=metric or "the only metric of each evaluation",
        support=sum(found is not None for found in aggregates.values()),
    )


def _aggregate(tree: Tree, path: Path) -> _Aggregate | None:
    name = path.name.removesuffix(".gz")
    there = beside(path, name.removesuffix(_SAMPLES) + ".json")
    if not name.endswith(_SAMPLES) or there is None:
        return None
    return json_document(
        there, Source(tree.shown(path)[: -len(path.name)] + there.name), _AGGREGATE
    )


def _named(result: _Result, metric: str | None) -> bool:
    own = result.metric_config
    return metric is None or metric in {
        result.evaluation_result_id, own.metric_id, own.metric_name
    }  # fmt: skip


def _range(aggregate: _Aggregate | None, metric: str | None) -> tuple[float, float] | None:
    """The range of a metric where the aggregate file says it, the same for all evaluations."""
    results = [] if aggregate is None else aggregate.evaluation_results
    found = {
        (number_of(own.metric_config.min_score), number_of(own.metric_config.max_score))
        for own in results
        if _named(own, metric)
    }
    low, high = found.pop() if len(found) == 1 else (None, None)
    if low is None or high is None or not -float("inf") < low < high < float("inf"):
        return None
    return low, high


def _read(
    path: Path,
    findings: Findings,
    *,
    aggregates: Mapping[Path, _Aggregate | None],
    metric: str | None,
    errors: str,
) -> Iterator[Record]:
    aggregate = aggregates[path]
    wanted = _Wanted(findings.source, aggregate, metric)
    details = None if aggregate is None else aggregate.model_info.additional_details
    for line, row in json_lines(path, findings.source, _ROWS):
        if isinstance(row, str):
            findings.bad(line, row)
            continue
        if not wanted(row):
            continue
        score = number_of(row.evaluation.score)
        if row.error:
            findings.drop(f"sample with an error: {errors}")
            score = error_score(errors)
        if score is None:
            findings.bad(line, no_number("evaluation.score", row.evaluation.score))
            continue
        own = (row.metadata or {}).get(ITEM)
        yield Record(
            (details or {}).get(MODEL, row.model_id),
            f"{row.evaluation_name}/{row.sample_id}" if own is None else own,
            score,
            subtask=row.evaluation_name,
            content_hash=row.sample_hash or "",
            line=line,
        )
    wanted.check_found()


class _Wanted:
    """Says which lines are of the wanted metric; refuses to mix several."""

    def __init__(self, source: Source, aggregate: _Aggregate | None, metric: str | None) -> None:
        self._source, self._metric = source, metric
        results = [] if aggregate is None else aggregate.evaluation_results
        self._results = {own.evaluation_result_id: own for own in results}
        self._by_name = {own.evaluation_name: own for own in results}
        self._seen: dict[str, str | None] = {}
        self._there: set[str] = set()
        self._found = metric is None

    def __call__(self, row: _Row) -> bool:
        identity = row.evaluation_result_id
        result = self._results.get(identity)
        if result is None and identity is None:
            result = self._by_name.get(row.evaluation_name)
        names = {identity} if result is None else {
            identity, result.metric_config.metric_id, result.metric_config.metric_name
        }  # fmt: skip
        self._there |= {name for name in names if name}
        if self._metric is not None and self._metric not in names:
            return False
        self._found = True
        if self._seen.setdefault(row.evaluation_name, identity) != identity:
            raise no_choice(self._source, "metric", self._there, "metric")
        if result is not None and result.metric_config.lower_is_better:
            raise self._source.error(
                f"a lower score is better in {row.evaluation_name!r}. Models would be ranked the "
                "wrong way round: turn the scores round first."
            )
        return True

    def check_found(self) -> None:
        """The metric that was asked for is there."""
        if not self._found:
            names = listed(sorted(self._there))
            if not self._there:
                raise self._source.error(
                    f"its lines name no metric, so that {self._metric!r} cannot be told from "
                    "others. Load it without metric=."
                )
            raise not_there(self._source, "metric", self._metric or names, self._there)
