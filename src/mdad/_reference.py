"""The MDAD algorithm of the July 2025 snapshot, faults included; for parity only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

NOT_REACHED = 0.5
BINS = 200


def reference_mdad(
    gap: npt.NDArray[np.float64], estimated: npt.NDArray[np.int8], threshold: float
) -> float:
    """First half-point bin whose mean agreement reaches the threshold, else 0.5.

    Bins are found by flooring floats, and floored again when looked up, so the bins 14.5, 28.5,
    29.0 and some above are never read. A pair tied on the full benchmark is right when the first
    model is ahead in the estimate; an estimated tie is always wrong.

    Parameters
    ----------
    gap : full-score differences of the pairs, in [-1, 1]
    estimated : sign of the estimated differences, the same shape
    threshold : agreement to be reached
    """
    right = np.where(gap >= 0, 1, -1) == estimated
    keys = np.floor(np.abs(gap) * BINS) / BINS
    for j in range(BINS + 1):
        bin_read = right[keys == np.floor(j / BINS * BINS) / BINS]
        if bin_read.size and bin_read.mean() >= threshold:
            return j / BINS
    return NOT_REACHED
