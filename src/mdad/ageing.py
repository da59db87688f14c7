"""Ageing: whether a micro-benchmark still fits the models being measured, and refitting it.

What was learned from source models speaks of models like them. Models get better and change their
ways; a file is checked against newly measured models, and refitted when it no longer holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mdad._calibrated import learned, strangers
from mdad._checks import check_int, counted
from mdad.errors import ScoresError, SettingError
from mdad.selecting import select
from mdad.verdicts import compare

if TYPE_CHECKING:
    from mdad.microbenchmark import Microbenchmark
    from mdad.scores import ScoreMatrix
    from mdad.verdicts import Verdict

__all__ = ["Age", "age", "refit"]

UNUSUAL = 0.01
LEVEL = 0.95
DOUBT = 0.01
"""Chance below which a deviation is no accident."""

FEW = 5
"""Fewer models say nothing of coverage or bias."""


@dataclass(frozen=True)
class Age:
    """How a micro-benchmark fits some newly measured models.

    Parameters
    ----------
    n_models : newly measured models that are no source models
    n_known : source models among the measured ones, left out
    outside : those whose estimate is beyond the full scores of the source models
    unlike : those that answer unlike the source models (learned files only)
    covered : share of full scores inside their 95 % interval; NaN unless the whole benchmark was
        scored
    bias : mean of estimated less true full score, in the unit of the scores; NaN likewise
    bias_error : its standard error over models
    predicted, right : mean probability given to the leader of a pair, and share of the pairs in
        which it is ahead; NaN likewise
    reasons : what no longer fits, a sentence each; none when the file still fits
    """

    n_models: int
    n_known: int
    outside: tuple[str, ...]
    unlike: tuple[str, ...]
    covered: float
    bias: float
    bias_error: float
    predicted: float
    right: float
    reasons: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against using the file for models like these."""
        return not self.reasons


def age(micro: Microbenchmark, scores: ScoreMatrix) -> Age:
    """Check a micro-benchmark against newly measured models.

    Parameters
    ----------
    micro : micro-benchmark
    scores : of models on at least the chosen items; on the whole benchmark, errors are checked too

    Raises
    ------
    ScoresError
        when chosen items were not scored, or fewer than two models are no source models.
    """
    missing = [item for item in micro.items if item not in scores.item_position]
    if missing:
        raise ScoresError(
            f"{counted(len(missing), 'chosen item')} of {micro.size} not among the scored ones."
        )
    known = set(micro.made.source_models)
    fresh = [model for model in scores.models if model not in known]
    if len(fresh) < 2:  # noqa: PLR2004  # a pair
        raise ScoresError(
            f"checking a micro-benchmark takes two models or more that it was not made with; got "
            f"{len(fresh)}."
        )
    n_known = scores.n_models - len(fresh)
    scores = scores.restrict(models=fresh)
    whole = covers_pool(micro, scores)
    part = scores.restrict(items=micro.items)
    verdict = compare(micro, part)
    full = scores.full_scores(micro.benchmark.aggregate) if whole else None
    if micro.calibration is None:
        low, high = micro.made.source_scores or (-math.inf, math.inf)
        outside = [s.model for s in verdict.scores if not low <= s.value <= high]
        unlike: list[str] = []
    else:
        found = learned(micro, part.models, part.values.astype(np.float64))
        outside, unlike = strangers(micro, part.models, found)
    facts = _errors(verdict, full)
    reasons = _reasons(micro, len(fresh), outside, unlike, facts)
    return Age(
        len(fresh),
        n_known,
        tuple(outside),
        tuple(unlike),
        *facts,
        tuple(reasons),
    )


def covers_pool(micro: Microbenchmark, scores: ScoreMatrix) -> bool:
    """Whether the scores are on the whole pool the items were chosen from."""
    bench = micro.benchmark
    if scores.n_items != bench.n_items:
        return False
    # Of a benchmark some of whose items were excluded, only the number of the others is known.
    return bench.n_excluded > 0 or scores.items_fingerprint == bench.items_fingerprint


def refit(
    micro: Microbenchmark,
    scores: ScoreMatrix,
    *,
    extend: int = 0,
    seed: int | None = None,
    n_jobs: int = 1,
) -> Microbenchmark:
    """Keep the items, learn the estimator and its errors anew, and add items where asked to.

    The estimator is the best linear predictor of ``c-optimal``; items that are added are those that
    leave least unknown given the old ones. The new file names its ancestors.

    Parameters
    ----------
    micro : micro-benchmark to start from
    scores : source models x the whole benchmark
    extend : number of items to add
    seed : of the folds; that of ``micro`` by default
    n_jobs : processes

    Raises
    ------
    ScoresError
        when the scores are not on the benchmark the items were chosen from, or of too few models.
    SettingError
        when more items are added than there are.

    Notes
    -----
    Old source models among the new ones had a part in choosing the old items, so errors measured
    on them flatter a little; leave them out where the new models are enough.
    """
    extend = check_int("extend", extend, 0)
    if not covers_pool(micro, scores):
        micro.check_benchmark(scores.items, scores.items_fingerprint)
        raise ScoresError(
            f"refitting takes scores on all {micro.benchmark.n_items:,} items the micro-benchmark "
            f"was chosen from; got {scores.n_items:,}."
        )
    if micro.size + extend >= micro.benchmark.n_items:
        raise SettingError(
            f"{micro.size:,} items and {extend:,} more are all {micro.benchmark.n_items:,} of the "
            "benchmark: nothing is left to estimate."
        )
    found = select(
        scores,
        size=micro.size + extend,
        method="c-optimal",
        forced=micro.items,
        aggregate=micro.benchmark.aggregate,
        seed=micro.made.seed if seed is None else seed,
        n_jobs=n_jobs,
    )
    settings = {"refitted": micro.made.method, "extended": extend}
    made = replace(found.made, settings=settings, lineage=(*micro.made.lineage, micro.fingerprint))
    return replace(found, made=made, content_hashes=found.content_hashes or _hashes(micro, found))


def _hashes(old: Microbenchmark, new: Microbenchmark) -> tuple[str, ...] | None:
    """Content hashes of the old file, where the new scores have none."""
    if old.content_hashes is None:
        return None
    known = dict(zip(old.items, old.content_hashes, strict=True))
    return tuple(known.get(item, "") for item in new.items)


def _errors(verdict: Verdict, full: np.ndarray | None) -> tuple[float, float, float, float, float]:
    """Coverage, bias and its error, mean probability of leaders and share of them ahead."""
    if full is None:
        return (math.nan,) * 5
    truth = {s.model: y for s, y in zip(verdict.scores, full.tolist(), strict=True)}
    slack = 1e-9 * 100 * verdict.point
    inside = [s.low - slack <= truth[s.model] <= s.high + slack for s in verdict.scores]
    errors = np.array([s.value - truth[s.model] for s in verdict.scores])
    told = [
        (max(p.a_better, 1 - p.a_better), (truth[p.a] - truth[p.b]) * (p.a_better - 0.5) > 0)
        for p in verdict.pairs
        if abs(truth[p.a] - truth[p.b]) > slack and p.gap != 0
    ]
    predicted, right = np.mean(told, axis=0) if told else (math.nan, math.nan)
    spread = float(errors.std(ddof=1) / math.sqrt(len(errors)))
    return float(np.mean(inside)), float(errors.mean()), spread, float(predicted), float(right)


def _reasons(
    micro: Microbenchmark,
    n: int,
    outside: list[str],
    unlike: list[str],
    facts: tuple[float, float, float, float, float],
) -> list[str]:
    from scipy.stats import binom  # noqa: PLC0415  # slow to import

    covered, bias, bias_error, predicted, right = facts
    reasons = []
    if micro.calibration is not None and len(outside) > (1 - LEVEL) * n:
        reasons.append(
            f"{len(outside)} of {counted(n, 'model')} are beyond the full scores of the source "
            "models."
        )
    if unlike and binom.sf(len(unlike) - 1, n, UNUSUAL) < DOUBT:
        reasons.append(
            f"{len(unlike)} of {counted(n, 'model')} answer unlike the source models, where one in "
            "a hundred would."
        )
    if n < FEW or math.isnan(covered):
        return reasons
    if binom.cdf(round(covered * n), n, LEVEL) < DOUBT:
        reasons.append(f"95 % intervals hold {100 * covered:.0f} % of the full scores.")
    if abs(bias) > max(3 * bias_error, micro.point):
        reasons.append(
            f"estimates are {abs(bias) / micro.point:.1f} points too "
            f"{'high' if bias > 0 else 'low'} on average."
        )
    # Pairs share models: there are about half as many independent ones as models.
    doubt = math.sqrt(max(right * (1 - right), 0.01) / (n / 2))
    if predicted - right > max(2 * doubt, 0.05):
        reasons.append(
            f"leaders that were said to be ahead with probability {predicted:.2f} are so in "
            f"{100 * right:.0f} % of the pairs."
        )
    return reasons
