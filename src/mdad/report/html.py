"""The report of an audit as one HTML file: no network, readable without JavaScript.

`page` gathers what all pages share; `render` fills the templates. See ``templates/README.md``.
"""

from __future__ import annotations

import math
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

from mdad.report import chart_data, charts, histograms
from mdad.report.drawing import specification
from mdad.report.live import live_data, look, misleading, packed, plain_json
from mdad.report.page import environment, fill, picture, write_page
from mdad.report.recommend import (
    FIRST_GAP,
    TABLE_GAPS,
    gap_steps,
    recommend,
    recommendation_lines,
)

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

    from mdad.report.summary import AuditSummary, Row

__all__ = ["environment", "picture", "render", "write_html"]

MIDDLE_SIZE = 100
"""The size shown first is the one nearest to this, as in the sentences."""


def write_html(summary: AuditSummary, path: Path) -> Path:
    """Write the report; the file appears under its name only when it is whole.

    Raises
    ------
    ResultsError
        when the file cannot be written.
    """
    return write_page(render(summary), path)


def render(summary: AuditSummary) -> str:
    """The report as text; the same summary gives the same text."""
    method, size = _first_shown(summary)
    drawn = _charts(summary, method, size)
    specifications = {name: specification(chart) for name, chart in drawn.items()}
    return fill(
        "audit.html",
        summary=summary,
        simulated=summary.simulated,
        version=summary.spec["mdad_version"],
        experiment=summary.spec["experiment"],
        scores=summary.spec["scores"],
        quality=summary.spec["scores"]["quality"],
        methods=chart_data.method_names(summary),
        n_drawn=chart_data.FIRST_LINES,
        claims=chart_data.claims_of(summary),
        shown={"method": method, "size": size},
        look=look(summary, method, size),
        misleading=misleading(summary, method, size),
        recommended=_recommended(summary),
        tables=_tables(summary),
        side_by_side=_side_by_side(summary),
        never=any(row.mdad.value is None for part in summary.splits for row in part.rows),
        pictures={name: picture(name, made) for name, made in specifications.items()},
        descriptions={name: chart.description for name, chart in drawn.items()},
        command=_command(summary),
        charts=packed(plain_json(specifications)),
        live=packed(plain_json(live_data(summary))),
        library=_chart_library(),
    )


@cache
def _chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed, packed for the page; they come with vl-convert."""
    import vl_convert  # noqa: PLC0415  # slow to import

    # Its type stub asks for an argument that has a default.
    return packed(vl_convert.javascript_bundle())  # type: ignore[call-arg]


def _first_shown(summary: AuditSummary) -> tuple[str, int]:
    experiment = summary.spec["experiment"]
    size = min(experiment["sizes"], key=lambda size: abs(math.log(size / MIDDLE_SIZE)))
    return experiment["methods"][0], size


def _tables(summary: AuditSummary) -> list[dict[str, Any]]:
    """Rows of every split and item set."""
    return [
        {
            "number": number,
            "split": part.split,
            "items": items,
            "rows": [row for row in part.rows if row.items == items],
        }
        for number, part in enumerate(summary.splits)
        for items in chart_data.claims_of(part)
    ]


def _side_by_side(summary: AuditSummary) -> list[list[Row]]:
    """With several splits, the rows of each method and size: splits, then their item sets."""
    if not summary.further:
        return []
    tables = [table["rows"] for table in _tables(summary)]
    return [list(rows) for rows in zip(*tables, strict=True)]


def _recommended(summary: AuditSummary) -> dict[str, Any]:
    """What the section on the wanted gap shows at first, and its table."""
    steps, claims = gap_steps(summary), chart_data.claims_of(summary)
    first = min(range(len(steps)), key=lambda i: abs(steps[i] - FIRST_GAP))
    gaps = [gap for gap in TABLE_GAPS if gap <= steps[-1]]
    return {
        "gap": steps[first],
        "position": first,
        "last": len(steps) - 1,
        "lines": recommendation_lines(summary.rows, claims[0], steps[first], summary.level),
        "columns": [(part.split, items) for part in summary.splits for items in claims],
        "table": [
            (
                gap,
                [
                    recommend(part.rows, items, gap).row
                    for part in summary.splits
                    for items in claims
                ],
            )
            for gap in gaps
        ],
    }


def _charts(summary: AuditSummary, method: str, size: int) -> dict[str, alt.LayerChart]:
    theme, claims = charts.PAGE, chart_data.claims_of(summary)
    drawn = {f"mdad-{items}": charts.mdad_chart(summary, items, theme) for items in claims}
    if summary.further:
        drawn |= {
            f"splits-{items}": charts.splits_chart(summary, method, items, theme)
            for items in claims
        }
    return {
        **drawn,
        "agreement": charts.curve_chart(summary, "agreement", method, size, theme),
        "trust": charts.curve_chart(summary, "trust", method, size, theme),
        "error": charts.trend_chart(summary, "error", theme),
        "kendall_tau": charts.trend_chart(summary, "kendall_tau", theme),
        "scores": histograms.scores_chart(summary, theme),
        "gaps": histograms.gaps_chart(summary, method, size, theme),
    }


def _sizes_option(experiment: dict[str, Any]) -> str:
    shares, sizes = experiment["fractions"], experiment["sizes"]
    name = "fractions" if shares else "sizes"
    return f"--{name} {','.join(str(part) for part in shares or sizes)}"


def _command(summary: AuditSummary) -> str:
    """The command that gives this report again, from the same scores."""
    experiment = summary.spec["experiment"]
    groups = dict.fromkeys(part.spec["experiment"]["groups"] for part in summary.splits)
    parts = [
        "mdad audit SCORES",
        f"--methods {','.join(experiment['methods'])}",
        _sizes_option(experiment),
        f"--runs {experiment['runs']}",
        f"--n-source {experiment['n_source']}",
        f"--n-target {experiment['n_target']}",
        *([f"--targets {','.join(experiment['targets'])}"] if experiment["targets"] else []),
        f"--split {','.join(part.split for part in summary.splits)}",
        *[f"--groups {shlex.quote(by)}" for by in groups if by],
        f"--seen {experiment['seen']}",
        f"--subtasks {experiment['subtasks']}",
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
