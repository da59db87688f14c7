"""The paper's experiments, as parts that are run, kept and judged one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import counted
from mdad.auditing import matching
from mdad.errors import MdadError, SettingError
from mdad.experiment import MAX_SOURCE, MAX_TARGET, Experiment
from mdad.presets import FRACTIONS, SOURCES, preset_settings
from mdad.splits import n_seen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mdad.scores import ScoreMatrix

__all__ = ["GROUPS", "PLANS", "Part", "Plan", "parts_of"]

FIXED_METHODS = ("random", "stratified-confidence", "anchor-points", "tinybenchmarks")
"""The paper's four for fixed target models."""

_TUNED = r"(?i)^(?=.*(?:instruct|chat|[-_]it(?![a-z])))(?=.*(?<![\d.]){size}b(?![a-z\d]))"
GROUPS: dict[str, dict[str, str]] = {
    "mmlu-pro": {size: _TUNED.replace("{size}", size[:-1]) for size in ("8B", "70B")},
    "bbh": {size: _TUNED.replace("{size}", size[:-1]) for size in ("7B", "70B")},
}
"""Fixed target models by benchmark and group: a pattern searched for in the ids of the models."""

FEW_SOURCES = 50
STAND_INS = {"7B": (1 / 3, 2 / 3), "8B": (1 / 3, 2 / 3), "70B": (2 / 3, 1.0)}
STAND_IN_SIZE = 32


@dataclass(frozen=True)
class Plan:
    """How much is run.

    Parameters
    ----------
    runs : of the main experiment
    more : runs of every variation
    sources : numbers of source models
    source_sizes : sizes in the sweep over them; empty = those of the main experiment
    swept : benchmarks with the whole sweep; None = all. The others have 50 source models alone.
    all_seen : benchmarks that are also run with all items seen; None = all
    """

    runs: int = 50
    more: int = 50
    sources: tuple[int, ...] = SOURCES
    source_sizes: tuple[int, ...] = ()
    swept: tuple[str, ...] | None = None
    all_seen: tuple[str, ...] | None = None


SWEPT_SIZES = (10, 50, 250)
PLANS = {
    "whole": Plan(),
    "simulated": Plan(
        20,
        8,
        source_sizes=SWEPT_SIZES,
        swept=("mmlu-pro", "gpqa"),
        all_seen=("bbh", "gpqa"),
    ),
    "quick": Plan(4, 2, sources=(50,), source_sizes=SWEPT_SIZES),
}
"""The paper's own numbers; what two cores do to the stand-ins in a quarter of an hour; a trial."""


@dataclass(frozen=True)
class Part:
    """One experiment on one benchmark.

    Parameters
    ----------
    name : "main", "sources-50", "separate", "all-seen", "fixed-8B"
    settings : of :class:`mdad.experiment.Experiment`; empty where it cannot be done
    absent : then, why
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    absent: str = ""


def parts_of(
    benchmark: str, scores: ScoreMatrix, plan: Plan, seed: int, groups: Mapping[str, str]
) -> list[Part]:
    """The experiments on one benchmark.

    Parameters
    ----------
    benchmark : its key
    scores : complete
    plan : how much is run
    seed : of all of them
    groups : patterns of fixed target models by name of the group

    Notes
    -----
    Real models are found by their names. In simulated scores a group is a stand-in: 32 models
    spread evenly over the middle third of the full scores (7B, 8B) or over the best third (70B).
    """
    more = {"runs": plan.more, "seed": seed}
    parts = [_part("main", "paper", scores, {"runs": plan.runs, "seed": seed})]
    parts += _sweep(benchmark, scores, plan, more)
    if scores.subtasks is None:
        parts.append(Part("separate", absent="the scores have no subtasks"))
    else:
        parts.append(_part("separate", "paper-separate", scores, {**more, "fractions": FRACTIONS}))
    if plan.all_seen is None or benchmark in plan.all_seen:
        parts.append(_part("all-seen", "paper", scores, {**more, "seen": "all"}))
    parts += [_fixed(group, pattern, scores, more) for group, pattern in groups.items()]
    return parts


def _sweep(
    benchmark: str, scores: ScoreMatrix, plan: Plan, more: Mapping[str, Any]
) -> Iterator[Part]:
    """Other numbers of source models than the main experiment has."""
    most = scores.n_models - min(MAX_TARGET, scores.n_models // 3)
    whole = plan.swept is None or benchmark in plan.swept
    pool = n_seen(scores, "half")
    sizes = tuple(size for size in plan.source_sizes if size <= pool)
    for number in plan.sources if whole else (FEW_SOURCES,):
        name = f"sources-{number}"
        if number == min(MAX_SOURCE, most):
            continue
        if number > most:
            yield Part(name, absent=f"there are {counted(most, 'source model')} at most")
        else:
            given = {**more, "n_source": number, "sizes": sizes}
            yield _part(name, "paper", scores, given)


def _part(name: str, preset: str, scores: ScoreMatrix, given: Mapping[str, Any]) -> Part:
    settings = preset_settings(preset, scores, given)
    try:
        Experiment(**settings).resolve(scores)
    except MdadError as error:
        return Part(name, absent=str(error))
    return Part(name, settings)


def _fixed(group: str, pattern: str, scores: ScoreMatrix, more: Mapping[str, Any]) -> Part:
    name = f"fixed-{group}"
    try:
        targets = _stand_in(scores, group) if scores.simulated else matching(scores.models, pattern)
    except SettingError as error:
        return Part(name, absent=str(error))
    given = {**more, "targets": targets, "methods": FIXED_METHODS}
    return _part(name, "paper-fixed-targets", scores, given)


def _stand_in(scores: ScoreMatrix, group: str) -> tuple[str, ...]:
    low, high = STAND_INS.get(group, (0.0, 1.0))
    ranked = np.argsort(scores.full_scores(), kind="stable")
    number = min(STAND_IN_SIZE, max(2, scores.n_models // 4))
    last = len(ranked) - 1
    places = np.unique(np.linspace(low * last, high * last, number).round().astype(int))
    return tuple(scores.models[row] for row in ranked[places].tolist())
