"""Pairs of target models: gaps, bins, signs. What the measures are computed from.

Arrays over pairs have shape (n_runs, n_pairs); pair p of a run is target ``first[p]`` against
target ``second[p]``, first before second in alphabetical order of ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mdad.results import Results

Ties = Literal["wrong", "half"]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TIE_TOLERANCE = 1e-9
"""Scores closer than this share of the declared range are tied: below any count of right answers
(1 / n_items), above rounding in weighted sums."""

BINS_PER_RANGE = 200
"""Half a point is 1/200 of the declared range."""


@dataclass(frozen=True)
class Pairs:
    """Gaps of all pairs of target models in every run, for one item set.

    Parameters
    ----------
    gap : full-score differences, first minus second; (n_runs, n_pairs), unit of the scores
    bins : index of the half-point bin of |gap|; the same shape
    width : of a bin, in the unit of the scores
    tolerance : differences up to this are ties
    """

    gap: FloatArray
    bins: IntArray
    width: float
    tolerance: float

    @cached_property
    def sign(self) -> npt.NDArray[np.int8]:
        """-1, 0 (tied on the full benchmark: no right order) or 1; the same shape."""
        return signs(self.gap, self.tolerance)

    @cached_property
    def ordered(self) -> npt.NDArray[np.bool_]:
        """Pairs that are not tied on the full benchmark."""
        ordered: npt.NDArray[np.bool_] = self.sign != 0
        return ordered

    @property
    def n_bins(self) -> int:
        """One more than the largest bin index."""
        return int(self.bins.max(initial=0)) + 1


def signs(difference: FloatArray, tolerance: float) -> npt.NDArray[np.int8]:
    """Sign of each difference, 0 for ties."""
    sign: npt.NDArray[np.int8] = (difference > tolerance).astype(np.int8)
    sign -= (difference < -tolerance).astype(np.int8)
    return sign


def pair_positions(n_target: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Positions of the first and the second model of each pair."""
    first, second = np.triu_indices(n_target, k=1)
    return first, second


def pair_differences(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """First minus second for every pair, over the last axis."""
    first, second = pair_positions(scores.shape[-1])
    difference: npt.NDArray[Any] = scores[..., first] - scores[..., second]
    return difference


_KEPT: WeakKeyDictionary[Results, dict[str, Pairs]] = WeakKeyDictionary()
"""Pairs of results that are still in use, by item set: every measure of every cell reads them."""


def pairs_of(results: Results, items: str) -> Pairs:
    """Gaps and bins of a results' pairs on "seen", "unseen" or "all" items.

    For 0/1 scores bins are found with whole numbers, |difference of right answers| * 200 //
    n_items: floats put 0.29 into the bin below it.
    """
    kept = _KEPT.setdefault(results, {})
    if items not in kept:
        kept[items] = _pairs_of(results, items)
    return kept[items]


def _pairs_of(results: Results, items: str) -> Pairs:
    low, high = results.spec.scores.score_range
    full = results.full(items)
    gap = pair_differences(full)
    counts = results.spec.scores.kind == "correctness" and results.experiment.aggregate == "micro"
    if counts:
        n_items = results.n_items(items)
        right = np.rint(np.nan_to_num(full) * n_items).astype(np.int64)
        bins = np.abs(pair_differences(right)) * BINS_PER_RANGE // max(n_items, 1)
    else:
        bins = bin_of(gap, (high - low) / BINS_PER_RANGE)
    return Pairs(gap, bins, (high - low) / BINS_PER_RANGE, TIE_TOLERANCE * (high - low))


def bin_of(gap: FloatArray, width: float) -> IntArray:
    """Index of the bin of |gap|: floor(|gap| / width + 1e-9)."""
    return np.floor(np.abs(np.nan_to_num(gap)) / width + 1e-9).astype(np.int64)


def estimate_signs(results: Results, method: int, size: int) -> npt.NDArray[np.int8]:
    """Sign of each pair's estimated gap, shape (n_runs, n_pairs)."""
    low, high = results.spec.scores.score_range
    differences = pair_differences(results.estimates[method, size])
    return signs(differences, TIE_TOLERANCE * (high - low))


def agreement_of(
    estimated: npt.NDArray[np.int8], full: npt.NDArray[np.int8], ties: Ties
) -> npt.NDArray[np.float32]:
    """1 where a pair is ordered alike, 0 where not; an estimated tie is 0, or 0.5 with "half".

    Swapping the two models changes nothing. Pairs tied on the full benchmark must be left out by
    the caller.
    """
    agreement: npt.NDArray[np.float32] = (estimated == full).astype(np.float32)
    if ties == "half":
        agreement[estimated == 0] = 0.5
    return agreement
