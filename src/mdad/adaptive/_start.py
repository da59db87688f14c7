"""Making a session: from ids, from a micro-benchmark of random items, or from source scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from mdad._checks import check_choice, check_int, check_real, counted
from mdad._content import contents_of
from mdad._rng import Stream
from mdad.adaptive._plan import Design, Plan, check_budget, looks_of
from mdad.adaptive._replay import learned_plan
from mdad.adaptive._spending import Spending, boundaries
from mdad.adaptive._state import Pool, Setup, Sources
from mdad.errors import MethodError, SettingError
from mdad.scores import Aggregate, ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.microbenchmark import Microbenchmark

__all__ = ["items_fingerprint", "make_setup"]

LEARNED_SHARE = 0.7
"""Budget of learned designs as a share of the items, where none is given."""


def items_fingerprint(items: Sequence[str]) -> str:
    """Fingerprint of a benchmark of which only the ids are known."""
    return _bare(tuple(items), (0.0, 1.0), "").items_fingerprint


def _bare(ids: tuple[str, ...], score_range: tuple[float, float], name: str) -> ScoreMatrix:
    """One model without a meaning carries the ids."""
    values = np.full((1, len(ids)), score_range[0])
    return ScoreMatrix(values, ["-"], ids, score_range=score_range, name=name)


def make_setup(
    models: Sequence[str],
    *,
    items: Sequence[str] | None = None,
    scores: ScoreMatrix | None = None,
    micro: Microbenchmark | None = None,
    design: Design = "random",
    alpha: float = 0.05,
    batch: int = 10,
    budget: int | None = None,
    against: float | None = None,
    spending: Spending = "pocock",
    aggregate: Aggregate = "micro",
    seed: int = 0,
    score_range: tuple[float, float] = (0.0, 1.0),
    name: str = "",
) -> Setup:
    """Settings and plan of a session.

    Parameters
    ----------
    models : ids of two models, or of one
    items, scores, micro : where the items come from, one of the three: ids of the whole benchmark;
        scores of source models on it; a micro-benchmark of random items, asked for in another order
    design : "random" (needs no source models and promises its error rate for every pair of models);
        "c-optimal" or "irt-information" (learned from ``scores``; far fewer items, and a promise
        for models that are like the sources)
    alpha : error probability: of calling the worse model better, or of calling either better where
        there is no difference, at any look
    batch : items asked for at a time, after which is looked
    budget : items at most; all by default, 70 % for learned designs, whose intervals are the
        wider the later the last look
    against : score that one model is compared with, in the unit of the scores
    spending : of design "random": "pocock" stops early where the gap is large, "obrien-fleming"
        keeps nearly all of alpha for the end
    aggregate : how a full score is formed; "macro" only for learned designs
    seed : of the random order
    score_range, name : of a score and the benchmark, when ``items`` are given

    Raises
    ------
    SettingError, MethodError, ScoresError
        when a setting has a value it cannot have, or the design cannot do what is asked.
    """
    alpha = check_real("alpha", alpha, 0, 1, open_ends=True)
    batch, seed = check_int("batch", batch, 1), check_int("seed", seed, 0)
    check_choice("design", design, get_args(Design))
    check_choice("spending", spending, get_args(Spending))
    check_choice("aggregate", aggregate, get_args(Aggregate))
    names = _models(models, against)
    pool, ids, sources = _pool(items, scores, micro, score_range, name, aggregate)
    reference = _reference(against, pool)
    _check_design(design, pool, sources)
    if budget is None:
        share = 1 if design == "random" else LEARNED_SHARE
        budget = max(batch, int(share * len(ids)))
    budget = check_int("budget", budget, 1)
    check_budget(batch, budget, len(ids))
    looks, learned = looks_of(batch, budget), None
    if design == "random":
        plan = _random_plan(ids, looks, pool.n_items, alpha, spending, seed)
    else:
        known = _others(cast("ScoreMatrix", sources), names)
        plan = learned_plan(
            known, design, looks, alpha=alpha, aggregate=pool.aggregate, reference=reference
        )
        learned = _sources(known, pool.aggregate)
    return Setup(
        models=names,
        reference=reference,
        alpha=alpha,
        batch=batch,
        budget=budget,
        spending=spending if design == "random" else "replay",
        seed=seed,
        pool=pool,
        plan=plan,
        sources=learned,
        contents=_contents(plan, micro, sources),
    )


def _check_design(design: Design, pool: Pool, sources: ScoreMatrix | None) -> None:
    if design != "random" and sources is None:
        raise MethodError(
            f"the design {design!r} learns from source models: give their scores (--scores FILE). "
            "The design 'random' needs none."
        )
    if design == "random" and pool.aggregate == "macro":
        raise MethodError(
            "the design 'random' decides about the plain mean of all items; this full score is a "
            "macro average. Take a learned design, or aggregate='micro'."
        )


def _sources(scores: ScoreMatrix, aggregate: Aggregate) -> Sources:
    full = scores.full_scores(aggregate)
    return Sources(scores.n_models, scores.data_fingerprint, float(full.min()), float(full.max()))


def _models(models: Sequence[str], against: float | None) -> tuple[str, ...]:
    names = (models,) if isinstance(models, str) else tuple(str(model) for model in models)
    wanted = 2 if against is None else 1
    if len(set(names)) != wanted or len(names) != wanted or "" in names:
        what = "one model" if against is not None else "two different models"
        raise SettingError(
            f"a session compares two different models, or one with a reference (against); for "
            f"{what} got {counted(len(names), 'name')}: {', '.join(map(repr, names))}."
        )
    return names


def _others(scores: ScoreMatrix, names: tuple[str, ...]) -> ScoreMatrix:
    """The source models without those that are compared: nobody learns from the answers asked."""
    left = [model for model in scores.models if model not in names]
    return scores.restrict(models=left) if left else scores


def _reference(against: float | None, pool: Pool) -> float | None:
    if against is None:
        return None
    low, high = pool.score_range
    return check_real("against", against, low, high, open_ends=True)


def _pool(
    items: Sequence[str] | None,
    scores: ScoreMatrix | None,
    micro: Microbenchmark | None,
    score_range: tuple[float, float],
    name: str,
    aggregate: Aggregate,
) -> tuple[Pool, tuple[str, ...], ScoreMatrix | None]:
    """The pool, the ids to choose from, and the source scores where there are some."""
    if sum(given is not None for given in (items, scores, micro)) != 1:
        raise SettingError("give one of the three: items, scores, or micro (a micro-benchmark).")
    if micro is not None:
        bench = micro.benchmark
        if not getattr(micro.estimator, "uniform", False):
            raise MethodError(
                "a session on a micro-benchmark needs one of random items (method 'random'), whose "
                "order means nothing. For a learned design give the source scores themselves."
            )
        found = Pool(
            bench.name,
            bench.n_items,
            bench.items_fingerprint,
            bench.score_range,
            bench.aggregate,
            bench.simulated,
        )
        return found, tuple(sorted(micro.items)), None
    if scores is None:
        matrix = _bare(tuple(items or ()), score_range, name)
    else:
        matrix = scores.complete().scores
    matrix = matrix.sorted()
    if aggregate == "macro" and matrix.subtasks is None:
        raise SettingError("aggregate='macro' needs subtasks.")
    found = Pool(
        matrix.name,
        matrix.n_items,
        matrix.items_fingerprint,
        matrix.score_range,
        aggregate,
        matrix.simulated,
    )
    return found, matrix.items, None if scores is None else matrix


def _contents(
    plan: Plan, micro: Microbenchmark | None, scores: ScoreMatrix | None
) -> dict[str, str]:
    """Content hash of each item of the plan that has one."""
    known = contents_of(scores) if scores is not None else {}
    if micro is not None and micro.content_hashes is not None:
        known = dict(zip(micro.items, micro.content_hashes, strict=True))
    return {item: known[item] for item in plan.order if known.get(item)}


def _random_plan(
    ids: tuple[str, ...],
    looks: tuple[int, ...],
    n_items: int,
    alpha: float,
    spending: Spending,
    seed: int,
) -> Plan:
    order = Stream(seed).child("session", "order").rng().permutation(len(ids))[: looks[-1]]
    bounds: Any = boundaries(looks, n_items, alpha=alpha, spending=spending)
    return Plan(
        design="random",
        order=tuple(ids[i] for i in order.tolist()),
        looks=looks,
        bounds=tuple(bounds.tolist()),
    )
