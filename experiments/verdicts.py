"""Verdicts of ``compare`` on random subsets of real data, all pairs of models.

200 subsets of each size; every pair of models is compared on its own (no Holm: one question at a
time). Counted are the pairs called better, those of them that are worse or level on the full
benchmark, and the full scores inside their 95 % interval. Errors are standard errors by subsets.
For 0/1 scores all pairs are done at once with the formula of :func:`mdad.paired.paired_interval`,
and a sample of them is checked against :func:`mdad.compare` itself.

    python experiments/verdicts.py FOLDER_OF_MATRICES [--runs 200] > experiments/verdicts.md
"""

from __future__ import annotations

import argparse
import itertools
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from closed_form import NAMES, read
from scipy.special import ndtr

import mdad
from mdad._moments import excess_kurtosis
from mdad._rng import Stream
from mdad.microbenchmark import Benchmark, Made, Microbenchmark
from mdad.paired import GAP_SD, full_score_interval, paired_interval

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix

SIZES = (10, 25, 50, 100, 200)
CHECKED = 20
CAVEAT = """
The prior of 5 points behind P(better) and the degrees of freedom of graded intervals were chosen
looking at these same matrices (EvalPerf at 10 items covered 92.3 % before the latter), so the table
shows that they fit here, not that they hold on fresh data."""


def binary_better(part: np.ndarray, n_items: int) -> np.ndarray:
    """P(first better) of every ordered pair, shape (n_models, n_models)."""
    size = part.shape[1]
    part = part.astype(np.float64)
    right = part.sum(axis=1)
    lead = right[:, None] - right[None, :]
    differing = right[:, None] + right[None, :] - 2 * part @ part.T
    n = size + 2
    centre = lead / n
    se = np.sqrt(((differing + 2) / n - centre**2) / n * (1 - size / n_items))
    return ndtr(centre / se * GAP_SD / np.hypot(GAP_SD, se))


def graded_better(part: np.ndarray, scores: ScoreMatrix) -> np.ndarray:
    """The same for graded scores, a pair at a time."""
    n = len(part)
    better = np.full((n, n), 0.5)
    for i, j in itertools.combinations(range(n), 2):
        found = paired_interval(part[i], part[j], scores.n_items, score_range=scores.score_range)
        better[i, j], better[j, i] = found.a_better, found.b_better
    return better


@lru_cache(maxsize=100_000)
def interval(mean: float, size: int, n_items: int) -> tuple[float, float]:
    found = full_score_interval(mean, size, n_items)
    return found.low - 1e-12, found.high + 1e-12


def held(part: np.ndarray, full: np.ndarray, scores: ScoreMatrix) -> float:
    """Share of full scores inside their interval."""
    size, inside = part.shape[1], 0
    for row, truth in zip(part.astype(float), full, strict=True):
        if scores.kind == "correctness":
            low, high = interval(float(row.mean()), size, scores.n_items)
        else:
            found = full_score_interval(
                row.mean(),
                size,
                scores.n_items,
                variance=float(row.var(ddof=1)),
                kurtosis=excess_kurtosis(row),
                score_range=scores.score_range,
            )
            low, high = found.low - 1e-12, found.high + 1e-12
        inside += low <= truth <= high
    return inside / len(full)


def check(
    scores: ScoreMatrix, items: np.ndarray, better: np.ndarray, rng: np.random.Generator
) -> None:
    """The vectorised probabilities are those of compare()."""
    ids = tuple(scores.items[i] for i in items)
    benchmark = Benchmark("", scores.n_items, scores.items_fingerprint, scores.score_range)
    micro = Microbenchmark(ids, benchmark, Made("random", 0))
    part = scores.restrict(items=ids)
    for _ in range(CHECKED):
        i, j = rng.choice(scores.n_models, 2, replace=False)
        pair = mdad.compare(micro, part.restrict(models=[scores.models[i], scores.models[j]]))
        if abs(pair.pairs[0].a_better - better[i, j]) > 1e-9:
            raise SystemExit("the vectorised probabilities are not those of compare()")


def study(scores: ScoreMatrix, size: int, runs: int, stream: Stream) -> list[tuple[float, float]]:
    """Resolved, wrong among resolved, intervals that hold: means and standard errors."""
    full = scores.full_scores()
    order = np.sign(np.round(full[:, None] - full[None, :], 12))
    upper = np.triu(np.ones_like(order, dtype=bool), 1)
    counts = np.zeros((runs, 4))
    for run in range(runs):
        rng = stream.child(run).rng()
        items = rng.choice(scores.n_items, size, replace=False)
        part = scores.values[:, items]
        if scores.kind == "correctness":
            better = binary_better(part, scores.n_items)
        else:
            better = graded_better(part, scores)
        if run == 0:
            check(scores, items, better, rng)
        called = np.where(better >= 0.95, 1, np.where(better <= 0.05, -1, 0))
        decided = upper & (called != 0)
        wrong = decided & (called != order)
        counts[run] = upper.sum(), decided.sum(), wrong.sum(), held(part, full, scores)
    return [
        ratio(counts[:, 1], counts[:, 0]),
        ratio(counts[:, 2], counts[:, 1]),
        (counts[:, 3].mean(), counts[:, 3].std(ddof=1) / np.sqrt(runs)),
    ]


def ratio(part: np.ndarray, whole: np.ndarray) -> tuple[float, float]:
    """A ratio of sums over subsets and its standard error (delta method)."""
    if not whole.sum():
        return np.nan, np.nan
    share = part.sum() / whole.sum()
    return share, float(np.sqrt(((part - share * whole) ** 2).sum()) / whole.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description="verdicts on random subsets of real data")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("# Verdicts on random subsets\n")
    print(
        f"`python experiments/verdicts.py FOLDER --runs {args.runs} --seed {args.seed}`: per cent,"
    )
    print("standard error by subsets in brackets. Pairs tied on the full benchmark count as wrong")
    print("when one of them is called better.\n")
    print(
        "| matrix | items | of | pairs resolved | of them wrong | full scores in their interval |"
    )
    print("|---|---|---|---|---|---|")
    for name in NAMES:
        scores = read(args.folder, name)
        for size in (k for k in SIZES if k <= scores.n_items * 0.75):
            stream = Stream(args.seed, ("verdicts", name, size))
            cells = study(scores, size, args.runs, stream)
            shown = " | ".join(f"{100 * mean:.1f} ({100 * se:.1f})" for mean, se in cells)
            print(f"| {name} | {size} | {scores.n_items} | {shown} |", flush=True)
    print(CAVEAT)


if __name__ == "__main__":
    main()
