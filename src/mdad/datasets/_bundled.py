"""Reading digits-zoo, the real score matrix that comes with the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    import pandas as pd

STEPS = np.float32(65534)
"""Stored probabilities are whole steps of 1 / 65,534."""


@dataclass(frozen=True, eq=False)
class OptionProbabilities:
    """What models gave to every option of every item, not only to the right one.

    Parameters
    ----------
    probabilities : float32 array of shape (n_models, n_items, n_options), in [0, 1]; a model's
        answer is its most probable option, the first one when there is a tie
    models, items : ids, as in the score matrix of the same data set
    options : names of the options
    right : int array of shape (n_items,), position of the right option
    """

    probabilities: npt.NDArray[np.float32] = field(repr=False)
    models: tuple[str, ...] = field(repr=False)
    items: tuple[str, ...] = field(repr=False)
    options: tuple[str, ...]
    right: npt.NDArray[np.intp] = field(repr=False)


def load_digits_zoo() -> ScoreMatrix:
    """The scores of all classifiers on all test images, with both layers."""
    models, items = _table("models", "model"), _table("items", "item")
    with _arrays("digits-zoo.npz") as stored:
        values = np.unpackbits(stored["values"], axis=1, count=len(items))
        probabilities = stored["probabilities"] / STEPS
    return ScoreMatrix(
        values.view(np.int8),
        models.index.tolist(),
        items.index.tolist(),
        [f"digit {digit}" for digit in items["digit"]],
        probabilities,
        model_info=models,
        item_info=items.assign(source="scikit-learn digits"),
        name="digits-zoo",
    )


def load_digits_zoo_options() -> OptionProbabilities:
    """The probabilities of all ten digits, for classifiers spread over the accuracy range."""
    models, items = _table("models", "model"), _table("items", "item")
    with _arrays("digits-zoo.options.npz") as stored:
        probabilities = stored["probabilities"].astype(np.float32) / STEPS
        chosen = models.index[stored["rows"]]
    right = items["digit"].to_numpy(dtype=np.intp)
    for array in (probabilities, right):
        array.flags.writeable = False
    options = tuple([str(digit) for digit in range(probabilities.shape[2])])
    return OptionProbabilities(
        probabilities, tuple(chosen.tolist()), tuple(items.index.tolist()), options, right
    )


def load_digits_zoo_with_options() -> ScoreMatrix:
    """The scores of the classifiers whose probabilities of all ten digits are known."""
    options = load_digits_zoo_options()
    part = load_digits_zoo().restrict(models=options.models)
    return part._replace(
        name="digits-zoo-options",
        option_probabilities=options.probabilities,
        right_options=options.right,
    )


def _table(what: str, key: str) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415  # imported late: start-up time of the command

    with files("mdad.datasets").joinpath("data", f"digits-zoo.{what}.csv").open("rb") as file:
        # Hashes of digits only must stay text.
        return pd.read_csv(file, dtype={"content_hash": str}).set_index(key)


def _arrays(name: str) -> np.lib.npyio.NpzFile:
    # np.load closes a file that it opened itself; a package's data are files on disk here.
    path = files("mdad.datasets").joinpath("data", name)
    stored: np.lib.npyio.NpzFile = np.load(str(path), allow_pickle=False)
    return stored
