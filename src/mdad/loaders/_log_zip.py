"""Zip archives of evaluation logs: bounded, and never extracted."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mdad.errors import FormatError
from mdad.loaders._log_files import CHUNK, MAX_FILES
from mdad.loaders._text import FREE_BYTES, MAX_RATIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._names import Source

ZSTANDARD = 93
LOCAL_HEADER = 30
"""Bytes in front of a member of a zip archive, before its name."""


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
