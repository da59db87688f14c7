"""Items that differ from each other: a determinantal sample in a space of four components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad.selectors._base import FloatArray, Prepared, Selection, check_size, selection_of
from mdad.selectors._dpp import Order, PolynomialBasis, inclusion, sample_projection
from mdad.selectors._signal import source_signal
from mdad.selectors.stratified import proportional_allocation

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix

Positions = npt.NDArray[np.intp]

N_COMPONENTS = 4
TAIL = 0.01
EDGE = 0.99
NOTHING = 1e-12
"""Share of the squared signal below which a component is rounding."""


@dataclass(frozen=True)
class Diversity:
    """A sample whose items repel each other, weighted by their chances.

    Items are placed by the first principal components of the source models' signal; those in the
    outer tails of an axis are set aside. From the others as many as their share of the size are
    drawn from the projection determinantal process of the discrete orthogonal polynomial
    ensemble (:mod:`mdad.selectors._dpp`) on their weights in the full score; from those set
    aside the rest, uniformly. An item's weight is its weight in the full score over its chance to
    be chosen, which is known exactly; scaled to sum to 1.

    Parameters
    ----------
    n_components : axes; fewer where the signal has fewer
    tail : share cut off at both ends of each axis, in [0, 0.5)

    Notes
    -----
    Equal items are one point and cannot be drawn together. Where the points support fewer
    polynomials than items are wanted, as many as there are polynomials are drawn and the
    remainder uniformly from the other items; on constant data that makes the whole sample
    uniform. All of this is in the chances, so before scaling the weights the estimate is
    unbiased for the mean over all items; scaling makes it a ratio.

    References
    ----------
    .. [1] R. Bardenet, S. Ghosh, H. Simon-Onfroy, H.-S. Tran, Small coresets via negative
       dependence: DPPs, linear statistics, and concentration, NeurIPS 2024.
    """

    n_components: int = N_COMPONENTS
    tail: float = TAIL

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        weights = scores.item_weights(aggregate)
        pool = _Pool(scores, weights, self.n_components, self.tail, "total")
        counts = np.array([len(pool.kept), len(pool.cut)])

        def build(size: int) -> Selection:
            rng = stream.child(check_size(size, scores)).rng()
            n_kept, n_cut = proportional_allocation(counts, size, rng).tolist()
            chosen = np.concatenate([pool.draw(n_kept, rng), _uniform(pool.cut, n_cut, rng)])
            chances = pool.chances(size)
            return selection_of(scores, chosen, weights[chosen] / chances[chosen])

        return build


@dataclass(frozen=True)
class PaperDiversity:
    """The same as the paper's code does it: only from the items within the tails, a plain mean.

    Its polynomials are ordered by the largest exponent. Items count the same though they are
    chosen with unequal chances, and items in the tails are chosen only when a size needs more
    items than are left without them: two biases. (That code breaks down where the points support
    fewer polynomials than the size; here the remainder is drawn uniformly.)

    Parameters
    ----------
    n_components, tail : as in :class:`Diversity`
    """

    n_components: int = N_COMPONENTS
    tail: float = TAIL

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:  # noqa: ARG002  # the paper's code knows one aggregate
        """Return the function from size to selection; see :class:`Selector`."""
        even = np.ones(scores.n_items)
        pool = _Pool(scores, even, self.n_components, self.tail, "maximum")

        def build(size: int) -> Selection:
            rng = stream.child(check_size(size, scores)).rng()
            n_kept = min(size, len(pool.kept))
            parts = [pool.draw(n_kept, rng), _uniform(pool.cut, size - n_kept, rng)]
            return selection_of(scores, np.concatenate(parts), np.ones(size))

        return build


class _Pool:
    """The items of one pool, placed, and the process on those within the tails.

    Parameters
    ----------
    scores : source models x seen items
    weights : array of shape (n_items,), masses of the items
    n_components, tail : as in :class:`Diversity`
    order : of the polynomials
    """

    def __init__(
        self, scores: ScoreMatrix, weights: FloatArray, n_components: int, tail: float, order: Order
    ) -> None:
        points = principal_components(source_signal(scores), n_components)
        low, high = np.quantile(points, [tail, 1 - tail], axis=0)
        inside = ((low <= points) & (points <= high)).all(axis=1)
        self.kept, self.cut = np.flatnonzero(inside), np.flatnonzero(~inside)
        self._basis = PolynomialBasis(to_box(points[inside]), weights[inside], order)
        self._n_items = scores.n_items

    def draw(self, count: int, rng: np.random.Generator) -> Positions:
        """``count`` of the kept items: from the process as far as it goes, then uniformly."""
        drawn = sample_projection(self._basis.vectors(count), rng)
        rest = np.delete(np.arange(len(self.kept)), drawn)
        all_drawn = np.concatenate([drawn, _uniform(rest, count - len(drawn), rng)])
        chosen: Positions = self.kept[all_drawn]
        return chosen

    def chances(self, size: int) -> FloatArray:
        """The chance of each item to be among ``size``, shape (n_items,).

        The number drawn from the kept items is their share of the size, rounded up or down.
        """
        share = size * len(self.kept) / self._n_items
        count = int(share)
        chances = np.full(self._n_items, size / self._n_items)
        chances[self.kept] = self._chances_of(count)
        if share > count:
            up = share - count
            chances[self.kept] *= 1 - up
            chances[self.kept] += up * self._chances_of(count + 1)
        return chances

    def _chances_of(self, count: int) -> FloatArray:
        vectors = self._basis.vectors(count)
        by_process, rank = inclusion(vectors), vectors.shape[1]
        others = len(by_process) - rank
        if count == rank or not others:
            return by_process
        in_all: FloatArray = by_process + (1 - by_process) * (count - rank) / others
        return in_all


def _uniform(positions: Positions, count: int, rng: np.random.Generator) -> Positions:
    return rng.choice(positions, size=count, replace=False)


def principal_components(signal: FloatArray, n_components: int) -> FloatArray:
    """Items on the first principal axes of the models' space.

    Parameters
    ----------
    signal : array of shape (n_models, n_items), complete
    n_components : axes wanted

    Returns
    -------
    array of shape (n_items, at most n_components): axes with nothing on them are left out. Signs
    are fixed by the largest loading's.
    """
    centred = signal - signal.mean(axis=1, keepdims=True)
    if len(centred) <= centred.shape[1]:
        squares, axes = np.linalg.eigh(centred @ centred.T)
        places = centred.T @ axes
    else:
        squares, axes = np.linalg.eigh(centred.T @ centred)
        places = axes * np.sqrt(np.maximum(squares, 0))
    used = np.flatnonzero(squares > NOTHING * max(np.square(signal).sum(), np.finfo(float).tiny))
    first = used[::-1][:n_components]
    largest = np.abs(axes[:, first]).argmax(axis=0)
    signs = np.sign(axes[largest, first])
    placed: FloatArray = places[:, first] * signs
    return placed


def to_box(points: FloatArray) -> FloatArray:
    """Each axis scaled to [-0.99, 0.99]; 0 where all points are alike."""
    if not len(points):
        return points
    low, high = points.min(axis=0), points.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    box: FloatArray = np.where(high > low, EDGE * (2 * (points - low) / width - 1), 0.0)
    return box
