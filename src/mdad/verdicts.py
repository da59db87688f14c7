"""Score and compare: full scores and verdicts from a micro-benchmark's items.

For weighted means of randomly drawn items the formulas are those of :mod:`mdad.paired`; for learned
micro-benchmarks the errors are those of the calibration in the file (:mod:`mdad.crossfit`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._calibrated import (
    Learned,
    better,
    gap_half_width,
    interval,
    learned,
    origin,
    warnings_of,
)
from mdad._checks import check_real, counted, listed
from mdad._moments import excess_kurtosis
from mdad._notebook import shown
from mdad._runs import Extra, Missing, Runs, values_of
from mdad.errors import ScoresError
from mdad.paired import Paired, full_score_interval, items_to_decide, paired_interval
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdad.microbenchmark import Microbenchmark

__all__ = [
    "Extra",
    "Missing",
    "PairVerdict",
    "Ranked",
    "Score",
    "Verdict",
    "compare",
    "score",
]

FloatArray = npt.NDArray[np.float64]

CONFIDENCE = 0.95


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

        The lower end of the one-sided interval of its lead must be at or above -margin; no prior
        is used, so a comparison that cannot tell does not pass.

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


def score(
    micro: Microbenchmark,
    run: Runs,
    *,
    missing: Missing = "error",
    extra: Extra = "error",
    level: float = 0.95,
) -> Score:
    """Estimate one model's full score from its scores on the chosen items.

    Parameters
    ----------
    micro : micro-benchmark
    run : mapping of item to score, or a score matrix with one model
    missing : chosen items without a score: "error" refuses, "drop" weighs the others anew, "wrong"
        counts the lowest score
    extra : scored items that were not chosen: "error" refuses, unless they are exactly the whole
        benchmark; "ignore" leaves them out
    level : of the two-sided interval

    Raises
    ------
    ScoresError
        when items are missing or unexpected, or scores are outside their range.

    Examples
    --------
    >>> from mdad.selecting import select
    >>> micro = select(items=[f"q{i}" for i in range(1000)], size=100)
    >>> found = score(micro, {item: int(item < "q5") for item in micro.items})
    >>> found.n, found.n_items, found.low < found.value < found.high
    (100, 1000, True)
    """
    runs = run if isinstance(run, ScoreMatrix) else {"": run}
    models, values = values_of(micro, runs, missing, extra)
    if len(models) != 1:
        raise ScoresError(f"score takes one model; got {counted(len(models), 'model')}.")
    level = check_real("level", level, 0, 1, open_ends=True)
    if micro.calibration is not None:
        return _learned_scores(micro, models, values, learned(micro, models, values), level)[0]
    return _score(micro, models[0], values[0], level)


def compare(
    micro: Microbenchmark,
    runs: Runs,
    *,
    missing: Missing = "error",
    extra: Extra = "error",
    confidence: float = CONFIDENCE,
) -> Verdict:
    """Compare two or more models on a micro-benchmark; the first is the baseline.

    Parameters
    ----------
    micro : micro-benchmark
    runs : mapping of model to its scores (mapping of item to score, or a score matrix with one
        model), or one score matrix
    missing, extra : see :func:`score`; with "drop" the comparison rests on the items that were
        scored for every model
    confidence : probability from which on a model is called better, one-sided, after Holm's
        correction for the number of pairs

    Raises
    ------
    ScoresError
        when there are fewer than two models, or as :func:`score`.
    """
    confidence = check_real("confidence", confidence, 0.5, 1, open_ends=True)
    models, values = values_of(micro, runs, missing, extra)
    if len(models) < 2:  # noqa: PLR2004  # a comparison needs two
        raise ScoresError("a comparison needs two models or more; got one.")
    common = np.asarray(~np.isnan(values).any(axis=0))
    if micro.calibration is not None:
        return _learned_verdict(micro, models, values, common, missing, confidence)
    if not common.any():
        raise ScoresError("no chosen item was scored for every model: nothing can be compared.")
    pairs = _pairs(micro, models, values[:, common], common, confidence)
    scores = tuple(_score(micro, m, v, 0.95) for m, v in zip(models, values, strict=True))
    estimates = {m: _mean(micro, v, common) for m, v in zip(models, values, strict=True)}
    return Verdict(
        scores=scores,
        pairs=pairs,
        ranking=_ranking(estimates, pairs),
        confidence=confidence,
        n=int(common.sum()),
        n_items=micro.benchmark.n_items,
        point=micro.point,
        notes=_notes(micro, scores, int(common.sum()), missing),
    )


def _learned_scores(
    micro: Microbenchmark,
    models: Sequence[str],
    values: FloatArray,
    found: Learned,
    level: float,
) -> tuple[Score, ...]:
    scores = []
    for k, (model, row) in enumerate(zip(models, values, strict=True)):
        ends = interval(micro, float(found.estimates[k]), float(found.errors[k]), level)
        one = Learned(found.estimates[[k]], found.errors[[k]], found.misfit[[k]])
        n, notes = int((~np.isnan(row)).sum()), tuple(warnings_of(micro, [model], one))
        scores.append(Score(model, *ends, level, n, micro.size - n, micro.benchmark.n_items, notes))
    return tuple(scores)


def _learned_verdict(
    micro: Microbenchmark,
    models: Sequence[str],
    values: FloatArray,
    common: npt.NDArray[np.bool_],
    missing: Missing,
    confidence: float,
) -> Verdict:
    found = learned(micro, models, values)
    half = gap_half_width(micro, 2 * confidence - 1)
    pairs = []
    for i, j in combinations(range(len(models)), 2):
        gap = float(found.estimates[i] - found.estimates[j])
        pool, unseen = better(micro, gap)
        difference = (values[i] - values[j])[common]
        wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
        pairs.append(
            PairVerdict(
                a=models[i],
                b=models[j],
                gap=gap,
                low=gap - half,
                high=gap + half,
                a_better=pool,
                a_better_unseen=unseen,
                confidence=max(pool, 1 - pool),
                better=None,
                wins=wins,
                ties=len(difference) - wins - losses,
                losses=losses,
                mcnemar=None,
                items_to_decide=None,
            )
        )
    judged = _holm(pairs, confidence)
    scores = _learned_scores(micro, models, values, found, 0.95)
    notes = [origin(micro), *warnings_of(micro, models, found)]
    if np.isnan(values).any():
        notes.append("Missing scores were taken to be what models of that full score have there.")
    return Verdict(
        scores=scores,
        pairs=judged,
        ranking=_ranking(dict(zip(models, found.estimates.tolist(), strict=True)), judged),
        confidence=confidence,
        n=int(common.sum()),
        n_items=micro.benchmark.n_items,
        point=micro.point,
        notes=(*notes, *_common_notes(micro, missing)),
    )


def _weights(micro: Microbenchmark, used: npt.NDArray[np.bool_]) -> FloatArray | None:
    """Weights of the used items, scaled to sum to 1; None = all the same."""
    if micro.weights is None:
        return None
    weights = np.array(micro.weights)[used]
    if not weights.sum() > 0:
        raise ScoresError("the items that were scored have no weight; nothing can be estimated.")
    scaled: FloatArray = weights / weights.sum()
    return scaled


def _mean(micro: Microbenchmark, values: FloatArray, used: npt.NDArray[np.bool_]) -> float:
    weights = _weights(micro, used)
    row = values[used]
    return float(row.mean() if weights is None else row @ weights)


def _strata(micro: Microbenchmark, used: npt.NDArray[np.bool_]) -> list[str] | None:
    """Subtask of each used item where the weights differ by subtask."""
    if micro.weights is None or micro.subtasks is None:
        return None
    return [label for label, keep in zip(micro.subtasks, used, strict=True) if keep]


def _score(micro: Microbenchmark, model: str, values: FloatArray, level: float) -> Score:
    used = ~np.isnan(values)
    row, n_items = values[used], micro.benchmark.n_items
    bounds = micro.benchmark.score_range
    binary = bounds == (0.0, 1.0) and bool(np.isin(row, (0, 1)).all())
    if micro.weights is None:
        variance = None if binary else float(row.var(ddof=1)) if len(row) > 1 else 0.0
        found = full_score_interval(
            float(row.mean()),
            len(row),
            n_items,
            variance=variance,
            kurtosis=0.0 if binary else excess_kurtosis(row),
            score_range=bounds,
            level=level,
        )
        value, low, high = found.value, found.low, found.high
    else:
        # The lead over a model that scores the lowest everywhere is the score itself.
        pair = _paired(micro, row, np.full(len(row), bounds[0]), used, level)
        value = pair.gap + bounds[0]
        low, high = (float(np.clip(end + bounds[0], *bounds)) for end in (pair.low, pair.high))
    return Score(model, value, low, high, level, len(row), int((~used).sum()), n_items)


def _paired(
    micro: Microbenchmark,
    a: FloatArray,
    b: FloatArray,
    used: npt.NDArray[np.bool_],
    level: float,
    *,
    unseen: bool = False,
) -> Paired:
    spread = micro.made.source_spread
    return paired_interval(
        a,
        b,
        micro.benchmark.n_items,
        weights=_weights(micro, used),
        strata=_strata(micro, used),
        score_range=micro.benchmark.score_range,
        level=level,
        # The gap of two models drawn like the sources.
        gap_sd=math.sqrt(2) * spread if spread else None,
        differing=micro.made.source_differing,
        unseen=unseen,
    )


def _pairs(
    micro: Microbenchmark,
    models: Sequence[str],
    values: FloatArray,
    used: npt.NDArray[np.bool_],
    confidence: float,
) -> tuple[PairVerdict, ...]:
    # A two-sided interval whose ends are one-sided ones at the verdict's confidence.
    level = 2 * confidence - 1
    found = []
    for i, j in combinations(range(len(models)), 2):
        pool = _paired(micro, values[i], values[j], used, level)
        kind = _paired(micro, values[i], values[j], used, level, unseen=True)
        found.append(
            PairVerdict(
                a=models[i],
                b=models[j],
                gap=pool.gap,
                low=pool.low,
                high=pool.high,
                a_better=pool.a_better,
                a_better_unseen=kind.a_better,
                confidence=max(pool.a_better, 1 - pool.a_better),
                better=None,
                wins=pool.wins,
                ties=pool.ties,
                losses=pool.losses,
                mcnemar=pool.mcnemar,
                items_to_decide=items_to_decide(pool, confidence),
            )
        )
    return _holm(found, confidence)


def _holm(pairs: Sequence[PairVerdict], confidence: float) -> tuple[PairVerdict, ...]:
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


def _ranking(estimates: Mapping[str, float], pairs: Sequence[PairVerdict]) -> tuple[Ranked, ...]:
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


def _notes(
    micro: Microbenchmark, scores: Sequence[Score], n_common: int, missing: Missing
) -> tuple[str, ...]:
    notes = []
    lacking = [s for s in scores if s.n_missing]
    if lacking:
        notes.append(
            f"{counted(len(lacking), 'model')} lack chosen items; the comparison rests on the "
            f"{counted(n_common, 'item')} scored for every model, as if those were missing at "
            "random."
        )
    if micro.made.source_scores is not None:
        low, high = micro.made.source_scores
        outside = [s.model for s in scores if not low <= s.value <= high]
        if outside:
            notes.append(
                f"{listed(outside)} scored outside the range of the source models; random items "
                "hold there all the same."
            )
    if not getattr(micro.estimator, "uniform", False) and micro.weights is None:
        notes.append("Intervals are those of a plain random sample: cautious for spread-out ones.")
    return (*notes, *_common_notes(micro, missing))


def _common_notes(micro: Microbenchmark, missing: Missing) -> tuple[str, ...]:
    notes = []
    if missing == "wrong":
        notes.append("Chosen items without a score were counted as wrong.")
    if micro.benchmark.simulated:
        notes.append("The micro-benchmark was made with simulated scores.")
    return tuple(notes)
