"""One small function per recurring check, so that wording and bounds agree everywhere."""

from __future__ import annotations

from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from mdad.errors import SettingError, UnknownIdError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MAX_SHOWN = 5
"""Offenders named in an error message; the rest are counted."""

MAX_SHOWN_LENGTH = 60


def shorten(text: object, length: int = MAX_SHOWN_LENGTH) -> str:
    """The repr of a value, cut in the middle when it is long.

    >>> shorten("a" * 100, 20)
    "'aaaaaaa...aaaaaaaa'"
    """
    shown = repr(text)
    if len(shown) <= length:
        return shown
    half = (length - 3) // 2
    return f"{shown[:half]}...{shown[-(length - 3 - half) :]}"


def listed(names: Iterable[object]) -> str:
    """Up to five values, quoted, and how many more there are.

    >>> listed(["q1", "q2"])
    "'q1', 'q2'"
    >>> listed(range(7))
    '0, 1, 2, 3, 4 and 2 more'
    """
    names = list(names)
    shown = ", ".join(shorten(name) for name in names[:MAX_SHOWN])
    return f"{shown} and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else shown


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun in the right number.

    >>> counted(1, "item"), counted(12032, "item")
    ('1 item', '12,032 items')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """``value`` as an int in [low, high].

    Raises
    ------
    SettingError
        when it is not a whole number or out of bounds.
    """
    bounds = f"of {low} or more" if high is None else f"from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise SettingError(f"{name} must be a whole number {bounds}; got {shorten(value)}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise SettingError(f"{name} must be a whole number {bounds}; got {number}.")
    return number


def check_jobs(n_jobs: Any) -> int:
    """A number of workers: 1 or more, or -1 for one per core.

    Raises
    ------
    SettingError
        when it is something else.
    """
    number = check_int("n_jobs", n_jobs, -1)
    if number == 0:
        raise SettingError("n_jobs must be 1 or more, or -1 for one per core; got 0.")
    return number


def check_real(name: str, value: Any, low: float, high: float, *, open_ends: bool = False) -> float:
    """``value`` as a float in [low, high], or in (low, high) with ``open_ends``.

    Raises
    ------
    SettingError
        when it is not a number or out of bounds.
    """
    inside = (
        not isinstance(value, bool)
        and isinstance(value, Real)
        and (low < float(value) < high if open_ends else low <= float(value) <= high)
    )
    if not inside:
        between = (
            f"strictly between {low:g} and {high:g}" if open_ends else f"in [{low:g}, {high:g}]"
        )
        raise SettingError(f"{name} must be a number {between}; got {shorten(value)}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """``value`` as one of ``choices``.

    Raises
    ------
    SettingError
        when it is none of them; names the nearest.
    """
    if value in choices:
        return str(value)
    raise SettingError(f"unknown {name} {shorten(value)}; {suggestion(str(value), choices)}.")


def suggestion(value: str, choices: Collection[str]) -> str:
    """A hint: the nearest choice and the whole list when it is short.

    >>> suggestion("randm", ["random", "lasso"])
    "did you mean 'random'? Known: 'lasso', 'random'"
    """
    near = get_close_matches(value, list(choices), n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = f"known: {', '.join(repr(choice) for choice in sorted(choices))}"
    return hint + (known.capitalize() if near else known)


def check_known(kind: str, wanted: Iterable[str], known: Collection[str], where: str) -> None:
    """Every wanted id is known.

    Raises
    ------
    UnknownIdError
        naming up to five that are not, with the nearest known id of the first.
    """
    missing = [name for name in wanted if name not in known]
    if not missing:
        return
    near = get_close_matches(str(missing[0]), [str(name) for name in known], n=1)
    hint = f" Nearest to the first: {near[0]!r}." if near else ""
    raise UnknownIdError(
        f"{counted(len(missing), kind)} not found in {where}, "
        f"which has {counted(len(known), kind)}: {listed(missing)}.{hint}"
    )
