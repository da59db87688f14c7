"""The look of a printed figure: widths, type, colours of methods; and how it becomes a file.

Lengths are CSS pixels, 96 to the inch. Text is 7 points (9.3 pixels) or more at print size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdad.presets import PAPER_METHODS
from mdad.report.drawing import DAY
from mdad.report.legible import legible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["DOUBLE", "FORMATS", "SINGLE", "Series", "drawn", "encoded", "fitted", "series_of"]

PER_MM = 96 / 25.4
SINGLE, DOUBLE = 84 * PER_MM, 174 * PER_MM
"""Widths of one and of two columns of a journal: 84 and 174 mm."""

SMALL, TEXT = 9.4, 10.7
"""Type of 7 and 8 points."""

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
FORMATS = ("svg", "pdf", "png")
PNG_DENSITY = 300
GEOMETRY = re.compile(r'\b(?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"<>]*"')
LONG = re.compile(r"\d+\.\d{3,}")
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
NAME_LENGTH = 24
SLACK = 6.0
"""Pixels a figure may be narrower than its column: each of up to six panels is rounded up."""


@dataclass(frozen=True)
class Series:
    """A line of a figure: its name, and three ways to tell it apart.

    Parameters
    ----------
    key : what the rows of the data have in ``series``
    name : as printed
    colour, dash, shape : of line and marks
    """

    key: str
    name: str
    colour: str
    dash: tuple[float, ...] = (1, 0)
    shape: str = "circle"


BLUE, ORANGE, GREEN, PURPLE, OCHRE, SKY, VIOLET, GREY = DAY.lines
Dash = tuple[float, ...]
SOLID: Dash = (1, 0)
DASHED: Dash = (5, 2)
DOTTED: Dash = (1.5, 1.5)
MIXED: Dash = (6, 2, 1.5, 2)
_PAPER: dict[str, tuple[str, Dash, str]] = {
    "random": (DAY.ink, SOLID, "circle"),
    "random-subtasks-equal": (GREY, DASHED, "square"),
    "stratified-confidence": (BLUE, SOLID, "triangle-up"),
    "diversity": (GREEN, MIXED, "diamond"),
    "anchor-points": (ORANGE, SOLID, "square"),
    "tinybenchmarks": (PURPLE, DASHED, "triangle-down"),
}
_OTHERS = (VIOLET, OCHRE, SKY, GREEN, BLUE, PURPLE, ORANGE, GREY)
_SHAPES = ("cross", "diamond", "triangle-left", "triangle-right", "square", "circle")
_DASHES = (SOLID, DASHED, DOTTED, MIXED)


def series_of(methods: Sequence[str]) -> list[Series]:
    """A line for every method: the paper's in its order and look, then the others."""
    paper = [method for method in PAPER_METHODS if method in methods]
    others = [method for method in methods if method not in PAPER_METHODS]
    found = [Series(method, method, *_PAPER[method]) for method in paper]
    return found + [
        Series(
            method,
            cut(method),
            _OTHERS[i % len(_OTHERS)],
            _DASHES[i // len(_OTHERS) % len(_DASHES)],
            _SHAPES[i % len(_SHAPES)],
        )
        for i, method in enumerate(others)
    ]


def plain_series(keys: Sequence[str], names: Sequence[str]) -> list[Series]:
    """Lines that are no methods: benchmarks, splits."""
    colours = ("#1f2328", "#0072b2", "#c24e00", "#00845e", "#b04a8a", "#8a6d00", "#5b5bd6")
    shapes = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
    return [
        Series(
            key,
            cut(name),
            colours[i % len(colours)],
            _DASHES[i % len(_DASHES)],
            shapes[i % len(shapes)],
        )
        for i, (key, name) in enumerate(zip(keys, names, strict=True))
    ]


def ordered_series(keys: Sequence[str], names: Sequence[str]) -> list[Series]:
    """Lines of something that grows, from pale and dotted to dark and whole."""
    shades = ("#5b9bd5", "#1f6fb2", "#0b3d66")
    dashes = (DOTTED, DASHED, SOLID)
    last = len(shades) - len(keys)
    return [
        Series(key, cut(name), shades[max(i + last, 0)], dashes[max(i + last, 0)])
        for i, (key, name) in enumerate(zip(keys, names, strict=True))
    ]


def cut(name: str, length: int = NAME_LENGTH) -> str:
    """A name for a figure: legible, and cut in its middle when it is long."""
    text = legible(name)
    if len(text) <= length:
        return text
    half = (length - 1) // 2
    return f"{text[: length - 1 - half]}…{text[-half:]}"


def dressed(chart: dict[str, Any], *, simulated: bool) -> dict[str, Any]:
    """The specification of a figure in the type and colours of print.

    A figure of simulated scores says so in its own picture: it may be cut out of its page.
    """
    spec = {"$schema": SCHEMA, **chart}
    axis = {
        "labelColor": DAY.ink,
        "titleColor": DAY.ink,
        "domainColor": DAY.ink,
        "tickColor": DAY.ink,
        "tickSize": 3,
        "labelPadding": 2,
        "gridColor": DAY.faint,
        "gridOpacity": 0.6,
        "labelFontSize": SMALL,
        "titleFontSize": TEXT,
        "titleFontWeight": "normal",
        "titlePadding": 4,
    }
    spec["config"] = {
        "background": DAY.paper,
        "font": FONT,
        "aria": False,
        "view": {"stroke": None},
        "axis": axis,
        "text": {"fontSize": SMALL, "color": DAY.ink},
    }
    spec["padding"] = 2
    if simulated:
        spec["title"] = {
            "text": "Simulated stand-ins, not real models",
            "color": ORANGE,
            "fontSize": TEXT,
            "anchor": "start",
            "offset": 10,
        }
    return spec


def fitted(build: Callable[[float], dict[str, Any]], width: float, *, simulated: bool) -> str:
    """The figure as SVG, as wide as the column.

    Parameters
    ----------
    build : from the width that all panels beside one another have together to the figure
    width : of the column
    simulated : whether to say that the scores are

    Notes
    -----
    How much axes and names take is known only once they are drawn.
    """
    inner, slope = 0.72 * width, 1.0
    before: tuple[float, float] | None = None
    text = ""
    for _ in range(8):
        text = drawn(dressed(build(inner), simulated=simulated))
        reached = width_of(text)
        if -SLACK <= reached - width <= 0:
            break
        if before is not None and abs(inner - before[0]) > 1:
            # Where rows have unlike numbers of panels the widest takes a part of the width only.
            slope = min(max((reached - before[1]) / (inner - before[0]), 0.3), 1.0)
        before = inner, reached
        inner = max(inner - (reached - width + SLACK / 2) / slope, 1.0)
    return text


def width_of(svg: str) -> float:
    """Width of a drawn SVG."""
    found = re.search(r'width="([\d.]+)"', svg)
    return float(found[1]) if found else 0.0


def drawn(spec: dict[str, Any]) -> str:
    """A specification as SVG text, the same for the same specification.

    The drawing library numbers what it refers to from one picture to the next.
    """
    import vl_convert  # noqa: PLC0415  # slow to import

    text: str = vl_convert.vegalite_to_svg(spec)
    text = GEOMETRY.sub(lambda found: LONG.sub(_shorter, found[0]), text)
    names = dict.fromkeys(re.findall(r'\bid="([^"]+)"', text))
    numbers = {name: f"id{number}" for number, name in enumerate(names)}
    text = re.sub(r'\bid="([^"]+)"', lambda found: f'id="{numbers[found[1]]}"', text)
    return re.sub(
        r"url\(#([^)]+)\)", lambda found: f"url(#{numbers.get(found[1], found[1])})", text
    )


def _shorter(number: re.Match[str]) -> str:
    """A number with the digits that print can show."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def encoded(svg: str, form: str) -> bytes:
    """An SVG in one of :data:`FORMATS`, at print size: PDF in points, PNG of 300 dots an inch."""
    import vl_convert  # noqa: PLC0415  # slow to import

    if form == "pdf":
        pdf: bytes = vl_convert.svg_to_pdf(_in_points(svg))
        return pdf
    if form == "png":
        # The density counts from 72 to the inch.
        png: bytes = vl_convert.svg_to_png(svg, scale=72 / 96, ppi=PNG_DENSITY)
        return png
    return svg.encode()


def _in_points(svg: str) -> str:
    """The same drawing with its size in 72nds of an inch: in a PDF a pixel is a point."""
    return re.sub(
        r'\b(width|height)="([\d.]+)"',
        lambda found: f'{found[1]}="{float(found[2]) * 72 / 96:.2f}"',
        svg,
        count=2,
    )
