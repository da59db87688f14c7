"""Tables that go with a score matrix: labels of items, labels of models, probabilities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import MAX_SHOWN, counted, listed
from mdad.loaders._names import ROLES, Source, check_header, first_named, is_role, key
from mdad.loaders._text import head, table_rows
from mdad.loaders._wide import Offenders, ragged_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from mdad.scores import ScoreMatrix

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def read_labels(path: Path, role: str) -> pd.DataFrame:
    """A table of items or models, indexed by id; its other columns as they are.

    Parameters
    ----------
    role : "item" or "model": which column holds the ids

    Raises
    ------
    FormatError
        when it cannot be read, has no column of ids, or has an id twice.
    """
    source = Source(path.name, "line")
    if head(path, source)[:4] == b"PAR1":
        return _parquet_labels(path, role)
    names, body = table_rows(path, source)
    header = [name.strip() for name in names]
    check_header(source, header)
    column = _id_column(source, header, role)
    ids: list[str] = []
    at: list[int] = []
    cells: list[list[str]] = []
    ragged = Offenders()
    for line, row in body:
        if len(row) != len(header):
            ragged.add(f"{source.at(line)} has {len(row):,}")
            continue
        ids.append(row.pop(column).strip())
        at.append(line)
        cells.append(row)
    if ragged:
        raise ragged_error(source, ragged, len(header))
    _check_ids(source, ids, at, role)
    import pandas as pd  # noqa: PLC0415  # slow to import

    names = header[:column] + header[column + 1 :]
    columns = {name: _typed([row[i] for row in cells]) for i, name in enumerate(names)}
    return pd.DataFrame(columns, index=pd.Index(ids, name=role))


def _id_column(source: Source, header: Sequence[str], role: str) -> int:
    column = first_named(header, role)
    if column is None:
        raise source.error(
            f"no column of {role} ids among {listed(header)}. Name it {role} (or "
            f"{', '.join(ROLES[role][1:4])})."
        )
    return column


def _check_ids(source: Source, ids: list[str], at: Sequence[int], role: str) -> None:
    if not ids:
        raise source.error(f"there is a header but no row below it; every {role} needs one.")
    first: dict[str, int] = {}
    twice = Offenders()
    for name, line in zip(ids, at, strict=True):
        if not name:
            raise source.error(f"{source.at(line)} has no {role} id. Give it one, or remove it.")
        other = first.setdefault(name, line)
        if other != line:
            twice.add(f"{name!r} in {source.unit}s {other:,} and {line:,}")
    if twice:
        raise source.error(
            f"{counted(twice.count, f'{role} id')} more than once: {twice}. Keep one row of each."
        )


def _parquet_labels(path: Path, role: str) -> pd.DataFrame:
    from mdad.loaders._parquet import parquet_file  # noqa: PLC0415  # needs pyarrow

    source = Source(path.name, "row")
    with parquet_file(path, source) as file:
        frame: pd.DataFrame = file.read().to_pandas()
    if frame.index.name is not None and is_role(str(frame.index.name), role):
        frame = frame.reset_index()
    header = [str(name) for name in frame.columns]
    check_header(source, header)
    column = _id_column(source, header, role)
    raws = frame.iloc[:, column].tolist()
    ids = [str(i).strip() if isinstance(i, str | int) else "" for i in raws]
    _check_ids(source, ids, range(1, len(ids) + 1), role)
    frame = frame.drop(columns=frame.columns[column])
    frame.index = type(frame.columns)(ids, name=role)
    return frame


def _typed(cells: list[str]) -> Any:
    """A column of numbers where every cell is one (empty = missing), else of text."""
    cells = [cell.strip() for cell in cells]
    filled = [cell for cell in cells if cell]
    # 007 stays text: it is an id, not a quantity.
    if filled and len(filled) == len(cells) and all(map(_WHOLE.fullmatch, cells)):
        return np.array(cells, dtype=np.int64)
    if filled and all(map(_DECIMAL.fullmatch, filled)):
        return np.array([cell or "nan" for cell in cells], dtype=np.float64)
    return cells


def check_same(source: Source, found: Sequence[str], scores_ids: Sequence[str], role: str) -> None:
    """The ids of a table and of the scores are the same.

    Raises
    ------
    FormatError
        giving the counts in both directions and up to five of each.
    """
    known, wanted = set(found), set(scores_ids)
    lacking = [i for i in scores_ids if i not in known]
    extra = [i for i in found if i not in wanted]
    if not lacking and not extra:
        return
    parts = []
    if lacking:
        parts.append(
            f"{len(lacking):,} of the {counted(len(scores_ids), role)} that were scored are not in "
            f"it ({_few(lacking)})"
        )
    if extra:
        parts.append(
            f"{len(extra):,} of its {counted(len(found), role)} were not scored ({_few(extra)})"
        )
    raise source.error(
        f"it does not match the scores: {'; '.join(parts)}. Both must have the same {role} ids; "
        "nothing is dropped. Is it of another version of the benchmark?"
    )


def _few(ids: Sequence[str]) -> str:
    return listed(ids[:MAX_SHOWN]) + (f" and {len(ids) - 5:,} more" if len(ids) > MAX_SHOWN else "")


def with_items(scores: ScoreMatrix, path: Path) -> ScoreMatrix:
    """The scores with subtasks and ``item_info`` from an items file.

    Raises
    ------
    FormatError
        when it cannot be read or does not match.
    """
    source = Source(path.name, "line")
    info = read_labels(path, "item")
    check_same(source, info.index.tolist(), scores.items, "item")
    info = info.loc[list(scores.items)]
    names = [str(name) for name in info.columns]
    column = first_named(names, "subtask")
    labels = scores.subtasks
    if column is not None:
        labels = tuple([str(label).strip() for label in info.iloc[:, column]])
        bare = [i for i, label in zip(scores.items, labels, strict=True) if not label]
        if bare:
            raise source.error(
                f"{counted(len(bare), 'item')} without a subtask in column {names[column]!r}: "
                f"{listed(bare)}. Every item needs one, or the column goes."
            )
        if key(names[column]) in ROLES["subtask"][:2]:
            info = info.drop(columns=info.columns[column])
    return scores._replace(
        subtasks=labels, item_info=info if len(info.columns) else scores.item_info
    )


def with_models(scores: ScoreMatrix, path: Path) -> ScoreMatrix:
    """The scores with ``model_info`` from a models file.

    Raises
    ------
    FormatError
        when it cannot be read or does not match.
    """
    info = read_labels(path, "model")
    check_same(Source(path.name), info.index.tolist(), scores.models, "model")
    return scores._replace(model_info=info.loc[list(scores.models)])


def with_probabilities(scores: ScoreMatrix, layer: ScoreMatrix, path: Path) -> ScoreMatrix:
    """The scores with a second layer, joined by id.

    Raises
    ------
    FormatError
        when it has not the same models and items.
    """
    source = Source(path.name)
    check_same(source, layer.models, scores.models, "model")
    check_same(source, layer.items, scores.items, "item")
    layer = layer.restrict(models=scores.models, items=scores.items)
    cells = layer.values if layer.probabilities is None else layer.probabilities
    if ((cells < 0) | (cells > 1)).any():
        raise source.error("it holds numbers outside [0, 1], which are no probabilities.")
    joined = cells.astype(np.float32)
    joined.flags.writeable = False
    return scores._replace(probabilities=joined)
