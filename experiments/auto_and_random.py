"""Whether `auto` is anywhere worse than `random`: every data set, size, split and set of items.

Differences of mean agreement (`auto` less `random`), with standard errors over runs, paired: both
methods have the same split in a run. Estimated ties wrong, and counted half.

    python experiments/auto_and_random.py FOLDER [--data gpqa,two-groups] [--splits random,frontier]
        [--runs 50] [--seed 0] [--keep DIR]

FOLDER: as for better.py, and eqbench_v2_first, evalperf_pass1 and mmlu_pro_29 with their items.
"two-groups" is simulated: 200 models in two groups far apart, 600 items. DIR keeps finished runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import mdad
from mdad.datasets import simulate_population
from mdad.errors import MdadError
from mdad.experiment import Experiment
from mdad.runner import run_experiment

if TYPE_CHECKING:
    from mdad.results import Results

DATA = (
    "gpqa",
    "musr",
    "ifeval",
    "farel_bench",
    "eqbench_v2_first",
    "evalperf_pass1",
    "mmlu_pro_29",
    "two-groups",
)
RANGES = {"eqbench_v2_first": (-33.31, 10.0)}
SPLITS = ("random", "grouped", "frontier")
TIES = (0.0, 0.5)
FAR, NEAR, ERRORS = -0.01, -0.005, 3


def read(folder: Path, name: str) -> mdad.ScoreMatrix:
    if name == "two-groups":
        population = simulate_population(n_items=600, seed=0, groups=2)
        return population.scores(population.draw_models(200, seed=1))
    options: dict = {"duplicates": "number"}
    if (folder / f"{name}.items.csv").exists():
        options["items"] = folder / f"{name}.items.csv"
    if name in RANGES:
        options["score_range"] = RANGES[name]
    return mdad.load(folder / f"{name}.csv.gz", **options)


def agreement(estimates: np.ndarray, full: np.ndarray, tie: float) -> float:
    """Share of pairs ordered alike; pairs tied in ``full`` are left out."""
    first, second = np.triu_indices(len(full), k=1)
    right = full[first] - full[second]
    said = estimates[first] - estimates[second]
    said = np.where(np.abs(said) > 1e-9 * max(1.0, np.abs(full).max()), said, 0) * right
    ordered = np.abs(right) > 1e-12
    return float(np.mean(np.where(said > 0, 1.0, np.where(said == 0, tie, 0.0))[ordered]))


def differences(results: Results, size: int, side: str) -> np.ndarray:
    """By how much auto is ahead, array of shape (2 tie rules, n_runs)."""
    full = results.full(side)
    random, auto = results.estimates[0, size], results.estimates[1, size]
    return np.array(
        [
            [
                agreement(auto[run], full[run], tie) - agreement(random[run], full[run], tie)
                for run in range(len(full))
            ]
            for tie in TIES
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--splits", default=",".join(SPLITS))
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    print(
        f"\n## `python experiments/auto_and_random.py FOLDER --data {args.data} "
        f"--splits {args.splits} --runs {args.runs} --seed {args.seed}`\n"
    )
    print("| data | split | size | items | ties wrong | ties half |\n|---|---|---|---|---|---|")
    cells = []
    for name in args.data.split(","):
        completed = read(args.folder, name).complete()
        for split in args.splits.split(","):
            experiment = Experiment(
                methods=("random", "auto"), split=split, runs=args.runs, seed=args.seed
            )
            keep = args.keep and args.keep / f"{name}-{split}-{args.seed}-{args.runs}"
            try:
                results = run_experiment(completed, experiment, out=keep, n_jobs=args.n_jobs)
            except MdadError as error:
                print(f"| {name} | {split} | - | - | {error} | - |", flush=True)
                continue
            for s, size in enumerate(results.spec.experiment.sizes):
                for side in ("seen", "unseen"):
                    found = differences(results, s, side)
                    mean, error = (
                        found.mean(axis=1),
                        found.std(axis=1, ddof=1) / len(found.T) ** 0.5,
                    )
                    cells.append((mean, error))
                    shown = " | ".join(
                        f"{m:+.4f} ({e:.4f})" for m, e in zip(mean, error, strict=True)
                    )
                    print(f"| {name} | {split} | {size} | {side} | {shown} |", flush=True)
    for rule, label in enumerate(("wrong", "counted half")):
        mean, error = (np.array([cell[k][rule] for cell in cells]) for k in (0, 1))
        worse = (mean < FAR) & (mean < -ERRORS * error)
        print(
            f"\nTies {label}: {len(mean)} cells; {int(worse.sum())} below {FAR} and beyond "
            f"{ERRORS} standard errors; {100 * np.mean(mean >= NEAR):.1f} % not below {NEAR}; "
            f"least {mean.min():+.4f}, median {np.median(mean):+.4f}."
        )


if __name__ == "__main__":
    main()
