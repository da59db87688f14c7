"""Own Parquet files: wide or long, with everything a matrix knows in the schema's metadata."""

from __future__ import annotations

import base64
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from mdad._checks import check_choice
from mdad.errors import FormatError, SettingError
from mdad.storage._arrow import arrow, arrow_errors
from mdad.storage._files import whole_file
from mdad.storage._header import (
    FORMAT,
    Header,
    damaged,
    decode,
    described,
    encode,
    info_from_parquet,
    info_to_parquet,
    rebuilt,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import numpy.typing as npt

    from mdad.scores import ScoreMatrix

    Layers = tuple[npt.NDArray[Any], npt.NDArray[Any] | None]

__all__ = ["Layout", "is_parquet_store", "read_parquet", "write_parquet"]

Layout = Literal["wide", "long"]

MAX_WIDE_ITEMS = 20_000
"""More columns than this make the footer of a Parquet file slow to read."""

ROWS_AT_ONCE = 1 << 20
KEY = FORMAT.encode()


class ParquetHeader(Header, kw_only=True):
    """Header in the schema's metadata; the two tables as base64 of small Parquet files."""

    layout: Layout
    probabilities: bool
    model_info: str | None
    item_info: str | None


def write_parquet(
    scores: ScoreMatrix, path: str | os.PathLike[str], layout: Layout | None = None
) -> None:
    """Write a matrix as one Parquet file from which :func:`read_parquet` makes an equal one.

    Parameters
    ----------
    layout : "wide" (a row per model, a column per item), "long" (a row per cell: model, item,
        score, probability) or None: wide when there are no probabilities and at most 20,000
        items, none of them called "model". In a wide file with probabilities the second
        column, ``layer``, says which of the two a row holds. A cell that was not scored is null.

    Raises
    ------
    SettingError
        when the layout is unknown or the file cannot be put there, or the matrix has probabilities
        of every option, for which these layouts have no place.
    ScoresError
        when a table of models or items cannot be stored.
    """
    if scores.option_probabilities is not None:
        raise SettingError(
            "a Parquet file has no place for the probabilities of every option; keep this matrix "
            "in a directory with mdad.storage.write_directory."
        )
    if layout is None:
        plain = scores.probabilities is None and scores.n_items <= MAX_WIDE_ITEMS
        # Many programs cannot read a file with two columns of one name.
        layout = "wide" if plain and "model" not in scores.item_position else "long"
    check_choice("layout", layout, get_args(Layout))
    header = ParquetHeader(
        **described(scores),
        layout=layout,
        probabilities=scores.probabilities is not None,
        model_info=_text(info_to_parquet("model", scores.model_info)),
        item_info=_text(info_to_parquet("item", scores.item_info)),
    )
    metadata = {KEY: encode(header)}
    _, pq = arrow()
    tables = _wide_tables(scores) if layout == "wide" else _long_tables(scores)
    with whole_file(path) as temporary:
        writer = None
        for table in tables:
            described_table = table.replace_schema_metadata(metadata)
            if writer is None:
                writer = pq.ParquetWriter(
                    temporary, described_table.schema, compression="zstd", write_page_checksum=True
                )
            writer.write_table(described_table, row_group_size=max(1, table.num_rows))
        if writer is not None:
            writer.close()


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else base64.b64encode(stored).decode()


def _array(cells: npt.NDArray[Any], dtype: npt.DTypeLike) -> Any:
    pa, _ = arrow()

    if not np.issubdtype(cells.dtype, np.floating):
        return pa.array(cells.astype(dtype, copy=False))
    absent = np.isnan(cells)
    return pa.array(np.where(absent, 0, cells).astype(dtype), mask=absent)


def _wide_tables(scores: ScoreMatrix) -> Iterator[Any]:
    pa, _ = arrow()

    dtype: npt.DTypeLike = np.int8 if scores.kind == "correctness" else np.float64
    rows, names, columns = scores.values, ["model"], [pa.array(scores.models)]
    if scores.probabilities is not None:
        rows = np.concatenate([scores.values, scores.probabilities])
        dtype = np.float64 if scores.kind == "graded" else np.float32
        layers = ["score"] * scores.n_models + ["probability"] * scores.n_models
        names, columns = ["model", "layer"], [pa.array(scores.models * 2), pa.array(layers)]
    columns += [_array(column, dtype) for column in np.ascontiguousarray(rows.T)]
    yield pa.Table.from_arrays(columns, names=names + list(scores.items))


def _long_tables(scores: ScoreMatrix) -> Iterator[Any]:
    pa, _ = arrow()

    dtype = np.int8 if scores.kind == "correctness" else np.float64
    models, items = pa.array(scores.models), pa.array(scores.items)
    step = max(1, ROWS_AT_ONCE // scores.n_items)
    bounds = [*range(0, scores.n_models, step), scores.n_models]
    for low, high in pairwise(bounds):
        codes = np.repeat(np.arange(low, high, dtype=np.int32), scores.n_items)
        columns = np.tile(np.arange(scores.n_items, dtype=np.int32), high - low)
        table = {
            "model": pa.DictionaryArray.from_arrays(codes, models),
            "item": pa.DictionaryArray.from_arrays(columns, items),
            "score": _array(scores.values[low:high].ravel(), dtype),
        }
        if scores.probabilities is not None:
            table["probability"] = _array(scores.probabilities[low:high].ravel(), np.float32)
        yield pa.table(table)


def _open(path: Path, *, ids_as_codes: bool = False) -> Any:
    _, pq = arrow()

    return pq.ParquetFile(
        path,
        read_dictionary=["model", "item"] if ids_as_codes else None,
        page_checksum_verification=True,
        memory_map=False,
        pre_buffer=False,
    )


def is_parquet_store(path: str | os.PathLike[str]) -> bool:
    """Whether this is a Parquet file that carries the description of a score matrix."""
    path = Path(path)
    try:
        with path.open("rb") as raw:
            if raw.read(4) != b"PAR1":
                return False
    except OSError:
        return False
    _, pq = arrow()
    try:
        with pq.ParquetFile(path) as file:
            return KEY in (file.schema_arrow.metadata or {})
    except arrow_errors():
        return False


def read_parquet(path: str | os.PathLike[str]) -> ScoreMatrix:
    """Read what :func:`write_parquet` wrote, row group by row group.

    Raises
    ------
    FormatError
        when the file is not there, damaged, changed, foreign or from a newer version.
    """
    path = Path(path)
    where = repr(path.name)
    try:
        header, layers = _read(path, where)
        infos = {
            f"{kind}_info": info_from_parquet(kind, None if text is None else _raw(text), where)
            for kind, text in (("model", header.model_info), ("item", header.item_info))
        }
    except FormatError:
        raise
    except arrow_errors() as error:
        raise FormatError(
            f"{where} cannot be read as a Parquet file. Is it complete? Copy or write it again."
        ) from error
    return rebuilt(header, where, values=layers[0], probabilities=layers[1], **infos)


def _read(path: Path, where: str) -> tuple[ParquetHeader, Layers]:
    with _open(path) as file:
        stored = (file.schema_arrow.metadata or {}).get(KEY)
        if stored is None:
            raise FormatError(
                f"{where} is a Parquet file but not a score matrix written by mdad; read "
                "plain tables with mdad.loaders.load."
            )
        header = decode(stored, ParquetHeader, where)
        if header.layout == "wide":
            return header, _read_wide(file, header, where)
    with _open(path, ids_as_codes=True) as file:
        return header, _read_long(file, header, where)


def _raw(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _dtype(header: Header) -> npt.DTypeLike:
    return np.float32 if header.kind == "correctness" else np.float64


def _read_wide(file: Any, header: ParquetHeader, where: str) -> Layers:
    n_models, n_items = len(header.models), len(header.items)
    leading = 2 if header.probabilities else 1
    n_rows = n_models * leading
    names = file.schema_arrow.names
    if tuple(names[leading:]) != header.items or file.metadata.num_rows != n_rows:
        raise damaged(where, "its columns and rows are not those of its description")
    table = file.read()
    if tuple(table.column(0).to_pylist()) != header.models * leading:
        raise damaged(where, "its models are not those of its description")
    cells = np.empty((n_items, n_rows), dtype=_dtype(header))
    for row, column in zip(cells, table.columns[leading:], strict=True):
        row[:] = column.to_numpy()
    rows = np.ascontiguousarray(cells.T)
    return rows[:n_models], rows[n_models:] if header.probabilities else None


def _read_long(file: Any, header: ParquetHeader, where: str) -> Layers:
    n_items = len(header.items)
    n_cells = len(header.models) * n_items
    names = ["model", "item", "score"] + ["probability"] * header.probabilities
    if file.schema_arrow.names != names or file.metadata.num_rows != n_cells:
        raise damaged(where, "its columns and rows are not those of its description")
    positions = [{i: n for n, i in enumerate(ids)} for ids in (header.models, header.items)]
    values = np.empty(n_cells, dtype=_dtype(header))
    probabilities = np.empty(n_cells, dtype=np.float32) if header.probabilities else None
    start = 0
    for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
        stop = start + batch.num_rows
        expected = np.arange(start, stop)
        found = [_codes(batch.column(i), positions[i]) for i in (0, 1)]
        if (found[0] != expected // n_items).any() or (found[1] != expected % n_items).any():
            raise damaged(where, "its rows are not in the order of its description")
        values[start:stop] = batch.column(2).to_numpy(zero_copy_only=False)
        if probabilities is not None:
            probabilities[start:stop] = batch.column(3).to_numpy(zero_copy_only=False)
        start = stop
    shape = (len(header.models), n_items)
    layer = None if probabilities is None else probabilities.reshape(shape)
    return values.reshape(shape), layer


def _codes(column: Any, positions: dict[str, int]) -> npt.NDArray[Any]:
    """Position of each id of a dictionary-encoded column; -1 for an unknown id or null."""
    known = [positions.get(name, -1) for name in column.dictionary.to_pylist()]
    codes = column.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    # Damage may leave a code that no name belongs to.
    codes = np.where((codes < 0) | (codes > len(known)), len(known), codes)
    found: npt.NDArray[Any] = np.array([*known, -1], dtype=np.int64)[codes]
    return found
