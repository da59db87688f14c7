"""Item response theory: which items tell models apart, and how able each model is.

A multidimensional two-parameter logistic model (2PL) of 0/1 scores,
``P(right) = sigmoid(sum_d (a_d theta_d - b))``, fitted by maximum a posteriori in about a second
for 300 models x 6,000 items. See :func:`fit` for the objective.
"""

from __future__ import annotations

from mdad.irt._ability import Abilities, fit_ability
from mdad.irt._fit import Prior, fit
from mdad.irt._model import IrtFit
from mdad.irt._shared import prediction_error, shared_fit

__all__ = [
    "Abilities",
    "IrtFit",
    "Prior",
    "fit",
    "fit_ability",
    "prediction_error",
    "shared_fit",
]
