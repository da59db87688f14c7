r"""Calibration of scores and verdicts of micro-benchmarks on models and items held out.

In each run source and target models, seen and unseen items are split as in an audit; a micro-
benchmark is made from source models x seen items by :func:`mdad.select`, with its calibration, and
target models are scored and compared by :func:`mdad.compare` from the file alone. Every pair is one
question (no Holm). Counted are, over all pairs that do not tie:

- by bins of the predicted probability of the leader: mean prediction and share that was right;
- Brier skill: 1 - mean (p - right)^2 / (base (1 - base)), base the share right of all pairs;
- "better" (p of .95 or more): share of the pairs, and the share of those that is wrong; both for
  p of .9 or more beside;
- full scores inside their 95 % interval, and its mean width in points.

    python experiments/calibration.py FOLDER --data gpqa,musr,ifeval --size 25 --runs 20 \
        --methods random,c-optimal --split random > OUT
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from closed_form import read

import mdad
from mdad._rng import Stream
from mdad.splits import draw_split

if TYPE_CHECKING:
    from mdad.scores import ScoreMatrix
    from mdad.splits import SplitKind

MANY = 300
EDGES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])


def judge(
    scores: ScoreMatrix, method: str, size: int, split: SplitKind, seed: int, run: int
) -> tuple[list[tuple[float, ...]], float, float]:
    """Of every pair the run, P(first better) and its sign, seen and unseen; covered and width."""
    n_target = min(50, scores.n_models // 3)
    n_source = min(300, scores.n_models - n_target)
    drawn = draw_split(
        scores,
        n_source=n_source,
        n_target=n_target,
        stream=Stream(seed).child("split", run),
        kind=split,
    )
    sources = scores.restrict(models=drawn.source, items=drawn.seen)
    micro = mdad.select(sources, size=size, method=method, seed=seed * 1000 + run, split=split)
    targets = scores.restrict(models=drawn.target)
    verdict = mdad.compare(micro, targets.restrict(items=list(micro.items)))
    seen = dict(zip(targets.models, targets.restrict(items=drawn.seen).full_scores(), strict=True))
    unseen = targets.restrict(items=drawn.unseen).full_scores()
    unseen = dict(zip(targets.models, unseen, strict=True))
    rows = [
        (
            run,
            pair.a_better,
            np.sign(np.round(seen[pair.a] - seen[pair.b], 9)),
            pair.a_better_unseen,
            np.sign(np.round(unseen[pair.a] - unseen[pair.b], 9)),
        )
        for pair in verdict.pairs
    ]
    inside = [s.low - 1e-9 <= seen[s.model] <= s.high + 1e-9 for s in verdict.scores]
    width = np.mean([s.high - s.low for s in verdict.scores]) / micro.point
    return rows, float(np.mean(inside)), float(width)


def cells_of(pairs: np.ndarray, kind: str) -> tuple[list[str], list[str]]:
    """Misses, Brier skill and verdicts of the pairs of one kind; and the bins."""
    column = 1 if kind == "seen" else 3
    p, sign = pairs[:, column], pairs[:, column + 1]
    told = (sign != 0) & (p != 0.5)
    p, sign, run = p[told], sign[told], pairs[told, 0]
    lead = np.maximum(p, 1 - p)
    right = np.where(p > 0.5, sign > 0, sign < 0)
    base = right.mean()
    skill = 1 - ((lead - right) ** 2).mean() / (base * (1 - base))
    cells, worst, few = [], 0.0, 0.0
    for low, high in itertools.pairwise(EDGES):
        inside = (lead >= low) & ((lead < high) | (high == 1))
        if not inside.any():
            cells.append("-")
            continue
        gap = right[inside].mean() - lead[inside].mean()
        cells.append(f"{lead[inside].mean():.2f}/{right[inside].mean():.2f} ({inside.sum():,})")
        if inside.sum() >= MANY:
            worst = max(worst, abs(gap))
        else:
            few = max(few, abs(gap))
    sure = lead >= 0.95
    by_run = [
        (~right[sure & (run == r)]).mean() for r in np.unique(run) if (sure & (run == r)).any()
    ]
    error = np.std(by_run, ddof=1) / np.sqrt(len(by_run)) if len(by_run) > 1 else np.nan
    wrong = f"{(~right[sure]).mean():.1%} ({error:.1%})" if sure.any() else "-"
    likely = lead >= 0.9
    ninety = f"{likely.mean():.0%}, {(~right[likely]).mean():.1%}" if likely.any() else "-"
    first = [f"{worst:.3f}", f"{few:.3f}", f"{skill:.2f}", f"{sure.mean():.0%}", wrong, ninety]
    return first, cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="gpqa,musr,ifeval")
    parser.add_argument("--methods", default="random,c-optimal")
    parser.add_argument("--split", default="random")
    parser.add_argument("--size", default="25")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    bins = " | ".join(f"{a:g}-{b:g}" for a, b in itertools.pairwise(EDGES))
    print(
        f"## `python experiments/calibration.py FOLDER {' '.join(sys.argv[2:])}`\n\n"
        "| data | method | size | items | largest miss | of small bins | Brier skill | resolved | "
        f"wrong (s.e.) | at .9 | covered | width | {bins} | seconds a run |"
    )
    print("|" + "---|" * (13 + len(EDGES)))
    for name in options.data.split(","):
        scores = read(options.folder, name)
        for size, method in itertools.product(
            map(int, options.size.split(",")), options.methods.split(",")
        ):
            start, pairs, inside, widths = time.process_time(), [], [], []
            for run in range(options.runs):
                rows, covered, width = judge(scores, method, size, options.split, options.seed, run)
                pairs += rows
                inside.append(covered)
                widths.append(width)
            seconds = (time.process_time() - start) / options.runs
            for kind in ("seen", "unseen"):
                first, rest = cells_of(np.array(pairs), kind)
                cover = f"{np.mean(inside):.1%} | {np.mean(widths):.1f}" if kind == "seen" else "|"
                print(
                    f"| {name} | {method} | {size} | {kind} | {' | '.join(first)} | {cover} | "
                    f"{' | '.join(rest)} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
