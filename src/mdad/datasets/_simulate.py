"""Simulated benchmarks: multidimensional two-parameter logistic models with known truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mdad._checks import check_int
from mdad._rng import Stream
from mdad.datasets._population import Population
from mdad.datasets._settings import (
    SimulationOptions,
    SimulationSettings,
    proportional,
    settings_of,
)

if TYPE_CHECKING:
    from typing import Unpack

    import numpy.typing as npt

    from mdad.scores import ScoreMatrix

SUBTASK_DIFFICULTY_SD = 0.6
SUBTASK_SIZE_SD = 0.7
GENERAL_LOADING = 1.2
GENERAL_LOADING_SD = 0.45
"""Standard deviation of the logarithm of an item's loading on the general ability."""
PARTICULAR_LOADING = 1.4
GUESSING_WEIGHT = 12.0
"""How alike the guessing floors of items are: the sum of the parameters of their Beta."""


def simulate(
    *, preset: str | None = None, seed: int = 0, **options: Unpack[SimulationOptions]
) -> ScoreMatrix:
    """A simulated score matrix that looks like a leaderboard's.

    Models and items follow a multidimensional two-parameter logistic model,
    ``P(right) = sigmoid(sum_d a_d theta_d - b)``, above a guessing floor for multiple-choice
    items. The general ability of each model is solved for, so that expected full scores have
    the wanted mean and spread. Use :func:`simulate_population` where the truth is needed.

    Parameters
    ----------
    preset : "mmlu", "mmlu-pro", "bbh" or "gpqa": sizes, subtasks and options of the real one;
        settings given beside it take precedence
    seed : same seed and settings, same matrix
    options : settings by name, see :class:`SimulationSettings`

    Returns
    -------
    ScoreMatrix of n_models x n_items with 0/1 scores; ``simulated`` is True

    Raises
    ------
    SettingError
        when a preset or setting is unknown or cannot be met.

    Examples
    --------
    >>> simulate(n_models=40, n_items=200, subtasks=5, seed=1)
    <ScoreMatrix 'simulated benchmark' (simulated): 40 models x 200 items, \
correctness and probabilities, 5 subtasks>
    """
    population = simulate_population(preset=preset, seed=seed, **options)
    return population.scores(population.draw_models(seed=seed), seed=seed)


def simulate_population(
    *, preset: str | None = None, seed: int = 0, **options: Unpack[SimulationOptions]
) -> Population:
    """A benchmark with known item parameters, to draw any number of fresh models for.

    Parameters and errors are those of :func:`simulate`.

    Examples
    --------
    >>> population = simulate_population(n_items=200, seed=1)
    >>> models = population.draw_models(30, seed=5)
    >>> population.probability(models).shape
    (30, 200)
    >>> population.scores(models).n_models
    30
    """
    settings = settings_of(preset, options)
    check_int("seed", seed, 0)
    stream = Stream(seed, ("simulate", "items"))
    sizes = subtask_sizes(settings, stream)
    which = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    labels = np.repeat(np.array(list(sizes), dtype=object), list(sizes.values()))
    n_options = _options(settings, labels)
    named = settings.subtasks is not None
    return Population(
        items=_item_ids(sizes) if named else tuple([f"item-{i:05d}" for i in range(len(which))]),
        subtasks=tuple(labels.tolist()) if named else None,
        discrimination=_discrimination(settings, which, stream),
        difficulty=_difficulty(settings, which, stream),
        guessing=_guessing(settings, n_options, stream),
        n_options=n_options,
        # One strong distractor is more usual than many equal ones.
        rest=stream.child("distractors").rng().beta(1, 3, len(which)).astype(np.float32),
        settings=settings,
        seed=seed,
    )


def subtask_sizes(settings: SimulationSettings, stream: Stream) -> dict[str, int]:
    """Items of each subtask; one nameless subtask when there are none."""
    if isinstance(settings.subtasks, Mapping):
        return dict(settings.subtasks)
    if settings.subtasks is None:
        return {"": settings.total_items}
    number = settings.subtasks
    weights = np.exp(SUBTASK_SIZE_SD * stream.child("sizes").rng().standard_normal(number))
    sizes = proportional(settings.total_items, weights.tolist())
    return {f"subtask-{k + 1:02d}": size for k, size in enumerate(sizes)}


def _item_ids(sizes: dict[str, int]) -> tuple[str, ...]:
    return tuple([f"{name}/{k:04d}" for name, size in sizes.items() for k in range(size)])


def _options(
    settings: SimulationSettings, labels: npt.NDArray[np.object_]
) -> npt.NDArray[np.int64]:
    if isinstance(settings.n_options, Mapping):
        return np.array([settings.n_options[label] for label in labels], dtype=np.int64)
    return np.full(len(labels), settings.n_options or 0, dtype=np.int64)


def _discrimination(
    settings: SimulationSettings, which: npt.NDArray[np.intp], stream: Stream
) -> npt.NDArray[np.float32]:
    """Loadings: positive on the general ability, of either sign on the particular ones.

    The particular ones are alike within a subtask and weigh less the later they come.
    """
    rng = stream.child("discrimination").rng()
    n_items, n_particular = len(which), settings.n_dims - 1
    general = GENERAL_LOADING * np.exp(GENERAL_LOADING_SD * rng.standard_normal(n_items))
    centre = rng.standard_normal((int(which.max()) + 1, n_particular))
    own = rng.standard_normal((n_items, n_particular))
    scale = PARTICULAR_LOADING / np.sqrt(np.arange(1, n_particular + 1))
    particular = (centre[which] + own) / np.sqrt(2) * scale
    return np.column_stack([general, particular]).astype(np.float32)


def _difficulty(
    settings: SimulationSettings, which: npt.NDArray[np.intp], stream: Stream
) -> npt.NDArray[np.float32]:
    rng = stream.child("difficulty").rng()
    centre = SUBTASK_DIFFICULTY_SD * rng.standard_normal(int(which.max()) + 1)
    own = settings.difficulty_sd * rng.standard_normal(len(which))
    return (centre[which] + own).astype(np.float32)


def _guessing(
    settings: SimulationSettings, n_options: npt.NDArray[np.int64], stream: Stream
) -> npt.NDArray[np.float32]:
    """Guessing floors, on average guessing over the number of options; 0 for free answers.

    They differ by item because attractive wrong options draw guesses away.
    """
    chosen = (n_options > 0) & (settings.guessing > 0)
    mean = (settings.guessing or 1) / np.maximum(n_options, 2)
    rng = stream.child("guessing").rng()
    floors = rng.beta(GUESSING_WEIGHT * mean, GUESSING_WEIGHT * (1 - mean))
    return np.where(chosen, floors, 0).astype(np.float32)
