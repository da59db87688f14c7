"""Item diagnostics in words, as a table, a chart and a page. Scores are in points here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import counted
from mdad._files import write_atomically
from mdad.errors import ResultsError, SettingError
from mdad.report import drawing
from mdad.report.legible import legible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import altair as alt
    from rich.console import Console

    from mdad.diagnostics import ItemDiagnostics

__all__ = ["items_chart", "render_items", "to_document", "write_items_chart", "write_items_page"]

SOUND = "no fault"
KINDS = ("suspicious key", "negative", "duplicate", SOUND)
"""What a point of the chart can be; constant items have no correlation, so no place in it."""
SHAPES = ("diamond", "triangle-down", "square", "circle")
MEANINGS = {
    "suspicious key": "strong models fail them, weak ones do not: look at the answer key",
    "negative": "models that fail them are better on all others",
    "constant": "all models score the same",
    "duplicate": "every model scores as on an earlier item",
}
CHART_TYPES = ("svg", "png")


def sentences(found: ItemDiagnostics) -> list[str]:
    """The findings, one sentence each, the answer first."""
    total = len(found.items)
    models = counted(found.n_distinct, "distinct model")
    lines = [f"{len(found.flagged):,} of {counted(total, 'item')} have a fault, as {models} show."]
    for fault, items in found.faults.items():
        shown = ", ".join(legible(item) for item in items[:5])
        more = ", ..." if len(items) > 5 else ""  # noqa: PLR2004
        named = f" {shown}{more}" if items else ""
        lines.append(f"{fault}: {len(items):,} ({MEANINGS[fault]}).{named}")
    if found.n_chance_equal:
        lines.append(
            f"{counted(found.n_chance_equal, 'item')} more equal another one as chance explains it "
            "(few models fail them, or few do not)."
        )
    return [*lines, *found.notes]


def rows(found: ItemDiagnostics, chosen: Sequence[str]) -> list[tuple[str, ...]]:
    """Item, mean in points, item-rest correlation, slope, share of the full score, faults."""
    place = {item: i for i, item in enumerate(found.items)}
    faults: dict[str, list[str]] = {item: [] for item in chosen}
    for fault, items in found.faults.items():
        for item in items:
            faults.get(item, []).append(fault)
    return [_row(found, place[item], ", ".join(faults[item])) for item in chosen]


COLUMNS = ("item", "mean", "item-rest", "slope", "explains", "strong", "fault")
LEGEND = (
    "mean: score of all models, strong: of the best quarter, in points. item-rest: correlation "
    "with the mean of all other items. slope: discrimination of the two-parameter logistic model. "
    "explains: share of the full scores' variance that the item alone explains."
)


def _row(found: ItemDiagnostics, i: int, faults: str) -> tuple[str, ...]:
    option = int(found.keys.option[i])
    if found.keys.suspicious[i] and option >= 0:
        faults += f" (option {option}: {100 * found.keys.option_share[i]:.0f} % of the strong)"
    return (
        legible(found.items[i]),
        f"{_points(found, found.mean[i]):.1f}",
        _number(found.discrimination.item_rest[i]),
        _number(found.slope[i]),
        f"{100 * found.information[i]:.1f} %",
        f"{_points(found, found.discrimination.strong_score[i]):.1f}",
        faults,
    )


def _points(found: ItemDiagnostics, score: float) -> float:
    low, high = found.score_range
    return 100 * (score - low) / (high - low)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def grave(found: ItemDiagnostics, count: int) -> tuple[str, ...]:
    """Faulty items to look at first: by fault, then by how far they go against the rest."""
    rest = dict(zip(found.items, np.nan_to_num(found.discrimination.item_rest), strict=True))
    seen: dict[str, None] = {}
    for fault, items in found.faults.items():
        if fault != "constant":
            seen |= dict.fromkeys(sorted(items, key=lambda item: rest[item]))
    return tuple(seen)[:count]


def render_items(found: ItemDiagnostics, console: Console, count: int) -> None:
    """Print the tables; the sentences come last, where they are read first."""
    from rich.markup import escape  # noqa: PLC0415  # slow to import

    simulated = " (simulated)" if found.simulated else ""
    console.print(f"[bold]Items of {escape(legible(found.name) or 'the scores')}{simulated}[/bold]")
    parts = {
        "to look at first": grave(found, count),
        "most informative": found.ranked(count),
        "least informative": found.ranked(count, "least"),
    }
    for title, chosen in parts.items():
        if chosen:
            console.print(_table(title, COLUMNS, rows(found, chosen)))
    if len(found.subtasks) > 1:
        console.print(_table("subtasks", SUBTASK_COLUMNS, subtask_rows(found)))
    console.print(LEGEND, style="dim")
    console.print()
    for line in sentences(found):
        console.print(escape(line))


SUBTASK_COLUMNS = ("subtask", "items", "faulty", "mean", "item-rest", "an item explains", "all do")


def subtask_rows(found: ItemDiagnostics) -> list[tuple[str, ...]]:
    """One row per subtask."""
    return [
        (
            legible(part.subtask),
            f"{part.n_items:,}",
            f"{part.flagged:,}",
            f"{_points(found, part.mean):.1f}",
            "-" if part.item_rest is None else f"{part.item_rest:.2f}",
            f"{100 * part.alone:.1f} %",
            f"{100 * part.together:.1f} %",
        )
        for part in found.subtasks
    ]


def _table(title: str, columns: Sequence[str], lines: Sequence[tuple[str, ...]]) -> Any:
    from rich.markup import escape  # noqa: PLC0415  # slow to import
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, header_style="bold", title=title, title_justify="left")
    for k, name in enumerate(columns):
        words = k == 0 or name == "fault"
        table.add_column(name, justify="left" if words else "right", overflow="fold")
    for line in lines:
        table.add_row(*(escape(cell) for cell in line))
    return table


def to_document(found: ItemDiagnostics) -> dict[str, Any]:
    """Everything as plain values for JSON; numbers that do not exist are None."""
    table = found.table().reset_index()
    records = [
        {name: _plain(value) for name, value in record.items()}
        for record in table.to_dict(orient="records")
    ]
    return {
        "name": found.name,
        "simulated": found.simulated,
        "n_models": found.n_models,
        "n_distinct_models": found.n_distinct,
        "score_range": list(found.score_range),
        "level": found.level,
        "faults": {fault: list(items) for fault, items in found.faults.items()},
        "duplicates": [
            {"items": list(group.items), "expected": group.expected, "p": group.p}
            for group in found.duplicates
        ],
        "n_equal_by_chance": found.n_chance_equal,
        "subtasks": list(found.subtasks),
        "items": records,
        "notes": list(found.notes),
    }


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def items_chart(found: ItemDiagnostics, theme: drawing.Theme = drawing.DAY) -> alt.LayerChart:
    """Item-rest correlation against mean score, one point per item, faults in colour and shape."""
    import altair as alt  # noqa: PLC0415  # slow to import

    colors = (theme.lines[1], theme.lines[3], theme.lines[0], theme.above)
    base = alt.Chart(alt.InlineData(chart_points(found), name="items"))
    line = (
        alt.Chart(alt.InlineData([{"zero": 0}]))
        .mark_rule(color=theme.ink, strokeDash=[4, 3])
        .encode(alt.Y("zero:Q"))
    )
    marks = base.mark_point(filled=True, opacity=0.85).encode(
        alt.X("mean:Q", title="mean score of all models (points)")
        .scale(domain=[0, 100])
        .axis(values=list(range(0, 101, 20))),
        alt.Y("rest:Q", title="correlation with the rest").scale(nice=True),
        alt.Color("kind:N", title=None).scale(domain=list(KINDS), range=list(colors)),
        alt.Shape("kind:N", title=None).scale(domain=list(KINDS), range=list(SHAPES)),
        alt.Size("order:Q", legend=None).scale(domain=[1, len(KINDS)], range=[30, 90]),
        alt.Order("order:Q"),
        tooltip=["item:N", "mean:Q", "rest:Q", "kind:N"],
    )
    chart = alt.LayerChart(layer=[line, marks])
    words = "Item-rest correlation against mean score, one point per item; faulty items marked."
    dressed: alt.LayerChart = drawing.dressed(chart, theme, words).configure_legend(
        orient="top", labelColor=theme.ink, labelFontSize=12, symbolOpacity=1
    )
    return dressed


def chart_points(found: ItemDiagnostics) -> list[dict[str, Any]]:
    """Points of the chart; sound items that would lie on one another are drawn once."""
    kinds: dict[str, str] = {}
    for fault in reversed(KINDS[:-1]):
        kinds |= dict.fromkeys(found.faults[fault], fault)
    points: dict[Any, dict[str, Any]] = {}
    for i, item in enumerate(found.items):
        rest = float(found.discrimination.item_rest[i])
        if math.isnan(rest):
            continue
        kind = kinds.get(item, SOUND)
        mean = round(_points(found, found.mean[i]), 1)
        point = {"item": legible(item), "mean": mean, "rest": round(rest, 3), "kind": kind}
        key = (round(mean / 2), round(rest * 50)) if kind == SOUND else item
        points[key] = {**point, "order": len(KINDS) - KINDS.index(kind)}
    return list(points.values())


def write_items_chart(found: ItemDiagnostics, path: Path) -> Path:
    """Write the chart as SVG or PNG, by the ending of the path.

    Raises
    ------
    SettingError
        when the ending is another one.
    ResultsError
        when the file cannot be written.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in CHART_TYPES:
        raise SettingError(f"a chart is written as .svg or .png; got {path.name!r}.")
    chart = items_chart(found)
    if kind == "svg":
        return _write(path, drawing.svg(chart, width=620).encode())
    import vl_convert  # noqa: PLC0415  # slow to import

    return _write(path, vl_convert.vegalite_to_png(chart.properties(width=620).to_dict(), scale=2))


def _write(path: Path, content: bytes) -> Path:
    try:
        write_atomically(path, content)
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}.") from None
    return path


def write_items_page(found: ItemDiagnostics, path: Path, count: int = 25) -> Path:
    """Write the findings as one HTML file, without scripts and without a network.

    Raises
    ------
    ResultsError
        when the file cannot be written.
    """
    return _write(path, items_page(found, count).encode())


def items_page(found: ItemDiagnostics, count: int = 25) -> str:
    """The page as text; equal findings give equal text."""
    from mdad._version import __version__  # noqa: PLC0415
    from mdad.report import page  # noqa: PLC0415  # slow to import

    parts = {
        "To look at first": grave(found, count),
        "Most informative": found.ranked(count),
        "Least informative": found.ranked(count, "least"),
    }
    tables = [
        {"title": title, "columns": COLUMNS, "rows": rows(found, chosen)}
        for title, chosen in parts.items()
        if chosen
    ]
    if len(found.subtasks) > 1:
        lines = subtask_rows(found)
        tables.append({"title": "Subtasks", "columns": SUBTASK_COLUMNS, "rows": lines})
    chart = items_chart(found, drawing.PAGE)
    return page.fill(
        "items.html",
        simulated=found.simulated,
        version=__version__,
        title=found.name or "the scores",
        sentences=sentences(found),
        description=chart.description,
        picture=page.picture("items", chart),
        tables=tables,
        legend=LEGEND,
    )
