"""Core-seconds and peak memory of the item response methods at MMLU-Pro size, per run.

    python benchmarks/irt.py [--repeats 3]

300 source models x 6,012 seen items (simulated), seven sizes, one core; medians. Beside them the
reference's wall seconds per run on two cores (July 2025 snapshot; 2,000 epochs extrapolated).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from mdad._rng import Stream
from mdad.datasets import simulate_population
from mdad.experiment import estimate
from mdad.irt import fit, fit_ability
from mdad.methods import make_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad.scores import ScoreMatrix

SIZES = (10, 25, 50, 100, 250, 500, 1000)
REFERENCE = "525 to 670"
NOT_THERE = "-"


def matrices() -> tuple[ScoreMatrix, ScoreMatrix]:
    """300 source and 50 target models on 6,012 items."""
    population = simulate_population(preset="mmlu-pro", seed=1, probabilities=False)
    scores = population.scores(population.draw_models(350, seed=1), seed=1)
    scores = scores.restrict(items=scores.items[:6012])
    return scores.restrict(models=scores.models[:300]), scores.restrict(models=scores.models[300:])


def whole_run(method: str, source: ScoreMatrix, target: ScoreMatrix) -> None:
    # A matrix of its own, so that nothing is remembered from the last one.
    source = source.restrict(models=source.models)
    build = make_method(method).prepare(source, aggregate="micro", stream=Stream(0))
    for size in SIZES:
        assert np.isfinite(estimate(build(size), target).values).all()


def all_three(source: ScoreMatrix, target: ScoreMatrix) -> None:
    source = source.restrict(models=source.models)
    for method in ("tinybenchmarks", "tinybenchmarks-pirt", "tinybenchmarks-gpirt"):
        build = make_method(method).prepare(source, aggregate="micro", stream=Stream(0))
        for size in SIZES:
            estimate(build(size), target)


def timed(label: str, reference: str, work: Callable[[], object], repeats: int) -> None:
    seconds = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        seconds.append(time.process_time() - before)
    print(f"{label:48} {np.median(seconds):8.2f} {reference:>12}", flush=True)


def peak_gib() -> float:
    """Largest resident memory of this process so far, in GiB; NaN where it is not told."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    source, target = matrices()
    fitted = fit(source)
    print(f"{'step':48} {'seconds':>8} {'reference':>12}")
    with threadpool_limits(limits=1):
        timed("2PL fit, D = 10", REFERENCE, lambda: fit(source), repeats)
        few = source.items[:100]
        values = target.restrict(items=few).values
        timed(
            "abilities of 50 models on 100 items",
            NOT_THERE,
            lambda: fit_ability(fitted, values, few),
            repeats,
        )
        for name in ("tinybenchmarks", "tinybenchmarks-pirt", "tinybenchmarks-gpirt"):
            reference = REFERENCE if name == "tinybenchmarks" else NOT_THERE
            timed(
                f"{name}, 7 sizes",
                reference,
                lambda name=name: whole_run(name, source, target),
                repeats,
            )
        timed("all three in one run", NOT_THERE, lambda: all_three(source, target), repeats)
    print(f"peak memory {peak_gib():.2f} GiB (reference 1.6)")


if __name__ == "__main__":
    main()
