"""The report of a plan: the answer, power curves and the MDAD of each size. Static HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdad.report.charts import size_axis
from mdad.report.drawing import DAY, PAGE, Theme, dashes, dressed, readable
from mdad.report.page import fill, picture, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import altair as alt

    from mdad.planning import Plan

__all__ = ["gap_chart", "plan_page", "power_chart", "write_plan"]

DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (1, 3), (10, 2))
"""One pattern for each gap of the power curves."""

LABEL_STEP = 0.055
"""Names of curves are at least this share of the axis apart."""


def write_plan(found: Plan, path: Path) -> Path:
    """Write the report of a plan.

    Raises
    ------
    ResultsError
        when the file cannot be written.
    """
    return write_page(plan_page(found), path)


def plan_page(found: Plan) -> str:
    """The report as text; the same plan gives the same text."""
    from mdad._version import __version__  # noqa: PLC0415

    charts = {"power": power_chart(found, PAGE), "gaps": gap_chart(found, PAGE)}
    gaps = _gaps(found)
    chance = {(point.size, point.gap): point.agreement for point in found.curve}
    return fill(
        "plan.html",
        version=__version__,
        simulated=False,
        found=found,
        asked=_asked(found),
        pictures={name: picture(name, chart) for name, chart in charts.items()},
        descriptions={name: chart.description for name, chart in charts.items()},
        gaps=[_points(gap / found.point) for gap in gaps],
        power=[(place.size, [chance[place.size, gap] for gap in gaps]) for place in found.sizes],
        sizes=[
            (place.size, None if place.mdad is None else place.mdad / found.point, place.cost)
            for place in found.sizes
        ],
    )


def _asked(found: Plan) -> list[tuple[str, str]]:
    """Settings of the plan, as far as they were given or matter."""
    goal = {
        "rank": "the items rank the pair as the full benchmark does",
        "show": "a one-sided paired test shows the better model",
    }[found.goal]
    pool = "without bound" if found.n_items is None else f"{found.n_items:,} items"
    lines = [
        ("Goal", goal),
        ("Probability asked for", f"{found.agreement:g}"),
        ("Comparisons", f"{found.comparisons:,}"),
        ("Pool", pool),
        ("Standard deviation of the differences", f"{found.sd:.3g}"),
    ]
    optional: list[tuple[str, Any]] = [
        ("Probability for each pair", found.per_pair if found.comparisons > 1 else None),
        ("Level of each test", found.level),
        ("Discordance", found.discordance),
        ("Budget", found.budget),
        ("Cost per item", found.cost_per_item),
    ]
    lines += [(name, f"{value:.4g}") for name, value in optional if value is not None]
    return lines + ([("Estimated ties", found.ties)] if found.ties else [])


def _gaps(found: Plan) -> list[float]:
    return sorted({point.gap for point in found.curve})


def power_chart(found: Plan, theme: Theme = DAY) -> alt.LayerChart:
    """Agreement (or power) against size, one line per gap."""
    import altair as alt  # noqa: PLC0415  # slow to import

    gaps, sizes = _gaps(found), [place.size for place in found.sizes]
    title = {"rank": "agreement", "show": "power"}[found.goal]
    base = alt.Chart().encode(
        size_axis(sizes, named=True),
        alt.Color("line:O", legend=None).scale(
            domain=list(range(len(gaps))), range=list(theme.lines[: len(gaps)])
        ),
    )
    y = alt.Y("value:Q", title=title).scale(domain=[0, 1], nice=False).axis(format=".1f")
    layers = [
        base.mark_line(strokeWidth=2).encode(
            y, dashes("line:O", range(len(gaps)), DASHES[: len(gaps)])
        ),
        base.mark_point(filled=True, size=40, opacity=1).encode(y),
        base.mark_text(align="left", dx=9, fontSize=11)
        .encode(alt.Y("label:Q"), text="name:N")
        .transform_filter("isValid(datum.label)"),
    ]
    level = alt.InlineData([{"level": found.per_pair}], name="level")
    asked = alt.Chart(level).encode(alt.Y("level:Q"))
    place = {"text": alt.value(f"asked for: {found.per_pair:.3g}"), "x": alt.value(0)}
    layers += [
        asked.mark_rule(strokeDash=[3, 3], color=theme.ink),
        *readable(asked, place, theme, align="left", dx=6, dy=-8, color=theme.ink),
    ]
    data = alt.InlineData(_power_data(found, gaps, max(sizes)), name="power")
    words = f"{title} against the number of items, one line per gap; the numbers are in the table."
    return dressed(alt.LayerChart(layer=layers, data=data), theme, words)


def _power_data(found: Plan, gaps: Sequence[float], last: int) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = [
        {
            "line": gaps.index(point.gap),
            "name": _points(point.gap / found.point),
            "size": point.size,
            "value": round(point.agreement, 5),
            "label": None,
        }
        for point in found.curve
    ]
    ends = sorted((e for e in data if e["size"] == last), key=lambda e: (e["value"], e["line"]))
    floor = LABEL_STEP / 2
    for entry in ends:
        entry["label"] = max(entry["value"], floor)
        floor = entry["label"] + LABEL_STEP
    over = max(0.0, ends[-1]["label"] - 1) if ends else 0.0
    for entry in ends:
        entry["label"] = round(entry["label"] - over, 4)
    return data


def _points(gap: float) -> str:
    return f"{gap:.3g} point{'' if f'{gap:.3g}' == '1' else 's'}"


def gap_chart(found: Plan, theme: Theme = DAY) -> alt.LayerChart:
    """The smallest gap each size resolves."""
    import altair as alt  # noqa: PLC0415  # slow to import

    sizes = [place.size for place in found.sizes]
    data = [
        {"size": place.size, "mdad": round(place.mdad / found.point, 4)}
        for place in found.sizes
        if place.mdad is not None
    ]
    top = max((float(entry["mdad"]) for entry in data), default=1.0)
    base = alt.Chart().encode(
        size_axis(sizes, named=False),
        alt.Y("mdad:Q", title="MDAD (points)").scale(domain=[0, top * 1.05], nice=False),
    )
    layers = [
        base.mark_line(strokeWidth=2, color=theme.claims[0]),
        base.mark_point(filled=True, size=55, opacity=1, color=theme.claims[0]),
    ]
    chart = alt.LayerChart(layer=layers, data=alt.InlineData(data, name="sizes"))
    words = "Smallest gap that is resolved against the number of items."
    return dressed(chart, theme, words)
