"""Text files: bytes to lines to rows, with a message for everything that is not text."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from mdad.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._names import Source

MAX_LINE = 1 << 28
"""Characters in one line; 100,000 items with ids of 60 characters are 6 million."""

FREE_BYTES = 1 << 28
"""Bytes a compressed file may expand to whatever its size."""

MAX_RATIO = 200
"""Beyond that, a file may not expand more than this; tables of scores reach 10 to 30."""

READ_AHEAD = 1 << 18
"""Bytes read at once: lines of evaluation logs are longer than the usual 8 KiB."""

GZIP = b"\x1f\x8b"
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "vertical bar"}

_MAGIC = {
    b"PK\x03\x04": "a zip archive (perhaps a spreadsheet, .npz or .eval file)",
    b"\x93NUMPY": "a NumPy array, which has no ids",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x80\x03": "a pickle, which is never opened: it can run code",
    b"\x80\x04": "a pickle, which is never opened: it can run code",
    b"\x80\x05": "a pickle, which is never opened: it can run code",
    b"SQLite": "a database",
    b"\xff\xfe": "text in UTF-16 or UTF-32",
    b"\xfe\xff": "text in UTF-16",
}


class _Bounded(io.RawIOBase):
    """A decompressed stream that stops before a small file fills the memory or the day."""

    def __init__(self, raw: BinaryIO, size: int, source: Source) -> None:
        self._inner = gzip.GzipFile(fileobj=raw, mode="rb")
        self._limit = max(FREE_BYTES, size * MAX_RATIO)
        self._source = source
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        self._read += len(data)
        if self._read > self._limit:
            raise self._source.error(
                f"the compressed file expands to more than {self._limit:,} bytes, over "
                f"{MAX_RATIO} times its size, which no table of scores does. If it is one, "
                "decompress it first and load the plain file."
            )
        return len(data)


@contextmanager
def opened(path: Path, source: Source) -> Iterator[io.BufferedReader[Any]]:
    """The bytes of a file, decompressed when they begin as gzip does.

    Raises
    ------
    FormatError
        when the file cannot be read to its end.
    """
    try:
        with io.BufferedReader(path.open("rb", buffering=0), READ_AHEAD) as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            if packed:
                bounded = _Bounded(raw, path.stat().st_size, source)
                yield io.BufferedReader(bounded, 1 << 16)
            else:
                yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise source.error(
            "the gzip file is truncated or damaged. Copy or download it again."
        ) from error
    except OSError as error:
        if isinstance(error, FormatError):
            raise
        raise source.error(f"the file cannot be read: {error.strerror or error}.") from None


def head(path: Path, source: Source) -> bytes:
    """The first bytes of a file, known to be text or Parquet.

    Raises
    ------
    FormatError
        when it is empty or neither.
    """
    with opened(path, source) as stream:
        start = stream.read(1 << 12)
    if not start:
        raise empty_error(source)
    if start[:4] == b"PAR1":
        return start
    for magic, what in _MAGIC.items():
        if start.startswith(magic):
            raise source.error(f"this is {what}. Save the table as CSV in UTF-8.")
    if b"\0" in start:
        raise source.error(_BINARY)
    return start


def empty_error(source: Source) -> FormatError:
    """A file in which nothing is written."""
    return source.error(
        "the file is empty. A table has a header and a row for every model, item or score."
    )


def table_rows(
    path: Path, source: Source, given: str | None = None
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header of a delimited file, and the rows below it.

    Raises
    ------
    FormatError
        when the file is empty or split by another delimiter than expected.
    """
    first = next((line for line in lines(path, source) if line.strip()), None)
    if first is None:
        raise empty_error(source)
    delimiter = delimiter_of(path, source, first, given)
    body = rows(path, source, delimiter)
    header = next(body, (0, []))[1]
    if not header:
        raise empty_error(source)
    if len(header) == 1:
        raise source.error(
            f"the first line has one column only when split by {delimiter!r}. Give the "
            f"delimiter of the file: {', '.join(map(repr, DELIMITERS))}."
        )
    return header, body


_BINARY = (
    "the file has zero bytes in it: it is binary, or text in UTF-16. Save the table as CSV in "
    "UTF-8."
)


def lines(path: Path, source: Source) -> Iterator[str]:
    """The lines of a UTF-8 file, with their ends; a byte order mark is passed over.

    Raises
    ------
    FormatError
        when bytes are not UTF-8, a line has no end, or the file cannot be read.
    """
    try:
        with opened(path, source) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            number = 0
            while line := text.readline(MAX_LINE):
                number += 1
                if "\0" in line:
                    raise source.error(_BINARY)
                if len(line) == MAX_LINE:
                    raise source.error(f"{source.at(number)} is longer than {MAX_LINE:,} letters.")
                yield line
    except UnicodeDecodeError:
        raise _undecodable(path, source) from None


def _undecodable(path: Path, source: Source) -> FormatError:
    with opened(path, source) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return source.error(
                    f"{source.at(number)} is not UTF-8: byte 0x{byte:02x} at position "
                    f"{error.start + 1:,} (Latin-1 or Windows-1252 perhaps). Save the file as "
                    "UTF-8."
                )
    return source.error("the file is not UTF-8. Save it as UTF-8.")


def rows(path: Path, source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a delimited file with the line each begins on; empty lines are passed over.

    Raises
    ------
    FormatError
        when quotes do not match, and as :func:`lines`.
    """
    reader = csv.reader(lines(path, source), delimiter=delimiter, strict=True)
    start = 1
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise source.error(
            f"{source.at(start)} cannot be split into cells. Is a quotation mark not closed, or "
            "not doubled inside a quoted cell?"
        ) from error


def delimiter_of(path: Path, source: Source, first: str, given: str | None) -> str:
    """The delimiter: the one given, else by the file's name, else by its first line.

    Raises
    ------
    FormatError
        when the first line has another one.
    """
    if given is not None:
        return given
    suffixes = {suffix.lower() for suffix in path.suffixes}
    expected = "\t" if suffixes & {".tsv", ".tab"} else ","
    if expected in first:
        return expected
    for other, name in DELIMITERS.items():
        if other in first:
            raise source.error(
                f"the first line has no {DELIMITERS[expected]} but is split by {name}: wrong "
                f"delimiter. Load it with delimiter={other!r} (--delimiter), or save it with "
                f"{DELIMITERS[expected]}s."
            )
    raise source.error(
        f"the first line has one column only ({first.strip()[:60]!r}). A table has a first column "
        "of models and one column per item, or columns model, item and score."
    )
