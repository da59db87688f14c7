"""The paper's six methods on GPQA, in its setting, beside the rows it published.

300 source and 50 target models, 50 runs, seeds 0, 1, 2; seen items; ours on 0/1 scores in the
paper's form, theirs on probabilities where the method reads them (those are not public). An
estimated tie counts as wrong; in brackets as half.

    python experiments/gpqa.py FOLDER [--n-jobs 2] > experiments/gpqa.md

FOLDER holds data/gpqa.csv.gz and reference/paper_agreement.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

import mdad
from mdad.intervals import Interval
from mdad.presets import PAPER_METHODS

SIZES = (10, 25, 50, 100, 200)
SEEDS = (0, 1, 2)
NONE = Interval(n_resamples=0)
WHY = """
The reasons given here were not tested: the probabilities that would tell are not public.

`random` and `random-subtasks-equal` are the same thing here (GPQA has no subtasks); the published
`random` at 10 is an outlier. `tinybenchmarks` reads 0/1 scores in both and is within 0.02.
`stratified-confidence`, `diversity` and `anchor-points` read probabilities in the paper and 0/1
answers here. Some 0.01 to 0.02 of every difference is the rule for pairs tied on the full
benchmark: the snapshot counts them right when the first-listed model is ahead, we leave them out.
Strata of the share of right answers come close to strata of the mean probability.
Diversity on 0/1 answers projects rougher points; it is a little better here at 50 and 100, which is
not explained (see the note on it in docs/design). Anchor Points estimates the mean *probability*
from the target's probabilities, which tell close models apart better than single 0/1 answers and
never tie; on 0/1 answers the same medoids give less with few items, and the plain values, being
what is to be estimated, more with many.
"""


def measured(scores: mdad.ScoreMatrix, ties: str, n_jobs: int) -> pd.DataFrame:
    """Mean agreement over seeds, methods x sizes."""
    tables = []
    for seed in SEEDS:
        audit = mdad.audit(
            scores,
            methods=PAPER_METHODS,
            sizes=SIZES,
            form="paper",
            n_source=300,
            n_target=50,
            seed=seed,
            n_jobs=n_jobs,
        )
        tables.append(audit.agreement(items=["seen"], ties=ties, interval=NONE))
    return pd.concat(tables).pivot_table(index="method", columns="size", values="agreement")


def published(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    table = table[(table.benchmark == "gpqa") & (table.n_source == 300)]
    return table.pivot_table(index="method", columns="size", values="agreement_seen")


def main() -> None:
    parser = argparse.ArgumentParser(description="six methods on GPQA beside the paper's rows")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n-jobs", type=int, default=2)
    args = parser.parse_args()
    scores = mdad.load(args.folder / "data" / "gpqa.csv.gz")
    wrong, half = (measured(scores, ties, args.n_jobs) for ties in ("wrong", "half"))
    theirs = published(args.folder / "reference" / "paper_agreement.csv")
    print("# Mean agreement on GPQA, seen items\n")
    print(
        "`python experiments/gpqa.py FOLDER`: 50 runs, mean of seeds 0, 1, 2; ties wrong (half).\n"
    )
    print(f"| method | {' | '.join(map(str, SIZES))} |")
    print(f"|---|{'---|' * len(SIZES)}")
    for method in PAPER_METHODS:
        ours = [f"{wrong.loc[method, k]:.3f} ({half.loc[method, k]:.3f})" for k in SIZES]
        paper = [f"{theirs.loc[method, k]:.3f}" for k in SIZES]
        gap = [f"{wrong.loc[method, k] - theirs.loc[method, k]:+.3f}" for k in SIZES]
        print(f"| {method} | {' | '.join(ours)} |")
        print(f"| - published | {' | '.join(paper)} |")
        print(f"| - difference | {' | '.join(gap)} |")
    print(WHY)


if __name__ == "__main__":
    main()
