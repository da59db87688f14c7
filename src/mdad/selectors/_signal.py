"""What selectors see of the items: the source models' probabilities, or their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

FloatArray = npt.NDArray[np.float64]


def source_signal(scores: ScoreMatrix) -> FloatArray:
    """Probabilities of the right answer where there are any, else the scores themselves.

    Parameters
    ----------
    scores : source models x seen items

    Returns
    -------
    array of shape (n_models, n_items), complete: an unknown cell holds the mean of its item over
    the models that have one (of all cells where none has), so that it says nothing of its own.
    """
    layer = scores.values if scores.probabilities is None else scores.probabilities
    signal: FloatArray = layer.astype(np.float64)
    absent = np.isnan(signal)
    if not absent.any():
        return signal
    signal[absent] = 0
    known = (~absent).sum(axis=0)
    overall = signal.sum() / max(int(known.sum()), 1)
    means = np.where(known > 0, signal.sum(axis=0) / np.maximum(known, 1), overall)
    filled: FloatArray = np.where(absent, means, signal)
    return filled
