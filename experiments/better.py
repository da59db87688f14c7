"""Methods beyond the paper's on four real score matrices: seen and unseen, random and frontier.

The paper's setting: 300 source and 50 target models (FaRel: 72 and 50), 50 runs. For every seed the
MDAD (rules "first" and "monotone") and the mean agreement (estimated ties wrong, and counted half)
are computed over its runs; printed are means over seeds, and their standard errors over seeds where
there are two or more. Seen / unseen items.

    python experiments/better.py FOLDER [--data gpqa,musr] [--methods random,auto] [--seeds 5]
        [--runs 50] [--split random] [--n-jobs 2] [--keep DIR] [--pool]

DIR keeps finished runs, so that seeds can be added later. With --pool MDADs are those of the runs
of all seeds together, with 95 % intervals over runs: for seeds with few runs each.

FOLDER holds gpqa.csv.gz, musr.csv.gz, ifeval.csv.gz, farel_bench.csv.gz and farel_bench.items.csv.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import mdad
from mdad import measures
from mdad.experiment import Experiment
from mdad.intervals import Interval
from mdad.results import Results
from mdad.runner import run_experiment

if TYPE_CHECKING:
    import pandas as pd

SIZES = {
    "gpqa": (10, 25, 50, 100, 200),
    "musr": (10, 25, 50, 100, 250),
    "ifeval": (10, 25, 50, 100, 250),
    "farel_bench": (10, 25, 50, 100, 200),
}
METHODS = (
    "random",
    "random-aipw",
    "random-ridge",
    "mrmr-ridge",
    "c-optimal",
    "c-optimal-factor",
    "auto",
    "auto-ability",
)
TITLES = {
    "first": "MDAD in points, rule first",
    "monotone": "MDAD in points, rule monotone",
    "wrong": "Mean agreement, estimated ties wrong",
    "half": "Mean agreement, estimated ties counted half",
}
NONE = Interval(n_resamples=0)
POINTS = 100

Figures = dict[tuple[str, str], np.ndarray]
"""(measure, method) -> array of shape (n_sizes, 2): seen, unseen."""


def read(folder: Path, name: str) -> mdad.ScoreMatrix:
    items = folder / f"{name}.items.csv"
    return mdad.load(
        folder / f"{name}.csv.gz",
        duplicates="number",
        **({"items": items} if items.exists() else {}),
    )


def figures(results: Results) -> Figures:
    return {
        **values(results, "first", measures.mdad(results, rule="first", interval=NONE), ["mdad"]),
        **values(
            results, "monotone", measures.mdad(results, rule="monotone", interval=NONE), ["mdad"]
        ),
        **values(results, "wrong", measures.agreement(results, interval=NONE), ["agreement"]),
        **values(
            results, "half", measures.agreement(results, ties="half", interval=NONE), ["agreement"]
        ),
    }


def values(
    results: Results, measure: str, table: pd.DataFrame, columns: list[str]
) -> dict[tuple[str, str], np.ndarray]:
    """The columns by method, arrays of shape (n_sizes, 2 sides) or (n_sizes, 2 sides, columns)."""
    found = {}
    for method in results.spec.experiment.methods:
        rows = table[table["method"] == method]
        sides = [rows[rows["items"] == side][columns].to_numpy() for side in ("seen", "unseen")]
        found[measure, method] = np.stack(sides, axis=1).squeeze()
    return found


def together(seeds: list[Results]) -> Results:
    """The runs of all seeds as those of one experiment."""
    runs = [run for results in seeds for run in results.runs]
    spec = seeds[0].spec
    spec = replace(spec, experiment=replace(spec.experiment, runs=len(runs)))
    return Results(spec, tuple(replace(run, number=i) for i, run in enumerate(runs)))


def pooled(seeds: list[Results]) -> Figures:
    """MDADs over the runs of all seeds, with 95 % intervals over runs."""
    results, found = together(seeds), {}
    for rule in ("first", "monotone"):
        table = measures.mdad(results, rule=rule, interval=Interval(unit="runs", n_resamples=400))
        found |= values(results, rule, table, ["mdad", "low", "high"])
    return found


def shown(values: np.ndarray, *, points: bool) -> str:
    """Mean over seeds, with the standard error in brackets; "-" where some seed has none."""
    if np.isnan(values).any():
        return "-"
    scale, digits = (POINTS, 1) if points else (1, 3)
    text = f"{scale * values.mean():.{digits}f}"
    if len(values) > 1:
        error = scale * values.std(ddof=1) / np.sqrt(len(values))
        text += f" ({error:.{digits}f})"
    return text


def interval(cell: np.ndarray) -> str:
    """An MDAD in points with its interval; "-" where it is not reached."""
    mdad_, low, high = (
        "-" if np.isnan(x) or np.isinf(x) else f"{POINTS * x:.1f}" for x in cell.tolist()
    )
    return f"{mdad_} [{low}, {high}]"


def report(
    name: str, split: str, sizes: tuple[int, ...], seeds: list[Figures], pool: Figures
) -> None:
    methods = list(dict.fromkeys(method for _, method in seeds[0]))
    for measure, title in TITLES.items():
        print(f"\n### {name}, {split} split: {title}\n")
        print("| method | " + " | ".join(str(size) for size in sizes) + " |")
        print("|---" * (len(sizes) + 1) + "|")
        for method in methods:
            stack = np.stack([found[measure, method] for found in seeds])
            points = measure in {"first", "monotone"}
            cells = []
            for s in range(len(sizes)):
                if points and pool:
                    sides = [interval(pool[measure, method][s, side]) for side in (0, 1)]
                else:
                    sides = [shown(stack[:, s, side], points=points) for side in (0, 1)]
                cells.append(" / ".join(sides))
            print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="methods beyond the paper's on real scores")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default=",".join(SIZES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--split", default="random")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--pool", action="store_true")
    args = parser.parse_args()
    print(
        f"\n## `python experiments/better.py FOLDER --data {args.data} --split {args.split} "
        f"--methods {args.methods} --seeds {args.seeds} --runs {args.runs}"
        f"{' --pool' if args.pool else ''}`"
    )
    for name in args.data.split(","):
        completed = read(args.folder, name).complete()
        start, seeds = time.process_time(), []
        for seed in range(args.seeds):
            experiment = Experiment(
                methods=tuple(args.methods.split(",")),
                sizes=SIZES[name],
                runs=args.runs,
                n_source=min(300, completed.scores.n_models - 50),
                n_target=50,
                split=args.split,
                seed=seed,
            )
            keep = args.keep and args.keep / f"{name}-{args.split}-{seed}-{args.runs}"
            seeds.append(run_experiment(completed, experiment, out=keep, n_jobs=args.n_jobs))
        seconds = (time.process_time() - start) / args.seeds / args.runs
        pool = pooled(seeds) if args.pool else {}
        report(name, args.split, SIZES[name], [figures(results) for results in seeds], pool)
        if args.n_jobs == 1 and not args.keep:
            print(f"\n{seconds:.2f} core-seconds a run.", flush=True)


if __name__ == "__main__":
    main()
