"""A plan said in words: one sentence of answer, and the assumptions it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad._checks import counted
from mdad.planning._chance import EXACT_VARIANCE, Rule, normal_quantile
from mdad.planning._sources import LARGEST_SIZE

if TYPE_CHECKING:
    from mdad.planning._known import Basis

NUMBERS = ("gap", "size", "items", "mdad", "achieved", "affordable", "affordable_mdad", "cost")


@dataclass(frozen=True)
class Facts:
    """What the sentences speak of: fields of :class:`mdad.planning.Plan`, and two more.

    Parameters
    ----------
    basis : what is known, with its unit and pool
    observed : the gap was not asked for but read from the caller's own scores or accuracies
    """

    basis: Basis
    rule: Rule
    agreement: float
    comparisons: int
    observed: bool
    budget: float | None
    cost_per_item: float | None
    gap: float | None
    size: int | None
    items: int | None
    mdad: float | None
    achieved: float | None
    affordable: int | None
    affordable_mdad: float | None
    cost: float | None

    def points(self, gap: float) -> str:
        """A gap in points; also in the unit of the scores where that is not obvious."""
        points = gap / self.basis.point
        shown = f"{points:.1f}".removesuffix(".0") if points >= 1 else f"{points:.2g}"
        unit = "" if self.basis.width == 1 else f" ({gap:.3g} in the unit of the scores)"
        return f"{shown} point{'' if shown == '1' else 's'}{unit}"

    def subset(self, size: int) -> str:
        """A number of items, and out of how many."""
        pool = self.basis.source.n_items
        if pool is None:
            return counted(size, "random item")
        if size == pool:
            return f"all {counted(size, 'item')}"
        return f"{size:,} of the {counted(pool, 'item')}, drawn at random,"

    def success(self, gap: float) -> str:
        """What is done to a pair with this gap."""
        if self.rule.goal == "rank":
            return f"rank two models {self.points(gap)} apart rightly"
        return f"show which of two models {self.points(gap)} apart is better"

    @property
    def odds(self) -> str:
        """The probability asked for, and of what."""
        if self.comparisons == 1:
            return f"with probability {self.agreement:g}"
        if self.rule.goal == "rank":
            return (
                f"with probability {self.agreement:g} for all {self.comparisons:,} pairs together"
            )
        return f"with probability {self.agreement:g}, as one of {self.comparisons:,} comparisons"


def answer(facts: Facts) -> str:
    """The answer in one sentence (a second one about money where a budget was given)."""
    if facts.gap is not None and facts.size is not None:
        first = _both(facts, facts.gap, facts.size)
    elif facts.gap is not None:
        first = _items(facts, facts.gap)
    elif facts.size is not None:
        first = _mdad(facts, facts.size, facts.mdad)
    else:
        first = ""
    money = _money(facts)
    return " ".join(part for part in (first, money) if part)


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _items(facts: Facts, gap: float) -> str:
    if facts.items is None:
        return f"No subset is known to {facts.success(gap)} {facts.odds}{_beyond(facts)}."
    cost = "" if facts.cost is None else f", at a cost of {facts.cost:,.6g}"
    if facts.items == facts.basis.source.n_items:
        return f"Only {facts.subset(facts.items)} {facts.success(gap)} {facts.odds}{cost}."
    return _capital(f"{facts.subset(facts.items)} {facts.success(gap)} {facts.odds}{cost}.")


def _beyond(facts: Facts) -> str:
    if facts.basis.source.n_items is None:
        return f" with up to {LARGEST_SIZE:,} items"
    return " in these data"


def _mdad(facts: Facts, size: int, mdad: float | None) -> str:
    if mdad is None:
        return _capital(
            f"{facts.subset(size)} do not {facts.success(facts.basis.source.largest_gap)} "
            f"{facts.odds}, and no wider gap is known in these data: the MDAD is not reached."
        )
    if size == facts.basis.source.n_items:
        return f"{_capital(facts.subset(size))} rank all models as the full benchmark: they are it."
    return _capital(
        f"{facts.subset(size)} {facts.success(mdad)} {facts.odds}, and not closer ones."
    )


def _both(facts: Facts, gap: float, size: int) -> str:
    reached = f"{facts.subset(size)} {facts.success(gap)} with probability {facts.achieved:.2f}"
    wanted = f"for {facts.agreement:g}"
    if facts.comparisons > 1:
        pairs = f"{facts.comparisons:,}"
        wanted += (
            f" over {pairs} pairs" if facts.rule.goal == "rank" else f" in {pairs} comparisons"
        )
    items = "no known subset suffices" if facts.items is None else None
    items = items or f"it takes {counted(facts.items or 0, 'item')}"
    closest = (
        "no known gap is wide enough with this subset"
        if facts.mdad is None
        else f"a gap of {facts.points(facts.mdad)}"
    )
    return _capital(f"{reached}; {wanted} {items}, or {closest}.")


def _money(facts: Facts) -> str:
    if facts.affordable is None or facts.budget is None:
        return ""
    paid = f"The budget of {facts.budget:,.6g} pays for {counted(facts.affordable, 'item')}"
    if facts.affordable_mdad is None:
        what = "which resolve no gap that is known here"
    elif facts.affordable == facts.basis.source.n_items:
        what = "the full benchmark"
    else:
        what = f"which {facts.success(facts.affordable_mdad)} {facts.odds}"
    return f"{paid}, {what}."


def assumptions(facts: Facts) -> tuple[str, ...]:
    """What the numbers rest on, one sentence or two each."""
    found = [*facts.basis.sentences, _pool(facts)]
    if facts.observed and facts.gap is not None:
        found.append(
            f"The gap between these two, {facts.points(facts.gap)}, is taken as the one to "
            "resolve; a gap seen on few items is itself uncertain."
        )
    found.append(_goal(facts))
    found.append(_form(facts))
    if facts.comparisons > 1:
        found.append(_several(facts))
    found.append("A full score is the mean over all items alike (micro).")
    if facts.cost_per_item is not None:
        found.append(f"One item costs {facts.cost_per_item:g} for all models that are compared.")
    return tuple(found)


def _pool(facts: Facts) -> str:
    pool = facts.basis.source.n_items
    drawn = "Items are drawn uniformly at random, without replacement"
    if pool is None:
        return f"{drawn}, from a pool without bound; with n_items a little fewer would do."
    return f"{drawn}, from a pool of {pool:,}, and the full score is the mean over that pool."


def _goal(facts: Facts) -> str:
    rule = facts.rule
    if rule.goal == "rank":
        order = "Success is the order of the full benchmark, without a claim that it was shown"
        if not facts.basis.ties_count:
            return f"{order}; a tie on the subset has no weight in graded scores without steps."
        ties = {"wrong": "counts as wrong", "half": "counts as half right"}[rule.ties]
        return f"{order}; a tie on the subset {ties}."
    return (
        f"Success is an estimated gap more than {normal_quantile(1 - rule.level):.2f} standard "
        f"errors on the right side: a one-sided paired test at level {rule.level:.4g}. Showing a "
        "gap takes more items than ranking it."
    )


def _form(facts: Facts) -> str:
    if facts.basis.graded or facts.rule.goal == "show":
        return "The estimated gap is taken as Normal, which is rough below about 10 items."
    return (
        "Items won, tied and lost follow their exact law while the variance of wins less losses "
        f"is at most {EXACT_VARIANCE:g}, and the Normal form with continuity correction above."
    )


def _several(facts: Facts) -> str:
    if facts.rule.goal == "rank":
        return (
            f"For all {facts.comparisons:,} pairs to be ranked rightly together, each may fail "
            f"with probability (1 - {facts.agreement:g}) / {facts.comparisons:,} (union bound)."
        )
    return (
        f"The level is divided by {facts.comparisons:,}: that is Holm's first, least favourable "
        "step; the later ones are easier, so each pair's power is at least this."
    )
