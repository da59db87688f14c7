"""Abilities of new models, given items that are already known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad._checks import check_known
from mdad.errors import MethodError
from mdad.irt._newton import Penalty, hessian, newton_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.irt._model import IrtFit

FloatArray = npt.NDArray[np.float64]

MAX_STEPS = 100
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Abilities:
    """Abilities of some models and how sure they are.

    Parameters
    ----------
    ability : array of shape (n_models, dims)
    information : array of shape (n_models, dims, dims), negative second derivatives of the log
        posterior at the ability: the items' information plus the prior's, 1 per dimension
    """

    ability: FloatArray
    information: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Inverse information (Laplace approximation), shape (n_models, dims, dims)."""
        return np.linalg.inv(self.information).astype(np.float64, copy=False)

    @property
    def standard_errors(self) -> FloatArray:
        """Of each ability, shape (n_models, dims); at most 1, the prior's standard deviation."""
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))


def fit_ability(
    fit: IrtFit, values: npt.ArrayLike, items: Sequence[str] | None = None
) -> Abilities:
    """Most probable abilities of models that were not part of the fit.

    The prior is standard Normal: new models are like the fitted ones, whose abilities have mean 0
    and variance 1.

    Parameters
    ----------
    fit : fitted items
    values : array of shape (n_models, n_items), 0/1; NaN = not scored, left out
    items : ids of the columns; all items of the fit when not given

    Raises
    ------
    MethodError
        when a score is neither 0, 1 nor NaN, or columns and ids differ in number.
    UnknownIdError
        when an item is not in the fit.

    Examples
    --------
    >>> from mdad.datasets import simulate
    >>> from mdad.irt import fit
    >>> scores = simulate(n_models=60, n_items=200, seed=1)
    >>> result = fit(scores, dims=1)
    >>> able, unable = fit_ability(result, [[1] * 20, [0] * 20], scores.items[:20]).ability
    >>> bool(able > unable)
    True
    """
    array, columns = _checked(fit, values, items)
    scored = ~np.isnan(array)
    right = np.where(scored, array, 0.0)
    mask = None if scored.all() else scored.astype(np.float64)
    design, offset = fit.discrimination[columns], -fit.logit_difficulty[columns]
    penalty = Penalty(np.zeros(fit.dims), np.ones(fit.dims))
    ability = np.zeros((len(array), fit.dims))
    for _ in range(MAX_STEPS):
        after = newton_step(ability, design, right, mask, offset, penalty)
        moved = np.abs(after - ability).max(initial=0.0)
        ability = after
        if moved < TOLERANCE:
            break
    return Abilities(ability, hessian(ability, design, right, mask, offset, penalty))


def _checked(
    fit: IrtFit, values: npt.ArrayLike, items: Sequence[str] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    array = np.asarray(values, dtype=np.float64)
    names = fit.items if items is None else tuple(items)
    if array.ndim != 2 or array.shape[1] != len(names):  # noqa: PLR2004  # a table
        raise MethodError(
            f"scores of new models must have one row per model and one column for each of the "
            f"{len(names):,} items; got an array of shape {array.shape}."
        )
    if not ((array == 0) | (array == 1) | np.isnan(array)).all():
        raise MethodError(
            "an ability is fitted to scores that are right or wrong (0/1, NaN = not scored); "
            "some are neither."
        )
    position = {item: column for column, item in enumerate(fit.items)}
    check_known("item", names, position, "the fit")
    return array, np.array([position[name] for name in names], dtype=np.intp)
