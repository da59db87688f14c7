"""Anchor points: medoids of the items, each weighted by the share of the items it stands for.

References
----------
.. [1] R. Vivek, K. Ethayarajh, D. Yang and D. Kiela, "Anchor points: benchmarking models with much
   fewer examples", EACL 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._checks import counted
from mdad.errors import MethodError
from mdad.selectors._base import FloatArray, Prepared, Selection, check_size, selection_of
from mdad.selectors._correlation import (
    Correlations,
    Joined,
    distance_matrix,
    nearest,
    option_logits,
)
from mdad.selectors._pam import faster_pam

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors._correlation import Float32Array, Geometry

IntArray = npt.NDArray[np.intp]

MAX_BYTES = 2 << 30
"""A matrix of float32 distances of 23,170 items; with more items a sample of them is clustered."""

SAMPLE = 10_000
ITEMS_PER_ANCHOR = 8
"""A sample has at least so many items for each anchor, where there is memory for them."""

CLIP = 1e-5
"""Probabilities are kept this far from 0 and 1: the logit of a stored 0 is infinite."""


@dataclass(frozen=True)
class AnchorPoints:
    """k-medoids of the items with distance 1 - Pearson correlation over source models.

    The correlation is that of probabilities where the scores have them, else of values. The
    first medoids are drawn at random and improved by swaps (FasterPAM); the chosen items are in
    the order of their ids. An item's weight is the weight in the full score of the items it is
    nearest to, itself included.

    Parameters
    ----------
    max_bytes : most memory for the matrix of distances, 4 bytes each, made once for all sizes
    sample : above that, the number of items that are clustered in place of all of them

    Notes
    -----
    An item on which all source models do the same has no correlation: its distance to every item
    is 1 by rule. Nothing says which anchor stands for it, so its weight is spread over all of them
    in proportion (unless it is an anchor itself).

    With more items than ``max_bytes`` allows, a uniform sample of the items (the same for all
    sizes it suffices for; at least eight for each anchor if the memory allows) is clustered, and
    every item then goes to the nearest anchor of all, as in CLARA (Kaufman and Rousseeuw 1990).

    Raises
    ------
    MethodError
        when there is one source model only; (when built) when there are more anchors than the
        memory allows for the distances of.
    """

    max_bytes: int = MAX_BYTES
    sample: int = SAMPLE

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        clusters = Clusters(
            Correlations.of(scores), scores.n_items, stream, self.max_bytes, self.sample
        )
        return _anchored(scores, aggregate, clusters)


@dataclass(frozen=True)
class OptionAnchors:
    """k-medoids of the items by the correlations of the logits of every option.

    The distance is 1 - mean of |r| over the options, r the correlation of the option's logits on
    the two items over source models: an item that does the opposite predicts as well as one that
    does the same. Weights are as in :class:`AnchorPoints`.

    Parameters
    ----------
    joined : "each", or "sum" for the paper's |sum of r|, in which options cancel each other
    clip : probabilities are kept in [clip, 1 - clip] before logits are taken
    max_bytes, sample : see :class:`AnchorPoints`

    Raises
    ------
    MethodError
        when the scores have no probabilities of every option or are graded.
    """

    joined: Joined = "each"
    clip: float = CLIP
    max_bytes: int = MAX_BYTES
    sample: int = SAMPLE

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        geometry = replace(option_logits(scores, self.clip), joined=self.joined)
        clusters = Clusters(geometry, scores.n_items, stream, self.max_bytes, self.sample)
        return _anchored(scores, aggregate, clusters)


def _anchored(scores: ScoreMatrix, aggregate: Aggregate, clusters: Clusters) -> Prepared:
    weights = scores.item_weights(aggregate)

    def build(size: int) -> Selection:
        size = check_size(size, scores)
        if size == scores.n_items:
            return selection_of(scores, np.arange(size), weights)
        anchors, places = clusters.find(size)
        return selection_of(scores, anchors, _shares(clusters.geometry, anchors, places, weights))

    return build


def _shares(
    geometry: Geometry, anchors: IntArray, places: IntArray, weights: FloatArray
) -> FloatArray:
    """Weight of the items of each anchor; items without a correlation are left to all alike."""
    said = geometry.varies
    said[anchors] = True
    shares = np.bincount(places[said], weights[said], minlength=len(anchors))
    return shares.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of any number of items of one pool; the distances are computed once.

    Parameters
    ----------
    geometry : distances of the items
    n_items : of the pool
    stream : of the sample, and below it of each size's first medoids
    max_bytes, sample : see :class:`AnchorPoints`
    """

    geometry: Geometry
    n_items: int
    stream: Stream
    max_bytes: int = MAX_BYTES
    sample: int = SAMPLE
    _matrices: dict[int, tuple[IntArray, Float32Array]] = field(default_factory=dict, repr=False)

    def find(self, size: int) -> tuple[IntArray, IntArray]:
        """Positions of the anchors, ascending, and for each item the place of its anchor there."""
        from threadpoolctl import threadpool_limits  # noqa: PLC0415  # slow to import

        # A sum in another order, by more threads, could tip a swap.
        with threadpool_limits(limits=1):
            positions, distances = self._distances(self._clustered(size))
            start = self.stream.child(size).rng().choice(len(positions), size, replace=False)
            medoids = faster_pam(distances, start).positions
            if len(positions) < self.n_items:
                anchors = positions[medoids]
                return anchors, nearest(self.geometry, self.n_items, anchors)
        places = distances[:, medoids].argmin(axis=1)
        places[medoids] = np.arange(size)
        return medoids, places

    def _clustered(self, size: int) -> int:
        """How many items are clustered for so many anchors."""
        most = math.isqrt(self.max_bytes // np.dtype(np.float32).itemsize)
        if self.n_items <= most:
            return self.n_items
        if size > most:
            raise MethodError(
                f"cannot cluster {counted(size, 'anchor')} among {self.n_items:,} items: there is "
                f"memory for the distances of {most:,} ({self.max_bytes / 2**30:.3g} GiB). Ask "
                "for fewer items, or use another method."
            )
        return min(most, max(self.sample, ITEMS_PER_ANCHOR * size), self.n_items)

    def _distances(self, count: int) -> tuple[IntArray, Float32Array]:
        if count not in self._matrices:
            positions, geometry = np.arange(self.n_items), self.geometry
            if count < self.n_items:
                rng = self.stream.child("sample", count).rng()
                positions = np.sort(rng.choice(self.n_items, count, replace=False))
                geometry = geometry.take(positions)
            self._matrices[count] = positions, distance_matrix(geometry, count)
        return self._matrices[count]
