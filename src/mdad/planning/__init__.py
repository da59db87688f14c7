"""How many items tell two models apart, and how far apart they must be, without simulation.

For a uniform random subset of a benchmark, agreement is a sampling question with a closed form: no
source models and no simulation are needed, only how far two models' answers differ.
"""

from __future__ import annotations

from mdad.planning._known import Known
from mdad.planning._plan import Plan, PowerPoint, SizePoint, plan
from mdad.planning._questions import agreement, items_for_gap, mdad

__all__ = [
    "Known",
    "Plan",
    "PowerPoint",
    "SizePoint",
    "agreement",
    "items_for_gap",
    "mdad",
    "plan",
]
