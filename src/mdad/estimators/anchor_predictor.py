"""Every item predicted right or wrong from the anchor point that resembles it most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad.errors import MethodError
from mdad.estimators._base import Estimates, FloatArray
from mdad.selectors._correlation import blocks, logits, nearest, option_logits
from mdad.selectors.anchor_points import CLIP

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.selectors import Selection
    from mdad.selectors._correlation import Joined, OptionLogits

Float32Array = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FittedPredictor:
    """A line from the logits of an anchor to those of each item that is predicted from it.

    Parameters
    ----------
    weights : array of shape (size,), weight of the observed score of each anchor
    present : bool array of shape (size, n_options), whether the anchor has the option
    places : int array of shape (n_predicted,), place of the item's anchor in the selection
    slopes, intercepts : float32 arrays of shape (n_predicted, n_options); an option that the item
        does not have has the intercept minus infinity and is never the answer
    right : int array of shape (n_predicted,), position of the right option
    predicted_weights : array of shape (n_predicted,); with ``weights`` it sums to 1
    clip : probabilities are kept in [clip, 1 - clip] before logits are taken
    """

    weights: FloatArray
    present: BoolArray
    places: IntArray
    slopes: Float32Array
    intercepts: Float32Array
    right: IntArray
    predicted_weights: FloatArray
    clip: float

    def estimate(
        self,
        values: npt.NDArray[Any],
        probabilities: npt.NDArray[Any] | None = None,  # noqa: ARG002  # part of the protocol
        options: npt.NDArray[Any] | None = None,
    ) -> Estimates:
        """Estimate full scores; see :class:`FittedEstimator`. There is no standard error.

        Raises
        ------
        MethodError
            when the probabilities of the options of an anchor are not known.
        """
        if options is None or (np.isnan(options) & self.present).any():
            raise MethodError(
                "anchor-points-predictor needs a model's probability of every option of every "
                "chosen item; some are unknown."
            )
        right = np.array([self.predict(one) for one in options], dtype=bool)
        right = right.reshape(len(values), -1)
        weights = np.concatenate([self.weights, self.predicted_weights])
        estimates = _weighted(np.concatenate([values, right], axis=1), weights)
        return Estimates(estimates, np.full(len(estimates), np.nan))

    def predict(self, options: npt.NDArray[Any]) -> BoolArray:
        """Whether one model is right on each predicted item, shape (n_predicted,).

        Parameters
        ----------
        options : array of shape (size, n_options), the model's probabilities on the anchors
        """
        # Where an anchor has no such option the slope is 0, and 0 times NaN would be NaN.
        anchors = np.where(self.present, logits(options, self.clip), 0)
        answers = (anchors[self.places] * self.slopes + self.intercepts).argmax(axis=1)
        right: BoolArray = answers == self.right
        return right


def _weighted(cells: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
    """Weighted sums of the rows; a weight of 0 leaves a column out."""
    cells, weights = cells[:, weights > 0], weights[weights > 0]
    if np.ptp(weights) == 0:
        # Equal numbers of right answers tie exactly.
        sums: FloatArray = cells.sum(axis=1, dtype=np.float64)
        return sums / len(weights)
    product: FloatArray = cells.astype(np.float64) @ weights
    return product


@dataclass(frozen=True)
class AnchorPredictor:
    """The score predicted on every item, and the observed one on the anchors.

    Each item that is not chosen is predicted from its nearest anchor: for every option the least
    squares line, over source models, from the anchor's logit of the option to the item's. The
    option with the largest predicted logit is the answer; of several the first.

    Parameters
    ----------
    joined, clip : see :class:`mdad.selectors.OptionAnchors`
    observed : whether the observed scores of the anchors are part of the mean. Without, it is over
        the predicted items alone (the paper's form).

    Notes
    -----
    When all items are chosen nothing is predicted, and the estimate is the full score (in both
    forms).
    """

    joined: Joined = "each"
    clip: float = CLIP
    observed: bool = True

    def fit(
        self, scores: ScoreMatrix, selection: Selection, *, aggregate: Aggregate
    ) -> FittedPredictor:
        """Fit the lines to source models x seen items.

        Raises
        ------
        MethodError
            when the scores have no probabilities of every option or are graded.
        """
        from threadpoolctl import threadpool_limits  # noqa: PLC0415  # slow to import

        source = replace(option_logits(scores, self.clip), joined=self.joined)
        anchors = np.array([scores.item_position[item] for item in selection.items], dtype=np.intp)
        with threadpool_limits(limits=1):
            places = nearest(source, scores.n_items, anchors)
        others = np.setdiff1d(np.arange(scores.n_items), anchors)
        slopes, intercepts = _lines(source, others, anchors[places[others]])
        weights = scores.item_weights(aggregate)
        kept = weights[anchors] * (self.observed or not others.size)
        total = kept.sum() + weights[others].sum()
        right = np.asarray(scores.right_options)
        return FittedPredictor(
            weights=kept / total,
            present=source.present[:, anchors].T,
            places=places[others],
            slopes=slopes,
            intercepts=intercepts,
            right=right[others],
            predicted_weights=weights[others] / total,
            clip=self.clip,
        )


def _lines(
    source: OptionLogits, items: IntArray, anchors: IntArray
) -> tuple[Float32Array, Float32Array]:
    """Slope and intercept of each item and option, both of shape (n_predicted, n_options).

    With vectors of length 1 the slope is r times the ratio of the lengths. Without a correlation
    the line is flat, at the mean of the item's logits.
    """
    shape = (len(items), len(source.unit))
    slopes, intercepts = np.empty(shape, np.float32), np.empty(shape, np.float32)
    for part in blocks(len(items)):
        item, anchor = items[part], anchors[part]
        r = np.einsum("oim,oim->oi", source.unit[:, item], source.unit[:, anchor])
        base = source.norm[:, anchor]
        slope = r * source.norm[:, item] / np.where(base > 0, base, 1)
        intercept = source.mean[:, item] - slope * source.mean[:, anchor]
        slopes[part] = slope.T
        intercepts[part] = np.where(source.present[:, item], intercept, -np.inf).T
    return slopes, intercepts
