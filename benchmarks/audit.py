"""What an audit costs: three random methods, 7 sizes, 50 runs, on simulated 470 x 12,032.

14 subtasks, 300 source and 50 target models: the size of MMLU-Pro in the paper. The aim is 13
seconds or less on one core. The July 2025 snapshot needs 2.1 s per run for `random` and 4.2 s for
`random-subtasks-equal`, 315 s for 50 runs of these two, and 2 s more per task in its workers.

    OPENBLAS_NUM_THREADS=1 python benchmarks/audit.py [--runs 50]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

# Before numpy is imported: one thread, to time one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from mdad.datasets import simulate
from mdad.experiment import Experiment
from mdad.runner import run_experiment
from mdad.scores import Completed

METHODS = ("random", "random-subtasks-equal", "random-subtasks-proportional")
SIZES = (10, 25, 50, 100, 250, 500, 1000)
REFERENCE_SECONDS_PER_RUN = 2.1 + 4.2
HELP_RUNS = 5


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def help_seconds(command: str) -> float:
    """Fastest of five starts."""
    seconds = []
    for _ in range(HELP_RUNS):
        start = time.perf_counter()
        subprocess.run([command, "--help"], check=True, capture_output=True)  # noqa: S603
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    start = time.perf_counter()
    scores = simulate(preset="mmlu-pro", seed=0, probabilities=False)
    made = time.perf_counter() - start
    before = peak()
    experiment = Experiment(
        methods=METHODS, sizes=SIZES, runs=options.runs, n_source=300, n_target=50
    )
    with tempfile.TemporaryDirectory() as folder:
        wall, processor = time.perf_counter(), time.process_time()
        results = run_experiment(Completed(scores, (), ()), experiment, out=Path(folder) / "out")
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    assert len(results.runs) == options.runs
    print("| step | wall s | processor s |")
    print("|---|---|---|")
    print(f"| simulate {scores.n_models} x {scores.n_items:,} | {made:.1f} | |")
    print(f"| audit, {options.runs} runs, {len(METHODS)} methods | {wall:.1f} | {processor:.1f} |")
    reference = options.runs * REFERENCE_SECONDS_PER_RUN
    print(f"| the July 2025 snapshot, the first two methods | {reference:.0f} | |")
    command = shutil.which("mdad")
    if command:
        print(f"| mdad --help | {help_seconds(command):.2f} | |")
    print(f"\nOne thread (OPENBLAS_NUM_THREADS={os.environ['OPENBLAS_NUM_THREADS']}).")
    print(f"Peak memory {peak():,.0f} MiB, {before:,.0f} of it after making the scores.")


if __name__ == "__main__":
    main()
