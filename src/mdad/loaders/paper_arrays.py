"""The paper's own arrays, one set for every subtask, joined by their names.

``<subtask>_models-by-correctness.npy`` (models x items), ``<subtask>_models-by-confidence.npy``
(models x items x options), ``<subtask>_labels.npy`` (the right option of every item) and
``<subtask>_model-names-in-order.json``. Confidences and labels go together and may be left out.
There are no item ids: an item is its place (``mmlu_anatomy/7``). Options that every model gives
exactly 0 at the end are padding, not options. Arrays of objects are never opened.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from mdad._checks import check_int, counted, listed, shorten
from mdad.errors import FormatError, ScoresError
from mdad.loaders._log_files import json_document
from mdad.loaders._log_report import Loaded, LoadReport, facts_of, subtask_sizes, suspicions
from mdad.loaders._log_shapes import beside
from mdad.loaders._names import Source
from mdad.loaders._wide import check_size
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from mdad.loaders._log_files import Tree
    from mdad.loaders._logs import Setup

CORRECTNESS = "_models-by-correctness.npy"
CONFIDENCE = "_models-by-confidence.npy"
LABELS = "_labels.npy"
NAMES = "_model-names-in-order.json"
ALLOWANCE = 1e-6
"""What a probability in single precision may be outside 0 and 1."""

_NAMES = msgspec.json.Decoder(list[str])
_RANGES = msgspec.json.Decoder(dict[str, tuple[int, int]])


class _Part(NamedTuple):
    """The arrays of one subtask."""

    name: str
    models: tuple[str, ...]
    values: npt.NDArray[np.float64]
    options: npt.NDArray[np.float32] | None
    right: npt.NDArray[np.intp] | None


def detect(tree: Tree) -> bool:
    """Whether there are the paper's arrays of right and wrong answers."""
    return any(path.name.endswith(CORRECTNESS) for path in tree.files)


def load(
    tree: Tree, setup: Setup, *, subtask_ranges: str | os.PathLike[str] | None = None
) -> Loaded:
    """Read the arrays below a folder, or those beside one file.

    Parameters
    ----------
    subtask_ranges : a JSON object of [first, end) for every subtask, in place of names of files,
        where one set of arrays holds a whole benchmark
    """
    files = [path for path in tree.files if path.name.endswith(CORRECTNESS)]
    if not files:
        raise FormatError(f"{tree.root.name}: there is no file of the name *{CORRECTNESS}.")
    parts = [_part(path) for path in files]
    first = parts[0]
    for part in parts[1:]:
        if part.models != first.models:
            raise FormatError(
                f"{tree.root.name}: {first.name!r} and {part.name!r} have other models, or the "
                "same in another order; arrays are joined by position, so they must agree."
            )
    if len({part.name for part in parts}) < len(parts):
        raise FormatError(f"{tree.root.name}: a subtask is there more than once. Keep one.")
    items = [f"{part.name}/{i}" for part in parts for i in range(part.values.shape[1])]
    subtasks = [part.name for part in parts for _ in range(part.values.shape[1])]
    if subtask_ranges is not None:
        subtasks = _by_ranges(Path(subtask_ranges), len(items))
        items = _numbered(subtasks)
    scores = _matrix(tree, setup, parts, items, subtasks)
    return Loaded(scores, _report(tree, scores, parts))


def _part(path: Path) -> _Part:
    name = path.name.removesuffix(CORRECTNESS)
    names_file = beside(path, name + NAMES)
    source = Source(path.name)
    if names_file is None or not name:
        raise source.error(f"there is no {name}{NAMES} beside it, which names the rows.")
    names: list[str] = json_document(names_file, Source(names_file.name), _NAMES)
    models = tuple(names)
    if any(not name.isprintable() for name in models):
        raise Source(names_file.name).error("it has a name with characters that cannot be shown.")
    values = _array(path, 2)
    if values.shape[0] != len(models):
        raise source.error(
            f"it has {counted(values.shape[0], 'row')}, but {names_file.name} names "
            f"{counted(len(models), 'model')}."
        )
    options, right = _options(path, name, values.shape)
    return _Part(name, models, values.astype(np.float64), options, right)


def _array(path: Path, n_axes: int) -> npt.NDArray[Any]:
    source = Source(path.name)
    why = (
        "this is no .npy file of numbers, or it is damaged. Arrays of objects are pickles, which "
        "can run code and are never opened."
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of old versions
            # Mapped, so that a header cannot ask for more memory than the file is long; and not
            # by np.load, which takes archives too and leaves the file of a broken one open.
            array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a damaged header raises whatever its parser meets
        raise source.error(why) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise source.error(why)
    if array.ndim != n_axes or 0 in array.shape:
        raise source.error(f"it must have {n_axes} axes, none empty; its shape is {array.shape}.")
    return array


def _options(
    path: Path, name: str, shape: tuple[int, ...]
) -> tuple[npt.NDArray[np.float32] | None, npt.NDArray[np.intp] | None]:
    """The probabilities of all options and the right ones; neither where neither is there."""
    confidence, labels = beside(path, name + CONFIDENCE), beside(path, name + LABELS)
    if confidence is None and labels is None:
        return None, None
    if confidence is None or labels is None:
        lacking = CONFIDENCE if confidence is None else LABELS
        raise Source(path.name).error(f"there is no {name}{lacking} beside it.")
    found, right = _array(confidence, 3), _array(labels, 1)
    if found.shape[:2] != shape or right.shape != shape[1:]:
        raise Source(path.name).error(
            f"its shape is {shape}, that of the confidences {found.shape} and of the labels "
            f"{right.shape}: they are of other models or items."
        )
    with np.errstate(over="ignore"):  # what is too large is refused below
        layer = np.array(found, dtype=np.float32)
    if (layer < -ALLOWANCE).any() or (layer > 1 + ALLOWANCE).any():
        raise Source(confidence.name).error(
            "it has numbers outside 0 and 1. Log-likelihoods become probabilities by a softmax "
            "over the options of an item."
        )
    np.clip(layer, 0, 1, out=layer)
    if not ((right >= 0) & (right < layer.shape[2]) & (right == np.floor(right))).all():
        raise Source(labels.name).error(
            f"it must hold the positions of the right options, from 0 to {layer.shape[2] - 1}."
        )
    empty = (layer == 0).all(axis=0)[:, ::-1].cumprod(axis=1)[:, ::-1].astype(bool)
    layer[:, empty] = np.nan
    return layer, right.astype(np.intp)


def _by_ranges(path: Path, n_items: int) -> list[str]:
    source = Source(path.name)
    if not path.is_file():
        raise source.error("there is no such file of subtask ranges.")
    labels = [""] * n_items
    for name, (start, end) in json_document(path, source, _RANGES).items():
        if not 0 <= start < end <= n_items or any(labels[start:end]) or not name:
            raise source.error(
                f"the range of {shorten(name)}, {start} to {end}, is outside the {n_items:,} items "
                "or overlaps another."
            )
        labels[start:end] = [name] * (end - start)
    if not all(labels):
        raise source.error(f"{labels.count('')} of {n_items:,} items are in no range.")
    return labels


def _numbered(subtasks: list[str]) -> list[str]:
    counts: dict[str, int] = {}
    names = []
    for label in subtasks:
        counts[label] = counts.get(label, -1) + 1
        names.append(f"{label}/{counts[label]}")
    return names


def _matrix(
    tree: Tree, setup: Setup, parts: list[_Part], items: list[str], subtasks: list[str]
) -> ScoreMatrix:
    models = parts[0].models
    if len(models) < check_int("min_models", setup.min_models, 1):
        raise FormatError(
            f"{tree.root.name}: it has {counted(len(models), 'model')}; {setup.min_models:,} or "
            "more are needed here."
        )
    layers = [part.options for part in parts if part.options is not None]
    complete = len(layers) == len(parts)
    if layers and not complete:
        without = [part.name for part in parts if part.options is None]
        raise FormatError(f"{tree.root.name}: no confidences and labels for {listed(without)}.")
    options = right = probabilities = None
    if complete:
        width = max(layer.shape[2] for layer in layers)
        size = len(models) * len(items) * width * 4
        check_size(Source(tree.root.name), size, f"options of {len(models):,} models")
        padded = [
            np.pad(layer, ((0, 0), (0, 0), (0, width - layer.shape[2])), constant_values=np.nan)
            for layer in layers
        ]
        options = np.concatenate(padded, axis=1)
        right = np.concatenate([part.right for part in parts if part.right is not None])
        probabilities = options[:, np.arange(len(items)), right]
    try:
        return ScoreMatrix(
            np.concatenate([part.values for part in parts], axis=1),
            models,
            items,
            subtasks,
            probabilities,
            score_range=setup.bounds,
            kind=setup.kind,
            name=tree.root.name if setup.name is None else setup.name,
            option_probabilities=options,
            right_options=right,
        )
    except ScoresError as error:
        raise FormatError(f"{tree.root.name}: {error}") from None


def _report(tree: Tree, scores: ScoreMatrix, parts: list[_Part]) -> LoadReport:
    facts = facts_of(scores)
    n_files = sum(2 if part.options is None else 4 for part in parts)
    return LoadReport(
        format="paper-arrays",
        n_files=n_files,
        n_ignored=max(0, len(tree.files) - n_files),
        models=facts,
        n_items=scores.n_items,
        subtasks=subtask_sizes(scores),
        metric="correctness",
        chosen=("items are named by their place in the arrays, which have no ids",),
        suspicious=tuple(suspicions(scores, facts)),
    )
