"""WMT25 automatic scores: one JSON Lines file per system, a document a line.

Each metric has a score per segment of a document. Metrics have other scales, some below 0, so
that metric and range have to be given. Items are segments,
``en-is_IS/news/<document>/<number>``; language pairs are the subtasks.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad.loaders._log_files import json_lines
from mdad.loaders._log_shapes import (
    begins,
    fitting,
    lines_with,
    model_of,
    no_number,
    number_of,
    some_files,
)
from mdad.loaders._logs import Findings, Record, collect, no_choice, not_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

ENDINGS = (".jsonl",)


class _Row(msgspec.Struct):
    language_pair: str
    domain: str
    document_id: str
    metric_scores: dict[str, list[Any]]


_ROWS = msgspec.json.Decoder(_Row)


_fits = lines_with("language_pair", "document_id", "metric_scores")


def detect(tree: Tree) -> bool:
    """Whether there are automatic scores of WMT25."""
    return begins(tree, ENDINGS, _fits)


def load(tree: Tree, setup: Setup, *, metric: str | None = None) -> Loaded:
    """Read the scores below a folder, one system each.

    Parameters
    ----------
    metric : name of the automatic metric, as in "CometKiwi-XL"
    """
    files = fitting(tree, ENDINGS, _fits)
    some_files(tree, files, "automatic scores of WMT25")
    names = {path: model_of(tree, path, (), ".head") for path in files}
    read = partial(_read, models=names, metric=metric)
    return collect(tree, files, read, setup, format="wmt25", metric=metric or "")


def _read(
    path: Path, findings: Findings, *, models: dict[Path, str], metric: str | None
) -> Iterator[Record]:
    source = findings.source
    for line, row in json_lines(path, source, _ROWS):
        if isinstance(row, str):
            findings.bad(line, row)
            continue
        if metric is None:
            raise no_choice(source, "metric", row.metric_scores or {"NAME"}, "metric")
        if metric not in row.metric_scores:
            raise not_there(source, "metric", metric, row.metric_scores)
        place = f"{row.language_pair}/{row.domain}/{row.document_id}"
        for number, value in enumerate(row.metric_scores[metric], 1):
            score = number_of(value)
            if score is None:
                findings.bad(line, no_number(f"{metric} of segment {number}", value))
                continue
            item = f"{place}/{number}"
            yield Record(models[path], item, score, subtask=row.language_pair, line=line)
