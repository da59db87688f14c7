"""Everything a report on an audit says, as plain numbers and sentences, in points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdad import measures
from mdad._groups import Grouping
from mdad._pairs import pairs_of
from mdad.intervals import Interval
from mdad.report.sentences import across_splits, advice, data_notes, drawn, scope_notes

if TYPE_CHECKING:
    from mdad.measures import Rule, Ties
    from mdad.results import Results, Spec

__all__ = ["AuditSummary", "Curve", "CurvePoint", "Estimate", "Row", "summarize"]

Claim = Literal["seen", "unseen"]


def claims(results: Results) -> tuple[Claim, ...]:
    """Item sets there is something to say about."""
    return ("seen", "unseen") if results.n_items("unseen") else ("seen",)


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; None = not reached in the data (or not defined)."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    """One method at one size, on one item set. Gaps and errors in points.

    ``observed_gap_95`` and ``observed_gap_80``: the observed gap from which a ranking is right
    with probability 0.95 and 0.8. ``unresolved``: share of the compared pairs, by their full
    scores on this item set, closer than the MDAD.
    """

    method: str
    size: int
    items: str
    mdad: Estimate
    agreement: Estimate
    agreement_ties_half: float
    observed_gap_95: Estimate
    observed_gap_80: float | None
    error: Estimate
    kendall_tau: Estimate
    unresolved: float
    n_pairs: int


@dataclass(frozen=True)
class CurvePoint:
    """Agreement in one half-point bin of the gap: its left edge, and the mean of its pairs."""

    gap: float
    mean_gap: float
    agreement: float
    low: float | None
    high: float | None
    fit: float
    n_pairs: int


@dataclass(frozen=True)
class Curve:
    """Agreement (or trust) against the gap, for one method, size and item set."""

    method: str
    size: int
    items: str
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class SubtaskRow:
    """One subtask of an audit with separate subtasks; MDAD in points, seen items."""

    subtask: str
    method: str
    size: int
    n_items: int
    mdad: float | None
    agreement: float


@dataclass(frozen=True)
class AuditSummary:
    """What a report on an audit says.

    Parameters
    ----------
    title : name of the benchmark
    answer : the plain sentences at the top
    scope : what the numbers speak about: split, item sets, truth of the intervals, tie rule
    notes : on the data: copies, dead items, what was dropped
    rows, agreement_curves, trust_curves : the numbers
    subtask_rows : with separate subtasks, MDAD and agreement within each
    full_scores : of every model that was a target in some run, on all items, in points above the
        lower end of the range, ascending
    pair_gaps : number of compared pairs, over all runs, in each half-point bin of the gap (full
        scores on seen items)
    threshold, rule, ties, level, unit : how the numbers were formed
    spec : experiment and scores, for provenance
    further : with several splits, the same of each of the others; this one is of the first
    """

    title: str
    simulated: bool
    answer: tuple[str, ...]
    scope: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    agreement_curves: tuple[Curve, ...]
    trust_curves: tuple[Curve, ...]
    subtask_rows: tuple[SubtaskRow, ...]
    full_scores: tuple[float, ...]
    pair_gaps: tuple[int, ...]
    threshold: float
    rule: str
    ties: str
    level: float
    unit: str
    spec: dict[str, Any]
    further: tuple[AuditSummary, ...] = ()

    @property
    def split(self) -> str:
        """How models were split."""
        return str(self.spec["experiment"]["split"])

    @property
    def drawn(self) -> str:
        """How models were split, in words; see :func:`mdad.report.sentences.drawn`."""
        import msgspec  # noqa: PLC0415  # only needed here

        return drawn(self.split, msgspec.convert(self.spec.get("grouping"), Grouping | None))

    @property
    def splits(self) -> tuple[AuditSummary, ...]:
        """Of each split: the summary itself, then those of further ones."""
        return (self, *self.further)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The lines of ``scope`` of every split, each said once."""
        lines = zip_longest(*(part.scope for part in self.splits))
        return tuple(dict.fromkeys(line for same in lines for line in same if line))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``further`` is there only with several splits."""
        import msgspec  # noqa: PLC0415  # only needed here

        document: dict[str, Any] = msgspec.to_builtins(self)
        if not self.further:
            del document["further"]
        for part in document.get("further", ()):
            del part["further"]
        return document


def summarize(
    results: Results,
    *further: Results,
    rule: Rule = "monotone",
    threshold: float = measures.AGREEMENT_THRESHOLD,
    ties: Ties = "wrong",
    interval: Interval | None = None,
) -> AuditSummary:
    """Compute everything a report says.

    Parameters
    ----------
    results, further : of an audit; with several splits, those of the first and of the others
    rule, threshold, ties, interval : see :func:`mdad.measures.mdad`
    """
    interval = interval or Interval()
    others = tuple(
        summarize(other, rule=rule, threshold=threshold, ties=ties, interval=interval)
        for other in further
    )
    rows = _rows(results, rule, threshold, ties, interval)
    scores = _all_scores(results)
    point = results.spec.scores.point
    low = results.spec.scores.score_range[0]
    return AuditSummary(
        title=results.spec.scores.name or "score matrix",
        simulated=results.spec.scores.simulated,
        answer=(
            *advice(rows, threshold, interval.level),
            *across_splits(
                rows,
                {other.split: (other.drawn, other.rows) for other in others},
            ),
        ),
        scope=scope_notes(results.spec, interval, ties, threshold),
        notes=data_notes(results.spec.scores),
        rows=rows,
        agreement_curves=_curves(results, "agreement", ties, interval),
        trust_curves=_curves(results, "trust", ties, interval),
        subtask_rows=_subtask_rows(results, rule, threshold, ties),
        full_scores=tuple(((np.sort(scores) - low) / point).round(6).tolist()),
        pair_gaps=tuple(np.bincount(pairs_of(results, "seen").bins.ravel()).tolist()),
        threshold=threshold,
        rule=rule,
        ties=ties,
        level=interval.level,
        unit=interval.unit,
        spec=_spec(results.spec),
        further=others,
    )


def _spec(spec: Spec) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415  # only needed here

    document: dict[str, Any] = msgspec.json.decode(spec.to_json())
    return document


def _all_scores(results: Results) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Full score on all items of every model that was a target in some run."""
    scores = np.empty(len(results.models))
    scores[results.target] = results.full("all")
    return scores


def _rows(
    results: Results, rule: Rule, threshold: float, ties: Ties, interval: Interval
) -> tuple[Row, ...]:
    point, sets = results.spec.scores.point, claims(results)
    none = Interval(interval.unit, interval.level, 0)
    by_runs = Interval("runs", interval.level, interval.n_resamples)
    gap95 = measures.smallest_trustworthy_gap(results, interval=by_runs, items=sets)
    gap80 = measures.smallest_trustworthy_gap(results, probability=0.8, interval=none, items=sets)
    half = measures.agreement(results, ties="half", interval=none, items=sets)
    mdads = measures.mdad(
        results, rule=rule, threshold=threshold, ties=ties, interval=interval, items=sets
    )
    agreements = measures.agreement(results, ties=ties, interval=interval, items=sets)
    errors = measures.errors(results, interval=interval, items=sets)
    tables = (mdads, agreements, half, gap95, gap80, errors)
    return tuple(
        Row(
            method=mdad.method,
            size=mdad.size,
            items=mdad.items,
            mdad=_estimate(mdad.mdad, mdad.low, mdad.high, point),
            agreement=_estimate(agree.agreement, agree.low, agree.high),
            agreement_ties_half=agree_half.agreement,
            observed_gap_95=_estimate(trust.gap, trust.low, trust.high, point),
            observed_gap_80=_number(trust80.gap, point),
            error=_estimate(error.error, error.error_low, error.error_high, point),
            kendall_tau=_estimate(error.kendall_tau, error.tau_low, error.tau_high),
            unresolved=mdad.unresolved,
            n_pairs=mdad.n_pairs,
        )
        for mdad, agree, agree_half, trust, trust80, error in zip(
            *(_records(table) for table in tables), strict=True
        )
    )


def _subtask_rows(
    results: Results, rule: Rule, threshold: float, ties: Ties
) -> tuple[SubtaskRow, ...]:
    none = Interval(n_resamples=0)
    rows = []
    for label, part in results.subtasks.items():
        mdads = measures.mdad(
            part, rule=rule, threshold=threshold, ties=ties, interval=none, items=("seen",)
        )
        agreements = measures.agreement(part, ties=ties, interval=none, items=("seen",))
        point, n_items = part.spec.scores.point, part.n_items("seen")
        for mdad, agree in zip(_records(mdads), _records(agreements), strict=True):
            number = _number(mdad.mdad, point)
            rows.append(SubtaskRow(label, mdad.method, mdad.size, n_items, number, agree.agreement))
    return tuple(rows)


def _records(table: Any) -> Any:
    return table.itertuples()


def _curves(
    results: Results, kind: Literal["agreement", "trust"], ties: Ties, interval: Interval
) -> tuple[Curve, ...]:
    point = results.spec.scores.point
    curves = []
    for method in results.experiment.methods:
        for size in results.experiment.sizes:
            for items in claims(results):
                if kind == "agreement":
                    table = measures.agreement_curve(
                        results, method, size, items=items, ties=ties, interval=interval
                    )
                else:
                    table = measures.trust_curve(results, method, size, items=items)
                columns = (table[name].tolist() for name in table.columns)
                points = (
                    CurvePoint(
                        round(gap / point, 6),
                        round(mean_gap / point, 4),
                        round(share, 5),
                        _number(low),
                        _number(high),
                        round(fit, 5),
                        n_pairs,
                    )
                    for gap, mean_gap, share, low, high, fit, n_pairs in zip(*columns, strict=True)
                )
                curves.append(Curve(method, size, items, tuple(points)))
    return tuple(curves)


def _number(value: float, unit: float = 1.0) -> float | None:
    return float(round(value / unit, 5)) if math.isfinite(value) else None


def _estimate(value: float, low: float, high: float, unit: float = 1.0) -> Estimate:
    return Estimate(_number(value, unit), _number(low, unit), _number(high, unit))
