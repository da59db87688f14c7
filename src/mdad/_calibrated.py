"""Scores and pairs of a learned micro-benchmark, from its estimator and its calibration."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._checks import counted, listed
from mdad._frozen import thaw
from mdad._gap_law import ahead, gap_interval
from mdad._spread import upper
from mdad._verdict import PairVerdict, Score, Verdict, holm, ranking
from mdad.crossfit import expected_scores, misfits
from mdad.errors import FormatError, ScoresError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad._runs import Missing
    from mdad._specs import Calibration
    from mdad.microbenchmark import Microbenchmark

FloatArray = npt.NDArray[np.float64]

MOST_MISSING = 0.2
"""Of more missing items what a model would have scored is guesswork."""

ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Learned:
    """Models scored by a learned estimator.

    Parameters
    ----------
    estimates, errors : arrays of shape (n_models,): estimated full scores, which may leave the
        range of the scores, and half the widths of the intervals are multiples of the errors
    misfit : array of shape (n_models,), see :class:`mdad._specs.Profile`
    """

    estimates: FloatArray
    errors: FloatArray
    misfit: FloatArray


def calibration_of(micro: Microbenchmark) -> Calibration:
    """The calibration of a learned micro-benchmark.

    Raises
    ------
    FormatError
        when it has none: its items are random ones.
    """
    if micro.calibration is None:
        raise FormatError("this micro-benchmark has no calibration: its items are random ones.")
    return micro.calibration


def learned(micro: Microbenchmark, models: Sequence[str], values: FloatArray) -> Learned:
    """Score models.

    Parameters
    ----------
    values : array of shape (n_models, size); a missing score (NaN) is taken to be what a model of
        the estimated full score is expected to have on the item

    Raises
    ------
    ScoresError
        when a model misses more than a fifth of the items.
    """
    calibration = calibration_of(micro)
    absent = np.isnan(values)
    lacking = [m for m, row in zip(models, absent, strict=True) if row.mean() > MOST_MISSING]
    if lacking:
        raise ScoresError(
            f"{listed(lacking)} lack more than {MOST_MISSING:.0%} of the chosen items. "
            "A learned estimate weighs items against each other and cannot do without so many: "
            "score them.".replace("%", " %")
        )
    fitted = thaw(micro.estimator, micro.weights, micro.size)
    bounds = micro.benchmark.score_range
    middle = np.array(calibration.profile.constants).mean()
    estimates = np.full(len(values), float(np.clip(middle, *bounds)))
    for _ in range(ROUNDS if absent.any() else 1):
        expected = expected_scores(calibration.profile, estimates, bounds)
        found = fitted.estimate(np.where(absent, expected, values))
        estimates = found.values
    errors = found.standard_errors if calibration.studentised else np.ones(len(values))
    misfit = misfits(calibration.profile, values, estimates, bounds)
    return Learned(estimates, errors, misfit)


def interval(
    micro: Microbenchmark, estimate: float, error: float, level: float
) -> tuple[float, float, float]:
    """Estimate and bounds of a full score, cut to the range of the scores."""
    spread = calibration_of(micro).score
    middle, half = estimate - spread.centre * error, upper(spread, level) * error
    low, high = micro.benchmark.score_range
    value = float(np.clip(estimate, low, high))
    ends = (float(np.clip(middle + sign * half, low, high)) for sign in (-1, 1))
    below, above = ends
    return value, min(below, value), max(above, value)


def strangers(
    micro: Microbenchmark, models: Sequence[str], found: Learned
) -> tuple[list[str], list[str]]:
    """Models whose estimate is outside the sources' scores, and others that answer unlike them."""
    low, high = micro.made.source_scores or (-np.inf, np.inf)
    limit = calibration_of(micro).profile.limit
    outside = [
        m for m, y in zip(models, found.estimates.tolist(), strict=True) if not low <= y <= high
    ]
    unlike = [
        m
        for m, misfit in zip(models, found.misfit.tolist(), strict=True)
        if misfit > limit and m not in outside
    ]
    return outside, unlike


def warnings_of(micro: Microbenchmark, models: Sequence[str], found: Learned) -> list[str]:
    """What a reader must know of models that are not like the sources."""
    outside, unlike = strangers(micro, models, found)
    notes = []
    advice = "Confirm on random items (`mdad select --method random`)."
    if outside:
        low, high = micro.made.source_scores or (0.0, 1.0)
        base = micro.benchmark.score_range[0]
        ends = f"{(low - base) / micro.point:.1f} to {(high - base) / micro.point:.1f} points"
        notes.append(
            f"Outside the sources: {named(outside)} beyond the full scores of the source models "
            f"({ends}), where what was learned from them was not tested. {advice}"
        )
    if unlike:
        notes.append(
            f"Unlike the sources: {named(unlike)} on the chosen items in a way that one source "
            f"model in a hundred does, so errors may be larger than stated. {advice}"
        )
    return notes


def named(models: Sequence[str]) -> str:
    """Names of some models with their verb; a model may have none."""
    known = [model for model in models if model]
    verb = "answers" if len(models) == 1 else "answer"
    return f"{listed(known) if known else 'this model'} {verb}"


def origin(micro: Microbenchmark) -> str:
    """What the errors were measured on, in one sentence."""
    calibration = calibration_of(micro)
    kind = {
        "random": "",
        "grouped": ", families kept together",
        "frontier": ", the best ones",
    }[calibration.split]
    return (
        f"Errors and probabilities were measured on {counted(calibration.n_models, 'source model')}"
        f"{kind}, held out while the items were chosen anew: they speak of models like these."
    )


def learned_scores(
    micro: Microbenchmark,
    models: Sequence[str],
    values: FloatArray,
    found: Learned,
    level: float,
) -> tuple[Score, ...]:
    """The score of each model, with what a reader should know of it."""
    scores = []
    for k, (model, row) in enumerate(zip(models, values, strict=True)):
        ends = interval(micro, float(found.estimates[k]), float(found.errors[k]), level)
        one = Learned(found.estimates[[k]], found.errors[[k]], found.misfit[[k]])
        n, notes = int((~np.isnan(row)).sum()), tuple(warnings_of(micro, [model], one))
        scores.append(Score(model, *ends, level, n, micro.size - n, micro.benchmark.n_items, notes))
    return tuple(scores)


def learned_verdict(
    micro: Microbenchmark,
    models: Sequence[str],
    values: FloatArray,
    common: npt.NDArray[np.bool_],
    missing: Missing,
    confidence: float,
) -> Verdict:
    """Compare models pair by pair; see :func:`mdad.verdicts.compare`."""
    found, calibration = learned(micro, models, values), calibration_of(micro)
    pairs = []
    for i, j in combinations(range(len(models)), 2):
        gap = float(found.estimates[i] - found.estimates[j])
        pool, unseen = ahead(calibration.gap, gap), ahead(calibration.gap_unseen, gap)
        low, high = gap_interval(calibration.gap, gap, 2 * confidence - 1)
        difference = (values[i] - values[j])[common]
        wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
        pairs.append(
            PairVerdict(
                a=models[i],
                b=models[j],
                gap=gap,
                low=low,
                high=high,
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
    judged = holm(pairs, confidence)
    scores = learned_scores(micro, models, values, found, 0.95)
    notes = [origin(micro), *warnings_of(micro, models, found)]
    if np.isnan(values).any():
        notes.append("Missing scores were taken to be what models of that full score have there.")
    return Verdict(
        scores=scores,
        pairs=judged,
        ranking=ranking(dict(zip(models, found.estimates.tolist(), strict=True)), judged),
        confidence=confidence,
        n=int(common.sum()),
        n_items=micro.benchmark.n_items,
        point=micro.point,
        notes=(*notes, *common_notes(micro, missing)),
    )


def common_notes(micro: Microbenchmark, missing: Missing) -> tuple[str, ...]:
    """What is said whatever the items are."""
    notes = []
    if missing == "wrong":
        notes.append("Chosen items without a score were counted as wrong.")
    if micro.benchmark.simulated:
        notes.append("The micro-benchmark was made with simulated scores.")
    return tuple(notes)
