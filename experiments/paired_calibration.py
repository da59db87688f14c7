"""Intervals and probabilities of mdad.paired against random subsets of real data.

Each run draws models and a uniform random subset of the items. Counted are: the full scores inside
their 95 % interval, the full-score gaps inside theirs, and, of the pairs called better (probability
0.95 or more), those that are worse, with the prior on gaps and without. Pairs tied on the full
benchmark have no right order and are left out of the last. Errors are standard errors over runs.

    python experiments/paired_calibration.py FOLDER_OF_MATRICES [--runs 200] [--models 15]
"""

from __future__ import annotations

import argparse
import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from closed_form import NAMES, read

from mdad._moments import excess_kurtosis
from mdad._rng import Stream
from mdad.paired import full_score_interval, paired_interval

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

SIZES = (10, 25, 50, 100, 200)


def one_run(scores: ScoreMatrix, size: int, n_models: int, stream: Stream) -> np.ndarray:
    """Counts: full scores, held, gaps, held; with the prior, then without: called, wrong."""
    rng = stream.rng()
    models = rng.choice(scores.n_models, min(n_models, scores.n_models), replace=False)
    items = rng.choice(scores.n_items, size, replace=False)
    full = scores.full_scores()[models]
    seen = scores.values[models][:, items].astype(float)
    n, bounds = scores.n_items, scores.score_range
    counts = np.zeros(8)
    for row, truth in zip(seen, full, strict=True):
        variance = None if scores.kind == "correctness" else float(row.var(ddof=1))
        tails = 0.0 if variance is None else excess_kurtosis(row)
        found = full_score_interval(
            row.mean(), size, n, variance=variance, kurtosis=tails, score_range=bounds
        )
        counts[:2] += 1, found.low - 1e-12 <= truth <= found.high + 1e-12
    for i, j in itertools.combinations(range(len(models)), 2):
        gap = full[i] - full[j]
        for column, gap_sd in ((4, None), (6, math.inf)):
            pair = paired_interval(seen[i], seen[j], n, score_range=bounds, gap_sd=gap_sd)
            if max(pair.a_better, pair.b_better) >= 0.95 and abs(gap) > 1e-12:
                counts[column : column + 2] += 1, (pair.a_better > 0.5) != (gap > 0)
        counts[2:4] += 1, pair.low - 1e-12 <= gap <= pair.high + 1e-12
    return counts


def ratio(parts: np.ndarray, whole: np.ndarray) -> str:
    """Percent, and its standard error over runs (delta method for a ratio of sums)."""
    if whole.sum() == 0:
        return f"{'none':>12}"
    share = parts.sum() / whole.sum()
    error = np.sqrt(((parts - share * whole) ** 2).sum()) / whole.sum()
    return f"{100 * share:6.1f} ({100 * error:3.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="calibration of paired intervals")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--models", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(f"Percent (standard error by runs), {args.runs} runs of {args.models} models")
    print("matrix            size  score held   gap held    better  of them wrong | flat  wrong")
    for name in NAMES:
        scores = read(args.folder, name)
        for size in (k for k in SIZES if k < scores.n_items * 0.75):
            streams = [Stream(args.seed, ("paired", name, size, run)) for run in range(args.runs)]
            c = np.array([one_run(scores, size, args.models, stream) for stream in streams])
            cells = [(1, 0), (3, 2), (4, 2), (5, 4), (6, 2), (7, 6)]
            shown = "  ".join(ratio(c[:, part], c[:, whole]) for part, whole in cells)
            print(f"{name:18}{size:4}  {shown}", flush=True)


if __name__ == "__main__":
    main()
