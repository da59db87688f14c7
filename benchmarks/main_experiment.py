"""What the paper's main experiment costs: six methods, 7 sizes, at the size of MMLU-Pro.

Simulated 470 x 12,032 with probabilities, 300 source and 50 target models, 6,012 seen items. The
first table is processor seconds of one run on one thread, each method alone, beside what the July
2025 snapshot needs (reference/cost.md: wall seconds on two cores). Then the whole experiment.
The aims: 13 core-seconds per run for all six, 6 minutes and 2 GiB for 50 runs on two cores.

    python benchmarks/main_experiment.py [--runs 50] [--n-jobs 2]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import replace

from threadpoolctl import threadpool_limits

from mdad import measures
from mdad.datasets import simulate
from mdad.experiment import Experiment, run_once
from mdad.presets import PAPER_METHODS, preset_settings
from mdad.runner import run_experiment
from mdad.scores import Completed

REFERENCE = {
    "random": 2.1,
    "random-subtasks-equal": 4.2,
    "stratified-confidence": 7.4,
    "diversity": 53.7,
    "anchor-points": 32.3,
    "tinybenchmarks": 600.0,
}
TIMED_RUNS = 2


def peak(who: int) -> float:
    """GiB of resident memory at most."""
    return resource.getrusage(who).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    scores = simulate(preset="mmlu-pro", seed=0).sorted()
    settings = preset_settings("paper", scores, {"runs": options.runs})
    experiment = Experiment(**settings).resolve(scores)
    print("processor seconds per run, one thread, seven sizes")
    print(f"{'method':24}{'ours':>8}{'reference':>12}{'ratio':>8}")
    total = 0.0
    with threadpool_limits(limits=1):
        for name in PAPER_METHODS:
            alone = replace(experiment, methods=(name,))
            run_once(scores, alone, 0)  # imports and caches
            start = time.process_time()
            for number in range(1, TIMED_RUNS + 1):
                run_once(scores, alone, number)
            seconds = (time.process_time() - start) / TIMED_RUNS
            total += seconds
            ratio = REFERENCE[name] / seconds
            print(f"{name:24}{seconds:8.2f}{REFERENCE[name]:12.1f}{ratio:8.0f}", flush=True)
    print(f"{'all six':24}{total:8.2f}{sum(REFERENCE.values()):12.1f}")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        results = run_experiment(
            Completed(scores, (), ()), experiment, out=folder, n_jobs=options.n_jobs
        )
        seconds = time.perf_counter() - start
    print(f"\n{options.runs} runs, {options.n_jobs} workers: {seconds / 60:.1f} minutes")
    ours, workers = peak(resource.RUSAGE_SELF), peak(resource.RUSAGE_CHILDREN)
    print(f"peak GiB: this process {ours:.2f}, largest worker {workers:.2f}")
    start = time.perf_counter()
    measures.mdad(results)
    measures.agreement(results)
    measures.errors(results)
    print(f"measures, 1,000 resamples, seen and unseen: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
