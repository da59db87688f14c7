"""The item response model and the methods built on it, against the paper and against oracles.

    python experiments/irt.py agreement FOLDER [--seeds 3] [--runs 50] [--n-jobs 1]
    python experiments/irt.py settings FOLDER [--runs 20]
    python experiments/irt.py recovery
    python experiments/irt.py likelihood FOLDER
    python experiments/irt.py girth

agreement: GPQA, the paper's setting (300 source and 50 target models), mean agreement beside the
published one. settings: what the scale of the difficulty, the number of dimensions and the starts
of k-means change there. recovery: correlations with the true item parameters of simulated scores
(where items can be guessed no 2PL finds them: given the true abilities it does no better).
likelihood: of held-out cells, beside a long optimisation of the same objective in float64. girth:
beside that package's marginal maximum likelihood (one dimension; about a minute; R's mirt was not
at hand).

FOLDER holds data/gpqa.csv.gz and reference/paper_agreement.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import mdad
from mdad import measures
from mdad._rng import Stream
from mdad.datasets import simulate_population
from mdad.estimators import WeightedMean
from mdad.experiment import Experiment, estimate
from mdad.intervals import Interval
from mdad.irt import _fit, fit
from mdad.methods import Method
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix
from mdad.selectors import IrtClusters
from mdad.splits import draw_split

SIZES = (10, 25, 50, 100, 200)
METHODS = ("random", "tinybenchmarks", "tinybenchmarks-pirt", "tinybenchmarks-gpirt")
NONE = Interval(n_resamples=0)


def gpqa(folder: Path) -> ScoreMatrix:
    return mdad.load(folder / "data" / "gpqa.csv.gz").sorted()


def agreement(folder: Path, seeds: int = 3, runs: int = 50, n_jobs: int = 1) -> pd.DataFrame:
    """Mean agreement by method and size, both tie rules, beside the published one."""
    parts = []
    for seed in range(seeds):
        experiment = Experiment(
            methods=METHODS, sizes=SIZES, runs=runs, n_source=300, n_target=50, seed=seed
        )
        results = run_experiment(Completed(gpqa(folder), (), ()), experiment, n_jobs=n_jobs)
        both = [
            measures.agreement(results, ties=ties, interval=NONE).set_index(
                ["method", "size", "items"]
            )["agreement"]
            for ties in ("wrong", "half")
        ]
        parts.append(pd.concat(both, axis=1, keys=["wrong", "half"]))
    table = pd.concat(parts).groupby(level=[0, 1, 2], sort=False)
    found = table.mean()
    found["spread"] = table["wrong"].agg(np.ptp)
    seen, unseen = found.xs("seen", level="items"), found.xs("unseen", level="items")
    kept = seen.add_prefix("seen_").join(unseen[["wrong", "half"]].add_prefix("unseen_"))
    paper = pd.read_csv(folder / "reference" / "paper_agreement.csv")
    paper = paper[(paper["benchmark"] == "gpqa") & (paper["n_source"] == 300)]
    theirs = paper.set_index(["method", "size"])[["agreement_seen", "agreement_unseen"]]
    joined = kept.join(theirs)
    joined["difference"] = joined["seen_wrong"] - joined["agreement_seen"]
    return joined.reset_index()


def settings(folder: Path, runs: int = 20) -> pd.DataFrame:
    """Agreement on seen items of variants of the selector with the same weighted mean."""
    variants = {
        "default": IrtClusters(),
        "scale='logit'": IrtClusters(scale="logit"),
        "dims=1": IrtClusters(dims=1),
        "dims=5": IrtClusters(dims=5),
        "n_init=10": IrtClusters(n_init=10),
    }
    scores, rows = gpqa(folder), []
    for run in range(runs):
        stream = Stream(0).child("run", run)
        split = draw_split(scores, n_source=300, n_target=50, stream=stream.child("split"))
        source = scores.restrict(models=split.source, items=split.seen)
        target = scores.restrict(models=split.target, items=split.seen)
        for name, selector in variants.items():
            method = Method("tinybenchmarks", selector, WeightedMean())
            build = method.prepare(source, aggregate="micro", stream=stream.child("select"))
            rows += [
                (name, size, share_right(estimate(build(size), target).values, target))
                for size in SIZES
            ]
    table = pd.DataFrame(rows, columns=["setting", "size", "agreement"])
    return table.pivot_table("agreement", "setting", "size", sort=False)


def share_right(estimates: np.ndarray, target: ScoreMatrix) -> float:
    first, second = np.triu_indices(len(estimates), 1)
    full = target.full_scores()
    gap = np.sign(full[first] - full[second])
    ahead = np.sign((estimates[first] - estimates[second]).round(9))
    return float((gap == ahead)[gap != 0].mean())


def two_parameter(
    n_models: int, n_items: int, dims: int, seed: int = 0
) -> tuple[ScoreMatrix, np.ndarray, np.ndarray]:
    """A draw from a 2PL: scores, discriminations (positive in dimension 1), difficulties D b."""
    rng = np.random.default_rng(seed)
    ability = rng.standard_normal((n_models, dims))
    slopes = rng.normal(0, 0.4, (n_items, dims))
    slopes[:, 0] = rng.lognormal(0, 0.3, n_items)
    difficulty = rng.normal(0, 1.2, n_items)
    chance = 1 / (1 + np.exp(difficulty - ability @ slopes.T))
    right = (rng.random(chance.shape) < chance).astype(int)
    return ScoreMatrix(right, range(n_models), range(n_items)), slopes, difficulty


def recovery(n_models: int = 300, n_items: int = 1000) -> pd.DataFrame:
    """Correlations of fitted item parameters with the true ones."""
    rows = []
    for true_dims in (1, 3, 10):
        scores, slopes, difficulty = two_parameter(n_models, n_items, true_dims)
        for dims in sorted({1, true_dims, 10}):
            result = fit(scores, dims=dims)
            rows.append(
                (
                    f"2PL, {true_dims} dimensions",
                    dims,
                    np.corrcoef(result.difficulty, difficulty)[0, 1],
                    np.corrcoef(result.slope, slopes[:, 0])[0, 1],
                )
            )
    rows += [_population_row(n_models, n_items, guessing) for guessing in (0.0, 1.0)]
    return pd.DataFrame(rows, columns=["simulated", "dims", "difficulty", "discrimination"])


def _population_row(n_models: int, n_items: int, guessing: float) -> tuple[str, int, float, float]:
    population = simulate_population(n_items=n_items, seed=1, guessing=guessing)
    models = population.draw_models(n_models, seed=1)
    result = fit(population.scores(models, seed=1))
    # These models are not centred at 0, and what shifts abilities shifts a D b with them.
    true = population.difficulty - population.discrimination @ models.abilities.mean(axis=0)
    return (
        f"mdad.datasets.simulate, guessing={guessing:g}",
        result.dims,
        np.corrcoef(result.difficulty, true)[0, 1],
        np.corrcoef(result.slope, population.discrimination[:, 0])[0, 1],
    )


def objective(
    x: np.ndarray, right: np.ndarray, scored: np.ndarray, prior: _fit.Prior, shape: tuple[int, int]
) -> tuple[float, np.ndarray]:
    """The objective of mdad.irt.fit and its gradient, signs turned, in float64."""
    n_models, dims = shape
    ability = x[: n_models * dims].reshape(shape)
    item = x[n_models * dims :].reshape(-1, dims + 1)
    slopes, difficulty = item[:, :-1], item[:, -1]
    logits = ability @ slopes.T - difficulty
    cells = scored * (right * logits - np.logaddexp(0, logits))
    residual = scored * (right - 1 / (1 + np.exp(-logits)))
    off = (difficulty - prior.difficulty_mean) / prior.difficulty_sd
    scaled = slopes / prior.discrimination_sd
    value = cells.sum() - ((ability**2).sum() + (scaled**2).sum() + (off**2).sum()) / 2
    of_ability = residual @ slopes - ability
    of_slopes = residual.T @ ability - scaled / prior.discrimination_sd
    of_difficulty = -residual.sum(axis=0) - off / prior.difficulty_sd
    gradient = [of_ability.ravel(), np.column_stack([of_slopes, of_difficulty]).ravel()]
    return -value, -np.concatenate(gradient)


def long_fit(
    state: _fit.State, right: np.ndarray, scored: np.ndarray, prior: _fit.Prior, steps: int
) -> _fit.State:
    """L-BFGS from the same start, until nothing moves or the steps are used up."""
    shape = state.ability.shape
    x = np.concatenate([state.ability.ravel(), state.item.ravel()]).astype(np.float64)
    found = minimize(
        objective,
        x,
        args=(right.astype(np.float64), scored.astype(np.float64), prior, shape),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20},
    )
    cut = shape[0] * shape[1]
    return _fit.State(found.x[:cut].reshape(shape), found.x[cut:].reshape(-1, shape[1] + 1))


def held_out(
    scores: ScoreMatrix, dims: int = 10, sweeps: int = _fit.SWEEPS, steps: int = 3000, seed: int = 0
) -> dict[str, float]:
    """Log-likelihood per hidden cell (a tenth) and the objective, ours and the long one."""
    hidden = np.random.default_rng(seed).random(scores.values.shape) < 0.1
    values = np.where(hidden, np.nan, scores.values)
    right, scored = _fit.responses(ScoreMatrix(values, scores.models, scores.items), None)
    assert scored is not None  # noqa: S101  # a tenth of the cells is hidden
    state, prior = _fit.start(right, scored, dims)
    result = {}
    for name, found in (
        ("ours", _fit.climb(state, prior, right, scored, sweeps)),
        ("long", long_fit(state, right, scored, prior, steps)),
    ):
        logits = found.ability @ found.item[:, :-1].T - found.item[:, -1]
        cells = scores.values * logits - np.logaddexp(0, logits)
        result[f"held_out_{name}"] = float(cells[hidden].mean(dtype=np.float64))
        result[f"objective_{name}"] = _fit.log_densities(found, prior, right, scored)[1]
    return result


def likelihood(folder: Path) -> pd.DataFrame:
    whole = gpqa(folder)
    cases = {
        "gpqa, 300 x 224": whole.restrict(models=whole.models[:300], items=whole.items[::2]),
        "2PL of 3 dimensions, 300 x 1,000": two_parameter(300, 1000, 3)[0],
    }
    return pd.DataFrame([{"scores": name, **held_out(s)} for name, s in cases.items()])


def against_girth(n_models: int = 300, n_items: int = 100) -> pd.DataFrame:
    """One-dimensional fit beside girth's marginal maximum likelihood."""
    import girth  # noqa: PLC0415  # not a dependency: pip install girth

    scores, slopes, difficulty = two_parameter(n_models, n_items, 1)
    table = scores.values.T.astype(int)
    theirs = girth.twopl_mml(table)
    a, b = theirs["Discrimination"], theirs["Difficulty"] * theirs["Discrimination"]
    ability = girth.ability_map(table, theirs["Difficulty"], a)
    logits = np.outer(ability, a) - b
    ours = fit(scores, dims=1)
    pairs = {
        "difficulty": (ours.difficulty, b),
        "discrimination": (ours.discrimination[:, 0], a),
        "ability": (ours.ability[:, 0], ability),
        "true difficulty, ours": (ours.difficulty, difficulty),
        "true difficulty, girth": (b, difficulty),
        "true discrimination, ours": (ours.discrimination[:, 0], slopes[:, 0]),
        "true discrimination, girth": (a, slopes[:, 0]),
    }
    rows = [(f"correlation, {name}", np.corrcoef(x, y)[0, 1]) for name, (x, y) in pairs.items()]
    total = (scores.values * logits - np.logaddexp(0, logits)).sum()
    rows += [("log-likelihood, ours", ours.log_likelihood), ("log-likelihood, girth", total)]
    return pd.DataFrame(rows, columns=["what", "value"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "what", choices=["agreement", "settings", "recovery", "likelihood", "girth"]
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    run = {
        "agreement": lambda: agreement(options.folder, options.seeds, options.runs, options.n_jobs),
        "settings": lambda: settings(options.folder, options.runs),
        "recovery": recovery,
        "likelihood": lambda: likelihood(options.folder),
        "girth": against_girth,
    }[options.what]
    # One thread each: small products are slower on two, and sums keep their order.
    with threadpool_limits(limits=1):
        table = run()
    print(table.round(4).to_string())


if __name__ == "__main__":
    main()
