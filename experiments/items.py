"""Planted faults that item diagnostics find: recall and precision on simulated and real scores.

In every run 5 % of the items (10 at least) get each fault, drawn at random among items that are not
constant and not flagged as they are:

- flipped: right and wrong exchanged (two options, the wrong one taken as key)
- miskeyed: right becomes wrong, and a third of the wrong ones right (four options); with options,
  the key is moved to a wrong option
- duplicate: copies appended to the scores
- constant: appended items that all models get right, or all wrong

Recall: share of the planted items that get their flag ("negative" or "suspicious key" for keys).
Precision: share of planted items among those flagged that were not flagged before planting; "raw"
counts those flagged before as false alarms, too. A flipped item on which strong and weak models do
not differ cannot be found by anybody: "strong recall" is over the items whose item-rest correlation
was 0.2 or more.

    python experiments/items.py FOLDER [--runs 10] > experiments/items.md

FOLDER holds gpqa.csv.gz, musr.csv.gz, ifeval.csv.gz, farel_bench.csv.gz, mmlu_pro_29.csv.gz.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import mdad
from mdad.datasets import simulate, simulate_population
from mdad.diagnostics import ItemDiagnostics, diagnose_items
from mdad.scores import ScoreMatrix

REAL = ("gpqa", "musr", "ifeval", "farel_bench", "mmlu_pro_29")
CLEAR = 0.2
FAULTS = ("flipped", "miskeyed", "duplicate", "constant")
FLAGS = {
    "flipped": ("negative", "suspicious key"),
    "miskeyed": ("negative", "suspicious key"),
    "duplicate": ("duplicate",),
    "constant": ("constant",),
}


@dataclass
class Tally:
    """Counts over the runs of one data set and fault."""

    planted: int = 0
    found: int = 0
    clear: int = 0
    clear_found: int = 0
    fresh: int = 0
    before: int = 0
    keys: int = field(default=0)

    def row(self) -> str:
        """The line of the table."""

        def share(a: int, b: int) -> str:
            return f"{a / b:.2f}" if b else "-"

        return " | ".join(
            (
                str(self.planted),
                share(self.found, self.planted),
                share(self.clear_found, self.clear),
                share(self.keys, self.planted),
                share(self.found, self.found + self.fresh),
                share(self.found, self.found + self.fresh + self.before),
            )
        )


def plant(
    scores: ScoreMatrix, fault: str, chosen: np.ndarray, rng: np.random.Generator
) -> tuple[ScoreMatrix, list[str]]:
    """The scores with a fault, and the ids of the faulty items."""
    values = scores.values.astype(np.float64)
    ids = [scores.items[i] for i in chosen]
    items = list(scores.items)
    if fault == "flipped":
        values[:, chosen] = 1 - values[:, chosen]
    elif fault == "miskeyed":
        lucky = rng.random((len(values), len(chosen))) < 1 / 3
        values[:, chosen] = (1 - values[:, chosen]) * lucky
    else:
        new = values[:, chosen] if fault == "duplicate" else np.ones((len(values), len(chosen)))
        if fault == "constant":
            new[:, ::2] = 0
        ids = [f"zzz-planted-{k}" for k in range(len(chosen))]
        values, items = np.hstack([values, new]), [*items, *ids]
    return ScoreMatrix(values, scores.models, items), ids


def with_options(seed: int, n_models: int, n_items: int) -> ScoreMatrix:
    """Simulated choices among four options; wrong ones attract unequally."""
    population = simulate_population(n_items=n_items, n_options=4, n_dims=3, seed=seed)
    drawn = population.draw_models(n_models, seed=seed)
    right = np.asarray(population.probability(drawn), dtype=np.float64)
    rng = np.random.default_rng(seed)
    pull = rng.dirichlet(np.ones(3), n_items)
    options = np.concatenate([right[:, :, None], (1 - right)[:, :, None] * pull], axis=2)
    choice = (rng.random(right.shape)[:, :, None] > options.cumsum(axis=2)).sum(axis=2).clip(0, 3)
    layer = np.full(options.shape, 0.01)
    np.put_along_axis(layer, choice[:, :, None], 0.97, axis=2)
    return ScoreMatrix(
        (choice == 0).astype(float),
        [f"m{i:03d}" for i in range(n_models)],
        [f"q{i:04d}" for i in range(n_items)],
        option_probabilities=layer,
        right_options=np.zeros(n_items, dtype=int),
    )


def move_keys(
    scores: ScoreMatrix, chosen: np.ndarray, rng: np.random.Generator
) -> tuple[ScoreMatrix, list[str]]:
    """Another option, at random, taken as the right one."""
    layer, right = np.array(scores.option_probabilities), np.array(scores.right_options)
    right[chosen] = rng.integers(1, 4, len(chosen))
    values = (layer.argmax(axis=2) == right).astype(float)
    moved = ScoreMatrix(
        values,
        scores.models,
        scores.items,
        option_probabilities=layer,
        right_options=right,
    )
    return moved, [scores.items[i] for i in chosen]


def tally(
    total: Tally, before: ItemDiagnostics, after: ItemDiagnostics, fault: str, ids: list[str]
) -> None:
    old = {item for flag in FLAGS[fault] for item in before.faults[flag]}
    new = {item for flag in FLAGS[fault] for item in after.faults[flag]}
    rest = dict(zip(before.items, before.discrimination.item_rest, strict=True))
    clear = [item for item in ids if rest.get(item, 1.0) >= CLEAR]
    total.planted += len(ids)
    total.found += len(new & set(ids))
    total.clear += len(clear)
    total.clear_found += len(new & set(clear))
    total.keys += len(set(after.faults["suspicious key"]) & set(ids))
    total.fresh += len(new - set(ids) - old)
    total.before += len((new - set(ids)) & old)


def measure(scores: ScoreMatrix, runs: int, seed: int) -> dict[str, Tally]:
    """Counts by fault."""
    scores = scores.complete().scores.sorted()
    before = diagnose_items(scores)
    flagged = set(before.flagged)
    sound = np.flatnonzero([item not in flagged for item in scores.items])
    count = min(max(10, scores.n_items // 20), 100)
    totals = {fault: Tally() for fault in FAULTS}
    options = scores.option_probabilities is not None
    for run in range(runs):
        for fault in ("miskeyed",) if options else FAULTS:
            rng = np.random.default_rng([seed, run, FAULTS.index(fault)])
            chosen = rng.choice(sound, count, replace=False)
            if options:
                faulty, ids = move_keys(scores, chosen, rng)
            else:
                faulty, ids = plant(scores, fault, chosen, rng)
            tally(totals[fault], before, diagnose_items(faulty), fault, ids)
    return totals


def data(folder: Path) -> dict[str, ScoreMatrix]:
    found = {
        "simulated 400 x 500": simulate(n_models=400, n_items=500, n_dims=3, seed=1),
        "simulated 100 x 500": simulate(n_models=100, n_items=500, n_dims=3, seed=2),
        "simulated 30 x 2,000": simulate(n_models=30, n_items=2000, n_dims=3, seed=3),
        "simulated options 400 x 500": with_options(4, 400, 500),
        "simulated options 100 x 500": with_options(5, 100, 500),
        "digits-zoo 480 x 899": mdad.datasets.load("digits-zoo"),
    }
    for name in REAL:
        path = folder / f"{name}.csv.gz"
        if path.exists():
            scores = mdad.load(path, duplicates="number")
            found[f"{name} {scores.n_models:,} x {scores.n_items:,}"] = scores
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    print("| data | fault | planted | recall | strong recall | as key | precision | raw |")
    print("|---|---|---|---|---|---|---|---|")
    for name, scores in data(args.folder).items():
        for fault, total in measure(scores, args.runs, 0).items():
            if total.planted:
                print(f"| {name} | {fault} | {total.row()} |", flush=True)


if __name__ == "__main__":
    main()
