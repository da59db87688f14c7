"""Selectors: which items of the seen pool make the micro-benchmark.

A selector receives source models x seen items and nothing else. It is prepared once for all
sizes of a run and then asked for one size at a time; what it answers for a size never depends on
the other sizes it is asked for.
"""

from __future__ import annotations

from mdad.selectors._base import Prepared, Selection, Selector, check_size
from mdad.selectors._covariance import Covariance
from mdad.selectors.anchor_points import AnchorPoints, OptionAnchors
from mdad.selectors.c_optimal import COptimal
from mdad.selectors.confidence import PaperStratifiedConfidence, StratifiedConfidence
from mdad.selectors.diversity import Diversity, PaperDiversity
from mdad.selectors.irt_clusters import IrtClusters
from mdad.selectors.irt_information import IrtInformation
from mdad.selectors.lasso import LassoPath
from mdad.selectors.mrmr import Mrmr
from mdad.selectors.stratified import EqualSubtasks, MinimumPerSubtask, ProportionalSubtasks
from mdad.selectors.uniform import Uniform

__all__ = [
    "AnchorPoints",
    "COptimal",
    "Covariance",
    "Diversity",
    "EqualSubtasks",
    "IrtClusters",
    "IrtInformation",
    "LassoPath",
    "MinimumPerSubtask",
    "Mrmr",
    "OptionAnchors",
    "PaperDiversity",
    "PaperStratifiedConfidence",
    "Prepared",
    "ProportionalSubtasks",
    "Selection",
    "Selector",
    "StratifiedConfidence",
    "Uniform",
    "check_size",
]
