"""A uniform random sample of the items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad.selectors._base import Prepared, Selection, check_size, selection_of

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix


@dataclass(frozen=True)
class Uniform:
    """Items drawn uniformly without replacement; each size is a draw of its own."""

    def prepare(self, scores: ScoreMatrix, *, aggregate: Aggregate, stream: Stream) -> Prepared:
        """Return the function from size to selection; see :class:`Selector`."""
        weights = scores.item_weights(aggregate)

        def build(size: int) -> Selection:
            size = check_size(size, scores)
            chosen = stream.child(size).rng().choice(scores.n_items, size=size, replace=False)
            return selection_of(scores, chosen, weights[chosen])

        return build
