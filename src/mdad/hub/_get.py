"""One file over HTTP, gone on with where it broke off, and checked before it counts.

huggingface_hub gives up what it has of a file when a process ends; these files are large.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from mdad.errors import SettingError
from mdad.hub._again import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPMessage
    from pathlib import Path
    from typing import IO

__all__ = ["check", "check_address", "pull"]

CHUNK = 1 << 20
PARTIAL = 206


class _Redirect(HTTPRedirectHandler):
    """Follows the hub to where large files lie, and leaves the token behind."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            made.remove_header("Authorization")
        return made


def check_address(address: str) -> str:
    """An address of the web.

    Raises
    ------
    SettingError
        when it is none.
    """
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise SettingError(f"HF_ENDPOINT must begin with http:// or https://; got {address!r}.")
    return address.rstrip("/")


def pull(
    url: str,
    headers: dict[str, str],
    target: Path,
    size: int,
    *,
    timeout: float,
    between: Callable[[], None],
) -> None:
    """Bring what is missing of a file of so many bytes.

    Parameters
    ----------
    timeout : seconds without a byte after which the connection is given up
    between : called between two pieces; it may raise to stop

    Raises
    ------
    DamagedError
        when it broke off; what came is kept.
    """
    begun = target.stat().st_size if target.exists() else 0
    if begun >= size > 0:
        return
    asked = {**headers, "Range": f"bytes={begun}-"} if begun else headers
    request = Request(url, headers=asked)  # noqa: S310  # check_address has seen it
    with build_opener(_Redirect).open(request, timeout=timeout) as answer:
        goes_on = bool(begun) and answer.status == PARTIAL
        with target.open("ab" if goes_on else "wb") as stream:
            while piece := answer.read1(CHUNK):
                stream.write(piece)
                between()
    found = target.stat().st_size
    if found < size:
        raise DamagedError(f"it broke off after {found:,} of {size:,} bytes")


def check(path: Path, *, size: int, sha256: str, blob: str) -> None:
    """Compare a file with what the hub says of it; remove it when it is another.

    Raises
    ------
    DamagedError
        when it is.
    """
    if sha256:
        digest, wanted = hashlib.sha256(), sha256
    else:
        digest, wanted = hashlib.sha1(usedforsecurity=False), blob
        digest.update(b"blob %d\0" % size)
    found = path.stat().st_size
    if found == size:
        with path.open("rb") as stream:
            while piece := stream.read(CHUNK):
                digest.update(piece)
    if found != size or digest.hexdigest() != wanted:
        path.unlink()
        raise DamagedError("it arrived with another content than the hub has")
