"""Processor seconds of k-medoids and of the anchor-point methods at the size of MMLU-Pro.

    python benchmarks/pam.py [--quick]

300 simulated source models x 6,012 items (x 10 options), one thread. Prints our FasterPAM beside
that of the package kmedoids from the same first medoids, where that is installed, and a run of all
seven sizes beside the seconds of the July 2025 snapshot of the paper's code (measured on another
machine with 2 cores). --quick takes 1,500 items, for which the snapshot has no figure.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from mdad._rng import Stream
from mdad.datasets import simulate
from mdad.experiment import STANDARD_SIZES, estimate
from mdad.methods import make_method
from mdad.scores import ScoreMatrix
from mdad.selectors._correlation import Correlations, distance_matrix
from mdad.selectors._pam import faster_pam

if TYPE_CHECKING:
    import numpy.typing as npt

N_SOURCE, N_TARGET, N_SEEN, N_OPTIONS = 300, 50, 6012, 10
REFERENCE = {"anchor-points": 32.3, "anchor-points-predictor": 2100.0}


def matrix(n_items: int) -> ScoreMatrix:
    """Source models first, then targets; every second item of the simulated benchmark."""
    scores = simulate(preset="mmlu-pro", seed=0).sorted()
    return scores.restrict(
        models=scores.models[: N_SOURCE + N_TARGET], items=scores.items[::2][:n_items]
    )


def with_options(scores: ScoreMatrix) -> ScoreMatrix:
    """The rest of the probability spread over wrong options, of which some attract all models."""
    rng = np.random.default_rng(0)
    shape = (scores.n_models, scores.n_items, N_OPTIONS)
    layer = np.exp(rng.normal(size=shape) + 2 * rng.normal(size=(1, *shape[1:])), dtype=np.float32)
    right = rng.integers(0, N_OPTIONS, scores.n_items)
    columns = np.arange(scores.n_items)
    layer[:, columns, right] = 0
    layer *= ((1 - scores.probabilities) / layer.sum(axis=2))[:, :, None]
    layer[:, columns, right] = scores.probabilities
    return ScoreMatrix(
        (layer.argmax(axis=2) == right).astype(np.int8),
        scores.models,
        scores.items,
        probabilities=scores.probabilities,
        simulated=True,
        option_probabilities=layer,
        right_options=right,
    )


def compare_pam(distances: npt.NDArray[np.float32], sizes: list[int]) -> None:
    try:
        import kmedoids  # noqa: PLC0415
    except ImportError:
        kmedoids = None
    print(f"{'size':>6} {'seconds':>9} {'loss':>10} {'kmedoids':>9} {'loss':>10} {'ratio':>6}")
    for size in sizes:
        start = np.random.default_rng(size).choice(len(distances), size, replace=False)
        first = time.process_time()
        ours = faster_pam(distances, start)
        seconds = time.process_time() - first
        line = f"{size:6} {seconds:9.2f} {ours.loss:10.2f}"
        if kmedoids is not None:
            first = time.process_time()
            theirs = kmedoids.fasterpam(distances, start.astype(np.uint64), n_cpu=1)
            other = time.process_time() - first
            assert ours.loss <= 1.001 * theirs.loss
            line += f" {other:9.2f} {theirs.loss:10.2f} {seconds / other:6.2f}"
        print(line, flush=True)


def whole_run(name: str, scores: ScoreMatrix, sizes: list[int], *, known: bool) -> None:
    source = scores.restrict(models=scores.models[:N_SOURCE])
    target = scores.restrict(models=scores.models[N_SOURCE:])
    first = time.process_time()
    build = make_method(name).prepare(source, aggregate="micro", stream=Stream(0))
    for size in sizes:
        estimate(build(size), target)
    seconds = time.process_time() - first
    line = f"{name}: {seconds:.1f} s for {len(sizes)} sizes"
    if known:
        line += f"; the snapshot {REFERENCE[name]:,.0f} s, {REFERENCE[name] / seconds:.0f} times"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    n_items = 1500 if parser.parse_args().quick else N_SEEN
    sizes = [size for size in STANDARD_SIZES if size < n_items]
    scores = matrix(n_items)
    with threadpool_limits(limits=1):
        first = time.process_time()
        source = scores.restrict(models=scores.models[:N_SOURCE])
        distances = distance_matrix(Correlations.of(source), n_items)
        print(f"distances of {n_items:,} items: {time.process_time() - first:.2f} s")
        compare_pam(distances, sizes)
        del distances
        whole_run("anchor-points", scores, sizes, known=n_items == N_SEEN)
        options = with_options(scores)
        whole_run("anchor-points-predictor", options, sizes, known=n_items == N_SEEN)


if __name__ == "__main__":
    main()
