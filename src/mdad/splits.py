"""Splits: which models are sources and targets in a run, which items are seen and unseen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mdad._groups import model_groups
from mdad.errors import ScoresError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix

__all__ = ["Seen", "Split", "SplitKind", "draw_models", "draw_split", "n_seen", "n_seen_of"]

SplitKind = Literal["random", "grouped", "frontier"]
"""How models are split: at random; so that a family is never on both sides; or so that targets are
the best models and all sources weaker, which is how a micro-benchmark is used in earnest."""

IntArray = npt.NDArray[np.intp]

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
    kind: SplitKind = "random",
    groups: str = "",
    aggregate: Aggregate = "micro",
) -> Split:
    """Draw target models, disjoint source models, and the seen half of each subtask.

    Parameters
    ----------
    scores : the whole matrix; the order of its rows and columns makes no difference
    n_source, n_target : together at most the number of models
    stream : randomness of this run's split
    targets : fixed target models; n_target is then their number
    seen : which items may be seen
    kind : how models are split, see :func:`draw_models`
    groups : families of a grouped split, see :func:`mdad._groups.model_groups`
    aggregate : how the full scores of a frontier split are formed

    Raises
    ------
    ScoresError
        when a grouped split leaves no source model.
    """
    scores = scores.sorted()
    target, source = draw_models(
        scores,
        n_source=n_source,
        n_target=n_target,
        stream=stream.child("models"),
        targets=targets,
        kind=kind,
        groups=groups,
        aggregate=aggregate,
    )
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


def draw_models(
    scores: ScoreMatrix,
    *,
    n_source: int,
    n_target: int,
    stream: Stream,
    targets: Sequence[str] = (),
    kind: SplitKind = "random",
    groups: str = "",
    aggregate: Aggregate = "micro",
) -> tuple[IntArray, IntArray]:
    """Positions of the target models and of the source models; see :func:`draw_split`.

    - "random": all models have the same chance.
    - "grouped": families are drawn in random order until there are enough target models (of the
      last one, some at random); sources are drawn from the families that have no target. There
      may be fewer than ``n_source`` of them.
    - "frontier": targets are the best models by full score over all items (of equal ones, the
      first by id); sources are drawn from all others.

    Raises
    ------
    ScoresError
        when a grouped split leaves no source model.
    """
    order = stream.rng().permutation(scores.n_models)
    fixed = np.array([scores.model_position[model] for model in targets], dtype=np.intp)
    if kind == "frontier" and not targets:
        fixed = np.argsort(-scores.full_scores(aggregate), kind="stable")[:n_target]
    if kind == "grouped":
        family = model_groups(scores, groups)
        if not targets:
            # The order of families is that in a permutation of their own: large ones have no
            # better chance to come first.
            place = stream.child("families").rng().permutation(int(family.max()) + 1)
            fixed = order[np.argsort(place[family[order]], kind="stable")][:n_target]
        source = order[~np.isin(family[order], family[fixed])][:n_source]
        if not len(source):
            raise ScoresError(
                f"a grouped split leaves no source model: the families of {n_target} target models "
                "hold all models. Ask for fewer target models, or say groups=... what a family is."
            )
        return fixed, source
    order = np.concatenate([fixed, order[~np.isin(order, fixed)]])
    return order[:n_target], order[n_target : n_target + n_source]
