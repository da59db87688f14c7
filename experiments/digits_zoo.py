"""MDAD of random items on the bundled data, by simulation and in closed form.

The audit draws a seen half of the items in every run; the closed form is worked out for all pairs
of models on the seen halves of the first runs and averaged. Intervals resample models and runs.

    python experiments/digits_zoo.py > experiments/digits_zoo.md
"""

from __future__ import annotations

import numpy as np

import mdad
from mdad import planning
from mdad._rng import Stream
from mdad.splits import draw_split

SIZES = (10, 25, 50, 100, 250)
HALVES = 5
SEED = 0


def closed_form(scores: mdad.ScoreMatrix) -> dict[int, float]:
    """MDAD of every size in points, mean over seen halves."""
    found: dict[int, list[float]] = {size: [] for size in SIZES}
    for run in range(HALVES):
        stream = Stream(SEED).child("run", run).child("split")
        half = scores.restrict(
            items=draw_split(scores, n_source=300, n_target=50, stream=stream).seen
        )
        for size in SIZES:
            found[size].append(100 * (planning.mdad(size, scores=half) or np.nan))
    return {size: float(np.mean(values)) for size, values in found.items()}


def main() -> None:
    scores = mdad.datasets.load("digits-zoo")
    audit = mdad.audit(scores, methods=["random"], sizes=SIZES, seed=SEED)
    table = audit.mdad(items=["seen"])
    closed = closed_form(scores)
    print("# Random items on digits-zoo: simulation beside the closed form\n")
    print("`python experiments/digits_zoo.py`: 50 runs, seed 0, seen items, MDAD in points.\n")
    print("| items | audit | 95 % interval | closed form |")
    print("|---|---|---|---|")
    for row in table.itertuples():
        value, low, high = 100 * row.mdad, 100 * row.low, 100 * row.high
        print(f"| {row.size} | {value:.1f} | {low:.1f} to {high:.1f} | {closed[row.size]:.1f} |")


if __name__ == "__main__":
    main()
