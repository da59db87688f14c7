"""``auto``: the method that an experiment among the source models finds best."""

from __future__ import annotations

from mdad.auto._auto import Aim, Auto

__all__ = ["Aim", "Auto"]
