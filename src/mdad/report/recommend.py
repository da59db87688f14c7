"""From the gap a reader wants to resolve to a method and a number of items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad._checks import counted
from mdad.report.chart_data import axis_top, said_between
from mdad.report.sentences import percent, points, rounded_size, size_for_gap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.report.summary import AuditSummary, Row

__all__ = ["TABLE_GAPS", "Recommendation", "gap_steps", "recommend", "recommendation_lines"]

TABLE_GAPS = (1.0, 2.0, 3.0, 5.0, 10.0)
"""Gaps of the table, in points; the slider has those between."""

FINE_UP_TO = 30
"""Up to this gap the slider goes by half points, beyond it by whole ones."""

FIRST_GAP = 3.0
"""Where the slider stands at first, if it goes that far."""


@dataclass(frozen=True)
class Recommendation:
    """What to take for a wanted gap.

    Parameters
    ----------
    gap : wanted, in points
    row : the fewest audited items with which some method's MDAD is within the gap, and of these
        methods the one with the smallest; None = no audited size does it
    between : items of that method between the audited sizes (log-log); None where ``row`` is of
        the smallest size
    sure : the same as ``row`` when the whole interval must lie within the gap
    plain : the same as ``row`` of the first method alone
    """

    gap: float
    row: Row | None
    between: float | None
    sure: Row | None
    plain: Row | None


def gap_steps(summary: AuditSummary) -> tuple[float, ...]:
    """Gaps the slider stops at, in points."""
    top = max(axis_top(part.rows) for part in summary.splits)
    last = max(math.ceil(min(top, 100)), 5)
    step = 0.5 if last <= FINE_UP_TO else 1.0
    return tuple(step * (i + 1) for i in range(round(last / step)))


def recommend(rows: Sequence[Row], items: str, gap: float) -> Recommendation:
    """The fewest items that resolve a gap; see :class:`Recommendation`.

    Parameters
    ----------
    rows : of a summary
    items : item set, "seen" or "unseen"
    gap : in points
    """
    here = [row for row in rows if row.items == items]
    found = _fewest(here, gap, sure=False)
    own = [row for row in here if found is not None and row.method == found.method]
    return Recommendation(
        gap=gap,
        row=found,
        between=size_for_gap(own, gap),
        sure=_fewest(here, gap, sure=True),
        plain=_fewest([row for row in here if row.method == here[0].method], gap, sure=False),
    )


def _fewest(rows: Sequence[Row], gap: float, *, sure: bool) -> Row | None:
    def end(row: Row) -> float:
        found = row.mdad.high if sure else row.mdad.value
        return math.inf if found is None else found

    able = [row for row in rows if end(row) <= gap]
    return min(able, key=lambda row: (row.size, row.mdad.value), default=None)


def recommendation_lines(rows: Sequence[Row], items: str, gap: float, level: float) -> list[str]:
    """A recommendation in sentences."""
    here = [row for row in rows if row.items == items]
    found = recommend(rows, items, gap)
    largest = max(row.size for row in here)
    if found.row is None:
        return [_none(here, gap, largest)]
    row = found.row
    between = ""
    if row.mdad.low is not None:
        between = f" ({percent(level)} interval {said_between(row.mdad)})"
    lines = [
        (
            f"For {points(gap)}: {counted(row.size, 'item')} with {row.method}. "
            f"MDAD {points(row.mdad.value or 0)}{between}."
        )
    ]
    if found.between is not None and rounded_size(found.between) < row.size:
        about = rounded_size(found.between)
        lines.append(f"Between the audited sizes: about {about:,} items may do.")
    if row.mdad.low is not None:
        lines.append(_sure(found, largest))
    if row.method != here[0].method:
        needs = f"more than {largest:,}" if found.plain is None else f"{found.plain.size:,}"
        lines.append(f"{here[0].method} needs {needs} items for that.")
    return lines


def _none(rows: Sequence[Row], gap: float, largest: int) -> str:
    reached = [row for row in rows if row.mdad.value is not None]
    best = min(reached, key=lambda row: row.mdad.value or 0, default=None)
    smallest = (
        "it is reached nowhere in the data"
        if best is None
        else f"the smallest is {points(best.mdad.value or 0)} ({best.method}, "
        f"{counted(best.size, 'item')})"
    )
    return (
        f"For {points(gap)}: no method has an MDAD that small with {counted(largest, 'item')} or "
        f"fewer; {smallest}."
    )


def _sure(found: Recommendation, largest: int) -> str:
    if found.sure is None:
        return f"With no method does the whole interval lie within the gap up to {largest:,} items."
    if found.sure == found.row:
        return "The whole interval lies within the gap."
    sure = found.sure
    return (
        f"For the whole interval to lie within the gap: {counted(sure.size, 'item')} with "
        f"{sure.method}."
    )
