"""Writing whole files and whole directories, or nothing."""

from __future__ import annotations

import shutil
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mdad.errors import FormatError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator


def prepared(path: str | os.PathLike[str]) -> Path:
    """The target as a path, once its parent is known to be a directory.

    Raises
    ------
    SettingError
        when the folder it should be written into does not exist.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise SettingError(
            f"{str(target)!r} cannot be written: the folder {str(target.parent)!r} does not "
            "exist. Make it first."
        )
    return target


def _sibling(target: Path) -> Path:
    return target.parent / f".{target.name}.{uuid.uuid4().hex[:12]}.tmp"


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary sibling to write to; takes the place of ``path`` only on success."""
    target = prepared(path)
    if target.is_dir():
        raise SettingError(f"{str(target)!r} is a folder; give the name of a file to write.")
    temporary = _sibling(target)
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_directory(
    path: str | os.PathLike[str], is_ours: Callable[[Path], bool]
) -> Iterator[Path]:
    """A temporary sibling directory to fill; takes the place of ``path`` only on success.

    Raises
    ------
    SettingError
        when something that is not an older version of the same thing is in its place.
    """
    target = prepared(path)
    taken = target.exists() or target.is_symlink()
    empty = target.is_dir() and not any(target.iterdir())
    if taken and not empty and not is_ours(target):
        raise SettingError(
            f"{str(target)!r} exists and is not a score matrix written by mdad; it is left "
            "alone. Choose another name or remove it first."
        )
    temporary = _sibling(target)
    temporary.mkdir()
    try:
        yield temporary
        if taken:
            # A directory cannot be replaced in one step everywhere: the old one steps aside.
            old = _sibling(target)
            target.rename(old)
            temporary.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_bytes(path: Path, what: str) -> bytes:
    """The bytes of a file.

    Raises
    ------
    FormatError
        when it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(
            f"{what} of {str(path.parent)!r} cannot be read: {error.strerror or error}."
        ) from None
