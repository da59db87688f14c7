"""Measures written the slow and obvious way, and results made from given numbers.

Scores are whole numbers of right answers here wherever possible, so ties and bins are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from sklearn.isotonic import IsotonicRegression

from mdad._tables import bootstrap_weights
from mdad.experiment import ITEM_SETS, Experiment, Run
from mdad.methods import METHODS
from mdad.results import Results, ScoresFacts, Spec


@dataclass(frozen=True)
class Counts:
    """Right answers of target models: on the full sets, and on the chosen items.

    full : (3, n_runs, n_target) ints, out of n_items of each set
    chosen : (n_methods, n_sizes, n_runs, n_target) ints, out of sizes
    models : names of the targets, one row per run
    """

    full: np.ndarray
    chosen: np.ndarray
    n_items: tuple[int, int, int]
    sizes: tuple[int, ...]
    models: tuple[tuple[str, ...], ...]

    @property
    def results(self) -> Results:
        sizes = np.array(self.sizes)[None, :, None, None]
        full = self.full / np.array(self.n_items)[:, None, None]
        return results_of(self.chosen / sizes, full, self.n_items, self.sizes, self.models)

    @property
    def cells(self):
        methods = list(METHODS)[: len(self.chosen)]
        return [(m, s, i, j) for i, m in enumerate(methods) for j, s in enumerate(self.sizes)]

    def pairs(self, items, m, s):
        """Every pair, later model first: run, two models, full gap and estimated gap."""
        which, n_runs, n_target = ITEM_SETS.index(items), *self.full.shape[1:]
        for run in range(n_runs):
            for a in range(n_target):
                for b in range(a):
                    full = self.full[which, run]
                    chosen = self.chosen[m, s, run]
                    gap = Fraction(int(full[a] - full[b]), self.n_items[which])
                    seen = Fraction(int(chosen[a] - chosen[b]), self.sizes[s])
                    yield run, self.models[run][a], self.models[run][b], gap, seen


def results_of(
    estimates, full, n_items, sizes, models, *, kind="correctness", score_range=(0.0, 1.0), seed=0
):
    """Results that hold these numbers."""
    n_methods, _, n_runs, n_target = estimates.shape
    experiment = Experiment(
        methods=tuple(METHODS)[:n_methods],
        sizes=tuple(sizes),
        runs=n_runs,
        n_source=1,
        n_target=n_target,
        seed=seed,
    )
    names = {model for row in models for model in row}
    facts = ScoresFacts(
        name="made up",
        simulated=True,
        kind=kind,
        score_range=score_range,
        n_models=len(names),
        n_items=n_items[2],
        n_subtasks=0,
        data_fingerprint="d",
        items_fingerprint="i",
    )
    runs = []
    for run in range(n_runs):
        # Runs keep their targets in alphabetical order.
        order = np.argsort(np.array(models[run]))
        runs.append(
            Run(
                run,
                tuple(np.array(models[run])[order].tolist()),
                estimates[:, :, run, order],
                np.full(estimates[:, :, run].shape, np.nan),
                full[:, run, order],
                n_items,
            )
        )
    return Results(Spec(experiment, facts), tuple(runs))


def random_counts(
    seed, *, n_runs=3, n_target=6, n_models=9, n_items=(224, 200, 424), sizes=(5, 20), n_methods=2
):
    """Counts with ties of every kind."""
    rng = np.random.default_rng(seed)
    ability = rng.uniform(0.1, 0.9, n_models)
    ability[-2:] = ability[:2]
    full = np.empty((3, n_runs, n_target), dtype=int)
    chosen = np.empty((n_methods, len(sizes), n_runs, n_target), dtype=int)
    models = []
    for run in range(n_runs):
        target = rng.choice(n_models, n_target, replace=False)
        models.append(tuple(f"model-{i}" for i in target))
        for k, n in enumerate(n_items):
            full[k, run] = np.rint(ability[target] * n)
        for s, size in enumerate(sizes):
            chosen[:, s, run] = rng.binomial(size, ability[target], (n_methods, n_target))
    return Counts(full, chosen, tuple(n_items), tuple(sizes), tuple(models))


def renamed(counts, names):
    """The same models under other names."""
    models = tuple(tuple(names[model] for model in row) for row in counts.models)
    return replace(counts, models=models)


def agreed(gap, seen, ties):
    if seen == 0:
        return Fraction(1, 2) if ties == "half" else Fraction(0)
    return Fraction(int((gap > 0) == (seen > 0)))


def bin_index(gap):
    """Half-point bin of an exact gap in [0, 1]."""
    return math.floor(abs(gap) * 200)


def weights_of(results, interval):
    """Bootstrap weights of a pair, as functions of replicate, run and two models.

    One function for unit "runs"; for "models" those of models, of runs, and of both.
    """
    drawn = bootstrap_weights(results, interval)
    place = {model: i for i, model in enumerate(results.models)}

    def of_run(b, run, _first, _second):
        return drawn.runs[b, run]

    def of_models(b, _run, first, second):
        return drawn.models[b, place[first]] * drawn.models[b, place[second]]

    def of_both(b, *pair):
        return of_run(b, *pair) * of_models(b, *pair)

    return [of_run] if drawn.models is None else [of_models, of_run, of_both]


def bins_of(rows, weight=None):
    """Sum of weights x outcomes, weight, pairs and mean |x| by half-point bin of |x|.

    rows : (run, first, second, x, outcome)
    """
    table = {}
    for run, first, second, x, outcome in rows:
        w = 1.0 if weight is None else weight(run, first, second)
        cell = table.setdefault(bin_index(x), [0.0, 0.0, 0, 0.0])
        cell[0] += w * float(outcome)
        cell[1] += w
        cell[2] += 1
        cell[3] += float(abs(x))
    return table


def crossing_by_search(table, threshold, positions=None):
    """Where scikit-learn's isotonic fit of the bin means reaches the threshold; inf if nowhere.

    positions : mean |x| by bin; of the table itself by default
    """
    used = sorted(b for b in table if table[b][1] > 0)
    if not used:
        return math.inf
    positions = positions or {b: table[b][3] / table[b][2] for b in table}
    x = np.array([positions[b] for b in used])
    y = np.array([table[b][0] / table[b][1] for b in used])
    fit = IsotonicRegression().fit(x, y, sample_weight=[table[b][1] for b in used])
    # A mean that is exactly the threshold reaches it, whatever rounding says.
    level = threshold - 1e-12
    low, high = float(x[0]), float(x[-1])
    if fit.predict([low])[0] >= level:
        return low
    if fit.predict([high])[0] < level:
        return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if fit.predict([middle])[0] >= level else (middle, high)
    return high


def first_bin(table, threshold, min_pairs=30):
    for b in sorted(table):
        if table[b][1] >= min_pairs and table[b][0] >= (threshold - 1e-9) * table[b][1]:
            return b / 200
    return math.inf


def percentiles(replicates, level):
    """Ends of the percentile interval that are replicates themselves."""
    ordered = sorted(r for r in replicates if not math.isnan(r))
    if not ordered:
        return math.nan, math.nan
    n, tail = len(ordered), (1 - level) / 2
    return tuple(ordered[max(math.ceil(round(q * n, 9)) - 1, 0)] for q in (tail, 1 - tail))


def interval_of(value, replicates, level, highest=math.inf):
    """The interval from one list of replicates, or from those of models, of runs, and of both."""
    low, high = percentiles(replicates[0], level)
    if len(replicates) == 1:
        return low, high
    # Half the middle 68 % stands for a standard deviation.
    models, runs, both = (
        (upper - lower) / 2 for lower, upper in (percentiles(part, 0.68) for part in replicates)
    )
    if not all(map(math.isfinite, (value, models, runs, both))) or models == 0:
        return low, high
    variance = max(2 * (runs**2 + models**2) - both**2, runs**2)
    scale = math.sqrt(variance) / models
    return tuple(min(max(value + scale * (end - value), 0.0), highest) for end in (low, high))
