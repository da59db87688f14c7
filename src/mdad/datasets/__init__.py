"""Score matrices to try things on: simulated ones with known truth, and a bundled real one."""

from mdad.datasets._draws import SimulatedModels
from mdad.datasets._population import Population
from mdad.datasets._settings import SimulationSettings
from mdad.datasets._simulate import simulate, simulate_population

__all__ = [
    "Population",
    "SimulatedModels",
    "SimulationSettings",
    "simulate",
    "simulate_population",
]
