"""What describes a stored score matrix beside its cells, checked when it is read back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mdad.errors import FormatError, MdadError, ScoresError
from mdad.scores import Kind, ScoreMatrix
from mdad.storage._arrow import arrow, arrow_errors, first_line

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "mdad-scores"
VERSION = 1


class Preamble(msgspec.Struct):
    """The part of a header that every version has."""

    format: str
    version: int


class Header(msgspec.Struct, kw_only=True):
    """Everything about a score matrix but its cells and its two tables."""

    format: str = FORMAT
    version: int = VERSION
    models: tuple[str, ...]
    items: tuple[str, ...]
    subtasks: tuple[str, ...] | None
    score_range: tuple[float, float]
    kind: Kind
    name: str
    simulated: bool
    checksum: str = ""


H = TypeVar("H", bound=Header)


def described(scores: ScoreMatrix) -> dict[str, Any]:
    """The fields of :class:`Header` that come from the matrix."""
    names = ("models", "items", "subtasks", "score_range", "kind", "name", "simulated")
    return {name: getattr(scores, name) for name in names}


def _digest(header: Header) -> str:
    bare = msgspec.structs.replace(header, checksum="")
    return hashlib.blake2b(msgspec.json.encode(bare), digest_size=16).hexdigest()


def encode(header: Header, *, pretty: bool = False) -> bytes:
    """The header as JSON, with a checksum of itself."""
    header.checksum = _digest(header)
    text = msgspec.json.encode(header)
    return msgspec.json.format(text, indent=1) + b"\n" if pretty else text


def decode(text: bytes, kind: type[H], where: str) -> H:
    """The header in ``text``.

    Raises
    ------
    FormatError
        when it is foreign, from a newer version, damaged or inconsistent.
    """
    try:
        start = msgspec.json.decode(text, type=Preamble)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise FormatError(
            f"{where} is not a score matrix written by mdad: its description is not the JSON it "
            "should be. If it was one, it is damaged: write it again from the original scores."
        ) from None
    if start.format != FORMAT:
        raise FormatError(
            f"{where} is not a score matrix written by mdad: its format is {start.format!r}, not "
            f"{FORMAT!r}."
        )
    if start.version != VERSION:
        raise FormatError(
            f"{where} is in version {start.version} of the format and this mdad reads version "
            f"{VERSION}. Update mdad, or write the scores again with this one."
        )
    try:
        header = msgspec.json.decode(text, type=kind)
        intact = _digest(header) == header.checksum
    except (msgspec.DecodeError, UnicodeError):
        intact = False
    if not intact:
        raise damaged(where, "its description does not match its own checksum")
    return header


def damaged(where: str, why: str) -> FormatError:
    return FormatError(
        f"{where} is damaged or was changed by another program: {why}. Write it again from the "
        "original scores."
    )


def info_to_parquet(kind: str, info: pd.DataFrame | None) -> bytes | None:
    """One of the two tables of a matrix as the bytes of a Parquet file.

    Raises
    ------
    ScoresError
        when a column holds something Parquet has no type for.
    """
    if info is None:
        return None
    pa, pq = arrow()
    try:
        table = pa.Table.from_pandas(info, preserve_index=True)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    except arrow_errors() as error:
        raise ScoresError(
            f"{kind}_info cannot be stored: {first_line(error)}. Give every column a "
            "name of its own and values of one type (text, numbers, dates)."
        ) from None
    stored: bytes = sink.getvalue().to_pybytes()
    return stored


def info_from_parquet(kind: str, stored: bytes | None, where: str) -> pd.DataFrame | None:
    """The table that :func:`info_to_parquet` stored.

    Raises
    ------
    FormatError
        when the bytes are damaged.
    """
    if stored is None:
        return None
    pa, pq = arrow()
    try:
        table = pq.read_table(pa.BufferReader(stored), page_checksum_verification=True)
        frame: pd.DataFrame = table.to_pandas()
    except arrow_errors():
        raise damaged(where, f"its {kind}_info is not a readable Parquet table") from None
    return frame


def rebuilt(header: Header, where: str, **parts: Any) -> ScoreMatrix:
    """The checked matrix of a header and its cells (``values``, ``probabilities``, infos).

    Raises
    ------
    FormatError
        when they do not fit together.
    """
    values = parts.pop("values")
    try:
        return ScoreMatrix(
            values,
            header.models,
            header.items,
            header.subtasks,
            score_range=header.score_range,
            kind=header.kind,
            name=header.name,
            simulated=header.simulated,
            **parts,
        )
    except MdadError as error:
        raise damaged(where, str(error).rstrip(".")) from None
