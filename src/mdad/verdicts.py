"""Score and compare: full scores and verdicts from a micro-benchmark's items.

For weighted means of randomly drawn items the formulas are those of :mod:`mdad.paired`; for learned
micro-benchmarks the errors are those of the calibration in the file (:mod:`mdad.crossfit`).
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._calibrated import common_notes, learned, learned_scores, learned_verdict
from mdad._checks import check_real, counted, listed
from mdad._moments import excess_kurtosis
from mdad._runs import Extra, Missing, Runs, values_of
from mdad._verdict import PairVerdict, Ranked, Score, Verdict, holm, ranking
from mdad.errors import ScoresError
from mdad.paired import Paired, full_score_interval, items_to_decide, paired_interval
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        return learned_scores(micro, models, values, learned(micro, models, values), level)[0]
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
        return learned_verdict(micro, models, values, common, missing, confidence)
    if not common.any():
        raise ScoresError("no chosen item was scored for every model: nothing can be compared.")
    pairs = _pairs(micro, models, values[:, common], common, confidence)
    scores = tuple(_score(micro, m, v, 0.95) for m, v in zip(models, values, strict=True))
    estimates = {m: _mean(micro, v, common) for m, v in zip(models, values, strict=True)}
    return Verdict(
        scores=scores,
        pairs=pairs,
        ranking=ranking(estimates, pairs),
        confidence=confidence,
        n=int(common.sum()),
        n_items=micro.benchmark.n_items,
        point=micro.point,
        notes=_notes(micro, scores, int(common.sum()), missing),
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
    return holm(found, confidence)


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
    return (*notes, *common_notes(micro, missing))
