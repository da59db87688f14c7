"""A model's scores, in whatever form, brought into the order of a micro-benchmark's items."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, counted, listed
from mdad.errors import ScoresError
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    from mdad.microbenchmark import Microbenchmark

Missing = Literal["error", "drop", "wrong"]
Extra = Literal["error", "ignore"]
Runs = Mapping[str, Any] | ScoreMatrix
FloatArray = npt.NDArray[np.float64]


def values_of(
    micro: Microbenchmark, runs: Runs, missing: Missing, extra: Extra
) -> tuple[list[str], FloatArray]:
    """Scores of every model on the chosen items, in their order; NaN = not scored."""
    check_choice("missing", missing, get_args(Missing))
    check_choice("extra", extra, get_args(Extra))
    if isinstance(runs, ScoreMatrix):
        rows: dict[str, Mapping[str, float]] = {
            model: dict(zip(runs.items, row.tolist(), strict=True))
            for model, row in zip(runs.models, runs.values, strict=True)
        }
    else:
        rows = {str(model): _one_run(str(model), run) for model, run in runs.items()}
    if not rows:
        raise ScoresError("no model was given.")
    values = np.stack([_row(micro, model, run, missing, extra) for model, run in rows.items()])
    return list(rows), values


def _one_run(model: str, run: Any) -> Mapping[str, float]:
    if isinstance(run, ScoreMatrix):
        if run.n_models != 1:
            raise ScoresError(
                f"the scores of {model!r} hold {counted(run.n_models, 'model')}; give one each."
            )
        return dict(zip(run.items, run.values[0].tolist(), strict=True))
    if not isinstance(run, Mapping):
        raise ScoresError(
            f"the scores of {model!r} must be a mapping of item to score (a bare list has no "
            f"ids to join by); got {type(run).__name__}."
        )
    return {str(item): value for item, value in run.items()}


def _row(
    micro: Microbenchmark, model: str, run: Mapping[str, float], missing: Missing, extra: Extra
) -> FloatArray:
    who = f" of {model!r}" if model else ""
    chosen = set(micro.items)
    unexpected = [item for item in run if item not in chosen]
    if unexpected and extra == "error" and not _whole_benchmark(micro, run):
        raise ScoresError(
            f"{counted(len(unexpected), 'scored item')}{who} not in the micro-benchmark of "
            f"{counted(micro.size, 'item')}: {listed(unexpected)}. Is this a run on the same "
            "benchmark? extra='ignore' (--extra ignore) leaves them out."
        )
    low, high = micro.benchmark.score_range
    try:
        row = np.array([float(run.get(item, math.nan)) for item in micro.items])
    except (TypeError, ValueError):
        wrong = [item for item in micro.items if not isinstance(run.get(item, 0.0), int | float)]
        raise ScoresError(f"scores{who} must be numbers; see the items {listed(wrong)}.") from None
    outside = np.flatnonzero((row < low) | (row > high))
    if outside.size:
        shown = listed(f"{micro.items[i]}: {row[i]:g}" for i in outside)
        raise ScoresError(
            f"scores{who} outside the range [{low:g}, {high:g}] of the micro-benchmark: {shown}."
        )
    absent = np.isnan(row)
    if absent.any() and missing == "error":
        names = [micro.items[i] for i in np.flatnonzero(absent)]
        raise ScoresError(
            f"{counted(len(names), 'chosen item')} of {micro.size}{who} not scored: "
            f"{listed(names)}. Score them, or say missing='drop' (weigh the others anew) or "
            "missing='wrong' (--missing drop|wrong)."
        )
    if absent.all() and missing == "drop":
        raise ScoresError(f"none of the chosen items{who} was scored.")
    return np.where(absent, low, row) if missing == "wrong" else row


def _whole_benchmark(micro: Microbenchmark, run: Mapping[str, float]) -> bool:
    """Whether the scored items are exactly those of the benchmark the file was made for."""
    matrix = ScoreMatrix(np.zeros((1, len(run))), ["-"], list(run))
    known_by_ids = matrix.items_fingerprint == micro.benchmark.items_fingerprint
    return known_by_ids and set(micro.items) <= set(run)
