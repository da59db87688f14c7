"""Adaptive sessions on pairs of real models: items, and how often the wrong one was called.

Per data set 2,000 pairs: half of them 4 to 6 points apart, a quarter at most half a point apart, a
quarter exactly tied (where there are so many), for which calling either better is wrong. Copies and
near copies are left out. In each of several splits 300 models are sources and the pairs are drawn
among the others. Every pair is played by the plan of a session (`mdad.Session`, error probability
0.05, batches of 10) on the real answers; random designs with an order of its own for every pair.

Fixed designs ask the same items in the same order, with one look at a size that is chosen
afterwards, in steps of 10, as the smallest that does as well on the same pairs:

- test: one test of the same error probability; it must decide as many pairs rightly, and call no
  more of them wrongly
- test of 95 %: the same, of the size at which it decides 95 % of the pairs rightly: a fixed size
  that serves nearly all pairs, and not the hardest of a thousand
- ranking: the leader is called better, whatever the lead (a tie counts half); it must be wrong no
  more often, at this and all larger sizes. Unlike the session it makes no promise: of pairs
  without a difference it always calls one better

The second table is of pairs and single models without a difference, made up: how often the design
"random" calls one better, over 4,000 orders.

    python experiments/adaptive.py FOLDER [--part pairs|null] [--data musr,ifeval] [--splits 5]
        [--pairs 1000]

FOLDER holds musr.csv.gz and ifeval.csv.gz.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

import mdad
from mdad._rng import Stream
from mdad.adaptive import _replay
from mdad.adaptive._plan import ROUNDING, Plan, looks_of
from mdad.adaptive._spending import boundaries
from mdad.adaptive._start import LEARNED_SHARE
from mdad.quality import distinct_models

ALPHA, BATCH, N_SOURCE = 0.05, 10, 300
NEARLY_ALL = 0.95
KINDS = {"4 to 6": (0.04, 0.06, 1.0), "up to 0.5": (1e-6, 0.005, 0.5), "0": (0.0, 0.0, 0.5)}
"""Lowest and highest gap of the pairs, and how many there are of them."""


@dataclass
class Played:
    """Outcomes of many pairs; arrays over pairs, and (n_sizes, n_pairs) for fixed designs.

    Parameters
    ----------
    truth : sign of the full-score gap
    size, sign : items used and what was decided
    gap : estimated gap at every multiple of the batch
    test : what one test at this size says
    """

    truth: np.ndarray
    size: np.ndarray
    sign: np.ndarray
    gap: np.ndarray
    test: np.ndarray


def draw(full: np.ndarray, kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs of positions, of the wanted gap, in either order."""
    first, second = np.triu_indices(len(full), 1)
    gap = np.abs(full[first] - full[second])
    low, high, share = KINDS[kind]
    there = np.flatnonzero((gap >= low - 1e-9) & (gap <= high + 1e-9))
    chosen = rng.choice(there, min(int(count * share), len(there)), replace=False)
    pairs = np.stack([first[chosen], second[chosen]], axis=1)
    return np.where(rng.random(len(pairs))[:, None] < 0.5, pairs, pairs[:, ::-1])


def first_sign(signs: np.ndarray, looks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Size and sign of the first look that decides, else the last size and 0."""
    hit = signs != 0
    place = np.where(hit.any(axis=0), hit.argmax(axis=0), len(looks) - 1)
    return looks[place], signs[place, np.arange(signs.shape[1])]


def play_random(
    contrast: np.ndarray,
    budget: int,
    spending: str,
    rng: np.random.Generator,
    reference: float | None = None,
) -> Played:
    """Sessions of the design "random"; the arithmetic of `random_look`, for all rows at once.

    Parameters
    ----------
    contrast : array of shape (n_pairs, n_items)
    reference : of single models with 0/1 scores
    """
    n_pairs, n_items = contrast.shape
    looks = np.array(looks_of(BATCH, budget))
    bounds = boundaries(tuple(looks.tolist()), n_items, alpha=ALPHA, spending=spending)
    truth = np.sign(np.round(contrast.sum(axis=1), 9))
    order = rng.permuted(np.tile(np.arange(n_items), (n_pairs, 1)), axis=1)
    contrast = np.take_along_axis(contrast, order, axis=1)
    total = contrast.cumsum(axis=1)[:, looks - 1].T
    different = (contrast != 0).cumsum(axis=1)[:, looks - 1].T
    squares = (contrast**2).cumsum(axis=1)[:, looks - 1].T
    step = np.where(different == 0, 1, np.sqrt(squares / np.maximum(different, 1)))
    squares = np.where(different == 0, 2, squares * (1 + 2 / np.maximum(different, 1)))
    if reference is not None:
        step = np.ones_like(squares)
        squares = np.tile(looks[:, None] * reference * (1 - reference), (1, n_pairs))
    least, most = (-1, 1) if reference is None else (-reference, 1 - reference)
    left = (n_items - looks)[:, None]

    def signs(bound: np.ndarray) -> np.ndarray:
        half = bound * np.sqrt(squares * left / n_items) + np.where(left > 0, step / 2, 0)
        half = half / looks[:, None]
        gap = total / looks[:, None]
        low = np.maximum(gap - half, (total + least * left) / n_items)
        high = np.minimum(gap + half, (total + most * left) / n_items)
        return np.where(low > ROUNDING, 1, np.where(high < -ROUNDING, -1, 0))

    size, sign = first_sign(signs(bounds[:, None]), looks)
    one = signs(np.full((len(looks), 1), NormalDist().inv_cdf(1 - ALPHA / 2)))
    return Played(truth, size, sign, total, one)


def play_learned(
    sources: mdad.ScoreMatrix, values: np.ndarray, pairs: np.ndarray, plan: Plan, single: np.ndarray
) -> Played:
    """Sessions of a learned design; `single` holds the bounds of one test at every look."""
    position = sources.item_position
    fitted = _replay.Fitted(np.array([position[i] for i in plan.order]), plan.predictors)
    scores = _replay.predictions(fitted, values)
    gap = scores[:, pairs[:, 0]] - scores[:, pairs[:, 1]]
    full = values.sum(axis=1)

    def signs(bound: np.ndarray) -> np.ndarray:
        return np.where(np.abs(gap) > bound[:, None], np.sign(gap), 0).astype(int)

    size, sign = first_sign(signs(np.array(plan.bounds)), np.array(plan.looks))
    truth = np.sign(full[pairs[:, 0]] - full[pairs[:, 1]])
    return Played(truth, size, sign, gap, signs(single))


def single_bounds(sources: mdad.ScoreMatrix, design: str, looks: tuple[int, ...]) -> np.ndarray:
    """Half widths of one look alone, by the same replay."""
    errors, weights = _replay.replayed_errors(sources, design, looks, "micro", None)
    level = (1 - ALPHA) * (len(sources.models) // 2 + 1) / (len(sources.models) // 2)
    return np.array([_replay.weighted_quantile(np.abs(e), weights, level) for e in errors])


def fixed_sizes(played: Played, looks: np.ndarray) -> tuple[str, ...]:
    """Sizes of the fixed designs that do as well, or "-" where none of the sizes does."""
    truth, right = played.truth, (played.sign == played.truth).mean()
    wrong = (played.sign == -played.truth).mean()
    good = ((played.test == truth).mean(axis=1) >= right - 1e-12) & (
        (played.test == -truth).mean(axis=1) <= wrong + 1e-12
    )
    most = (played.test == truth).mean(axis=1) >= NEARLY_ALL
    ranked = np.sign(np.round(played.gap, 9))
    off = (ranked == -truth).mean(axis=1) + (ranked == 0).mean(axis=1) / 2
    calm = np.flip(np.logical_and.accumulate(np.flip(off <= wrong + 1e-12)))
    return tuple(str(looks[k.argmax()]) if k.any() else "-" for k in (good, most, calm))


def join(parts: list[Played]) -> Played:
    one = lambda name: np.concatenate([getattr(p, name) for p in parts], axis=-1)  # noqa: E731
    return Played(*(one(name) for name in ("truth", "size", "sign", "gap", "test")))


def play(scores: mdad.ScoreMatrix, splits: int, count: int) -> dict[tuple[str, int, str], Played]:
    """All designs on the same pairs."""
    parts: dict[tuple[str, int, str], list[Played]] = {}
    half = scores.n_items // 2
    for split in range(splits):
        rng = Stream(split).child("adaptive").rng()
        mixed = rng.permutation(scores.models)
        sources = scores.restrict(models=mixed[:N_SOURCE])
        values = scores.restrict(models=mixed[N_SOURCE:]).values.astype(np.float64)
        full = values.mean(axis=1)
        pairs = {kind: draw(full, kind, count // splits, rng) for kind in KINDS}
        for budget in (scores.n_items, half):
            for spending in ("pocock", "obrien-fleming"):
                for kind, each in pairs.items():
                    contrast = values[each[:, 0]] - values[each[:, 1]]
                    found = play_random(contrast, budget, spending, rng)
                    parts.setdefault((f"random, {spending}", budget, kind), []).append(found)
        for design in ("c-optimal", "irt-information"):
            for budget in (int(LEARNED_SHARE * scores.n_items), half):
                looks = looks_of(BATCH, budget)
                plan = _replay.learned_plan(sources, design, looks, alpha=ALPHA)
                single = single_bounds(sources, design, looks)
                for kind, each in pairs.items():
                    found = play_learned(sources, values, each, plan, single)
                    parts.setdefault((design, budget, kind), []).append(found)
    return {key: join(each) for key, each in parts.items()}


def without_difference(shape: str, n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Contrasts of a pool that sum to 0 exactly."""
    if shape.startswith("0/1"):
        count = round(float(shape.split()[1]) * n_items / 2)
        return np.array([1.0] * count + [-1.0] * count + [0.0] * (n_items - 2 * count))
    if shape.startswith("against"):
        reference = float(shape.split()[1])
        right = round(reference * n_items)
        return np.array([1.0] * right + [0.0] * (n_items - right)) - reference
    if shape == "graded, skewed":
        found = rng.beta(0.3, 3.0, n_items) - rng.beta(2.0, 6.0, n_items)
    else:
        found = rng.normal(0, 0.2, n_items).clip(-1, 1)
    return found - found.mean()


def null_table(count: int) -> None:
    print()
    print("| pool | items | budget | spending | orders | called |")
    print("|---|---|---|---|---|---|")
    shapes = ("0/1 0.05", "0/1 0.2", "0/1 0.5", "0/1 0.9", "graded, normal", "graded, skewed")
    shapes += ("against 0.5", "against 0.9", "against 0.97")
    for n_items, budget in ((200, 200), (1000, 1000), (1000, 300), (5000, 1000)):
        for shape in shapes:
            rng = Stream(n_items).child("null", shape, budget).rng()
            contrast = without_difference(shape, n_items, rng)
            reference = float(shape.split()[1]) if shape.startswith("against") else None
            for spending in ("pocock", "obrien-fleming"):
                rows = np.tile(contrast, (count, 1))
                found = play_random(rows, budget, spending, rng, reference)
                early = (found.sign != 0) & (found.size < n_items)
                cells = (shape, n_items, budget, spending, count, f"{early.mean():.4f}")
                print("|", " | ".join(map(str, cells)), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--data", default="musr,ifeval")
    parser.add_argument("--part", default="pairs,null")
    args = parser.parse_args()
    if "pairs" in args.part:
        pair_table(args)
    if "null" in args.part:
        null_table(4000)


def pair_table(args: argparse.Namespace) -> None:
    names = ("data", "design", "budget", "gap", "pairs", "mean items", "right", "wrong")
    fixed = ("fixed test", "saved", "test of 95 %", "saved", "ranking", "saved")
    print("|", " | ".join((*names, "ties called", *fixed)), "|")
    print("|" + "---|" * 15)
    for name in args.data.split(","):
        scores = mdad.load(args.folder / f"{name}.csv.gz", duplicates="number").complete().scores
        scores = distinct_models(scores.sorted())
        for (design, budget, kind), found in play(scores, args.splits, args.pairs).items():
            ties, real = found.truth == 0, found.truth != 0
            wrong = (found.sign == -found.truth)[real].sum() + (found.sign != 0)[ties].sum()
            cells = [
                name,
                design,
                budget,
                kind,
                len(found.truth),
                f"{found.size.mean():.0f}",
                f"{(found.sign == found.truth)[real].mean():.3f}" if real.any() else "-",
                f"{wrong / len(found.truth):.4f}",
                f"{(found.sign != 0)[ties].sum()} of {ties.sum()}",
            ]
            sizes = ("-", "-", "-")
            if kind == "4 to 6":
                sizes = fixed_sizes(found, np.array(looks_of(BATCH, budget)))
            for size in sizes:
                saved = "-" if size == "-" else f"{1 - found.size.mean() / int(size):.0%}"
                cells += [size, saved]
            print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()
