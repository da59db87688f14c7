"""MINT: ``results.jsonl``, one task a line with the state the interaction ended in.

The score is ``state.success``. A task that ended with an error is missing; ``errors="wrong"``
counts it as failed. Items are numbered within a data set, which is the folder of the file:
``outputs/<model>/<feedback>/<setting>/<kind>/<data set>/results.jsonl``.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad.loaders._log_files import json_lines
from mdad.loaders._log_shapes import begins, error_score, fitting, shape_of, some_files, stem
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup
    from mdad.loaders._names import Source

ENDINGS = (".jsonl",)
_FOLDERS = 6
_FLAT = re.compile(r"(?P<model>.+?)__(?P<setting>.+)__(?P<data>[^_.]+(?:_[^_.]+)*)(?:\.results.*)?")


class _State(msgspec.Struct):
    success: bool | None = None
    error: Any = None


class _Task(msgspec.Struct):
    task_id: str | int


class _Row(msgspec.Struct):
    state: _State
    task: _Task


_ROWS = msgspec.json.Decoder(_Row)


def _fits(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "{" and {"state", "task"} <= names and b'"agent_action_count"' in head


def detect(tree: Tree) -> bool:
    """Whether there are results of MINT."""
    return begins(tree, ENDINGS, _fits)


def load(tree: Tree, setup: Setup, *, errors: str = "missing") -> Loaded:
    """Read the results below a folder.

    Parameters
    ----------
    errors : what a task that ended with an error counts as: "missing" or "wrong"
    """
    error_score(errors)
    files = fitting(tree, ENDINGS, _fits)
    some_files(tree, files, "results of MINT")
    read = partial(_read, errors=errors)
    return collect(tree, files, read, setup, format="mint", metric="success")


def _names(path: Path, source: Source) -> tuple[str, str]:
    """Model with its setting, and data set."""
    name = stem(path)
    flat = _FLAT.fullmatch(name)
    if flat is not None:
        return f"{flat['model']} ({flat['setting']})", flat["data"]
    folders = [folder.name for folder in path.absolute().parents][:_FOLDERS]
    if name.startswith("results") and len(folders) == _FOLDERS and folders[-1] == "outputs":
        data, _, setting, feedback, model = folders[:5]
        return f"{model} ({feedback}, {setting})", data
    raise source.error(
        "its path does not say model and data set. Keep MINT's folders, "
        "outputs/<model>/<feedback>/<setting>/<kind>/<data set>/results.jsonl, or name it "
        "<model>__<setting>__<data set>.jsonl."
    )


def _read(path: Path, findings: Findings, *, errors: str) -> Iterator[Record]:
    model, data = _names(path, findings.source)
    for line, row in json_lines(path, findings.source, _ROWS):
        if isinstance(row, str):
            findings.bad(line, row)
            continue
        score = float("nan") if row.state.success is None else float(row.state.success)
        if row.state.error or row.state.success is None:
            findings.drop(f"task that ended with an error or without a verdict: {errors}")
            score = error_score(errors)
        yield Record(model, f"{data}/{row.task.task_id}", score, subtask=data, line=line)
