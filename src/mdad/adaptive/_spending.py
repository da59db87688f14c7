"""Boundaries of a sequential test by alpha spending, for samples without replacement.

References
----------
.. [1] K. K. G. Lan and D. L. DeMets, Biometrika 70 (1983), 659-663: spending functions.
.. [2] P. Armitage, C. K. McPherson and B. C. Rowe, J. R. Stat. Soc. A 132 (1969), 235-244: the
   recursion.
.. [3] C. Jennison and B. W. Turnbull, Group Sequential Methods with Applications to Clinical
   Trials (2000), ch. 3, 7 and 19.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_int, check_real

FloatArray = npt.NDArray[np.float64]

Spending = Literal["pocock", "obrien-fleming"]

NODES = 401
"""Points at which the density of the statistic is held between two looks."""

MOST = 9.0
"""A boundary beyond this is never crossed."""


def spent(share: FloatArray, alpha: float, spending: Spending) -> FloatArray:
    """Error probability spent when a share of the budget is used.

    Parameters
    ----------
    share : array, in [0, 1]
    alpha : two-sided error probability in all
    spending : "pocock": alpha ln(1 + (e - 1) t), much of it early; "obrien-fleming":
        4 (1 - Phi(z_{1 - alpha/4} / sqrt(t))), hardly any of it early

    Examples
    --------
    >>> spent(np.array([0.5, 1.0]), 0.05, "pocock").round(4).tolist()
    [0.031, 0.05]
    >>> spent(np.array([0.5, 1.0]), 0.05, "obrien-fleming").round(4).tolist()
    [0.0031, 0.05]
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415  # slow to import

    if spending == "pocock":
        found: FloatArray = alpha * np.log1p((math.e - 1) * share)
    else:
        # Half of alpha on either side; each half is spent by 2 (1 - Phi(...)).
        found = 4 * ndtr(ndtri(alpha / 4) / np.sqrt(np.maximum(share, 1e-300)))
    return found


def boundaries(
    looks: tuple[int, ...],
    n_items: int,
    *,
    alpha: float = 0.05,
    spending: Spending = "pocock",
) -> FloatArray:
    """How large |z| must be at each look to stop.

    The mean of k of N items drawn without replacement has information k / (1 - k / N), up to a
    factor; the means at several k have the joint law of a Brownian motion at these times [3]_.
    The boundary at a look is where the probability of leaving at this look for the first time,
    with no difference between the models, is what the spending function adds.

    Parameters
    ----------
    looks : numbers of items at which is looked, rising; a look at all N is free and gets 0
    n_items : N
    alpha : two-sided error probability, over all looks
    spending : see :func:`spent`; the share is that of the last look

    Returns
    -------
    array of shape (n_looks,)

    Raises
    ------
    SettingError
        when a value is out of bounds.

    Examples
    --------
    Pocock's and O'Brien and Fleming's plans for two looks (an endless pool, spending functions):

    >>> boundaries((10**6, 2 * 10**6), 10**12).round(2).tolist()
    [2.16, 2.2]
    >>> boundaries((10**6, 2 * 10**6), 10**12, spending="obrien-fleming").round(2).tolist()
    [2.96, 1.97]
    """
    alpha = check_real("alpha", alpha, 0, 1, open_ends=True)
    for size in looks:
        check_int("a look", size, 1, n_items)
    check_choice("spending", spending, get_args(Spending))
    return np.array(_boundaries(tuple(looks), n_items, alpha, spending))


@lru_cache(maxsize=64)
def _boundaries(
    looks: tuple[int, ...], n_items: int, alpha: float, spending: Spending
) -> tuple[float, ...]:
    inside = np.array([size for size in looks if size < n_items], dtype=np.float64)
    found = np.zeros(len(looks))
    if inside.size:
        allowed = np.diff(spent(inside / looks[-1], alpha, spending), prepend=0.0)
        found[: len(inside)] = _recursion(inside / (1 - inside / n_items), allowed)
    return tuple(found.tolist())


def _recursion(time: FloatArray, allowed: FloatArray) -> FloatArray:
    """Boundaries of |B(t)| / sqrt(t) that are left for the first time with these probabilities."""
    from scipy.special import ndtri  # noqa: PLC0415  # slow to import

    found = np.empty(len(time))
    found[0] = -ndtri(allowed[0] / 2)
    nodes, weights = _grid(found[0])
    density = np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    for k in range(1, len(time)):
        before, now = math.sqrt(time[k - 1]), math.sqrt(time[k])
        step = math.sqrt(time[k] - time[k - 1])
        mass = density * weights
        found[k] = _boundary(before / step * nodes, mass, now / step, float(allowed[k]))
        after, weights = _grid(found[k])
        reach = now / step * after[:, None] - before / step * nodes
        kernel = np.exp(-(reach**2) / 2) * (now / step / math.sqrt(2 * math.pi))
        density, nodes = kernel @ mass, after
    return found


def _boundary(start: FloatArray, mass: FloatArray, scale: float, wanted: float) -> float:
    """The boundary that is crossed with the wanted probability, by bisection."""
    from scipy.special import ndtr  # noqa: PLC0415  # slow to import

    low, high = 0.0, MOST
    for _ in range(50):
        middle = (low + high) / 2
        leaving = 2 * float(mass @ ndtr(start - scale * middle))
        low, high = (middle, high) if leaving > wanted else (low, middle)
    return high


def _grid(end: float) -> tuple[FloatArray, FloatArray]:
    """Nodes from -end to end, and the weights of Simpson's rule."""
    end = min(end, MOST)
    nodes = np.linspace(-end, end, NODES)
    weights = np.full(NODES, 2.0)
    weights[1::2] = 4
    weights[[0, -1]] = 1
    return nodes, weights * (nodes[1] - nodes[0]) / 3
