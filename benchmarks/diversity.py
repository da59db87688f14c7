"""Core-seconds of `stratified-confidence` and `diversity` at the size of MMLU-Pro.

    python benchmarks/diversity.py [--repeats 3]

300 simulated source models, 6,012 seen items, seven sizes of one run; median of the repeats, one
thread. Beside ours what the July 2025 snapshot took per run on two cores (wall seconds).
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
    from mdad.methods import Form
    from mdad.scores import ScoreMatrix

FORMS: tuple[Form, ...] = ("default", "paper")
SIZES = (10, 25, 50, 100, 250, 500, 1000)
SNAPSHOT = {"stratified-confidence": 7.4, "diversity": 53.7}
BAR = {"stratified-confidence": 0.3, "diversity": 5.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    population = simulate_population(subtasks={"one": 3000, "two": 3012}, seed=8)
    scores = population.scores(population.draw_models(300))
    print(
        f"{'method':22} {'form':8} {'prepare':>8} {'size 1000':>10} {'all':>6} {'aim':>5} snapshot"
    )
    for method, snapshot in SNAPSHOT.items():
        for form in FORMS:
            found = []
            for repeat in range(repeats):
                with threadpool_limits(1):
                    found.append(seconds(scores, method, form, repeat))
            prepare, largest, total = (statistics.median(each) for each in zip(*found, strict=True))
            print(
                f"{method:22} {form:8} {prepare:8.2f} {largest:10.2f} {total:6.2f} "
                f"{BAR[method]:5.1f} {snapshot:8.1f}"
            )


def seconds(
    scores: ScoreMatrix, method: str, form: Form, repeat: int
) -> tuple[float, float, float]:
    """Process seconds of preparing, of the largest size, and of everything."""
    start = time.process_time()
    build = make_method(method, form).prepare(scores, aggregate="micro", stream=Stream(repeat))
    prepared = time.process_time()
    for size in SIZES:
        before = time.process_time()
        assert build(size).selection.size == size
    end = time.process_time()
    return prepared - start, end - before, end - start


if __name__ == "__main__":
    main()
