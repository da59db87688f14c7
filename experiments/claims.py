"""The paper's claims beside what is measured here, on data that can be had.

Each claim of Yauney, Warraich and Swayamdipta (ICLR 2026, arXiv 2510.08730) that can be checked is
turned into a number and a rule that decides; both are fixed here, before measuring. The data: the
bundled digits-zoo, the simulated stand-in of MMLU-Pro (preset "mmlu-pro", seed 0, parameters as
committed; favours tinybenchmarks, whose model it follows), and real matrices where a folder is
given. Methods in the paper's form, the paper's setting as far as the matrix allows.

    python experiments/claims.py [FOLDER_OF_MATRICES] --keep RESULTS > experiments/claims.md
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mdad
from mdad.intervals import Interval
from mdad.presets import PAPER_METHODS, preset_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

NONE = Interval(n_resamples=0)
LEARNED = ("stratified-confidence", "diversity", "anchor-points", "tinybenchmarks")
FEW_SOURCES, FRACTION = 50, (0.1,)
REAL = {
    "gpqa": {},
    "musr": {"duplicates": "number"},
    "ifeval": {"duplicates": "number"},
    "farel_bench": {"items": "farel_bench.items.csv"},
}


@dataclass(frozen=True)
class Measured:
    """What one data set showed: MDADs in points (inf = not reached), tau and error."""

    name: str
    mdad: pd.DataFrame
    errors: pd.DataFrame
    few: pd.DataFrame
    separate: pd.DataFrame | None

    def at(self, method: str, size: int, items: str = "seen") -> float:
        """MDAD in points; infinite where it is not reached."""
        table = self.mdad
        row = table[(table.method == method) & (table["size"] == size) & (table["items"] == items)]
        return float(row.mdad.fillna(float("inf")).iloc[0])

    def tau(self, method: str, size: int) -> float:
        """Mean Kendall's tau-b on seen items."""
        table = self.errors[self.errors["items"] == "seen"]
        row = table[(table.method == method) & (table["size"] == size)]
        return float(row.kendall_tau.iloc[0])

    @property
    def methods(self) -> list[str]:
        """Methods measured, in the paper's order."""
        return list(dict.fromkeys(self.mdad.method))

    @property
    def largest(self) -> int:
        """250, or the largest size below it."""
        return max(size for size in self.mdad["size"] if size <= 250)


def in_points(audit: mdad.Audit) -> pd.DataFrame:
    table = audit.mdad(interval=NONE)
    table["mdad"] /= audit.results.spec.scores.point
    return table


def measure(name: str, scores: mdad.ScoreMatrix, runs: int, keep: Path | None) -> Measured:
    scores = scores.complete().scores
    methods = [m for m in PAPER_METHODS if m != "random-subtasks-equal" or scores.subtasks]

    def audit(tag: str, preset: str, **given: object) -> mdad.Audit:
        settings = preset_settings(preset, scores, {"methods": methods, "runs": runs, **given})
        out = None if keep is None else keep / name / tag
        return mdad.audit(scores, **settings, out=out, n_jobs=2)

    main = audit("main", "paper")
    few = audit("few", "paper", n_source=min(FEW_SOURCES, scores.n_models // 2))
    separate = None
    if scores.subtasks is not None:
        # Small subtasks have no room for the paper's smallest fractions.
        separate = in_points(audit("separate", "paper-separate", fractions=FRACTION))
    return Measured(name, in_points(main), main.errors(interval=NONE), in_points(few), separate)


def shown(value: float) -> str:
    return "not reached" if value == float("inf") else f"{value:.1f}"


Answer = tuple[str, bool | None]


def tau_hides(m: Measured) -> Answer:
    """Similar tau, different MDAD: some pair of cells within .03 of tau is 1 point apart."""
    cells = [(x, k) for x in m.methods for k in sorted(set(m.mdad["size"]))]
    pairs = [
        (abs(m.at(*a) - m.at(*b)), a, b)
        for i, a in enumerate(cells)
        for b in cells[:i]
        if abs(m.tau(*a) - m.tau(*b)) <= 0.03 and max(m.at(*a), m.at(*b)) < float("inf")
    ]
    if not pairs:
        return "no two cells of similar tau", None
    apart, a, b = max(pairs)
    text = (
        f"{a[0]} at {a[1]} (tau {m.tau(*a):.2f}, MDAD {shown(m.at(*a))}) and {b[0]} at {b[1]} "
        f"(tau {m.tau(*b):.2f}, MDAD {shown(m.at(*b))})"
    )
    return text, apart >= 1


def ten_items(m: Measured) -> Answer:
    best = min(m.methods, key=lambda x: m.at(x, 10))
    return f"best at 10: {best}, {shown(m.at(best, 10))}", m.at(best, 10) > 3.5


def anchor_points_first(m: Measured) -> Answer:
    best = min(m.methods, key=lambda x: m.at(x, 10))
    text = f"anchor-points {shown(m.at('anchor-points', 10))}, best {best} {shown(m.at(best, 10))}"
    return text, best == "anchor-points"


def random_needs_twenty(m: Measured) -> Answer:
    return f"random at 10: {shown(m.at('random', 10))}", 15 <= m.at("random", 10) <= 25


def random_competitive(m: Measured) -> Answer:
    k = m.largest
    best = min((x for x in LEARNED if x in m.methods), key=lambda x: m.at(x, k))
    text = f"at {k}: random {shown(m.at('random', k))}, best learned {best} {shown(m.at(best, k))}"
    return text, m.at("random", k) <= m.at(best, k) + 0.5


def all_small_by_250(m: Measured) -> Answer:
    k = m.largest
    worst = max(m.methods, key=lambda x: m.at(x, k))
    return f"at {k}: worst is {worst}, {shown(m.at(worst, k))}", m.at(worst, k) <= 3


def unseen_little_higher(m: Measured) -> Answer:
    k = m.largest
    seen, unseen = m.at("random", k), m.at("random", k, "unseen")
    return f"random at {k}: seen {shown(seen)}, unseen {shown(unseen)}", seen <= unseen <= seen + 2


def separate_falls(m: Measured) -> Answer:
    if m.separate is None:
        return "no subtasks", None
    table = m.separate[m.separate.method == "anchor-points"].set_index("items").mdad
    seen, unseen = (float(table.fillna(float("inf"))[s]) for s in ("seen", "unseen"))
    text = f"anchor-points, a tenth of each subtask: seen {shown(seen)}, unseen {shown(unseen)}"
    return text, unseen >= seen + 1


def sources_help(m: Measured) -> Answer:
    k = 50
    few = m.few[(m.few["size"] == k) & (m.few["items"] == "seen")].set_index("method").mdad
    gains = {x: float(few.fillna(float("inf"))[x]) - m.at(x, k) for x in LEARNED if x in m.methods}
    text = ", ".join(f"{x} {gain:+.1f}" for x, gain in gains.items())
    return f"MDAD at {k} with 50 sources less that with 300: {text}", min(gains.values()) > 0


def advice_for_close(m: Measured) -> Answer:
    reached = [k for k in sorted(set(m.mdad["size"])) if m.at("random", k) <= 2.5]
    text = f"random reaches 2.5 points at {reached[0] if reached else 'none of the sizes'}"
    return text, bool(reached) and reached[0] >= 250


CLAIMS: list[tuple[str, str, Callable[[Measured], Answer]]] = [
    ("2", "Kendall's tau hides unreliability", tau_hides),
    ("3", "with 10 items no method ranks pairs 3.5 points apart", ten_items),
    ("4a", "at 10 items Anchor Points is the most reliable", anchor_points_first),
    ("4b", "at 10 items random needs about 20 points", random_needs_twenty),
    ("5a", "by about 250 items random is as good as selected", random_competitive),
    ("5b", "by about 250 items every method has an MDAD of 2 to 3 or less", all_small_by_250),
    ("8a", "unseen items: a little higher when pooled", unseen_little_higher),
    ("8b", "unseen items: clearly worse with a micro-benchmark per subtask", separate_falls),
    ("9", "more source models help the learned methods", sources_help),
    ("10", "gaps under 2 to 3 points need 250 items or more", advice_for_close),
]
UNCHECKED = [
    ("6", "8B instruction-tuned models on MMLU-Pro: their results are not to be had here"),
    ("7", "70B on MMLU-Pro, 7B and 70B on BBH: the same"),
]


def data(folder: Path | None) -> Iterator[tuple[str, mdad.ScoreMatrix]]:
    yield "digits-zoo", mdad.datasets.load("digits-zoo")
    yield "simulated-mmlu-pro", mdad.datasets.load("simulated-mmlu-pro")
    for name, options in REAL.items() if folder is not None else ():
        with_paths = {k: folder / v if k == "items" else v for k, v in options.items()}
        yield name, mdad.load(folder / f"{name}.csv.gz", **with_paths)


def main() -> None:
    parser = argparse.ArgumentParser(description="the paper's claims, measured")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    print("# The paper's claims, measured\n")
    print(f"`python experiments/claims.py FOLDER --runs {args.runs}`. The paper's form of each")
    print("method, MDAD (monotone) in points, estimated ties count as wrong. The rules that decide")
    print("stand in the script. *does not* is an answer, not a failure: the data are others.\n")
    print("| claim | data | measured | holds |")
    print("|---|---|---|---|")
    for name, scores in data(args.folder):
        if args.only and name not in args.only:
            continue
        measured = measure(name, scores, args.runs, args.keep)
        for number, claim, check in CLAIMS:
            text, holds = check(measured)
            verdict = {True: "holds", False: "does not", None: "cannot be checked"}[holds]
            print(f"| {number}. {claim} | {name} | {text} | {verdict} |", flush=True)
    for number, claim in UNCHECKED:
        print(f"| {number}. {claim} | - | - | cannot be checked here |")
    print("\nClaim 1 is the definition of the MDAD.")


if __name__ == "__main__":
    main()
