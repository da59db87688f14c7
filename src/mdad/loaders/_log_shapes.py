"""What small log formats share: knowing a file by its names, and a model by its file.

Formats that keep one JSON document or a few lines per model differ only in the names they use.
They are known by those names in the first 64 KiB of a file, whatever the file is called.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mdad._checks import check_choice, listed
from mdad.errors import FormatError
from mdad.loaders._log_files import HEAD
from mdad.loaders._names import Source
from mdad.loaders._text import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mdad.loaders._log_files import Tree

Shape = tuple[str, frozenset[str]]
"""How a file begins ("{" or "[" or ""), and the names of its first object."""

LOOKED_AT = 200
"""Files a format is looked for in; further ones are read only once the format is known."""

ERRORS = ("missing", "wrong")
"""What an item that ended with an error may count as."""

NO_SHAPE: Shape = ("", frozenset())

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]')
_ENDING = re.compile(r"\.(json|jsonl|jsonlines|ndjson|npy|csv)$", re.IGNORECASE)


@lru_cache(maxsize=512)
def shape_of(head: bytes) -> Shape:
    """How JSON begins, and the names of its first object (or of the first object of its list).

    All formats ask this of the same files, one after the other; hence the cache.

    >>> shape_of(b'[{"id": 1, "of": {"inner": 2}}, {"other": 3}]') == ("[", {"id", "of"})
    True
    """
    text = head.lstrip()
    kind = text[:1].decode("latin-1")
    if kind not in {"{", "["} or text.lstrip(b"[ \r\n\t")[:1] != b"{":
        return NO_SHAPE
    wanted = 1 if kind == "{" else 2
    names: set[str] = set()
    depth = 0
    for token in _TOKEN.finditer(text):
        string, colon = token.groups()
        if string is not None:
            if colon and depth == wanted:
                names.add(string.decode("utf-8", "replace"))
        elif token.group() in b"{[":
            depth += 1
        else:
            depth -= 1
            if depth < wanted and names:
                break
    return kind, frozenset(names)


def begins(tree: Tree, endings: Iterable[str], fits: Callable[[bytes], bool]) -> bool:
    """Whether one of the first files with these endings begins as wanted."""
    return any(fits(tree.head(path)) for path in tree.ending(*endings)[:LOOKED_AT])


def fitting(tree: Tree, endings: Iterable[str], fits: Callable[[bytes], bool]) -> list[Path]:
    """All files with these endings that begin as wanted; heads are not kept."""
    return [path for path in tree.ending(*endings) if fits(_peek(path))]


def _peek(path: Path) -> bytes:
    try:
        with opened(path, Source(path.name)) as stream:
            return stream.read(HEAD).removeprefix(b"\xef\xbb\xbf")
    except FormatError:
        return b""


def lines_with(*names: str) -> Callable[[bytes], bool]:
    """A test of how a file begins: JSON Lines whose first object has these names."""
    wanted = frozenset(names)

    def fits(head: bytes) -> bool:
        kind, found = shape_of(head)
        return kind == "{" and wanted <= found

    return fits


def some_files(tree: Tree, files: list[Path], what: str) -> list[Path]:
    """The files, of which there is at least one.

    Raises
    ------
    FormatError
        when there is none.
    """
    if not files:
        raise FormatError(f"{tree.root.name}: there is no {what} in it.")
    return files


def stem(path: Path, *endings: str) -> str:
    """The name of a file without ``.json`` and the like, and without an ending of its format.

    >>> from pathlib import Path
    >>> stem(Path("gpt-4.1_temp_0.0_eval_results.json"), "_eval_results")
    'gpt-4.1_temp_0.0'
    """
    name = _ENDING.sub("", re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE))
    for ending in endings:
        if name.endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return name


def model_of(tree: Tree, path: Path, generic: Iterable[str], *endings: str) -> str:
    """The model a file is about: its name, or the nearest folder's where that says nothing.

    Parameters
    ----------
    generic : names of files and folders that name no model
    endings : parts of the file's name behind the model

    Raises
    ------
    FormatError
        when neither the file nor a folder names a model.
    """
    generic = frozenset(generic)
    name = stem(path, *endings)
    if name not in generic:
        return name
    top = tree.root.absolute()
    for folder in path.absolute().parents:
        if folder.name and folder.name not in generic:
            return folder.name
        if folder == top and path != tree.root:
            break
    raise FormatError(
        f"{tree.shown(path)}: neither the file nor its folder names the model ({listed([name])}). "
        "Rename the file, or put it into a folder with the model's name."
    )


def number_of(value: Any) -> float | None:
    """A JSON number, True or False as a float; NaN for null; None for anything else.

    >>> number_of(True), number_of(None), number_of("1"), number_of([1])
    (1.0, nan, None, None)
    """
    if value is None:
        return math.nan
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:  # an integer of more than 308 digits
        return math.inf


def no_number(what: str, value: Any) -> str:
    """Why a value is no score."""
    kind = type(value).__name__
    if isinstance(value, list):
        kind = f"list of {len(value)}"
    return (
        f"has {what} of the kind {kind}, not a number, true or false. A score is one number for "
        "each item (null where it was not scored); nothing is guessed or averaged."
    )


def error_score(errors: str) -> float:
    """The score of an item that ended with an error."""
    check_choice("errors", errors, ERRORS)
    return 0.0 if errors == "wrong" else float("nan")


def beside(path: Path, name: str) -> Path | None:
    """A file in the same folder; None when it is not there or a link that leads elsewhere."""
    found = path.with_name(name)
    try:
        inside = found.resolve().parent == path.parent.resolve()
    except (OSError, ValueError):
        return None
    return found if inside and found.is_file() else None


def folder_name(path: Path, up: int = 1) -> str:
    """The name of the folder a file is in, or of one further up."""
    parents = path.absolute().parents
    return parents[up - 1].name if len(parents) >= up else ""
