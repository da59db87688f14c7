"""Estimators: from a model's scores on the chosen items to an estimate of its full score."""

from __future__ import annotations

from mdad.estimators._base import Estimates, Estimator, FittedEstimator
from mdad.estimators.anchor_mean import AnchorMean
from mdad.estimators.anchor_predictor import AnchorPredictor
from mdad.estimators.irt_prediction import IrtPrediction
from mdad.estimators.mean import WeightedMean
from mdad.estimators.total import WeightedTotal

__all__ = [
    "AnchorMean",
    "AnchorPredictor",
    "Estimates",
    "Estimator",
    "FittedEstimator",
    "IrtPrediction",
    "WeightedMean",
    "WeightedTotal",
]
