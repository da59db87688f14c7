"""Drawing models whose full scores spread as the settings say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad._rng import Stream
from mdad.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

    from mdad.datasets._population import Population
    from mdad.datasets._settings import SimulationSettings

FloatArray = npt.NDArray[np.float32]

SIZES = (0.5, 1.0, 1.5, 3.0, 7.0, 8.0, 9.0, 13.0, 14.0, 27.0, 32.0, 70.0, 72.0, 120.0)
"""Model sizes to choose from, in billions of parameters."""

PROBE_ITEMS = 2048
"""Items used to find the ability that has an expected accuracy: within about .005 of all items."""

BISECTIONS = 24
WIDEST = 40.0
CEILING = 0.995
PARTICULAR_SD = 0.8
GROUP_SHIFT = 1.5
SHARPNESS, SHARPNESS_SD, COPY_SHARPNESS_SD = 0.6, 0.25, 0.02


@dataclass(frozen=True, eq=False)
class SimulatedModels:
    """Models drawn from a population, with what is true of them.

    Parameters
    ----------
    models : unique ids, n_models of them
    abilities : theta, float32 array of shape (n_models, n_dims)
    sharpness : float32 array of shape (n_models,): how strongly a margin shows in a model's
        probabilities; calibration differs between models
    copy_of : int array of shape (n_models,): row of the model it is a near copy of, or -1
    redraws : float32 array of shape (n_models,): share of items a near copy answers afresh
    info : data frame with columns size (billions of parameters), and family, group, copy_of
        where the settings have them
    """

    models: tuple[str, ...]
    abilities: FloatArray = field(repr=False)
    sharpness: FloatArray = field(repr=False)
    copy_of: npt.NDArray[np.intp] = field(repr=False)
    redraws: FloatArray = field(repr=False)
    info: pd.DataFrame = field(repr=False)

    def __len__(self) -> int:
        return len(self.models)


def draw_abilities(population: Population, n_models: int, seed: int) -> SimulatedModels:
    """Draw models: family, standing, profile and near copies, then the general ability."""
    settings, stream = population.settings, Stream(population.seed, ("simulate", "models", seed))
    group = stream.child("group").rng().permutation(n_models) % settings.groups
    family = stream.child("family").rng().permutation(n_models) % max(settings.families, 1)
    standing, profile = _standings(population, family, group, stream)
    target = target_accuracy(settings, standing, group, float(population.guessing.mean()))
    copy_of = _originals(settings, n_models, stream)
    source = np.where(copy_of < 0, np.arange(n_models), copy_of)
    standing, profile, target = standing[source], profile[source], target[source]
    general = ability_at(population, profile, target)
    rng = stream.child("calibration").rng()
    sharpness = SHARPNESS * np.exp(SHARPNESS_SD * rng.standard_normal(n_models)[source])
    sharpness *= np.exp(COPY_SHARPNESS_SD * rng.standard_normal(n_models) * (copy_of >= 0))
    redraws = stream.child("redraws").rng().random(n_models) * settings.copy_redraws
    models = tuple([f"sim{seed}-{row:04d}" for row in range(n_models)])
    return SimulatedModels(
        models,
        np.column_stack([general, profile]).astype(np.float32),
        sharpness.astype(np.float32),
        copy_of,
        np.where(copy_of < 0, 0, redraws).astype(np.float32),
        _info(settings, models, family[source], group[source], copy_of, standing, stream),
    )


def _standings(
    population: Population,
    family: npt.NDArray[np.intp],
    group: npt.NDArray[np.intp],
    stream: Stream,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Each model's place in the accuracy distribution (standard Normal) and its profile.

    A family's effect belongs to the population: models drawn later are of the same families.
    """
    settings = population.settings
    shared = Stream(population.seed, ("simulate", "families")).rng()
    shape = (max(settings.families, 1), settings.n_dims)
    effect = shared.standard_normal(shape)
    if settings.families > 1:
        # Few families would shift the mean accuracy by chance; standardised they do not.
        effect = (effect - effect.mean(axis=0)) / effect.std(axis=0)
    share = settings.family_effect if settings.families else 0.0
    own = stream.child("abilities").rng().standard_normal((len(family), settings.n_dims))
    mixed = np.sqrt(share) * effect[family] + np.sqrt(1 - share) * own
    shift = shared.standard_normal(settings.n_dims - 1) * GROUP_SHIFT
    return mixed[:, 0], PARTICULAR_SD * mixed[:, 1:] + group[:, None] * shift


def target_accuracy(
    settings: SimulationSettings,
    standing: npt.NDArray[np.float64],
    group: npt.NDArray[np.intp],
    floor: float,
) -> npt.NDArray[np.float64]:
    """Expected full score of each standing: a Beta distribution between guessing and 1.

    Raises
    ------
    SettingError
        when no such distribution has the mean and spread asked for.
    """
    from scipy.special import ndtr  # noqa: PLC0415  # imported late: start-up time
    from scipy.stats import beta  # noqa: PLC0415

    result = np.empty(len(standing))
    for which in range(settings.groups):
        offset = (which - (settings.groups - 1) / 2) * settings.group_gap
        mean = (settings.accuracy_mean + offset - floor) / (1 - floor)
        spread = settings.spread / (1 - floor)
        weight = mean * (1 - mean) / spread**2 - 1
        if not 0 < mean < 1 or weight <= 0:
            raise SettingError(
                f"no models can have a mean accuracy of {settings.accuracy_mean + offset:.3g} and "
                f"a standard deviation of {settings.spread:.3g}: guessing alone is right on "
                f"{floor:.3g} of the items. Raise accuracy_mean or n_options, or lower "
                "accuracy_sd or group_gap."
            )
        here = group == which
        drawn = beta.ppf(ndtr(standing[here]), mean * weight, (1 - mean) * weight)
        result[here] = floor + (1 - floor) * np.clip(drawn, 1 - CEILING, CEILING)
    return result


def _originals(settings: SimulationSettings, n_models: int, stream: Stream) -> npt.NDArray[np.intp]:
    """Row of the model that each near copy copies; -1 for the others."""
    copies = min(round(settings.near_copies * n_models), n_models - 1)
    rng = stream.child("copies").rng()
    order = rng.permutation(n_models)
    result = np.full(n_models, -1, dtype=np.intp)
    result[order[:copies]] = rng.choice(order[copies:], size=copies)
    return result


def ability_at(
    population: Population, profile: npt.NDArray[np.float64], target: npt.NDArray[np.float64]
) -> FloatArray:
    """General ability at which a model of this profile has the expected accuracy; bisection."""
    n_items = population.n_items
    probe = np.unique(np.linspace(0, n_items - 1, min(n_items, PROBE_ITEMS)).astype(np.intp))
    loading, guessing = population.discrimination[probe], population.guessing[probe]
    rest = profile.astype(np.float32) @ loading[:, 1:].T - population.difficulty[probe]
    low, high = np.full(len(target), -WIDEST, np.float32), np.full(len(target), WIDEST, np.float32)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        reached = guessed(middle[:, None] * loading[:, 0] + rest, guessing).mean(axis=1) >= target
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    result: FloatArray = ((low + high) / 2).astype(np.float32)
    return result


def guessed(logits: FloatArray, guessing: FloatArray) -> FloatArray:
    """Success probabilities of these logits with a guessing floor; overwrites the logits."""
    # Beyond 30 the sigmoid is flat in float32, and exp stays far from overflow.
    np.clip(logits, -30, 30, out=logits)
    np.exp(np.negative(logits, out=logits), out=logits)
    logits += 1
    np.divide(1 - guessing, logits, out=logits)
    logits += guessing
    return logits


def _info(
    settings: SimulationSettings,
    models: tuple[str, ...],
    family: npt.NDArray[np.intp],
    group: npt.NDArray[np.intp],
    copy_of: npt.NDArray[np.intp],
    standing: npt.NDArray[np.float64],
    stream: Stream,
) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415  # imported late: start-up time of the command

    columns: dict[str, Any] = {}
    if settings.families:
        columns["family"] = [f"family-{number + 1:02d}" for number in family]
    # Larger models stand higher, with exceptions.
    rank = standing + stream.child("size").rng().standard_normal(len(models))
    place = np.argsort(np.argsort(rank)) * len(SIZES) // len(models)
    columns["size"] = np.asarray(SIZES)[place]
    if settings.groups > 1:
        columns["group"] = np.asarray(["weak", "strong"])[group]
    if settings.near_copies:
        columns["copy_of"] = [models[row] if row >= 0 else "" for row in copy_of]
    return pd.DataFrame(columns, index=list(models))
