"""Plain sentences: what the numbers of an audit mean for the person who reads them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from mdad._checks import counted, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdad._groups import Grouping
    from mdad.intervals import Interval
    from mdad.report.summary import Row
    from mdad.results import ScoresFacts, Spec

WANTED_GAP = 2.0
"""Points: the gap the advice names a size for, when the audit can resolve it."""


def points(value: float) -> str:
    """A gap in points: 3.5 -> '3.5 points', 1 -> '1 point'."""
    text = f"{value:.1f}".removesuffix(".0")
    return f"{text} point{'' if text == '1' else 's'}"


def percent(share: float) -> str:
    """A share as a percentage; a small or almost whole one does not become 0 or 100.

    >>> percent(0.384), percent(0.001), percent(0.9999)
    ('38 %', '<1 %', '>99 %')
    """
    if 0 < share < 0.01:  # noqa: PLR2004  # one per cent
        return "<1 %"
    if 0.99 < share < 1:  # noqa: PLR2004
        return ">99 %"
    return f"{share:.0%}".replace("%", " %")


def advice(rows: Sequence[Row], threshold: float, level: float = 0.95) -> tuple[str, ...]:
    """The answer first: MDAD at a middle size, how many pairs that leaves, what 2 points take.

    Parameters
    ----------
    rows : of the audit
    threshold : agreement to be reached
    level : of the intervals
    """
    seen = [row for row in rows if row.items == "seen"]
    base = [row for row in seen if row.method == seen[0].method]
    middle = middle_row(rows)
    if middle.agreement.value is None:
        return ("All models score the same: there is no order a micro-benchmark could preserve.",)
    return tuple(
        filter(
            None,
            (
                _reliable_gap(middle, threshold, level),
                _closer(middle),
                _size_for(base, WANTED_GAP),
                _best(seen, middle.size),
                _ability(rows, middle),
            ),
        )
    )


def middle_row(rows: Sequence[Row]) -> Row:
    """The first method on seen items, at the size nearest to 100: what the sentences speak of."""
    base = [row for row in rows if (row.method, row.items) == (rows[0].method, "seen")]
    return min(base, key=lambda row: abs(math.log(row.size / 100)))


SPLITS = {
    "random": "targets drawn at random",
    "grouped": "no family of models among both sources and targets",
    "frontier": "the best models as targets",
}


def drawn(split: str, grouping: Grouping | None) -> str:
    """How models were split, as what follows "with"; no family is claimed that is not known."""
    if grouping is None or grouping.known:
        return SPLITS[split]
    if not grouping.n_several:
        return "targets drawn at random, for want of known families and of models that answer alike"
    return "no two models that answer almost alike among sources and targets"


def _families(grouping: Grouping) -> str:
    """What the groups of a grouped split were."""
    several = f"{counted(grouping.n_several, 'group')} of more than one model"
    if grouping.known:
        what = {"column": "the column", "pattern": "the pattern"}[grouping.of]
        return f"Families are those of {what} {grouping.by!r}: {several}."
    alone = "" if grouping.n_several else ", so this is the random split"
    return (
        "No families known: groups are models that answer almost alike, "
        f"{several}{alone}; --groups or --models-file says what a family is."
    )


def across_splits(
    rows: Sequence[Row], others: Mapping[str, tuple[str, Sequence[Row]]]
) -> tuple[str, ...]:
    """The answer of every further split, beside that of the first.

    Parameters
    ----------
    rows : of the first split
    others : kind of each further one -> how its models were split (:func:`drawn`), its rows
    """
    first = middle_row(rows)
    said = []
    for kind, (how, theirs) in others.items():
        twin = next(
            row
            for row in theirs
            if (row.method, row.size, row.items) == (first.method, first.size, "seen")
        )
        shown = "not reached" if twin.mdad.value is None else points(twin.mdad.value)
        close = percent(twin.unresolved)
        said.append(
            f"With {how} ({kind} split) the MDAD of {_named(first)} is {shown}, and "
            f"{close} of the pairs are closer."
        )
    return tuple(said)


def _reliable_gap(row: Row, threshold: float, level: float) -> str:
    how = _named(row)
    if row.mdad.value is None:
        return (
            f"With {how} no gap found between two of these models is ranked correctly with "
            f"probability {threshold:g}: take more items."
        )
    low, high = row.mdad.low, row.mdad.high
    between = ""
    if low is not None:
        end = "beyond reach" if high is None else f"{high:.1f}"
        between = f" ({percent(level)} interval {low:.1f} to {end})"
    return (
        f"With {how} two models must be {points(row.mdad.value)} apart before the "
        f"micro-benchmark ranks them correctly with probability {threshold:g}{between}."
    )


def _closer(row: Row) -> str:
    if row.mdad.value is None:
        return ""
    return (
        f"{percent(row.unresolved)} of the pairs compared are closer than that: their order is not "
        "reliably preserved."
    )


def size_for_gap(rows: Sequence[Row], gap: float) -> float | None:
    """Size whose MDAD is ``gap``, between the audited sizes (log-log); None outside them."""
    known = [(row.size, row.mdad.value) for row in rows if row.mdad.value]
    for (small, wide), (large, narrow) in pairwise(known):
        if narrow <= gap <= wide:
            if wide == narrow:
                return float(small)
            share = math.log(wide / gap) / math.log(wide / narrow)
            return math.exp(math.log(small) + share * math.log(large / small))
    return None


def _size_for(rows: Sequence[Row], gap: float) -> str:
    size = size_for_gap(rows, gap)
    known = [row for row in rows if row.mdad.value is not None]
    if size is not None:
        return f"For {points(gap)} take about {rounded_size(size):,} items."
    if known and known[0].mdad.value is not None and known[0].mdad.value < gap:
        return f"{counted(known[0].size, 'item')} are enough for {points(gap)}."
    largest = rows[-1]
    return f"For {points(gap)} more than {counted(largest.size, 'item')} are needed."


def rounded_size(size: float) -> int:
    """Two significant digits, upwards."""
    step = 10 ** max(0, math.floor(math.log10(size)) - 1)
    return int(math.ceil(size / step) * step)


def _best(rows: Sequence[Row], size: int) -> str:
    """Name the method with the smallest MDAD at this size when its interval is apart."""
    at_size = [row for row in rows if row.size == size and row.mdad.value is not None]
    if len(at_size) < 2:  # noqa: PLR2004  # nothing to compare
        return ""
    first, best = at_size[0], min(at_size, key=lambda row: row.mdad.value or math.inf)
    apart = (
        best is not first
        and best.mdad.high is not None
        and first.mdad.low is not None
        and best.mdad.high < first.mdad.low
    )
    if not apart:
        return f"No other method audited is clearly better than {first.method} at this size."
    return f"{best.method} does better: {points(best.mdad.value or 0)} with {best.size} items."


def _ability(rows: Sequence[Row], middle: Row) -> str:
    twin = next(
        (
            row
            for row in rows
            if row.items == "unseen" and (row.method, row.size) == (middle.method, middle.size)
        ),
        None,
    )
    if twin is None:
        return ""
    shown = "is not reached" if twin.mdad.value is None else f"is {points(twin.mdad.value)}"
    return (
        "That speaks of the pool the items were drawn from; for the ability behind it (unseen "
        f"items of the same kind) the MDAD {shown}."
    )


def _named(row: Row) -> str:
    how = "random items" if row.method == "random" else f"items chosen by {row.method}"
    return f"{row.size} {how}"


def scope_notes(spec: Spec, interval: Interval, ties: str, threshold: float) -> tuple[str, ...]:
    """Which split, item sets and truth the numbers are for."""
    experiment, scores = spec.experiment, spec.scores
    truth = {
        "runs": "intervals say what more runs on these very models would give",
        "models": "intervals resample models and runs: they speak about models like these",
    }[interval.unit]
    full = {
        "micro": "all items count the same",
        "macro": "all subtasks count the same",
    }[experiment.aggregate]
    where = {
        "half": "seen: full scores on the half of the items that could be chosen; unseen: on the "
        "other half.",
        "all": "seen: full scores on all items, any of which could be chosen.",
    }[experiment.seen]
    lines = [
        (
            f"{counted(experiment.runs, 'run')}; in each, {experiment.n_target} target models are "
            f"compared and {experiment.n_source} other source models may be used to choose items "
            f"({experiment.split} split). {scores.n_models:,} models x {scores.n_items:,} items."
        ),
        (
            f"{where} Full score: {full}. MDAD: agreement {threshold:g} reached by an isotonic "
            f"fit; an estimated tie counts as {'wrong' if ties == 'wrong' else 'half right'}."
        ),
        f"{interval.level:.0%} {truth}.".replace("%", " %"),
    ]
    if spec.grouping is not None:
        lines.append(_families(spec.grouping))
    if experiment.subtasks == "separate":
        lines.append(
            f"A micro-benchmark of each of {counted(scores.n_subtasks, 'subtask')}, combined at "
            "its share of the full score; a size is that of all together."
        )
    if experiment.targets:
        lines.append(f"The target models are the same in every run: {listed(experiment.targets)}.")
    if experiment.form == "paper":
        lines.append("Methods in the form the paper's code runs.")
    return tuple(lines)


def data_notes(scores: ScoresFacts) -> tuple[str, ...]:
    """Copies, dead items, dropped models and items, and whether the scores are simulated."""
    quality, notes = scores.quality, []
    if scores.simulated:
        notes.append("The scores are simulated; no real model answered anything.")
    if scores.dropped_models:
        notes.append(_dropped("model", scores.dropped_models, "miss more than the allowed share"))
    if scores.dropped_items:
        notes.append(_dropped("item", scores.dropped_items, "were not scored for every model"))
    notes.append(_copies(scores))
    if quality.constant_items:
        notes.append(
            f"All models answer {counted(quality.constant_items, 'item')} alike, which tells none "
            "apart."
        )
    if quality.duplicate_items:
        notes.append(
            f"{counted(quality.duplicate_items, 'item')} have exactly the scores of another item."
        )
    return tuple(notes)


def _copies(scores: ScoresFacts) -> str:
    """How many models answer exactly or nearly like another; said of every matrix."""
    quality = scores.quality
    exact, near = quality.copied_models, quality.near_copies
    if scores.kind != "correctness":
        nearly = "near copies are told for 0/1 scores only"
    elif not exact + near:
        return "Near copies: no model answers exactly or nearly like another one."
    else:
        nearly = f"{counted(near, 'further model')} nearly so (at most 1 % of the items differ)"
    could = f" ({quality.surplus_models} could go)" if exact else ""
    flatter = (
        " Copies on both sides of a split flatter methods that learn from source models."
        if exact + near
        else ""
    )
    who = counted(exact, "model") if exact else "no model"
    answers = "answers" if exact < 2 else "answer"  # noqa: PLR2004
    return f"Near copies: {who} {answers} exactly like another one{could}; {nearly}.{flatter}"


def _dropped(kind: str, ids: Sequence[str], why: str) -> str:
    return f"Dropped {counted(len(ids), kind)} that {why}: {listed(ids)}."
