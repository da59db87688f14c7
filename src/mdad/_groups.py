"""Families of models: those that must not be on both sides of a grouped split."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mdad._checks import listed, suggestion
from mdad.errors import SettingError
from mdad.quality import copy_groups, near_pairs

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

__all__ = ["Grouping", "alike_groups", "grouping", "model_groups"]

IntArray = npt.NDArray[np.intp]

FAMILY = "family"

_KNOWN: WeakKeyDictionary[ScoreMatrix, dict[str, IntArray]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Grouping:
    """What the groups of a grouped split are of.

    Parameters
    ----------
    of : "column" of ``model_info``, "pattern" in the ids, or "answers": no family is known, and
        models that answer exactly or almost alike are together
    by : the column or pattern
    n_groups, n_several : groups, and those of more than one model
    """

    of: Literal["column", "pattern", "answers"]
    by: str
    n_groups: int
    n_several: int

    @property
    def known(self) -> bool:
        """Whether somebody said what a family is."""
        return self.of != "answers"


def grouping(scores: ScoreMatrix, by: str = "") -> Grouping:
    """What :func:`model_groups` makes groups of, and how many; parameters and errors as there."""
    sizes = np.bincount(model_groups(scores, by))
    column = _column(scores, by)
    of: Literal["column", "pattern", "answers"] = (
        "column" if column else "pattern" if by else "answers"
    )
    return Grouping(of, column or by, int((sizes > 0).sum()), int((sizes > 1).sum()))


def model_groups(scores: ScoreMatrix, by: str = "") -> IntArray:
    """A group number for each model; models of one number belong together.

    Parameters
    ----------
    scores : the whole matrix
    by : a column of ``model_info``; or a pattern (regular expression) with one group in brackets,
        whose match in a model's id names its family, as ``"^([^/]+)/"``; "" = the column "family"
        where there is one, else clusters of models that answer almost alike
        (:func:`mdad.quality.near_pairs`, joined where they overlap). A model without a value, or
        that the pattern does not match, is a group of its own.

    Returns
    -------
    int array of shape (n_models,)

    Raises
    ------
    SettingError
        when there is no such column and it is no such pattern.
    """
    known = _KNOWN.setdefault(scores, {})
    if by not in known:
        known[by] = _model_groups(scores, by)
    return known[by]


def _model_groups(scores: ScoreMatrix, by: str) -> IntArray:
    info, columns, column = scores.model_info, _columns(scores), _column(scores, by)
    if column and info is not None:
        # Read by position: the rows of model_info are those of the models.
        known = zip(info[column].tolist(), info[column].isna().tolist(), strict=True)
        return _numbers([None if absent else str(value) for value, absent in known])
    if not by:
        return alike_groups(scores)
    try:
        pattern = re.compile(by)
    except re.error as error:
        raise SettingError(f"groups={by!r} is no regular expression: {error}.") from None
    if pattern.groups != 1:
        hint = f" ({suggestion(by, columns)})" if columns else ""
        raise SettingError(
            f"groups must be a column of model_info{hint} or a pattern with one group in brackets, "
            f"such as '^([^/]+)/'; got {by!r}."
        )
    found = [pattern.search(model) for model in scores.models]
    if not any(found):
        raise SettingError(f"groups={by!r} matches no model id, such as {listed(scores.models)}.")
    return _numbers([None if match is None else match.group(1) for match in found])


def _columns(scores: ScoreMatrix) -> list[str]:
    info = scores.model_info
    return [] if info is None else [str(column) for column in info.columns]


def _column(scores: ScoreMatrix, by: str) -> str:
    """The column that names families; "" where none does."""
    column = by or FAMILY
    return column if column in _columns(scores) else ""


def _numbers(names: list[str | None]) -> IntArray:
    """A number for each name; None is like nothing else."""
    keys: dict[object, int] = {}
    return np.array(
        [keys.setdefault(n if name is None else name, len(keys)) for n, name in enumerate(names)],
        dtype=np.intp,
    )


def alike_groups(scores: ScoreMatrix) -> IntArray:
    """A group number for each model; models that answer exactly or almost alike have the same."""
    from scipy.sparse import csr_array  # noqa: PLC0415  # slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415  # slow to import

    alike = near_pairs(scores)
    for group in copy_groups(scores):
        rows = [scores.model_position[model] for model in group]
        alike[np.ix_(rows, rows)] = True
    numbers: IntArray = connected_components(csr_array(alike.astype(np.int8)), directed=False)[
        1
    ].astype(np.intp)
    return numbers
