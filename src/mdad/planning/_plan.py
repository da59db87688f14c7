"""The plan: one call that answers, in numbers and words, how many items a comparison needs."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdad._checks import check_int, check_real, shorten
from mdad.errors import SettingError
from mdad.planning import _words
from mdad.planning._known import Basis, known_basis
from mdad.planning._questions import AGREEMENT, checked_probability, checked_rule
from mdad.planning._sources import AssumedDiscordance, gap_for, size_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pandas as pd

    from mdad.planning._chance import Goal, Rule, Ties
    from mdad.scores import ScoreMatrix

SIZES = (10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)
"""Sizes of the tables, as far as the pool goes."""

OPEN_SIZES = 1000
"""Largest of them where the pool has no bound and nothing larger was asked for."""

GAPS = (1, 2, 3, 5, 10)
"""Gaps of the power curve, in points."""

HUGE = 1e15
"""Bound for money: only nonsense is above it."""


@dataclass(frozen=True)
class PowerPoint:
    """One cell of the power curve: agreement (or power) at a size and a gap, in score units."""

    size: int
    gap: float
    agreement: float


@dataclass(frozen=True)
class SizePoint:
    """The MDAD of a size (unit of the scores; None = not reached), and what the items cost."""

    size: int
    mdad: float | None
    cost: float | None


@dataclass(frozen=True)
class Plan:
    """How many items a comparison needs, or what a number of items can tell.

    Gaps are in the unit of the scores; ``point`` is a hundredth of their range. What was not asked
    for is None.

    Parameters
    ----------
    goal : "rank" (the subset orders the pair rightly) or "show" (a test shows the better one)
    agreement : the probability asked for, of all comparisons together when ranking
    per_pair : the probability each pair needs for that
    comparisons : number of pairs
    ties : how an estimated tie counts when ranking
    level : one-sided level of each test when showing, after Holm's first step
    n_items : size of the pool; None = without bound
    point : one point in the unit of the scores
    discordance : share of items on which two models differ; None where it depends on the pair
    sd : standard deviation (ddof 0) of the item-wise differences at ``gap``, else near no gap
    gap, size : the gap and the number of items asked about
    items : smallest number of items for ``gap``; None also when no number suffices
    mdad : smallest gap that ``size`` items resolve; None also when not reached
    achieved : agreement (or power) at ``gap`` with ``size`` items
    budget, cost_per_item : as given
    cost : what ``items`` cost (``size`` items when no gap was asked about)
    affordable : items the budget pays for, at most the pool
    affordable_mdad : the smallest gap those resolve; None also when not reached
    answer : the answer in one sentence, gaps in points
    assumptions : what it rests on, one sentence each
    curve : agreement over sizes and gaps
    sizes : MDAD over sizes
    """

    goal: Goal
    agreement: float
    per_pair: float
    comparisons: int
    ties: Ties | None
    level: float | None
    n_items: int | None
    point: float
    discordance: float | None
    sd: float
    gap: float | None
    size: int | None
    items: int | None
    mdad: float | None
    achieved: float | None
    budget: float | None
    cost_per_item: float | None
    cost: float | None
    affordable: int | None
    affordable_mdad: float | None
    answer: str
    assumptions: tuple[str, ...]
    curve: tuple[PowerPoint, ...]
    sizes: tuple[SizePoint, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold."""
        return dataclasses.asdict(self)

    def curve_frame(self) -> pd.DataFrame:
        """The power curve as a data frame: size, gap, agreement."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(
            [dataclasses.astuple(point) for point in self.curve],
            columns=["size", "gap", "agreement"],
        )

    def sizes_frame(self) -> pd.DataFrame:
        """The MDAD of each size as a data frame: size, mdad, cost (NaN = not reached, unknown)."""
        import pandas as pd  # noqa: PLC0415

        frame = pd.DataFrame(
            [dataclasses.astuple(point) for point in self.sizes],
            columns=["size", "mdad", "cost"],
        )
        return frame.astype({"mdad": "float64", "cost": "float64"})


def plan(
    *,
    gap: float | None = None,
    size: int | None = None,
    agreement: float = AGREEMENT,
    scores: ScoreMatrix | None = None,
    models: Sequence[str] | None = None,
    a: npt.ArrayLike | None = None,
    b: npt.ArrayLike | None = None,
    accuracies: tuple[float, float] | None = None,
    discordance: float | None = None,
    sd: float | None = None,
    score_range: tuple[float, float] | None = None,
    n_items: int | None = None,
    goal: Goal = "rank",
    ties: Ties | None = None,
    level: float | None = None,
    comparisons: int = 1,
    cost_per_item: float | None = None,
    budget: float | None = None,
    aggregate: str = "micro",
) -> Plan:
    """Plan a comparison of two models on a uniform random subset of a benchmark.

    Parameters
    ----------
    gap : full-score gap to be resolved, in the unit of the scores (0.02 = 2 points of 0/1)
    size : number of items; with ``gap`` both questions are answered
    agreement : probability of success that is asked for
    scores, models : complete ScoreMatrix whose pairs of models (all, or of those named) say how
        far models differ
    a, b : scores of two models on the same items, shape (n,); the pool is those items unless
        ``n_items`` says it is larger
    accuracies : assumed accuracies of the two models
    discordance : assumed share of items that exactly one of them gets right; 0.3 when nothing is
        known, two thirds of that of independent answers when accuracies are
    sd, score_range : for graded scores, the standard deviation (ddof 0) of the item-wise
        differences and the range, both in the unit of the scores
    n_items : size of the pool the subset is drawn from; None = without bound
    goal : "rank": the subset orders the models like the full benchmark (the MDAD's notion);
        "show": a one-sided paired test shows the better one, and ``agreement`` is its power
    ties : estimated ties count as "wrong" (default) or "half" right; for "rank"
    level : one-sided level of all tests together (default 0.05); for "show"
    comparisons : number of pairs planned for
    cost_per_item : cost of running one item for all models compared, in any currency
    budget : what may be spent
    aggregate : "micro"; a macro mean is refused

    Returns
    -------
    Plan

    Raises
    ------
    SettingError
        when nothing is asked, or settings are out of bounds, exclude each other or have no effect.
    ScoresError
        when scores are incomplete or do not fit together.

    Notes
    -----
    For a uniform random subset of k of N items the standard error of a gap is
    se^2 = s^2 / k (N - k) / (N - 1), s^2 the variance of the pair's item-wise differences. 0/1
    scores use the exact multivariate hypergeometric (N unknown: multinomial) law of items won,
    tied and lost while the variance of wins less losses is at most 100, and above it the Normal
    form with continuity correction; graded scores the Normal form. MDAD: arXiv 2510.08730.

    Examples
    --------
    >>> found = plan(gap=0.02, discordance=0.3, n_items=12032)
    >>> found.items
    556
    >>> print(found.answer[:72])
    556 of the 12,032 items, drawn at random, rank two models 2 points apart
    """
    rule = checked_rule(goal, ties, level, comparisons)
    per_pair = checked_probability("agreement", agreement, rule, comparisons)
    basis = known_basis(
        gap,
        scores=scores,
        models=models,
        a=a,
        b=b,
        accuracies=accuracies,
        discordance=discordance,
        sd=sd,
        score_range=score_range,
        n_items=n_items,
        aggregate=aggregate,
    )
    basis.check_ties(ties)
    asked = basis.gap if gap is None else basis.check_gap(gap)
    size = None if size is None else basis.check_size(size)
    affordable = _affordable(budget, cost_per_item, basis.source.n_items)
    if asked is None and size is None and affordable is None:
        raise SettingError(
            "nothing is asked: give gap (how many items?), size (which gap?), or cost_per_item and "
            "budget (which gap for the money?)."
        )
    numbers = _numbers(basis, rule, per_pair, asked, size, affordable, cost_per_item)
    facts = _words.Facts(
        basis=basis,
        rule=rule,
        agreement=float(agreement),
        comparisons=comparisons,
        observed=gap is None and asked is not None,
        budget=budget,
        cost_per_item=cost_per_item,
        **{key: numbers[key] for key in _words.NUMBERS},
    )
    return Plan(
        goal=rule.goal,
        agreement=float(agreement),
        per_pair=per_pair,
        comparisons=comparisons,
        ties=rule.ties if rule.goal == "rank" and basis.ties_count else None,
        level=rule.level if rule.goal == "show" else None,
        n_items=basis.source.n_items,
        point=basis.point,
        budget=budget,
        cost_per_item=cost_per_item,
        answer=_words.answer(facts),
        assumptions=_words.assumptions(facts),
        curve=_curve(basis, rule, asked, _table_sizes(basis, numbers)),
        sizes=_sizes(basis, rule, per_pair, _table_sizes(basis, numbers), cost_per_item),
        **numbers,
    )


def _affordable(budget: Any, cost_per_item: Any, n_items: int | None) -> int | None:
    if cost_per_item is not None:
        check_real("cost_per_item", cost_per_item, 0, HUGE, open_ends=True)
    if budget is None:
        return None
    if cost_per_item is None:
        raise SettingError("budget has no effect without cost_per_item.")
    check_real("budget", budget, 0, HUGE)
    number = math.floor(budget / cost_per_item + 1e-9)
    if number < 1:
        raise SettingError(
            f"a budget of {budget:g} pays for no item at {cost_per_item:g} each; got budget "
            f"{shorten(budget)} and cost_per_item {shorten(cost_per_item)}."
        )
    number = number if n_items is None else min(number, n_items)
    return check_int("the number of items the budget pays for", number, 1, 10**9)


def _numbers(
    basis: Basis,
    rule: Rule,
    per_pair: float,
    gap: float | None,
    size: int | None,
    affordable: int | None,
    cost_per_item: float | None,
) -> dict[str, Any]:
    """The numbers of the plan, by field."""
    source = basis.source
    items = None if gap is None else size_for(source, gap, rule, per_pair)
    known = gap is not None and size is not None
    priced = items if gap is not None else size
    assumed = isinstance(source, AssumedDiscordance)
    return {
        "gap": gap,
        "size": size,
        "items": items,
        "mdad": None if size is None else gap_for(source, size, rule, per_pair),
        "achieved": source.chance(gap, size, rule) if known else None,  # type: ignore[arg-type]
        "discordance": source.discordance if assumed else None,  # type: ignore[attr-defined]
        "sd": source.sd(gap or 0.0),
        "cost": None if priced is None or cost_per_item is None else priced * cost_per_item,
        "affordable": affordable,
        "affordable_mdad": (
            None if affordable is None else gap_for(source, affordable, rule, per_pair)
        ),
    }


def _table_sizes(basis: Basis, numbers: dict[str, Any]) -> list[int]:
    """Standard sizes as far as the pool goes, and those the plan speaks of."""
    asked = {numbers[key] for key in ("size", "items", "affordable")} - {None}
    last = basis.source.n_items or max([OPEN_SIZES, *asked])
    return sorted({size for size in SIZES if size <= last} | asked)


def _curve(basis: Basis, rule: Rule, gap: float | None, sizes: list[int]) -> tuple[PowerPoint, ...]:
    largest = basis.source.largest_gap
    gaps = {round(points * basis.point, 12) for points in GAPS} | ({gap} if gap else set())
    inside = sorted(value for value in gaps if value <= largest + 1e-12 or value == gap)
    return tuple(
        PowerPoint(size, value, basis.source.chance(value, size, rule))
        for size in sizes
        for value in inside
    )


def _sizes(
    basis: Basis, rule: Rule, per_pair: float, sizes: list[int], cost_per_item: float | None
) -> tuple[SizePoint, ...]:
    return tuple(
        SizePoint(
            size,
            gap_for(basis.source, size, rule, per_pair),
            None if cost_per_item is None else size * cost_per_item,
        )
        for size in sizes
    )
