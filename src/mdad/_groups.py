"""Families of models: those that must not be on both sides of a grouped split."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mdad._checks import listed, suggestion
from mdad.errors import SettingError
from mdad.quality import copy_groups, near_pairs

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

__all__ = ["alike_groups", "model_groups"]

IntArray = npt.NDArray[np.intp]

FAMILY = "family"

_KNOWN: WeakKeyDictionary[ScoreMatrix, dict[str, IntArray]] = WeakKeyDictionary()


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
    info = scores.model_info
    columns = [] if info is None else [str(column) for column in info.columns]
    column = by or (FAMILY if FAMILY in columns else "")
    if column in columns and info is not None:
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
