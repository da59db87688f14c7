"""Panels that figures are put together from: lines with direct labels, histograms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mdad.plots._axes import Axis, Spec
from mdad.plots._style import TEXT, cut
from mdad.report.drawing import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.plots._style import Series

__all__ = ["Part", "Rows", "bars", "below", "beside", "in_a_row", "lines"]

BETWEEN = 11.5
"""Pixels between the names of two lines."""

LETTER = 5.9
"""Pixels that a letter of a title takes."""

PALE = "#9aa5b1"
ROUNDING = 1e-9
SLIMMEST = 20.0
"""Pixels: a panel is at least this wide, however much its names take."""

Rows = list[dict[str, Any]]


def lines(
    rows: Rows,
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    size: tuple[float, float],
    *,
    title: str = "",
    labels: bool = False,
    points: bool = True,
    level: float | None = None,
    marks: Rows | None = None,
) -> Spec:
    """Lines of y against x.

    Parameters
    ----------
    rows : ``series`` (a key), ``x``, ``y`` (None or infinite: not reached, drawn as an open
        triangle at the top), optionally ``low`` and ``high`` of a band, ``part`` ("dashed" or "")
    series : in order; those without rows are left out
    size : width and height
    labels : whether to name the lines beside their ends
    points : whether to mark the values
    level : of a horizontal line
    marks : points with a letter: ``x``, ``y``, ``text``, ``series``, ``at`` (pixels from the point)
    """
    there = {row["series"] for row in rows}
    used = [one for one in series if one.key in there]
    data = [_row(row, used, y) for row in rows]
    base = {
        "x": x.fitting(size[0]).drawn("x", vertical=False),
        "y": y.drawn("y", vertical=True),
        "color": _by_series(used, "colour"),
    }
    layers = [_level(level, base)] if level is not None else []
    if any(row["low"] is not None for row in data):
        band = {**base, "y": {**base["y"], "field": "low"}, "y2": {"field": "high"}}
        layers.append(_layer({"type": "area", "opacity": 0.1, "clip": True}, band, "datum.low"))
    for part, dash in (("", [1, 0]), ("dashed", [3, 2])):
        if any(row["part"] == part for row in data):
            # A value that is not reached stays in: the line must have a hole there.
            mark = {"type": "line", "strokeWidth": 1.5, "strokeDash": dash, "clip": True}
            chosen = [{"filter": f"datum.part === '{part}'"}]
            drawn = base if points else {**base, "strokeDash": _by_series(used, "dash")}
            layers.append({"transform": chosen, "mark": mark, "encoding": drawn})
    alone = [one.key for one in used if [row["series"] for row in data].count(one.key) == 1]
    if points:
        layers += _points(base, used, data)
    elif alone:
        dot: Spec = {"type": "point", "filled": True, "size": 22, "opacity": 1}
        single = [{"filter": {"field": "series", "oneOf": alone}}]
        layers.append({"transform": single, "mark": dot, "encoding": base})
    if marks:
        layers += _letters(marks, base)
    if labels:
        layers += _names(data, used, y, x.high, base, size)
    return _sized(layers, data, size, title)


def _sized(layers: list[Spec], data: Rows, size: tuple[float, float], title: str) -> Spec:
    """Layers as a panel with its title; a title of the drawing library moves with the axes."""
    if title:
        layers = [*layers, _title(cut(title, max(8, int(size[0] / LETTER))))]
    return {
        "width": max(size[0], SLIMMEST),
        "height": size[1],
        "data": {"values": data},
        "layer": layers,
    }


def _title(text: str) -> Spec:
    mark = {
        "type": "text",
        "align": "left",
        "baseline": "bottom",
        "fontSize": TEXT,
        "fontWeight": "bold",
    }
    place = {"x": {"value": 0}, "y": {"value": -5}, "text": {"value": text}}
    return {"data": {"values": [{}]}, "mark": mark, "encoding": place}


def _row(row: dict[str, Any], series: Sequence[Series], y: Axis) -> dict[str, Any]:
    """A row as drawn: what is not reached lies at the top."""
    value = row["y"]
    reached = value is not None and math.isfinite(value)
    # The upper end of an interval may be infinite; the band ends at the top.
    low, high = row.get("low", math.nan), row.get("high", math.nan)
    band = reached and math.isfinite(low)
    number = [one.key for one in series].index(row["series"])
    return {
        "series": row["series"],
        "part": row.get("part", ""),
        "x": row["x"],
        "y": value if reached else None,
        # Nested, so that triangles of several lines do not hide one another.
        "never": None if reached else y.high - (y.high - y.low) * (0.02 + 0.05 * number),
        "low": max(low, y.low) if band else None,
        "high": min(high, y.high) if band else None,
    }


def _by_series(series: Sequence[Series], look: str) -> Spec:
    return {
        "field": "series",
        "type": "nominal",
        "legend": None,
        "scale": {
            "domain": [one.key for one in series],
            "range": [getattr(one, look) for one in series],
        },
    }


def _layer(mark: Spec, encoding: Spec, known: str) -> Spec:
    """Marks of the rows in which a value is known."""
    chosen = [{"filter": f"isValid({known})"}]
    return {"transform": chosen, "mark": mark, "encoding": encoding}


def _points(base: Spec, series: Sequence[Series], data: Rows) -> list[Spec]:
    shaped = {**base, "shape": _by_series(series, "shape")}
    filled = {"type": "point", "filled": True, "size": 22, "opacity": 1}
    found = [_layer(filled, shaped, "datum.y")]
    if any(row["never"] is not None for row in data):
        mark = {"type": "point", "filled": False, "size": 34, "opacity": 1, "shape": "triangle-up"}
        never = {**base, "y": {**base["y"], "field": "never"}}
        found.append(_layer(mark, never, "datum.never"))
    return found


def _level(level: float, base: Spec) -> Spec:
    mark = {"type": "rule", "strokeDash": [3, 2], "color": DAY.ink, "strokeWidth": 0.8}
    return {"data": {"values": [{"y": level}]}, "mark": mark, "encoding": {"y": base["y"]}}


def _letters(marks: Rows, base: Spec) -> list[Spec]:
    """Points with a letter beside each, paper-coloured around it."""
    bare = {channel: base[channel] for channel in ("x", "y")}
    text = {"text": {"field": "text"}}
    ring = {"type": "point", "filled": False, "size": 55, "strokeWidth": 1.4, "opacity": 1}
    layers: list[Spec] = [{"data": {"values": marks}, "mark": ring, "encoding": base}]
    for at in sorted({row["at"] for row in marks}):
        own = {"values": [row for row in marks if row["at"] == at]}
        place = {
            "type": "text",
            "dx": at[0],
            "dy": at[1],
            "fontSize": TEXT,
            "fontWeight": "bold",
            "baseline": "middle",
        }
        halo = {**place, "color": DAY.paper, "stroke": DAY.paper, "strokeWidth": 3}
        layers.append({"data": own, "mark": halo, "encoding": {**bare, **text}})
        layers.append({"data": own, "mark": place, "encoding": {**base, **text}})
    return layers


def _names(
    data: Rows,
    series: Sequence[Series],
    y: Axis,
    edge: float,
    base: Spec,
    size: tuple[float, float],
) -> list[Spec]:
    """Names to the right of the panel, apart from one another, with a line to each end."""
    ends = _ends(data, series, y)
    placed = spread([y.place(end["y"], size[1]) for end in ends], BETWEEN, size[1])
    per_pixel = (y.high - y.low) / size[1]
    named = [
        {**end, "label": y.low + place * per_pixel, "edge": edge}
        for end, place in zip(ends, placed, strict=True)
    ]
    leader = {**base, "x2": {"field": "edge"}, "y2": {"field": "label"}}
    text = {
        "x": {"value": size[0]},
        "y": {**base["y"], "field": "label"},
        "color": base["color"],
        "text": {"field": "name"},
    }
    written = {"type": "text", "align": "left", "baseline": "middle", "dx": 3}
    return [
        {
            "data": {"values": named},
            "mark": {"type": "rule", "strokeWidth": 0.7, "opacity": 0.7},
            "encoding": leader,
        },
        {"data": {"values": named}, "mark": written, "encoding": text},
    ]


def _ends(data: Rows, series: Sequence[Series], y: Axis) -> Rows:
    """The last point of every line, from the lowest to the highest."""
    ends = []
    for number, one in enumerate(series):
        own = [row for row in data if row["series"] == one.key and row["part"] == ""]
        if not own:
            continue
        last = max(own, key=lambda row: row["x"])
        height = last["never"] if last["y"] is None else min(max(last["y"], y.low), y.high)
        ends.append(
            {"series": one.key, "name": one.name, "x": last["x"], "y": height, "number": number}
        )
    # Of lines that end at one height the first is named on top.
    return sorted(ends, key=lambda end: (end["y"], -end["number"]))


def spread(wanted: Sequence[float], between: float, length: float) -> list[float]:
    """Ascending places moved apart, as little as needed, within 0 and a length if they fit.

    >>> spread([5.0, 6.0, 50.0], 10.0, 100.0)
    [0.5, 10.5, 50.0]
    """
    groups: list[list[float]] = []
    for place in wanted:
        groups.append([place, 1.0])
        while True:
            centre, number = groups[-1]
            half = (number - 1) * between / 2
            # A group that does not fit at all begins at the bottom.
            centre = max(min(centre, length - half), half)
            groups[-1][0] = centre
            if len(groups) == 1:
                break
            before, n_before = groups[-2]
            free = centre - half - before - (n_before - 1) * between / 2
            if free >= between - ROUNDING:
                break
            groups[-2:] = [[(before * n_before + centre * number) / (n_before + number),
                            n_before + number]]  # fmt: skip
    return [
        centre + (i - (number - 1) / 2) * between
        for centre, number in groups
        for i in range(int(number))
    ]


def bars(
    rows: Rows,
    x: Axis,
    size: tuple[float, float],
    *,
    title: str = "",
    y_title: tuple[str, ...] = (),
    top: float,
) -> Spec:
    """A histogram.

    Parameters
    ----------
    rows : ``x``, ``x2`` (ends of the bin), ``y``, ``mark`` (whether it has the strong colour)
    top : upper end of the axis of counts, which begins at 0
    """
    encoding = {
        "x": x.fitting(size[0]).drawn("x", vertical=False),
        "x2": {"field": "x2"},
        "y": Axis(y_title, 0, top, form=",d").drawn("y", vertical=True),
        "color": {"condition": {"test": "datum.mark", "value": DAY.below}, "value": PALE},
    }
    mark = {"type": "bar", "orient": "vertical", "stroke": DAY.paper, "strokeWidth": 0.5}
    return _sized([{"mark": mark, "encoding": encoding}], rows, size, title)


OWN = {"scale": {"color": "independent", "shape": "independent", "x": "independent",
                 "y": "independent"}}  # fmt: skip


def beside(panels: Sequence[Spec], spacing: float = 8) -> Spec:
    """Panels in a row."""
    return {"hconcat": list(panels), "spacing": spacing, "resolve": OWN}


class Part(NamedTuple):
    """A panel of a row: its title, its lines and its own axis."""

    title: str
    rows: Rows
    series: Sequence[Series]
    x: Axis


def in_a_row(
    parts: Sequence[Part],
    y: Axis,
    size: tuple[float, float],
    *,
    points: bool = True,
    level: float | None = None,
    named: bool = False,
    spacing: float = 8,
) -> Spec:
    """Panels with one vertical axis: the first has its text, the last (or each) names its lines."""
    last = len(parts) - 1
    return beside(
        [
            lines(
                part.rows,
                part.series,
                part.x,
                y.hidden() if i else y,
                size,
                title=part.title,
                labels=named or i == last,
                points=points,
                level=level,
            )
            for i, part in enumerate(parts)
        ],
        spacing,
    )


def below(rows: Sequence[Spec], spacing: float = 10) -> Spec:
    """Rows one below the other."""
    return {"vconcat": list(rows), "spacing": spacing, "resolve": OWN}
