"""What every chart shares: colours by day, by night and on a page, size, font, readable text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdad.report.chart_data import HEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import altair as alt

__all__ = ["DAY", "NIGHT", "PAGE", "Theme", "dashes", "dressed", "readable", "specification", "svg"]


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


def specification(chart: alt.LayerChart) -> dict[str, Any]:
    """The chart as Vega-Lite. It is not checked against the schema: the tests do, it is slow."""
    made: dict[str, Any] = chart.to_dict(validate=False)
    return made


def svg(chart: alt.LayerChart | dict[str, Any], *, width: int = 460) -> str:
    """The chart, or its specification, as SVG text, drawn without a browser."""
    import vl_convert  # noqa: PLC0415  # slow to import

    made = chart if isinstance(chart, dict) else specification(chart)
    text: str = vl_convert.vegalite_to_svg({**made, "width": width})
    return text


def dashes(
    field: str, values: Iterable[Any], patterns: Sequence[tuple[int, ...]]
) -> alt.StrokeDash:
    """Patterns of dashes for the values of a field."""
    import altair as alt  # noqa: PLC0415  # slow to import

    return alt.StrokeDash(field, legend=None).scale(domain=list(values), range=list(patterns))


def readable(base: alt.Chart, place: dict[str, Any], theme: Theme, **mark: Any) -> list[alt.Chart]:
    """Text that can be read where it crosses a line: the colour of the paper lies around it."""
    halo = {**mark, "color": theme.paper, "stroke": theme.paper, "strokeWidth": 5}
    return [
        base.mark_text(**halo, strokeJoin="round").encode(**place),
        base.mark_text(**mark).encode(**place),
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
