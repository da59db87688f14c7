"""A model's scores, in whatever form, brought into the order of a micro-benchmark's items."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, counted, listed
from mdad._content import checked
from mdad.errors import FormatError, ScoresError
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
    """Scores of every model on the chosen items, in their order; NaN = not scored.

    Raises
    ------
    FormatError
        when the content of an item is not what it was; see :func:`mdad._content.checked`.
    ScoresError
        when scores are missing, not asked for, or no numbers in the range.
    """
    check_choice("missing", missing, get_args(Missing))
    check_choice("extra", extra, get_args(Extra))
    if isinstance(runs, ScoreMatrix):
        runs = checked(micro, runs)
        fingerprint = runs.items_fingerprint
        rows: dict[str, tuple[Mapping[str, float], str]] = {
            model: (dict(zip(runs.items, row.tolist(), strict=True)), fingerprint)
            for model, row in zip(runs.models, runs.values, strict=True)
        }
    else:
        rows = {str(model): _one_run(micro, str(model), run) for model, run in runs.items()}
    if not rows:
        raise ScoresError("no model was given.")
    values = [
        _row(micro, model, run, missing, "ignore" if _is_whole(micro, run, fingerprint) else extra)
        for model, (run, fingerprint) in rows.items()
    ]
    return list(rows), np.stack(values)


def _one_run(micro: Microbenchmark, model: str, run: Any) -> tuple[Mapping[str, float], str]:
    """Score of each item, and the fingerprint of the items where contents are known."""
    if isinstance(run, ScoreMatrix):
        if run.n_models != 1:
            raise ScoresError(
                f"the scores of {model!r} hold {counted(run.n_models, 'model')}; give one each."
            )
        try:
            run = checked(micro, run)
        except FormatError as error:
            raise FormatError(f"{model}: {error}" if model else str(error)) from None
        scores = dict(zip(run.items, run.values[0].tolist(), strict=True))
        return scores, run.items_fingerprint
    if not isinstance(run, Mapping):
        raise ScoresError(
            f"the scores of {model!r} must be a mapping of item to score (a bare list has no "
            f"ids to join by); got {type(run).__name__}."
        )
    return {str(item): value for item, value in run.items()}, ""


def _row(
    micro: Microbenchmark, model: str, run: Mapping[str, float], missing: Missing, extra: Extra
) -> FloatArray:
    who = f" of {model!r}" if model else ""
    chosen = set(micro.items)
    unexpected = [item for item in run if item not in chosen]
    if unexpected and extra == "error":
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


def _is_whole(micro: Microbenchmark, run: Mapping[str, float], fingerprint: str) -> bool:
    """Whether the scored items are exactly those of the benchmark the file was made for."""
    wanted = micro.benchmark.items_fingerprint
    if not run or not set(micro.items) <= set(run):
        return False
    return wanted in {
        fingerprint,
        ScoreMatrix(np.zeros((1, len(run))), ["-"], list(run)).items_fingerprint,
    }
