"""Seconds and peak memory of reading and writing large tables.

    python benchmarks/tables.py [--quick]

Prints a table. Every case runs in a process of its own, so that the peak is its own; the peak
includes the interpreter and the libraries (about 0.1 GiB). --quick takes 1,000 instead of
5,000 models for the long table and the directory.

Two busy cores, Python 3.11, pyarrow 26: wide CSV 0.9 s and 0.06 GiB, gzip 0.6 s, long Parquet of
100 million rows 13 to 17 s and 0.53 GiB, packed directory of
5,000 x 100,000 opened in 0.2 to 0.8 s.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad import loaders, storage
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Callable

GIB = 2**30
UNIT = 1 if sys.platform == "darwin" else 1024


def simulated(n_models: int, n_items: int) -> ScoreMatrix:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (n_models, n_items), dtype=np.int8)
    return ScoreMatrix(
        values,
        [f"organisation/model-{i}" for i in range(n_models)],
        [f"benchmark_{i:06}" for i in range(n_items)],
    )


def write_long(path: Path, n_models: int, n_items: int) -> None:
    """A plain long table, without what mdad would write into its metadata."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rng = np.random.default_rng(0)
    items = pa.array([f"benchmark_{i:06}" for i in range(n_items)])
    writer = None
    for start in range(0, n_models, 50):
        models = np.repeat([f"organisation/model-{i}" for i in range(start, start + 50)], n_items)
        codes = pa.array(np.tile(np.arange(n_items), 50))
        scores = rng.integers(0, 2, len(models))
        table = pa.table({"model": models, "item": items.take(codes), "score": scores})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def load(path: Path) -> None:
    assert loaders.load(path).n_missing == 0


def write_directory(path: Path, n_models: int, n_items: int) -> None:
    storage.write_directory(simulated(n_models, n_items), path)


def open_directory(path: Path) -> None:
    assert storage.open_directory(path).n_missing == 0


def peak_memory() -> float:
    """Largest resident memory of this process, in GiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would report the peak of the parent when that was higher.
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / GIB


def _measure(queue: Any, work: Callable[..., None], args: tuple[Any, ...]) -> None:
    start = time.perf_counter()
    work(*args)
    seconds = time.perf_counter() - start
    queue.put((seconds, peak_memory()))


def timed(label: str, work: Callable[..., None], *args: Any) -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_measure, args=(queue, work, args))
    process.start()
    seconds, peak = queue.get()
    process.join()
    print(f"{label:55} {seconds:8.2f} s {peak:8.2f} GiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    n_models = 1_000 if parser.parse_args().quick else 5_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        storage.write_csv(simulated(450, 12_032), folder / "wide.csv")
        timed("load wide CSV, 450 x 12,032", load, folder / "wide.csv")
        storage.write_csv(simulated(450, 12_032), folder / "wide.csv.gz")
        timed("load wide CSV, gzip, 450 x 12,032", load, folder / "wide.csv.gz")
        long = folder / "long.parquet"
        write_long(long, n_models, 20_000)
        timed(f"load long Parquet, {n_models:,} x 20,000", load, long)
        long.unlink()
        timed(
            f"simulate and write packed directory, {n_models:,} x 100,000",
            write_directory,
            folder / "store",
            n_models,
            100_000,
        )
        timed(f"open packed directory, {n_models:,} x 100,000", open_directory, folder / "store")


if __name__ == "__main__":
    main()
