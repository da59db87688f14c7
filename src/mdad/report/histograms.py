"""Histograms of an audit: how the compared models and their gaps are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdad.report.chart_data import gaps_data, gaps_end, gaps_marks, scores_data
from mdad.report.drawing import DAY, Theme, dressed, readable

if TYPE_CHECKING:
    import altair as alt

    from mdad.report.summary import AuditSummary

__all__ = ["gaps_chart", "scores_chart"]


def gaps_chart(summary: AuditSummary, method: str, size: int, theme: Theme = DAY) -> alt.LayerChart:
    """Histogram of the gaps of the compared pairs, with the MDAD on seen items marked.

    The parameter ``limit`` is that MDAD; pairs below it have the other colour. ``widest`` is the
    end of the axis.
    """
    import altair as alt  # noqa: PLC0415  # slow to import

    marks = gaps_marks(summary, method, size)
    x = (
        alt.X("gap:Q", title="gap between two full scores on seen items (points)")
        .scale(domain=[0, alt.expr("widest")], nice=False, padding=0)
        .axis(labelOverlap="greedy", labelSeparation=6)
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
    ).add_params(
        alt.param(name="limit", value=marks[0]["limit"]),
        alt.param(name="widest", value=gaps_end(summary)),
    )
    return dressed(chart, theme, "Histogram of the gaps of the compared pairs of models.")


def _mark_at_top(data: alt.InlineData, x: alt.X, theme: Theme) -> list[alt.Chart]:
    import altair as alt  # noqa: PLC0415  # slow to import

    base = alt.Chart(data).encode(x).transform_filter("isValid(datum.gap)")
    place = {"text": "text:N", "y": alt.value(8)}
    return [
        base.mark_rule(strokeWidth=2, color=theme.ink),
        *readable(base, place, theme, align="left", dx=6, color=theme.ink),
    ]


def scores_chart(summary: AuditSummary, theme: Theme = DAY) -> alt.LayerChart:
    """Histogram of the full scores of the models that were a target in some run, on all items."""
    import altair as alt  # noqa: PLC0415  # slow to import

    bars = (
        alt.Chart()
        .mark_bar(orient="vertical", binSpacing=1, color=theme.below)
        .encode(
            alt.X("start:Q", title="full score on all items (points of the range)").scale(
                zero=False, nice=False, padding=4
            ),
            alt.X2("end:Q"),
            alt.Y("models:Q", title="target models").axis(format=",d", tickMinStep=1),
            tooltip=[
                alt.Tooltip("bin:N", title="full score (points)"),
                alt.Tooltip("models:Q", title="models", format=","),
            ],
        )
    )
    chart = alt.LayerChart(layer=[bars], data=alt.InlineData(scores_data(summary), name="scores"))
    return dressed(chart, theme, "Histogram of the full scores of the target models.")
