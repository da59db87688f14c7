"""The records of one file as columns: what a worker process hands back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import shorten
from mdad.loaders._cells import as_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from mdad.loaders._log_parts import Batch, Record


@dataclass(frozen=True)
class Columns:
    """Records of one model in one file; every item occurs once."""

    model: str
    file: str
    items: Sequence[str]
    scores: npt.NDArray[Any]
    probabilities: npt.NDArray[np.float32] | None
    subtasks: Sequence[str] | str
    hashes: Sequence[str] | None
    alternates: Sequence[str] | None
    lines: npt.NDArray[np.int32]


@dataclass
class _Open:
    """The columns of one model while they grow."""

    place: dict[str, int] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    subtasks: list[str] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    alternates: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    trials: dict[tuple[int, str], int] = field(default_factory=dict)
    others: dict[int, list[tuple[float, float]]] = field(default_factory=dict)


class Gathering:
    """Records become columns; a second record of an item is an error or a further trial."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._models: dict[str, _Open] = {}
        self.conflict = ""

    def add(self, record: Record) -> str | None:
        """Take one record; the answer says what is wrong with it, if anything."""
        part = self._models.get(record.model)
        if part is None:
            wrong = _bad_id("model", record.model)
            if wrong is not None:
                return wrong
            part = self._models[record.model] = _Open()
        item = record.item
        position = part.place.get(item)
        if position is not None:
            wrong = _again(part, position, record)
            if wrong is not None and part.scores[position] != record.score:
                self.conflict, wrong = wrong, None
            return wrong
        wrong = _bad_id("item", item)
        if wrong is not None:
            return wrong
        if record.trial:
            part.trials[len(part.scores), record.trial] = record.line
        part.place[item] = len(part.scores)
        part.scores.append(record.score)
        part.probabilities.append(record.probability)
        part.subtasks.append(record.subtask)
        part.hashes.append(record.content_hash)
        part.alternates.append(record.alternate)
        part.lines.append(record.line)
        return None

    def add_batch(self, batch: Batch) -> bool:
        """Take many sound records at once; False, and nothing is taken, where one is not."""
        items = batch.items
        part = self._models.get(batch.model) or _Open()
        known = part.place
        new = dict(zip(items, range(len(known), len(known) + len(items)), strict=True))
        if len(new) < len(items) or not known.keys().isdisjoint(new):
            return False
        text = "".join(items)
        if (
            list(map(str.strip, items)) != items
            or "" in new
            or "\ufffd" in text
            or not text.isprintable()
            or _bad_id("model", batch.model) is not None
        ):
            return False
        self._models[batch.model] = part
        known.update(new)
        part.scores += batch.scores
        part.probabilities += batch.probabilities or [math.nan] * len(items)
        part.subtasks += [batch.subtask] * len(items)
        part.hashes += batch.hashes
        part.alternates += batch.alternates
        part.lines += batch.lines
        return True

    def columns(self) -> list[Columns]:
        """One set of columns per model."""
        return [_closed(model, self._file, part) for model, part in self._models.items()]


def _bad_id(kind: str, name: str) -> str | None:
    if not name or name != name.strip():
        return f"has the {kind} id {shorten(name)}: empty, or with white space around it."
    if "\ufffd" in name or not name.isprintable():
        try:
            name.encode()
        except UnicodeEncodeError:
            return f"has the {kind} id {shorten(name)}, which is not valid Unicode."
        if "\ufffd" in name:
            return f"has the {kind} id {shorten(name)}, which is not valid Unicode."
        if "\0" in name:
            return f"has the {kind} id {shorten(name)} with a zero byte in it."
    return None


def _again(part: _Open, position: int, record: Record) -> str | None:
    """A further record of an item: another trial, or an error."""
    first = part.lines[position]
    if record.trial:
        same = part.trials.setdefault((position, record.trial), record.line)
        if same == record.line and part.subtasks[position] == record.subtask:
            part.others.setdefault(position, []).append((record.score, record.probability))
            return None
        first = same
        what = f"trial {record.trial} of "
    else:
        what = ""
    before = part.scores[position]
    how = "the same score" if before == record.score else f"scores {before:g} and {record.score:g}"
    return (
        f"is one more record of {what}item {shorten(record.item)} of model "
        f"{shorten(record.model)}, first at {first:,} ({how}). Nothing is averaged or dropped: "
        "keep one of each."
    )


def _closed(model: str, file: str, part: _Open) -> Columns:
    scores = np.array(part.scores, dtype=np.float64)
    probabilities = np.array(part.probabilities, dtype=np.float32)
    for position, others in part.others.items():
        rows = np.array([(scores[position], probabilities[position]), *others])
        scores[position] = _mean(rows[:, 0])
        probabilities[position] = _mean(rows[:, 1])
    known = not np.isnan(probabilities).all()
    labels = set(part.subtasks)
    return Columns(
        model,
        file,
        tuple(part.place),
        as_codes(scores),
        probabilities if known else None,
        labels.pop() if len(labels) == 1 else part.subtasks,
        part.hashes if any(part.hashes) else None,
        part.alternates if any(part.alternates) else None,
        np.array(part.lines, dtype=np.int32),
    )


def _mean(values: npt.NDArray[Any]) -> float:
    """Mean of the trials that were scored; NaN without any."""
    scored = values[~np.isnan(values)]
    return float(scored.mean()) if scored.size else float("nan")
