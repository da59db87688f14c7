"""What a reader of results should know about the scores behind them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mdad.scores import ScoreMatrix

__all__ = ["Quality", "assess", "copy_groups", "distinct_models", "near_pairs"]

MAX_DIFFERENT = 0.01
MIN_SHARED = 0.9
SAMPLE_ITEMS = 2000
AT_A_TIME = 4096
NEIGHBOURS = 256


@dataclass(frozen=True)
class Quality:
    """Copies and dead items in a score matrix.

    Parameters
    ----------
    copied_models : models that answer exactly like another one
    surplus_models : how many of them could go without losing a distinct model
    near_copies : further models that differ from another on at most 1 % of the items, with at
        least 90 % of either's mistakes shared (0/1 scores only; judged on at most 2,000 items)
    constant_items : items on which all models score the same; they never tell two models apart
    duplicate_items : items that all models answer exactly as another item, constant ones apart
    copies : the largest groups of models with identical answers, at most five
    """

    copied_models: int = 0
    surplus_models: int = 0
    near_copies: int = 0
    constant_items: int = 0
    duplicate_items: int = 0
    copies: tuple[tuple[str, ...], ...] = ()


def assess(scores: ScoreMatrix) -> Quality:
    """Count copies and dead items of a complete matrix."""
    groups = copy_groups(scores)
    copied = {model for group in groups for model in group}
    constant = np.empty(scores.n_items, dtype=bool)
    for part in _parts(scores.n_items):
        block = scores.values[:, part]
        constant[part] = (block == block[:1]).all(axis=0)
    columns = _groups(_columns(scores.values, constant))
    largest = sorted(groups, key=len, reverse=True)[:5]
    return Quality(
        copied_models=len(copied),
        surplus_models=len(copied) - len(groups),
        near_copies=len(_near_copies(scores) - copied),
        constant_items=int(constant.sum()),
        duplicate_items=sum(len(group) for group in columns),
        copies=tuple(group[:5] for group in largest),
    )


def copy_groups(scores: ScoreMatrix) -> list[tuple[str, ...]]:
    """Groups of models with identical scores on every item, in alphabetical order."""
    groups = [tuple(scores.models[row] for row in rows) for rows in _groups(scores.values)]
    return sorted(tuple(sorted(group)) for group in groups)


def _parts(n: int) -> Iterator[slice]:
    """Slices of a few thousand: a block of them is a small part of a large matrix."""
    return (slice(start, min(start + AT_A_TIME, n)) for start in range(0, n, AT_A_TIME))


def _columns(values: npt.NDArray[Any], left_out: npt.NDArray[np.bool_]) -> Iterator[np.ndarray]:
    for part in _parts(values.shape[1]):
        yield from np.ascontiguousarray(values[:, part].T)[~left_out[part]]


def _groups(rows: Iterable[np.ndarray]) -> list[list[int]]:
    """Positions of rows that occur more than once, by content."""
    places: dict[bytes, list[int]] = defaultdict(list)
    for position, row in enumerate(rows):
        places[hashlib.blake2b(row.tobytes(), digest_size=16).digest()].append(position)
    return [group for group in places.values() if len(group) > 1]


def near_pairs(scores: ScoreMatrix) -> npt.NDArray[np.bool_]:
    """Which two different models answer almost alike; see :class:`Quality`.

    Returns
    -------
    bool array of shape (n_models, n_models), symmetric; nothing in it where scores are graded
    """
    if scores.kind != "correctness":
        return np.zeros((scores.n_models, scores.n_models), dtype=bool)
    step = max(1, scores.n_items // SAMPLE_ITEMS)
    right = scores.values[:, ::step].astype(np.float32)
    n_items = right.shape[1]
    count = right.sum(axis=1)
    # Models that differ on few items have almost the same number of right answers: in that order
    # a model is compared with its neighbours alone, which leaves few of all pairs.
    order = np.argsort(count, kind="stable")
    right, count = right[order], count[order]
    near = np.zeros((len(right), len(right)), dtype=bool)
    for start in range(0, len(right), NEIGHBOURS):
        these = slice(start, start + NEIGHBOURS)
        most = MAX_DIFFERENT * n_items
        low = int(np.searchsorted(count, count[these][0] - most, side="left"))
        high = int(np.searchsorted(count, count[these][-1] + most, side="right"))
        those = slice(low, high)
        both_right = right[these] @ right[those].T
        either_right = count[these][:, None] + count[those] - both_right
        both_wrong, either_wrong = n_items - either_right, n_items - both_right
        found = either_wrong - both_wrong <= most
        found &= both_wrong >= MIN_SHARED * either_wrong
        near[np.ix_(order[these], order[those])] = found
    np.fill_diagonal(near, val=False)
    return near


def distinct_models(scores: ScoreMatrix) -> ScoreMatrix:
    """One model of every group of copies and near copies, the first in the order of the matrix."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415  # slow to import

    alike = near_pairs(scores)
    first: dict[bytes, int] = {}
    for row, answers in enumerate(scores.values):
        # Adding 0 turns -0.0 into 0.0, which are equal scores.
        alike[row, first.setdefault((answers + 0).tobytes(), row)] = True
    _, group = connected_components(alike, directed=False)
    rows = np.unique(group, return_index=True)[1]
    return scores.restrict(models=[scores.models[row] for row in sorted(rows.tolist())])


def _near_copies(scores: ScoreMatrix) -> set[str]:
    near = near_pairs(scores)
    return {scores.models[row] for row in np.flatnonzero(near.any(axis=1))}
