"""What every page of a report shares: templates, filters, pictures, and how it is written."""

from __future__ import annotations

import math
import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from mdad._files import write_atomically
from mdad.errors import ResultsError
from mdad.report import chart_data, drawing
from mdad.report.legible import legible
from mdad.report.sentences import percent, points

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt
    from jinja2 import Environment

    from mdad.report.summary import Estimate

TAG = re.compile(r"<[^>]*>")
SPOKEN = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
"""Attributes of drawings that screen readers read."""

__all__ = ["environment", "fill", "markup", "picture", "write_page"]


def write_page(text: str, path: Path) -> Path:
    """Write a page; the file appears under its name only when it is whole.

    Raises
    ------
    ResultsError
        when the file cannot be written.
    """
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise ResultsError(f"cannot write the report {path}: {error.strerror}.") from None
    return path


def fill(template: str, **context: Any) -> str:
    """A page from a template, with the colours of day and night; equal context, equal text."""
    text: str = (
        environment().get_template(template).render(day=drawing.DAY, night=drawing.NIGHT, **context)
    )
    return text


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
        "decimals": _decimals,
        "range": lambda estimate: _small(_between(estimate), estimate),
        "share": percent,
        "points": points,
        "count": lambda number: f"{number:,}",
    }
    return environment


def _finalize(value: Any) -> Any:
    """Every text a template prints passes here, so no name can hide or reorder its neighbours."""
    return legible(value) if type(value) is str else value


def markup(text: str) -> Any:
    """Text of our own that a template must not escape."""
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(text)  # noqa: S704  # our own text: the chart library, a drawn chart, escaped JSON


def _decimals(value: float | None) -> str:
    return "undefined" if value is None or math.isnan(value) else f"{value:.3f}"


def _gap(value: float | None) -> str:
    return "not reached" if value is None else f"{value:.1f}"


def _between(estimate: Estimate) -> str:
    return f"{estimate.low or 0:.3f} to {estimate.high or 0:.3f}"


def _small(text: str, estimate: Estimate) -> Any:
    """An interval in small print; nothing when there is none."""
    none = estimate.low is None
    return markup("") if none else markup(f' <span class="range">{text}</span>')


def picture(name: str, chart: alt.LayerChart | dict[str, Any], *, width: int = 460) -> Any:
    """The chart as SVG for inside a page, where ids must not meet those of another chart."""
    made = chart if isinstance(chart, dict) else drawing.specification(chart)
    text = drawing.svg(made, width=width)
    text = text.replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    # One label for all of it: the marks say nothing one by one.
    text = TAG.sub(lambda tag: SPOKEN.sub("", tag.group()), text)
    label = escape(str(made["description"]))
    return markup(text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))
