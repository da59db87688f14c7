"""Score matrices to try things on: simulated ones with known truth, and a bundled real one."""

from mdad.datasets._bundled import OptionProbabilities
from mdad.datasets._draws import SimulatedModels
from mdad.datasets._population import Population
from mdad.datasets._registry import (
    DATASETS,
    DatasetInfo,
    load,
    load_option_probabilities,
    names,
)
from mdad.datasets._settings import SimulationSettings
from mdad.datasets._simulate import simulate, simulate_population

__all__ = [
    "DATASETS",
    "DatasetInfo",
    "OptionProbabilities",
    "Population",
    "SimulatedModels",
    "SimulationSettings",
    "load",
    "load_option_probabilities",
    "names",
    "simulate",
    "simulate_population",
]
