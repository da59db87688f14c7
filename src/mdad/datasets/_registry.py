"""One table of the data sets that come with the package, read by the command and the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad._checks import check_choice
from mdad.datasets._bundled import (
    OptionProbabilities,
    load_digits_zoo,
    load_digits_zoo_options,
    load_digits_zoo_with_options,
)
from mdad.datasets._presets import PRESETS
from mdad.datasets._settings import settings_of
from mdad.datasets._simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad.scores import ScoreMatrix


@dataclass(frozen=True)
class DatasetInfo:
    """What a data set is, in one line, and its size.

    Parameters
    ----------
    name : what :func:`load` takes
    summary : one line for a list of data sets
    n_models, n_items, n_subtasks : its size
    licence : under which it may be used
    simulated : whether the scores are made up
    options : whether :func:`load_option_probabilities` has it
    """

    name: str
    summary: str
    n_models: int
    n_items: int
    n_subtasks: int
    licence: str
    simulated: bool
    options: bool = False


def _preset_info(preset: str) -> DatasetInfo:
    settings = settings_of(preset, {})
    labels = settings.subtasks
    return DatasetInfo(
        name=f"simulated-{preset}",
        summary=f"simulated models on a simulated benchmark of the size of {preset}",
        n_models=settings.n_models,
        n_items=settings.total_items,
        n_subtasks=1 if labels is None else labels if isinstance(labels, int) else len(labels),
        licence="MIT, made on the fly",
        simulated=True,
    )


DATASETS: dict[str, DatasetInfo] = {
    "digits-zoo": DatasetInfo(
        name="digits-zoo",
        summary="real scores of scikit-learn classifiers on images of hand-written digits",
        n_models=480,
        n_items=899,
        n_subtasks=10,
        licence="scores MIT; images CC BY 4.0 (not included)",
        simulated=False,
        options=True,
    ),
    "digits-zoo-options": DatasetInfo(
        name="digits-zoo-options",
        summary="those of digits-zoo with probabilities of all ten digits, not only of the right",
        n_models=60,
        n_items=899,
        n_subtasks=10,
        licence="scores MIT; images CC BY 4.0 (not included)",
        simulated=False,
    ),
    **{f"simulated-{preset}": _preset_info(preset) for preset in PRESETS},
}
"""All data sets by name."""

_BUNDLED: dict[str, Callable[[], ScoreMatrix]] = {
    "digits-zoo": load_digits_zoo,
    "digits-zoo-options": load_digits_zoo_with_options,
}
_OPTIONS: dict[str, Callable[[], OptionProbabilities]] = {"digits-zoo": load_digits_zoo_options}


def names() -> list[str]:
    """Names of all data sets, bundled ones first."""
    return list(DATASETS)


def load(name: str) -> ScoreMatrix:
    """A data set by name.

    Parameters
    ----------
    name : one of :func:`names`; ``simulated-PRESET`` is ``simulate(preset=PRESET, seed=0)``

    Returns
    -------
    ScoreMatrix of 0/1 scores with probabilities of the right option ("digits-zoo-options": and of
    every option)

    Raises
    ------
    SettingError
        when there is no data set of that name.

    Examples
    --------
    >>> load("digits-zoo")
    <ScoreMatrix 'digits-zoo': 480 models x 899 items, correctness and probabilities, 10 subtasks>
    """
    check_choice("data set", name, DATASETS)
    if name in _BUNDLED:
        return _BUNDLED[name]()
    return simulate(preset=name.removeprefix("simulated-"))


def load_option_probabilities(name: str) -> OptionProbabilities:
    """The probabilities of every option, for some of the models of a data set.

    Returns
    -------
    OptionProbabilities; its models and items are ids of ``load(name)``

    Raises
    ------
    SettingError
        when there is no data set of that name that has them.
    """
    check_choice("data set with probabilities per option", name, _OPTIONS)
    return _OPTIONS[name]()
