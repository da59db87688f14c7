"""What several methods of one run ask of the same scores, computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from mdad._checks import counted
from mdad.errors import MethodError
from mdad.irt._ability import fit_ability
from mdad.irt._fit import DIMS, SWEEPS, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mdad.irt._model import IrtFit
    from mdad.scores import Aggregate, ScoreMatrix

FOLDS = 5
"""Every fifth source model is held out to see how far the model's predictions are off."""

_KNOWN: WeakKeyDictionary[ScoreMatrix, dict[Hashable, Any]] = WeakKeyDictionary()


def _once(scores: ScoreMatrix, key: Hashable, make: Callable[[], Any]) -> Any:
    # Nothing here is random, so what is remembered equals what would be computed again. It is
    # kept as long as this very matrix, which cannot change, is in use.
    known = _KNOWN.setdefault(scores, {})
    if key not in known:
        known[key] = make()
    return known[key]


def shared_fit(scores: ScoreMatrix, *, dims: int = DIMS, sweeps: int = SWEEPS) -> IrtFit:
    """:func:`fit`, done once for a matrix however many methods and sizes ask for it."""
    result: IrtFit = _once(
        scores, ("fit", dims, sweeps), lambda: fit(scores, dims=dims, sweeps=sweeps)
    )
    return result


def prediction_error(
    scores: ScoreMatrix,
    *,
    aggregate: Aggregate = "micro",
    dims: int = DIMS,
    sweeps: int = SWEEPS,
) -> float:
    """How far the model's prediction of unseen items' mean is off, in the unit of the scores.

    Every fifth model is held out, items are fitted to the others, each held-out model's ability to
    every second item, and its mean on the other items is predicted. (Models and items in the
    order of their ids.) The mean absolute error over held-out models, b in Polo et al. 2024.

    Raises
    ------
    MethodError
        when there are fewer than five models or two items, or a cell is missing.
    """
    if scores.n_models < FOLDS or scores.n_items < 2:  # noqa: PLR2004  # two halves of the items
        raise MethodError(
            f"to see how far its predictions are off the model needs {FOLDS} source models and 2 "
            f"items; got {counted(scores.n_models, 'model')}, {counted(scores.n_items, 'item')}."
        )
    result: float = _once(
        scores,
        ("error", aggregate, dims, sweeps),
        lambda: _prediction_error(scores.sorted(), aggregate, dims, sweeps),
    )
    return result


def _prediction_error(scores: ScoreMatrix, aggregate: Aggregate, dims: int, sweeps: int) -> float:
    held_out = scores.models[::FOLDS]
    rest = [model for model in scores.models if model not in set(held_out)]
    fitted = fit(scores.restrict(models=rest), dims=dims, sweeps=sweeps)
    values = scores.restrict(models=held_out).values.astype(np.float64)
    ability = fit_ability(fitted, values[:, ::2], scores.items[::2]).ability
    weights = scores.item_weights(aggregate)[1::2]
    gap = (fitted.predict(ability) - values)[:, 1::2] @ (weights / weights.sum())
    return float(np.abs(gap).mean())
