"""Charts of an audit, from its summary. One chart gives the live page, the SVG and the PNG.

Gaps are in points. A chart reads named data ("mdad", "curve", "marks", "gaps"), so a page can put
another method or size into a chart that is already drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mdad.report.chart_data import (
    CLAIMS,
    DASHES,
    HEIGHT,
    axis_top,
    curve_data,
    curve_end,
    curve_marks,
    gaps_data,
    gaps_marks,
    mdad_data,
    method_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import altair as alt

    from mdad.report.summary import AuditSummary

__all__ = [
    "DAY",
    "NIGHT",
    "PAGE",
    "Theme",
    "curve_chart",
    "dressed",
    "gaps_chart",
    "mdad_chart",
    "svg",
]

FEW = 3
"""Bands that can lie on one another and still be told apart; those of more methods are paler."""

MAX_LABELS = 8
"""Lines that are named beside their end; with more, names would cover one another."""


@dataclass(frozen=True)
class Theme:
    """Colours and font of a chart.

    Parameters
    ----------
    ink, faint, paper : of text and axes; of grid lines; behind the chart
    lines : of the methods; readers who confuse colours can tell neighbours apart
    claims : of the curves for seen and unseen items
    below, above : of pairs closer than the MDAD, and of the others
    """

    ink: str
    faint: str
    paper: str
    lines: tuple[str, ...]
    claims: tuple[str, str]
    below: str
    above: str
    font: str = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


DAY = Theme(
    ink="#1f2328",
    faint="#d0d7de",
    paper="#ffffff",
    lines=(
        *("#0072b2", "#c24e00", "#00845e", "#b04a8a"),
        *("#8a6d00", "#2f8fc7", "#5b5bd6", "#555b61"),
    ),
    claims=("#0072b2", "#c24e00"),
    below="#0072b2",
    above="#c3cbd4",
)
"""Dark on white; also for files that stand alone. Hues after Okabe and Ito, dark enough to read."""

NIGHT = Theme(
    ink="#e6eaef",
    faint="#3a434d",
    paper="#14181d",
    lines=(
        *("#56b4e9", "#f0a04b", "#2fc49a", "#e08fc0"),
        *("#e0cb4a", "#8fb4ff", "#b7a3f5", "#b3bac2"),
    ),
    claims=("#56b4e9", "#f0a04b"),
    below="#56b4e9",
    above="#4d5864",
)

PAGE = Theme(
    ink="var(--ink)",
    faint="var(--faint)",
    paper="var(--paper)",
    lines=tuple(f"var(--line-{i})" for i in range(len(DAY.lines))),
    claims=("var(--seen)", "var(--unseen)"),
    below="var(--below)",
    above="var(--above)",
)
"""For the page, whose style sheet knows whether it is day, night or paper."""


def svg(chart: alt.LayerChart, *, width: int = 460) -> str:
    """The chart as SVG text, drawn without a browser."""
    import vl_convert  # noqa: PLC0415  # slow to import

    drawn = chart.properties(width=width)
    text: str = vl_convert.vegalite_to_svg(drawn.to_dict())
    return text


def mdad_chart(summary: AuditSummary, items: str, theme: Theme = DAY) -> alt.LayerChart:
    """MDAD against size with its intervals, one line per method.

    The parameter ``hidden`` lists the numbers of the methods that are not shown.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    sizes = summary.spec["experiment"]["sizes"]
    base = alt.Chart().encode(
        alt.X("size:Q", title="items in the micro-benchmark (log scale)")
        .scale(type="log", domain=[min(sizes) / 1.15, max(sizes) * _room(sizes)], nice=False)
        .axis(values=sizes, format=",d", grid=False, labelOverlap="greedy"),
        alt.Color("color:O", legend=None).scale(
            domain=list(range(len(theme.lines))), range=list(theme.lines)
        ),
        alt.Detail("number:N"),
    )
    shown = base.transform_filter("indexof(hidden, datum.number) < 0")
    y = alt.Y("mdad:Q", title="MDAD (points)").scale(domain=[0, axis_top(summary.rows)], nice=False)
    layers = [
        _spread(shown, len(method_names(summary)), alone=len(sizes) == 1),
        shown.mark_line(strokeWidth=2).encode(y, _dashes("dash:O", range(len(DASHES)), DASHES)),
        shown.mark_point(filled=True, size=55, opacity=1)
        .encode(y, tooltip=_mdad_tooltip())
        .transform_filter("isValid(datum.mdad)"),
        shown.mark_point(shape="triangle-up", size=90, filled=False)
        .encode(alt.Y("never:Q"), tooltip=_mdad_tooltip())
        .transform_filter("isValid(datum.never)"),
    ]
    if len(method_names(summary)) <= MAX_LABELS:
        layers.append(
            shown.mark_text(align="left", dx=9, fontSize=11, limit=alt.expr("width * 0.34"))
            .encode(alt.Y("label:Q"), text="short:N")
            .transform_filter("isValid(datum.label)")
        )
    data = alt.InlineData(mdad_data(summary, items), name="mdad")
    chart = alt.LayerChart(layer=layers, data=data)
    return dressed(
        chart.add_params(alt.param(name="hidden", value=[])),
        theme,
        f"MDAD in points against the number of items, {items} items, one line per method; the "
        "numbers are in the table.",
    )


def _spread(shown: alt.Chart, n_methods: int, *, alone: bool) -> alt.Chart:
    """The interval: a band, or a bar when there is only one size to stand on."""
    import altair as alt  # noqa: PLC0415  # slow to import

    if alone:
        mark = shown.mark_rule(strokeWidth=2, opacity=0.5)
    else:
        mark = shown.mark_area(opacity=0.16 if n_methods <= FEW else 0.07)
    drawn: alt.Chart = mark.encode(alt.Y("low:Q"), alt.Y2("high:Q"))
    return drawn


def _dashes(
    field: str, values: Iterable[Any], patterns: Sequence[tuple[int, int]]
) -> alt.StrokeDash:
    import altair as alt  # noqa: PLC0415  # slow to import

    return alt.StrokeDash(field, legend=None).scale(domain=list(values), range=list(patterns))


def _mdad_tooltip() -> list[alt.Tooltip]:
    import altair as alt  # noqa: PLC0415  # slow to import

    return [
        alt.Tooltip("name:N", title="method"),
        alt.Tooltip("size:Q", title="items", format=","),
        alt.Tooltip("text:N", title="MDAD"),
        alt.Tooltip("between:N", title="interval"),
        alt.Tooltip("unresolved:N", title="pairs closer than that"),
    ]


def _room(sizes: Sequence[int]) -> float:
    """Factor by which the log axis goes on past the last size, for the names of the lines."""
    ratio = max(sizes) / min(sizes)
    return max(math.pow(ratio, 0.5), 2.0)


def curve_chart(
    summary: AuditSummary,
    kind: Literal["agreement", "trust"],
    method: str,
    size: int,
    theme: Theme = DAY,
) -> alt.LayerChart:
    """Agreement against the gap, or trust against the observed gap, seen and unseen items.

    The parameter ``end`` is the widest gap that is drawn.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    x_title = {
        "agreement": "gap between two full scores (points)",
        "trust": "gap observed on the micro-benchmark (points)",
    }[kind]
    y_title = {"agreement": "agreement", "trust": "probability that the order is right"}[kind]
    x = alt.X("gap:Q", title=x_title).scale(domain=[0, alt.expr("end")], nice=False, padding=0)
    color = _claim_color(theme)
    base = alt.Chart().encode(x, color).transform_filter("datum.gap <= end")
    y = alt.Y("mean:Q", title=y_title).scale(domain=[0, 1], nice=False).axis(format=".1f")
    layers = [
        base.mark_rule(opacity=0.3).encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_point(filled=True, opacity=0.55).encode(
            y,
            alt.Size("dot:Q", legend=None).scale(domain=[0, 1], range=[6, 70]),
            tooltip=_curve_tooltip(),
        ),
        base.mark_line(strokeWidth=2).encode(
            alt.Y("fit:Q"),
            _dashes("items:N", CLAIMS, DASHES[:2]),
        ),
    ]
    threshold = summary.threshold if kind == "agreement" else TRUSTED
    marks = alt.InlineData(curve_marks(summary, kind, method, size), name="marks")
    chart = alt.LayerChart(
        layer=[*layers, *_level(threshold, theme), *_marks(marks, x, color, theme)],
        data=alt.InlineData(curve_data(summary, kind, method, size), name="curve"),
    ).add_params(alt.param(name="end", value=curve_end(summary, kind, method, size)))
    return dressed(chart, theme, f"{y_title} against the {x_title}, seen and unseen items.")


TRUSTED = 0.95
"""Probability from which an observed gap is called trustworthy."""


def _claim_color(theme: Theme) -> alt.Color:
    import altair as alt  # noqa: PLC0415  # slow to import

    return alt.Color("items:N", legend=None).scale(domain=list(CLAIMS), range=list(theme.claims))


def _curve_tooltip() -> list[alt.Tooltip]:
    import altair as alt  # noqa: PLC0415  # slow to import

    return [
        alt.Tooltip("items:N", title="items"),
        alt.Tooltip("gap:Q", title="gap (points)", format=".1f"),
        alt.Tooltip("mean:Q", title="ranked correctly", format=".2f"),
        alt.Tooltip("low:Q", title="interval from", format=".2f"),
        alt.Tooltip("high:Q", title="to", format=".2f"),
        alt.Tooltip("pairs:Q", title="pairs", format=","),
    ]


def _level(threshold: float, theme: Theme) -> list[alt.Chart]:
    """A horizontal line at the threshold, with its name below: the curve ends above it."""
    import altair as alt  # noqa: PLC0415  # slow to import

    values = [{"level": threshold, "text": f"threshold {threshold:g}"}]
    base = alt.Chart(alt.InlineData(values, name="level")).encode(alt.Y("level:Q"))
    place = {"text": "text:N", "x": alt.value(alt.expr("width"))}
    return [
        base.mark_rule(strokeDash=[3, 3], color=theme.ink),
        *_readable(base, place, theme, align="right", dy=10, color=theme.ink),
    ]


def _marks(data: alt.InlineData, x: alt.X, color: alt.Color, theme: Theme) -> list[alt.Chart]:
    """Vertical lines at the gaps that are large enough, named at the foot, one above the other."""
    import altair as alt  # noqa: PLC0415  # slow to import

    base = alt.Chart(data).encode(x)
    layers = [base.mark_rule(strokeWidth=1.5).encode(color)]
    for items, dy in zip(CLAIMS, (-9, -27), strict=True):
        one = base.transform_filter(f"datum.items === '{items}'")
        place = {"text": "text:N", "y": alt.value(alt.expr("height"))}
        shade = theme.claims[CLAIMS.index(items)]
        layers += _readable(one, place, theme, align="left", dx=5, dy=dy, color=shade)
    return layers


def _readable(base: alt.Chart, place: dict[str, Any], theme: Theme, **mark: Any) -> list[alt.Chart]:
    """Text that can be read where it crosses a line: the colour of the paper lies around it."""
    halo = {**mark, "color": theme.paper, "stroke": theme.paper, "strokeWidth": 5}
    return [
        base.mark_text(**halo, strokeJoin="round").encode(**place),
        base.mark_text(**mark).encode(**place),
    ]


def gaps_chart(summary: AuditSummary, method: str, size: int, theme: Theme = DAY) -> alt.LayerChart:
    """Histogram of the gaps of the compared pairs, with the MDAD on seen items marked.

    The parameter ``limit`` is that MDAD; pairs below it have the other colour.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    marks = gaps_marks(summary, method, size)
    x = alt.X("gap:Q", title="gap between two full scores on seen items (points)").scale(
        domain=[0, max(5.0, math.ceil(len(summary.pair_gaps) / 10) * 5)], nice=False, padding=0
    )
    bars = (
        alt.Chart(alt.InlineData(gaps_data(summary), name="gaps"))
        .mark_bar(orient="vertical", binSpacing=0)
        .encode(
            x,
            alt.X2("end:Q"),
            alt.Y("pairs:Q", title="pairs").axis(format=",d", tickMinStep=1),
            color=alt.condition(
                "datum.gap + 0.25 < limit", alt.value(theme.below), alt.value(theme.above)
            ),
            tooltip=[
                alt.Tooltip("bin:N", title="gap (points)"),
                alt.Tooltip("pairs:Q", title="pairs", format=","),
                alt.Tooltip("share:N", title="of all"),
            ],
        )
    )
    chart = alt.LayerChart(
        layer=[bars, *_mark_at_top(alt.InlineData(marks, name="marks"), x, theme)]
    ).add_params(alt.param(name="limit", value=marks[0]["limit"]))
    return dressed(chart, theme, "Histogram of the gaps of the compared pairs of models.")


def _mark_at_top(data: alt.InlineData, x: alt.X, theme: Theme) -> list[alt.Chart]:
    import altair as alt  # noqa: PLC0415  # slow to import

    base = alt.Chart(data).encode(x).transform_filter("isValid(datum.gap)")
    place = {"text": "text:N", "y": alt.value(8)}
    return [
        base.mark_rule(strokeWidth=2, color=theme.ink),
        *_readable(base, place, theme, align="left", dx=6, color=theme.ink),
    ]


def dressed(chart: alt.LayerChart, theme: Theme, description: str) -> alt.LayerChart:
    """Give a chart its size, colours and font, and the words a screen reader says."""
    dressed: alt.LayerChart = (
        chart.properties(width="container", height=HEIGHT, description=description)
        .configure(background=theme.paper, font=theme.font, aria=False)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=theme.ink,
            titleColor=theme.ink,
            domainColor=theme.ink,
            tickColor=theme.ink,
            gridColor=theme.faint,
            gridOpacity=0.6,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_text(fontSize=12)
    )
    return dressed
