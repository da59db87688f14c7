"""Trying again: what may pass with time, how long to wait, and what will not pass."""

from __future__ import annotations

import errno
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.error import HTTPError

from mdad.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DamagedError", "Gate", "GoneError", "TryLaterError", "attempted"]

T = TypeVar("T")
Reason = Literal["gone", "gated"]

PAUSE = 1.0
"""Seconds before the second attempt; doubled for each further one."""

MAX_PAUSE = 600.0
TOO_MANY = 429
PASSING = frozenset({408, 425, TOO_MANY, 500, 502, 503, 504})
"""HTTP status codes that pass with time."""

_DISK = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}
)
_NETWORK = frozenset({"requests", "urllib3", "httpx", "httpx2", "httpcore", "httpcore2", "http"})


class GoneError(Exception):
    """What was asked for is not there for us, and will not be by waiting."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class TryLaterError(Exception):
    """It did not work in all attempts; it may another time."""


class DamagedError(Exception):
    """What arrived is not what the hub says it is."""


@dataclass
class Gate:
    """All downloads wait when the hub asks one of them to, and end when they are told to."""

    opens: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait until requests are welcome again.

        Raises
        ------
        TryLaterError
            when all was stopped.
        """
        while (left := self.opens - time.monotonic()) > 0:
            self.pause(left)
        self.pause(0)

    def pause(self, seconds: float) -> None:
        """Wait so long; errors as of :meth:`wait`."""
        if self.stopped.wait(seconds):
            raise TryLaterError("it was stopped")

    def close(self, seconds: float) -> None:
        """Let nobody pass for so long."""
        with self.lock:
            self.opens = max(self.opens, time.monotonic() + seconds)


def attempted(
    call: Callable[[], T], gate: Gate, attempts: int, reached: Callable[[], int] = int
) -> T:
    """The result of a call to the hub, tried again while what goes wrong may pass.

    Parameters
    ----------
    attempts : in a row that come no further
    reached : how far the call has come

    Raises
    ------
    GoneError
        when it is not there for us.
    TryLaterError
        after the last attempt, with what went wrong in it.
    FormatError
        when the disk refuses.
    """
    number, furthest = 0, reached()
    while True:
        gate.wait()
        try:
            return call()
        except TryLaterError:
            raise
        except Exception as error:
            text = _passing(error)
            number = 1 if reached() > furthest else number + 1
            furthest = max(furthest, reached())
            if number >= attempts:
                raise TryLaterError(text) from error
            asked = _retry_after(error)
            pause = min(PAUSE * 2 ** (number - 1), MAX_PAUSE) if asked is None else asked
            if _status(error) == TOO_MANY:
                gate.close(pause)
            else:
                gate.pause(pause)


def _passing(error: Exception) -> str:
    """What went wrong, when it may pass; else the error that says it will not."""
    from huggingface_hub import errors as hub  # noqa: PLC0415  # an extra

    if isinstance(error, hub.GatedRepoError):
        raise GoneError("gated", "access must be asked for on the hub, and HF_TOKEN set") from None
    if isinstance(error, hub.RepositoryNotFoundError):
        raise GoneError("gone", "there is no such data set, or it is private") from None
    if isinstance(error, hub.HFValidationError):
        raise GoneError("gone", "its name cannot be that of a data set") from None
    if isinstance(error, DamagedError):
        return str(error)
    status = _status(error)
    if status in PASSING:
        return f"the hub answers {status}"
    if isinstance(error, hub.DisabledRepoError) or (status is not None and status < 500):  # noqa: PLR2004
        raise GoneError("gone", f"the hub answers {status}") from None
    if isinstance(error, OSError) and error.errno in _DISK:
        raise FormatError(f"cannot write what is fetched: {error.strerror}.") from None
    if status is not None or _of_the_network(error):
        return f"the connection failed ({_first_line(error)})"
    raise error


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    while error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__ or error
    return found


def _of_the_network(error: Exception) -> bool:
    return any(
        isinstance(each, OSError | EOFError | ValueError)
        or type(each).__module__.split(".")[0] in _NETWORK
        for each in _causes(error)
    )


def _answer(error: Exception) -> tuple[int | None, Any]:
    """Status and headers of the answer behind an error, if there was one."""
    for each in _causes(error):
        if isinstance(each, HTTPError):
            return each.code, each.headers
        response = getattr(each, "response", None)
        status = getattr(response, "status_code", None)
        if isinstance(status, int):
            return status, getattr(response, "headers", {})
    return None, {}


def _status(error: Exception) -> int | None:
    return _answer(error)[0]


def _retry_after(error: Exception) -> float | None:
    """Seconds the hub asks to wait."""
    headers = _answer(error)[1]
    try:
        return min(max(float(headers.get("Retry-After", "")), 0.0), MAX_PAUSE)
    except ValueError:
        return None


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:120]}" if text else type(error).__name__
