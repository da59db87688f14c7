"""Items that say much of the full score and little that others said before.

References
----------
.. [1] H. Peng, F. Long and C. Ding, "Feature selection based on mutual information: criteria of
   max-dependency, max-relevance, and min-redundancy", IEEE TPAMI 27 (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mdad.errors import MethodError
from mdad.selectors._base import Prepared, Selection, check_size, selection_of
from mdad.selectors._correlation import unit_rows

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix


@dataclass(frozen=True)
class Mrmr:
    """Minimum redundancy, maximum relevance, in the form of a difference of correlations.

    Each step takes the item with the largest

        |r(item, full score)| - mean over chosen items of |r(item, chosen)|

    over source models. The sequence is nested and does not depend on the stream. A constant item
    has no correlation and comes last.

    Raises
    ------
    MethodError
        when there is one source model only.
    """

    def prepare(
        self,
        scores: ScoreMatrix,
        *,
        aggregate: Aggregate,
        stream: Stream,  # noqa: ARG002  # part of the protocol; nothing is drawn
    ) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        if scores.n_models == 1:
            raise MethodError(
                "mRMR correlates items over source models and needs the scores of two or more; "
                "got one."
            )
        weights = scores.item_weights(aggregate)
        values = scores.values.astype(np.float64)
        unit = unit_rows(values.T)[0]
        full = unit_rows((values @ weights)[None])[0][0]
        relevance = np.where(unit.any(axis=1), np.abs(unit @ full), -2)
        redundancy, free = np.zeros(scores.n_items), np.ones(scores.n_items, dtype=bool)
        chosen: list[int] = []

        def build(size: int) -> Selection:
            size = check_size(size, scores)
            while len(chosen) < size:
                merit = relevance - redundancy / max(len(chosen), 1)
                best = int(np.where(free, merit, -np.inf).argmax())
                chosen.append(best)
                free[best] = False
                redundancy[:] += np.abs(unit @ unit[best])
            taken = np.array(chosen[:size], dtype=np.intp)
            return selection_of(scores, taken, weights[taken])

        return build
