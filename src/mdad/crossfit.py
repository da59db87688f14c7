"""How far a micro-benchmark's estimates are off for models that had no part in making it.

Source models are held out in turn and *everything* is done anew without them: items chosen, the
estimator fitted. Judging held-out models on items that were chosen with them would flatter: of
learned designs, what such residuals call 85 % sure is right in 59 to 79 % of the cases (design,
part 7). ``docs/design/calibration.md`` derives what is made of the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._checks import check_jobs
from mdad._frozen import freeze, thaw, weights_of
from mdad._gap_law import gap_law, without_noise
from mdad._groups import alike_groups, model_groups
from mdad._specs import Calibration, GapLaw, Profile
from mdad._spread import spread_of
from mdad._threads import one_thread
from mdad._wishes import forced_items, without_forbidden
from mdad.errors import ScoresError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad._method import Built, Method
    from mdad._rng import Stream
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.splits import SplitKind

__all__ = ["MIN_MODELS", "calibrate"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

FOLDS = 5
MIN_MODELS = 10
"""Two held-out models in every fold: fewer show no error of a gap."""

VISIBLE = 2 / 3
"""Share of the items that are seen where the others stand for unseen ones."""

FRONTIER_KEPT, FRONTIER_SHARE = 0.8, 8
"""At the frontier a fold is four fifths of the models, an eighth of them held out, as in auto."""

UNUSUAL = 0.99
"""Share of held-out source models whose misfit is below the limit."""

MOST_PAIRS = 20_000
"""Of more pairs an even part is judged; they share models, so more say little."""


@dataclass(frozen=True, eq=False)
class Held:
    """What a fold says of its held-out models.

    Parameters
    ----------
    estimates, errors, full : arrays of shape (n_models,): estimated full score, its own standard
        error (NaN where there is none), full score
    differences : mean over items of the squared difference of two models' scores, less the square
        of their gap, for each pair; shape (n_pairs,)
    misfit : array of shape (n_models,)
    unseen_estimates, unseen_full : the same where some items could not be seen, the full score
        being over those
    n_unseen : effective number of those items
    """

    estimates: FloatArray
    errors: FloatArray
    full: FloatArray
    differences: FloatArray
    misfit: FloatArray
    unseen_estimates: FloatArray
    unseen_full: FloatArray
    n_unseen: float


def calibrate(
    method: Method,
    scores: ScoreMatrix,
    size: int,
    *,
    aggregate: Aggregate,
    stream: Stream,
    split: SplitKind = "random",
    groups: str = "",
    built: Built,
    n_jobs: int = 1,
) -> Calibration:
    """Repeat the selection without some of the source models, and judge it on them.

    Parameters
    ----------
    method : as for this split. Of ``auto`` the method it chose: the choice among a few candidates
        is not repeated, what each of them selects is
    scores : source models x items of the pool, complete
    size : number of items
    aggregate : how a full score is formed
    stream : randomness of the folds
    split, groups : how the models to be measured will differ from the sources; see
        :func:`mdad.splits.draw_models`. "random" keeps models that answer almost alike together
    built : with all source models, what the calibration is of
    n_jobs : folds at a time

    Raises
    ------
    SettingError
        when the number of folds at a time is none.
    ScoresError
        when there are fewer than 10 source models, all have the same full score, or none can be
        held out.
    MethodError
        as the method.
    """
    check_jobs(n_jobs)
    if scores.n_models < MIN_MODELS:
        raise ScoresError(
            f"the error of a learned method is measured on held-out source models and needs "
            f"{MIN_MODELS} of them; got {scores.n_models}. Use a random method."
        )
    if np.ptp(scores.full_scores(aggregate)) == 0:
        raise ScoresError(
            "all source models have the same full score, so nothing can be learned of what tells "
            "models apart. Use a random method."
        )
    from joblib import Parallel, delayed  # noqa: PLC0415  # slow to import

    parts = _folds(scores, aggregate, stream, split, groups)
    held: list[Held] = Parallel(n_jobs=n_jobs)(
        delayed(_judge)(method, scores, size, aggregate, stream.child("fold", k), source, target)
        for k, (source, target) in enumerate(parts)
    )
    profile = _profile(scores, built, aggregate, held)
    return _calibration(held, scores, aggregate, profile, split, groups)


def _folds(
    scores: ScoreMatrix, aggregate: Aggregate, stream: Stream, split: SplitKind, groups: str
) -> list[tuple[IntArray, IntArray]]:
    """Positions of the models that choose, and of those held out, in each fold."""
    everyone = np.arange(scores.n_models)
    if split == "frontier":
        order = np.argsort(scores.full_scores(aggregate), kind="stable")
        found = []
        for k in range(FOLDS):
            rng = stream.child("frontier", k).rng()
            chance = rng.permutation(scores.n_models)[: int(FRONTIER_KEPT * scores.n_models)]
            kept = order[np.isin(order, chance)]
            count = max(len(kept) // FRONTIER_SHARE, 2)
            found.append((kept[:-count], kept[-count:]))
        return found
    family = model_groups(scores, groups) if split == "grouped" else alike_groups(scores)
    fold = _spread_families(family, stream)
    if split == "random" and np.bincount(fold, minlength=FOLDS).max() > 2 * len(fold) / FOLDS:
        # Most models answer alike; then near copies are what will be measured, too.
        fold = stream.child("models").rng().permutation(scores.n_models) % FOLDS
    found = [(everyone[fold != k], everyone[fold == k]) for k in range(FOLDS)]
    found = [(source, target) for source, target in found if len(source) > 1 and len(target) > 1]
    if not found:
        raise ScoresError(
            "no source models can be held out: one family holds nearly all of them. Say groups=... "
            "what a family is, or use split='random'."
        )
    return found


def _spread_families(family: IntArray, stream: Stream) -> IntArray:
    """A fold for each model, families whole, the largest first to the emptiest fold."""
    counts = np.bincount(family)
    chance = stream.child("families").rng().permutation(len(counts))
    fold_of, filled = np.zeros(len(counts), dtype=np.intp), np.zeros(FOLDS)
    for number in chance[np.argsort(-counts[chance], kind="stable")]:
        emptiest = int(filled.argmin())
        fold_of[number] = emptiest
        filled[emptiest] += counts[number]
    return fold_of[family]


@one_thread()
def _judge(
    method: Method,
    scores: ScoreMatrix,
    size: int,
    aggregate: Aggregate,
    stream: Stream,
    source: IntArray,
    target: IntArray,
) -> Held:
    """Do all anew without some models, and judge it on them."""
    known = scores.restrict(models=[scores.models[i] for i in np.sort(source).tolist()])
    targets = scores.restrict(models=[scores.models[i] for i in np.sort(target).tolist()])
    built, estimates, errors = _estimates(method, known, targets, size, aggregate, stream)
    profile = profile_of(known, built, aggregate)
    columns = [targets.item_position[item] for item in built.selection.items]
    misfit = misfits(profile, targets.values[:, columns], estimates, scores.score_range)
    method = without_forbidden(method)
    seen, unseen = _hide(scores, forced_items(method), stream.child("items"))
    _, unseen_estimates, _ = _estimates(
        method, known.restrict(items=seen), targets, min(size, len(seen)), aggregate, stream
    )
    hidden = targets.restrict(items=unseen)
    return Held(
        estimates=estimates,
        errors=errors,
        full=targets.full_scores(aggregate),
        differences=_differences(targets, aggregate),
        misfit=misfit,
        unseen_estimates=unseen_estimates,
        unseen_full=hidden.full_scores(aggregate),
        n_unseen=_effective(hidden, aggregate),
    )


def _estimates(
    method: Method,
    known: ScoreMatrix,
    targets: ScoreMatrix,
    size: int,
    aggregate: Aggregate,
    stream: Stream,
) -> tuple[Built, FloatArray, FloatArray]:
    """What is frozen, estimating the targets from their scores on the chosen items alone."""
    built = method.prepare(known, aggregate=aggregate, stream=stream)(size)
    weights = weights_of(built)
    fitted = thaw(freeze(built, method.name), None if weights is None else weights.tolist(), size)
    columns = [targets.item_position[item] for item in built.selection.items]
    found = fitted.estimate(targets.values[:, columns])
    return built, found.values, found.standard_errors


def _hide(
    scores: ScoreMatrix, forced: Sequence[str], stream: Stream
) -> tuple[list[str], list[str]]:
    """Items that may be seen, the forced ones among them, and those that may not, by subtask."""
    rng = stream.rng()
    visible = np.zeros(scores.n_items, dtype=bool)
    for part in scores.subtask_positions.values():
        # Of a subtask of one item chance decides on which side it is.
        visible[rng.permutation(part)[: int(len(part) * VISIBLE + rng.random())]] = True
    visible[[scores.item_position[item] for item in forced]] = True
    if visible.all() or not visible.any():
        free = [k for k, item in enumerate(scores.items) if item not in set(forced)]
        visible[free[int(rng.integers(len(free)))]] ^= True
    names = np.array(scores.items, dtype=object)
    return names[visible].tolist(), names[~visible].tolist()


def _effective(scores: ScoreMatrix, aggregate: Aggregate) -> float:
    """Number of items whose plain mean is as noisy as the full score."""
    weights = scores.item_weights(aggregate)
    return float(1 / (weights @ weights))


def _differences(targets: ScoreMatrix, aggregate: Aggregate) -> FloatArray:
    weights = targets.item_weights(aggregate)
    values = targets.values.astype(np.float64)
    squares = values**2 @ weights
    inner = (values * weights) @ values.T
    first, second = np.triu_indices(len(values), k=1)
    gaps = (values @ weights)[first] - (values @ weights)[second]
    found: FloatArray = squares[first] + squares[second] - 2 * inner[first, second] - gaps**2
    return np.maximum(found, 0)


def profile_of(scores: ScoreMatrix, built: Built, aggregate: Aggregate) -> Profile:
    """Each chosen item's score as a line on the full score, over source models; without limit."""
    columns = [scores.item_position[item] for item in built.selection.items]
    values = scores.values[:, columns].astype(np.float64)
    full = scores.full_scores(aggregate)
    centred = full - full.mean()
    square = float(centred @ centred)
    slopes = centred @ values / square if square > 0 else np.zeros(values.shape[1])
    constants = values.mean(axis=0) - slopes * full.mean()
    found = Profile(tuple(constants.tolist()), tuple(slopes.tolist()), 1.0, np.inf)
    variance = float(misfits(found, values, full, scores.score_range).mean())
    return Profile(found.constants, found.slopes, max(variance, 1e-12), np.inf)


def misfits(
    profile: Profile,
    values: npt.NDArray[np.generic],
    estimates: FloatArray,
    score_range: tuple[float, float],
) -> FloatArray:
    """Squared distance of models from their profile over its variance, shape (n_models,).

    Parameters
    ----------
    values : array of shape (n_models, size); NaN = not scored, left out
    estimates : array of shape (n_models,), estimated full scores
    """
    expected = expected_scores(profile, estimates, score_range)
    squares = (values.astype(np.float64) - expected) ** 2
    scored = np.maximum((~np.isnan(squares)).sum(axis=1), 1)
    found: FloatArray = np.nansum(squares, axis=1) * (squares.shape[1] / scored)
    return found / profile.variance


def expected_scores(
    profile: Profile, estimates: FloatArray, score_range: tuple[float, float]
) -> FloatArray:
    """Scores on the chosen items that models of these full scores are expected to have."""
    line = np.array(profile.constants) + np.outer(estimates, profile.slopes)
    found: FloatArray = np.clip(line, *score_range)
    return found


def _profile(
    scores: ScoreMatrix, built: Built, aggregate: Aggregate, held: Sequence[Held]
) -> Profile:
    found = profile_of(scores, built, aggregate)
    limit = float(np.quantile(np.concatenate([part.misfit for part in held]), UNUSUAL))
    return Profile(found.constants, found.slopes, found.variance, max(limit, 1.0))


def _calibration(
    held: Sequence[Held],
    scores: ScoreMatrix,
    aggregate: Aggregate,
    profile: Profile,
    split: SplitKind,
    groups: str,
) -> Calibration:
    errors = np.concatenate([part.estimates - part.full for part in held])
    own = np.concatenate([part.errors for part in held])
    studentised = bool(np.isfinite(own).all() and (own > 0).all())
    estimated = _all_gaps([part.estimates for part in held])
    true = _all_gaps([part.full for part in held])
    width = scores.score_range[1] - scores.score_range[0]
    gap = gap_law(estimated, true, len(errors), width)
    return Calibration(
        split=split,
        groups=groups,
        n_models=len(errors),
        n_pairs=len(true),
        folds=len(held),
        score=spread_of(errors / own if studentised else errors),
        studentised=studentised,
        gap=gap,
        gap_unseen=_unseen(held, gap, scores, aggregate, width),
        profile=profile,
    )


def _unseen(
    held: Sequence[Held], pool: GapLaw, scores: ScoreMatrix, aggregate: Aggregate, width: float
) -> GapLaw:
    """The law of gaps over as many unseen items as the pool has.

    The hidden items of a fold are fewer, so their mean is noisier than that of a whole other pool;
    what it is noisier by is known from the items themselves.
    """
    estimated = _all_gaps([part.unseen_estimates for part in held])
    true = _all_gaps([part.unseen_full for part in held])
    found = gap_law(estimated, true, sum(len(part.full) for part in held), width)
    differences = float(np.concatenate([part.differences for part in held]).mean())
    hidden = float(np.mean([1 / part.n_unseen for part in held]))
    surplus = differences * (hidden - 1 / _effective(scores, aggregate))
    return without_noise(found, surplus, least=pool)


def _all_gaps(folds: Sequence[FloatArray]) -> FloatArray:
    """Gaps of all pairs of models of one fold, thinned where there are very many."""
    gaps = []
    for scores in folds:
        first, second = np.triu_indices(len(scores), k=1)
        gaps.append(scores[first] - scores[second])
    found = np.concatenate(gaps)
    return found[:: -(-len(found) // MOST_PAIRS)]
