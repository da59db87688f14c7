"""What was read from evaluation logs, what was chosen and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mdad._checks import MAX_SHOWN, counted, listed

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

__all__ = ["LoadReport", "Loaded", "ModelFacts"]

LOW_COVERAGE = 0.95


class ModelFacts(msgspec.Struct, frozen=True):
    """One model in a load report.

    Parameters
    ----------
    name : of the model
    n_items : items it was scored on
    coverage : that as a share of all items
    mean : its mean score over them, in the unit of the scores; None without any
    files : how many files it was read from; 0 when that is not known
    """

    name: str
    n_items: int
    coverage: float
    mean: float | None
    files: int = 0


class LoadReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, chosen and left out, in plain sentences and counts.

    Parameters
    ----------
    format : the format the path was read as
    n_files : files read
    n_ignored : files below the path that are no part of this format
    models : one entry per model, in the order of the matrix
    n_items : items of the matrix
    subtasks : number of items of each subtask; empty without subtasks
    metric : what is taken as the score, where the format has one
    used : what was taken as the score: metric, filter or scorer to its values, each with the
        subtasks it was used for
    chosen : what was chosen among several, one sentence each
    dropped : what was left out and why, one sentence each
    suspicious : what a reader should look at before trusting the scores, one sentence each
    n_errors : bad records that were left out (lenient mode only)
    errors : the first five of them, with file and line
    cached : whether the matrix came from the cache
    """

    format: str
    n_files: int = 1
    n_ignored: int = 0
    models: tuple[ModelFacts, ...] = ()
    n_items: int = 0
    subtasks: dict[str, int] = {}
    metric: str = ""
    used: dict[str, dict[str, list[str]]] = {}
    chosen: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    suspicious: tuple[str, ...] = ()
    n_errors: int = 0
    errors: tuple[str, ...] = ()
    cached: bool = False


class Loaded(NamedTuple):
    """A score matrix and the report of how it was read."""

    scores: ScoreMatrix
    report: LoadReport


def facts_of(scores: ScoreMatrix, files: dict[str, int] | None = None) -> tuple[ModelFacts, ...]:
    """Items, coverage and mean of every model."""
    found = []
    for row, model in enumerate(scores.models):
        values = scores.values[row]
        scored = values[~np.isnan(values)]
        mean = float(scored.mean(dtype=np.float64)) if scored.size else None
        n_files = (files or {}).get(model, 0)
        found.append(ModelFacts(model, scored.size, scored.size / scores.n_items, mean, n_files))
    return tuple(found)


def suspicions(scores: ScoreMatrix, facts: tuple[ModelFacts, ...]) -> list[str]:
    """Models that look like a broken run: everything right, everything wrong, much missing."""
    low, high = scores.score_range
    found = []
    for what, value in (("lowest", low), ("highest", high)):
        names = [model.name for model in facts if model.mean == value]
        if names and scores.n_items > 1:
            found.append(
                f"{counted(len(names), 'model')} with the {what} possible score on every item: "
                f"{listed(names)}"
            )
    little = [model.name for model in facts if model.coverage < LOW_COVERAGE]
    if little:
        found.append(
            f"{counted(len(little), 'model')} scored on less than {LOW_COVERAGE:.0%} of the items: "
            f"{listed(little)}"
        )
    return found


def report_of(scores: ScoreMatrix, *, format: str) -> LoadReport:  # noqa: A002  # as in load
    """The report of a matrix about whose files nothing is known."""
    facts = facts_of(scores)
    return LoadReport(
        format=format,
        models=facts,
        n_items=scores.n_items,
        subtasks=subtask_sizes(scores),
        suspicious=tuple(suspicions(scores, facts)),
    )


def subtask_sizes(scores: ScoreMatrix) -> dict[str, int]:
    """Number of items of each subtask; empty without subtasks."""
    if scores.subtasks is None:
        return {}
    return {name: len(columns) for name, columns in scores.subtask_positions.items()}


def first_of(texts: list[str]) -> tuple[str, ...]:
    """The first five."""
    return tuple(texts[:MAX_SHOWN])
