"""What a verdict is, and how pairs make a ranking."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mdad._checks import check_real, counted
from mdad._notebook import shown
from mdad.errors import ScoresError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PairVerdict", "Ranked", "Score", "Verdict", "holm", "ranking"]


@dataclass(frozen=True)
class Score:
    """A model's estimated full score, in the unit of the scores.

    Parameters
    ----------
    model : id
    value, low, high, level : estimate and two-sided interval of the full score over the pool
    n : items it rests on
    n_missing : chosen items that were not scored
    n_items : items of the pool
    notes : what a reader should know
    """

    model: str
    value: float
    low: float
    high: float
    level: float
    n: int
    n_missing: int
    n_items: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairVerdict:
    """Which of two models is better on the full benchmark.

    Parameters
    ----------
    a, b : ids
    gap : estimated full score of a less that of b; low, high: its two-sided interval
    a_better : probability that a has the higher full score, over the pool
    a_better_unseen : the same over as many unseen items of the kind
    confidence : of the verdict "the leader is better", after Holm's correction for all pairs
    better : id of the model that is better, or None: cannot tell
    wins, ties, losses : items on which a scores more, the same, less
    mcnemar : exact two-sided McNemar p-value (0/1 scores on random items), not corrected
    items_to_decide : items that would decide if the gap stayed as it is; None when it is 0, when
        it is decided, or when the items were not drawn at random
    """

    a: str
    b: str
    gap: float
    low: float
    high: float
    a_better: float
    a_better_unseen: float
    confidence: float
    better: str | None
    wins: int
    ties: int
    losses: int
    mcnemar: float | None
    items_to_decide: int | None


@dataclass(frozen=True)
class Ranked:
    """A model's place among those compared.

    Parameters
    ----------
    rank : 1 = best; equal estimates share a rank
    rank_low, rank_high : ranks that the verdicts leave possible
    tier : 1 = not shown worse than the best; the next tier begins with the first model shown
        worse than the head of this one
    """

    model: str
    rank: int
    rank_low: int
    rank_high: int
    tier: int


@dataclass(frozen=True)
class Verdict:
    """Models compared on a micro-benchmark; the first is the baseline.

    Parameters
    ----------
    scores : in the order given
    pairs : every pair, the earlier model first
    ranking : best first
    confidence : a model is called better from this probability on, after Holm's correction
    n : items the comparison rests on (scored for every model)
    point : a hundredth of the score range
    notes : what a reader should know
    """

    scores: tuple[Score, ...]
    pairs: tuple[PairVerdict, ...]
    ranking: tuple[Ranked, ...]
    confidence: float
    n: int
    n_items: int
    point: float
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        """What a notebook shows: models best first, in the unit of the scores."""
        scores = {score.model: score for score in self.scores}
        decided = sum(pair.better is not None for pair in self.pairs)
        facts = [
            (
                f"{decided} of {counted(len(self.pairs), 'pair')} decided with probability "
                f"{self.confidence:g}, on {counted(self.n, 'item')}"
            )
        ]
        rows = [
            (
                place.model,
                f"{scores[place.model].value:.4g}",
                f"{scores[place.model].low:.4g} to {scores[place.model].high:.4g}",
                f"{place.rank_low} to {place.rank_high}",
                str(place.tier),
            )
            for place in self.ranking
        ]
        head = ("model", "full score", "interval", "ranks possible", "tier")
        return shown("Verdict", facts, head, rows)

    def pair(self, a: str, b: str) -> PairVerdict:
        """The verdict on two models, as seen from ``a``.

        Raises
        ------
        ScoresError
            when they were not compared.
        """
        for found in self.pairs:
            if (found.a, found.b) == (a, b):
                return found
            if (found.a, found.b) == (b, a):
                return _turned(found)
        raise ScoresError(f"{a!r} and {b!r} were not compared here.")

    def not_worse(self, model: str, baseline: str, margin: float = 0.0) -> bool:
        """Whether a model is *shown* not to be worse than a baseline by more than a margin.

        The lower end of the one-sided interval of its lead must be at or above -margin, so a
        comparison that cannot tell does not pass. On random items no prior is used; on learned ones
        the interval is that of gaps among models like the sources.

        Parameters
        ----------
        margin : in the unit of the scores
        """
        margin = check_real("margin", margin, 0, math.inf)
        return self._lower[(model, baseline)] >= -margin

    @property
    def _lower(self) -> dict[tuple[str, str], float]:
        """One-sided lower end of every ordered pair's gap at the verdict's confidence."""
        ends = {(p.a, p.b): p.low for p in self.pairs}
        return ends | {(p.b, p.a): -p.high for p in self.pairs}


def _turned(pair: PairVerdict) -> PairVerdict:
    return replace(
        pair,
        a=pair.b,
        b=pair.a,
        gap=-pair.gap,
        low=-pair.high,
        high=-pair.low,
        a_better=1 - pair.a_better,
        a_better_unseen=1 - pair.a_better_unseen,
        wins=pair.losses,
        losses=pair.wins,
    )


def holm(pairs: Sequence[PairVerdict], confidence: float) -> tuple[PairVerdict, ...]:
    """Call a leader better when 1 - P, after Holm's step-down correction, is small enough."""
    doubts = np.array([1 - pair.confidence for pair in pairs])
    order = np.argsort(doubts, kind="stable")
    steps = np.arange(len(pairs), 0, -1)
    corrected = np.empty(len(pairs))
    corrected[order] = np.minimum(1, np.maximum.accumulate(doubts[order] * steps))
    judged = []
    for pair, doubt in zip(pairs, corrected.tolist(), strict=True):
        leader = pair.a if pair.a_better > 0.5 else pair.b  # noqa: PLR2004  # the likelier
        sure = doubt <= 1 - confidence + 1e-12 and pair.gap != 0
        judged.append(
            replace(
                pair,
                confidence=1 - doubt,
                better=leader if sure else None,
                items_to_decide=None if sure else pair.items_to_decide,
            )
        )
    return tuple(judged)


def ranking(estimates: Mapping[str, float], pairs: Sequence[PairVerdict]) -> tuple[Ranked, ...]:
    better = {(p.better, p.b if p.better == p.a else p.a) for p in pairs if p.better is not None}
    order = sorted(estimates, key=lambda model: -estimates[model])
    ranked: list[Ranked] = []
    tier, head = 0, None
    for model in order:
        if head is None or (head, model) in better:
            tier, head = tier + 1, model
        rank = 1 + sum(estimates[other] > estimates[model] + 1e-12 for other in order)
        above = sum((other, model) in better for other in order)
        below = sum((model, other) in better for other in order)
        ranked.append(Ranked(model, rank, 1 + above, len(order) - below, tier))
    return tuple(ranked)
