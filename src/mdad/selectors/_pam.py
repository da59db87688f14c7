"""k-medoids by FasterPAM: swap a medoid for another item as long as that lowers the loss.

The loss is the sum over items of the distance to the nearest medoid. Finding its minimum is hard;
what is found is a local minimum under swaps of one medoid.

References
----------
.. [1] E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime
   improvement of the PAM, CLARA, and CLARANS algorithms", Information Systems 101 (2021), 101804.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mdad._checks import counted
from mdad.errors import MethodError

__all__ = ["Medoids", "faster_pam"]

IntArray = npt.NDArray[np.intp]
Distances = npt.NDArray[np.float32]

MAX_PASSES = 100
"""Over all items; FasterPAM needs three to six on correlations of thousands of items."""

TOLERANCE = 1e-7
"""A swap must lower the loss by more than this share of the first loss, for sums of float32 are
not exact and two arrangements of one loss could follow each other for ever."""


@dataclass(frozen=True, eq=False)
class Medoids:
    """A local minimum.

    Parameters
    ----------
    positions : int array of shape (k,), ascending, all different
    loss : sum over items of the distance to the nearest medoid
    n_swaps : swaps that were done
    converged : whether no swap is left that lowers the loss
    """

    positions: IntArray
    loss: float
    n_swaps: int = 0
    converged: bool = True


def faster_pam(distances: Distances, start: IntArray, *, max_passes: int = MAX_PASSES) -> Medoids:
    """Medoids that no single swap improves, from a given start.

    Items are tried as medoids one after the other, in order and round and round; the first swap
    that lowers the loss is done at once, with the medoid whose removal costs least. A pass over n
    items costs O(n^2) whatever the number of medoids, and a swap about O(n).

    Parameters
    ----------
    distances : float32 array of shape (n, n), symmetric, finite, zero on the diagonal
    start : int array of shape (k,), positions of the first medoids, all different
    max_passes : give up after so many passes over all items

    Raises
    ------
    MethodError
        when the matrix is not square or not finite, or the start is empty, has an item twice or
        more medoids than there are items.

    Notes
    -----
    Deterministic. Ties: an item stays with its medoid when another one is as near; among medoids
    met at the same time the one in the first place of ``start`` wins, and of medoids whose removal
    costs the same the first is removed. With one medoid the answer is the minimum itself, the
    first item of several.

    Examples
    --------
    >>> place = np.array([0, 1, 2, 10, 11, 12], dtype=np.float32)
    >>> faster_pam(abs(place[:, None] - place), np.array([0, 1])).positions.tolist()
    [1, 4]
    """
    start = _checked(distances, start)
    if len(start) == len(distances):
        return Medoids(np.sort(start), 0.0)
    if len(start) == 1:
        sums = distances.sum(axis=1, dtype=np.float64)
        best = int(sums.argmin())
        return Medoids(np.array([best], dtype=np.intp), float(sums[best]))
    state = _State(distances, start)
    n_swaps, converged = _improve(state, max_passes)
    return Medoids(np.sort(state.medoids), state.loss(), n_swaps, converged)


def _checked(distances: Distances, start: IntArray) -> IntArray:
    start = np.asarray(start, dtype=np.intp)
    if distances.ndim != len(("row", "column")) or len(set(distances.shape)) > 1:
        raise MethodError(f"distances must be a square matrix; got the shape {distances.shape}.")
    n = len(distances)
    # The sum of a row is finite only when all of it is.
    rows = np.flatnonzero(~np.isfinite(distances.sum(axis=1)))
    if rows.size:
        raise MethodError(
            f"distances of {counted(rows.size, 'item')} of {n:,} are not finite (first: item "
            f"{rows[0]}); an undefined correlation needs a distance by rule before clustering."
        )
    if not 1 <= len(start) <= n:
        raise MethodError(f"cannot choose {counted(len(start), 'medoid')} among {n:,} items.")
    if len(np.unique(start)) < len(start) or start.min() < 0 or start.max() >= n:
        raise MethodError(f"first medoids must be different positions from 0 to {n - 1}.")
    return start


class _State:
    """Medoids, and the nearest and the second nearest one of every item."""

    def __init__(self, distances: Distances, start: IntArray) -> None:
        self.distances = distances
        self.medoids = start.copy()
        self.is_medoid = np.zeros(len(distances), dtype=bool)
        self.is_medoid[start] = True
        self.near, self.d_near, self.second, self.d_second = _two_nearest(distances[:, start])
        self.margin = self.d_second - self.d_near
        self._gain, self._loss = np.empty_like(self.d_near), np.empty_like(self.d_near)

    def loss(self) -> float:
        """Sum of the distances to the nearest medoid."""
        return float(self.d_near.sum(dtype=np.float64))

    def best_swap(self, candidate: int) -> tuple[int, float]:
        """The medoid that this item replaces best, and the change of the loss.

        With d the distances to the candidate, items nearer to it than to their medoid gain
        d - d_near, whichever medoid goes. The items of the medoid that goes lose min(d, d_second)
        - d_near where that is positive. Both are sums over items, the second one per medoid.
        """
        gain, loss = self._gain, self._loss
        np.subtract(self.distances[candidate], self.d_near, out=loss)
        np.minimum(loss, 0, out=gain)
        np.maximum(loss, 0, out=loss)
        np.minimum(loss, self.margin, out=loss)
        removal = np.bincount(self.near, weights=loss, minlength=len(self.medoids))
        slot = int(removal.argmin())
        return slot, float(removal[slot]) + float(gain.sum())

    def swap(self, slot: int, candidate: int) -> None:
        """Put the candidate into this slot and bring every item up to date."""
        self.is_medoid[self.medoids[slot]] = False
        self.is_medoid[candidate] = True
        self.medoids[slot] = candidate
        row = self.distances[candidate]
        had = (self.near == slot) | (self.second == slot)
        nearer = row < self.d_second
        self._insert(np.flatnonzero(nearer), slot, row)
        # Items that lost one of their two medoids and are not near the new one: look at all.
        lost = np.flatnonzero(had & ~nearer)
        found = _two_nearest(self.distances[lost[:, None], self.medoids])
        self.near[lost], self.d_near[lost], self.second[lost], self.d_second[lost] = found
        np.subtract(self.d_second, self.d_near, out=self.margin)

    def _insert(self, items: IntArray, slot: int, row: npt.NDArray[np.float32]) -> None:
        """Items to which the new medoid is nearer than their second one."""
        d, near, d_near = row[items], self.near[items], self.d_near[items]
        own = near == slot
        # Their medoid went and the new one is still nearer than the second: only d_near changes.
        overtaken = ~own & (d < d_near)
        behind = ~own & ~overtaken
        self.second[items[overtaken]] = near[overtaken]
        self.d_second[items[overtaken]] = d_near[overtaken]
        self.second[items[behind]], self.d_second[items[behind]] = slot, d[behind]
        first = own | overtaken
        self.near[items[first]], self.d_near[items[first]] = slot, d[first]


def _two_nearest(
    distances: Distances,
) -> tuple[IntArray, npt.NDArray[np.float32], IntArray, npt.NDArray[np.float32]]:
    """Slot and distance of the nearest and the second nearest column; overwrites its argument."""
    rows = np.arange(len(distances))
    near = distances.argmin(axis=1)
    d_near = distances[rows, near]
    distances[rows, near] = np.inf
    second = distances.argmin(axis=1)
    return near, d_near, second, distances[rows, second]


def _improve(state: _State, max_passes: int) -> tuple[int, bool]:
    """Swap until a whole pass finds nothing; the number of swaps, and whether it got there."""
    n = len(state.distances)
    least = TOLERANCE * state.loss()
    n_swaps = unchanged = 0
    for candidate in (item for _ in range(max_passes) for item in range(n)):
        if unchanged == n:
            break
        unchanged += 1
        if state.is_medoid[candidate]:
            continue
        slot, change = state.best_swap(candidate)
        if change < -least:
            state.swap(slot, candidate)
            n_swaps, unchanged = n_swaps + 1, 0
    return n_swaps, unchanged == n
