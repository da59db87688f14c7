"""The closed form of the MDAD against simulation, at every size from 10 to half the items.

Each run puts the items in a random order and takes the first k of them as the subset, for every
k; with --blocks also the next k, and so on to the last whole block, which cuts the noise of the
simulation where k is small (each block is a uniform random subset too). Over the runs this gives
each pair of models the share of subsets that rank it rightly; pairs are binned by half points of
gap, and the monotone crossing of 0.8 is the simulated MDAD. The closed form never draws a subset.

    python experiments/closed_form.py FOLDER_OF_MATRICES [--runs 2000] [--blocks]

FOLDER_OF_MATRICES holds wide CSV files: first column `model`, one column per item.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from mdad._rng import Stream
from mdad.planning import mdad
from mdad.planning._matrix import isotonic
from mdad.scores import ScoreMatrix

RANGES = {"eqbench_v2_first": (-100 / 3, 10.0)}
NAMES = ("gpqa", "musr", "ifeval", "farel_bench", "eqbench_v2_first", "evalperf_pass1")
SHOWN = (10, 15, 25, 50, 100, 150, 200, 250, 300, 350)


def read(folder: Path, name: str) -> ScoreMatrix:
    table = pd.read_csv(folder / f"{name}.csv.gz", index_col="model")
    # Two runs of one model are two models here.
    twin = table.groupby(level=0).cumcount().astype(str)
    table.index = [f"{m}#{t}" for m, t in zip(table.index, twin, strict=True)]
    low, high = RANGES.get(name, (0.0, 1.0))
    low = min(low, float(np.nanmin(table.to_numpy())))
    scores = ScoreMatrix(
        table.to_numpy(float),
        list(table.index),
        list(table.columns),
        score_range=(low, high),
        name=name,
    )
    return scores.complete().scores


def simulated_mdad(
    scores: ScoreMatrix, sizes: list[int], *, runs: int, seed: int, blocks: bool
) -> list[float]:
    """The crossing of 0.8 of the simulated agreement curve at each size; NaN = not reached."""
    low, high = scores.score_range
    full = scores.values.sum(axis=1, dtype=float) / scores.n_items
    order = np.argsort(full, kind="stable")
    # Sums of graded scores are compared after rounding, so that equal ones tie.
    values = scores.values[order]
    whole = np.issubdtype(values.dtype, np.integer)
    values = values.astype(np.int16 if whole else np.float64)
    shape = (len(sizes), scores.n_models, scores.n_models)
    right, recent = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.uint8)
    room = np.full(len(sizes), 255)
    for run in range(runs):
        rng = Stream(seed, ("closed form", scores.name, run)).rng()
        sums = np.zeros((scores.n_items + 1, scores.n_models), dtype=values.dtype)
        shuffled = values[:, rng.permutation(scores.n_items)]
        np.cumsum(shuffled.T, axis=0, dtype=values.dtype, out=sums[1:])
        for index, size in enumerate(sizes):
            for start in range(0, scores.n_items - size + 1, size) if blocks else (0,):
                totals = sums[start + size] - sums[start]
                if not whole:
                    totals = totals.round(9)
                # Bytes are quick to add to, and are emptied before they overflow.
                recent[index] += totals[None, :] > totals[:, None]
                room[index] -= 1
                if room[index] == 0:
                    right[index] += recent[index]
                    recent[index], room[index] = 0, 255
    right += recent
    subsets = np.array([runs * (scores.n_items // size if blocks else 1) for size in sizes])
    worse, better = np.triu_indices(scores.n_models, 1)
    gaps = full[order][better] - full[order][worse]
    apart = gaps > (high - low) * 1e-12
    gaps, agreement = gaps[apart], right[:, worse[apart], better[apart]] / subsets[:, None]
    bins = np.floor(gaps / ((high - low) / 200) + 1e-9).astype(int)
    return [crossing(gaps, bins, row) for row in agreement]


def crossing(gaps: np.ndarray, bins: np.ndarray, agreement: np.ndarray) -> float:
    numbers = np.bincount(bins).astype(float)
    held = numbers > 0
    centres = np.bincount(bins, gaps)[held] / numbers[held]
    fit = isotonic(np.bincount(bins, agreement)[held] / numbers[held], numbers[held])
    if fit[-1] < 0.8:
        return float("nan")
    gaps, fit = np.append(0.0, centres), np.append(min(0.5, fit[0]), fit)
    above = int(np.argmax(fit >= 0.8))
    share = (0.8 - fit[above - 1]) / (fit[above] - fit[above - 1])
    return float(gaps[above - 1] + share * (gaps[above] - gaps[above - 1]))


def main() -> None:
    parser = argparse.ArgumentParser(description="closed form of the MDAD against simulation")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--blocks", action="store_true", help="all disjoint subsets of an order")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", choices=["all", "few"], default="all")
    parser.add_argument("--names", nargs="*", default=NAMES)
    parser.add_argument("--out", type=Path, help="write every row as JSON lines")
    args = parser.parse_args()
    print(f"MDAD in points, {args.runs} runs, seed {args.seed}, all pairs of models")
    print("matrix            models items size  simulated closed  difference")
    for name in args.names:
        scores = read(args.folder, name)
        half = scores.n_items // 2
        sizes = list(range(10, half + 1))
        if args.sizes == "few":
            sizes = sorted({k for k in SHOWN if k <= half} | {half})
        start = time.perf_counter()
        drawn = np.array(
            simulated_mdad(scores, sizes, runs=args.runs, seed=args.seed, blocks=args.blocks)
        )
        middle = time.perf_counter()
        found = [mdad(size, scores=scores) for size in sizes]
        end = time.perf_counter()
        closed = np.array([np.nan if value is None else value for value in found])
        drawn, closed = drawn / scores.point, closed / scores.point
        apart = np.abs(closed - drawn)
        for k, a, b in zip(sizes, drawn, closed, strict=True):
            if k in SHOWN or k == half:
                shape = f"{scores.n_models:6} {scores.n_items:5}"
                print(f"{name:18}{shape} {k:4} {a:9.2f} {b:7.2f} {b - a:+9.2f}")
        worst = int(np.nanargmax(apart))
        same = int((np.isnan(closed) == np.isnan(drawn)).sum())
        print(
            f"{name:18}{len(sizes)} sizes: largest difference {apart[worst]:.2f} at {sizes[worst]}"
            f", mean {np.nanmean(closed - drawn):+.3f}, {int(np.isnan(drawn).sum())} not reached "
            f"(both agree at {same}); simulated in {middle - start:.0f} s, "
            f"closed form in {end - middle:.1f} s"
        )
        if args.out:
            with args.out.open("a") as file:
                for k, a, b in zip(sizes, drawn, closed, strict=True):
                    row = {"matrix": name, "size": k, "simulated": a, "closed": b}
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
