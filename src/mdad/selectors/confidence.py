"""A random sample spread over strata of items the source models are about as sure of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mdad.selectors._base import FloatArray, Prepared, Selection, check_size, selection_of
from mdad.selectors._signal import source_signal
from mdad.selectors.stratified import IntArray, draw_within, proportional_allocation

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix

N_STRATA = 10
DECIMALS = 9
"""Means nearer than this are one value: equal items must not differ by rounding."""

Weighting = Literal["inclusion", "strata"]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class StratifiedConfidence:
    """Items drawn from strata of similar mean probability of the right answer.

    The strata are found by k-means on the mean of each item over the source models (of the
    scores where there are no probabilities). Each gets its share of the items, rounded up or
    down at random (:func:`mdad.selectors.stratified.proportional_allocation`): the total is
    exact, no stratum gives more than it has, and every item is chosen with probability
    size / n_items.

    Parameters
    ----------
    n_strata : of them; fewer where the items have fewer different means
    weighting : "inclusion" weights by the inverse of the inclusion probability (Horvitz-Thompson
        [1]_), so here all items count the same (their weights in the full score with
        ``aggregate="macro"``). "strata" weights an item by N_h / (N n_h), its stratum's share of
        the full score over the items drawn from it, scaled over the strata drawn.

    Notes
    -----
    "inclusion" is unbiased at every size. "strata" is not where a stratum may get no item: at
    small sizes that is the fate of the rarest, which are the hardest and the easiest
    (``docs/design/confidence-and-diversity.md`` has the figures). From one item per stratum
    on both are unbiased and equally precise. With unequal item weights (macro) either is a ratio
    of sums and keeps the small bias of one.

    References
    ----------
    .. [1] D. G. Horvitz, D. J. Thompson, A generalization of sampling without replacement from a
       finite universe, JASA 47 (1952).
    """

    n_strata: int = N_STRATA
    weighting: Weighting = "inclusion"

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        parts = confidence_strata(scores, self.n_strata, stream.child("strata"))
        capacities = np.array([len(part) for part in parts])
        weights = scores.item_weights(aggregate)
        mass = np.array([weights[part].sum() for part in parts])

        def build(size: int) -> Selection:
            rng = stream.child(check_size(size, scores)).rng()
            taken = proportional_allocation(capacities, size, rng)
            drawn = draw_within(parts, taken, rng)
            chosen = np.concatenate(drawn)
            if self.weighting == "inclusion":
                return selection_of(scores, chosen, weights[chosen])
            inside = np.array([weights[part].sum() for part in drawn])
            factor = np.divide(mass, inside, out=np.zeros_like(mass), where=inside > 0)
            return selection_of(scores, chosen, weights[chosen] * np.repeat(factor, taken))

        return build


@dataclass(frozen=True)
class PaperStratifiedConfidence:
    """The same as the paper's code does it, at exactly the size asked for.

    Shares are rounded to the nearest number (halves to the even one). Missing items are drawn
    uniformly from the rest, but keep the weight of their stratum; surplus items, which that code
    keeps and does not count, are dropped at random here. An item weighs 1 / (n_items p), p the
    rounded share over its stratum's size, or size / n_items where that is 0: not its chance to
    be chosen. The weights are not scaled to sum to 1, so with 10 items estimates are too low on
    average and some exceed the largest score. Items count the same whatever ``aggregate`` says.

    Parameters
    ----------
    n_strata : as in :class:`StratifiedConfidence`
    """

    n_strata: int = N_STRATA

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:  # noqa: ARG002  # the paper's code knows one aggregate
        """Return the function from size to selection; see :class:`Selector`."""
        parts = confidence_strata(scores, self.n_strata, stream.child("strata"))
        capacities = np.array([len(part) for part in parts])
        label = np.empty(scores.n_items, dtype=np.intp)
        for stratum, part in enumerate(parts):
            label[part] = stratum

        def build(size: int) -> Selection:
            rng = stream.child(check_size(size, scores)).rng()
            rounded = np.rint(size * (capacities / scores.n_items)).astype(np.int64)
            rounded = np.minimum(rounded, capacities)
            chosen = _exactly(size, np.concatenate(draw_within(parts, rounded, rng)), scores, rng)
            claimed = np.where(rounded > 0, rounded / capacities, size / scores.n_items)
            weights = 1 / (scores.n_items * claimed[label[chosen]])
            return selection_of(scores, chosen, weights, total=float(weights.sum()))

        return build


def _exactly(
    size: int, drawn: Positions, scores: ScoreMatrix, rng: np.random.Generator
) -> Positions:
    """``drawn`` cut at random, or topped up from all other items."""
    if len(drawn) > size:
        return rng.choice(drawn, size=size, replace=False)
    rest = np.setdiff1d(np.arange(scores.n_items), drawn)
    return np.concatenate([drawn, rng.choice(rest, size=size - len(drawn), replace=False)])


def confidence_strata(scores: ScoreMatrix, n_strata: int, stream: Stream) -> list[Positions]:
    """Positions of the items of each stratum, from the lowest mean to the highest.

    Parameters
    ----------
    scores : source models x seen items
    n_strata : strata wanted; items with equal means are never parted, so there may be fewer
    stream : of the start of k-means
    """
    means: FloatArray = source_signal(scores).mean(axis=0)
    distinct, inverse = np.unique(np.round(means, DECIMALS), return_inverse=True)
    labels = inverse
    if len(distinct) > n_strata:
        from sklearn.cluster import KMeans  # noqa: PLC0415  # slow to import

        seed = int(stream.rng().integers(2**31))
        fitted = KMeans(n_strata, random_state=seed, n_init=1).fit(distinct[inverse][:, None])
        labels = fitted.labels_
        # In order of the means, whatever order k-means found its clusters in.
        order: IntArray = np.argsort(fitted.cluster_centers_[:, 0], kind="stable")
        labels = np.argsort(order, kind="stable")[labels]
    parts = [np.flatnonzero(labels == stratum) for stratum in range(labels.max() + 1)]
    return [part for part in parts if len(part)]
