"""Plain tables: wide or long, as CSV, TSV, Parquet or JSON Lines, gzip allowed.

What a column may be called is listed once, in ``_names.py``; which texts mean "not scored",
in ``_cells.py``. Ids are text; white space around them is taken off, which is the one thing
done to them. Other columns of a long table are not read.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from mdad._checks import check_choice, check_int, counted, listed, shorten
from mdad._score_parts import checked_range
from mdad.errors import SettingError
from mdad.loaders import _parquet
from mdad.loaders._cells import as_floats, finished
from mdad.loaders._long import Long, averaged, gathered, located
from mdad.loaders._long_text import delimited, json_lines, json_object, long_table
from mdad.loaders._names import ROLES, Source, check_header, checked_columns, chosen, key
from mdad.loaders._orientation import Orientation, orientation_of
from mdad.loaders._text import empty_error, head, lines, table_rows
from mdad.loaders._wide import (
    Duplicates,
    Wide,
    check_ids,
    check_scored,
    read_wide,
    without_duplicates,
)
from mdad.scores import Kind, ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from mdad.loaders._names import Roles

Layer = Literal["score", "probability"]

PERCENT = 100.0


def detect(path: Path) -> bool:
    """Whether this may be a plain table: any file may."""
    return path.is_file()


def load(
    path: Path,
    *,
    score_range: tuple[float, float] | None = None,
    orientation: Orientation | None = None,
    columns: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    min_models: int = 2,
    duplicates: Duplicates = "error",
    layer: Layer = "score",
    kind: Kind | None = None,
    name: str | None = None,
) -> ScoreMatrix:
    """Read one table.

    Parameters
    ----------
    score_range : (low, high) of a score; None is (0, 1)
    orientation : "models-rows" or "models-columns" of a wide table; None looks at names
    columns : which column of a long table is the "model", "item", "score", "probability" or
        "subtask", where several could be or none has a usual name
    delimiter : one character; None goes by the name of the file
    min_models : fewest models; 1 to read the scores of a single model
    duplicates : what to do with several rows of one model in a wide table, or of one model and
        item in a long one: "error"; "merge" keeps one of rows that are equal in every cell and
        refuses others; "number" (wide only) keeps all models, as "NAME (2)" and so on; "mean"
        (long only) averages the trials of one model on one item
    layer : "score", or "probability" when the table holds the probabilities of the correct
        answers; a long table may have both, this says which becomes ``values``
    kind : "correctness" or "graded"; None looks at the scores
    name : name of the benchmark; None takes it from the file's name

    Raises
    ------
    FormatError
        when the table is not in order: one paragraph says where and what to do.
    SettingError
        when an option has a value it cannot have.
    """
    source = Source(path.name, "line")
    check_int("min_models", min_models, 1)
    low, high = checked_range((0.0, 1.0) if score_range is None else score_range)
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise SettingError(f"delimiter must be one character; got {delimiter!r}.")
    table = read_table(
        path,
        source,
        columns=checked_columns(columns),
        delimiter=delimiter,
        orientation=orientation,
        layer=layer,
    )
    check_choice("duplicates", duplicates, get_args(Duplicates))
    check_choice("layer", layer, get_args(Layer))
    if isinstance(table, Long):
        part = _from_long(table, duplicates, (low, high))
    else:
        part = _from_wide(table, orientation, duplicates)
    _check_range(part, layer, part.values, (low, high))
    if part.probabilities is not None:
        _check_range(part, "probability", part.probabilities, (0.0, 1.0))
    _check_shape(part, min_models)
    return ScoreMatrix(
        finished(part.values),
        part.models,
        part.items,
        part.subtasks,
        part.probabilities,
        score_range=(low, high),
        kind=kind,
        name=stem(path) if name is None else name,
    )


def stem(path: Path) -> str:
    """The name of a file without .csv, .csv.gz and the like."""
    name = path.name
    for suffix in reversed(path.suffixes):
        if suffix.lower() not in {".gz", ".csv", ".tsv", ".tab", ".txt", ".parquet", ".jsonl"}:
            break
        name = name[: -len(suffix)]
    return name or path.name


class _Parts:
    """A matrix by model and item, with the place of each cell in the file."""

    def __init__(
        self,
        source: Source,
        models: tuple[str, ...],
        items: tuple[str, ...],
        values: npt.NDArray[Any],
        places: Callable[[list[tuple[int, int]]], list[str]],
    ) -> None:
        self.source, self.models, self.items, self.values = source, models, items, values
        self.places = places
        self.subtasks: tuple[str, ...] | None = None
        self.probabilities: npt.NDArray[Any] | None = None


def read_table(
    path: Path,
    source: Source,
    *,
    columns: dict[str, str],
    delimiter: str | None,
    orientation: Orientation | None,
    layer: Layer,
) -> Wide | Long:
    """The table of a file as it stands there, wide or long.

    Raises
    ------
    FormatError
        when it cannot be read.
    """
    start = head(path, source)
    if start[:4] == b"PAR1":
        rows_of_file = Source(source.name, "row")
        header = _parquet.header_of(path, rows_of_file)
        roles = _long_roles(rows_of_file, header, columns, orientation, layer)
        if roles is not None:
            return _parquet.read_long(path, rows_of_file, header, roles)
        return _parquet.read_wide(path, rows_of_file, header)
    if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}:
        return _read_json(path, source, columns, layer)
    header, body = table_rows(path, source, delimiter)
    check_header(source, header, unique=False)
    roles = _long_roles(source, header, columns, orientation, layer)
    if roles is None:
        return read_wide(source, header, body)
    check_header(source, header)
    portions = delimited(source, len(header), roles, body)
    others = [name for i, name in enumerate(header) if i not in roles.values()]
    return long_table(source, {role: header[i] for role, i in roles.items()}, portions, others)


def _long_roles(
    source: Source,
    header: list[str],
    columns: dict[str, str],
    orientation: Orientation | None,
    layer: Layer,
) -> Roles | None:
    """The columns of a long table; None for a wide one."""
    names = {key(name) for name in header}
    both = all(role in columns or names & set(ROLES[role]) for role in ("model", "item"))
    if orientation is not None or not (both or columns):
        return None
    found = {role: chosen(source, header, role, columns) for role in ROLES}
    roles = {role: place for role, place in found.items() if place is not None}
    if "probability" in roles and (layer == "probability" or "score" not in roles):
        roles["score"] = roles.pop("probability")
    lacking = [role for role in ("model", "item", "score") if role not in roles]
    if lacking:
        raise source.error(
            f"a long table needs the columns model, item and score; there is none for "
            f"{' and '.join(lacking)} among {listed(header)}. Say which one it is: "
            f"columns={{{lacking[0]!r}: NAME}} (--column {lacking[0]}=NAME); for a wide table, say "
            "orientation='models-rows' or 'models-columns'."
        )
    return roles


def _read_json(path: Path, source: Source, columns: dict[str, str], layer: Layer) -> Long:
    body = (
        (n, text) for n, text in enumerate(lines(path, source), 1) if text.strip("\ufeff \t\r\n")
    )
    line, first = next(body, (0, ""))
    if not line:
        raise empty_error(source)
    if first.lstrip().startswith("["):
        raise source.error(
            "the file begins with a JSON list. Write JSON Lines: one object per line, without "
            "brackets and commas around them."
        )
    record, why = json_object(first, ())
    if record is None:
        raise source.error(
            f"{source.at(line)} {why}. Every line must be one JSON object with model, item and "
            "score."
        )
    header = list(record)
    roles = _long_roles(source, header, columns, None, layer)
    if roles is None:
        raise source.error(
            f"the objects have no model and item: the names on {source.at(line)} are "
            f"{listed(header)}. Name them model, item and score, or say which they are with "
            "columns=."
        )
    names = {role: header[i] for role, i in roles.items()}
    others = [name for name in header if name not in names.values()]
    return long_table(
        source, names, json_lines(source, names, chain([(line, first)], body)), others
    )


def _from_wide(table: Wide, orientation: Orientation | None, duplicates: Duplicates) -> _Parts:
    source = table.source
    way = orientation_of(source, table.corner, table.rows, table.columns, orientation)
    model_rows = way == "models-rows"
    if duplicates in {"merge", "number"}:
        table = without_duplicates(table, duplicates, by_row=model_rows)
    whats = ("model", "item") if model_rows else ("item", "model")
    places = [source.at(line) for line in table.lines]
    rows_ids = check_ids(table, table.rows, places, whats[0], by_row=True)
    places = [f"column {i:,}" for i in range(2, len(table.columns) + 2)]
    column_ids = check_ids(table, table.columns, places, whats[1], by_row=False)
    check_scored(source, table.cells, rows_ids, whats[0])
    check_scored(source, table.cells.T, column_ids, whats[1])

    def at(cells: list[tuple[int, int]]) -> list[str]:
        pairs = cells if model_rows else [(column, row) for row, column in cells]
        return [
            f"{source.at(table.lines[row])}, column {shorten(column_ids[column])}"
            for row, column in pairs
        ]

    if model_rows:
        return _Parts(source, rows_ids, column_ids, table.cells, at)
    return _Parts(source, column_ids, rows_ids, np.ascontiguousarray(table.cells.T), at)


def _from_long(table: Long, duplicates: Duplicates, bounds: tuple[float, float]) -> _Parts:
    if duplicates == "mean":
        values, probabilities = averaged(table, bounds), None
    else:
        values, probabilities = gathered(table, merge=duplicates == "merge")
    check_scored(table.source, values, table.models, "model")
    check_scored(table.source, values.T, table.items, "item")

    def at(cells: list[tuple[int, int]]) -> list[str]:
        flat = [model * len(table.items) + item for model, item in cells]
        return [table.source.at(found[0][0]) for found in located(table, flat)]

    parts = _Parts(table.source, table.models, table.items, values, at)
    parts.subtasks, parts.probabilities = table.subtasks, probabilities
    return parts


def _check_range(
    parts: _Parts, what: str, values: npt.NDArray[Any], bounds: tuple[float, float]
) -> None:
    low, high = bounds
    if values.dtype == np.int8 and low <= 0 and high >= 1:
        return
    cells = as_floats(values)
    outside = np.argwhere((cells < low) | (cells > high))
    if not len(outside):
        return
    first = [(int(row), int(column)) for row, column in outside[:5]]
    shown = [
        f"{place} ({parts.models[row]} / {parts.items[column]}): {cells[row, column]:g}"
        for place, (row, column) in zip(parts.places(first), first, strict=True)
    ]
    more = f" and {len(outside) - len(shown):,} more" if len(outside) > len(shown) else ""
    infinite = bool(np.isinf(cells).any())
    lowest, highest = (float(f(cells[~np.isnan(cells)])) for f in (np.min, np.max))
    remedy = f"The scores go from {lowest:g} to {highest:g}: declare their range with score_range=."
    if infinite:
        remedy = "An infinite score is not a score: correct the cell or leave it empty."
    elif what == "probability":
        remedy = "Probabilities are between 0 and 1; log-likelihoods are not probabilities."
    elif (low, high) == (0.0, 1.0) and lowest >= 0 and highest <= PERCENT:
        remedy = (
            "They look like per cent: declare score_range=(0, 100) (--score-range 0 100). "
            "Or correct the cells."
        )
    noun = counted(len(outside), what, "probabilities" if what == "probability" else None)
    raise parts.source.error(
        f"{noun} outside the declared range [{low:g}, {high:g}]: {'; '.join(shown)}{more}. {remedy}"
    )


def _check_shape(parts: _Parts, min_models: int) -> None:
    if len(parts.items) == 1:
        raise parts.source.error(
            f"there is one item only, {parts.items[0]!r}. A score per item is needed; a table of "
            "each model's mean says nothing about subsets of items."
        )
    if len(parts.models) < min_models:
        verb = "is" if len(parts.models) == 1 else "are"
        raise parts.source.error(
            f"there {verb} {counted(len(parts.models), 'model')} only "
            f"({listed(parts.models)}); {min_models:,} or more are needed here. To read the "
            "scores of a single model say min_models=1."
        )
