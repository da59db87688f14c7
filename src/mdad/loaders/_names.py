"""What a column may be called, and where a message says that something is.

The one list of accepted names. Case does not matter, and a space or hyphen counts as an
underscore: ``Model Name`` is ``model_name``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad._checks import check_choice, counted, listed
from mdad.errors import FormatError, SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

ROLES: dict[str, tuple[str, ...]] = {
    "model": ("model", "model_name", "model_id", "models", "system", "llm"),
    "item": (
        "item", "item_id", "items", "item_name", "question", "question_id", "qid", "doc_id",
        "sample_id", "example_id", "instance_id", "problem_id", "task_id",
    ),
    "score": (
        "score", "scores", "value", "correct", "is_correct", "correctness", "acc", "acc_norm",
        "accuracy", "exact_match",
    ),
    "probability": ("probability", "probabilities", "prob", "p_correct", "confidence"),
    "subtask": ("subtask", "subtasks", "subtask_name", "subject", "category"),
}  # fmt: skip

Roles = dict[str, int]


@dataclass(frozen=True)
class Source:
    """The file a message is about: its name without folders, and what its rows are called."""

    name: str
    unit: str = "line"

    def error(self, text: str) -> FormatError:
        """One paragraph about this file."""
        return FormatError(f"{self.name}: {text}")

    def at(self, row: int) -> str:
        """Where a row is: ``line 3``."""
        return f"{self.unit} {row:,}"


def key(name: str) -> str:
    """The form in which names are compared.

    >>> key(" Model-Name ")
    'model_name'
    """
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def is_role(name: str, role: str) -> bool:
    """Whether a column of this name may play the role."""
    return key(name) in ROLES[role]


def checked_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The caller's own choice of columns, by role.

    Raises
    ------
    SettingError
        when a role is unknown or its column is not text.
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise SettingError(f"columns must map roles to names of columns; got {columns!r}.")
    for role, name in (columns or {}).items():
        check_choice("role of a column", role, ROLES)
        if not isinstance(name, str):
            raise SettingError(f"columns[{role!r}] must be the name of a column; got {name!r}.")
    return dict(columns or {})


def chosen(
    source: Source, header: Sequence[str], role: str, columns: Mapping[str, str]
) -> int | None:
    """Position of the column that plays a role; None when there is none.

    Raises
    ------
    FormatError
        when the column asked for is not there, or several could be meant.
    """
    if role in columns:
        wanted = [i for i, name in enumerate(header) if name.strip() == columns[role].strip()]
        if not wanted:
            raise source.error(
                f"there is no column {columns[role]!r} for the {role}; the columns are "
                f"{listed(header)}."
            )
        return wanted[0]
    taken = {name.strip() for other, name in columns.items() if other != role}
    found = [
        i for i, name in enumerate(header) if is_role(name, role) and name.strip() not in taken
    ]
    if len(found) > 1 and role == "subtask":
        exact = [i for i in found if key(header[i]) == role]
        found = exact or found
    if len(found) > 1:
        names = listed(header[i] for i in found)
        raise source.error(
            f"{counted(len(found), 'column')} could be the {role}: {names}. Say which one: "
            f"columns={{{role!r}: {header[found[0]]!r}}} (--column {role}={header[found[0]]})."
        )
    return found[0] if found else None


def first_named(header: Sequence[str], role: str) -> int | None:
    """Position of the column whose name comes first in the list of a role's names."""
    names = [key(name) for name in header]
    return next((names.index(name) for name in ROLES[role] if name in names), None)


def check_header(source: Source, header: Sequence[str], *, unique: bool = True) -> None:
    """Every column has a name, and no two have the same.

    Parameters
    ----------
    unique : False leaves it to the caller to look for names that occur twice

    Raises
    ------
    FormatError
        naming up to five columns.
    """
    bare = [i + 1 for i, name in enumerate(header) if not name.strip()]
    # The corner of a wide table may be empty: pandas writes an unnamed index so.
    if [i for i in bare if i > 1]:
        raise source.error(
            f"{counted(len(bare), 'column')} of {len(header):,} without a name: "
            f"{listed(bare)}. Every item needs an id: write them into the first "
            f"{source.unit}, or remove empty columns."
        )
    first: dict[str, int] = {}
    twice = []
    for position, name in enumerate(header, 1):
        other = first.setdefault(name.strip(), position)
        if other != position:
            spaces = "" if header[other - 1] == name else " (but for white space)"
            twice.append(f"{name.strip()} in columns {other:,} and {position:,}{spaces}")
    if twice and set(map(str.strip, header)) <= {"0", "1", "0.0", "1.0", ""}:
        raise source.error(
            "the first line holds scores instead of names. Write a header: a name for the first "
            "column and the id of every item."
        )
    if twice and unique:
        raise source.error(
            f"{counted(len(twice), 'column name')} used twice: {listed(twice)}. Ids must be "
            "unique (white space around them does not count): rename or remove one of each."
        )
