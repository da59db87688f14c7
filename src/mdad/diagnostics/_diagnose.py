"""The whole examination of a score matrix, item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._checks import check_real, counted, listed
from mdad.diagnostics._discrimination import Discrimination, Keys, discrimination, keys
from mdad.diagnostics._duplicates import DuplicateGroup, duplicate_groups
from mdad.diagnostics._information import SubtaskInformation, information
from mdad.diagnostics._result import ItemDiagnostics
from mdad.errors import ScoresError
from mdad.irt import fit
from mdad.quality import distinct_models

if TYPE_CHECKING:
    from mdad.scores import Aggregate, ScoreMatrix

FloatArray = npt.NDArray[np.float64]

MIN_MODELS = 5
"""With fewer distinct models no item can be told from chance."""


def diagnose_items(
    scores: ScoreMatrix, *, level: float = 0.05, aggregate: Aggregate = "micro"
) -> ItemDiagnostics:
    """Look for items that are constant, doubled, wrongly keyed or against the rest.

    Parameters
    ----------
    scores : models x items; models that miss more than 5 % of the items are left out, then items
        still incomplete
    level : of the tests: false discovery rate of the items called negative, family-wise error
        rate of the groups called duplicates
    aggregate : how a full score is formed

    Raises
    ------
    ScoresError
        when fewer than five models differ, or there are fewer than three items.

    Notes
    -----
    Copies and near copies of a model (see :class:`mdad.quality.Quality`) count once: each would
    repeat its evidence. Models of one family that are no near copies still share mistakes, so the
    p-values speak of these models, not of families to come.

    Examples
    --------
    >>> from mdad.datasets import simulate
    >>> found = diagnose_items(simulate(n_models=60, n_items=100, seed=1))
    >>> found.table().shape
    (100, 12)
    """
    level = check_real("level", level, 0, 1, open_ends=True)
    cleared = scores.complete()
    whole = cleared.scores.sorted()
    distinct = distinct_models(whole)
    if distinct.n_models < MIN_MODELS or whole.n_items < 3:  # noqa: PLR2004  # item, rest, another
        raise ScoresError(
            f"item diagnostics look at items through models that differ: {MIN_MODELS} such models "
            f"and 3 items are the least; got {counted(distinct.n_models, 'distinct model')} and "
            f"{counted(whole.n_items, 'item')}."
        )
    values = distinct.values.astype(np.float64)
    constant = (whole.values == whole.values[:1]).all(axis=0)
    found = discrimination(values, level)
    suspects = _keys(distinct, values, found, level)
    groups = duplicate_groups(distinct, ~constant & (np.ptp(values, axis=0) > 0))
    doubled = tuple(group for group in groups if group.p <= level)
    alone, together = information(distinct, aggregate)
    by_chance = sum(len(group.items) for group in groups) - sum(len(g.items) for g in doubled)
    return ItemDiagnostics(
        items=whole.items,
        labels=whole.subtasks,
        mean=whole.values.mean(axis=0, dtype=np.float64),
        constant=constant,
        discrimination=found,
        slope=_slopes(distinct, constant),
        keys=suspects,
        information=alone,
        duplicates=doubled,
        n_chance_equal=by_chance,
        subtasks=_subtasks(whole, found, suspects, constant, doubled, alone, together),
        n_models=whole.n_models,
        n_distinct=distinct.n_models,
        level=level,
        score_range=whole.score_range,
        name=whole.name,
        simulated=whole.simulated,
        notes=_notes(whole, distinct, cleared.dropped_models, cleared.dropped_items, level),
    )


def _keys(distinct: ScoreMatrix, values: FloatArray, found: Discrimination, level: float) -> Keys:
    if distinct.kind != "correctness":
        nothing = np.zeros(distinct.n_items, dtype=bool)
        return Keys(nothing, np.full(len(nothing), -1), np.full(len(nothing), np.nan))
    return keys(values, found, level, distinct.option_probabilities, distinct.right_options)


def _slopes(distinct: ScoreMatrix, constant: npt.NDArray[np.bool_]) -> FloatArray:
    found = np.full(distinct.n_items, np.nan)
    if distinct.kind == "correctness" and not constant.all():
        there = np.flatnonzero(~constant)
        part = distinct.restrict(items=[distinct.items[i] for i in there])
        found[there] = fit(part, dims=1).slope
    return found


def _subtasks(
    scores: ScoreMatrix,
    found: Discrimination,
    suspects: Keys,
    constant: npt.NDArray[np.bool_],
    doubled: tuple[DuplicateGroup, ...],
    alone: FloatArray,
    together: FloatArray,
) -> tuple[SubtaskInformation, ...]:
    again = {item for group in doubled for item in group.items[1:]}
    bad = suspects.suspicious | found.negative | constant
    bad |= np.array([item in again for item in scores.items])
    rows = []
    for k, (label, part) in enumerate(scores.subtask_positions.items()):
        rests = found.item_rest[part][~np.isnan(found.item_rest[part])]
        rows.append(
            SubtaskInformation(
                subtask=label,
                n_items=len(part),
                mean=float(scores.values[:, part].mean(dtype=np.float64)),
                item_rest=float(rests.mean()) if rests.size else None,
                alone=float(alone[part].mean()),
                together=float(together[k]),
                flagged=int(bad[part].sum()),
            )
        )
    return tuple(rows)


def _notes(
    whole: ScoreMatrix,
    distinct: ScoreMatrix,
    dropped_models: tuple[str, ...],
    dropped_items: tuple[str, ...],
    level: float,
) -> tuple[str, ...]:
    from scipy.special import ndtri  # noqa: PLC0415  # slow to import

    notes = []
    if dropped_models:
        notes.append(f"Left out for missing cells: {listed(dropped_models)}.")
    if dropped_items:
        notes.append(f"{counted(len(dropped_items), 'item')} left out, not scored for every model.")
    if distinct.n_models < whole.n_models:
        notes.append(
            f"Copies and near copies count once: {distinct.n_models:,} of {whole.n_models:,} "
            "models are distinct."
        )
    # What the smallest of the p-values must reach, as a rank correlation.
    needed = -ndtri(level / whole.n_items) / np.sqrt(distinct.n_models - 1)
    if needed > 0.5:  # noqa: PLR2004  # where most faults stay hidden
        notes.append(
            f"With {counted(distinct.n_models, 'distinct model')} and "
            f"{counted(whole.n_items, 'item')} a single item is called negative from a rank "
            f"correlation of -{min(needed, 1):.2f} on: few faults can be shown."
        )
    return tuple(notes)
