"""Names made legible; notebooks, which know no report, need it too."""

from mdad._notebook import legible

__all__ = ["legible"]
