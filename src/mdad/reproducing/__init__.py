"""The paper's experiments run again, and its claims beside what they showed."""

from mdad.reproducing._claims import CITATION, CLAIMS, PAPER_BENCHMARKS, Claim
from mdad.reproducing._measured import Measured
from mdad.reproducing._parts import GROUPS, PLANS, Plan
from mdad.reproducing._run import Finding, PartDone, Reproduction, judge, measure, reproduce
from mdad.reproducing._words import markdown

__all__ = [
    "CITATION",
    "CLAIMS",
    "GROUPS",
    "PAPER_BENCHMARKS",
    "PLANS",
    "Claim",
    "Finding",
    "Measured",
    "PartDone",
    "Plan",
    "Reproduction",
    "judge",
    "markdown",
    "measure",
    "reproduce",
]
