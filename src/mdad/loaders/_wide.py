"""Wide tables: a row per model and a column per item, or the other way round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdad._checks import MAX_SHOWN, counted, listed, shorten
from mdad.loaders._cells import MISSING, as_floats, hint, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from mdad.errors import FormatError
    from mdad.loaders._names import Source

Duplicates = Literal["error", "merge", "number", "mean"]

MAX_BYTES = 8 << 30
"""Size of a score matrix in memory; 5,000 x 100,000 graded scores are half of it."""


@dataclass(frozen=True)
class Wide:
    """A wide table as it lies in the file: cells are int8 codes or float64."""

    source: Source
    corner: str
    columns: list[str]
    rows: list[str]
    lines: Sequence[int]
    cells: npt.NDArray[Any]


class Offenders:
    """Counts mistakes and keeps the first five of them."""

    def __init__(self) -> None:
        self.count = 0
        self.shown: list[str] = []

    def add(self, text: str) -> None:
        self.count += 1
        if self.count <= MAX_SHOWN:
            self.shown.append(text)

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        more = self.count - len(self.shown)
        return "; ".join(self.shown) + (f" and {more:,} more" if more else "")


def check_size(source: Source, n_bytes: int, what: str) -> None:
    """Refuse a matrix that would not fit into any sensible memory.

    Raises
    ------
    FormatError
        when it has more than 8 GiB.
    """
    if n_bytes > MAX_BYTES:
        raise source.error(
            f"{what} would need {n_bytes / 2**30:,.1f} GiB of memory, more than the "
            f"{MAX_BYTES / 2**30:,.0f} GiB a score matrix may have. Are the right columns taken "
            "as models and items?"
        )


def read_wide(source: Source, header: list[str], body: Iterable[tuple[int, list[str]]]) -> Wide:
    """The rows under a header.

    Raises
    ------
    FormatError
        when rows have another length than the header or cells are no numbers; all of them
        are counted, five are named.
    """
    names, lines, parts = [], [], []
    ragged, wrong = Offenders(), Offenders()
    first_text = ""
    n_bytes = 0
    for line, row in body:
        if len(row) != len(header):
            ragged.add(f"{source.at(line)} has {len(row):,}")
            continue
        cells, mistakes = parsed(row[1:])
        for position in mistakes:
            first_text = first_text or row[position + 1]
            name = shorten(header[position + 1])
            wrong.add(f"{source.at(line)}, column {name}: {shorten(row[position + 1])}")
        names.append(row[0])
        lines.append(line)
        parts.append(cells)
        n_bytes += cells.nbytes
        check_size(source, n_bytes, f"the table up to {source.at(line)}")
    if ragged:
        raise ragged_error(source, ragged, len(header))
    if wrong:
        raise source.error(
            f"{counted(wrong.count, 'cell is not a number', 'cells are not numbers')}: {wrong}. "
            f"{hint(first_text)}"
        )
    if not parts:
        raise source.error(
            "there is a header but no row below it. A table needs a row for every model, item or "
            "score."
        )
    return Wide(source, header[0].strip(), header[1:], names, lines, stacked(parts))


def ragged_error(source: Source, ragged: Offenders, n_columns: int) -> FormatError:
    """Rows of another length than the header's."""
    return source.error(
        f"{counted(ragged.count, 'row')} with another number of cells than the {n_columns:,} of "
        f"the header: {ragged}. An empty cell must be there all the same; a delimiter inside "
        "an id or label needs quotation marks."
    )


def stacked(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rows of codes or floats as one array; they are released one after the other."""
    if all(part.dtype == np.int8 for part in parts):
        return np.stack(parts)
    result = np.empty((len(parts), parts[0].size), dtype=np.float64)
    for row, part in enumerate(parts):
        result[row] = as_floats(part)
    return result


def check_ids(
    table: Wide, ids: Sequence[str], places: Sequence[str], what: str, *, by_row: bool
) -> tuple[str, ...]:
    """Ids without the white space around them, known to be there and unique.

    Raises
    ------
    FormatError
        naming up to five that are missing or used twice, and where.
    """
    names = tuple([i.strip() for i in ids])
    bare = [place for name, place in zip(names, places, strict=True) if not name]
    if bare:
        raise table.source.error(
            f"{counted(len(bare), what)} without an id: {', '.join(bare[:MAX_SHOWN])}"
            f"{f' and {len(bare) - MAX_SHOWN:,} more' if len(bare) > MAX_SHOWN else ''}. Give "
            "each an id, or remove empty rows and columns."
        )
    first: dict[str, int] = {}
    twice = Offenders()
    for position, name in enumerate(names):
        other = first.setdefault(name, position)
        if other != position:
            pair = [table.cells[i] if by_row else table.cells[:, i] for i in (other, position)]
            same = _equal(*pair)
            scores = "the same scores" if same else "different scores"
            spaces = "" if ids[other] == ids[position] else "; they differ in white space only"
            twice.add(
                f"{shorten(name)} in {places[other]} and {places[position]} ({scores}{spaces})"
            )
    if twice:
        more = ""
        if what == "model":
            more = (
                " Or say duplicates='merge' (equal rows only) or 'number' to keep them all "
                "(--duplicates merge|number)."
            )
        raise table.source.error(
            f"{counted(twice.count, what)} more than once: {twice}. Nothing is averaged or "
            "dropped: keep one of each, or give them different ids (white space around an id "
            f"does not count).{more}"
        )
    return names


def without_duplicates(table: Wide, duplicates: Duplicates, *, by_row: bool) -> Wide:
    """A wide table whose repeated models are merged when equal in every cell, or numbered."""
    cells = table.cells if by_row else table.cells.T
    names = [i.strip() for i in (table.rows if by_row else table.columns)]
    first: dict[str, int] = {}
    times: dict[str, int] = {}
    kept = []
    for position, name in enumerate(names):
        other = first.setdefault(name, position)
        times[name] = times.get(name, 0) + 1
        if duplicates == "number" and name and other != position:
            names[position] = f"{name} ({times[name]})"
        if duplicates != "merge" or other == position or not _equal(cells[other], cells[position]):
            kept.append(position)
    names = [names[i] for i in kept]
    if by_row:
        lines = [table.lines[i] for i in kept]
        return replace(table, rows=names, lines=lines, cells=table.cells[kept])
    return replace(table, columns=names, cells=table.cells[:, kept])


def _equal(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    return np.array_equal(as_floats(one), as_floats(other), equal_nan=True)


def check_scored(source: Source, values: npt.NDArray[Any], ids: Sequence[str], what: str) -> None:
    """Every row of ``values`` has a score.

    Raises
    ------
    FormatError
        naming up to five models or items without any.
    """
    absent = values == MISSING if values.dtype == np.int8 else np.isnan(values)
    empty = np.flatnonzero(absent.all(axis=1))
    if len(empty):
        raise source.error(
            f"{counted(len(empty), what)} of {len(ids):,} without a single score: "
            f"{listed(ids[i] for i in empty.tolist())}. Remove "
            f"{'it' if len(empty) == 1 else 'them'}, or fill in the scores."
        )
