"""The report as one HTML file: no network, readable without JavaScript, same bytes every time.

`page` gathers what the templates show; `render` fills them. See ``templates/README.md``.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from mdad.errors import ResultsError
from mdad.report import charts
from mdad.report.legible import legible
from mdad.report.sentences import percent
from mdad.results import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt
    from jinja2 import Environment

    from mdad.report.summary import AuditSummary, Estimate, Row

__all__ = ["render", "write_html"]

MIDDLE_SIZE = 100
"""The size shown first is the one nearest to this."""


def write_html(summary: AuditSummary, path: Path) -> Path:
    """Write the report; the file appears under its name only when it is whole.

    Raises
    ------
    ResultsError
        when the file cannot be written.
    """
    content = render(summary).encode()
    try:
        write_atomically(path, content)
    except OSError as error:
        raise ResultsError(f"cannot write the report {path}: {error.strerror}.") from None
    return path


def render(summary: AuditSummary) -> str:
    """The report as text; the same summary gives the same text."""
    import vl_convert  # noqa: PLC0415  # slow to import

    method, size = _first_shown(summary)
    drawn = _charts(summary, method, size)
    template = _environment().get_template("audit.html")
    return template.render(
        summary=summary,
        experiment=summary.spec["experiment"],
        scores=summary.spec["scores"],
        methods=summary.spec["experiment"]["methods"],
        shown={"method": method, "size": size},
        looks={(m, s): look(summary, m, s) for m, s in _cells(summary)},
        tables={
            items: [row for row in summary.rows if row.items == items] for items in charts.CLAIMS
        },
        pictures={name: _picture(name, chart) for name, chart in drawn.items()},
        command=_command(summary),
        script_data=_json_for_script(_live(summary, drawn)),
        bundle=_markup(vl_convert.javascript_bundle()),
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("mdad.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters |= {
        "gap": _gap,
        "between": charts.said_between,
        "share": percent,
        "decimals": lambda number: "undefined" if number is None else f"{number:.3f}",
        "interval": _interval,
        "count": lambda number: f"{number:,}",
    }
    return environment


def _finalize(value: Any) -> Any:
    """Every text a template prints passes here, so no name can hide or reorder its neighbours."""
    return legible(value) if type(value) is str else value


def _markup(text: str) -> Any:
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(text)  # noqa: S704  # our own text: the chart library, a drawn chart, escaped JSON


def _gap(value: float | None) -> str:
    return "not reached" if value is None else f"{value:.1f}"


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def _cells(summary: AuditSummary) -> list[tuple[str, int]]:
    return list(dict.fromkeys((row.method, row.size) for row in summary.rows))


def _first_shown(summary: AuditSummary) -> tuple[str, int]:
    experiment = summary.spec["experiment"]
    size = min(experiment["sizes"], key=lambda size: abs(size - MIDDLE_SIZE))
    return experiment["methods"][0], size


def look(summary: AuditSummary, method: str, size: int) -> list[str]:
    """One method at one size in sentences."""
    rows = {row.items: row for row in summary.rows if (row.method, row.size) == (method, size)}
    seen, unseen = rows["seen"], rows["unseen"]
    closer = (
        "no gap in the data is large enough, so the order of no pair is reliably preserved"
        if seen.mdad.value is None
        else f"{percent(seen.unresolved)} of the compared pairs are closer than that on seen items"
    )
    return [
        f"MDAD: {_said(seen)} on seen items, {_said(unseen)} on unseen items; {closer}.",
        (
            "Smallest trustworthy observed gap (right with probability 0.95): "
            f"{charts.said(seen.observed_gap_95)} on seen items, "
            f"{charts.said(unseen.observed_gap_95)} on unseen items."
        ),
    ]


def _said(row: Row) -> str:
    if row.mdad.low is None:
        return charts.said(row.mdad)
    return f"{charts.said(row.mdad)} ({charts.said_between(row.mdad)})"


def _charts(summary: AuditSummary, method: str, size: int) -> dict[str, alt.LayerChart]:
    theme = charts.PAGE
    return {
        "mdad-seen": charts.mdad_chart(summary, "seen", theme),
        "mdad-unseen": charts.mdad_chart(summary, "unseen", theme),
        "agreement": charts.curve_chart(summary, "agreement", method, size, theme),
        "trust": charts.curve_chart(summary, "trust", method, size, theme),
        "gaps": charts.gaps_chart(summary, method, size, theme),
    }


def _picture(name: str, chart: alt.LayerChart) -> Any:
    """The chart as SVG for inside a page, where ids must not meet those of another chart."""
    text = charts.svg(chart).replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    return _markup(text)


def _live(summary: AuditSummary, drawn: dict[str, alt.LayerChart]) -> dict[str, Any]:
    """What the page's script needs: the charts, and the numbers of every method and size."""
    cells = [
        {
            "method": method,
            "size": size,
            "text": [legible(line) for line in look(summary, method, size)],
            "agreement": _compact(charts.curve_data(summary, "agreement", method, size)),
            "agreementMarks": charts.curve_marks(summary, "agreement", method, size),
            "trust": _compact(charts.curve_data(summary, "trust", method, size)),
            "trustMarks": charts.curve_marks(summary, "trust", method, size),
            "gapsMarks": charts.gaps_marks(summary, method, size),
        }
        for method, size in _cells(summary)
    ]
    return {
        "charts": {name: chart.to_dict() for name, chart in drawn.items()},
        "columns": ["items", "gap", "mean", "low", "high", "fit", "pairs"],
        "methods": summary.spec["experiment"]["methods"],
        "cells": cells,
    }


def _compact(data: list[dict[str, Any]]) -> list[list[Any]]:
    """Bins as lists of their columns, with the digits a chart can show."""
    return [
        [round(value, 3) if isinstance(value, float) else value for value in entry.values()]
        for entry in data
    ]


def _json_for_script(value: Any) -> Any:
    """JSON that can stand inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return _markup(text)


def _command(summary: AuditSummary) -> str:
    """The command that gives this report again, from the same scores."""
    experiment = summary.spec["experiment"]
    parts = [
        "mdad audit SCORES",
        f"--methods {','.join(experiment['methods'])}",
        f"--sizes {','.join(str(size) for size in experiment['sizes'])}",
        f"--runs {experiment['runs']}",
        f"--n-source {experiment['n_source']}",
        f"--n-target {experiment['n_target']}",
        f"--split {experiment['split']}",
        f"--aggregate {experiment['aggregate']}",
        *(["--preset paper"] if experiment["form"] == "paper" else []),
        f"--threshold {summary.threshold:g}",
        f"--rule {summary.rule}",
        f"--ties {summary.ties}",
        f"--unit {summary.unit}",
        f"--level {summary.level:g}",
        f"--seed {experiment['seed']}",
        "--out DIR",
    ]
    return " ".join(parts)
