"""The gap of two models' full scores, given their estimated gap: fitted, and read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mdad._specs import GapLaw
from mdad._spread import FREEDOMS

if TYPE_CHECKING:
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

__all__ = ["ahead", "gap_interval", "gap_law", "sure_gap", "without_noise"]

TIE = 1e-9
LEAST_NOISE = 1e-4
"""Share of the range: a handful of pairs that are all estimated exactly show no law."""


def gap_law(estimated: FloatArray, true: FloatArray, n_models: int, width: float) -> GapLaw:
    """The most likely law, widened for the number of models behind it.

    Parameters
    ----------
    estimated, true : arrays of shape (n_pairs,), gaps. Pairs that tie in both are models that
        answer alike and say nothing of others; they are left out
    n_models : held-out models, which the pairs share
    width : of the range of the scores
    """
    told = (np.abs(estimated) > TIE * width) | (np.abs(true) > TIE * width)
    e, g = estimated[told] / width, true[told] / width
    square = float(e @ e)
    slope = max(float(e @ g) / square, 0.0) if square > 0 else 0.0
    # Without any pair that differs nothing is known but the range itself.
    rest = g - slope * e
    scale = max(math.sqrt(float(rest @ rest) / len(e)), LEAST_NOISE) if len(e) else 1.0
    best, law = math.inf, GapLaw(slope, scale, 0.0, FREEDOMS[-1])
    for freedom in FREEDOMS if len(e) else ():
        loss, found = _most_likely(e, g, (slope, scale), freedom)
        if loss < best:
            best, law = loss, found
    wider = math.sqrt(1 + 1 / n_models)
    return GapLaw(
        law.slope, law.noise * width * wider, law.share * wider, min(law.freedom, n_models - 1.0)
    )


def _most_likely(
    e: FloatArray, g: FloatArray, start: tuple[float, float], freedom: float
) -> tuple[float, GapLaw]:
    """Negative log-likelihood of a pair, and the law that makes it least."""
    from scipy.optimize import minimize  # noqa: PLC0415  # slow to import
    from scipy.special import gammaln  # noqa: PLC0415  # slow to import

    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - math.log(freedom) / 2

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        slope, noise, share = at[0], math.exp(2 * at[1]), math.exp(2 * at[2])
        rest, square = g - slope * e, noise + share * e**2
        z = rest**2 / square
        pull = (freedom + 1) / (freedom + z)
        value = np.log(square) / 2 + (freedom + 1) / 2 * np.log1p(z / freedom)
        change = (1 - pull * z) / square
        slopes = [-pull * rest * e / square, change * noise, change * share * e**2]
        return float(value.mean() - constant), np.array([part.mean() for part in slopes])

    bounds = [(0.0, 4.0), (math.log(LEAST_NOISE), 0.0), (math.log(1e-3), math.log(3.0))]
    found = minimize(
        loss,
        [start[0], math.log(start[1]), math.log(0.1)],
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
    )
    slope, noise, share = found.x.tolist()
    return float(found.fun), GapLaw(slope, math.exp(noise), math.exp(share), freedom)


def without_noise(law: GapLaw, variance: float, least: GapLaw) -> GapLaw:
    """The law with so much variance less, but with no less noise than another.

    Parameters
    ----------
    variance : of noise that does not hang on the estimated gap
    """
    ratio = law.freedom / (law.freedom - 2) if law.freedom > 2 else math.inf  # noqa: PLR2004
    noise = math.sqrt(max(law.noise**2 - variance / ratio, least.noise**2))
    return GapLaw(law.slope, noise, law.share, law.freedom)


def ahead(law: GapLaw, gap: float) -> float:
    """Probability that the first model has the higher full score, given its estimated lead."""
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import

    return float(stdtr(law.freedom, law.slope * gap / _scale(law, gap)))


def gap_interval(law: GapLaw, gap: float, level: float) -> tuple[float, float]:
    """Two-sided interval of a gap, given the estimated one, which it holds.

    It leaves out 0 exactly when a model is ahead with probability (1 + level) / 2.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import

    half = float(stdtrit(law.freedom, (1 + level) / 2)) * _scale(law, gap)
    middle = law.slope * gap
    low, high = middle - half, middle + half
    # Where little is left of an estimated gap, the interval is drawn out to it, away from 0.
    return (low, max(high, gap)) if gap >= 0 else (min(low, gap), high)


def sure_gap(law: GapLaw, probability: float) -> float:
    """Least estimated gap whose leader is ahead with this probability; inf when none is."""
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import

    wanted = float(stdtrit(law.freedom, probability))
    left = (law.slope / wanted) ** 2 - law.share**2
    return law.noise / math.sqrt(left) if left > 0 else math.inf


def _scale(law: GapLaw, gap: float) -> float:
    return math.hypot(law.noise, law.share * gap)
