"""Checks and small conversions of the parts of a score matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import MAX_SHOWN, check_choice, check_known, counted, listed
from mdad._notebook import MAX_ROWS, shown
from mdad.errors import ScoresError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from mdad.scores import ScoreMatrix

Kind = Literal["correctness", "graded"]
PERCENT = 100.0


def frozen(array: npt.NDArray[Any], dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """A read-only array of this type; a view where the type allows it."""
    result = np.asarray(array, dtype=dtype).view()
    result.flags.writeable = False
    return result


def unique_ids(kind: str, ids: Iterable[str | int]) -> tuple[str, ...]:
    ids = list(ids)
    if not ids:
        raise ScoresError(f"a score matrix needs at least one {kind}; got none.")
    wrong = [i for i in ids if not isinstance(i, str | int | np.integer) or isinstance(i, bool)]
    if wrong:
        raise ScoresError(f"{kind} ids must be strings (or whole numbers); got {listed(wrong)}.")
    names = tuple([str(i) for i in ids])
    check_unicode(f"{kind} ids", names)
    if "" in names:
        raise ScoresError(f"the {kind} at position {names.index('')} has an empty id; name it.")
    if len(set(names)) < len(names):
        seen: dict[str, int] = {}
        for name in names:
            seen[name] = seen.get(name, 0) + 1
        twice = [name for name, count in seen.items() if count > 1]
        mixed = {type(i) for i in ids if str(i) in twice}
        note = " Ids are compared as text, so 1 and '1' are the same." if len(mixed) > 1 else ""
        raise ScoresError(
            f"{kind} ids must be unique; {listed(twice)} "
            f"{'occurs' if len(twice) == 1 else 'occur'} more than once.{note}"
        )
    return names


def check_unicode(what: str, texts: Sequence[str]) -> None:
    """No text holds a lone surrogate, which no file could hold.

    Raises
    ------
    ScoresError
        when one does.
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        lone = (text for text in texts if any("\ud800" <= char <= "\udfff" for char in text))
        wrong = dict.fromkeys(lone)
        raise ScoresError(
            f"{what} must be valid Unicode; lone surrogates are in {listed(wrong)}. Rename them."
        ) from None


def title(name: object) -> str:
    r"""The name of a benchmark as every file can hold it.

    >>> title("caf\udce9")
    'caf\\udce9'
    """
    return str(name).encode(errors="backslashreplace").decode()


def checked_range(score_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in score_range)
    except (TypeError, ValueError):
        raise ScoresError(
            f"score_range must be two numbers (low, high); got {score_range!r}."
        ) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ScoresError(f"score_range must be finite with low < high; got ({low:g}, {high:g}).")
    return low, high


def numbers(what: str, layer: npt.ArrayLike, shape: tuple[int, int]) -> npt.NDArray[Any]:
    try:
        array = np.asarray(layer)
        if array.dtype == bool:
            array = array.astype(np.int8)
        elif array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ScoresError(
            f"{what} must be a table of numbers (NaN = not scored) with rows of one length."
        ) from None
    if not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise ScoresError(f"{what} must be numbers (NaN = not scored); got {array.dtype}.")
    if array.shape != shape:
        raise ScoresError(
            f"{what} must have one row per model and one column per item, {shape[0]:,} x "
            f"{shape[1]:,}; got an array of shape {array.shape}."
            + (" It looks transposed." if array.shape == shape[::-1] else "")
        )
    return array


def check_inside(
    array: npt.NDArray[Any],
    models: tuple[str, ...],
    items: tuple[str, ...],
    low: float,
    high: float,
    what: str = "score",
) -> None:
    if array.dtype == np.int8 and low <= 0 and high >= 1 and array.size and array.max() <= 1:
        outside = array < low
    else:
        # NaN compares false on both sides: not scored is not outside.
        outside = (array < low) | (array > high)
    if not outside.any():
        return
    cells = np.argwhere(outside)
    shown = listed(
        f"{models[r]} / {items[c]}: {array[r, c]:g}" for r, c in cells[:MAX_SHOWN].tolist()
    )
    if len(cells) > MAX_SHOWN:
        shown += f" and {len(cells) - MAX_SHOWN:,} more"
    largest = array[~np.isnan(array)].max()
    hint = "Correct them, or declare the range they have with score_range=(low, high)."
    if np.isinf(array).any():
        hint = "An infinite score is not a score: correct the cell or leave it missing (NaN)."
    elif (
        what == "score"
        and (low, high) == (0.0, 1.0)
        and 1 < largest <= PERCENT
        and not (array < 0).any()
    ):
        hint = "They look like per cent: declare score_range=(0, 100) (--score-range 0 100)."
    raise ScoresError(
        f"{counted(len(cells), what, 'probabilities' if what == 'probability' else None)} outside "
        f"the declared range [{low:g}, {high:g}] (model / item: value): {shown}. {hint}"
    )


def checked_kind(array: npt.NDArray[Any], bounds: tuple[float, float], kind: Kind | None) -> Kind:
    if kind is not None:
        check_choice("kind", kind, get_args(Kind))
    binary = bounds == (0.0, 1.0) and bool(
        ((array == 0) | (array == 1) | np.isnan(array)).all()
        if np.issubdtype(array.dtype, np.floating)
        else ((array == 0) | (array == 1)).all()
    )
    if kind == "correctness" and not binary:
        raise ScoresError(
            "scores of kind 'correctness' must be 0 or 1 in the range [0, 1]; some are not. "
            "Leave kind out, or say kind='graded'."
        )
    return kind or ("correctness" if binary else "graded")


def compact(array: npt.NDArray[Any], kind: Kind) -> npt.NDArray[Any]:
    """Smallest type that holds the scores exactly; always a copy unless it fits already."""
    if kind == "graded":
        return frozen(np.array(array, dtype=np.float64))
    complete = not np.issubdtype(array.dtype, np.floating) or not np.isnan(array).any()
    return frozen(np.array(array, dtype=np.int8 if complete else np.float32))


def labels_of(
    subtasks: Sequence[str] | Mapping[str, str] | None, items: tuple[str, ...]
) -> tuple[str, ...] | None:
    if subtasks is None:
        return None
    if isinstance(subtasks, Mapping):
        check_known("item", items, subtasks.keys(), "the mapping of items to subtasks")
        labels = [subtasks[item] for item in items]
    else:
        labels = list(subtasks)
    if len(labels) != len(items):
        raise ScoresError(
            f"subtasks must have one label per item, {len(items):,}; got {len(labels):,}."
        )
    wrong = [label for label in labels if not isinstance(label, str) or not label]
    if wrong:
        raise ScoresError(f"subtask labels must be non-empty strings; got {listed(wrong)}.")
    check_unicode("subtask labels", labels)
    return tuple(labels)


def info_of(kind: str, info: pd.DataFrame | None, ids: tuple[str, ...]) -> pd.DataFrame | None:
    if info is None:
        return None
    table = info.copy()
    table.index = table.index.map(str)
    table.index.name = kind
    if table.index.has_duplicates:
        twice = table.index[table.index.duplicated()].unique()
        raise ScoresError(f"{kind}_info has more than one row for {listed(twice)}.")
    check_known(kind, ids, set(table.index), f"{kind}_info")
    return table.loc[list(ids)]


def info_rows(
    info: pd.DataFrame | None, positions: npt.NDArray[np.intp] | None
) -> pd.DataFrame | None:
    return info if info is None or positions is None else info.iloc[positions]


def options_of(
    probabilities: npt.ArrayLike | None,
    right: npt.ArrayLike | None,
    models: tuple[str, ...],
    items: tuple[str, ...],
) -> tuple[npt.NDArray[np.float32] | None, npt.NDArray[np.intp] | None]:
    """The third layer and the position of each item's right option, checked; both or neither."""
    if probabilities is None and right is None:
        return None, None
    if probabilities is None or right is None:
        raise ScoresError(
            "option_probabilities and right_options go together: what models gave to every option "
            "of an item, and the position of the right one. Give both or neither."
        )
    layer, positions = _option_layer(probabilities), np.asarray(right)
    shape = (len(models), len(items))
    if layer.ndim != len(shape) + 1 or layer.shape[:2] != shape or layer.shape[2] == 0:
        raise ScoresError(
            "option_probabilities must have the shape models x items x options, "
            f"{shape[0]:,} x {shape[1]:,} x some; got an array of shape {layer.shape}."
        )
    for row, model in enumerate(models):
        # Row by row: a mask of all cells would be a third of a large layer.
        if ((layer[row] < 0) | (layer[row] > 1)).any():
            raise ScoresError(
                f"option_probabilities of {model!r} are outside [0, 1]; log-likelihoods become "
                "probabilities by a softmax over the options of an item."
            )
    _check_right(positions, layer, items)
    return frozen(layer), frozen(positions.astype(np.intp))


def _option_layer(probabilities: npt.ArrayLike) -> npt.NDArray[np.float32]:
    try:
        return np.array(probabilities, dtype=np.float32)
    except (TypeError, ValueError):
        raise ScoresError(
            "option_probabilities must be numbers, models x items x options, with NaN where an "
            "item has fewer options than others."
        ) from None


def _check_right(
    positions: npt.NDArray[Any], layer: npt.NDArray[np.float32], items: tuple[str, ...]
) -> None:
    count = layer.shape[2]
    if positions.shape != (len(items),) or not np.issubdtype(positions.dtype, np.integer):
        raise ScoresError(
            f"right_options must be {len(items):,} whole numbers, the position of each item's "
            f"right option; got an array of {positions.dtype} and shape {positions.shape}."
        )
    outside = np.flatnonzero((positions < 0) | (positions >= count))
    if outside.size:
        shown = listed(f"{items[i]}: {positions[i]}" for i in outside)
        raise ScoresError(f"right_options must be from 0 to {count - 1}; got {shown}.")
    # An item of which nothing is known at all was not scored by any model.
    known = ~np.logical_and.reduce(np.isnan(layer), axis=0)
    absent = np.flatnonzero(known.any(axis=1) & ~known[np.arange(len(items)), positions])
    if absent.size:
        raise ScoresError(
            "the right option has no probability for any model (NaN = there is no such option) "
            f"on the items {listed(items[i] for i in absent)}."
        )


def shown_scores(scores: ScoreMatrix) -> str:
    """A matrix in a notebook; scores in their own unit."""
    title = scores.name or "ScoreMatrix"
    low, high = scores.score_range
    facts = [
        (
            f"{counted(scores.n_models, 'model')} x {counted(scores.n_items, 'item')}, "
            f"{scores.kind}, scores from {low:g} to {high:g}, "
            f"{counted(scores.n_missing, 'missing cell')}"
        )
    ]
    values = scores.values[:MAX_ROWS].astype(np.float64)
    scored = ~np.isnan(values)
    means = np.where(scored, values, 0).sum(axis=1) / np.maximum(scored.sum(axis=1), 1)
    rows = [
        (model, f"{number:,}", f"{mean:.3f}" if number else "-")
        for model, number, mean in zip(
            scores.models[:MAX_ROWS], scored.sum(axis=1).tolist(), means.tolist(), strict=True
        )
    ]
    simulated = " (simulated)" if scores.simulated else ""
    left = scores.n_models - len(rows)
    more = [f"and {counted(left, 'further model')}"] if left else []
    head = ("model", "items scored", "mean score")
    return shown(title + simulated, [*facts, *more], head, rows)
