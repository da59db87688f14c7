"""What the report of a large audit costs: 12 methods x 7 sizes x 3 splits, 50 runs, 50 targets.

The aims are 5 seconds on one core for the page, from a summary, and less than 2 MB. The summary
(measures with 1,000 resamples, curves) is timed beside it.

    OPENBLAS_NUM_THREADS=1 python benchmarks/report.py [--out report.html]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

# Before numpy is imported: one thread, to time one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from mdad.auditing import Audit
from mdad.experiment import Experiment, Run
from mdad.methods import METHODS
from mdad.report.html import render
from mdad.results import Results, ScoresFacts, Spec

if TYPE_CHECKING:
    from mdad.experiment import SplitKind

SIZES = (10, 25, 50, 100, 250, 500, 1000)
N_MODELS, N_TARGET, RUNS, N_METHODS = 470, 50, 50, 12
HALF = 6016
SPREAD = {"random": 1.0, "grouped": 1.0, "frontier": 0.4}
"""How wide the ability of the targets spreads: the best models are closer to one another."""


def made_up(kind: SplitKind, seed: int, n_runs: int = RUNS) -> Results:
    """Estimates around full scores, better ones from later methods, spread like a leaderboard's."""
    rng = np.random.default_rng(seed)
    ability = 0.4 + SPREAD[kind] * (rng.beta(4, 6, N_MODELS) - 0.4)
    skill = np.linspace(1.0, 0.5, N_METHODS)[:, None, None]
    sizes = np.array(SIZES)[None, :, None]
    runs = []
    for number in range(n_runs):
        target = np.sort(rng.choice(N_MODELS, N_TARGET, replace=False))
        right = rng.binomial(HALF, ability[target], (2, N_TARGET))
        full = np.vstack([right / HALF, right.sum(axis=0) / (2 * HALF)])
        error = skill * rng.normal(0, 0.45, (N_METHODS, len(SIZES), N_TARGET)) / np.sqrt(sizes)
        models = tuple([f"model-{i:03d}" for i in target])
        estimates = full[0] + error
        empty = np.full(estimates.shape, np.nan)
        runs.append(Run(number, models, estimates, empty, full, (HALF, HALF, 2 * HALF)))
    experiment = Experiment(
        methods=tuple(METHODS)[:N_METHODS],
        sizes=SIZES,
        runs=n_runs,
        n_source=300,
        n_target=N_TARGET,
        split=kind,
    )
    facts = ScoresFacts(
        name="made up",
        simulated=True,
        kind="correctness",
        score_range=(0.0, 1.0),
        n_models=N_MODELS,
        n_items=2 * HALF,
        n_subtasks=0,
        data_fingerprint="",
        items_fingerprint="",
    )
    return Results(Spec(experiment, facts), tuple(runs))


def since(wall: float, processor: float) -> str:
    """Wall and processor seconds."""
    return f"{time.perf_counter() - wall:.1f} s ({time.process_time() - processor:.1f} s of a core)"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    first, *further = (made_up(kind, seed) for seed, kind in enumerate(SPREAD))
    # Imports are paid once per process, not per report.
    render(Audit(made_up("random", 0, n_runs=2)).summary())

    started = time.perf_counter(), time.process_time()
    summary = Audit(first, tuple(further)).summary()
    print(f"summary of {N_METHODS} x {len(SIZES)} x {len(SPREAD)}: {since(*started)}")
    started = time.perf_counter(), time.process_time()
    page = render(summary)
    print(f"page: {since(*started)}, {len(page.encode()) / 1e6:.2f} MB")
    assert render(summary) == page
    if options.out is not None:
        options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
