"""Adaptive mode: as few items as it takes to tell two models apart, at a stated error rate."""

from __future__ import annotations

from mdad.adaptive._plan import Look
from mdad.adaptive._session import Decision, Session
from mdad.adaptive._start import items_fingerprint, make_setup
from mdad.adaptive._state import by_item

__all__ = ["Decision", "Look", "Session", "by_item", "items_fingerprint", "make_setup"]
