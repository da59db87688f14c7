"""Plain forms, and how items become positions."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Protocol

from mdad._checks import counted, listed
from mdad.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_POSITION = re.compile(r"(?:.*[/|:_.#-])?(\d+)", re.DOTALL)


class Chosen(Protocol):
    """What is exported: a :class:`mdad.microbenchmark.Microbenchmark`."""

    @property
    def items(self) -> tuple[str, ...]:
        """Ids, in order."""
        ...

    @property
    def weights(self) -> tuple[float, ...] | None:
        """One per item, or None when all are the same."""
        ...

    @property
    def subtasks(self) -> tuple[str, ...] | None:
        """One label per item, or None."""
        ...

    @property
    def content_hashes(self) -> tuple[str, ...] | None:
        """One per item, or None."""
        ...

    @property
    def fingerprint(self) -> str:
        """Of the micro-benchmark."""
        ...


def id_list(chosen: Chosen) -> str:
    """Item ids, one a line.

    Raises
    ------
    SettingError
        when an id holds a line break.
    """
    refuse(chosen, "\n\r", "a line break", "csv")
    return "\n".join(chosen.items) + "\n"


def table(chosen: Chosen) -> str:
    """A CSV table: item_id, weight, subtask and content_hash where they are known."""
    size = len(chosen.items)
    columns: dict[str, Sequence[object]] = {
        "item_id": chosen.items,
        "weight": [repr(w) for w in chosen.weights or (1 / size,) * size],
    }
    if chosen.subtasks is not None:
        columns["subtask"] = chosen.subtasks
    if chosen.content_hashes is not None:
        columns["content_hash"] = chosen.content_hashes
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def hf_indices(chosen: Chosen, *, order: Sequence[str] | None) -> str:
    """Row numbers as a JSON list, ascending, for ``datasets.Dataset.select``."""
    return json.dumps(sorted(positions(chosen, order))) + "\n"


def positions(chosen: Chosen, order: Sequence[str] | None) -> list[int]:
    """Position of each item in its data set: from an ordered list of ids, else the id's end.

    Raises
    ------
    SettingError
        when an item has no position, or two have the same within a subtask.
    """
    if order is not None:
        places = {item: place for place, item in enumerate(order)}
        if len(places) < len(order):
            raise SettingError("the ordered list of ids names an item twice.")
        missing = [item for item in chosen.items if item not in places]
        if missing:
            raise SettingError(
                f"{counted(len(missing), 'chosen item')} not in the ordered list of ids: "
                f"{listed(missing)}."
            )
        return [places[item] for item in chosen.items]
    matches = [_POSITION.fullmatch(item) for item in chosen.items]
    without = [item for item, match in zip(chosen.items, matches, strict=True) if match is None]
    if without:
        raise SettingError(
            f"{counted(len(without), 'id')} do not end in a position in the data set: "
            f"{listed(without)}. Give the ids of the whole data set in its order (--order FILE)."
        )
    found = [int(match[1]) for match in matches if match is not None]
    labels = chosen.subtasks or ("",) * len(found)
    if len(set(zip(labels, found, strict=True))) < len(found):
        raise SettingError(
            "two chosen ids end in the same number, so it is not their position in one data set. "
            "Give the ids of the whole data set in its order (--order FILE)."
        )
    return found


def several_tasks(names: Collection[str], what: str, instead: str) -> SettingError:
    """What to say when a form holds one task and there are several."""
    return SettingError(
        f"{what} holds one task; the items are of {len(names)}: {listed(sorted(names))}. Export "
        f"them as {instead!r} instead."
    )


def refuse(chosen: Chosen, signs: str, what: str, instead: str) -> None:
    """Refuse ids that hold a sign the form uses itself."""
    wrong = [item for item in chosen.items if any(sign in item for sign in signs)]
    if wrong:
        raise SettingError(
            f"{counted(len(wrong), 'id')} hold {what}: {listed(wrong)}. Export them as {instead!r}."
        )
