"""py-irt: JSON Lines with one model a line, ``{"subject_id": ..., "responses": {item: 0 or 1}}``.

A response that is not there, or null, is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mdad.loaders._log_files import json_lines
from mdad.loaders._log_shapes import begins, fitting, lines_with, no_number, number_of, some_files
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

ENDINGS = (".jsonlines", ".jsonl", ".json")


class _Row(msgspec.Struct):
    subject_id: str | int
    responses: dict[str, Any]


_ROWS = msgspec.json.Decoder(_Row)


_fits = lines_with("subject_id", "responses")


def detect(tree: Tree) -> bool:
    """Whether there are response patterns of py-irt."""
    return begins(tree, ENDINGS, _fits)


def load(tree: Tree, setup: Setup) -> Loaded:
    """Read the response patterns in a file or folder."""
    files = fitting(tree, ENDINGS, _fits)
    some_files(tree, files, "response pattern of py-irt")
    return collect(tree, files, _read, setup, format="py-irt", metric="response", unit="line")


def _read(path: Path, findings: Findings) -> Iterator[Record]:
    lines: dict[str, int] = {}
    for line, row in json_lines(path, findings.source, _ROWS):
        if isinstance(row, str):
            findings.bad(line, row)
            continue
        model = str(row.subject_id)
        if model in lines:
            findings.bad(line, f"is a second line of {model[:60]!r}, first on {lines[model]:,}.")
            continue
        lines[model] = line
        for item, response in row.responses.items():
            score = number_of(response)
            if score is None:
                findings.bad(line, f"({item[:60]!r}) {no_number('response', response)}")
                continue
            yield Record(model, item, score, line=line)
