"""How alike items are: distances from the correlation of what source models did on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mdad._checks import counted, listed
from mdad.errors import MethodError
from mdad.selectors._signal import source_signal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdad.scores import ScoreMatrix

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
Part = slice | IntArray

Joined = Literal["each", "sum"]
"""Absolute value of the correlation of each option, or of their sum (the paper's form)."""

BLOCK = 512
"""Items at a time: a block of distances to all others is a small part of their matrix."""


class Geometry(Protocol):
    """Distances between items, made when asked for."""

    @property
    def varies(self) -> BoolArray:
        """Of shape (n_items,): whether source models differ on the item."""
        ...

    def between(self, rows: Part, columns: Part) -> Float32Array:
        """Distances of some items to some others, shape (n_rows, n_columns)."""
        ...

    def take(self, positions: IntArray) -> Geometry:
        """The same for some of the items."""
        ...


@dataclass(frozen=True, eq=False)
class Correlations:
    """Distance 1 - r, in [0, 2], r the Pearson correlation of two items over source models.

    A constant item has no correlation; its distance to every item is 1.

    Parameters
    ----------
    unit : float32 array of shape (n_items, n_models), rows centred and of length 1 or 0
    """

    unit: Float32Array

    @classmethod
    def of(cls, scores: ScoreMatrix) -> Correlations:
        """From the probabilities of source models, or their values where there are none.

        Raises
        ------
        MethodError
            when there is one source model only: no item has a correlation then.
        """
        _check_models(scores, "anchor-points")
        signal = source_signal(scores)
        unit = np.empty(signal.shape[::-1], dtype=np.float32)
        for part in blocks(len(unit)):
            unit[part] = unit_rows(signal[:, part].T)[0]
        return cls(unit)

    @property
    def varies(self) -> BoolArray:
        """See :class:`Geometry`."""
        found: BoolArray = np.logical_or.reduce(self.unit != 0, axis=1)
        return found

    def between(self, rows: Part, columns: Part) -> Float32Array:
        """See :class:`Geometry`."""
        found: Float32Array = self.unit[rows] @ self.unit[columns].T
        np.subtract(1, found, out=found)
        # Rounding makes the distance of equal items a little less than 0.
        return np.maximum(found, 0, out=found)

    def take(self, positions: IntArray) -> Correlations:
        """See :class:`Geometry`."""
        return Correlations(self.unit[positions])


@dataclass(frozen=True, eq=False)
class OptionLogits:
    """Distance 1 - mean of |r| over options, in [0, 1], r the correlation of the option's logits.

    An option that is constant or that one of the items does not have adds 0; the mean is over the
    options of the item that has more.

    Parameters
    ----------
    unit : float32 array of shape (n_options, n_items, n_models), the logits of each option of each
        item over source models, centred and of length 1 or 0
    mean, norm : float arrays of shape (n_options, n_items): mean of the logits, and length before
        it was made 1 (root of the sum of squares)
    present : bool array of shape (n_options, n_items), whether the item has the option
    joined : how options are joined: "each", or "sum" for 1 - |sum of r| / options
    """

    unit: Float32Array
    mean: Float32Array
    norm: Float32Array
    present: BoolArray
    joined: Joined = "each"

    @property
    def varies(self) -> BoolArray:
        """See :class:`Geometry`."""
        found: BoolArray = np.logical_or.reduce(self.norm > 0, axis=0)
        return found

    def between(self, rows: Part, columns: Part) -> Float32Array:
        """See :class:`Geometry`."""
        options = self.present.sum(axis=0, dtype=np.float32)
        total = np.zeros((len(options[rows]), len(options[columns])), dtype=np.float32)
        for unit in self.unit:
            found = unit[rows] @ unit[columns].T
            total += np.abs(found, out=found) if self.joined == "each" else found
        np.abs(total, out=total)
        total /= np.maximum(options[rows][:, None], options[columns])
        np.subtract(1, total, out=total)
        return np.maximum(total, 0, out=total)

    def take(self, positions: IntArray) -> OptionLogits:
        """See :class:`Geometry`."""
        return OptionLogits(
            self.unit[:, positions],
            self.mean[:, positions],
            self.norm[:, positions],
            self.present[:, positions],
            self.joined,
        )


def logits(probabilities: npt.NDArray[np.floating], clip: float) -> Float32Array:
    """log(p / (1 - p)) of p kept in [clip, 1 - clip]; NaN stays NaN.

    >>> logits(np.array([0.0, 0.5, 1.0]), 1e-5).round(1).tolist()
    [-11.5, 0.0, 11.5]
    """
    kept = np.clip(probabilities, clip, 1 - clip).astype(np.float64)
    found: Float32Array = (np.log(kept) - np.log1p(-kept)).astype(np.float32)
    return found


_KNOWN: WeakKeyDictionary[ScoreMatrix, dict[float, OptionLogits]] = WeakKeyDictionary()


def option_logits(scores: ScoreMatrix, clip: float) -> OptionLogits:
    """The logits of source models, made ready once for a matrix and forgotten with it.

    Parameters
    ----------
    scores : source models x seen items, with probabilities of every option
    clip : probabilities are kept in [clip, 1 - clip], for the logit of 0 is infinite

    Raises
    ------
    MethodError
        when there are no probabilities of every option, or some are unknown; when the scores are
        graded or those of one model.
    """
    known = _KNOWN.setdefault(scores, {})
    if clip not in known:
        known[clip] = _option_logits(scores, clip)
    return known[clip]


def _check_models(scores: ScoreMatrix, method: str) -> None:
    if scores.n_models == 1:
        raise MethodError(
            f"{method} correlates items over source models and needs the scores of two or more; "
            "got one."
        )


def _option_logits(scores: ScoreMatrix, clip: float) -> OptionLogits:
    layer = scores.option_probabilities
    if layer is None:
        raise MethodError(
            "anchor-points-predictor needs the probability of every option of every item, which "
            "these scores do not have (ScoreMatrix(..., option_probabilities=..., "
            "right_options=...)). anchor-points does without."
        )
    if scores.kind != "correctness":
        raise MethodError(
            "anchor-points-predictor predicts right or wrong and these scores are graded; use "
            "anchor-points."
        )
    _check_models(scores, "anchor-points-predictor")
    n_models, n_items, n_options = layer.shape
    unit = np.empty((n_options, n_items, n_models), dtype=np.float32)
    mean = np.empty((n_options, n_items), dtype=np.float32)
    norm, present = np.empty_like(mean), np.empty(mean.shape, dtype=bool)
    for part in blocks(n_items):
        block = np.ascontiguousarray(layer[:, part].transpose(2, 1, 0))
        present[:, part] = _present(block, scores.items[part])
        found = logits(block, clip)
        found[~present[:, part]] = 0
        unit[:, part], mean[:, part], norm[:, part] = unit_rows(found)
    return OptionLogits(unit, mean, norm, present)


def _present(block: Float32Array, items: tuple[str, ...]) -> BoolArray:
    absent = np.isnan(block)
    share = absent.mean(axis=2)
    present: BoolArray = share == 0
    some = np.flatnonzero(((share > 0) & (share < 1)).any(axis=0))
    if some.size:
        raise MethodError(
            f"an option's probability is known for some source models only, on "
            f"{counted(some.size, 'item')}: {listed(items[i] for i in some)}. Leave those items or "
            "models out; NaN says that an item has no such option."
        )
    return present


def unit_rows(
    rows: npt.NDArray[np.floating],
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.floating], npt.NDArray[np.floating]]:
    """Vectors along the last axis centred and of length 1, their means and lengths before.

    A constant vector becomes 0 exactly, whatever rounding would leave of it.
    """
    mean = rows.mean(axis=-1)
    centred = rows - mean[..., None]
    centred[rows.max(axis=-1) == rows.min(axis=-1)] = 0
    norm = np.sqrt(np.einsum("...m,...m->...", centred, centred))
    centred /= np.where(norm > 0, norm, 1)[..., None]
    return centred, mean, norm


def blocks(n: int) -> Iterator[slice]:
    """Slices of at most 512 that make up ``range(n)``."""
    return (slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK))


def distance_matrix(geometry: Geometry, n: int) -> Float32Array:
    """All distances, shape (n, n): exactly symmetric and 0 on the diagonal.

    Only one half is computed; beside the result it takes the memory of one block.
    """
    distances = np.empty((n, n), dtype=np.float32)
    for part in blocks(n):
        rest = slice(part.start, n)
        distances[part, rest] = geometry.between(part, rest)
        square = distances[part, part]
        square[:] = np.minimum(square, square.T)
        distances[part.stop :, part] = distances[part, part.stop :].T
    np.fill_diagonal(distances, 0)
    return distances


def nearest(geometry: Geometry, n: int, anchors: IntArray) -> IntArray:
    """Place in ``anchors`` of the anchor nearest to each item, shape (n,).

    An anchor is nearest to itself, even where an equal item is an anchor too; of several anchors
    at one distance the first one counts.
    """
    found = np.empty(n, dtype=np.intp)
    for part in blocks(n):
        found[part] = geometry.between(part, anchors).argmin(axis=1)
    found[anchors] = np.arange(len(anchors))
    return found
