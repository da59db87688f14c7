"""Details of the Open LLM Leaderboard (version 2) as local Parquet files.

The same records as lm-evaluation-harness writes, one file per model and task; where they were
downloaded as JSON Lines they are read as that. Model and task are in the name of a folder or
file: ``ORG__MODEL__leaderboard_TASK``.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad.errors import FormatError
from mdad.loaders._lm_eval_records import Plan, metric_of, metrics_in, records
from mdad.loaders._logs import Batch, Findings, Record, Run, Setup, collect, newest_runs
from mdad.loaders._names import Source
from mdad.loaders._parquet import parquet_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded

NEEDED = frozenset({"doc_id", "filtered_resps"})
_PLACE = re.compile(r"(?P<model>[^/]+?__[^/]+?)__(?P<task>leaderboard_[^/]+?)(?:\.parquet)?")
_STAMP = re.compile(r"\d{4}[-_]\d\d[-_]\d\dT\d\d[-_]\d\d[-_]\d\d(?:\.\d+)?")
_BATCH = 256


def detect(tree: Tree) -> bool:
    """Whether there is a Parquet file with such records."""
    return bool(_details(tree))


def _details(tree: Tree) -> list[Path]:
    return [
        path
        for path in tree.ending(".parquet")
        if tree.head(path).startswith(b"PAR1") and set(_columns(path)) >= NEEDED
    ]


def _columns(path: Path) -> list[str]:
    try:
        with parquet_file(path, Source(path.name, "row")) as file:
            return list(file.schema_arrow.names)
    except FormatError:
        return []


def load(
    tree: Tree,
    setup: Setup,
    *,
    metric: str | None = None,
    item_key: str = "doc_hash",
    reduce: str | None = None,
) -> Loaded:
    """Read the details of one or more models.

    Parameters
    ----------
    metric, reduce : as for lm-eval
    item_key : as for lm-eval; the leaderboard joins by doc_hash

    Raises
    ------
    FormatError, SettingError
        see :mod:`mdad.loaders._logs`.
    """
    runs = []
    for path in _details(tree):
        model, task = _place(tree, path)
        stamp = _STAMP.search(path.as_posix())
        runs.append(Run((model, task), stamp[0] if stamp else "", path))
    kept, chosen = newest_runs(tree, runs)
    return collect(
        tree,
        [run.path for run in kept],
        partial(_read, plan=Plan(metric, None, item_key, reduce)),
        setup,
        format="open-llm-leaderboard",
        chosen=chosen,
        unit="row",
        facts={run.path: run.key for run in kept},
        keys=(item_key, "doc_id" if item_key == "doc_hash" else "doc_hash"),
    )


def _place(tree: Tree, path: Path) -> tuple[str, str]:
    """Model and task from the folder or the file that names both."""
    for part in (path.name, *(parent.name for parent in path.resolve().parents)):
        match = _PLACE.fullmatch(part)
        if match is not None:
            return match["model"].replace("__", "/", 1), match["task"]
    raise Source(tree.shown(path)).error(
        "model and task cannot be told: put the file into a folder named as on the hub, "
        "ORG__MODEL__leaderboard_TASK."
    )


def _read(path: Path, findings: Findings, *, plan: Plan) -> Iterator[Record | Batch]:
    model, task = findings.fact
    with parquet_file(path, findings.source) as file:
        names = list(file.schema_arrow.names)
        metrics = metrics_in(dict.fromkeys(_scalars(file, names)))
        metric = metric_of(findings.source, task, metrics, plan)
        columns = [
            name
            for name in ("doc_id", "doc_hash", "target", "filtered_resps", "arguments", "filter",
                         "acc", "doc")
            if name in names and (name != "doc" or plan.item_key not in {"doc_id", "doc_hash"})
        ]  # fmt: skip
        rows = partial(_rows, file, sorted({*columns, metric}))
        yield from records(rows, findings, model=model, task=task, metric=metric, plan=plan)


def _scalars(file: Any, names: list[str]) -> list[str]:
    """Columns that may be a metric: numbers, truth values, or lists of them."""
    found = []
    for name in names:
        kind = file.schema_arrow.field(name).type
        inner = getattr(kind, "value_type", kind)
        if str(inner) in {"bool", "int64", "int32", "float", "double", "int8"}:
            found.append(name)
    return found


def _rows(
    file: Any, columns: list[str], decoder: msgspec.json.Decoder[Any]
) -> Iterator[tuple[Sequence[int], Sequence[Any]]]:
    line = 1
    for batch in file.iter_batches(_BATCH, columns=columns):
        rows: list[Any] = []
        for row in batch.to_pylist():
            raw = {name: row.pop(name, None) for name in ("arguments", "filtered_resps")}
            try:
                rows.append(msgspec.convert(row, decoder.type))
                rows[-1].arguments, rows[-1].filtered_resps = raw.values()
            except (msgspec.ValidationError, RecursionError) as error:
                rows.append(f"is not as it should be: {error}")
        yield range(line, line + len(rows)), rows
        line += len(rows)
