"""Untrusted files of evaluation logs: trees, JSON, JSON Lines and zip archives, all bounded.

Nothing here follows a link out of the folder that was given, extracts an archive, opens a
network connection or runs code from a file.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mdad.errors import FormatError
from mdad.loaders._names import Source
from mdad.loaders._text import FREE_BYTES, MAX_LINE, MAX_RATIO, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

T = TypeVar("T")

HEAD = 1 << 16
"""Bytes of a file that are looked at to know its format."""

FIRST_LINES = 20
CHUNK = 1 << 20
MAX_FILES = 200_000
MAX_DEPTH = 16
ZSTANDARD = 93
LOCAL_HEADER = 30
"""Bytes in front of a member of a zip archive, before its name."""
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
    line = 1
    for block in _blocks(path, source):
        n_lines = block.count(b"\n")
        whole = None
        if b"\n\n" not in block and not block.startswith(b"\n"):
            # A block at a time; one line at a time only where something is wrong with it.
            try:
                whole = decoder.decode_lines(block)
            except (ValueError, RecursionError):
                whole = None
        if whole is not None and len(whole) == n_lines:
            yield from enumerate(whole, line)
        else:
            yield from _one_by_one(block, line, decoder)
        line += n_lines


def _one_by_one(
    block: bytes, first: int, decoder: msgspec.json.Decoder[T]
) -> Iterator[tuple[int, T | str]]:
    for number, text in enumerate(block.split(b"\n"), first):
        if text.strip():
            try:
                yield number, decode(text, decoder)
            except (ValueError, RecursionError) as error:
                yield number, why_not(error)


def _blocks(path: Path, source: Source) -> Iterator[bytes]:
    """Pieces of whole lines, each line with its end."""
    kept: list[bytes] = []
    size = 0
    with opened(path, source) as stream:
        first = True
        while piece := stream.read(CHUNK):
            if first:
                piece, first = piece.removeprefix(_BOM), False
            end = piece.rfind(b"\n") + 1
            if end:
                yield b"".join([*kept, piece[:end]])
                kept, size = [], 0
            kept.append(piece[end:])
            size += len(piece) - end
            if size > MAX_LINE:
                raise source.error(f"a line is longer than {MAX_LINE:,} bytes.")
    rest = b"".join(kept)
    if rest.strip():
        yield rest + b"\n"


class Archive:
    """A zip archive of which members are read into memory, never extracted."""

    def __init__(self, inner: zipfile.ZipFile, size: int, source: Source) -> None:
        self._inner, self._source = inner, source
        self._limit = max(FREE_BYTES, size * MAX_RATIO)
        self._read = 0
        self.names = tuple(info.filename for info in inner.infolist())
        if len(self.names) > MAX_FILES:
            raise source.error(f"the archive has more than {MAX_FILES:,} members.")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise source.error(f"the archive has the member {twice!r} more than once.")

    def read(self, name: str) -> bytes:
        """One member, inflated.

        Raises
        ------
        FormatError
            when it is not there or damaged, or the archive inflates beyond bounds.
        """
        left = self._limit - self._read
        try:
            info = self._inner.getinfo(name)
            if info.compress_type == ZSTANDARD:
                data = self._zstandard(info, left + 1)
            else:
                with self._inner.open(name) as stream:
                    data = stream.read(left + 1)
        except KeyError:
            raise self._source.error(f"the archive has no member {name!r}.") from None
        except (
            zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError,
            ValueError,
        ) as error:  # fmt: skip
            raise self._source.error(
                f"the member {name!r} cannot be read ({error}). Copy the file again."
            ) from None
        self._read += len(data)
        if len(data) > left:
            raise self._source.error(
                f"the archive inflates to more than {self._limit:,} bytes, over {MAX_RATIO} times "
                "its size, which no log does."
            )
        return data

    def _zstandard(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        """A member as Inspect packs it now, which Python reads from version 3.14 on."""
        file = self._inner.fp
        if file is None or info.flag_bits & 1:
            raise zipfile.BadZipFile("closed or encrypted")
        file.seek(info.header_offset)
        header = file.read(LOCAL_HEADER)
        if len(header) < LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
            raise zipfile.BadZipFile("no member where one should be")
        lengths = struct.unpack("<HH", header[26:30])  # of the name and of extra fields
        file.seek(sum(lengths), os.SEEK_CUR)
        from mdad.storage._arrow import arrow  # noqa: PLC0415  # slow to import

        pa, _ = arrow()
        packed = pa.BufferReader(file.read(info.compress_size))
        parts, size = [], 0
        with pa.CompressedInputStream(packed, "zstd") as stream:
            while size < limit and (part := stream.read(min(CHUNK, limit - size))):
                parts.append(part)
                size += len(part)
        data = b"".join(parts)
        if len(data) < limit and zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("its checksum is wrong")
        return data


@contextmanager
def archive(path: Path, source: Source) -> Iterator[Archive]:
    """The members of a zip file.

    Raises
    ------
    FormatError
        when it is none.
    """
    try:
        with zipfile.ZipFile(path) as inner:
            yield Archive(inner, path.stat().st_size, source)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise source.error(f"this is no readable zip archive ({error}).") from None
    except OSError as error:
        if isinstance(error, FormatError):
            raise
        raise source.error(f"the file cannot be read: {error.strerror or error}.") from None
