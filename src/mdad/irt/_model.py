"""What a fit of the item response model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice
from mdad.irt._newton import sigmoid

if TYPE_CHECKING:
    from mdad.irt._fit import Prior

FloatArray = npt.NDArray[np.float64]

Scale = Literal["paper", "logit"]
"""How item parameters are put side by side; see :meth:`IrtFit.item_parameters`."""


@dataclass(frozen=True, eq=False)
class IrtFit:
    """A fitted multidimensional 2PL, ``P(right) = sigmoid(sum_d (a_d theta_d - b))``.

    Abilities are centred and white over the fitted models (mean 0, variance 1, uncorrelated),
    discriminations of different dimensions are orthogonal, dimensions come in the order of their
    strength, and each ability rises with accuracy. That fixes location, scale, rotation and signs,
    which the likelihood leaves open. A dimension the scores do not support is 0 throughout.

    Parameters
    ----------
    models, items : ids
    discrimination : a, array of shape (n_items, dims), in logits per standard deviation of ability
    difficulty : b, array of shape (n_items,), at 1/dims of the logit scale as in the paper
    ability : theta, array of shape (n_models, dims)
    log_likelihood : of the scored cells, summed
    objective : log posterior density that the fit maximises, up to a constant; see :func:`fit`
    n_scored : number of scored cells
    prior : the priors used
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    discrimination: FloatArray
    difficulty: FloatArray
    ability: FloatArray
    log_likelihood: float
    objective: float
    n_scored: int
    prior: Prior

    @property
    def dims(self) -> int:
        """Number of ability dimensions, D."""
        return int(self.discrimination.shape[1])

    @property
    def logit_difficulty(self) -> FloatArray:
        """D b, shape (n_items,): the logit of being wrong for a model of average ability."""
        return self.difficulty * self.dims

    @property
    def slope(self) -> FloatArray:
        """Each item's discrimination in the direction in which accuracy rises, shape (n_items,).

        The direction is the gradient of the mean probability at the average ability.
        """
        chance = sigmoid(-self.logit_difficulty)
        gradient = (chance * (1 - chance)) @ self.discrimination
        length = np.linalg.norm(gradient)
        direction = gradient / length if length > 0 else gradient
        product: FloatArray = self.discrimination @ direction
        return product

    @property
    def negative_items(self) -> tuple[str, ...]:
        """Items that more accurate models fail more often; kept in the fit."""
        return tuple([self.items[i] for i in np.flatnonzero(self.slope < 0).tolist()])

    def predict(self, ability: FloatArray | None = None) -> FloatArray:
        """Probability of a right answer.

        Parameters
        ----------
        ability : array of shape (n_models, dims); the fitted models' when not given

        Returns
        -------
        array of shape (n_models, n_items)
        """
        theta = self.ability if ability is None else np.asarray(ability, dtype=np.float64)
        result: FloatArray = sigmoid(theta @ self.discrimination.T - self.logit_difficulty)
        return result

    def item_parameters(self, scale: Scale = "paper") -> FloatArray:
        """Discriminations and difficulty side by side: the space in which items are clustered.

        Parameters
        ----------
        scale : "paper": b at 1/D of the logit scale, and each a_d divided by the root of its
            standard deviation over items. (With the same Gamma prior on the precisions of theta_d
            and a_d, as in the paper, both get the same spread.) "logit": a and D b as they act on
            the logit; the squared distance of two items is then the mean squared difference of
            their logits over the models.

        Returns
        -------
        array of shape (n_items, dims + 1)
        """
        check_choice("scale", scale, get_args(Scale))
        if scale == "logit":
            return np.column_stack([self.discrimination, self.logit_difficulty])
        spread = np.sqrt(self.discrimination.std(axis=0))
        balanced = self.discrimination / np.where(spread > 0, spread, 1)
        return np.column_stack([balanced, self.difficulty])
