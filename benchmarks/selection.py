"""Core-seconds of the designs and of `auto` at the size of MMLU-Pro.

    python benchmarks/selection.py [--repeats 3] [--methods c-optimal,auto]

300 simulated source models, 6,012 seen items, seven sizes of one run; median of the repeats, one
thread. "size 10" is what a user who asks for that alone waits for.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from mdad._rng import Stream
from mdad.datasets import simulate_population
from mdad.methods import make_method

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

SIZES = (10, 25, 50, 100, 250, 500, 1000)
BAR = {"c-optimal": 2.0, "auto": 30.0, "auto-ability": 30.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--methods", default="c-optimal,c-optimal-factor,auto,auto-ability")
    args = parser.parse_args()
    population = simulate_population(subtasks={"one": 3000, "two": 3012}, seed=8)
    print(f"{'method':18} {'size 10':>8} {'all':>6} {'aim':>5}")
    for method in args.methods.split(","):
        # Learned parts are kept with a matrix, so every repeat has one of its own.
        found = [
            seconds(population.scores(population.draw_models(300, seed=repeat)), method)
            for repeat in range(args.repeats)
        ]
        first, total = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"{method:18} {first:8.2f} {total:6.2f} {BAR.get(method, 2.0):5.1f}", flush=True)


def seconds(scores: ScoreMatrix, method: str) -> tuple[float, float]:
    """Process seconds of the smallest size, and of all."""
    with threadpool_limits(1):
        start = time.process_time()
        build = make_method(method).prepare(scores, aggregate="micro", stream=Stream(0))
        build(SIZES[0])
        first = time.process_time()
        for size in SIZES[1:]:
            build(size)
        return first - start, time.process_time() - start


if __name__ == "__main__":
    main()
