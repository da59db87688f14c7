"""Estimators: from a model's scores on the chosen items to an estimate of its full score."""

from __future__ import annotations

from mdad.estimators._base import Estimates, Estimator, FittedEstimator
from mdad.estimators.mean import WeightedMean
from mdad.estimators.total import WeightedTotal

__all__ = ["Estimates", "Estimator", "FittedEstimator", "WeightedMean", "WeightedTotal"]
