"""Greedy c-optimal designs: at each step the item that leaves least unknown of the full score.

References
----------
.. [1] F. Pukelsheim, "Optimal design of experiments", SIAM 2006, ch. 2: c-optimality.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mdad._checks import check_int, check_known, counted, listed
from mdad.errors import MethodError, SettingError
from mdad.selectors._base import FloatArray, Prepared, Selection, check_size, selection_of
from mdad.selectors._covariance import (
    Covariance,
    IntArray,
    Population,
    model_shares,
    population,
    population_of,
)

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix

FloatArray32 = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]

GRID = (0.1, 0.2, 0.3)
"""Shrinkages that cross-validation chooses from."""

FOLDS = 5
CV_SIZE = 50
"""Items whose predictor is judged in a fold; sizes share one shrinkage, so designs are nested."""

BLOCK = 32
"""Steps of a greedy sequence between two products that update the covariance of what is left."""

EXHAUSTED = 1e-5
"""An item with less of its variance left says nothing new; below it float32 is rounding."""


class Greedy:
    """The greedy sequence of one population, made as far as it is asked for.

    The shared part of a model's scores is z ~ N(0, I) with G'z on the items. P is the covariance
    of z given the chosen items, q_j the variance and c_j the covariance with the full score that
    item j has left. Choosing j takes from them

        v = (G'P g_j) / sqrt(q_j):   q -= v^2,   c -= v c_j / sqrt(q_j),   P -= P g_j g_j'P / q_j

    so that a step costs n_factors x n_items, however many items are chosen already.

    Parameters
    ----------
    found : population
    order : groups of positions to choose from first, each with the number to choose
    forbidden : positions never to choose
    """

    def __init__(
        self,
        found: Population,
        order: tuple[tuple[IntArray, int], ...] = (),
        forbidden: IntArray | None = None,
    ) -> None:
        # float32 halves the memory that is read in every step, which is all the time it takes.
        self._factors = np.ascontiguousarray(found.factors, dtype=np.float32)
        # P is a matrix less the squares of the latest steps, of which a block is taken from it
        # at a time: few large products are faster than many small ones.
        self._left: FloatArray32 | None = None
        self._latest = np.zeros((BLOCK, len(found.factors)), dtype=np.float32)
        self._n_latest = 0
        self._variance, self._cross = found.variance, found.cross.copy()
        self._floor = EXHAUSTED * self._variance
        self._free = np.ones(len(self._variance), dtype=bool)
        if forbidden is not None:
            self._free[forbidden] = False
        self._chosen: list[int] = []
        self._order = [(group, count) for group, count in order if count]

    def take(self, size: int) -> IntArray:
        """Positions of the first ``size`` items of the sequence."""
        while len(self._chosen) < size:
            self._step()
        return np.array(self._chosen[:size], dtype=np.intp)

    def _step(self) -> None:
        known = self._variance > self._floor
        gain = np.zeros(len(known))
        np.divide(self._cross**2, self._variance, out=gain, where=known)
        gain[~self._allowed()] = -1
        best = int(gain.argmax())
        self._chosen.append(best)
        self._free[best] = False
        if not known[best]:
            return
        root, cross = float(np.sqrt(self._variance[best])), float(self._cross[best])
        shared = self._shared(best) / np.float32(root)
        change = (shared @ self._factors).astype(np.float64)
        self._variance -= change**2
        self._cross -= change * (cross / root)
        self._take_from_left(shared)

    def _shared(self, item: int) -> FloatArray32:
        """P g of an item."""
        along = self._factors[:, item]
        latest = self._latest[: self._n_latest]
        whole = along if self._left is None else self._left @ along
        if not self._n_latest:
            return np.asarray(whole, dtype=np.float32)
        return np.asarray(whole - (latest @ along) @ latest, dtype=np.float32)

    def _take_from_left(self, shared: FloatArray32) -> None:
        self._latest[self._n_latest] = shared
        self._n_latest += 1
        if self._n_latest == BLOCK:
            if self._left is None:
                self._left = np.eye(self._latest.shape[1], dtype=np.float32)
            self._left -= self._latest.T @ self._latest
            self._n_latest = 0

    def _allowed(self) -> BoolArray:
        """Items that may be chosen now: those of groups that want some before all others."""
        for group, count in self._order:
            if not self._free[group].any() or (~self._free[group]).sum() >= count:
                continue
            allowed = np.zeros(len(self._free), dtype=bool)
            allowed[group] = self._free[group]
            return allowed
        return self._free


@dataclass(frozen=True)
class COptimal:
    """The greedy c-optimal design: nested, and the same whatever the stream.

    Among source models the items have mean mu and covariance C. The full score a'x has, given the
    scores of the chosen items, the variance a'Ca - c'C_SS^-1 c with c = C_S. a; each step takes the
    item that lowers it most. Its estimator is :class:`mdad.estimators.BestLinear`.

    Parameters
    ----------
    covariance : how C is modelled; see :class:`mdad.selectors.Covariance`
    shrinkage : "cv" to choose the shrinkage of a "diagonal" covariance among 10, 20 and 30 % by
        cross-validation among the source models, or "fixed" to take the covariance's own
    min_per_subtask : at least so many items of every subtask, or all it has; they are chosen first
    forced : ids chosen before all others
    forbidden : ids never chosen

    Raises
    ------
    MethodError
        when there is one source model only; (when built) when the size has no room for what must
        be chosen or more items are asked for than may be chosen.
    """

    covariance: Covariance = field(default_factory=Covariance)
    shrinkage: str = "cv"
    min_per_subtask: int = 0
    forced: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.shrinkage not in {"cv", "fixed"}:
            raise SettingError(f"shrinkage must be 'cv' or 'fixed'; got {self.shrinkage!r}.")
        check_int("min_per_subtask", self.min_per_subtask, 0)
        both = set(self.forced) & set(self.forbidden)
        if both:
            raise SettingError(f"items are both forced and forbidden: {listed(sorted(both))}.")

    def prepare(
        self,
        scores: ScoreMatrix,
        *,
        aggregate: Aggregate,
        stream: Stream,  # noqa: ARG002  # part of the protocol; nothing is drawn
    ) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        for ids in (self.forced, self.forbidden):
            check_known("item", ids, scores.item_position, "the pool")
        weights = scores.item_weights(aggregate)
        order = self._order(scores)
        must = int(sum(count for _, count in order))
        most = scores.n_items - len(self.forbidden)
        forbidden = _positions(scores, self.forbidden)
        greedy: list[Greedy] = []

        def build(size: int) -> Selection:
            size = check_size(size, scores)
            if size > most or size < must:
                raise MethodError(
                    f"cannot choose {counted(size, 'item')}: {must:,} must be chosen (forced items "
                    f"and minimums of subtasks) and {most:,} may be."
                )
            if size == scores.n_items:
                return selection_of(scores, np.arange(size), weights)
            if not greedy:
                covariance = chosen_covariance(
                    scores, self.covariance, aggregate, search=self.shrinkage == "cv"
                )
                found = population(scores, covariance, aggregate)
                greedy.append(Greedy(found, order, forbidden))
            chosen = greedy[0].take(size)
            return selection_of(scores, chosen, weights[chosen])

        return build

    def _order(self, scores: ScoreMatrix) -> tuple[tuple[IntArray, int], ...]:
        """Forced items, then what the minimums of the subtasks still want."""
        forced = _positions(scores, self.forced)
        order = [(forced, len(forced))]
        if self.min_per_subtask:
            banned = _positions(scores, self.forbidden)
            for part in scores.subtask_positions.values():
                group = np.setdiff1d(part, np.concatenate([forced, banned]))
                there = int(np.isin(part, forced).sum())
                order.append((group, min(max(self.min_per_subtask - there, 0), len(group))))
        return tuple(order)


def _positions(scores: ScoreMatrix, items: tuple[str, ...]) -> IntArray:
    return np.array([scores.item_position[item] for item in items], dtype=np.intp)


_CHOSEN: WeakKeyDictionary[ScoreMatrix, dict[tuple[Covariance, str], Covariance]] = (
    WeakKeyDictionary()
)


def chosen_covariance(
    scores: ScoreMatrix, covariance: Covariance, aggregate: Aggregate, *, search: bool
) -> Covariance:
    """The covariance with the shrinkage that cross-validation among the sources chooses.

    Parameters
    ----------
    scores : source models x seen items
    covariance : settings; returned as they are when ``search`` is false or it has factors
    aggregate : how a full score is formed
    """
    # With a handful of models or items a fold shows nothing.
    if not search or covariance.form == "factor" or min(scores.values.shape) < 2 * FOLDS:
        return covariance
    known = _CHOSEN.setdefault(scores, {})
    key = (covariance, aggregate)
    if key not in known:
        losses = [_loss(scores, replace(covariance, shrinkage=share), aggregate) for share in GRID]
        known[key] = replace(covariance, shrinkage=GRID[int(np.argmin(losses))])
    return known[key]


def _loss(scores: ScoreMatrix, covariance: Covariance, aggregate: Aggregate) -> float:
    """Mean squared error for held-out source models, the selection repeated in every fold.

    Models alternate over the folds in the order of their full scores, so that every fold spans
    them; by focus they count differently.
    """
    values = scores.values.astype(np.float64)
    weights = scores.item_weights(aggregate)
    full = values @ weights
    shares = model_shares(full, covariance)
    fold = np.empty(len(full), dtype=np.intp)
    fold[np.argsort(full, kind="stable")] = np.arange(len(full)) % FOLDS
    size = min(CV_SIZE, max(1, scores.n_items // 4))
    total = 0.0
    # Values stand in for probabilities: what is looked for is how far samples are to be trusted.
    plain = replace(covariance, features="values")
    for k in range(FOLDS):
        train, test = values[fold != k], values[fold == k]
        found = population_of(train, train, weights, plain)
        chosen = Greedy(found).take(size)
        error = full[fold == k] - predictor(found, chosen).predict(test[:, chosen])
        total += float(shares[fold == k] @ error**2)
    return total


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear predictor of the full score: constant + values @ direct + features @ slope.

    Parameters
    ----------
    constant : what it says where all scores and features are 0
    direct : array of shape (size,), weights of the chosen items' values in the full score
    slope : array of shape (size,), what the chosen items' features say of the other items
    mean : array of shape (size,), mean features
    standard_error : root of the variance that is left of the full score
    """

    constant: float
    direct: FloatArray
    slope: FloatArray
    mean: FloatArray
    standard_error: float

    def predict(self, values: FloatArray, features: FloatArray | None = None) -> FloatArray:
        """Estimates, shape (n_models,); equal rows get equal ones to the last bit."""
        read = values if features is None else features
        # A sum along rows, unlike a matrix product, does not depend on where a row stands.
        terms = np.ascontiguousarray(values * self.direct + read * self.slope)
        found: FloatArray = self.constant + terms.sum(axis=1)
        return found


def predictor(found: Population, chosen: IntArray) -> Linear:
    """The best linear predictor of the full score from the chosen items.

    Chosen items enter with their values at their weight; the rest of the full score is predicted
    from the chosen items' features. Where features are values, this is mean + c'C_SS^-1 (x - mu).
    Where the full score of other items of the kind is wanted, nothing enters as scored.
    """
    rest, own = found.weights.copy(), 0.0
    if not found.others:
        rest[chosen] = 0
        own = float(found.value_own @ rest**2)
    direct = found.weights[chosen] - rest[chosen]
    shared = found.value_factors @ rest
    part = found.factors[:, chosen]
    slope = solve_psd(found.block(chosen), part.T @ shared)
    left = shared - part @ slope
    variance = left @ left + own + found.own[chosen] @ slope**2
    constant = float(found.value_mean @ rest - found.mean[chosen] @ slope)
    # The means are known from so many models only.
    error = float(np.sqrt(variance * (1 + 1 / found.n_models)))
    return Linear(constant, direct, slope, found.mean[chosen], error)


def solve_psd(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric system that may be singular; directions without variance get nothing."""
    scale = float(np.diag(matrix).max(initial=0.0))
    if scale == 0:
        return np.zeros_like(right)
    # The ridge makes it regular, up to rounding.
    ridge = matrix + 1e-10 * scale * np.eye(len(matrix))
    return np.asarray(np.linalg.solve(ridge, right), dtype=np.float64)
