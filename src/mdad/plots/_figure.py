"""What a figure is, before and after it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Figure", "FigureSet", "LeftOut", "Sketch"]


@dataclass(frozen=True)
class Sketch:
    """A figure that can be drawn at any width.

    Parameters
    ----------
    name : of its files
    caption : what it shows, of what
    width : of the column, in pixels
    build : from the width of the panels beside one another to the chart
    simulated : whether any of its scores are
    """

    name: str
    caption: str
    width: float
    build: Callable[[float], Any]
    simulated: bool


@dataclass(frozen=True)
class LeftOut:
    """A figure that the results cannot support, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Figure:
    """A drawn figure.

    Parameters
    ----------
    name : of its files
    caption : what it shows, of what
    svg : the picture
    simulated : whether any of its scores are
    files : that were written
    """

    name: str
    caption: str
    svg: str = field(repr=False)
    simulated: bool
    files: tuple[Path, ...] = ()

    def _repr_html_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class FigureSet:
    """Figures drawn, and those left out with the reason."""

    figures: tuple[Figure, ...]
    left_out: tuple[LeftOut, ...]

    def __getitem__(self, name: str) -> Figure:
        """A figure by its name."""
        return {figure.name: figure for figure in self.figures}[name]
