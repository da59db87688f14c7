"""What the script of a page shows: every method, size, split and wanted gap, packed small."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Literal

from mdad._checks import counted
from mdad.report import chart_data
from mdad.report.legible import legible
from mdad.report.recommend import gap_steps, recommendation_lines
from mdad.report.sentences import percent

if TYPE_CHECKING:
    from mdad.report.summary import AuditSummary, Row

__all__ = ["live_data", "look", "misleading", "packed"]


def packed(text: str) -> str:
    """Text, compressed: curves of many methods and the chart library would fill the page."""
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def plain_json(value: Any) -> str:
    """JSON without spaces, in ASCII."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def live_data(summary: AuditSummary) -> dict[str, Any]:
    """Everything the script puts into the page."""
    methods, claims = chart_data.method_names(summary), chart_data.claims_of(summary)
    several = len(summary.splits) > 1
    return {
        "gaps": gap_steps(summary),
        "splits": [_split(summary, part) for part in summary.splits],
        # Of each method, the lines of the splits chart.
        "acrossSplits": [
            {items: chart_data.splits_data(summary, method, items) for items in claims}
            for method in methods
        ]
        if several
        else [],
    }


def _split(summary: AuditSummary, part: AuditSummary) -> dict[str, Any]:
    claims = chart_data.claims_of(part)
    experiment = part.spec["experiment"]
    return {
        "top": chart_data.axis_top(part.rows),
        "mdad": {items: chart_data.mdad_data(part, items) for items in claims},
        "error": chart_data.trend_data(part, "error"),
        "kendall_tau": chart_data.trend_data(part, "kendall_tau"),
        "scores": chart_data.scores_data(part),
        "gaps": chart_data.gaps_data(part),
        "widest": chart_data.gaps_end(part),
        "recommend": {
            items: [
                [legible(line) for line in recommendation_lines(part.rows, items, gap, part.level)]
                for gap in gap_steps(summary)
            ]
            for items in claims
        },
        "cells": [
            [_cell(part, method, size) for size in experiment["sizes"]]
            for method in experiment["methods"]
        ],
    }


def _cell(summary: AuditSummary, method: str, size: int) -> dict[str, Any]:
    """One method at one size."""
    cell: dict[str, Any] = {
        "text": [legible(line) for line in look(summary, method, size)],
        "misleading": legible(misleading(summary, method, size)),
        "gapsMarks": chart_data.gaps_marks(summary, method, size),
    }
    for kind in ("agreement", "trust"):
        end = chart_data.curve_end(summary, kind, method, size)
        cell[kind] = _columns(summary, kind, method, size, end)
        cell[kind + "Marks"] = chart_data.curve_marks(summary, kind, method, size)
        cell[kind + "End"] = end
    return cell


PER_MILLE = 1000


def _columns(
    summary: AuditSummary, kind: Literal["agreement", "trust"], method: str, size: int, end: float
) -> dict[str, list[list[int | None]]]:
    """The bins that are drawn, by item set: gap (thousandths of a point), then per mille."""
    columns: dict[str, list[list[int | None]]] = {}
    for entry in chart_data.curve_data(summary, kind, method, size):
        if entry["gap"] <= end:
            parts = columns.setdefault(entry["items"], [[] for _ in range(6)])
            for column, name in zip(parts, ("gap", "mean", "low", "high", "fit"), strict=False):
                value = entry[name]
                column.append(None if value is None else round(value * PER_MILLE))
            parts[5].append(entry["pairs"])
    return columns


def look(summary: AuditSummary, method: str, size: int) -> list[str]:
    """One method at one size in sentences."""
    rows = _rows_of(summary, method, size)
    seen = rows["seen"]
    closer = (
        "no gap in the data is large enough, so the order of no pair is reliably preserved"
        if seen.mdad.value is None
        else f"{percent(seen.unresolved)} of the compared pairs are closer than that on seen items"
    )
    mdads = ", ".join(f"{_said(row)} on {items} items" for items, row in rows.items())
    trusted = ", ".join(
        f"{chart_data.said(row.observed_gap_95)} on {items} items" for items, row in rows.items()
    )
    return [
        f"{method}, {counted(size, 'item')}: MDAD {mdads}; {closer}.",
        f"Smallest trustworthy observed gap (right with probability 0.95): {trusted}.",
    ]


def misleading(summary: AuditSummary, method: str, size: int) -> str:
    """What the usual figures of one method and size say, and what they leave out."""
    row = _rows_of(summary, method, size)["seen"]
    tau = row.kendall_tau.value
    usual = (
        f"{method}, {counted(size, 'item')}: estimates are off by {chart_data.said(row.error)} on "
        f"average and tau-b is {'undefined' if tau is None else f'{tau:.2f}'}"
    )
    if row.mdad.value is None:
        return f"{usual}, yet no gap between two models is ranked reliably."
    return (
        f"{usual}, yet {percent(row.unresolved)} of the compared pairs are closer than the MDAD of "
        f"{chart_data.said(row.mdad)}: their order is not reliably preserved."
    )


def _rows_of(summary: AuditSummary, method: str, size: int) -> dict[str, Row]:
    return {row.items: row for row in summary.rows if (row.method, row.size) == (method, size)}


def _said(row: Row) -> str:
    if row.mdad.low is None:
        return chart_data.said(row.mdad)
    return f"{chart_data.said(row.mdad)} ({chart_data.said_between(row.mdad)})"
