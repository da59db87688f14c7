"""ScoreMatrix: the scores of models on the items of one benchmark.

An *item* is one question (an *example* in the paper, a *sample* in Inspect, a *doc* in
lm-evaluation-harness, an *instance* in HELM); a *model* is a system being ranked.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_known, check_real, counted, listed
from mdad._score_parts import (
    Kind,
    check_inside,
    checked_kind,
    checked_range,
    compact,
    frozen,
    info_of,
    info_rows,
    labels_of,
    numbers,
    options_of,
    shown_scores,
    title,
    unique_ids,
)
from mdad.errors import ScoresError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

__all__ = ["Aggregate", "Completed", "Kind", "ScoreMatrix"]

Aggregate = Literal["micro", "macro"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ScoreMatrix:
    """Scores of models on items, joined by id and never changed.

    Parameters
    ----------
    values : array of shape (n_models, n_items)
        Scores in the declared range; NaN = not scored, never "wrong". Kept read-only in the
        smallest type that holds them exactly: int8 for complete 0/1 scores, float32 for 0/1
        scores with missing cells, float64 for graded scores.
    models, items : sequences of unique, non-empty ids
    subtasks : sequence of n_items labels, or mapping from item to label; optional
    probabilities : array of shape (n_models, n_items), in [0, 1]; optional
        The probability each model gave to the correct answer; NaN = unknown.
    model_info, item_info : data frames with one row per model or item, indexed by id; optional
    score_range : (low, high), the declared range of a score; one *point* is a hundredth of it
    kind : "correctness" (0/1) or "graded"; taken from the values when not given
    name : name of the benchmark, for titles; lone surrogates, as of a file whose name is no valid
        Unicode, are spelled out
    simulated : whether the scores come from a simulation; every output says so
    option_probabilities : array of shape (n_models, n_items, n_options), in [0, 1]; optional
        The probability each model gave to every option; NaN where an item has fewer options.
    right_options : int array of shape (n_items,); goes with ``option_probabilities``
        Position of each item's right option.

    Raises
    ------
    ScoresError
        when shapes, ids, range or kind do not fit together.

    Examples
    --------
    >>> scores = ScoreMatrix([[1, 0, 1], [0, 0, 1]], ["a", "b"], ["q1", "q2", "q3"])
    >>> scores
    <ScoreMatrix: 2 models x 3 items, correctness>
    >>> scores.full_scores().round(3).tolist()
    [0.667, 0.333]
    """

    values: npt.NDArray[Any]
    models: tuple[str, ...]
    items: tuple[str, ...]
    subtasks: tuple[str, ...] | None = None
    probabilities: npt.NDArray[Any] | None = None
    model_info: pd.DataFrame | None = None
    item_info: pd.DataFrame | None = None
    score_range: tuple[float, float] = (0.0, 1.0)
    kind: Kind = "correctness"
    name: str = ""
    simulated: bool = False
    option_probabilities: npt.NDArray[np.float32] | None = None
    right_options: npt.NDArray[np.intp] | None = None

    def __init__(
        self,
        values: npt.ArrayLike,
        models: Iterable[str | int],
        items: Iterable[str | int],
        subtasks: Sequence[str] | Mapping[str, str] | None = None,
        probabilities: npt.ArrayLike | None = None,
        *,
        model_info: pd.DataFrame | None = None,
        item_info: pd.DataFrame | None = None,
        score_range: tuple[float, float] = (0.0, 1.0),
        kind: Kind | None = None,
        name: str = "",
        simulated: bool = False,
        option_probabilities: npt.ArrayLike | None = None,
        right_options: npt.ArrayLike | None = None,
    ) -> None:
        model_ids, item_ids = unique_ids("model", models), unique_ids("item", items)
        shape = (len(model_ids), len(item_ids))
        low, high = checked_range(score_range)
        raw = numbers("values", values, shape)
        check_inside(raw, model_ids, item_ids, low, high)
        found = checked_kind(raw, (low, high), kind)
        layer = None
        if probabilities is not None:
            layer = numbers("probabilities", probabilities, shape)
            check_inside(layer, model_ids, item_ids, 0.0, 1.0, what="probability")
        options, right = options_of(option_probabilities, right_options, model_ids, item_ids)
        self._fill(
            values=compact(raw, found),
            models=model_ids,
            items=item_ids,
            subtasks=labels_of(subtasks, item_ids),
            probabilities=None if layer is None else frozen(np.array(layer, dtype=np.float32)),
            model_info=info_of("model", model_info, model_ids),
            item_info=info_of("item", item_info, item_ids),
            score_range=(low, high),
            kind=found,
            name=title(name),
            simulated=bool(simulated),
            option_probabilities=options,
            right_options=right,
        )

    def _fill(self, **fields: Any) -> None:
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    @classmethod
    def _trusted(cls, **fields: Any) -> ScoreMatrix:
        """Make a matrix from parts that are known to fit; nothing is checked or copied."""
        matrix = object.__new__(cls)
        matrix._fill(**{**fields, "name": title(fields["name"])})
        return matrix

    def _replace(self, **fields: Any) -> ScoreMatrix:
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return ScoreMatrix._trusted(**{**kept, **fields})

    def _repr_html_(self) -> str:
        """What a notebook shows: size, kind and range, and the first models."""
        return shown_scores(self)

    def __repr__(self) -> str:
        layers = f"{self.kind}{' and probabilities' if self.probabilities is not None else ''}"
        parts = [f"{self.n_models:,} models x {self.n_items:,} items", layers]
        if self.option_probabilities is not None:
            parts.append(counted(self.option_probabilities.shape[2], "option"))
        if self.subtasks is not None:
            parts.append(counted(len(set(self.subtasks)), "subtask"))
        if self.n_missing:
            parts.append(counted(self.n_missing, "missing cell"))
        name = f" {self.name!r}" if self.name else ""
        return f"<ScoreMatrix{name}{' (simulated)' if self.simulated else ''}: {', '.join(parts)}>"

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def point(self) -> float:
        """One point: a hundredth of the declared range, in the unit of the scores."""
        low, high = self.score_range
        return (high - low) / 100

    @cached_property
    def n_missing(self) -> int:
        """Number of cells that were not scored."""
        if not np.issubdtype(self.values.dtype, np.floating):
            return 0
        return int(np.isnan(self.values).sum())

    @cached_property
    def model_position(self) -> dict[str, int]:
        """Row of each model."""
        return {model: row for row, model in enumerate(self.models)}

    @cached_property
    def item_position(self) -> dict[str, int]:
        """Column of each item."""
        return {item: column for column, item in enumerate(self.items)}

    @cached_property
    def subtask_positions(self) -> dict[str, npt.NDArray[np.intp]]:
        """Columns of each subtask, in alphabetical order; one subtask "" without labels."""
        labels = np.asarray(self.subtasks if self.subtasks is not None else [""] * self.n_items)
        names, codes = np.unique(labels, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        return dict(zip(names.tolist(), parts, strict=True))

    def item_weights(self, aggregate: Aggregate = "micro") -> FloatArray:
        """Weight of each item in a model's full score; they sum to 1.

        Parameters
        ----------
        aggregate : "micro" (items count the same) or "macro" (subtasks count the same)
        """
        check_choice("aggregate", aggregate, get_args(Aggregate))
        weights = np.full(self.n_items, 1 / self.n_items)
        if aggregate == "macro":
            for columns in self.subtask_positions.values():
                weights[columns] = 1 / (len(self.subtask_positions) * len(columns))
        return weights

    def full_scores(self, aggregate: Aggregate = "micro") -> FloatArray:
        """Each model's mean score over all items of this matrix, shape (n_models,).

        Raises
        ------
        ScoresError
            when cells are missing: they are not wrong answers. Use :meth:`complete` first.
        """
        self.check_complete()
        if aggregate == "micro":
            # Sums of 0/1 scores are exact, so equal numbers of right answers tie exactly.
            sums: FloatArray = self.values.sum(axis=1, dtype=np.float64)
            return sums / self.n_items
        product: FloatArray = self.values.astype(np.float64) @ self.item_weights(aggregate)
        return product

    def check_complete(self) -> None:
        """Refuse a matrix with missing cells.

        Raises
        ------
        ScoresError
            when a cell is missing.
        """
        if self.n_missing:
            rows = np.flatnonzero(np.isnan(self.values).any(axis=1))
            raise ScoresError(
                f"{counted(self.n_missing, 'cell')} of {self.n_models:,} x {self.n_items:,} not "
                f"scored, in the models {listed(self.models[row] for row in rows)}. Missing is not "
                "wrong: drop incomplete models and items with .complete(), or fill the cells."
            )

    def restrict(
        self, *, models: Iterable[str] | None = None, items: Iterable[str] | None = None
    ) -> ScoreMatrix:
        """The matrix of these models and items, in the order given.

        Raises
        ------
        UnknownIdError
            when one is not in the matrix.
        ScoresError
            when one is named twice or none is named.
        """
        rows = columns = None
        if models is not None:
            models = unique_ids("model", models)
            check_known("model", models, self.model_position, "the score matrix")
            rows = np.array([self.model_position[model] for model in models], dtype=np.intp)
        if items is not None:
            items = unique_ids("item", items)
            check_known("item", items, self.item_position, "the score matrix")
            columns = np.array([self.item_position[item] for item in items], dtype=np.intp)
        return self._take(rows, columns)

    def _take(
        self, rows: npt.NDArray[np.intp] | None, columns: npt.NDArray[np.intp] | None
    ) -> ScoreMatrix:
        """Rows and columns by position; for steps inside the library that hold positions."""

        def cut(layer: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
            if layer is None:
                return None
            part = layer if rows is None else layer[rows]
            return frozen(part if columns is None else np.ascontiguousarray(part[:, columns]))

        def pick(ids: tuple[str, ...], chosen: npt.NDArray[np.intp] | None) -> tuple[str, ...]:
            return ids if chosen is None else tuple([ids[i] for i in chosen.tolist()])

        values = cut(self.values)
        if self.kind == "correctness" and values is not None and values.dtype != np.int8:
            values = compact(values, "correctness")
        right = self.right_options
        return self._replace(
            values=values,
            models=pick(self.models, rows),
            items=pick(self.items, columns),
            subtasks=None if self.subtasks is None else pick(self.subtasks, columns),
            probabilities=cut(self.probabilities),
            option_probabilities=cut(self.option_probabilities),
            right_options=right if right is None or columns is None else frozen(right[columns]),
            model_info=info_rows(self.model_info, rows),
            item_info=info_rows(self.item_info, columns),
        )

    def sorted(self) -> ScoreMatrix:
        """The same matrix with models and items in the order of their ids."""
        rows = sorted(range(self.n_models), key=self.models.__getitem__)
        columns = sorted(range(self.n_items), key=self.items.__getitem__)
        if rows == list(range(self.n_models)) and columns == list(range(self.n_items)):
            return self
        return self._take(np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp))

    def complete(self, max_missing: float = 0.05) -> Completed:
        """Drop models that miss more than a share of the items, then items still incomplete.

        Parameters
        ----------
        max_missing : largest share of items a model may miss, in [0, 1]

        Raises
        ------
        ScoresError
            when nothing would be left.
        """
        check_real("max_missing", max_missing, 0, 1)
        if not self.n_missing:
            return Completed(self, (), ())
        absent = np.isnan(self.values)
        keep = absent.mean(axis=1) <= max_missing
        full = ~absent[keep].any(axis=0)
        if not keep.any() or not full.any():
            raise ScoresError(
                f"no complete block of scores is left: {counted(int((~keep).sum()), 'model')} of "
                f"{self.n_models:,} miss more than {max_missing:.0%} of the items, and "
                f"{counted(int(full.sum()), 'item')} of {self.n_items:,} were scored for all the "
                "others. Allow more missing cells per model, or remove the models that lack most."
            )
        return Completed(
            self._take(np.flatnonzero(keep), np.flatnonzero(full)),
            tuple(self.models[row] for row in np.flatnonzero(~keep)),
            tuple(self.items[column] for column in np.flatnonzero(~full)),
        )

    @cached_property
    def data_fingerprint(self) -> str:
        """Identifies ids, scores, subtasks and range, whatever their order; 32 hex digits."""
        matrix = self.sorted()
        digest = hashlib.blake2b(digest_size=16)
        for ids in (matrix.models, matrix.items, matrix.subtasks, matrix.score_range):
            digest.update(repr(ids).encode())
        for layer in (matrix.values, matrix.probabilities):
            digest.update(b"-" if layer is None else layer.dtype.str.encode())
            for row in layer if layer is not None else ():
                # Adding 0 turns -0.0 into 0.0; equal scores have equal bytes.
                part = np.packbits(row) if row.dtype == np.int8 else row + row.dtype.type(0)
                digest.update(part.tobytes())
        if matrix.option_probabilities is not None:
            # Only where there are options, so that other matrices keep their fingerprints.
            for block in (matrix.right_options, *matrix.option_probabilities):
                part = np.asarray(block, dtype=np.float32) + np.float32(0)
                digest.update(repr(part.shape).encode() + part.tobytes())
        return digest.hexdigest()

    @cached_property
    def items_fingerprint(self) -> str:
        """Identifies the benchmark: item ids, and content hashes where known; 32 hex digits."""
        info = self.item_info
        known = info is not None and "content_hash" in info.columns
        hashes = info["content_hash"].astype(str) if info is not None and known else None
        pairs = sorted(zip(self.items, hashes if hashes is not None else self.items, strict=True))
        text = repr(pairs if known else sorted(self.items))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Completed:
    """A matrix without missing cells, and what was dropped to get it."""

    scores: ScoreMatrix
    dropped_models: tuple[str, ...]
    dropped_items: tuple[str, ...]
