"""Summaries kept beside the results they are of: reading one is faster than computing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mdad._files import write_atomically
from mdad._version import __version__
from mdad.errors import ResultsError
from mdad.report.summary import AuditSummary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdad.results import Spec

__all__ = ["keep_summary", "kept_summary"]

NAME = "summary.json"


def keep_summary(summary: AuditSummary, folder: Path) -> None:
    """Write ``summary.json`` beside results.

    Raises
    ------
    ResultsError
        when it cannot be written.
    """
    document = msgspec.json.format(msgspec.json.encode(summary.to_dict()), indent=2)
    try:
        write_atomically(folder / NAME, document + b"\n")
    except OSError as error:
        raise ResultsError(f"cannot write the summary to {folder}: {error.strerror}.") from None


def kept_summary(folder: Path, specs: Sequence[Spec], how: dict[str, Any]) -> AuditSummary | None:
    """The summary in a folder, if it is of these very results, settings and version.

    Parameters
    ----------
    folder : of results
    specs : of the results of every split
    how : rule, threshold, ties, level and unit that are asked for
    """
    try:
        kept = msgspec.json.decode((folder / NAME).read_bytes(), type=AuditSummary)
    except (OSError, msgspec.MsgspecError):
        return None
    ours = [msgspec.json.decode(spec.to_json()) for spec in specs]
    same = (
        [part.spec for part in kept.splits] == ours
        and all(spec.version == __version__ for spec in specs)
        and all(getattr(part, name) == value for part in kept.splits for name, value in how.items())
    )
    return kept if same else None
