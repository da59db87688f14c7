"""Untrusted files of evaluation logs: trees, JSON and JSON Lines, all bounded.

Nothing here follows a link out of the folder that was given, opens a network connection or runs
code from a file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, starmap
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mdad.errors import FormatError
from mdad.loaders._names import Source
from mdad.loaders._text import MAX_LINE, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

HEAD = 1 << 16
"""Bytes of a file that are looked at to know its format."""

FIRST_LINES = 20
BATCH = 128
CHUNK = 1 << 20
MAX_FILES = 200_000
MAX_DEPTH = 16
MAX_DOCUMENT = 1 << 32
"""Bytes of one JSON document, which is decoded whole."""

_BOM = b"\xef\xbb\xbf"
_ANY = msgspec.json.Decoder()
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|-?Infinity', re.DOTALL)
_ESCAPES = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
_LITERALS = {b"NaN": b"null", b"Infinity": b"1e308", b"-Infinity": b"-1e308"}


@dataclass(frozen=True)
class Tree:
    """The files below a folder, or one file; what ``detect`` and ``load`` of a format get.

    Parameters
    ----------
    root : the path as it was given
    files : its files in the order of their names, hidden ones left out
    outside : links that were not followed since they leave the folder or lead to folders
    """

    root: Path
    files: tuple[Path, ...]
    outside: tuple[str, ...] = ()
    _heads: dict[Path, bytes] = field(default_factory=dict, compare=False, repr=False)

    def shown(self, path: Path) -> str:
        """The name of a file in messages: below the root, with slashes."""
        inside = path != self.root and path.is_relative_to(self.root)
        return path.relative_to(self.root).as_posix() if inside else path.name

    def ending(self, *suffixes: str) -> tuple[Path, ...]:
        """The files whose names end so, ``.gz`` allowed."""
        ends = (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))
        return tuple(path for path in self.files if path.name.lower().endswith(ends))

    def head(self, path: Path) -> bytes:
        """The first 64 KiB of a file, decompressed; empty when it cannot be read."""
        if path not in self._heads:
            try:
                with opened(path, Source(path.name)) as stream:
                    self._heads[path] = stream.read(HEAD).removeprefix(_BOM)
            except FormatError:
                self._heads[path] = b""
        return self._heads[path]

    def first_record(self, path: Path) -> dict[str, Any]:
        """The first object in a JSON Lines file; empty when there is none in its first lines.

        A line longer than the head is not read to its end: its top-level names that stand in
        the head are given with the value None.
        """
        lines = self.head(path).split(b"\n")
        for number, line in enumerate(lines[:FIRST_LINES], 1):
            if number == len(lines) and len(self.head(path)) == HEAD:
                return _cut_object(line) if line.startswith(b"{") else {}
            try:
                found = decode(line, _ANY)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                return found
        return {}


def _cut_object(text: bytes) -> dict[str, Any]:
    """Top-level names of an object that is cut off."""
    names: dict[str, Any] = {}
    depth, start, inside, escaped = 0, -1, False, False
    for position, byte in enumerate(text):
        if inside:
            if escaped:
                escaped = False
            elif byte == ord("\\"):
                escaped = True
            elif byte == ord('"'):
                inside = False
                if depth == 1 and text[position + 1 : position + 3].lstrip()[:1] == b":":
                    names[text[start:position].decode("utf-8", "replace")] = None
        elif byte == ord('"'):
            inside, start = True, position + 1
        elif byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
    return names


def tree_of(path: Path) -> Tree:
    """The files of a path; hidden ones and links out of the folder are left out.

    Raises
    ------
    FormatError
        when there are too many or they lie too deep.
    """
    if not path.is_dir():
        return Tree(path, (path,))
    real = path.resolve()
    files: list[Path] = []
    outside: list[str] = []
    for place, folders, names in os.walk(path):
        here = path.__class__(place)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n not in links)
        if folders and len(here.relative_to(path).parts) >= MAX_DEPTH:
            raise FormatError(
                f"{path.name}: folders lie more than {MAX_DEPTH} deep. Give a folder nearer to "
                "the logs."
            )
        outside += [(here / name).relative_to(path).as_posix() for name in links]
        for name in sorted(names):
            file = here / name
            if name.startswith("."):
                continue
            if file.is_symlink() and not file.resolve().is_relative_to(real):
                outside.append(file.relative_to(path).as_posix())
            elif file.is_file():  # neither a pipe nor a device
                files.append(file)
        if len(files) > MAX_FILES:
            raise FormatError(
                f"{path.name}: there are more than {MAX_FILES:,} files below this folder. Give a "
                "folder that holds only the logs."
            )
    return Tree(path, tuple(files), tuple(sorted(outside)))


def decode(data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """One JSON value of the decoder's type, with the liberties that Python's writer takes.

    Raises
    ------
    ValueError
        when it is not JSON or not of the type (the text says what is wrong).
    RecursionError
        when it is nested deeper than the interpreter allows.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        mended = _TOKENS.sub(_plain, data.decode("utf-8", "replace").encode())
        if mended == data:
            raise
        return decoder.decode(mended)


def _plain(token: re.Match[bytes]) -> bytes:
    """A token as standard JSON has it.

    Python's own writer puts NaN, Infinity and half surrogates into files; msgspec is right to
    refuse them, but they may stand in fields nobody asked for. NaN is "not scored", which is
    null; an infinite score stays out of every range; no id may hold U+FFFD.
    """
    text = token[0]
    if text.startswith(b'"'):
        return _ESCAPES.sub(lambda each: b"\\ufffd" if each[2] else each[0], text)
    return _LITERALS[text]


def why_not(error: Exception) -> str:
    """What a decoding error means, to be put behind the place it happened."""
    if isinstance(error, RecursionError):
        return "is nested too deeply."
    if isinstance(error, msgspec.ValidationError):
        return f"is not as it should be: {error}."
    return f"is not valid JSON ({error}); is the file cut off?"


def json_document(path: Path, source: Source, decoder: msgspec.json.Decoder[T]) -> T:
    """A file that holds one JSON value.

    Raises
    ------
    FormatError
        when it cannot be read, is too large, or not of the decoder's type.
    """
    with opened(path, source) as stream:
        data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise source.error(f"one JSON document of more than {MAX_DOCUMENT:,} bytes is not read.")
    return document(data, source, decoder)


def document(data: bytes, source: Source, decoder: msgspec.json.Decoder[T]) -> T:
    """One JSON value that was read already.

    Raises
    ------
    FormatError
        when it is not of the decoder's type.
    """
    try:
        return decode(data.removeprefix(_BOM), decoder)
    except (ValueError, RecursionError) as error:
        raise source.error(f"the document {why_not(error)}") from None


def json_lines(
    path: Path, source: Source, decoder: msgspec.json.Decoder[T]
) -> Iterator[tuple[int, T | str]]:
    """The records of a JSON Lines file with their lines; a text says why one is none.

    Empty lines are passed over. What is done about a text is the caller's choice
    (:meth:`mdad.loaders._logs.Findings.bad`).

    Raises
    ------
    FormatError
        when the file cannot be read or a line has no end.
    """
    for lines, rows in json_batches(path, source, decoder):
        yield from zip(lines, rows, strict=True)


def json_batches(
    path: Path, source: Source, decoder: msgspec.json.Decoder[T]
) -> Iterator[tuple[Sequence[int], Sequence[T | str]]]:
    """The same in batches: lines, and what stands there.

    Raises
    ------
    FormatError
        as :func:`json_lines`.
    """
    # Measured: line by line from a large buffer is twice as fast as decode_lines of a block.
    plain = decoder.decode
    with opened(path, source) as stream:
        texts = enumerate(iter(partial(stream.readline, MAX_LINE), b""), 1)
        while batch := list(islice(texts, BATCH)):
            rows: list[T | str]
            lines: Sequence[int] = range(batch[0][0], batch[-1][0] + 1)
            try:
                rows = [plain(text) for _, text in batch]
            except (ValueError, RecursionError):
                kept = [(number, text) for number, text in batch if text.strip()]
                lines = [number for number, _ in kept]
                rows = list(starmap(partial(_row, source=source, decoder=decoder), kept))
            if lines:
                yield lines, rows


def _row(line: int, text: bytes, source: Source, decoder: msgspec.json.Decoder[T]) -> T | str:
    """A record, or why it is none."""
    if len(text) >= MAX_LINE:
        raise source.error(f"{source.at(line)} is longer than {MAX_LINE:,} bytes.")
    if line == 1:
        text = text.removeprefix(_BOM)
    try:
        return decode(text, decoder)
    except (ValueError, RecursionError) as error:
        return why_not(error)
