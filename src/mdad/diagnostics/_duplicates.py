"""Items with the very same answers, where chance does not explain them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad.irt import fit

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

FloatArray = npt.NDArray[np.float64]

DIMS = 3
"""Of the abilities by which models can agree without an item being another's copy."""

CAUTION = 3.0
"""What the model expects by chance is multiplied with this: models of one family share mistakes it
does not know of. On MMLU-Pro patterns of answers are up to twice as frequent as it says."""


@dataclass(frozen=True)
class DuplicateGroup:
    """Items that every model answers alike.

    Parameters
    ----------
    items : ids
    expected : how many further items with these answers chance would give
    p : probability of as many as there are, after Bonferroni's correction for all items
    """

    items: tuple[str, ...]
    expected: float
    p: float


def duplicate_groups(scores: ScoreMatrix, varying: npt.NDArray[np.bool_]) -> list[DuplicateGroup]:
    """Groups of items with equal scores from every model, in the order of their first item.

    Parameters
    ----------
    scores : complete, no two models copies
    varying : bool array of shape (n_items,): items that are not constant

    Notes
    -----
    An item that 1 of 400 models fails has the same answers as many another. So for each group the
    number of items with its answers that chance would give is taken from an item response model
    with three abilities: the sum over items of the probability of just these answers, times
    :data:`CAUTION`. Graded scores are split at the middle of their range for it, which makes equal
    answers more probable than they are.
    """
    columns = np.flatnonzero(varying)
    places: dict[bytes, list[int]] = defaultdict(list)
    for column in columns.tolist():
        # Adding 0 turns -0.0 into 0.0, which are equal scores.
        places[(scores.values[:, column] + 0).tobytes()].append(column)
    groups = [group for group in places.values() if len(group) > 1]
    if not groups:
        return []
    log_right, log_wrong, right = _chances(scores, columns)
    found = []
    for group in groups:
        answers = right[:, group[0]]
        logs = answers @ log_right + (1 - answers) @ log_wrong
        expected = CAUTION * float(np.exp(logs).sum())
        p = min(1.0, _at_least(len(group) - 1, expected) * len(columns))
        found.append(DuplicateGroup(tuple(scores.items[i] for i in group), expected, p))
    return found


def _chances(
    scores: ScoreMatrix, columns: npt.NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log-probabilities of right and wrong answers on the varying items, and all answers as 0/1."""
    middle = sum(scores.score_range) / 2
    binary = scores.kind == "correctness"
    part = scores.restrict(items=[scores.items[i] for i in columns])
    fitted = fit(part, dims=DIMS, threshold=None if binary else middle)
    logits = fitted.ability @ fitted.discrimination.T - fitted.logit_difficulty
    values = scores.values.astype(np.float64)
    right = values if binary else (values > middle).astype(np.float64)
    return -np.logaddexp(0, -logits), -np.logaddexp(0, logits), right


def _at_least(count: int, mean: float) -> float:
    """Probability of ``count`` or more by Poisson's law.

    >>> round(_at_least(1, 0.1), 4), _at_least(0, 0.1)
    (0.0952, 1.0)
    """
    from scipy.special import gammainc  # noqa: PLC0415  # slow to import

    return 1.0 if count == 0 else 0.0 if mean == 0 else float(gammainc(count, mean))
