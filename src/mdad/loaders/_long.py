"""Long tables: a row per score, with columns for model, item and score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import MAX_SHOWN, counted, listed, shorten
from mdad.loaders._cells import ABSENT, MISSING, as_floats
from mdad.loaders._wide import Offenders, check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from mdad.loaders._names import Source


@dataclass(frozen=True)
class Batch:
    """Some rows of a long table: positions of model and item, scores, where they stand."""

    models: npt.NDArray[Any]
    items: npt.NDArray[Any]
    scores: npt.NDArray[Any]
    probabilities: npt.NDArray[Any] | None
    lines: Sequence[int]


@dataclass(frozen=True)
class Long:
    """A long table: its ids, and its rows as often as they are asked for."""

    source: Source
    models: tuple[str, ...]
    items: tuple[str, ...]
    batches: Callable[[], Iterable[Batch]]
    subtasks: tuple[str, ...] | None = None
    others: tuple[str, ...] = ()


class Coder(dict[Any, int]):
    """Positions of ids in the order in which they first appear; text or whole numbers.

    Ids are text without the white space around it. Two that become the same thereby (1 and
    "1", "q1" and "q1 ") are kept for the error message.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, Any] = {}
        self.collisions: list[str] = []

    def __missing__(self, raw: Any) -> int:
        name = str(raw).strip()
        if not name or not _valid(name):
            return -1
        if name in self.names:
            other = self.names[name]
            self.collisions.append(f"{shorten(other)} and {shorten(raw)}")
            self[raw] = self[other]
        else:
            self[raw] = len(self.names)
            self.names[name] = raw
        return self[raw]

    def codes(self, raws: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Positions of many ids; -1 for one that is empty."""
        return np.fromiter(map(self.__getitem__, raws), np.int32, len(raws))

    def check(self, source: Source, what: str) -> tuple[str, ...]:
        """The ids, known to be different.

        Raises
        ------
        FormatError
            when two are the same after normalisation.
        """
        if self.collisions:
            raise source.error(
                f"{counted(len(self.collisions), f'pair of {what} ids', f'pairs of {what} ids')} "
                "that differ only in white space around them or in being a number or text: "
                f"{', '.join(self.collisions[:MAX_SHOWN])}. Ids are compared as text without "
                "white space around it: make them equal, or clearly different."
            )
        return tuple(self.names)


def _valid(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name


@dataclass
class Labels:
    """The subtask of each item; an item has one."""

    found: dict[int, str] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)

    def add(self, items: npt.NDArray[Any], labels: Sequence[str]) -> None:
        """Note the labels of some rows."""
        for code, label in dict.fromkeys(zip(items.tolist(), labels, strict=True)):
            text = label.strip()
            if not text:
                self.wrong.setdefault(code, "has a row without one")
            elif self.found.setdefault(code, text) != text:
                self.wrong.setdefault(code, f"is in {self.found[code]!r} and {text!r}")

    def check(self, source: Source, items: tuple[str, ...]) -> tuple[str, ...] | None:
        """One label per item.

        Raises
        ------
        FormatError
            when an item has none or several.
        """
        if self.wrong:
            shown = Offenders()
            for code, why in self.wrong.items():
                shown.add(f"{shorten(items[code])} {why}")
            raise source.error(
                f"every item must be in one subtask; {shown}. Correct the rows, or leave the "
                "column out and give an items file."
            )
        return tuple([self.found[code] for code in range(len(items))]) if self.found else None


class Grid:
    """A matrix that is filled from batches; int8 until something else than 0 and 1 comes."""

    def __init__(self, source: Source, shape: tuple[int, int]) -> None:
        self.source, self.shape = source, shape
        self.rows = 0
        check_size(source, shape[0] * shape[1], _size_text(shape))
        self.cells: npt.NDArray[Any] = np.full(shape[0] * shape[1], ABSENT, dtype=np.int8)
        self.filled: npt.NDArray[np.bool_] | None = None

    def put(self, flat: npt.NDArray[Any], scores: npt.NDArray[Any]) -> None:
        """Scores at their places."""
        self.rows += len(flat)
        if self.filled is None and scores.dtype != np.int8:
            check_size(self.source, 8 * self.cells.size, _size_text(self.shape))
            self.filled = self.cells != ABSENT
            self.cells = as_floats(self.cells)
        if self.filled is None:
            self.cells[flat] = scores
        else:
            self.filled[flat] = True
            self.cells[flat] = as_floats(scores)

    @property
    def complete_rows(self) -> bool:
        """Whether every row of the table has a cell of its own."""
        filled = self.cells != ABSENT if self.filled is None else self.filled
        return int(np.count_nonzero(filled)) == self.rows

    def values(self) -> npt.NDArray[Any]:
        """The matrix; codes or floats. A cell without a row is missing."""
        if self.filled is None:
            np.maximum(self.cells, MISSING, out=self.cells)
        return self.cells.reshape(self.shape)


def _size_text(shape: tuple[int, int]) -> str:
    return f"a matrix of {shape[0]:,} models x {shape[1]:,} items"


def flat_of(table: Long, batch: Batch) -> npt.NDArray[Any]:
    """Position of each row's cell."""
    flat: npt.NDArray[Any] = batch.models.astype(np.int64) * len(table.items) + batch.items
    return flat


def gathered(
    table: Long, *, merge: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """The matrix of scores and, where there are any, of probabilities.

    Raises
    ------
    FormatError
        when a model and item have more than one row.
    """
    grid = Grid(table.source, (len(table.models), len(table.items)))
    layer: npt.NDArray[Any] | None = None
    for batch in table.batches():
        flat = flat_of(table, batch)
        grid.put(flat, batch.scores)
        if batch.probabilities is not None:
            if layer is None:
                layer = np.full(grid.cells.size, np.nan, dtype=np.float32)
            outside = (batch.probabilities < 0) | (batch.probabilities > 1)
            if layer.dtype != np.float64 and outside.any():
                # A value out of bounds must not be rounded into them.
                layer = layer.astype(np.float64)
            layer[flat] = batch.probabilities
    if not grid.complete_rows and not (merge and _all_equal(table, grid, layer)):
        raise _duplicates(table)
    return grid.values(), None if layer is None else layer.reshape(grid.shape)


def averaged(table: Long, bounds: tuple[float, float]) -> npt.NDArray[Any]:
    """The matrix of mean scores where a model has several trials of an item.

    Rows without a score are left out of a mean; a cell without any score is missing.

    Raises
    ------
    FormatError
        when a score is out of bounds (its mean might not be), or there are probabilities.
    """
    shape = (len(table.models), len(table.items))
    check_size(table.source, 16 * shape[0] * shape[1], _size_text(shape))
    sums, counts = np.zeros(shape[0] * shape[1]), np.zeros(shape[0] * shape[1])
    for batch in table.batches():
        if batch.probabilities is not None:
            raise table.source.error(
                "trials with probabilities are not averaged: leave that column out, or give one "
                "row per model and item."
            )
        flat, scores = flat_of(table, batch), as_floats(batch.scores)
        scored = ~np.isnan(scores)
        outside = np.flatnonzero((scores < bounds[0]) | (scores > bounds[1]))
        if len(outside):
            raise table.source.error(
                f"{table.source.at(batch.lines[int(outside[0])])} has the score "
                f"{scores[outside[0]]:g}, outside the range from {bounds[0]:g} to {bounds[1]:g}. "
                "Correct it, or declare the range with score_range=(low, high)."
            )
        sums += np.bincount(flat[scored], weights=scores[scored], minlength=sums.size)
        counts += np.bincount(flat[scored], minlength=sums.size)
    with np.errstate(invalid="ignore"):
        means: npt.NDArray[Any] = (sums / counts).reshape(shape)
    return means


def _all_equal(table: Long, grid: Grid, layer: npt.NDArray[Any] | None) -> bool:
    """Whether every row says what the last row of its cell said."""
    for batch in table.batches():
        flat = flat_of(table, batch)
        kept = np.maximum(grid.cells[flat], MISSING) if grid.filled is None else grid.cells[flat]
        pairs = [(as_floats(kept), as_floats(batch.scores))]
        if layer is not None and batch.probabilities is not None:
            pairs.append((layer[flat], batch.probabilities.astype(layer.dtype)))
        if not all(np.array_equal(one, other, equal_nan=True) for one, other in pairs):
            return False
    return True


def _duplicates(table: Long) -> Exception:
    seen = np.zeros(len(table.models) * len(table.items), dtype=bool)
    again: list[int] = []
    n_extra = 0
    for batch in table.batches():
        flat = flat_of(table, batch)
        _, first = np.unique(flat, return_index=True)
        repeated = np.ones(len(flat), dtype=bool)
        repeated[first] = False
        repeated |= seen[flat]
        seen[flat] = True
        n_extra += int(repeated.sum())
        again += flat[repeated].tolist()[:MAX_SHOWN]
    cells = list(dict.fromkeys(again))[:MAX_SHOWN]
    shown = []
    for cell, places in zip(cells, located(table, cells), strict=True):
        model, item = divmod(cell, len(table.items))
        texts = {format(score, "g") for _, score in places}
        how = "the same score" if len(texts) == 1 else f"scores {', '.join(sorted(texts)[:3])}"
        at = " and ".join(f"{line:,}" for line, _ in places[:3])
        shown.append(
            f"{shorten(table.models[model])} / {shorten(table.items[item])} in "
            f"{table.source.unit}s {at} ({how})"
        )
    others = (
        f" The table also has {listed(table.others)}: keep the rows of one value of such a column."
        if table.others
        else ""
    )
    return table.source.error(
        f"{counted(n_extra, 'row')} too many: more than one for the same model and item, "
        f"{'; '.join(shown)}. Nothing is averaged or dropped: keep one of each, or say "
        "duplicates='merge' where all say the same, or 'mean' where they are trials (--duplicates "
        f"merge|mean).{others}"
    )


def located(table: Long, cells: Sequence[int]) -> list[list[tuple[int, float]]]:
    """Line and score of every row of some cells."""
    found: list[list[tuple[int, float]]] = [[] for _ in cells]
    for batch in table.batches():
        flat = flat_of(table, batch)
        for place, cell in zip(found, cells, strict=True):
            for row in np.flatnonzero(flat == cell).tolist():
                place.append((batch.lines[row], float(as_floats(batch.scores[row : row + 1])[0])))
    return found
