"""What is there already: one small file for each model and benchmark, written last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mdad._files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FOLDER", "State", "read", "write"]

FOLDER = ".mdad-fetch"
"""Hidden, so that it is no part of the logs."""


class State(msgspec.Struct):
    """A model that was fetched.

    Parameters
    ----------
    revision : commit of its data set
    files : size here by name
    """

    revision: str
    files: dict[str, int]


def read(state: Path, folder: Path) -> State | None:
    """What was fetched of a model, when all of it is still there."""
    try:
        found = msgspec.json.decode(state.read_bytes(), type=State)
        whole = all((folder / name).stat().st_size == size for name, size in found.files.items())
    except (OSError, msgspec.MsgspecError):
        return None
    return found if whole and found.files else None


def write(state: Path, revision: str, files: dict[str, int]) -> None:
    """Say that a model is there."""
    state.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(state, msgspec.json.encode(State(revision, files)))
