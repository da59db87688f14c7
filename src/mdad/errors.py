"""Every error this package raises on purpose."""

from __future__ import annotations

__all__ = [
    "BackendError",
    "FormatError",
    "MdadError",
    "MethodError",
    "ResultsError",
    "ScoresError",
    "SettingError",
    "UnknownIdError",
]


class MdadError(Exception):
    """Base of every error this package raises on purpose.

    The text is one paragraph: what is wrong, what was found, where, and what to do about it.
    """


class SettingError(MdadError, ValueError):
    """An argument or option has a value it cannot have."""


class ScoresError(MdadError, ValueError):
    """Scores cannot be what they are said to be: shape, ids, range, missing cells."""


class FormatError(MdadError, ValueError):
    """A file cannot be read as what it is taken for."""


class UnknownIdError(MdadError, KeyError):
    """A model, item or subtask was asked for that is not there."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message, quotes and all.
        return str(self.args[0]) if self.args else ""


class MethodError(MdadError, ValueError):
    """A method cannot do what was asked of it."""


class ResultsError(MdadError, ValueError):
    """Stored results are damaged or belong to another experiment."""


class BackendError(MdadError, RuntimeError):
    """The workers that should do the runs cannot be had, or died."""
