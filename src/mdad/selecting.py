"""Select: the best subset of a size, as a file that scores models from then on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mdad._checks import check_choice, check_int, check_known, counted
from mdad._rng import Stream
from mdad.errors import MethodError, SettingError
from mdad.methods import Built, Form, Method, make_method
from mdad.microbenchmark import Benchmark, EstimatorSpec, Made, Microbenchmark
from mdad.scores import Aggregate, ScoreMatrix
from mdad.selectors import MinimumPerSubtask, Uniform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["RANDOM_METHODS", "select", "select_forms"]

RANDOM_METHODS = ("random", "random-subtasks-equal", "random-subtasks-proportional")
"""Methods whose estimate is a weighted mean of randomly drawn items: what verdicts know."""


def select(
    scores: ScoreMatrix | None = None,
    *,
    items: Sequence[str] | None = None,
    size: int,
    method: str = "random",
    subtasks: Sequence[str] | Mapping[str, str] | None = None,
    aggregate: Aggregate = "micro",
    form: Form = "default",
    seed: int = 0,
    exclude: Sequence[str] = (),
    min_per_subtask: int = 0,
    score_range: tuple[float, float] = (0.0, 1.0),
    name: str = "",
) -> Microbenchmark:
    """Choose the items of a micro-benchmark.

    Parameters
    ----------
    scores : models x items; all models are sources. Not needed for the random methods.
    items : ids of the whole benchmark, instead of scores
    size : number of items to choose
    method, form : see :mod:`mdad.methods`
    subtasks : labels of ``items``, when given instead of scores
    aggregate : how a full score is formed
    seed : of the random numbers
    exclude : ids that must not be chosen; the full score is over the others
    min_per_subtask : at least so many items of every subtask (method "random" only; items are
        then weighted by their subtask's share)
    score_range : of a score, when ``items`` are given instead of scores
    name : of the benchmark, when ``items`` are given

    Raises
    ------
    SettingError, MethodError, UnknownIdError
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
        min_per_subtask=min_per_subtask,
        score_range=score_range,
        name=name,
        forms=1,
    )[0]


def select_forms(
    scores: ScoreMatrix | None = None,
    *,
    items: Sequence[str] | None = None,
    size: int,
    forms: int,
    method: str = "random",
    subtasks: Sequence[str] | Mapping[str, str] | None = None,
    aggregate: Aggregate = "micro",
    form: Form = "default",
    seed: int = 0,
    exclude: Sequence[str] = (),
    min_per_subtask: int = 0,
    score_range: tuple[float, float] = (0.0, 1.0),
    name: str = "",
) -> list[Microbenchmark]:
    """Choose several disjoint micro-benchmarks of one size; see :func:`select`.

    The first form is the one :func:`select` gives. A second form of a random method is again a
    random subset of the whole pool.
    """
    forms, size = check_int("forms", forms, 1), check_int("size", size, 1)
    min_per_subtask = check_int("min_per_subtask", min_per_subtask, 0)
    seed = check_int("seed", seed, 0)
    whole = _pool(scores, items, subtasks, score_range, name)
    pool = _without(whole, exclude)
    if aggregate == "macro" and pool.subtasks is None:
        raise SettingError("aggregate='macro' needs subtasks.")
    if forms * size > pool.n_items:
        raise SettingError(
            f"{counted(forms, 'form')} of {counted(size, 'item')} need {forms * size:,} items; "
            f"{pool.n_items:,} can be chosen."
        )
    chosen_method = _method(method, form, pool, size, min_per_subtask)
    benchmark = _benchmark(whole, pool, aggregate, known=scores is not None)
    made = _made(pool, chosen_method.name, form, seed, min_per_subtask, known=scores is not None)
    results, left = [], pool
    for number in range(1, forms + 1):
        stream = Stream(seed).child("form", number, "select")
        built = chosen_method.prepare(left, aggregate=aggregate, stream=stream)(size)
        part = replace(made, form_number=number, n_forms=forms)
        results.append(_microbenchmark(built, pool, benchmark, part))
        if number < forms:
            left = _without(left, built.selection.items)
    return results


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


def _method(name: str, form: Form, pool: ScoreMatrix, size: int, min_per_subtask: int) -> Method:
    method = make_method(name, form)
    if name not in RANDOM_METHODS:
        raise MethodError(
            f"the method {name!r} cannot be frozen in a file yet: its estimator or the error of it "
            f"has no place there. Methods that can: {', '.join(RANDOM_METHODS)}."
        )
    if not min_per_subtask:
        return method
    if not isinstance(method.selector, Uniform):
        raise MethodError(
            f"a minimum per subtask goes with the method 'random', not {name!r}: "
            "random-subtasks-equal spreads items evenly by itself."
        )
    wanted = sum(min(min_per_subtask, len(p)) for p in pool.subtask_positions.values())
    if wanted > size:
        raise SettingError(
            f"{min_per_subtask} of each of {len(pool.subtask_positions)} subtasks are {wanted:,} "
            f"items; only {size:,} are asked for."
        )
    return replace(method, selector=MinimumPerSubtask(min_per_subtask))


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
    pool: ScoreMatrix, method: str, form: Form, seed: int, min_per_subtask: int, *, known: bool
) -> Made:
    made = Made(method=method, form=form, seed=seed)
    if min_per_subtask:
        made = replace(made, settings={"min_per_subtask": min_per_subtask})
    if not known:
        return made
    full = pool.full_scores()
    return replace(
        made,
        source_models=pool.models,
        source_scores=(float(full.min()), float(full.max())),
        data_fingerprint=pool.data_fingerprint,
    )


def _microbenchmark(
    built: Built, pool: ScoreMatrix, benchmark: Benchmark, made: Made
) -> Microbenchmark:
    chosen, weights = built.selection.items, built.selection.weights
    columns = [pool.item_position[item] for item in chosen]
    even = np.ptp(weights) == 0
    hashes = None
    if pool.item_info is not None and "content_hash" in pool.item_info.columns:
        hashes = tuple(pool.item_info["content_hash"].iloc[columns].astype(str))
    return Microbenchmark(
        items=chosen,
        benchmark=benchmark,
        made=made,
        weights=None if even else tuple((weights / weights.sum()).tolist()),
        estimator=EstimatorSpec(uniform=bool(even and made.method == "random")),
        subtasks=None if pool.subtasks is None else tuple(pool.subtasks[c] for c in columns),
        content_hashes=hashes,
    )
