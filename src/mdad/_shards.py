"""One Parquet shard per run: a run to a table, to bytes, and back.

A shard carries a digest of the run it holds, beside Parquet's own checksums of its pages: whatever
happened to the file, what is read from it is what was written, or it is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._files import write_atomically
from mdad.errors import ResultsError
from mdad.experiment import ITEM_SETS, Experiment, Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from mdad.results import Spec


class DamagedShardError(ResultsError):
    """A file under the name of a shard that is not one, or not the one expected there."""


def shard_path(folder: Path, number: int) -> Path:
    """Where a run's shard lies."""
    return folder / "runs" / f"run-{number:05d}.parquet"


def write_shard(folder: Path, run: Run, spec: Spec) -> None:
    """Write one run; the same run gives the same bytes."""
    import pyarrow as pa  # noqa: PLC0415  # slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    sink = pa.BufferOutputStream()
    marks = {"mdad_digest": _digest(run)}
    table = table_of(run, spec)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **marks})
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    write_atomically(shard_path(folder, run.number), sink.getvalue().to_pybytes())


def _digest(run: Run) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in (run, *run.parts):
        digest.update(repr((part.number, part.subtask, part.models, part.n_items)).encode())
        for numbers in (part.estimates, part.standard_errors, part.full):
            digest.update(repr(numbers.shape).encode() + np.ascontiguousarray(numbers).tobytes())
    return digest.hexdigest()


def set_aside(path: Path) -> Path:
    """Rename a damaged shard, so that its run can be done again; where it is now."""
    aside = path.with_name(f"{path.name}.damaged")
    path.replace(aside)
    return aside


def read_shard(folder: Path, number: int, spec: Spec) -> Run | None:
    """Read one run; None when it was not done yet.

    Raises
    ------
    DamagedShardError
        when the shard is damaged or belongs to another experiment.
    """
    import pyarrow as pa  # noqa: PLC0415  # slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    path = shard_path(folder, number)
    if not path.exists():
        return None
    try:
        # Not read_table: it takes a folder named "size=10" above the file for a column.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from None
    marks = {b"mdad_spec": spec.fingerprint.encode(), b"mdad_run": str(number).encode()}
    metadata = table.schema.metadata or {}
    if any(metadata.get(key) != value for key, value in marks.items()):
        raise DamagedShardError(f"{path} belongs to another experiment or run.")
    try:
        run = _runs(table, number, spec.experiment)
    except (pa.ArrowException, ValueError, TypeError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from None
    # Shards of earlier versions have no digest.
    if metadata.get(b"mdad_digest", _digest(run).encode()) != _digest(run).encode():
        raise _damaged(path, "its contents do not match their digest")
    return run


def _damaged(path: Path, why: object) -> DamagedShardError:
    return DamagedShardError(f"{path} is damaged ({why}).")


def table_of(run: Run, spec: Spec) -> pa.Table:
    """Rows of a run and of its subtasks, marked with the experiment they belong to."""
    import pyarrow as pa  # noqa: PLC0415  # slow to import

    table = pa.concat_tables([_table(part, spec) for part in (run, *run.parts)])
    marks = {"mdad_spec": spec.fingerprint, "mdad_run": str(run.number)}
    return table.unify_dictionaries().combine_chunks().replace_schema_metadata(marks)


def _table(run: Run, spec: Spec) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415  # slow to import

    n_methods, n_sizes, n_target = run.estimates.shape
    rows = n_methods * n_sizes * n_target

    def named(values: Sequence[Any], each: int) -> pa.Array:
        codes = np.resize(np.repeat(np.arange(len(values), dtype=np.int32), each), rows)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values, pa.string()))

    sizes = np.array(spec.experiment.sizes, dtype=np.int64)
    columns: dict[str, Any] = {
        "run": np.full(rows, run.number, dtype=np.int64),
        "subtask": named([run.subtask], rows),
        "method": named(spec.experiment.methods, n_sizes * n_target),
        "size": np.resize(np.repeat(sizes, n_target), rows),
        "model": named(run.models, 1),
        "estimate": run.estimates.ravel(),
        "standard_error": run.standard_errors.ravel(),
    }
    columns |= {s: np.resize(scores, rows) for s, scores in zip(ITEM_SETS, run.full, strict=True)}
    columns |= {
        f"n_{s}": np.full(rows, n, dtype=np.int64)
        for s, n in zip(ITEM_SETS, run.n_items, strict=True)
    }
    return pa.table(columns)


def _runs(table: pa.Table, number: int, experiment: Experiment) -> Run:
    """The run of a shard, and those of its subtasks."""
    rows = len(experiment.methods) * len(experiment.sizes) * (experiment.n_target or 0)
    if table.num_rows % rows or not table.num_rows:
        raise DamagedShardError(
            f"run {number} has {table.num_rows} rows; expected {rows} or a multiple."
        )
    whole, *parts = (
        _run(table.slice(start, rows), number, experiment)
        for start in range(0, table.num_rows, rows)
    )
    return replace(whole, parts=tuple(parts))


def _run(table: pa.Table, number: int, experiment: Experiment) -> Run:
    shape = (len(experiment.methods), len(experiment.sizes), experiment.n_target or 0)
    n_target = shape[2]

    def column(name: str) -> Any:
        return table.column(name).to_numpy()

    try:
        return Run(
            number,
            tuple(table.column("model").to_pylist()[:n_target]),
            column("estimate").reshape(shape),
            column("standard_error").reshape(shape),
            np.stack([column(name)[:n_target] for name in ITEM_SETS]),
            (int(column("n_seen")[0]), int(column("n_unseen")[0]), int(column("n_all")[0])),
            table.column("subtask")[0].as_py(),
        )
    except KeyError as error:
        raise DamagedShardError(f"the shard of run {number} lacks the column {error}.") from None
