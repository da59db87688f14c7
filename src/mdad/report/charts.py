"""Charts of an audit, from its summary. One chart gives the live page, the SVG and the PNG.

Gaps are in points. A chart reads named data ("mdad", "curve", "marks", "lines"), so a page can put
another method, size or split into a chart that is already drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from mdad.report.chart_data import (
    CLAIMS,
    DASHES,
    axis_top,
    curve_data,
    curve_end,
    curve_marks,
    hidden_at_first,
    mdad_data,
    method_names,
    splits_data,
    trend_data,
    trend_ends,
)
from mdad.report.drawing import DAY, NIGHT, PAGE, Theme, dashes, dressed, readable, svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from mdad.report.summary import AuditSummary

__all__ = [
    "DAY",
    "NIGHT",
    "PAGE",
    "Theme",
    "curve_chart",
    "dressed",
    "mdad_chart",
    "size_axis",
    "splits_chart",
    "svg",
    "trend_chart",
]

FEW = 3
"""Bands that can lie on one another and still be told apart; those of more methods are paler."""

MAX_LABELS = 8
"""Lines that are named beside their end; with more, names would cover one another."""


def mdad_chart(summary: AuditSummary, items: str, theme: Theme = DAY) -> alt.LayerChart:
    """MDAD against size with its intervals, one line per method.

    The parameter ``hidden`` lists the numbers of the methods that are not shown, ``top`` is the
    end of the axis. The data "wanted" hold the gap a reader wants to resolve, if any.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    sizes = summary.spec["experiment"]["sizes"]
    named = len(method_names(summary)) <= MAX_LABELS
    shown = _lines_base(sizes, theme, named=named)
    y = alt.Y("mdad:Q", title="MDAD (points)").scale(domain=[0, alt.expr("top")], nice=False)
    wanted = alt.InlineData([{"wanted": None}], name="wanted")
    layers = [
        _spread(shown, len(method_names(summary)), alone=len(sizes) == 1),
        *_wanted(wanted, theme),
        shown.mark_line(strokeWidth=2).encode(y, dashes("dash:O", range(len(DASHES)), DASHES)),
        shown.mark_point(filled=True, size=55, opacity=1)
        .encode(y, tooltip=_mdad_tooltip())
        .transform_filter("isValid(datum.mdad)"),
        shown.mark_point(shape="triangle-up", size=90, filled=False)
        .encode(alt.Y("never:Q"), tooltip=_mdad_tooltip())
        .transform_filter("isValid(datum.never)"),
        *(_names(shown, "short:N", theme) if named else []),
    ]
    data = alt.InlineData(mdad_data(summary, items), name="mdad")
    chart = alt.LayerChart(layer=layers, data=data)
    return dressed(
        chart.add_params(
            alt.param(name="hidden", value=hidden_at_first(summary)),
            alt.param(name="top", value=axis_top(summary.rows)),
        ),
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


def _lines_base(sizes: Sequence[int], theme: Theme, *, named: bool) -> alt.Chart:
    """One line per method over the sizes, without the methods that are hidden."""
    import altair as alt  # noqa: PLC0415  # slow to import

    base = alt.Chart().encode(
        size_axis(sizes, named=named),
        alt.Color("color:O", legend=None).scale(
            domain=list(range(len(theme.lines))), range=list(theme.lines)
        ),
        alt.Detail("number:N"),
    )
    return base.transform_filter("indexof(hidden, datum.number) < 0")


def size_axis(sizes: Sequence[int], *, named: bool) -> alt.X:
    """The axis of the sizes; it goes on where lines are named beside their end."""
    import altair as alt  # noqa: PLC0415  # slow to import

    room = _room(sizes) if named else 1.15

    return (
        alt.X("size:Q", title="items in the micro-benchmark (log scale)")
        .scale(type="log", domain=[min(sizes) / 1.15, max(sizes) * room], nice=False)
        .axis(values=list(sizes), format=",d", grid=False, labelOverlap="greedy")
    )


def _names(shown: alt.Chart, field: str, theme: Theme) -> list[alt.Chart]:
    """Names beside the ends of the lines, readable where another line crosses them."""
    import altair as alt  # noqa: PLC0415  # slow to import

    text: dict[str, Any] = {
        "align": "left",
        "dx": 9,
        "fontSize": 11,
        "limit": alt.expr("width * 0.34"),
    }
    base = shown.transform_filter("isValid(datum.label)")
    place = {"y": alt.Y("label:Q"), "text": field}
    paper = alt.value(theme.paper)
    return [
        base.mark_text(**text, strokeWidth=4, strokeJoin="round").encode(
            **place, color=paper, stroke=paper
        ),
        base.mark_text(**text).encode(**place),
    ]


def _wanted(data: alt.InlineData, theme: Theme) -> list[alt.Chart]:
    """A line at the gap the reader wants to resolve, named where lines of methods are not."""
    import altair as alt  # noqa: PLC0415  # slow to import

    base = alt.Chart(data).encode(alt.Y("wanted:Q"))
    inside = "isValid(datum.wanted) && datum.wanted <= top"
    layers = [base.transform_filter(inside).mark_rule(strokeDash=[3, 3], color=theme.ink)]
    # MDADs fall: below the middle the left is free, above it the right.
    for side, align, dx in (("<", "left", 6), (">=", "right", -4)):
        one = base.transform_filter(f"{inside} && datum.wanted {side} top / 2")
        x = alt.value(0) if align == "left" else alt.value(alt.expr("width"))
        place = {"text": alt.value("wanted"), "x": x}
        layers += readable(one, place, theme, align=align, dx=dx, dy=-8, color=theme.ink)
    return layers


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


def trend_chart(
    summary: AuditSummary, what: Literal["error", "kendall_tau"], theme: Theme = DAY
) -> alt.LayerChart:
    """Estimation error or tau-b against size on seen items, one line per method.

    The parameter ``hidden`` lists the numbers of the methods that are not shown.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    title = {"error": "estimation error (points)", "kendall_tau": "Kendall's tau-b"}[what]
    shown = _lines_base(summary.spec["experiment"]["sizes"], theme, named=False)
    y = alt.Y("value:Q", title=title).scale(domain=list(trend_ends(summary, what)), nice=False)
    tooltip = [
        alt.Tooltip("name:N", title="method"),
        alt.Tooltip("size:Q", title="items", format=","),
        alt.Tooltip("text:N", title=title),
        alt.Tooltip("between:N", title="interval"),
        alt.Tooltip("unresolved:N", title="pairs closer than the MDAD"),
    ]
    chart = alt.LayerChart(
        layer=[
            shown.mark_line(strokeWidth=2).encode(y, dashes("dash:O", range(len(DASHES)), DASHES)),
            shown.mark_point(filled=True, size=45, opacity=1).encode(y, tooltip=tooltip),
        ],
        data=alt.InlineData(trend_data(summary, what), name="lines"),
    ).add_params(alt.param(name="hidden", value=hidden_at_first(summary)))
    words = f"{title} against the number of items, seen items, one line per method."
    return dressed(chart, theme, words)


def splits_chart(
    summary: AuditSummary, method: str, items: str, theme: Theme = DAY
) -> alt.LayerChart:
    """MDAD against size of one method, one line per split. The parameter ``top`` ends the axis."""
    import altair as alt  # noqa: PLC0415  # slow to import

    kinds = [part.split for part in summary.splits]
    sizes = summary.spec["experiment"]["sizes"]
    tops = [axis_top(part.rows) for part in summary.splits]
    base = alt.Chart().encode(
        size_axis(sizes, named=True),
        alt.Color("split:N", legend=None).scale(
            domain=kinds, range=list(theme.lines[: len(kinds)])
        ),
    )
    y = alt.Y("mdad:Q", title="MDAD (points)").scale(domain=[0, max(tops)], nice=False)
    layers = [
        _spread(base, len(kinds), alone=len(sizes) == 1),
        base.mark_line(strokeWidth=2).encode(y, dashes("split:N", kinds, DASHES[: len(kinds)])),
        base.mark_point(filled=True, size=55, opacity=1)
        .encode(y, tooltip=[alt.Tooltip("split:N"), *_mdad_tooltip()])
        .transform_filter("isValid(datum.mdad)"),
        base.mark_point(shape="triangle-up", size=90, filled=False)
        .encode(alt.Y("never:Q"), tooltip=[alt.Tooltip("split:N"), *_mdad_tooltip()])
        .transform_filter("isValid(datum.never)"),
        *_names(base, "split:N", theme),
    ]
    chart = alt.LayerChart(
        layer=layers,
        data=alt.InlineData(splits_data(summary, method, items), name="splits"),
    )
    words = f"MDAD in points against the number of items, {items} items, one line per split."
    return dressed(chart, theme, words)


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
            dashes("items:N", CLAIMS, DASHES[:2]),
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
        *readable(base, place, theme, align="right", dy=10, color=theme.ink),
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
        layers += readable(one, place, theme, align="left", dx=5, dy=dy, color=shade)
    return layers
