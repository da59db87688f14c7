"""Option logits: JSON Lines with ``item_id`` and ``logits``, one file per model.

``logits`` holds a number per option, or a list of such rows when the options were shown in
several orders (numbers already put back into the first order). Probabilities are a softmax over
the options, averaged over the orders. The right options are not in these files: they come from
a table (``right=``). The score is 1 where the right option is the most probable one. This is
the format that fills the probabilities of every option.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from mdad._checks import check_int, counted, listed, shorten
from mdad.errors import FormatError
from mdad.loaders._join import read_labels
from mdad.loaders._log_files import json_lines
from mdad.loaders._log_report import Loaded
from mdad.loaders._log_shapes import begins, fitting, lines_with, model_of, some_files
from mdad.loaders._logs import Findings, Record, collect
from mdad.loaders._names import Source
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from mdad.loaders._log_files import Tree
    from mdad.loaders._logs import Setup

ENDINGS = (".jsonl",)
COLUMNS = ("right", "answer", "key", "gold")
MAX_OPTIONS = 1000
MAX_LOGIT = 1e9

_NAME = re.compile(r"(?P<task>.+)-responses-(?P<model>.+)")


class _Row(msgspec.Struct):
    item_id: str | int
    logits: list[Any]


_ROWS = msgspec.json.Decoder(_Row)


class _About(NamedTuple):
    """Model and task of a file; items of a task have its name before their id."""

    model: str
    task: str

    def item(self, name: str | int) -> str:
        return f"{self.task}/{name}" if self.task else str(name)


_fits = lines_with("item_id", "logits")


def detect(tree: Tree) -> bool:
    """Whether there are logits of options."""
    return begins(tree, ENDINGS, _fits)


def load(
    tree: Tree,
    setup: Setup,
    *,
    right: str | os.PathLike[str] | None = None,
    order: int | None = None,
) -> Loaded:
    """Read the logits below a folder, one model and task each.

    Parameters
    ----------
    right : a table with a column of item ids and one named right: the position of the right
        option from 0, or its letter
    order : which order of the options to read, from 0; None averages over all
    """
    if order is not None:
        check_int("order", order, 0)
    files = fitting(tree, ENDINGS, _fits)
    some_files(tree, files, "logits of options")
    if right is None:
        raise FormatError(
            f"{tree.root.name}: files of logits do not say which option is right. Give a table "
            "with the columns item and right (position from 0, or letter): right=FILE (--option "
            "right=FILE)."
        )
    keys = _keys(Path(right))
    about = {path: _about(tree, path) for path in files}
    read = partial(_read, about=about, keys=keys, order=order)
    how = "mean over the orders of the options" if order is None else f"order {order}"
    found = collect(
        tree, files, read, setup, format="option-logits", metric=f"most probable option, {how}"
    )
    return Loaded(_with_options(found.scores, files, about, keys, order), found.report)


def _about(tree: Tree, path: Path) -> _About:
    name = model_of(tree, path, ())
    parts = _NAME.fullmatch(name)
    return _About(name, "") if parts is None else _About(parts["model"], parts["task"])


def _keys(path: Path) -> dict[str, int]:
    """The position of the right option of every item."""
    if not path.is_file():
        raise FormatError(f"{path.name}: there is no such table of right options.")
    table = read_labels(path, "item")
    there = [name for name in COLUMNS if name in table.columns]
    if len(there) != 1:
        raise FormatError(
            f"{path.name}: one column with the right options is needed, named right; found "
            f"{listed(table.columns)}."
        )
    keys = {}
    for item, cell in table[there[0]].items():
        text = str(cell).strip()
        if re.fullmatch(r"\d{1,3}(\.0)?", text, re.ASCII):
            keys[str(item)] = int(float(text))
        elif re.fullmatch("[A-Za-z]", text):
            keys[str(item)] = ord(text.upper()) - ord("A")
        else:
            raise FormatError(
                f"{path.name}: the right option of {shorten(item)} is {shorten(cell)}; it must be "
                "a position from 0 or a letter."
            )
    return keys


def _read(
    path: Path,
    findings: Findings,
    *,
    about: Mapping[Path, _About],
    keys: Mapping[str, int],
    order: int | None,
) -> Iterator[Record]:
    own = about[path]
    for line, item, options in _rows(path, findings, own, keys, order):
        if isinstance(options, str):
            findings.bad(line, options)
            continue
        place = keys[item]
        best = np.flatnonzero(options == options.max())
        # Two options alike are no answer; a coin toss would be right half the time.
        score = float(place in best) / len(best)
        yield Record(own.model, item, score, float(options[place]), own.task, line=line)


def _rows(
    path: Path,
    findings: Findings,
    own: _About,
    keys: Mapping[str, int],
    order: int | None,
) -> Iterator[tuple[int, str, npt.NDArray[np.float64] | str]]:
    """Line, item and the probabilities of its options, or what is wrong."""
    for line, row in json_lines(path, findings.source, _ROWS):
        if isinstance(row, str):
            yield line, "", row
            continue
        item = own.item(row.item_id)
        if item not in keys:
            yield (
                line,
                item,
                (
                    f"is about {shorten(item)}, of which the right option is not given "
                    f"({counted(len(keys), 'item')} are: {listed(keys)})."
                ),
            )
            continue
        options = _probabilities(row.logits, order)
        if not isinstance(options, str) and keys[item] >= len(options):
            options = (
                f"has {len(options)} options for {shorten(item)}, but the right one is number "
                f"{keys[item]} from 0."
            )
        yield line, item, options


def _probabilities(logits: list[Any], order: int | None) -> npt.NDArray[np.float64] | str:
    """The probability of every option, or what is wrong with the logits."""
    try:
        table = np.array(logits, dtype=np.float64, ndmin=2)
    except (TypeError, ValueError, OverflowError):
        table = np.empty((0, 0))
    if table.ndim != 2 or not 1 < table.shape[1] <= MAX_OPTIONS:  # noqa: PLR2004  # rows, options
        return "must have a number for each of at least two options, in one list for each order."
    if not (np.abs(table) < MAX_LOGIT).all():
        return "has logits that are infinite, or larger than those of any model."
    if order is not None:
        if order >= len(table):
            return f"has {counted(len(table), 'order')} of the options, none with number {order}."
        table = table[[order]]
    likely = np.exp(table - table.max(axis=1, keepdims=True))
    averaged: npt.NDArray[np.float64] = (likely / likely.sum(axis=1, keepdims=True)).mean(axis=0)
    return averaged


def _with_options(
    scores: ScoreMatrix,
    files: list[Path],
    about: Mapping[Path, _About],
    keys: Mapping[str, int],
    order: int | None,
) -> ScoreMatrix:
    """The matrix with the probabilities of every option, read a second time."""
    n_options = 0
    cells: list[tuple[int, int, npt.NDArray[np.float64]]] = []
    for path in files:
        quiet = Findings(Source(path.name), strict=False)
        for _, item, options in _rows(path, quiet, about[path], keys, order):
            if isinstance(options, str) or item not in scores.item_position:
                continue
            row, column = scores.model_position[about[path].model], scores.item_position[item]
            cells.append((row, column, options))
            n_options = max(n_options, len(options))
    layer = np.full((scores.n_models, scores.n_items, n_options), np.nan, dtype=np.float32)
    for row, column, options in cells:
        layer[row, column, : len(options)] = options
    return ScoreMatrix(
        scores.values,
        scores.models,
        scores.items,
        scores.subtasks,
        scores.probabilities,
        item_info=scores.item_info,
        score_range=scores.score_range,
        kind=scores.kind,
        name=scores.name,
        option_probabilities=layer,
        right_options=[keys[item] for item in scores.items],
    )
