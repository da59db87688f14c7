"""Items that stand for clusters of alike items in the space of item response parameters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mdad.irt import shared_fit
from mdad.selectors._base import FloatArray, Prepared, Selection, check_size, selection_of

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix

IntArray = npt.NDArray[np.intp]

DECIMALS = 6
"""Parameters closer than this are the same point: duplicate items differ by rounding only."""


@dataclass(frozen=True)
class IrtClusters:
    """The item nearest to each k-means centre of item parameters, weighted by its cluster's share.

    Each centre is stood for by the nearest item *of its own cluster*, so items are distinct. (The
    paper's code takes the nearest of all items, and two centres may get the same one.) When fewer
    clusters than items are found, the heaviest clusters give their next nearest items too and
    share their weight among them.

    Parameters
    ----------
    scale : of the parameters, see :meth:`mdad.irt.IrtFit.item_parameters`: "paper", where the
        difficulty has nearly no weight, or "logit"
    dims : ability dimensions of the item response model
    n_init : starts of k-means, the best of which is taken

    References
    ----------
    Polo et al., tinyBenchmarks, 2024 (arXiv 2402.14992).
    """

    scale: Literal["paper", "logit"] = "paper"
    dims: int = 10
    n_init: int = 1

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`.

        Raises
        ------
        MethodError
            when scores are graded, or there are fewer than two source models.
        """
        fitted = shared_fit(scores, dims=self.dims)
        points = fitted.item_parameters(self.scale)
        weights = scores.item_weights(aggregate)

        def build(size: int) -> Selection:
            size = check_size(size, scores)
            if size == scores.n_items:
                return selection_of(scores, np.arange(size), weights)
            seed = int(stream.child(size).rng().integers(2**32))
            labels, distances = clusters(points, weights, size, n_init=self.n_init, seed=seed)
            chosen = representatives(labels, distances, weights, size)
            return selection_of(scores, chosen, shares(labels, weights, chosen))

        return build


def clusters(
    points: FloatArray, weights: FloatArray, number: int, *, n_init: int, seed: int
) -> tuple[IntArray, FloatArray]:
    """Cluster of each point and its distance to the centre; at most ``number`` clusters.

    Parameters
    ----------
    points : array of shape (n_items, n_parameters)
    weights : array of shape (n_items,)
    """
    from sklearn.cluster import KMeans  # noqa: PLC0415  # slow to import
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    rounded = points.round(DECIMALS)
    distinct, labels = np.unique(rounded, axis=0, return_inverse=True)
    if len(distinct) <= number:
        return labels.ravel(), np.zeros(len(points))
    kmeans = KMeans(number, n_init=n_init, random_state=seed)
    # A limit set before scikit-learn was first imported does not bind its threads, which would
    # wait for each other busily and add up sums in another order.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # Fewer clusters than asked are filled up afterwards.
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(rounded, sample_weight=weights)
    found = np.unique(kmeans.labels_, return_inverse=True)[1]
    offset = rounded - kmeans.cluster_centers_[kmeans.labels_]
    return found, np.sqrt((offset**2).sum(axis=1))


def representatives(
    labels: IntArray, distances: FloatArray, weights: FloatArray, size: int
) -> IntArray:
    """Positions of ``size`` distinct items, in order: the nearest of every cluster, then the next.

    Items beyond one per cluster come from the cluster with the most weight per item taken.

    >>> representatives(np.array([0, 0, 0, 1]), np.array([2.0, 1.0, 3.0, 0.0]), np.ones(4), 3)
    array([0, 1, 3])
    """
    # Ties in distance go to the earlier item.
    members = [
        np.flatnonzero(labels == label)[np.argsort(distances[labels == label], kind="stable")]
        for label in range(int(labels.max()) + 1)
    ]
    mass = np.array([weights[part].sum() for part in members])
    taken = np.ones(len(members), dtype=np.intp)
    capacity = np.array([len(part) for part in members])
    for _ in range(size - len(members)):
        taken[np.argmax(np.where(taken < capacity, mass / taken, -1.0))] += 1
    parts = [part[:count] for part, count in zip(members, taken.tolist(), strict=True)]
    return np.sort(np.concatenate(parts))


def shares(labels: IntArray, weights: FloatArray, chosen: IntArray) -> FloatArray:
    """Weight of each chosen item: its cluster's, shared in proportion to the items' own.

    >>> shares(np.array([0, 0, 0, 1]), np.full(4, 0.25), np.array([0, 1, 3])).tolist()
    [0.375, 0.375, 0.25]
    """
    mass = np.bincount(labels, weights)
    of_chosen = np.bincount(labels[chosen], weights[chosen], minlength=len(mass))
    result: FloatArray = (
        weights[chosen] * (mass / np.where(of_chosen > 0, of_chosen, 1))[labels[chosen]]
    )
    return result
