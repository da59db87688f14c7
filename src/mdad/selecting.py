"""Select: the best subset of a size, as a file that scores models from then on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from mdad._checks import check_choice, check_int, check_known, counted
from mdad._frozen import freeze, weights_of
from mdad._rng import Stream
from mdad._specs import MeanSpec
from mdad._wishes import Wishes, wished
from mdad.crossfit import MIN_MODELS, calibrate
from mdad.errors import MethodError, SettingError
from mdad.methods import Built, Form, make_method
from mdad.microbenchmark import Benchmark, Made, Microbenchmark
from mdad.scores import Aggregate, ScoreMatrix
from mdad.splits import SplitKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["RANDOM_METHODS", "select", "select_forms"]

RANDOM_METHODS = ("random", "random-subtasks-equal", "random-subtasks-proportional")
"""Methods whose estimate is a weighted mean of randomly drawn items: their errors are known without
source models. Those of all others are measured on source models held out."""

DEFAULT_METHOD = "auto"


def select(
    scores: ScoreMatrix | None = None,
    *,
    items: Sequence[str] | None = None,
    size: int,
    method: str | None = None,
    subtasks: Sequence[str] | Mapping[str, str] | None = None,
    aggregate: Aggregate = "micro",
    form: Form = "default",
    seed: int = 0,
    exclude: Sequence[str] = (),
    forced: Sequence[str] = (),
    forbidden: Sequence[str] = (),
    min_per_subtask: int = 0,
    focus: str = "all",
    split: SplitKind = "random",
    groups: str = "",
    score_range: tuple[float, float] = (0.0, 1.0),
    name: str = "",
    n_jobs: int = 1,
) -> Microbenchmark:
    """Choose the items of a micro-benchmark.

    Parameters
    ----------
    scores : models x items; all models are sources. Not needed for the random methods.
    items : ids of the whole benchmark, instead of scores
    size : number of items to choose
    method, form : see :mod:`mdad.methods`; by default "auto" where the scores of 10 models or more
        are given, else "random"
    subtasks : labels of ``items``, when given instead of scores
    aggregate : how a full score is formed
    seed : of the random numbers
    exclude : ids that must not be chosen; the full score is over the others
    forced, forbidden : ids chosen in any case, and ids that are not chosen but count in the full
        score (c-optimal methods only)
    min_per_subtask : at least so many items of every subtask (method "random", whose items are
        then weighted by their subtask's share, and c-optimal methods)
    focus : models that will be measured: "all", "top", or "near=S", S a full score (c-optimal
        methods only)
    split, groups : how the models to be measured will differ from the sources; see
        :func:`mdad.splits.draw_models`. Errors are measured on source models held out like this
    score_range : of a score, when ``items`` are given instead of scores
    name : of the benchmark, when ``items`` are given
    n_jobs : processes that measure the errors of a learned method

    Raises
    ------
    SettingError, MethodError, ScoresError, UnknownIdError
        when what is asked for cannot be done.

    Examples
    --------
    >>> micro = select(items=["q1", "q2", "q3", "q4"], size=2, seed=7)
    >>> micro.size, micro.benchmark.n_items
    (2, 4)
    """
    return select_forms(
        scores,
        items=items,
        size=size,
        method=method,
        subtasks=subtasks,
        aggregate=aggregate,
        form=form,
        seed=seed,
        exclude=exclude,
        forced=forced,
        forbidden=forbidden,
        min_per_subtask=min_per_subtask,
        focus=focus,
        split=split,
        groups=groups,
        score_range=score_range,
        name=name,
        n_jobs=n_jobs,
        forms=1,
    )[0]


def select_forms(
    scores: ScoreMatrix | None = None,
    *,
    items: Sequence[str] | None = None,
    size: int,
    forms: int,
    method: str | None = None,
    subtasks: Sequence[str] | Mapping[str, str] | None = None,
    aggregate: Aggregate = "micro",
    form: Form = "default",
    seed: int = 0,
    exclude: Sequence[str] = (),
    forced: Sequence[str] = (),
    forbidden: Sequence[str] = (),
    min_per_subtask: int = 0,
    focus: str = "all",
    split: SplitKind = "random",
    groups: str = "",
    score_range: tuple[float, float] = (0.0, 1.0),
    name: str = "",
    n_jobs: int = 1,
) -> list[Microbenchmark]:
    """Choose several disjoint micro-benchmarks of one size; see :func:`select`.

    The first form is the one :func:`select` gives. A second form of a random method is again a
    random subset of the whole pool; learned methods have one form.
    """
    forms, size = check_int("forms", forms, 1), check_int("size", size, 1)
    seed = check_int("seed", seed, 0)
    check_choice("split", split, get_args(SplitKind))
    whole = _pool(scores, items, subtasks, score_range, name)
    pool = _without(whole, exclude)
    if aggregate == "macro" and pool.subtasks is None:
        raise SettingError("aggregate='macro' needs subtasks.")
    if forms * size > pool.n_items:
        raise SettingError(
            f"{counted(forms, 'form')} of {counted(size, 'item')} need {forms * size:,} items; "
            f"{pool.n_items:,} can be chosen."
        )
    if method is None:
        enough = scores is not None and pool.n_models >= MIN_MODELS
        wants_design = bool(forced) or bool(forbidden) or focus != "all" or min_per_subtask > 0
        learned_default = "c-optimal" if wants_design else DEFAULT_METHOD
        method = learned_default if enough and forms == 1 else "random"
    wishes = Wishes(tuple(forced), tuple(forbidden), min_per_subtask, focus)
    chosen_method = wished(make_method(method, form), pool, size, wishes)
    chosen_method = chosen_method.for_split(split, groups)
    if method not in RANDOM_METHODS:
        _check_learned(method, forms, known=scores is not None)
    benchmark = _benchmark(whole, pool, aggregate, known=scores is not None)
    made = _made(pool, chosen_method.name, form, seed, wishes, aggregate, known=scores is not None)
    results, left = [], pool
    for number in range(1, forms + 1):
        stream = Stream(seed).child("form", number, "select")
        with threadpool_limits(limits=1):
            built = chosen_method.prepare(left, aggregate=aggregate, stream=stream)(size)
        part = replace(made, form_number=number, n_forms=forms)
        micro = _microbenchmark(built, pool, benchmark, part)
        if method not in RANDOM_METHODS and size < pool.n_items:
            calibration = calibrate(
                built.method or chosen_method,
                pool,
                size,
                aggregate=aggregate,
                stream=Stream(seed).child("calibration"),
                split=split,
                groups=groups,
                built=built,
                n_jobs=n_jobs,
            )
            micro = replace(micro, estimator=freeze(built, method), calibration=calibration)
        results.append(micro)
        if number < forms:
            left = _without(left, built.selection.items)
    return results


def _check_learned(method: str, forms: int, *, known: bool) -> None:
    if not known:
        raise MethodError(f"the method {method!r} learns from the scores of models; give scores.")
    if forms > 1:
        raise SettingError(
            f"only random methods have several disjoint forms; {method!r} chooses the items that "
            "say most, and a second form would say less."
        )


def _pool(
    scores: ScoreMatrix | None,
    items: Sequence[str] | None,
    subtasks: Sequence[str] | Mapping[str, str] | None,
    score_range: tuple[float, float],
    name: str,
) -> ScoreMatrix:
    if (scores is None) == (items is None):
        raise SettingError("give either scores or the ids of the items, not both.")
    if scores is not None:
        if subtasks is not None:
            raise SettingError("subtasks come with the scores; leave them out here.")
        return scores.complete().scores.sorted()
    # One model without a meaning carries the ids to the selectors that read nothing else.
    ids = tuple(items or ())
    matrix = ScoreMatrix(
        np.full((1, len(ids)), score_range[0]),
        ["-"],
        ids,
        subtasks,
        score_range=score_range,
        name=name,
    )
    return matrix.sorted()


def _without(pool: ScoreMatrix, exclude: Sequence[str]) -> ScoreMatrix:
    if not exclude:
        return pool
    check_known("item", exclude, pool.item_position, "the benchmark")
    left = [item for item in pool.items if item not in set(exclude)]
    if not left:
        raise SettingError("every item is excluded; none is left to choose.")
    return pool.restrict(items=left)


def _benchmark(
    whole: ScoreMatrix, pool: ScoreMatrix, aggregate: Aggregate, *, known: bool
) -> Benchmark:
    check_choice("aggregate", aggregate, ("micro", "macro"))
    return Benchmark(
        name=whole.name,
        n_items=pool.n_items,
        items_fingerprint=whole.items_fingerprint,
        score_range=whole.score_range,
        kind=whole.kind if known else "unknown",
        aggregate=aggregate,
        n_excluded=whole.n_items - pool.n_items,
        simulated=whole.simulated,
    )


def _made(
    pool: ScoreMatrix,
    method: str,
    form: Form,
    seed: int,
    wishes: Wishes,
    aggregate: Aggregate,
    *,
    known: bool,
) -> Made:
    made = Made(method=method, form=form, seed=seed, settings=wishes.settings())
    if not known:
        return made
    full = pool.full_scores(aggregate)
    enough = len(full) >= MIN_MODELS
    return replace(
        made,
        source_models=pool.models,
        source_scores=(float(full.min()), float(full.max())),
        source_spread=float(full.std(ddof=1)) if enough else None,
        source_differing=_differing(pool, aggregate) if enough else None,
        data_fingerprint=pool.data_fingerprint,
    )


def _differing(pool: ScoreMatrix, aggregate: Aggregate) -> tuple[float, float]:
    """Mean and standard deviation over pairs of models of their mean squared difference."""
    weights = pool.item_weights(aggregate)
    values = pool.values.astype(np.float64)
    squares = values**2 @ weights
    inner = (values * weights) @ values.T
    found = (squares[:, None] + squares - 2 * inner)[np.triu_indices(len(values), k=1)]
    return float(np.maximum(found, 0).mean()), float(found.std())


def _microbenchmark(
    built: Built, pool: ScoreMatrix, benchmark: Benchmark, made: Made
) -> Microbenchmark:
    chosen, weights = built.selection.items, weights_of(built)
    columns = [pool.item_position[item] for item in chosen]
    even = weights is None or np.ptp(weights) == 0
    hashes = None
    if pool.item_info is not None and "content_hash" in pool.item_info.columns:
        hashes = tuple(pool.item_info["content_hash"].iloc[columns].astype(str))
    if built.choice is not None:
        made = replace(made, choice=built.choice.name)
    uniform = (even and made.method == "random") or len(chosen) == pool.n_items
    return Microbenchmark(
        items=chosen,
        benchmark=benchmark,
        made=made,
        weights=None if even or weights is None else tuple((weights / weights.sum()).tolist()),
        estimator=MeanSpec(uniform=bool(uniform)),
        subtasks=None if pool.subtasks is None else tuple(pool.subtasks[c] for c in columns),
        content_hashes=hashes,
    )
