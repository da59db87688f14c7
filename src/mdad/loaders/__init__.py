"""Files to score matrices: one registry of formats, one function.

Words for the same thing elsewhere: our *item* is an *example* in the paper, a *sample* in
Inspect, a *doc* in lm-evaluation-harness, an *instance* in HELM.

A further format is a module with ``detect(path)`` and ``load(path, **options)``, and one line
in :data:`LOADERS`. The first that detects a path reads it; plain tables come last.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdad import storage
from mdad._checks import check_choice, check_int, counted, suggestion
from mdad.errors import FormatError, SettingError
from mdad.loaders import _join, tables

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd

    from mdad.scores import ScoreMatrix

__all__ = ["LOADERS", "Loader", "load", "read_items"]


@dataclass(frozen=True)
class Loader:
    """A named format: how to know it, how to read it, and one line of help."""

    name: str
    detect: Callable[[Path], bool]
    load: Callable[..., ScoreMatrix]
    help: str

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options of ``load``."""
        return tuple(list(inspect.signature(self.load).parameters)[1:])


def _own(
    read: Callable[[Path], ScoreMatrix], path: Path, *, min_models: int = 1, name: str | None = None
) -> ScoreMatrix:
    """A matrix that states range, kind and all else itself."""
    scores = read(path)
    if scores.n_models < check_int("min_models", min_models, 1):
        raise FormatError(
            f"{path.name}: it has {counted(scores.n_models, 'model')}; {min_models:,} or more are "
            "needed here."
        )
    return scores if name is None else scores._replace(name=name)


def _open_directory(path: Path, *, min_models: int = 1, name: str | None = None) -> ScoreMatrix:
    return _own(storage.open_directory, path, min_models=min_models, name=name)


def _read_parquet(path: Path, *, min_models: int = 1, name: str | None = None) -> ScoreMatrix:
    return _own(storage.read_parquet, path, min_models=min_models, name=name)


LOADERS: dict[str, Loader] = {
    loader.name: loader
    for loader in (
        Loader(
            "mdad-directory",
            storage.is_directory_store,
            _open_directory,
            "a directory written by mdad, mapped into memory",
        ),
        Loader(
            "mdad-parquet",
            storage.is_parquet_store,
            _read_parquet,
            "a Parquet file written by mdad, with all it knows",
        ),
        Loader(
            "table",
            tables.detect,
            tables.load,
            "a wide or long table: CSV, TSV, Parquet, JSON Lines; .gz allowed",
        ),
    )
}


def load(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # what everybody calls it
    items: str | os.PathLike[str] | None = None,
    models_file: str | os.PathLike[str] | None = None,
    probabilities: str | os.PathLike[str] | None = None,
    **options: Any,
) -> ScoreMatrix:
    """Read a score matrix from a file or directory of any known format.

    Parameters
    ----------
    path : the file or directory
    format : a name in :data:`LOADERS`; None takes the first that knows the file
    items : a table with a column of item ids, one of subtasks (optional) and others; the
        others become ``item_info``. It must have the same items as the scores.
    models_file : a table with a column of model ids and others, which become ``model_info``.
        It must have the same models as the scores.
    probabilities : a table of the probabilities of the correct answers in any form the scores
        may have, with the same models and items; joined by id
    options : of the format; for tables see :func:`mdad.loaders.tables.load`: score_range,
        orientation, columns, delimiter, min_models, duplicates, kind, name

    Raises
    ------
    FormatError
        when a file is not there, not readable, not in order, or two do not match. One
        paragraph names file, line or column, up to five offenders and the remedy.
    SettingError
        when an option is unknown or has a value it cannot have.
    """
    target = _existing(path)
    loader = _loader(target, format)
    for name, value in options.items():
        if name not in loader.options and value is not None:
            known = suggestion(name, loader.options) if loader.options else "it has none"
            raise SettingError(f"format {loader.name!r} has no option {name!r}: {known}.")
    scores = loader.load(target, **{n: v for n, v in options.items() if v is not None})
    if probabilities is not None:
        layer_file = _existing(probabilities)
        layer = _loader(layer_file, None)
        taken = {"layer": "probability"} if "layer" in layer.options else {}
        found = layer.load(layer_file, min_models=1, **taken)
        scores = _join.with_probabilities(scores, found, layer_file)
    if items is not None:
        scores = _join.with_items(scores, _existing_file(items))
    return scores if models_file is None else _join.with_models(scores, _existing_file(models_file))


def _existing(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    try:
        there = target.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        beside = [p.name for p in target.parent.iterdir()] if target.parent.is_dir() else []
        close = suggestion(target.name, beside) if beside else ""
        hint = f" {close.capitalize()[: close.find('?') + 1]}" if "?" in close else ""
        raise FormatError(f"{target.name}: there is no such file or directory.{hint}")
    return target


def _existing_file(path: str | os.PathLike[str]) -> Path:
    target = _existing(path)
    if target.is_dir():
        raise FormatError(f"{target.name}: this is a folder; a file is expected here.")
    return target


def _loader(path: Path, name: str | None) -> Loader:
    if name is not None:
        check_choice("format", name, LOADERS)
        if path.is_dir() and name != "mdad-directory" and not LOADERS[name].detect(path):
            raise FormatError(f"{path.name}: this is a folder; format {name!r} is a file.")
        return LOADERS[name]
    for loader in LOADERS.values():
        if loader.detect(path):
            return loader
    if path.is_dir():
        raise FormatError(
            f"{path.name}: this is a folder in which no known format was found. Give the file of "
            f"scores itself, or a directory written by mdad with its {storage.directory.MANIFEST}."
        )
    raise FormatError(f"{path.name}: this is neither a file nor a directory.")


def read_items(path: str | os.PathLike[str]) -> pd.DataFrame:
    """A table of items, indexed by id; its other columns as they are.

    Raises
    ------
    FormatError
        when it cannot be read, has no column of ids, or has an id twice.
    """
    return _join.read_labels(_existing(path), "item")
