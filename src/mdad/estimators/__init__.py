"""Estimators: from a model's scores on the chosen items to an estimate of its full score."""

from __future__ import annotations

from mdad.estimators._base import Estimates, Estimator, FittedEstimator
from mdad.estimators.aipw import Aipw
from mdad.estimators.anchor_mean import AnchorMean
from mdad.estimators.anchor_predictor import AnchorPredictor
from mdad.estimators.conditional import BestLinear
from mdad.estimators.irt_prediction import IrtPrediction
from mdad.estimators.mean import WeightedMean
from mdad.estimators.regression import KernelRidge, Ridge
from mdad.estimators.total import WeightedTotal

__all__ = [
    "Aipw",
    "AnchorMean",
    "AnchorPredictor",
    "BestLinear",
    "Estimates",
    "Estimator",
    "FittedEstimator",
    "IrtPrediction",
    "KernelRidge",
    "Ridge",
    "WeightedMean",
    "WeightedTotal",
]
