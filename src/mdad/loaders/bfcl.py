"""Berkeley Function Calling Leaderboard: score files, which list failures only.

``<category>_score.json`` has a line with ``accuracy``, ``correct_count`` and ``total_count``, then
one line for each failure. Items that are not listed were answered right. Which they are is known
from the model's ``<category>_result.json`` beside it (or in ``result/<model>/``), else from the
numbers in the ids (``rest_0`` to ``rest_69``) where those fit the total. The counts must agree.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad._checks import counted, listed
from mdad.loaders._log_files import json_lines
from mdad.loaders._log_shapes import begins, fitting, folder_name, lines_with, some_files, stem
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup
    from mdad.loaders._names import Source

MAX_ITEMS = 1_000_000
"""Items of one category; the largest public one has some thousands."""

_PREFIX = re.compile(r"^(gorilla_openfunctions_v\d+_test|BFCL_v\d+)_")


class _Line(msgspec.Struct):
    accuracy: float | None = None
    correct_count: int | None = None
    total_count: int | None = None
    id: str | int | None = None
    model_name: str | None = None
    test_category: str | None = None
    valid: bool | None = None
    prompt: Any = None


class _Result(msgspec.Struct):
    id: str


_LINES = msgspec.json.Decoder(_Line)
_RESULTS = msgspec.json.Decoder(_Result)


_fits = lines_with("accuracy", "correct_count", "total_count")


def detect(tree: Tree) -> bool:
    """Whether there is a score file of the leaderboard."""
    return begins(tree, ["_score.json"], _fits)


def load(tree: Tree, setup: Setup) -> Loaded:
    """Read the score files below a folder."""
    files = fitting(tree, ["_score.json"], _fits)
    some_files(tree, files, "score file of BFCL")
    results = {(folder_name(p), _category(p)): p for p in tree.ending("_result.json")}
    beside = {
        path: results[folder_name(path), _category(path)]
        for path in files
        if (folder_name(path), _category(path)) in results
    }
    return collect(
        tree,
        files,
        partial(_read, results=beside),
        setup,
        format="bfcl",
        metric="valid",
        unit="line",
        support=len(beside),
    )


def _category(path: Path) -> str:
    """The category a file is about.

    >>> from pathlib import Path
    >>> _category(Path("BFCL_v3_live_simple_score.json"))
    'live_simple'
    """
    return _PREFIX.sub("", stem(path, "_score", "_result"))


def _read(path: Path, findings: Findings, *, results: dict[Path, Path]) -> Iterator[Record]:
    source = findings.source
    rows: list[tuple[int, _Line]] = []
    for line, row in json_lines(path, source, _LINES):
        if isinstance(row, str):
            # A failure that cannot be read would count as right.
            raise source.error(f"{source.at(line)} {row}")
        rows.append((line, row))
    right, total = _counts(source, rows)
    category, model = _category(path), _model(path, source, rows)
    failures = _failures(source, rows[1:])
    if right + len(failures) != total:
        raise source.error(
            f"it counts {right:,} right of {total:,} but lists {counted(len(failures), 'failure')}:"
            " the file is cut off, or of another version that lists other things."
        )
    names = _items(source, category, total, results.get(path))
    unknown = sorted(set(failures) - set(names))
    if unknown:
        raise source.error(
            f"the ids of failures do not fit the {total:,} items of {category!r}: "
            f"{listed(unknown)}. Put the model's {category}_result.json beside it, which names "
            "all items."
        )
    for name in names:
        yield Record(
            model, name, float(name not in failures), subtask=category, line=failures.get(name, 1)
        )


def _counts(source: Source, rows: list[tuple[int, _Line]]) -> tuple[int, int]:
    first = rows[0][1] if rows else _Line()
    right, total = first.correct_count, first.total_count
    if right is None or total is None or not 0 <= right <= total or total > MAX_ITEMS:
        raise source.error("line 1 must count correct_count of total_count.")
    return right, total


def _failures(source: Source, rows: list[tuple[int, _Line]]) -> dict[str, int]:
    """The lines of the items that failed."""
    failures: dict[str, int] = {}
    for line, row in rows:
        # Old files number failures from 1 and keep the item's own id in the prompt.
        given = row.prompt.get("id") if isinstance(row.prompt, dict) else None
        name = row.id if given is None else given
        if not isinstance(name, str) or row.valid is not False:
            raise source.error(
                f"{source.at(line)} is no failure with an id: 'valid' must be false and the id a "
                "text, or in the prompt."
            )
        if name in failures:
            raise source.error(
                f"{source.at(line)} is a second failure of {name!r}, first on line "
                f"{failures[name]:,}. Keep one of them."
            )
        failures[name] = line
    return failures


def _model(path: Path, source: Source, rows: list[tuple[int, _Line]]) -> str:
    names = {row.model_name for _, row in rows if row.model_name}
    if len(names) > 1:
        raise source.error(f"it has failures of several models: {listed(sorted(names))}.")
    name = names.pop() if names else folder_name(path)
    if not name:
        raise source.error("no failure and no folder names the model.")
    return name


def _items(source: Source, category: str, total: int, results: Path | None) -> list[str]:
    """The ids of all items of a category."""
    if results is None:
        return [f"{category}_{number}" for number in range(total)]
    names = []
    for line, row in json_lines(results, source, _RESULTS):
        if isinstance(row, str):
            raise source.error(f"in {results.name} beside it, line {line:,} {row}")
        names.append(row.id)
    if len(set(names)) < len(names) or len(names) != total:
        raise source.error(
            f"{results.name} beside it has {len(set(names)):,} items in {len(names):,} lines; the "
            "score file counts other items."
        )
    return names
