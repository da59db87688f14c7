"""How many items tell two models apart, and how far apart they must be, without simulation."""

from __future__ import annotations

from mdad.planning._questions import agreement, items_for_gap, mdad

__all__ = ["agreement", "items_for_gap", "mdad"]
