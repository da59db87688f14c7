"""A benchmark whose truth is known, and the models that can be drawn to take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad._checks import check_int
from mdad._rng import Stream
from mdad.datasets._draws import SimulatedModels, draw_abilities, guessed
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdad.datasets._settings import SimulationSettings

FloatArray = npt.NDArray[np.float32]

BLOCK_CELLS = 2_000_000
"""Cells worked on at once: temporary arrays stay near 8 MB each."""

SMALLEST = np.float32(1e-6)
"""Keeps the logarithms of a probability and of a uniform draw finite."""


@dataclass(frozen=True, eq=False)
class Population:
    """Items with known parameters; fresh models can be drawn to answer the same items.

    A model with abilities theta is right on item i with probability
    ``c_i + (1 - c_i) * sigmoid(sum_d a_id theta_d - b_i)``.

    Parameters
    ----------
    items, subtasks : ids and labels, n_items each; subtasks may be None
    discrimination : a, float32 array of shape (n_items, n_dims)
    difficulty : b, float32 array of shape (n_items,)
    guessing : c, float32 array of shape (n_items,), in [0, 1)
    n_options : int array of shape (n_items,); 0 = free answer
    rest : float32 array of shape (n_items,), in [0, 1]: weight of each further wrong option
        against the strongest wrong one
    settings : what it was made with
    seed : the seed it was made with
    """

    items: tuple[str, ...]
    subtasks: tuple[str, ...] | None
    discrimination: FloatArray = field(repr=False)
    difficulty: FloatArray = field(repr=False)
    guessing: FloatArray = field(repr=False)
    n_options: npt.NDArray[np.int64] = field(repr=False)
    rest: FloatArray = field(repr=False)
    settings: SimulationSettings
    seed: int

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    def draw_models(self, n_models: int | None = None, seed: int = 0) -> SimulatedModels:
        """Fresh models from this population.

        Parameters
        ----------
        n_models : how many; the number in the settings when not given
        seed : draws of different seeds are independent and their ids differ

        Raises
        ------
        SettingError
            when the number or the seed is out of bounds, or the settings ask for accuracies
            that guessing alone exceeds.
        """
        number = check_int("n_models", n_models, 1) if n_models is not None else None
        return draw_abilities(self, number or self.settings.n_models, check_int("seed", seed, 0))

    def probability(self, models: SimulatedModels) -> FloatArray:
        """True probability that each model is right on each item.

        For a near copy it is the probability before it is known what its original answered.

        Returns
        -------
        float32 array of shape (n_models, n_items)
        """
        result = np.empty((len(models), self.n_items), dtype=np.float32)
        for rows in self._blocks(len(models)):
            result[rows] = self._probability(models.abilities[rows])
        return result

    def scores(self, models: SimulatedModels, seed: int = 0) -> ScoreMatrix:
        """What the models answer: independent draws with the true probabilities.

        Parameters
        ----------
        models : from :meth:`draw_models`
        seed : answers of different seeds are independent given the models

        Returns
        -------
        ScoreMatrix of 0/1 scores, with probabilities where the settings ask for them; a chosen
        option is always the most probable one
        """
        stream = Stream(self.seed, ("simulate", "answers", check_int("seed", seed, 0)))
        settings, shape = self.settings, (len(models), self.n_items)
        values = np.empty(shape, dtype=np.float32 if settings.missing else np.int8)
        layer = np.empty(shape, dtype=np.float32) if settings.probabilities else None
        for rows in self._blocks(len(models)):
            chance = self._probability(models.abilities[rows])
            draws = np.stack([self._uniform(models, row, stream) for row in _range(rows)])
            right = draws < chance
            values[rows] = right
            if layer is not None:
                layer[rows] = self._belief(chance, draws, right, models.sharpness[rows])
            if settings.missing:
                absent = self._absent(models, rows, stream)
                values[rows][absent] = np.nan
                if layer is not None:
                    layer[rows][absent] = np.nan
        return ScoreMatrix(
            values,
            models.models,
            self.items,
            self.subtasks,
            layer,
            model_info=models.info,
            item_info=self._item_info(),
            name=settings.name,
            simulated=True,
        )

    def _blocks(self, n_models: int) -> Iterator[slice]:
        step = max(1, BLOCK_CELLS // self.n_items)
        for start in range(0, n_models, step):
            yield slice(start, min(start + step, n_models))

    def _probability(self, abilities: FloatArray) -> FloatArray:
        logits = abilities @ self.discrimination.T - self.difficulty
        return guessed(logits, self.guessing)

    def _uniform(self, models: SimulatedModels, row: int, stream: Stream) -> FloatArray:
        # A model's numbers depend on its id alone, so blocks and other models change nothing.
        own = stream.child(models.models[row]).rng()
        original = models.copy_of[row]
        if original < 0:
            return own.random(self.n_items, dtype=np.float32)
        draws = self._uniform(models, int(original), stream)
        fresh = own.random(self.n_items, dtype=np.float32) < models.redraws[row]
        draws[fresh] = own.random(int(fresh.sum()), dtype=np.float32)
        return draws

    def _belief(
        self,
        chance: FloatArray,
        draws: FloatArray,
        right: npt.NDArray[np.bool_],
        sharpness: FloatArray,
    ) -> FloatArray:
        """Probability of the right option, from how narrowly the answer was right or wrong.

        The uniform draw that decides the answer is read as logistic noise on the margin between
        the right option and the strongest wrong one, so the sign of the margin is the answer.
        """
        chance = np.clip(chance, SMALLEST, 1 - SMALLEST)
        draws = np.clip(draws, SMALLEST, 1 - SMALLEST)
        margin = np.log(chance / (1 - chance)) - np.log(draws / (1 - draws))
        # Rounding may turn the sign of a margin near 0.
        margin = np.where(right, np.maximum(margin, SMALLEST), np.minimum(margin, -SMALLEST))
        others = 1 + self.rest * np.maximum(self.n_options - 2, 0).astype(np.float32)
        belief: FloatArray = 1 / (1 + others * np.exp(-sharpness[:, None] * margin))
        return belief

    def _absent(
        self, models: SimulatedModels, rows: slice, stream: Stream
    ) -> npt.NDArray[np.bool_]:
        share = self.settings.missing
        names = (models.models[row] for row in _range(rows))
        rngs = (stream.child("missing", name).rng() for name in names)
        return np.stack([rng.random(self.n_items, dtype=np.float32) < share for rng in rngs])

    def _item_info(self) -> Any:
        import pandas as pd  # noqa: PLC0415  # imported late: start-up time of the command

        table: dict[str, Any] = {"difficulty": self.difficulty, "guessing": self.guessing}
        if self.settings.n_options is not None:
            table["n_options"] = self.n_options
        return pd.DataFrame(table, index=list(self.items))


def _range(rows: slice) -> range:
    return range(rows.start, rows.stop)
