"""Items that tell most of the full score by an item response model.

References
----------
.. [1] F. M. Lord, "Applications of item response theory to practical testing problems", 1980.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdad.irt import shared_fit
from mdad.selectors._base import FloatArray, Prepared, Selection, check_size, selection_of

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.irt import IrtFit
    from mdad.scores import Aggregate, ScoreMatrix

NODES = 15


@dataclass(frozen=True)
class IrtInformation:
    """Greedy choice by Fisher information in a multidimensional 2PL.

    At ability theta item j has the information p (1 - p) a a', and the expected full score F the
    gradient g = sum of w_j p_j (1 - p_j) a_j. With the standard Normal prior the chosen items leave
    F the variance g' (I + sum of informations)^-1 g; each step takes the item that lowers its mean
    over ``nodes`` source models, evenly spaced in full score, the most. (With one dimension that is
    the classical maximum-information test.) Nested; the stream changes nothing.

    Parameters
    ----------
    nodes : number of abilities
    dims : ability dimensions

    Raises
    ------
    MethodError
        when scores are graded.
    """

    nodes: int = NODES
    dims: int = 10

    def prepare(
        self,
        scores: ScoreMatrix,
        *,
        aggregate: Aggregate,
        stream: Stream,  # noqa: ARG002  # part of the protocol; nothing is drawn
    ) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        weights = scores.item_weights(aggregate)
        fitted = shared_fit(scores, dims=self.dims)
        full = scores.values.astype(np.float64) @ weights
        count = min(self.nodes, scores.n_models)
        ranks = ((np.arange(count) + 0.5) * scores.n_models / count).astype(np.intp)
        nodes = np.argsort(full, kind="stable")[ranks]
        steps = _Steps(fitted, fitted.ability[nodes], weights)

        def build(size: int) -> Selection:
            chosen = np.array(steps.take(check_size(size, scores)), dtype=np.intp)
            return selection_of(scores, chosen, weights[chosen])

        return build


class _Steps:
    """The greedy sequence; covariance of ability at every node, downdated with each item."""

    def __init__(self, fitted: IrtFit, ability: FloatArray, weights: FloatArray) -> None:
        chance = fitted.predict(ability)
        self._slopes = fitted.discrimination
        self._binary = chance * (1 - chance)
        self._gradient = (self._binary * weights) @ self._slopes
        self._covariance = np.stack([np.eye(fitted.dims)] * len(ability))
        self._free = np.ones(len(weights), dtype=bool)
        self._chosen: list[int] = []

    def take(self, size: int) -> list[int]:
        while len(self._chosen) < size:
            self._step()
        return self._chosen[:size]

    def _step(self) -> None:
        gain = np.zeros(len(self._free))
        for node, covariance in enumerate(self._covariance):
            spread = self._slopes @ covariance
            variance = self._binary[node] * np.einsum("jd,jd->j", spread, self._slopes)
            gain += self._binary[node] * (spread @ self._gradient[node]) ** 2 / (1 + variance)
        best = int(np.where(self._free, gain, -1).argmax())
        self._chosen.append(best)
        self._free[best] = False
        slope = self._slopes[best]
        for node, covariance in enumerate(self._covariance):
            shared = covariance @ slope
            share = self._binary[node, best]
            self._covariance[node] -= (
                np.outer(shared, shared) * share / (1 + share * slope @ shared)
            )
