"""The paper's claims beside what is measured here, on data that can be had.

The rules that decide are those of `mdad reproduce` (mdad.reproducing); the data: the bundled
digits-zoo, and real matrices where a folder is given. Methods in the paper's form, the paper's
setting as far as the matrix allows. For the simulated stand-ins see `mdad reproduce --simulated`.

    python experiments/claims.py [FOLDER_OF_MATRICES] --keep RESULTS > claims.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import mdad
from mdad.reproducing import Plan, judge, measure
from mdad.reproducing._words import HEADERS, cells_of

if TYPE_CHECKING:
    from collections.abc import Iterator

REAL = {
    "gpqa": {},
    "musr": {"duplicates": "number"},
    "ifeval": {"duplicates": "number"},
    "farel_bench": {"items": "farel_bench.items.csv"},
}


def data(folder: Path | None) -> Iterator[tuple[str, mdad.ScoreMatrix]]:
    yield "digits-zoo", mdad.datasets.load("digits-zoo")
    for name, options in REAL.items() if folder is not None else ():
        with_paths = {k: folder / v if k == "items" else v for k, v in options.items()}
        yield name, mdad.load(folder / f"{name}.csv.gz", **with_paths)


def main() -> None:
    parser = argparse.ArgumentParser(description="the paper's claims, measured")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    print("# The paper's claims, measured\n")
    print(f"`python experiments/claims.py FOLDER --runs {args.runs}`. The paper's form of each")
    print("method, MDAD (monotone) in points, estimated ties count as wrong. `mdad reproduce` says")
    print("by which rules. *does not hold* is an answer, not a failure: the data are others.\n")
    print(f"| {' | '.join(HEADERS)} |")
    print("|" + "---|" * len(HEADERS))
    plan = Plan(args.runs, args.runs, sources=(50,), all_seen=())
    measured = {}
    for name, scores in data(args.folder):
        if args.only and name not in args.only:
            continue
        measured[name] = measure(
            name,
            scores.complete(),
            plan,
            n_jobs=args.n_jobs,
            out=None if args.keep is None else args.keep / name,
        )
    for finding in judge(measured):
        print(f"| {' | '.join(cells_of(finding))} |")


if __name__ == "__main__":
    main()
