"""Outcomes of pairs summed by bin, once and in every bootstrap replicate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mdad._pairs import (
    Ties,
    agreement_of,
    bin_of,
    estimate_signs,
    pair_differences,
    pair_positions,
    pairs_of,
)
from mdad._rng import Stream
from mdad.intervals import Interval, resample_counts

if TYPE_CHECKING:
    from mdad.intervals import Unit
    from mdad.results import Results

FloatArray = npt.NDArray[np.float64]

BLOCK = 1024
"""Pairs whose bootstrap weights are held at once: they fit into a cache. It changes no number."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of an outcome over the pairs of each run and bin: all that resampling runs needs.

    Parameters
    ----------
    by_run : array of shape (n_cells + 1, n_runs, n_bins); the last cell counts the pairs
    counts, position, width : see :class:`Binned`
    """

    by_run: FloatArray
    counts: FloatArray
    position: FloatArray
    width: float


class Replicates(NamedTuple):
    """Sums of shape (n_cells, n_resamples, n_bins) and counts of shape (n_resamples, n_bins)."""

    sums: FloatArray
    counts: FloatArray


@dataclass(frozen=True, eq=False)
class Binned:
    """Sums of an outcome over the pairs of each bin.

    Parameters
    ----------
    sums : array of shape (n_cells, n_bins)
    counts : array of shape (n_bins,), pairs in each bin
    position : array of shape (n_bins,), mean |gap| of the bin's pairs; its middle when empty
    width : of a bin, in the unit of the scores
    replicates : sums and counts in bootstrap replicates: of resampled runs; or of resampled models,
        of resampled runs, and of both
    """

    sums: FloatArray
    counts: FloatArray
    position: FloatArray
    width: float
    replicates: tuple[Replicates, ...]


@dataclass(frozen=True, eq=False)
class Weights:
    """Bootstrap weights of runs and of models.

    Parameters
    ----------
    runs : array of shape (n_resamples, n_runs)
    models : array of shape (n_resamples, n_models), or None when only runs are resampled
    """

    runs: FloatArray
    models: FloatArray | None


@dataclass(frozen=True, eq=False)
class Kept:
    """What several measures of the same results read."""

    weights: dict[tuple[Unit, int], Weights] = field(default_factory=dict)
    agreement: dict[tuple[str, Ties, Interval], Binned] = field(default_factory=dict)
    trust: dict[tuple[str, int, int], Sums] = field(default_factory=dict)


_KEPT: WeakKeyDictionary[Results, Kept] = WeakKeyDictionary()
"""Of results that are still in use."""


def _kept(results: Results) -> Kept:
    return _KEPT.setdefault(results, Kept())


def bootstrap_weights(results: Results, interval: Interval) -> Weights:
    """The same weights for every measure, method and size, so that comparisons are paired."""
    kept, key = _kept(results).weights, (interval.unit, interval.n_resamples)
    if key not in kept:
        kept[key] = _bootstrap_weights(results, interval)
    return kept[key]


def _bootstrap_weights(results: Results, interval: Interval) -> Weights:
    stream = Stream(results.experiment.seed).child("bootstrap")
    runs = resample_counts(len(results.runs), interval.n_resamples, stream.child("runs"))
    if interval.unit == "runs" or not interval.n_resamples:
        return Weights(runs, None)
    models = resample_counts(len(results.models), interval.n_resamples, stream.child("models"))
    return Weights(runs, models)


def agreement_table(results: Results, items: str, ties: Ties, interval: Interval) -> Binned:
    """Agreement by bin of the full-score gap; cells are methods x sizes, methods first."""
    kept, key = _kept(results).agreement, (items, ties, interval)
    if key not in kept:
        kept[key] = _agreement_table(results, items, ties, interval)
    return kept[key]


def _agreement_table(results: Results, items: str, ties: Ties, interval: Interval) -> Binned:
    pairs = pairs_of(results, items)
    shape = results.estimates.shape[:2]
    outcomes = np.stack(
        [
            agreement_of(estimate_signs(results, m, s), pairs.sign, ties)
            for m in range(shape[0])
            for s in range(shape[1])
        ]
    )
    return binned(
        outcomes,
        np.where(pairs.ordered, pairs.bins, -1),
        np.abs(pairs.gap),
        pairs.width,
        results.target,
        bootstrap_weights(results, interval),
    )


def trust_table(results: Results, items: str, method: int, size: int, interval: Interval) -> Binned:
    """Share ordered alike by bin of the *estimated* gap; estimated ties are left out."""
    weights = bootstrap_weights(results, interval)
    if weights.models is not None:
        return binned(*_trust_outcomes(results, items, method, size), results.target, weights)
    # Curve and smallest gaps read these; their replicates are soon made, and too large to keep.
    kept, key = _kept(results).trust, (items, method, size)
    if key not in kept:
        kept[key] = _summed(*_trust_outcomes(results, items, method, size))
    return _replicated(kept[key], weights)


def _trust_outcomes(
    results: Results, items: str, method: int, size: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], FloatArray, float]:
    """The first arguments of :func:`binned`."""
    pairs = pairs_of(results, items)
    estimated = pair_differences(results.estimates[method, size])
    sign = estimate_signs(results, method, size)
    used = pairs.ordered & (sign != 0)
    return (
        agreement_of(sign, pairs.sign, "wrong")[None],
        np.where(used, bin_of(estimated, pairs.width), -1),
        np.abs(estimated),
        pairs.width,
    )


def binned(
    outcomes: npt.NDArray[np.float32],
    bins: npt.NDArray[np.int64],
    gap: FloatArray,
    width: float,
    target: npt.NDArray[np.intp],
    weights: Weights,
) -> Binned:
    """Sum outcomes by bin, plainly and with bootstrap weights.

    Parameters
    ----------
    outcomes : array of shape (n_cells, n_runs, n_pairs)
    bins : array of shape (n_runs, n_pairs); -1 = left out
    gap : the same shape, what the bins are of
    width : of a bin
    target : array of shape (n_runs, n_target), position of each target among all models
    weights : of runs and models in each replicate
    """
    sums = _summed(outcomes, bins, gap, width)
    if weights.models is None:
        return _replicated(sums, weights)
    n_bins = len(sums.counts)
    return _replicated(
        sums, weights, _weighted_sums(_with_ones(outcomes), bins, n_bins, target, weights)
    )


def _with_ones(outcomes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """One extra cell of ones, which counts the pairs with the same weights."""
    return np.concatenate([outcomes, np.ones((1, *outcomes.shape[1:]), dtype=np.float32)])


def _summed(
    outcomes: npt.NDArray[np.float32], bins: npt.NDArray[np.int64], gap: FloatArray, width: float
) -> Sums:
    """Sums by run and bin; parameters as of :func:`binned`."""
    n_bins = int(bins.max(initial=0)) + 1
    used = bins >= 0
    counts = np.bincount(bins[used], minlength=n_bins).astype(np.float64)
    total = np.bincount(bins[used], weights=gap[used], minlength=n_bins)
    middle = (np.arange(n_bins) + 0.5) * width
    position = np.where(counts > 0, total / np.maximum(counts, 1), middle)
    return Sums(_sums_by_run(_with_ones(outcomes), bins, n_bins), counts, position, width)


def _replicated(
    sums: Sums, weights: Weights, models: tuple[FloatArray, FloatArray] | None = None
) -> Binned:
    """A table with replicates of runs, between those of models and of both where there are any."""
    runs = np.einsum("br,crk->cbk", weights.runs, sums.by_run, optimize=True)
    parts = [runs] if models is None else [models[0], runs, models[1]]
    replicates = tuple(Replicates(part[:-1], part[-1]) for part in parts)
    plain = sums.by_run.sum(axis=1)[:-1]
    return Binned(plain, sums.counts, sums.position, sums.width, replicates)


def _sums_by_run(
    rows: npt.NDArray[np.float32], bins: npt.NDArray[np.int64], n_bins: int
) -> FloatArray:
    """Sums over the pairs of each run and bin, shape (n_cells, n_runs, n_bins)."""
    n_cells, n_runs, _ = rows.shape
    used = bins >= 0
    place = (np.arange(n_runs)[:, None] * n_bins + bins)[used]
    sums = np.empty((n_cells, n_runs * n_bins))
    for cell, row in enumerate(rows):
        sums[cell] = np.bincount(place, weights=row[used], minlength=n_runs * n_bins)
    return sums.reshape(n_cells, n_runs, n_bins)


def _weighted_sums(
    rows: npt.NDArray[np.float32],
    bins: npt.NDArray[np.int64],
    n_bins: int,
    target: npt.NDArray[np.intp],
    weights: Weights,
) -> tuple[FloatArray, FloatArray]:
    """Sums by bin where a pair weighs the product of its models' weights, and that x its run's.

    Both of shape (n_cells, n_resamples, n_bins). Weights are small whole numbers, so float32 sums
    are exact and do not depend on the order in which BLAS adds them.
    """
    runs, models = _columns(weights.runs), _columns(weights.models)
    n_cells, _, n_pairs = rows.shape
    first, second = pair_positions(target.shape[1])
    flat_rows, flat = rows.reshape(n_cells, -1), bins.ravel()
    order = np.argsort(flat, kind="stable")
    edges = np.searchsorted(flat[order], np.arange(n_bins + 1))
    sums = np.zeros((2, n_bins, n_cells, runs.shape[1]))
    for b in range(n_bins):
        for start in range(edges[b], edges[b + 1], BLOCK):
            chosen = order[start : min(start + BLOCK, edges[b + 1])]
            run, pair = np.divmod(chosen, n_pairs)
            weight = models[target[run, first[pair]]]
            weight *= models[target[run, second[pair]]]
            outcomes = flat_rows[:, chosen]
            sums[0, b] += outcomes @ weight
            weight *= runs[run]
            sums[1, b] += outcomes @ weight
    # Bins last, a cell at a time: each is small enough to be turned inside the cache.
    turned = np.empty((2, n_cells, runs.shape[1], n_bins))
    for part in range(2):
        for cell in range(n_cells):
            turned[part, cell] = sums[part, :, cell].T
    return turned[0], turned[1]


def _columns(weights: Any) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(weights.T, dtype=np.float32)
