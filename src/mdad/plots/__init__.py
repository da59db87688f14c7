"""The paper's figures, and our own, for print: from any audits, without running anything."""

from mdad.plots._figure import Figure, FigureSet, LeftOut
from mdad.plots._make import figures

__all__ = ["Figure", "FigureSet", "LeftOut", "figures"]
