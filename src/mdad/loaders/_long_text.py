"""Long tables in text: delimited rows, or one JSON object per line."""

from __future__ import annotations

import json
import math
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mdad._checks import MAX_SHOWN, counted, shorten
from mdad.loaders._cells import as_codes, as_floats, hint, number, parsed
from mdad.loaders._long import Batch, Coder, Labels, Long
from mdad.loaders._wide import Offenders, ragged_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from mdad.loaders._names import Roles, Source

ROWS_AT_ONCE = 1 << 16

Records = tuple["Sequence[int]", "dict[str, list[Any]]"]
"""Lines of some rows, and the cells of each role."""


def delimited(
    source: Source, n_columns: int, roles: Roles, body: Iterable[tuple[int, list[str]]]
) -> Iterator[Records]:
    """The rows of a delimited table in portions.

    Raises
    ------
    FormatError
        when rows have another length than the header.
    """
    ragged = Offenders()
    body = iter(body)
    while portion := list(islice(body, ROWS_AT_ONCE)):
        good = [(line, row) for line, row in portion if len(row) == n_columns]
        if len(good) < len(portion):
            for line, row in portion:
                if len(row) != n_columns:
                    ragged.add(f"{source.at(line)} has {len(row):,}")
        if good and not ragged:
            lines = _lines([line for line, _ in good])
            yield lines, {role: [row[i] for _, row in good] for role, i in roles.items()}
    if ragged:
        raise ragged_error(source, ragged, n_columns)


def _lines(lines: list[int]) -> Sequence[int]:
    """Line numbers; a range takes no memory."""
    plain = lines[-1] - lines[0] + 1 == len(lines)
    return range(lines[0], lines[-1] + 1) if plain else np.array(lines, dtype=np.int64).tolist()


def json_lines(
    source: Source, names: Mapping[str, str], body: Iterable[tuple[int, str]]
) -> Iterator[Records]:
    """The objects of a JSON Lines file in portions.

    Raises
    ------
    FormatError
        when a line is no object, has a name twice, or lacks one.
    """
    body = iter(body)
    wrong = Offenders()
    while portion := list(islice(body, ROWS_AT_ONCE)):
        lines: list[int] = []
        cells: dict[str, list[Any]] = {role: [] for role in names}
        for line, text in portion:
            record, why = json_object(text, names.values())
            if record is None:
                wrong.add(f"{source.at(line)} {why}")
                continue
            lines.append(line)
            for role, name in names.items():
                cells[role].append(record[name])
        if lines and not wrong:
            yield _lines(lines), cells
    if wrong:
        raise source.error(
            f"{counted(wrong.count, 'line')} without a complete record: {wrong}. Every line "
            f"must be one JSON object with the names {listed_names(names)}; a score "
            "that is not there is null."
        )


def listed_names(names: Mapping[str, str]) -> str:
    """The names of the columns in use."""
    return ", ".join(repr(name) for name in names.values())


def json_object(text: str, names: Iterable[str]) -> tuple[dict[str, Any] | None, str]:
    """The object on a line; or None and what is wrong with it."""
    # msgspec keeps the last of two equal names without a word, and knows no NaN.
    doubtful = "\\u" in text or any(text.count(json.dumps(name)) > 1 for name in names)
    try:
        record = None if doubtful else msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        record = None
    if record is None:
        try:
            record = json.loads(text, object_pairs_hook=_once)
        except _TwiceError as error:
            return None, f"has the name {shorten(error.args[0])} twice"
        except (ValueError, RecursionError):
            return None, f"is not valid JSON ({shorten(text.strip())})"
    if not isinstance(record, dict):
        return None, f"is not a JSON object ({shorten(text.strip())})"
    lacking = [name for name in names if name not in record]
    return (None, f"lacks {', '.join(map(repr, lacking))}") if lacking else (record, "")


class _TwiceError(Exception):
    """A name occurs twice in one JSON object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in pairs:
        if name in record:
            raise _TwiceError(name)
        record[name] = value
    return record


def json_cells(cells: list[Any]) -> tuple[npt.NDArray[Any], list[int]]:
    """Scores from JSON, int8 codes or float64, and the positions of those that are none."""
    kinds = set(map(type, cells))
    if kinds <= {int, float, bool}:
        try:
            return as_codes(np.fromiter(map(float, cells), np.float64, len(cells))), []
        except OverflowError:
            pass
    if kinds == {str}:
        return parsed(cells)
    found: list[float | None] = [_json_number(cell) for cell in cells]
    wrong = [position for position, value in enumerate(found) if value is None]
    array = np.array([math.nan if value is None else value for value in found], dtype=np.float64)
    return as_codes(array), wrong


def _json_number(cell: Any) -> float | None:
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        return number(cell)
    if isinstance(cell, int | float):
        try:
            return float(cell)
        except OverflowError:
            return math.inf
    return None


def long_table(
    source: Source, roles: Mapping[str, str], portions: Iterable[Records], others: Sequence[str]
) -> Long:
    """A long table from its rows; ids and subtasks are checked, scores are numbers.

    Raises
    ------
    FormatError
        when ids are missing or collide, or cells are no numbers.
    """
    coders = {"model": Coder(), "item": Coder()}
    labels, batches = Labels(), []
    unnamed, wrong = Offenders(), Offenders()
    hints: list[str] = []
    for lines, cells in portions:
        codes = [
            coder.codes(_ids(source, role, cells[role], lines)) for role, coder in coders.items()
        ]
        for row in np.flatnonzero((codes[0] < 0) | (codes[1] < 0)).tolist():
            unnamed.add(source.at(lines[row]))
        numbers = {}
        for role in ("score", "probability"):
            if role not in roles:
                continue
            numbers[role], mistakes = json_cells(cells[role])
            for row in mistakes:
                hints.append(str(cells[role][row])) if not hints else None
                wrong.add(
                    f"{source.at(lines[row])}, column {shorten(roles[role])}: "
                    f"{shorten(cells[role][row])}"
                )
        if "subtask" in roles and not unnamed:
            labels.add(codes[1], [str(label or "") for label in cells["subtask"]])
        layer = numbers.get("probability")
        batches.append(
            Batch(
                codes[0],
                codes[1],
                numbers["score"],
                None if layer is None else as_floats(layer),
                lines,
            )
        )
    if unnamed:
        raise unnamed_error(source, unnamed)
    if wrong:
        raise source.error(
            f"{counted(wrong.count, 'cell is not a number', 'cells are not numbers')}: {wrong}. "
            f"{hint(hints[0])}"
        )
    if not batches:
        raise source.error("there is a header but no row below it; every score needs a row.")
    models, items = (coder.check(source, what) for what, coder in coders.items())
    subtasks = labels.check(source, items)
    return Long(source, models, items, lambda: batches, subtasks, tuple(others))


def unnamed_error(source: Source, unnamed: Offenders) -> Exception:
    """Rows without a model or an item."""
    return source.error(
        f"{counted(unnamed.count, 'row')} without a usable model or item id: {unnamed}. Every row "
        "needs both, as text without zero bytes."
    )


def _ids(source: Source, role: str, cells: list[Any], lines: Sequence[int]) -> list[Any]:
    """Ids as text or whole numbers; null is empty."""
    kinds = set(map(type, cells))
    if kinds <= {str} or kinds <= {int}:
        return cells
    cells = ["" if cell is None else cell for cell in cells]
    wrong = [i for i, cell in enumerate(cells) if type(cell) not in {str, int}]
    if wrong:
        shown = "; ".join(f"{source.at(lines[i])}: {shorten(cells[i])}" for i in wrong[:MAX_SHOWN])
        raise source.error(
            f"{counted(len(wrong), f'{role} id')} neither text nor a whole number: {shown}. Write "
            "ids as text."
        )
    return cells
