"""Axes of panels: their ends, ticks and text, and how they are written for the drawing library."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mdad.plots._style import SMALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ROOM", "Axis", "Spec", "sizes_axis"]

CHARACTER, APART = 5.25, 2.5
"""Pixels that a digit of a label takes, and that two labels need between them."""

ROOM = 1.35
"""Factor by which a logarithmic axis goes on past the last value, for lines to the names."""

Spec = dict[str, Any]
"""A chart in the grammar of Vega-Lite. Chart objects take twenty times as long to put together."""


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    Parameters
    ----------
    title : lines of text; none = no title
    low, high : its ends
    log : logarithmic
    ticks : where; empty = as the chart library finds right
    labels : text of ticks, one or two lines each; empty = the numbers
    bare : without labels, where the panel to the left has the same axis
    form : format of the numbers
    """

    title: tuple[str, ...]
    low: float
    high: float
    log: bool = False
    ticks: tuple[float, ...] = ()
    labels: Mapping[float, tuple[str, ...]] | None = None
    bare: bool = False
    form: str = "~f"

    def hidden(self) -> Axis:
        """Without title and labels."""
        return replace(self, title=(), bare=True)

    def untitled(self) -> Axis:
        """Without title."""
        return replace(self, title=())

    def retitled(self, *title: str) -> Axis:
        """With another title."""
        return replace(self, title=title)

    def with_labels(self, title: tuple[str, ...], labels: Mapping[float, tuple[str, ...]]) -> Axis:
        """With another title and other text at the ticks."""
        return replace(self, title=title, labels=labels)

    def fitting(self, length: float) -> Axis:
        """With text at those ticks alone whose texts do not touch at a length of the axis."""
        if self.bare or not self.ticks:
            return self
        texts = self.labels or {tick: (f"{tick:g}",) for tick in self.ticks}
        kept: dict[float, float] = {}
        for tick in (*self.ticks[-1:], *self.ticks[:1], *self.ticks[1:-1]):
            half = (max(map(len, texts[tick])) * CHARACTER + APART) / 2
            at = self.place(tick, length)
            if all(abs(at - self.place(other, length)) >= half + kept[other] for other in kept):
                kept[tick] = half
        return replace(self, labels={tick: texts[tick] for tick in self.ticks if tick in kept})

    def place(self, value: float, length: float) -> float:
        """Pixels from the low end at a length of the axis."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return share * length

    def drawn(self, field: str, *, vertical: bool) -> Spec:
        """The channel of a field on this axis."""
        axis: Spec = {"format": self.form, "grid": vertical, "labelFlush": False}
        if self.ticks:
            axis["values"] = list(self.ticks)
        else:
            axis["tickCount"] = 5
        if self.bare:
            axis |= {"labels": False, "ticks": False, "domain": False}
        elif self.labels:
            text = {_js(tick): list(lines) for tick, lines in self.labels.items()}
            axis |= {
                "labelExpr": f"({json.dumps(text)})[datum.value] || ['']",
                "labelOverlap": False,
                "labelLineHeight": SMALL + 1,
            }
        return {
            "field": field,
            "type": "quantitative",
            "title": list(self.title) or None,
            "scale": {
                "domain": [self.low, self.high],
                "nice": False,
                "zero": False,
                "type": "log" if self.log else "linear",
            },
            "axis": axis,
        }


def _js(number: float) -> str:
    """A number as a script writes it."""
    return str(int(number)) if number == int(number) else repr(float(number))


def sizes_axis(sizes: Sequence[int], pool: int, *, title: bool = True) -> Axis:
    """Logarithmic, a tick at each size, below it its share of the seen pool in per cent."""
    labels = {}
    for size in sizes:
        share = 100 * size / pool
        percent = f"{share:.0f}" if share >= 9.5 else f"{share:.1g}"  # noqa: PLR2004  # one digit
        count = f"{size / 1000:.3g}k" if size >= 1000 else str(size)  # noqa: PLR2004  # thousands
        labels[float(size)] = (count, percent)
    ticks = tuple(map(float, sizes))
    words = ("items, and below it", "% of the seen items") if title else ()
    ends = (min(sizes) / 1.15, max(sizes) * ROOM)
    return Axis(words, *ends, log=True, ticks=ticks, labels=labels)
