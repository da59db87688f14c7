"""Columns of many files joined by id into one score matrix.

Ids become numbers as soon as a file is read, and files that list the same items in the same
order share them, so that what is kept is little more than the matrix.
"""

from __future__ import annotations

import hashlib
import os.path
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import MAX_SHOWN, counted, listed, shorten
from mdad.loaders._cells import MISSING, as_floats, finished
from mdad.loaders._wide import check_size
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pandas as pd

    from mdad.loaders._log_columns import Columns
    from mdad.loaders._names import Source
    from mdad.scores import Kind

_DIGITS = re.compile(r"(\d+)", re.ASCII)
MAX_ALTERNATES = 1_000_000
"""Distinct ids under the other key that are counted; beyond them the comparison is left out."""


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sorting key that puts q2 before q10.

    >>> sorted(["q10", "q2", "a"], key=natural)
    ['a', 'q2', 'q10']
    """
    return [
        (0, int(part)) if part.isdigit() and part.isascii() else (1, part)
        for part in _DIGITS.split(name)
        if part
    ]


def natural_keys(names: list[str]) -> list[Any]:
    """Sorting keys of many names; numbers where all differ in a number at the end only."""
    letters = os.path.commonprefix([min(names), max(names)])  # noqa: RUF071  # letters are meant
    start = letters.rstrip("0123456789")
    tails = [name[len(start) :] for name in names]
    if all(map(str.isdigit, tails)) and "".join(tails).isascii():
        return [(int(tail), tail) for tail in tails]
    return [(natural(name), name) for name in names]


@dataclass(frozen=True)
class _Part:
    file: str
    codes: npt.NDArray[np.int32]
    scores: npt.NDArray[Any]
    probabilities: npt.NDArray[np.float32] | None
    lines: npt.NDArray[np.int32]


class Collector:
    """Takes columns file by file and makes the matrix at the end."""

    def __init__(self, source: Source, keys: tuple[str, str] | None = None) -> None:
        self.source, self._keys = source, keys
        self._codes: dict[str, int] = {}
        self._subtasks: list[str] = []
        self._hashes: list[str] = []
        self._changed: set[int] = set()
        self._parts: dict[str, list[_Part]] = {}
        self._shared: dict[bytes, npt.NDArray[np.int32]] = {}
        self._alternates: dict[str, Counter[str]] = {}
        self.rows = 0

    @property
    def files(self) -> dict[str, int]:
        """Number of files of each model."""
        return {model: len({part.file for part in parts}) for model, parts in self._parts.items()}

    def add(self, columns: Columns) -> None:
        """Take the records of one model in one file.

        Raises
        ------
        FormatError
            when an item is in another subtask than before.
        """
        self.rows += len(columns.items)
        codes = self._coded(columns)
        self._check_subtasks(columns, codes)
        if columns.hashes is not None:
            self._check_hashes(columns.hashes, codes)
        if columns.alternates is not None:
            self._count(columns)
        part = _Part(
            columns.file,
            self._kept(codes),
            columns.scores,
            columns.probabilities,
            self._kept(columns.lines),
        )
        self._parts.setdefault(columns.model, []).append(part)

    def _coded(self, columns: Columns) -> npt.NDArray[np.int32]:
        codes = self._codes
        before = len(codes)
        size = len(columns.items)
        found = np.fromiter(
            (codes.setdefault(item, len(codes)) for item in columns.items), np.int32, size
        )
        new = np.flatnonzero(found >= before).tolist()
        self._subtasks += [_at(columns.subtasks, position) for position in new]
        hashes = columns.hashes
        self._hashes += [""] * len(new) if hashes is None else [hashes[i] for i in new]
        return found

    def _kept(self, array: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """An equal array that is kept already, or this one."""
        digest = hashlib.blake2b(array.tobytes(), digest_size=16).digest()
        return self._shared.setdefault(digest, array)

    def _check_subtasks(self, columns: Columns, codes: npt.NDArray[np.int32]) -> None:
        known = [self._subtasks[code] for code in codes.tolist()]
        labels = columns.subtasks
        labels = [labels] * len(known) if isinstance(labels, str) else list(labels)
        if known == labels:
            return
        position = next(i for i, label in enumerate(labels) if label != known[i])
        raise self.source.error(
            f"the item {shorten(columns.items[position])} is in the subtask "
            f"{shorten(known[position])} for some models and in {shorten(labels[position])} for "
            f"{shorten(columns.model)} ({columns.file}, record "
            f"{columns.lines[position]:,}). An item is in one subtask."
        )

    def _check_hashes(self, hashes: Sequence[str], codes: npt.NDArray[np.int32]) -> None:
        """Keep the content of new items; note items whose content is another one now."""
        places = codes.tolist()
        if [self._hashes[code] for code in places] == hashes:
            return
        for code, content in zip(places, hashes, strict=True):
            if not self._hashes[code]:
                self._hashes[code] = content
            elif content and content != self._hashes[code]:
                self._changed.add(code)

    def _count(self, columns: Columns) -> None:
        """Count the models that have each id under the other key."""
        names, labels = columns.alternates or (), columns.subtasks
        groups: dict[str, list[str]] = {}
        if isinstance(labels, str):
            groups[labels] = list(names)
        else:
            for name, label in zip(names, labels, strict=True):
                groups.setdefault(label, []).append(name)
        for label, found in groups.items():
            counts = self._alternates.setdefault(label, Counter())
            if len(counts) < MAX_ALTERNATES:
                counts.update(filter(None, found))

    def finish(
        self, *, bounds: tuple[float, float], kind: Kind | None, name: str
    ) -> tuple[ScoreMatrix, list[str]]:
        """The matrix, and what should be looked at before it is trusted.

        Raises
        ------
        FormatError
            when nothing was read, or two files score an item for one model.
        """
        if not self.rows:
            raise self.source.error("no scored record was found in it.")
        models = sorted(self._parts, key=natural)
        names = list(self._codes)
        order = self._order(names)
        column = np.empty(len(names), dtype=np.int32)
        column[order] = np.arange(len(names), dtype=np.int32)
        values, layer = self._filled(models, column)
        scores = ScoreMatrix(
            finished(values),
            models,
            [names[i] for i in order],
            [self._subtasks[i] for i in order] if any(self._subtasks) else None,
            layer,
            item_info=self._info(names, order),
            score_range=bounds,
            kind=kind,
            name=name,
        )
        return scores, [*self._overlaps(), *self._changes(names)]

    def _order(self, names: list[str]) -> list[int]:
        """Positions of the items, subtask by subtask, in the order of their ids."""
        groups: dict[str, list[int]] = {}
        for position, label in enumerate(self._subtasks):
            groups.setdefault(label, []).append(position)
        order: list[int] = []
        for label in sorted(groups, key=natural):
            places = groups[label]
            keys = natural_keys([names[i] for i in places])
            order += [places[i] for i in sorted(range(len(places)), key=keys.__getitem__)]
        return order

    def _filled(
        self, models: list[str], column: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32] | None]:
        shape = (len(models), len(column))
        parts = [part for found in self._parts.values() for part in found]
        coded = all(part.scores.dtype == np.int8 for part in parts)
        likely = any(part.probabilities is not None for part in parts)
        check_size(
            self.source,
            shape[0] * shape[1] * ((1 if coded else 8) + 4 * likely),
            f"a matrix of {shape[0]:,} models x {shape[1]:,} items",
        )
        values: npt.NDArray[Any] = (
            np.full(shape, MISSING, dtype=np.int8) if coded else np.full(shape, np.nan)
        )
        layer = np.full(shape, np.nan, dtype=np.float32) if likely else None
        for row, model in enumerate(models):
            self._check_once(model)
            for part in self._parts[model]:
                places = column[part.codes]
                values[row, places] = part.scores if coded else as_floats(part.scores)
                if layer is not None and part.probabilities is not None:
                    layer[row, places] = part.probabilities
        return values, layer

    def _check_once(self, model: str) -> None:
        """No item is scored in two files for one model."""
        parts = self._parts[model]
        if len(parts) == 1:
            return
        codes = np.concatenate([part.codes for part in parts])
        found, counts = np.unique(codes, return_counts=True)
        if len(found) == len(codes):
            return
        twice = found[counts > 1]
        names = list(self._codes)
        shown = [f"{shorten(names[i])} {self._places(parts, i)}" for i in twice[:MAX_SHOWN]]
        more = f" and {len(twice) - MAX_SHOWN:,} more" if len(twice) > MAX_SHOWN else ""
        raise self.source.error(
            f"{counted(len(twice), 'item')} of model {shorten(model)} in more than one file: "
            f"{'; '.join(shown)}{more}. Nothing is averaged or dropped: keep one of the files."
        )

    def _places(self, parts: list[_Part], code: int) -> str:
        places, scores = [], set()
        for part in parts:
            for position in np.flatnonzero(part.codes == code).tolist():
                places.append(f"{part.file} ({int(part.lines[position]):,})")
                scores.add(float(as_floats(part.scores[position : position + 1])[0]))
        how = "the same score" if len(scores) == 1 else "other scores"
        return f"in {' and '.join(places[:3])}, {how}"

    def _info(self, names: list[str], order: list[int]) -> pd.DataFrame | None:
        if not any(self._hashes):
            return None
        import pandas as pd  # noqa: PLC0415  # slow to import

        changed = [i in self._changed for i in order]
        hashes = ["" if i in self._changed else self._hashes[i] for i in order]
        columns: dict[str, Any] = {"content_hash": hashes}
        if self._changed:
            columns["content_differs"] = changed
        return pd.DataFrame(columns, index=[names[i] for i in order])

    def _changes(self, names: list[str]) -> list[str]:
        if not self._changed:
            return []
        changed: list[str] = sorted((names[code] for code in self._changed), key=natural)
        text = (
            f"the content of {counted(len(changed), 'item')} differs between models "
            f"({listed(changed)}): another version of the benchmark, or options in another order; "
            "they have no content hash"
        )
        return [text]

    def _overlaps(self) -> list[str]:
        """For each subtask whose models were scored on different items: how many are shared."""
        labels, inverse = np.unique(self._subtasks, return_inverse=True)
        shared = np.zeros(len(self._codes), dtype=np.int32)
        n_models = np.zeros(len(labels), dtype=np.int32)
        for parts in self._parts.values():
            codes = np.concatenate([part.codes for part in parts])
            shared[codes] += 1
            n_models[np.unique(inverse[codes])] += 1
        found = []
        for place, label in enumerate(labels.tolist()):
            inside = shared[inverse == place]
            everywhere = int((inside == n_models[place]).sum())
            if everywhere < len(inside):
                found.append(
                    f"{label or 'all items'}: {everywhere:,} of {len(inside):,} items were scored "
                    f"for all {n_models[place]:,} models{self._other_key(label, n_models[place])}"
                )
        return found

    def _other_key(self, label: str, n_models: int) -> str:
        counts = self._alternates.get(label)
        if self._keys is None or not counts or len(counts) >= MAX_ALTERNATES:
            return ""
        everywhere = sum(count >= n_models for count in counts.values())
        return (
            f" by the key {self._keys[0]}; {everywhere:,} of {len(counts):,} would be by "
            f"{self._keys[1]}"
        )


def _at(labels: Sequence[str] | str, position: int) -> str:
    return labels if isinstance(labels, str) else labels[position]
