"""Many small penalised logistic regressions at once, one Newton step at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MAX_MOVE = 2.0
"""Largest change of a logit in one step. A full Newton step from a saturated logit overshoots."""

MAX_LOGIT = 30.0
"""Beyond this a probability is 0 or 1 in float32 and the exponential may overflow."""


@dataclass(frozen=True, eq=False)
class Penalty:
    """A Normal prior with independent coefficients.

    Parameters
    ----------
    mean, precision : arrays of shape (n_coefficients,)
    """

    mean: Array
    precision: Array


def sigmoid(logits: Array) -> Array:
    """Logistic function; the argument is overwritten.

    >>> sigmoid(np.array([0.0, 1000.0])).round(3).tolist()
    [0.5, 1.0]
    """
    np.clip(logits, -MAX_LOGIT, MAX_LOGIT, out=logits)
    np.negative(logits, out=logits)
    np.exp(logits, out=logits)
    logits += 1
    np.reciprocal(logits, out=logits)
    return logits


def newton_step(
    coefficients: Array,
    design: Array,
    right: Array,
    scored: Array | None,
    offset: Array | None,
    penalty: Penalty,
) -> Array:
    """One Newton step of n_rows independent regressions that share a design.

    Row r maximises sum_j [y_rj eta_rj - log(1 + exp(eta_rj))] - penalty over its coefficients c_r,
    with eta_rj = c_r . design_j + offset_j. The weighted cross-products of all rows are one matrix
    product with the products of pairs of design columns.

    Parameters
    ----------
    coefficients : array of shape (n_rows, n_coefficients), where to start
    design : array of shape (n_observations, n_coefficients)
    right : array of shape (n_rows, n_observations), 0/1; 0 where not scored
    scored : array of the same shape, 1 = scored; None = all are
    offset : array of shape (n_observations,), or None
    penalty : on every row's coefficients

    Returns
    -------
    array of shape (n_rows, n_coefficients): new coefficients
    """
    residual, weight = _residual_and_weight(coefficients, design, right, scored, offset)
    gradient = residual @ design - (coefficients - penalty.mean) * penalty.precision
    step = np.linalg.solve(_hessian(weight, design, penalty), gradient[:, :, None])[:, :, 0]
    largest = np.abs(step @ design.T).max(axis=1, initial=0.0)
    shortened = np.maximum(largest / step.dtype.type(MAX_MOVE), step.dtype.type(1))
    result: Array = coefficients + step / shortened[:, None]
    return result


def hessian(
    coefficients: Array,
    design: Array,
    right: Array,
    scored: Array | None,
    offset: Array | None,
    penalty: Penalty,
) -> Array:
    """Negative second derivatives, shape (n_rows, n_coefficients, n_coefficients)."""
    weight = _residual_and_weight(coefficients, design, right, scored, offset)[1]
    return _hessian(weight, design, penalty)


def _residual_and_weight(
    coefficients: Array, design: Array, right: Array, scored: Array | None, offset: Array | None
) -> tuple[Array, Array]:
    logits = coefficients @ design.T
    if offset is not None:
        logits += offset
    chance = sigmoid(logits)
    residual = right - chance
    weight = chance
    weight -= chance * chance
    if scored is not None:
        residual *= scored
        weight *= scored
    return residual, weight


def _hessian(weight: Array, design: Array, penalty: Penalty) -> Array:
    size = design.shape[1]
    first, second = np.triu_indices(size)
    products = weight @ (design[:, first] * design[:, second])
    result = np.empty((len(weight), size, size), dtype=design.dtype)
    result[:, first, second] = products
    result[:, second, first] = products
    diagonal = np.arange(size)
    result[:, diagonal, diagonal] += penalty.precision
    return result
