"""What the measures cost from stored results: 6 methods x 7 sizes, 50 runs, 50 target models.

Agreement, MDAD and errors, each with 1,000 resamples, seen and unseen. The aim is 2 seconds on one
core. The July 2025 snapshot takes 340 s for the same step, 330 of them its bootstrap, and 2.6 GiB.

    OPENBLAS_NUM_THREADS=1 python benchmarks/measures.py [--n-items 12032]
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from typing import TYPE_CHECKING

# Before numpy is imported: one thread, to time one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from mdad import measures
from mdad.experiment import Experiment, Run
from mdad.intervals import Interval
from mdad.methods import METHODS
from mdad.results import Results, ScoresFacts, Spec

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10, 25, 50, 100, 250, 500, 1000)
N_MODELS, N_TARGET, RUNS = 470, 50, 50
REFERENCE_SECONDS = 340


def made_up(n_items: int, methods: int = 6) -> Results:
    """Results with binomial estimates around full scores that spread like a leaderboard's."""
    rng = np.random.default_rng(0)
    ability = rng.beta(4, 6, N_MODELS)
    half = n_items // 2
    runs = []
    for number in range(RUNS):
        target = np.sort(rng.choice(N_MODELS, N_TARGET, replace=False))
        right = rng.binomial(half, ability[target], (2, N_TARGET))
        full = np.vstack([right / half, right.sum(axis=0) / (2 * half)])
        sizes = np.array(SIZES)[None, :, None]
        estimates = rng.binomial(sizes, full[0], (methods, len(SIZES), N_TARGET)) / sizes
        models = tuple([f"model-{i:03d}" for i in target])
        empty = np.full(estimates.shape, np.nan)
        runs.append(Run(number, models, estimates, empty, full, (half, half, 2 * half)))
    names = [*METHODS, *(f"another-{i}" for i in range(methods))][:methods]
    experiment = Experiment(sizes=SIZES, runs=RUNS, n_source=300, n_target=N_TARGET)
    object.__setattr__(experiment, "methods", tuple(names))  # they need not be registered here
    facts = ScoresFacts(
        name="made up",
        simulated=True,
        kind="correctness",
        score_range=(0.0, 1.0),
        n_models=N_MODELS,
        n_items=2 * half,
        n_subtasks=0,
        data_fingerprint="",
        items_fingerprint="",
    )
    return Results(Spec(experiment, facts), tuple(runs))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-items", type=int, default=12032)
    options = parser.parse_args()
    # Imports are paid once per process, not per measure.
    measures.mdad(made_up(200, methods=1), interval=Interval(n_resamples=2))
    print("| interval | step | wall s | processor s |")
    print("|---|---|---|---|")
    for unit in ("models", "runs"):
        results, total = made_up(options.n_items), np.zeros(2)
        interval = Interval(unit=unit, n_resamples=1000)
        steps = {
            "agreement": lambda i=interval, r=results: measures.agreement(r, interval=i),
            "MDAD, monotone": lambda i=interval, r=results: measures.mdad(r, interval=i),
            "errors, tau-b": lambda i=interval, r=results: measures.errors(r, interval=i),
        }
        for name, work in steps.items():
            seconds = np.array(timed(work))
            total += seconds
            print(f"| {unit} | {name} | {seconds[0]:.2f} | {seconds[1]:.2f} |")
        print(f"| {unit} | together | {total[0]:.2f} | {total[1]:.2f} |")
    print(f"| the July 2025 snapshot | all measures | {REFERENCE_SECONDS} | |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nOne thread (OPENBLAS_NUM_THREADS={os.environ['OPENBLAS_NUM_THREADS']}).")
    print(f"Peak memory {peak:,.0f} MiB; the snapshot's 2,660 MiB.")


if __name__ == "__main__":
    main()
