"""Charts of an audit, from its summary. One chart gives the live page, the SVG and the PNG.

Gaps are in points. A chart reads named data ("mdad", "curve", "marks", "gaps"), so a page can put
another method or size into a chart that is already drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mdad.report.legible import legible
from mdad.report.sentences import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from mdad.report.summary import AuditSummary, Curve, Estimate, Row

__all__ = ["PAGE", "PAPER", "Theme", "curve_chart", "gaps_chart", "mdad_chart", "svg"]

CLAIMS = ("seen", "unseen")
MAX_LABELS = 8
"""Lines that are named beside their end; with more, names would cover one another."""

HEIGHT = 300
DEEPEST = 2.0
"""The MDAD axis ends at most at this many times the largest MDAD; intervals may go on above."""


@dataclass(frozen=True)
class Theme:
    """Colours and font of a chart.

    Parameters
    ----------
    ink, faint : of text and axes; of grid and helper lines
    paper : behind the chart
    lines : of the methods, told apart by colour-blind readers too (Okabe and Ito)
    claims : of the curves for seen and unseen items
    below, above : of the pairs that are closer than the MDAD, and of the others
    """

    ink: str = "#1f2328"
    faint: str = "#c9ced4"
    paper: str = "#ffffff"
    lines: tuple[str, ...] = (
        "#0072b2",
        "#d55e00",
        "#009e73",
        "#b5568f",
        "#8a6d00",
        "#3f9bd1",
        "#5b5bd6",
        "#555b61",
    )
    claims: tuple[str, str] = ("#0072b2", "#d55e00")
    below: str = "#d55e00"
    above: str = "#7aa6c2"
    font: str = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


PAPER = Theme()
"""For files that stand alone."""

PAGE = Theme(
    ink="var(--ink)",
    faint="var(--line)",
    paper="transparent",
    lines=tuple(f"var(--line-{i})" for i in range(len(Theme.lines))),
    claims=("var(--seen)", "var(--unseen)"),
    below="var(--unseen)",
    above="var(--above)",
)
"""For the page, whose style sheet knows whether it is day, night or paper."""


def svg(chart: alt.LayerChart, *, width: int = 460) -> str:
    """The chart as SVG text, drawn without a browser."""
    import vl_convert  # noqa: PLC0415  # slow to import

    drawn = chart.properties(width=width)
    text: str = vl_convert.vegalite_to_svg(drawn.to_dict())
    return text


def mdad_chart(
    summary: AuditSummary, items: Literal["seen", "unseen"], theme: Theme = PAPER
) -> alt.LayerChart:
    """MDAD against size with its intervals, one line per method.

    The parameter ``hidden`` lists the numbers of the methods that are not shown.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    sizes = summary.spec["experiment"]["sizes"]
    top = _top(summary.rows)
    base = alt.Chart().encode(
        alt.X("size:Q", title="items in the micro-benchmark (log scale)")
        .scale(type="log", domain=[min(sizes) / 1.15, max(sizes) * _room(sizes)], nice=False)
        .axis(values=sizes, format=",d", grid=False, labelOverlap="greedy"),
        alt.Color("method:O", legend=None).scale(
            domain=list(range(len(theme.lines))), range=list(theme.lines)
        ),
        alt.Detail("name:N"),
    )
    shown = base.transform_filter("indexof(hidden, datum.number) < 0")
    y = alt.Y("mdad:Q", title="MDAD (points)").scale(domain=[0, top], nice=False)
    layers = [
        _spread(shown, alone=len(sizes) == 1),
        shown.mark_line(strokeWidth=2).encode(y),
        shown.mark_point(filled=True, size=55, opacity=1)
        .encode(y, tooltip=_mdad_tooltip())
        .transform_filter("isValid(datum.mdad)"),
        shown.mark_point(shape="triangle-up", size=90, filled=False)
        .encode(alt.Y("never:Q"), tooltip=_mdad_tooltip())
        .transform_filter("isValid(datum.never)"),
    ]
    if len(_methods(summary)) <= MAX_LABELS:
        layers.append(
            shown.mark_text(align="left", dx=9, fontSize=12, limit=alt.expr("width * 0.27"))
            .encode(alt.Y("label:Q"), text="name:N")
            .transform_filter("isValid(datum.label)")
        )
    chart = alt.layer(*layers, data=alt.InlineData(_mdad_data(summary, items, top), name="mdad"))
    return _dressed(
        chart.add_params(alt.param(name="hidden", value=[])),
        theme,
        f"MDAD in points against the number of items, {items} items, one line per method; the "
        "numbers are in the table.",
    )


def _spread(shown: alt.Chart, *, alone: bool) -> alt.Chart:
    """The interval: a band, or a bar when there is only one size to stand on."""
    import altair as alt  # noqa: PLC0415  # slow to import

    low, high = alt.Y("low:Q"), alt.Y2("high:Q")
    if alone:
        return shown.mark_rule(strokeWidth=2, opacity=0.5).encode(low, high)
    return shown.mark_area(opacity=0.16).encode(low, high)


def _mdad_tooltip() -> list[alt.Tooltip]:
    import altair as alt  # noqa: PLC0415  # slow to import

    return [
        alt.Tooltip("name:N", title="method"),
        alt.Tooltip("size:Q", title="items", format=","),
        alt.Tooltip("text:N", title="MDAD"),
        alt.Tooltip("between:N", title="interval"),
        alt.Tooltip("unresolved:N", title="pairs closer than that"),
    ]


def _methods(summary: AuditSummary) -> list[str]:
    return list(summary.spec["experiment"]["methods"])


def _room(sizes: Sequence[int]) -> float:
    """Factor by which the log axis goes on past the last size, for the names of the lines."""
    return max((max(sizes) / min(sizes)) ** 0.42, 2.0)


def _top(rows: Sequence[Row]) -> float:
    """Upper end of the MDAD axis, the same for seen and unseen items."""
    values = [row.mdad.value for row in rows if row.mdad.value is not None]
    ends = [row.mdad.high for row in rows if row.mdad.high is not None]
    lows = [row.mdad.low for row in rows if row.mdad.value is None and row.mdad.low is not None]
    highest = max([*values, *lows], default=10.0)
    wanted = min(max([highest, *ends]), DEEPEST * highest)
    step = 10.0 ** math.floor(math.log10(max(wanted, 1.0)))
    step = next(s for s in (step / 5, step / 2, step) if wanted <= 10 * s)
    return math.ceil(wanted * 1.02 / step) * step


def _mdad_data(summary: AuditSummary, items: str, top: float) -> list[dict[str, Any]]:
    methods, never_at = _methods(summary), dict[int, int]()
    data = []
    for row in summary.rows:
        if row.items != items:
            continue
        number = methods.index(row.method)
        entry = {
            "number": number,
            "method": number % len(PAPER.lines),
            "name": legible(row.method),
            "size": row.size,
            "mdad": row.mdad.value,
            "low": None if row.mdad.low is None else min(row.mdad.low, top),
            "high": _upper(row.mdad, top),
            "text": said(row.mdad),
            "between": said_between(row.mdad),
            "unresolved": percent(row.unresolved),
        }
        if row.mdad.value is None:
            never_at[row.size] = never_at.get(row.size, 0) + 1
            entry["never"] = max(top * (1.01 - 0.04 * never_at[row.size]), top / 2)
        data.append(entry)
    return _labelled(data, top)


def _upper(mdad: Estimate, top: float) -> float | None:
    if mdad.low is None:
        return None
    return top if mdad.high is None else min(mdad.high, top)


def _labelled(data: list[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """Place the names beside the ends of the lines, far enough from one another to be read."""
    last = max(entry["size"] for entry in data)
    ends = [entry for entry in data if entry["size"] == last]
    ends.sort(key=lambda entry: (entry["mdad"] or entry["never"], entry["number"]))
    apart = top * 17 / HEIGHT
    floor = apart / 2
    for entry in ends:
        entry["label"] = max(entry["mdad"] or entry["never"], floor)
        floor = entry["label"] + apart
    over = max(0.0, ends[-1]["label"] - top)
    for entry in ends:
        entry["label"] = round(entry["label"] - over, 4)
    return data


def said(estimate: Estimate) -> str:
    """A gap in words."""
    return "not reached" if estimate.value is None else f"{estimate.value:.1f} points"


def said_between(estimate: Estimate) -> str:
    """An interval in words."""
    if estimate.low is None:
        return "not reached" if estimate.value is None else "none"
    upper = "not reached" if estimate.high is None else f"{estimate.high:.1f}"
    return f"{estimate.low:.1f} to {upper}"


def curve_chart(
    summary: AuditSummary,
    kind: Literal["agreement", "trust"],
    method: str,
    size: int,
    theme: Theme = PAPER,
) -> alt.LayerChart:
    """Agreement against the gap, or trust against the observed gap, seen and unseen items."""
    import altair as alt  # noqa: PLC0415  # slow to import

    x_title = {
        "agreement": "gap between two full scores (points)",
        "trust": "gap observed on the micro-benchmark (points)",
    }[kind]
    y_title = {"agreement": "agreement", "trust": "probability that the order is right"}[kind]
    x = alt.X("gap:Q", title=x_title).scale(domain=[0, widest(summary, kind)], nice=False)
    color = _claim_color(theme)
    base = alt.Chart().encode(x, color)
    y = alt.Y("mean:Q", title=y_title).scale(domain=[0, 1], nice=False).axis(format=".1f")
    layers = [
        base.mark_rule(opacity=0.3).encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_point(filled=True, opacity=0.55).encode(
            y,
            alt.Size("pairs:Q", legend=None).scale(type="sqrt", range=[8, 70]),
            tooltip=_curve_tooltip(),
        ),
        base.mark_line(strokeWidth=2).encode(
            alt.Y("fit:Q"),
            alt.StrokeDash("items:N", legend=None).scale(
                domain=list(CLAIMS), range=[[1, 0], [6, 4]]
            ),
        ),
    ]
    threshold = summary.threshold if kind == "agreement" else TRUSTED
    marks = alt.InlineData(curve_marks(summary, kind, method, size), name="marks")
    chart = alt.layer(
        *layers,
        _level(threshold, theme),
        _marks(marks, x, color),
        data=alt.InlineData(curve_data(summary, kind, method, size), name="curve"),
    )
    return _dressed(chart, theme, f"{y_title} against the {x_title}, seen and unseen items.")


TRUSTED = 0.95
"""Probability from which an observed gap is called trustworthy."""


def widest(summary: AuditSummary, kind: str) -> float:
    """Upper end of the gap axis: the widest gap any method or size met, in whole fives."""
    gaps = [point.mean_gap for curve in _curves(summary, kind) for point in curve.points]
    return max(5.0, math.ceil(max(gaps, default=0.0) / 5) * 5)


def _curves(summary: AuditSummary, kind: str) -> tuple[Curve, ...]:
    return summary.agreement_curves if kind == "agreement" else summary.trust_curves


def curve_data(summary: AuditSummary, kind: str, method: str, size: int) -> list[dict[str, Any]]:
    """The bins of one method and size, seen and unseen items."""
    return [
        {
            "items": curve.items,
            "gap": point.mean_gap,
            "mean": point.agreement,
            "low": point.low,
            "high": point.high,
            "fit": point.fit,
            "pairs": point.n_pairs,
        }
        for curve in _curves(summary, kind)
        if (curve.method, curve.size) == (method, size)
        for point in curve.points
    ]


def curve_marks(summary: AuditSummary, kind: str, method: str, size: int) -> list[dict[str, Any]]:
    """Where the curves of one method and size reach the threshold."""
    marks = []
    for row in summary.rows:
        if (row.method, row.size) != (method, size):
            continue
        found = row.mdad if kind == "agreement" else row.observed_gap_95
        if found.value is not None:
            marks.append({"items": row.items, "gap": found.value, "text": f"{found.value:.1f}"})
    return marks


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


def _level(threshold: float, theme: Theme) -> alt.LayerChart:
    """A horizontal line at the threshold, with its name."""
    import altair as alt  # noqa: PLC0415  # slow to import

    values = [{"level": threshold, "text": f"threshold {threshold:g}"}]
    base = alt.Chart(alt.InlineData(values, name="level")).encode(alt.Y("level:Q"))
    return alt.layer(
        base.mark_rule(strokeDash=[3, 3], color=theme.ink),
        base.mark_text(align="right", dy=-7, color=theme.ink).encode(
            text="text:N", x=alt.value(alt.expr("width"))
        ),
    )


def _marks(data: alt.InlineData, x: alt.X, color: alt.Color) -> alt.LayerChart:
    """Vertical lines at the gaps that are large enough, with their values at the foot."""
    import altair as alt  # noqa: PLC0415  # slow to import

    base = alt.Chart(data).encode(x, color)
    return alt.layer(
        base.mark_rule(strokeWidth=1.5),
        base.mark_text(align="left", dx=4, dy=-8, fontWeight="bold").encode(
            text="text:N", y=alt.value(alt.expr("height"))
        ),
    )


def gaps_chart(
    summary: AuditSummary, method: str, size: int, theme: Theme = PAPER
) -> alt.LayerChart:
    """Histogram of the gaps of the compared pairs, with the MDAD on seen items marked.

    The parameter ``limit`` is that MDAD; pairs below it have the other colour.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    marks = gaps_marks(summary, method, size)
    x = alt.X("gap:Q", title="gap between two full scores on seen items (points)").scale(
        domain=[0, max(5.0, math.ceil(len(summary.pair_gaps) / 10) * 5)], nice=False
    )
    bars = (
        alt.Chart(alt.InlineData(gaps_data(summary), name="gaps"))
        .mark_bar(binSpacing=0)
        .encode(
            x,
            alt.X2("end:Q"),
            alt.Y("pairs:Q", title="pairs").axis(format="~s").scale(domainMin=0),
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
    chart = alt.layer(bars, _mark_at_top(alt.InlineData(marks, name="marks"), x, theme)).add_params(
        alt.param(name="limit", value=marks[0]["limit"])
    )
    return _dressed(chart, theme, "Histogram of the gaps of the compared pairs of models.")


def _mark_at_top(data: alt.InlineData, x: alt.X, theme: Theme) -> alt.LayerChart:
    import altair as alt  # noqa: PLC0415  # slow to import

    base = alt.Chart(data).encode(x).transform_filter("isValid(datum.gap)")
    return alt.layer(
        base.mark_rule(strokeWidth=2, color=theme.ink),
        base.mark_text(align="left", dx=6, dy=8, color=theme.ink, fontWeight="bold").encode(
            text="text:N", y=alt.value(0)
        ),
    )


def gaps_marks(summary: AuditSummary, method: str, size: int) -> list[dict[str, Any]]:
    """The MDAD on seen items of one method and size; every gap is below one not reached."""
    found = next(
        row.mdad
        for row in summary.rows
        if (row.method, row.size, row.items) == (method, size, "seen")
    )
    if found.value is None:
        return [{"gap": None, "text": "", "limit": 1e9}]
    return [{"gap": found.value, "text": f"MDAD {found.value:.1f}", "limit": found.value}]


def gaps_data(summary: AuditSummary) -> list[dict[str, Any]]:
    """The histogram: number of compared pairs in each half point of the gap."""
    total = sum(summary.pair_gaps) or 1
    return [
        {
            "gap": i / 2,
            "end": (i + 1) / 2,
            "bin": f"{i / 2:g} to {(i + 1) / 2:g}",
            "pairs": pairs,
            "share": percent(pairs / total),
        }
        for i, pairs in enumerate(summary.pair_gaps)
    ]


def _dressed(chart: alt.LayerChart, theme: Theme, description: str) -> alt.LayerChart:
    """Give a chart its size, colours and font, and the words a screen reader says."""
    return (
        chart.properties(width="container", height=HEIGHT, description=description)
        .configure(background=theme.paper, font=theme.font)
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
