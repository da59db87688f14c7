"""Splits: which models are sources and targets in a run, which items are seen and unseen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mdad._rng import Stream
    from mdad.scores import ScoreMatrix

__all__ = ["Split", "draw_split", "n_seen"]


@dataclass(frozen=True)
class Split:
    """The four disjoint sets of a run, as ids in alphabetical order.

    Selectors see source models x seen items; estimators a target model's scores on chosen items.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    seen: tuple[str, ...]
    unseen: tuple[str, ...]


def n_seen(scores: ScoreMatrix) -> int:
    """Number of seen items in every run: half of each subtask, rounded down."""
    return sum(len(part) // 2 for part in scores.subtask_positions.values())


def draw_split(scores: ScoreMatrix, *, n_source: int, n_target: int, stream: Stream) -> Split:
    """Draw target models, disjoint source models, and the seen half of each subtask.

    Parameters
    ----------
    scores : the whole matrix; the order of its rows and columns makes no difference
    n_source, n_target : together at most the number of models
    stream : randomness of this run's split
    """
    scores = scores.sorted()
    order = stream.child("models").rng().permutation(scores.n_models)
    target, source = order[:n_target], order[n_target : n_target + n_source]
    rng = stream.child("items").rng()
    seen = np.zeros(scores.n_items, dtype=bool)
    for part in scores.subtask_positions.values():
        seen[rng.permutation(part)[: len(part) // 2]] = True

    def named(ids: tuple[str, ...], positions: npt.NDArray[np.intp]) -> tuple[str, ...]:
        return tuple([ids[i] for i in np.sort(positions).tolist()])

    return Split(
        named(scores.models, source),
        named(scores.models, target),
        named(scores.items, np.flatnonzero(seen)),
        named(scores.items, np.flatnonzero(~seen)),
    )
