"""Determinantal point processes of discrete orthogonal polynomial ensembles.

Points in R^d carry masses. Polynomials, in an order by degree, are made orthonormal with respect
to these masses; the first k of them span the range of the projection kernel

    K(x, y) = sqrt(mass_x mass_y) sum_{j < k} p_j(x) p_j(y)

whose determinantal process is k points that repel each other: P(S) = det(K_S) [1]_. A polynomial
that the points cannot tell from a combination of earlier ones is left out, so the rank is exact;
there are no more of them than different points. The kernel depends on the points only up to
shifting and scaling each axis.

References
----------
.. [1] R. Bardenet, A. Hardy, Monte Carlo with determinantal point processes, Annals of Applied
   Probability 30 (2020).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]
Exponents = npt.NDArray[np.intp]
Order = Literal["total", "maximum"]

DEPENDENT = 1e-6
"""A polynomial of norm 1 with no more than this left beside the earlier ones is none of its own.

Far above rounding (1e-15), so that what is kept is the same on every machine, and far below what
independent polynomials of the degrees in use leave.
"""
BLOCK = 64
SEEK = 32
"""Points drawn between two updates of all chances, at most."""


class PolynomialBasis:
    """Orthonormal polynomials on weighted points, found as far as they are asked for.

    Parameters
    ----------
    points : array of shape (n_points, n_axes), in [-1, 1]
    masses : array of shape (n_points,), positive
    order : "total" degree, first axis first: 1, x1, x2, ..., x1^2, x1 x2, ...; or "maximum"
        degree over the axes, within it as the digits of a number: 1, xd, x(d-1), x(d-1) xd, ...
    """

    def __init__(self, points: FloatArray, masses: FloatArray, order: Order = "total") -> None:
        self._points, self._order = points, order
        self._root = np.sqrt(masses / masses.sum())
        self._found: FloatArray = np.empty((len(points), 0), order="F")
        self._degree, self._complete = 0, len(points) == 0

    def vectors(self, rank: int) -> FloatArray:
        """The first ``rank`` of them times the roots of the masses.

        Returns
        -------
        array of shape (n_points, rank) with orthonormal columns, or fewer columns where the
        points support no more
        """
        while self._found.shape[1] < rank and not self._complete:
            self._extend()
        first: FloatArray = self._found[:, :rank]
        return first

    def _extend(self) -> None:
        """Add whole degrees: what is found does not depend on the ranks asked for."""
        degrees: list[Exponents] = []
        while sum(map(len, degrees)) < BLOCK:
            degrees.append(exponents_of(self._points.shape[1], self._degree, self._order))
            if not len(degrees[-1]):
                break
            self._degree += 1
        # Once a degree adds nothing no higher one does: each is a sum of products of an axis
        # with a polynomial of the degree before.
        fresh = self._orthonormal(np.concatenate(degrees))
        self._complete = fresh.shape[1] == 0
        self._found = np.asfortranarray(np.hstack([self._found, fresh]))

    def _orthonormal(self, exponents: Exponents) -> FloatArray:
        block: FloatArray = legendre_products(self._points, exponents) * self._root[:, None]
        norms = np.linalg.norm(block, axis=0)
        block = block[:, norms > 0] / norms[norms > 0]
        block -= self._found @ (self._found.T @ block)
        if not block.size:
            return block
        fresh, upper = np.linalg.qr(block)
        if len(fresh) < block.shape[1] or np.abs(np.diag(upper)).min() <= DEPENDENT:
            room = len(fresh) - self._found.shape[1]
            fresh = np.linalg.qr(block[:, independent(block, room)])[0]
        # What rounding left of the earlier ones is removed once more.
        fresh -= self._found @ (self._found.T @ fresh)
        return np.linalg.qr(fresh)[0]


def independent(block: FloatArray, room: int) -> list[int]:
    """Columns that are no combination of the columns before them, at most ``room``."""
    found = np.empty((len(block), min(room, block.shape[1])), order="F")
    kept: list[int] = []
    for column in range(block.shape[1]):
        if len(kept) == found.shape[1]:
            break
        before = found[:, : len(kept)]
        rest = block[:, column] - before @ (before.T @ block[:, column])
        rest -= before @ (before.T @ rest)
        norm = np.linalg.norm(rest)
        if norm > DEPENDENT:
            found[:, len(kept)] = rest / norm
            kept.append(column)
    return kept


@lru_cache(maxsize=64)
def exponents_of(n_axes: int, degree: int, order: Order) -> Exponents:
    """Exponents of the monomials of one degree, in order, shape (n_monomials, n_axes).

    >>> exponents_of(2, 2, "total").tolist()
    [[2, 0], [1, 1], [0, 2]]
    >>> exponents_of(2, 1, "maximum").tolist()
    [[0, 1], [1, 0], [1, 1]]
    """
    if n_axes == 0:
        return np.zeros((int(degree == 0), 0), dtype=np.intp)
    if order == "maximum":
        digits = product(range(degree + 1), repeat=n_axes)
        return np.array([each for each in digits if max(each) == degree], dtype=np.intp)
    if n_axes == 1:
        return np.array([[degree]], dtype=np.intp)
    parts = []
    for first in range(degree, -1, -1):
        rest = exponents_of(n_axes - 1, degree - first, order)
        parts.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(parts)


def legendre_products(points: FloatArray, exponents: Exponents) -> FloatArray:
    """Products over the axes of Legendre polynomials, shape (n_points, n_exponents).

    They span the same polynomials as monomials of the same degrees, but are far from parallel.
    """
    result = np.ones((len(points), len(exponents)), order="F")
    for axis in range(points.shape[1]):
        degrees = exponents[:, axis]
        table = np.polynomial.legendre.legvander(points[:, axis], int(degrees.max(initial=0)))
        result *= table[:, degrees]
    return result


def inclusion(vectors: FloatArray) -> FloatArray:
    """The chance of each point to be drawn, the kernel's diagonal, shape (n_points,)."""
    chances: FloatArray = np.einsum("ij,ij->i", vectors, vectors)
    return np.clip(chances, 0, 1)


def sample_projection(vectors: FloatArray, rng: np.random.Generator) -> Positions:
    """One draw from the process of the kernel ``vectors @ vectors.T``; as many as its columns.

    Parameters
    ----------
    vectors : array of shape (n_points, rank) with orthonormal columns
    rng : of the draw

    Notes
    -----
    Points are drawn one at a time, each with chance proportional to what is left of its row of
    ``vectors`` beside the rows drawn before [1]_. What is left only shrinks, so a point proposed
    by an outdated amount and kept with the ratio of the true one to that is drawn exactly [2]_;
    all amounts are brought up to date by one matrix product per block of draws. Time grows with
    n_points x rank^2.

    References
    ----------
    .. [1] J. B. Hough et al., Determinantal processes and independence, Probability Surveys 3
       (2006), algorithm 18.
    .. [2] S. Barthelme, N. Tremblay, P.-O. Amblard, A faster sampler for discrete determinantal
       point processes, AISTATS 2023.
    """
    rank = vectors.shape[1]
    directions = np.empty((rank, rank), order="F")
    left = np.einsum("ij,ij->i", vectors, vectors)
    chosen: list[int] = []
    while (start := len(chosen)) < rank:
        # Never more than half of what is left: a proposal is kept with a chance of 1/2 or more.
        stop = start + max(1, min(SEEK, (rank - start) // 2))
        _draw_block(vectors, directions, left, chosen, stop, rng)
        left -= np.square(vectors @ directions[:, start:stop]).sum(axis=1)
        left[chosen] = 0
        np.maximum(left, 0, out=left)
    return np.array(chosen, dtype=np.intp)


def _draw_block(
    vectors: FloatArray,
    directions: FloatArray,
    left: FloatArray,
    chosen: list[int],
    stop: int,
    rng: np.random.Generator,
) -> None:
    """Draw until ``stop`` points are chosen; ``left`` is as it was at the start."""
    start, taken = len(chosen), set(chosen)
    edges = np.cumsum(left)
    while (count := len(chosen)) < stop:
        place = np.searchsorted(edges, rng.random() * edges[-1], side="right")
        point = min(int(place), len(left) - 1)
        row = vectors[point]
        lost = np.square(row @ directions[:, start:count]).sum()
        if point in taken or rng.random() * left[point] >= left[point] - lost:
            continue
        known = directions[:, :count]
        rest = row - known @ (row @ known)
        rest -= known @ (rest @ known)  # twice, so that directions stay orthogonal
        directions[:, count] = rest / np.linalg.norm(rest)
        chosen.append(point)
        taken.add(point)
