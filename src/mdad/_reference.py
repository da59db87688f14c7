"""The MDAD algorithm of the July 2025 snapshot, faults included; for parity only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

NOT_REACHED = 0.5
BINS = 200


def reference_mdad(
    gap: npt.NDArray[np.float64], estimated: npt.NDArray[np.int8], threshold: float
) -> float:
    """First half-point bin read whose mean agreement reaches the threshold, else 0.5.

    Bins are found by flooring floats, and each bin in use is floored again when it is looked up:
    instead of bin 29 (14.5 points), bin 28 is read once more; likewise for 57, 58, 113 to 116. So
    bins 29, 58 and 116 are never read, and 57 only when 58 is in use. A pair tied on the full
    benchmark is right when the first model is ahead in the estimate; an estimated tie is always
    wrong.

    Parameters
    ----------
    gap : full-score differences of the pairs, in [-1, 1]
    estimated : sign of the estimated differences, the same shape
    threshold : agreement to be reached
    """
    right = np.where(gap >= 0, 1, -1) == estimated
    keys = np.floor(np.abs(gap) * BINS) / BINS
    for key in np.unique(keys):
        looked_up = np.floor(key * BINS) / BINS
        bin_read = right[keys == looked_up]
        if bin_read.size and bin_read.mean() >= threshold:
            return float(looked_up)
    return NOT_REACHED
