"""Plain Parquet tables, wide or long, read a portion at a time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import MAX_SHOWN, counted, listed, shorten
from mdad.errors import MdadError
from mdad.loaders._cells import as_codes, as_floats, hint, parsed
from mdad.loaders._long import Batch, Coder, Labels, Long
from mdad.loaders._long_text import unnamed_error
from mdad.loaders._names import Source, check_header
from mdad.loaders._wide import Offenders, Wide, check_size, stacked
from mdad.storage._arrow import arrow, arrow_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from mdad.loaders._names import Roles

ROWS_AT_ONCE = 1 << 20
CELLS_AT_ONCE = 1 << 22


@contextmanager
def parquet_file(path: Path, source: Source, codes: list[str] | None = None) -> Iterator[Any]:
    """An open Parquet file.

    Raises
    ------
    FormatError
        when it is truncated or damaged, now or while it is read.
    """
    _, pq = arrow()
    with (
        decoding(source),
        pq.ParquetFile(
            path, read_dictionary=codes, pre_buffer=False, page_checksum_verification=True
        ) as file,
    ):
        yield file


@contextmanager
def decoding(source: Source) -> Iterator[None]:
    """Turns what pyarrow raises on damaged bytes, some of it only when cells are looked at.

    Raises
    ------
    FormatError
        instead of it.
    """
    try:
        yield
    except MdadError:
        raise
    except arrow_errors() as error:
        raise source.error(
            "the Parquet file is truncated, damaged or of a kind that is not known here. Copy or "
            "write it again."
        ) from error


def header_of(path: Path, source: Source) -> list[str]:
    """The names of the columns; the index that pandas stored, if any, comes first."""
    with parquet_file(path, source) as file:
        names = [str(name) for name in file.schema_arrow.names]
        stored = file.schema_arrow.pandas_metadata or {}
        index = [n for n in stored.get("index_columns", []) if isinstance(n, str) and n in names]
    if len(index) == 1:
        names.remove(index[0])
        names.insert(0, index[0])
    return names


def shown_name(name: str) -> str:
    """An index without a name is an empty corner."""
    return "" if name.startswith("__index_level_") else name


def _kind(dtype: Any) -> str:
    """What the cells of an Arrow type are: number, text, none or other."""
    types = arrow()[0].types
    if types.is_dictionary(dtype):
        dtype = dtype.value_type
    if types.is_integer(dtype) or types.is_boolean(dtype):
        return "whole"
    if types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    if types.is_string(dtype) or types.is_large_string(dtype):
        return "text"
    return "null" if types.is_null(dtype) else "other"


def _check_types(source: Source, schema: Any, names: list[str], ids: list[str]) -> None:
    wrong = [
        f"{name} ({schema.field(name).type})"
        for name in names
        if _kind(schema.field(name).type) == "other"
    ]
    if wrong:
        raise source.error(
            f"{counted(len(wrong), 'column')} of a type that holds no scores or ids: "
            f"{listed(wrong)}. Convert to numbers or text, or leave such columns out."
        )
    types = arrow()[0].types
    for name in ids:
        dtype = schema.field(name).type
        if _kind(dtype) in {"number", "null"} or types.is_boolean(dtype):
            raise source.error(
                f"the ids in column {name!r} are of type {dtype}, not text or whole numbers. Write "
                "ids as text."
            )


def _numbers(column: Any) -> tuple[npt.NDArray[Any], list[int]]:
    """Cells as int8 codes or float64, and the positions of those that are no numbers."""
    pa, _ = arrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _kind(column.type) == "text":
        return parsed(["" if cell is None else cell for cell in column.to_pylist()])
    if _kind(column.type) == "null":
        return np.full(len(column), -1, dtype=np.int8), []
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    array = column.to_numpy(zero_copy_only=False)
    if array.dtype == object:
        # Booleans with missing cells.
        array = np.array([np.nan if cell is None else cell for cell in array], dtype=np.float64)
    return as_codes(array), []


def _no_rows(source: Source) -> Exception:
    return source.error(
        "the table has columns but no rows. A table needs a row for every model, item or score."
    )


def read_wide(path: Path, source: Source, header: list[str]) -> Wide:
    """A wide Parquet table.

    Raises
    ------
    FormatError
        when a column is no score, a cell is no number, or the file is damaged.
    """
    check_header(source, [shown_name(name) for name in header])
    names: list[str] = []
    parts: list[npt.NDArray[Any]] = []
    wrong = Offenders()
    first_text = ""
    with parquet_file(path, source) as file:
        n_rows, width = file.metadata.num_rows, len(header) - 1
        if not n_rows:
            raise _no_rows(source)
        _check_types(source, file.schema_arrow, header, header[:1])
        check_size(source, n_rows * width, f"a table of {n_rows:,} rows x {width:,} columns")
        for batch in file.iter_batches(batch_size=max(1, CELLS_AT_ONCE // len(header))):
            start = len(names)
            names += ["" if i is None else str(i) for i in batch.column(header[0]).to_pylist()]
            columns = []
            for name in header[1:]:
                cells, mistakes = _numbers(batch.column(name))
                columns.append(cells)
                for row in mistakes:
                    text = str(batch.column(name)[row])
                    first_text = first_text or text
                    wrong.add(f"{source.at(start + row + 1)}, column {shorten(name)}: {text!r}")
            parts.append(np.ascontiguousarray(stacked(columns).T))
    if wrong:
        raise source.error(
            f"{counted(wrong.count, 'cell is not a number', 'cells are not numbers')}: {wrong}. "
            f"{hint(first_text)}"
        )
    if any(part.dtype != np.int8 for part in parts):
        parts = [as_floats(part) for part in parts]
    lines = range(1, len(names) + 1)
    return Wide(source, shown_name(header[0]), header[1:], names, lines, np.concatenate(parts))


def _ids(column: Any) -> tuple[list[Any], npt.NDArray[Any]]:
    """The ids of a column and where each row's stands among them; the last is for null."""
    pa, _ = arrow()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary.to_pylist()
    codes = column.indices.fill_null(len(values)) if column.null_count else column.indices
    return [*values, None], codes.to_numpy(zero_copy_only=False)


def _positions(coder: Coder, column: Any) -> npt.NDArray[Any]:
    """Positions of a column's ids; ids that no row uses get none."""
    values, codes = _ids(column)
    used = np.bincount(codes, minlength=len(values)) > 0
    known = [
        coder["" if value is None else value] if use else -1
        for value, use in zip(values, used.tolist(), strict=True)
    ]
    positions: npt.NDArray[Any] = np.array(known, dtype=np.int32)[codes]
    return positions


def _portions(path: Path, source: Source, names: list[str], ids: list[str]) -> Iterator[Any]:
    with parquet_file(path, source, ids) as file:
        yield from file.iter_batches(batch_size=ROWS_AT_ONCE, columns=names)


def read_long(path: Path, source: Source, header: list[str], roles: Roles) -> Long:
    """A long Parquet table; it is read twice, once for the ids and once for the scores.

    Raises
    ------
    FormatError
        when ids are missing or collide, cells are no numbers, or the file is damaged.
    """
    check_header(source, header)
    names = {role: header[i] for role, i in roles.items()}
    ids = [names["model"], names["item"]]
    with parquet_file(path, source) as file:
        schema = file.schema_arrow
        n_rows = file.metadata.num_rows
        if not n_rows:
            raise _no_rows(source)
        _check_types(source, schema, list(names.values()), ids)
    check_size(source, n_rows, f"a table of {n_rows:,} rows")
    text = [name for name in ids if _kind(schema.field(name).type) == "text"]
    models, items = Coder(), Coder()
    labels = _scan(path, source, names, text, (models, items))
    known = models.check(source, "model"), items.check(source, "item")
    others = tuple([name for name in header if name not in names.values()])

    def batches() -> Iterator[Batch]:
        layers = [names[role] for role in ("score", "probability") if role in names]
        first = 1
        for batch in _portions(path, source, ids + layers, text):
            lines = range(first, first + batch.num_rows)
            first += batch.num_rows
            with decoding(source):
                codes = [_positions(c, batch.column(i)) for i, c in enumerate((models, items))]
                cells = [_checked(source, batch, i, lines) for i in range(2, 2 + len(layers))]
            layer = as_floats(cells[1]) if len(cells) > 1 else None
            yield Batch(codes[0], codes[1], cells[0], layer, lines)

    return Long(source, *known, batches, labels.check(source, known[1]), others)


def _scan(
    path: Path, source: Source, names: dict[str, str], text: list[str], coders: tuple[Coder, Coder]
) -> Labels:
    """Give every id a position, and gather the subtasks of the items."""
    labels, unnamed = Labels(), Offenders()
    wanted = [names[role] for role in ("model", "item", "subtask") if role in names]
    start = 0
    for batch in _portions(path, source, wanted, text):
        with decoding(source):
            codes = [_positions(coder, batch.column(i)) for i, coder in enumerate(coders)]
            texts = [str(i or "") for i in batch.column(2).to_pylist()] if wanted[2:] else []
        for row in np.flatnonzero((codes[0] < 0) | (codes[1] < 0)).tolist():
            unnamed.add(source.at(start + row + 1))
        if texts and not unnamed:
            labels.add(codes[1], texts)
        start += batch.num_rows
    if unnamed:
        raise unnamed_error(source, unnamed)
    return labels


def _checked(source: Source, batch: Any, column: int, lines: range) -> npt.NDArray[Any]:
    cells, mistakes = _numbers(batch.column(column))
    if mistakes:
        name = batch.schema.names[column]
        texts = [str(batch.column(column)[row]) for row in mistakes[:MAX_SHOWN]]
        shown = "; ".join(
            f"{source.at(lines[row])}, column {name!r}: {text!r}"
            for row, text in zip(mistakes, texts, strict=False)
        )
        raise source.error(
            f"{counted(len(mistakes), 'cell is not a number', 'cells are not numbers')} among the "
            f"first {lines[-1]:,} rows: {shown}. {hint(texts[0])}"
        )
    return cells
