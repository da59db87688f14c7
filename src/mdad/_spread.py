"""Student's t fitted to errors, and to how often the sign of a gap is right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mdad._specs import Spread

if TYPE_CHECKING:
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

__all__ = ["lead_spread", "share_below", "spread_of", "upper", "widened"]

FREEDOMS = (4.0, 6.0, 10.0, 20.0, 100.0)
"""Tried; the last is as good as Normal, and below the first a variance means little."""

STEPS = 100
TIE = 1e-9


def spread_of(errors: FloatArray, *, centred: bool, n: int | None = None) -> Spread:
    """The most likely scaled t of some errors, widened for their number.

    Parameters
    ----------
    errors : array of shape (n,)
    centred : the errors are symmetric around 0 by construction
    n : number of independent errors, when that is not all of them
    """
    from scipy.special import gammaln  # noqa: PLC0415  # slow to import

    n = len(errors) if n is None else n
    centre = 0.0 if centred else float(errors.mean())
    rest = errors - centre
    if not rest.any():
        return Spread(0.0, FREEDOMS[-1], centre)
    best, found = -math.inf, Spread(0.0, FREEDOMS[-1], centre)
    for freedom in FREEDOMS:
        square = float((rest**2).mean())
        for _ in range(STEPS):
            square = float((rest**2 * (freedom + 1) / (freedom + rest**2 / square)).mean())
        kernel = np.log1p(rest**2 / (freedom * square)).sum() * (freedom + 1) / 2
        constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(freedom * square) / 2
        likelihood = float(len(rest) * constant - kernel)
        if likelihood > best:
            best, found = likelihood, Spread(math.sqrt(square), freedom, centre)
    # The scale and, unless known, the centre are learned from n errors.
    wider = 1.0 if n < 2 else math.sqrt(1 + 1 / n)  # noqa: PLR2004
    return Spread(found.scale * wider, min(found.freedom, max(n - 1.0, 1.0)), centre)


def lead_spread(
    estimated: FloatArray, true: FloatArray, score_range: tuple[float, float]
) -> Spread:
    """The t whose distribution function gives the chance that an estimated gap has the right sign.

    Parameters
    ----------
    estimated, true : arrays of shape (n_pairs,), gaps; pairs tied in either are left out

    Notes
    -----
    Most likely scale and degrees of freedom of P(right) = F(abs(estimated) / scale). One wrong pair
    with the median estimated gap is added, so that a curve never says certain.
    """
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import

    width = score_range[1] - score_range[0]
    told = (np.abs(estimated) > TIE * width) & (np.abs(true) > TIE * width)
    if not told.any():
        return Spread(width, FREEDOMS[-1])
    signed = estimated[told] * np.sign(true[told])
    middle = float(np.median(np.abs(signed)))
    signed = np.append(signed, -middle)

    def loss(scale: float, freedom: float) -> float:
        return -float(np.log(np.maximum(stdtr(freedom, signed / scale), 1e-300)).sum())

    scales = width * np.geomspace(1e-4, 10, 41)
    fits = []
    for freedom in FREEDOMS:
        k = int(np.argmin([loss(s, freedom) for s in scales]))
        low, high = scales[max(k - 1, 0)], scales[min(k + 1, len(scales) - 1)]
        fine = np.geomspace(low, high, 21)
        losses = [loss(s, freedom) for s in fine]
        k = int(np.argmin(losses))
        fits.append((losses[k], -freedom, float(fine[k])))
    _, freedom, scale = min(fits)
    return Spread(scale, -freedom)


def widened(spread: Spread, variance: float, *, least: Spread) -> Spread:
    """The spread with so much variance added (or taken away), never narrower than another."""
    ratio = spread.freedom / (spread.freedom - 2)
    square = spread.scale**2 + variance / ratio
    floor = least.scale**2 * least.freedom / (least.freedom - 2) / ratio
    return Spread(math.sqrt(max(square, floor)), spread.freedom, spread.centre)


def share_below(spread: Spread, x: float) -> float:
    """Distribution function of the centred t at x; a step where its scale is 0."""
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import

    if spread.scale == 0:
        return 0.5 if x == 0 else float(x > 0)
    return float(stdtr(spread.freedom, x / spread.scale))


def upper(spread: Spread, level: float) -> float:
    """Half the width of the two-sided interval of this level."""
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import

    return spread.scale * float(stdtrit(spread.freedom, (1 + level) / 2))
