"""The report as one HTML file: no network, readable without JavaScript, same bytes every time.

`page` gathers what the templates show; `render` fills them. See ``templates/README.md``.
"""

from __future__ import annotations

import gzip
import json
import math
from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

from mdad._checks import counted
from mdad._files import write_atomically
from mdad.errors import ResultsError
from mdad.report import chart_data, charts
from mdad.report.legible import legible
from mdad.report.sentences import percent

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt
    from jinja2 import Environment

    from mdad.report.summary import AuditSummary, Estimate, Row

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
    content = render(summary).encode()
    try:
        write_atomically(path, content)
    except OSError as error:
        raise ResultsError(f"cannot write the report {path}: {error.strerror}.") from None
    return path


def render(summary: AuditSummary) -> str:
    """The report as text; the same summary gives the same text."""
    method, size = _first_shown(summary)
    drawn = _charts(summary, method, size)
    text: str = (
        environment()
        .get_template("audit.html")
        .render(
            summary=summary,
            experiment=summary.spec["experiment"],
            scores=summary.spec["scores"],
            methods=chart_data.method_names(summary),
            shown={"method": method, "size": size},
            look=look(summary, method, size),
            tables={items: _rows(summary, items) for items in chart_data.claims_of(summary)},
            never=any(row.mdad.value is None for row in summary.rows),
            pictures={name: picture(name, chart) for name, chart in drawn.items()},
            descriptions={name: chart.description for name, chart in drawn.items()},
            day=charts.DAY,
            night=charts.NIGHT,
            command=_command(summary),
            charts=_json_for_script({name: chart.to_dict() for name, chart in drawn.items()}),
            cells=_packed(_live_cells(summary)),
            bundle=_chart_library(),
        )
    )
    return text


def _rows(summary: AuditSummary, items: str) -> list[Row]:
    return [row for row in summary.rows if row.items == items]


@cache
def _chart_library() -> Any:
    """Vega, Vega-Lite and Vega-Embed, to be put into the page; they come with vl-convert."""
    import vl_convert  # noqa: PLC0415  # slow to import

    # Its type stub asks for an argument that has a default.
    return _markup(vl_convert.javascript_bundle())  # type: ignore[call-arg]


@cache
def environment() -> Environment:
    """What fills the templates of this package."""
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
        "gap_range": lambda estimate: _small(chart_data.said_between(estimate), estimate),
        "decimals": lambda number: "undefined" if number is None else f"{number:.3f}",
        "range": lambda estimate: _small(_between(estimate), estimate),
        "share": percent,
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


def _between(estimate: Estimate) -> str:
    return f"{estimate.low or 0:.3f} to {estimate.high or 0:.3f}"


def _small(text: str, estimate: Estimate) -> Any:
    """An interval in small print; nothing when there is none."""
    none = estimate.low is None
    return _markup("") if none else _markup(f' <span class="range">{text}</span>')


def _first_shown(summary: AuditSummary) -> tuple[str, int]:
    experiment = summary.spec["experiment"]
    size = min(experiment["sizes"], key=lambda size: abs(math.log(size / MIDDLE_SIZE)))
    return experiment["methods"][0], size


def look(summary: AuditSummary, method: str, size: int) -> list[str]:
    """One method at one size in sentences."""
    rows = {row.items: row for row in summary.rows if (row.method, row.size) == (method, size)}
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


def _said(row: Row) -> str:
    if row.mdad.low is None:
        return chart_data.said(row.mdad)
    return f"{chart_data.said(row.mdad)} ({chart_data.said_between(row.mdad)})"


def _charts(summary: AuditSummary, method: str, size: int) -> dict[str, alt.LayerChart]:
    theme = charts.PAGE
    return {
        **{
            f"mdad-{items}": charts.mdad_chart(summary, items, theme)
            for items in chart_data.claims_of(summary)
        },
        "agreement": charts.curve_chart(summary, "agreement", method, size, theme),
        "trust": charts.curve_chart(summary, "trust", method, size, theme),
        "gaps": charts.gaps_chart(summary, method, size, theme),
    }


def picture(name: str, chart: alt.LayerChart) -> Any:
    """The chart as SVG for inside a page, where ids must not meet those of another chart."""
    text = charts.svg(chart).replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    return _markup(text)


def _live_cells(summary: AuditSummary) -> list[list[dict[str, Any]]]:
    """What the page's script shows of each method (outer list) at each size (inner list)."""
    experiment = summary.spec["experiment"]
    return [
        [_live_cell(summary, method, size) for size in experiment["sizes"]]
        for method in experiment["methods"]
    ]


def _live_cell(summary: AuditSummary, method: str, size: int) -> dict[str, Any]:
    return {
        "text": [legible(line) for line in look(summary, method, size)],
        "agreement": _compact(chart_data.curve_data(summary, "agreement", method, size)),
        "agreementMarks": chart_data.curve_marks(summary, "agreement", method, size),
        "agreementEnd": chart_data.curve_end(summary, "agreement", method, size),
        "trust": _compact(chart_data.curve_data(summary, "trust", method, size)),
        "trustMarks": chart_data.curve_marks(summary, "trust", method, size),
        "trustEnd": chart_data.curve_end(summary, "trust", method, size),
        "gapsMarks": chart_data.gaps_marks(summary, method, size),
    }


def _compact(data: list[dict[str, Any]]) -> list[list[Any]]:
    """Bins as lists of their columns, with the digits a chart can show."""
    return [
        [round(value, 3) if isinstance(value, float) else value for value in entry.values()]
        for entry in data
    ]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _packed(value: Any) -> str:
    """JSON, compressed: the curves of many methods would fill the page otherwise."""
    return b64encode(gzip.compress(_json(value).encode(), mtime=0)).decode()


def _json_for_script(value: Any) -> Any:
    """JSON that can stand inside a script element: nothing in it can end the element."""
    text = _json(value)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return _markup(text)


def _sizes_option(experiment: dict[str, Any]) -> str:
    shares, sizes = experiment["fractions"], experiment["sizes"]
    name = "fractions" if shares else "sizes"
    return f"--{name} {','.join(str(part) for part in shares or sizes)}"


def _command(summary: AuditSummary) -> str:
    """The command that gives this report again, from the same scores."""
    experiment = summary.spec["experiment"]
    parts = [
        "mdad audit SCORES",
        f"--methods {','.join(experiment['methods'])}",
        _sizes_option(experiment),
        f"--runs {experiment['runs']}",
        f"--n-source {experiment['n_source']}",
        f"--n-target {experiment['n_target']}",
        *([f"--targets {','.join(experiment['targets'])}"] if experiment["targets"] else []),
        f"--split {experiment['split']}",
        *([f"--groups '{experiment['groups']}'"] if experiment["groups"] else []),
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
