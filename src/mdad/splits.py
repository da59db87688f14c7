"""Splits: which models are sources and targets in a run, which items are seen and unseen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad._rng import Stream
    from mdad.scores import ScoreMatrix

__all__ = ["Seen", "Split", "draw_split", "n_seen", "n_seen_of"]

Seen = Literal["half", "all"]
"""Which items a selector may draw from: half of each subtask, or all."""


@dataclass(frozen=True)
class Split:
    """The four disjoint sets of a run, as ids in alphabetical order.

    Selectors see source models x seen items; estimators a target model's scores on chosen items.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    seen: tuple[str, ...]
    unseen: tuple[str, ...]


def n_seen_of(n_items: int, seen: Seen) -> int:
    """Number of seen items of a subtask: half, rounded down, or all."""
    return n_items if seen == "all" else n_items // 2


def n_seen(scores: ScoreMatrix, seen: Seen = "half") -> int:
    """Number of seen items in every run."""
    return sum(n_seen_of(len(part), seen) for part in scores.subtask_positions.values())


def draw_split(
    scores: ScoreMatrix,
    *,
    n_source: int,
    n_target: int,
    stream: Stream,
    targets: Sequence[str] = (),
    seen: Seen = "half",
) -> Split:
    """Draw target models, disjoint source models, and the seen half of each subtask.

    Parameters
    ----------
    scores : the whole matrix; the order of its rows and columns makes no difference
    n_source, n_target : together at most the number of models
    stream : randomness of this run's split
    targets : fixed target models; n_target is then their number
    seen : which items may be seen
    """
    scores = scores.sorted()
    order = stream.child("models").rng().permutation(scores.n_models)
    if targets:
        fixed = np.array([scores.model_position[model] for model in targets], dtype=np.intp)
        order = np.concatenate([fixed, order[~np.isin(order, fixed)]])
    target, source = order[:n_target], order[n_target : n_target + n_source]
    rng = stream.child("items").rng()
    visible = np.zeros(scores.n_items, dtype=bool)
    for part in scores.subtask_positions.values():
        visible[rng.permutation(part)[: n_seen_of(len(part), seen)]] = True

    def named(ids: tuple[str, ...], positions: npt.NDArray[np.intp]) -> tuple[str, ...]:
        return tuple([ids[i] for i in np.sort(positions).tolist()])

    return Split(
        named(scores.models, source),
        named(scores.models, target),
        named(scores.items, np.flatnonzero(visible)),
        named(scores.items, np.flatnonzero(~visible)),
    )
