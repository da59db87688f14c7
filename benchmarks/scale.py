"""How time and memory of an audit grow, and whether a big one fits.

    python benchmarks/scale.py growth [--methods a,b]   four sizes each of models, items, runs, size
    python benchmarks/scale.py memory                   what a run holds at most, beside the plan
    python benchmarks/scale.py big [--models 5000 --items 100000 --n-jobs 2 --memory 8G]
    python benchmarks/scale.py many [--audits 1000]     small audits in one process

``growth`` audits simulated 0/1 scores in this process and on one thread; seconds are those of the
processor, so that other programs count little, and memory is what Python and numpy hold at most
beyond the scores. An exponent is the slope of log(time) on log(number): 1 is proportional. With
``models`` the matrix grows and so do the source models; with ``items`` so does the seen half.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np

import mdad
from mdad._memory import memory_plan, shown
from mdad.datasets import simulate
from mdad.experiment import Experiment, run_once
from mdad.methods import METHODS
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix
from mdad.storage import open_directory, write_directory

LINEAR = ("random", "random-subtasks-proportional", "stratified-confidence", "c-optimal")
OTHERS = ("anchor-points", "diversity", "tinybenchmarks", "mrmr-ridge", "random-aipw", "lasso")
BASE = {"models": 200, "items": 8000, "runs": 2, "size": 50}
STEPS = {
    "models": (100, 200, 400, 800),
    "items": (4000, 8000, 16000, 32000),
    "runs": (2, 4, 8, 16),
    "size": (50, 100, 200, 400),
}
N_TARGET = 30
BIG_METHODS = "random,random-subtasks-proportional,c-optimal"


def scored(n_models: int, n_items: int, seed: int = 0) -> ScoreMatrix:
    """Zeros and ones of a two-parameter model with three abilities and ten subtasks, in blocks."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(n_models, 3)).astype(np.float32)
    ability[:, 1:] = 0.4 * ability[:, 1:] + ability[:, :1]
    kind = np.sort(rng.integers(0, 3, n_items))
    difficulty = rng.normal(size=n_items).astype(np.float32)
    values = np.empty((n_models, n_items), dtype=np.int8)
    for row in range(n_models):
        chance = 1 / (1 + np.exp(difficulty - ability[row, kind]))
        values[row] = rng.random(n_items, dtype=np.float32) < chance
    return ScoreMatrix(
        values,
        [f"m{i:06d}" for i in range(n_models)],
        [f"q{i:06d}" for i in range(n_items)],
        [f"t{i * 10 // n_items}" for i in range(n_items)],
        name="simulated",
        simulated=True,
    )


def one(method: str, models: int, items: int, runs: int, size: int) -> tuple[float, float]:
    """Processor seconds and MiB of one audit."""
    scores = scored(models, items)
    experiment = Experiment(
        methods=(method,), sizes=(size,), runs=runs, n_source=models - N_TARGET, n_target=N_TARGET
    )
    run_once(scores, experiment.resolve(scores), runs)  # imports
    start = time.process_time()
    run_experiment(Completed(scores, (), ()), experiment)
    seconds = time.process_time() - start
    tracemalloc.start()
    run_once(scores, experiment.resolve(scores), 0)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return seconds, peak


def slope(numbers: tuple[int, ...], found: list[float]) -> float:
    return float(np.polyfit(np.log(numbers), np.log(np.maximum(found, 1e-3)), 1)[0])


def growth(options: argparse.Namespace) -> None:
    methods = options.methods.split(",") if options.methods else LINEAR + OTHERS
    print(f"base: {BASE}, {N_TARGET} target models, all others sources; steps {STEPS}")
    head = f"{'method':30}{'grows':8}{'seconds at the four numbers':>36}{'exponent':>10}"
    print(f"{head}{'MiB':>32}{'exponent':>10}")
    for method in methods:
        for axis, steps in STEPS.items():
            numbers = steps[:3] if options.small and method not in LINEAR else steps
            found = [one(method, **{**BASE, axis: number}) for number in numbers]
            times, peaks = (list(values) for values in zip(*found, strict=True))
            cells = "".join(f"{seconds:9.2f}" for seconds in times)
            mib = "".join(f"{peak:8.0f}" for peak in peaks)
            print(
                f"{method:30}{axis:8}{cells:>36}{slope(numbers, times):10.2f}"
                f"{mib:>32}{slope(numbers, peaks):10.2f}",
                flush=True,
            )


def memory(options: argparse.Namespace) -> None:
    names = options.methods.split(",") if options.methods else METHODS
    print(f"{'method':30}{'sources':>9}{'items':>8}{'size':>6}{'held':>12}{'planned':>12}")
    for name in names:
        for n_source, n_items, size in ((100, 2000, 200), (300, 2000, 50), (100, 6000, 200)):
            scores = simulate(n_models=n_source + 50, n_items=n_items, seed=1).sorted()
            experiment = Experiment(
                methods=(name,), sizes=(size,), runs=1, n_source=n_source, n_target=30
            ).resolve(scores)
            held = held_by(scores, experiment)
            planned = memory_plan(scores, experiment, 1, 1).run
            print(
                f"{name:30}{n_source:9}{n_items:8}{size:6}{shown(held):>12}{shown(planned):>12}",
                flush=True,
            )


def held_by(scores: ScoreMatrix, experiment: Experiment) -> float:
    """Bytes a run holds at most, after one that imports what it needs."""
    run_once(scores, replace(experiment, sizes=experiment.sizes[:1]), 1)
    gc.collect()
    tracemalloc.start()
    run_once(scores, experiment, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


class Watch(threading.Thread):
    """The most memory of this process's children and theirs, all together, from /proc.

    Shared pages are counted once: of each process its private ones and its share of the others.
    """

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root, self.peak, self.ended = root, 0.0, threading.Event()

    def run(self) -> None:
        """Look five times a second until told that it is over."""
        while not self.ended.wait(0.2):
            self.peak = max(self.peak, sum(map(share, family(self.root))))


def family(root: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def share(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return (
        sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 2**20
    )


def big(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="big-") as folder:
        place = Path(folder) / "scores"
        start = time.monotonic()
        write_directory(scored(options.models, options.items), place)
        size = sum(path.stat().st_size for path in place.iterdir()) / 2**20
        print(f"simulated and stored in {time.monotonic() - start:.0f} s: {size:.0f} MiB on disk")
        gc.collect()
        for _ in range(3):
            start = time.monotonic()
            scores = open_directory(place)
            print(f"opened in {time.monotonic() - start:.2f} s: {scores}")
            del scores
        command = [
            *(sys.executable, "-m", "mdad", "audit", str(place), "--methods", options.methods),
            *("--sizes", options.sizes, "--runs", str(options.runs), "--json"),
            *("--n-jobs", str(options.n_jobs), "--memory", options.memory),
            *("--out", str(Path(folder) / "out")),
            *(() if options.n_source is None else ("--n-source", str(options.n_source))),
        ]
        print(" ".join(command))
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
        watch = Watch(process.pid)
        watch.start()
        code = process.wait()
        watch.ended.set()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"exit {code} after {(time.monotonic() - start) / 60:.1f} minutes "
            f"({(used.ru_utime + used.ru_stime) / 60:.1f} of processor time); at most "
            f"{watch.peak:.2f} GiB in all processes together"
        )


def many(options: argparse.Namespace) -> None:
    scores = simulate(n_models=30, n_items=120, seed=1)
    print(f"{'audits':>8}{'resident MiB':>14}{'files':>7}{'threads':>9}{'children':>10}{'s':>7}")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="many-") as folder:
        for number in range(options.audits + 1):
            if number % max(1, options.audits // 10) == 0:
                gc.collect()
                resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
                files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
                print(
                    f"{number:8}{resident:14.1f}{files:7}{threading.active_count():9}"
                    f"{len(family(os.getpid())) - 1:10}{time.monotonic() - start:7.0f}",
                    flush=True,
                )
            out = Path(folder) / str(number) if number % 2 else None
            settings = {"n_jobs": 2, "backend": "threads"} if number % 3 == 0 else {}
            if number % 50 == 0:
                settings = {"n_jobs": 2, "backend": "processes"}
            mdad.audit(
                scores, methods=LINEAR, sizes=[5, 10], runs=2, seed=number, out=out, **settings
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    steps = parser.add_subparsers(dest="step", required=True)
    for step in (growth, memory, big, many):
        sub = steps.add_parser(step.__name__)
        sub.set_defaults(do=step)
        sub.add_argument("--methods", default=BIG_METHODS if step is big else "")
        if step is growth:
            sub.add_argument("--small", action="store_true", help="three sizes for the slow ones")
        if step is many:
            sub.add_argument("--audits", type=int, default=1000)
        if step is big:
            for name, value in (("models", 5000), ("items", 100_000), ("runs", 10), ("n-jobs", 2)):
                sub.add_argument(f"--{name}", type=int, default=value)
            sub.add_argument("--n-source", type=int)
            sub.add_argument("--memory", default="8G")
            sub.add_argument("--sizes", default="25,50,100,250,1000")
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
