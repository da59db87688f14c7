"""The rows behind the charts of an audit. Gaps are in points; None = not reached."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from mdad.report.legible import legible
from mdad.report.sentences import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.report.summary import AuditSummary, Curve, Estimate, Row

CLAIMS = ("seen", "unseen")

HEIGHT = 300
"""Height of a chart in pixels; how far apart names must be depends on it."""

LABEL_HEIGHT = 17
"""Pixels a name beside a line needs."""

LABEL_LENGTH = 15
"""Characters of a name beside a line; the legend has all of it."""

SHORTEST = 10.0
"""Points: curves are drawn at least this far, if there are pairs that far apart."""

N_LINES = 8
"""Colours of lines; further methods use them again, with the next pattern of dashes."""

DASHES = ((1, 0), (6, 3), (2, 2))

FIRST_LINES = 12
"""Lines that are drawn at first: more cannot be told apart, and can be asked for one by one."""

MAX_BARS = 50
"""Bars of the histogram of full scores."""

DEEPEST = 2.0
"""The MDAD axis ends at most at this many times the largest MDAD; intervals may go on above."""


def method_names(summary: AuditSummary) -> list[str]:
    """Methods in the order of the experiment; a method's number is its position here."""
    return list(summary.spec["experiment"]["methods"])


def hidden_at_first(summary: AuditSummary) -> list[int]:
    """Numbers of the methods whose line is not drawn until a reader asks for it."""
    return list(range(FIRST_LINES, len(method_names(summary))))


def axis_top(rows: Sequence[Row]) -> float:
    """Upper end of the MDAD axis, the same for seen and unseen items."""
    values = [row.mdad.value for row in rows if row.mdad.value is not None]
    lows = [row.mdad.low for row in rows if row.mdad.low is not None]
    ends = [row.mdad.high for row in rows if row.mdad.high is not None]
    highest = max([*values, *lows], default=10.0) or 1.0
    return _round_end(min(max([highest, *ends]), DEEPEST * highest) * 1.02)


def _round_end(wanted: float) -> float:
    """The end of an axis that goes as far as wanted, at a round number."""
    step = 10.0 ** math.floor(math.log10(wanted))
    step = next(one for one in (step / 5, step / 2, step) if wanted <= 10 * one)
    return round(math.ceil(wanted / step) * step, 6)


def mdad_data(summary: AuditSummary, items: str) -> list[dict[str, Any]]:
    """One entry per method and size on one item set; intervals end where the axis ends."""
    names, top = method_names(summary), axis_top(summary.rows)
    never_at: Counter[int] = Counter()
    data = []
    for row in summary.rows:
        if row.items != items:
            continue
        entry = _mdad_entry(row, names.index(row.method), top)
        if row.mdad.value is None:
            never_at[row.size] += 1
            entry["never"] = max(top * (1.01 - 0.04 * never_at[row.size]), top / 2)
        data.append(entry)
    _place_labels(data, top)
    return data


def _mdad_entry(row: Row, number: int, top: float) -> dict[str, Any]:
    mdad = row.mdad
    without = mdad.low is None
    return {
        "number": number,
        "color": number % N_LINES,
        "dash": number // N_LINES % len(DASHES),
        "name": legible(row.method),
        "short": _short(legible(row.method)),
        "size": row.size,
        "mdad": mdad.value,
        "low": None if mdad.low is None else min(mdad.low, top),
        "high": None if without else top if mdad.high is None else min(mdad.high, top),
        "text": said(mdad),
        "between": said_between(mdad),
        "unresolved": percent(row.unresolved),
        "never": None,
        "label": None,
    }


def trend_data(summary: AuditSummary, what: str) -> list[dict[str, Any]]:
    """Estimation error or tau-b of every method and size, on seen items."""
    names = method_names(summary)
    digits = 1 if what == "error" else 3
    data = []
    for row in summary.rows:
        found: Estimate = getattr(row, what)
        if row.items != "seen" or found.value is None:
            continue
        number = names.index(row.method)
        ends = (found.low, found.high)
        between = " to ".join("-" if end is None else f"{end:.{digits}f}" for end in ends)
        data.append(
            {
                "number": number,
                "color": number % N_LINES,
                "dash": number // N_LINES % len(DASHES),
                "name": legible(row.method),
                "size": row.size,
                "value": round(found.value, 4),
                "text": f"{found.value:.{digits}f}",
                "between": between,
                "unresolved": percent(row.unresolved),
            }
        )
    return data


def trend_ends(summary: AuditSummary, what: str) -> tuple[float, float]:
    """Ends of the axis of a trend, the same for every split.

    No line may look like a fall to nothing: both axes hold 0, and that of tau-b ends at 1.
    """
    found = (getattr(row, what).value for part in summary.splits for row in part.rows)
    values = [value for value in found if value is not None]
    if what == "kendall_tau":
        return min(0.0, math.floor(10 * min(values, default=0.0)) / 10), 1.0
    return 0.0, _round_end(max(values, default=1.0) or 1.0)


def splits_data(summary: AuditSummary, method: str, items: str) -> list[dict[str, Any]]:
    """The MDAD of one method in every split and size; intervals end where the axis ends."""
    top = max(axis_top(part.rows) for part in summary.splits)
    number = method_names(summary).index(method)
    data = []
    for place, part in enumerate(summary.splits):
        for row in part.rows:
            if (row.method, row.items) != (method, items):
                continue
            entry = {**_mdad_entry(row, number, top), "number": place, "split": part.split}
            if row.mdad.value is None:
                entry["never"] = top * (0.97 - 0.04 * place)
            data.append(entry)
    _place_labels(data, top)
    return data


def _short(name: str) -> str:
    """A name cut in its middle: methods of a family differ at the end."""
    if len(name) <= LABEL_LENGTH:
        return name
    half = (LABEL_LENGTH - 1) // 2
    return f"{name[:half]}…{name[half - LABEL_LENGTH + 1 :]}"


def _place_labels(data: list[dict[str, Any]], top: float) -> None:
    """Put the names beside the ends of the lines, far enough from one another to be read."""
    last = max(entry["size"] for entry in data)
    ends = [entry for entry in data if entry["size"] == last]
    heights = {
        entry["number"]: entry["never"] if entry["mdad"] is None else entry["mdad"]
        for entry in ends
    }
    ends.sort(key=lambda entry: (heights[entry["number"]], entry["number"]))
    apart = top * LABEL_HEIGHT / HEIGHT
    floor = apart / 2
    for entry in ends:
        entry["label"] = max(heights[entry["number"]], floor)
        floor = entry["label"] + apart
    over = max(0.0, ends[-1]["label"] - top)
    for entry in ends:
        entry["label"] = round(entry["label"] - over, 4)


def said(estimate: Estimate) -> str:
    """A gap in words."""
    return "not reached" if estimate.value is None else f"{estimate.value:.1f} points"


def said_between(estimate: Estimate) -> str:
    """An interval in words."""
    if estimate.low is None:
        return "not reached" if estimate.value is None else "none"
    upper = "beyond reach" if estimate.high is None else f"{estimate.high:.1f}"
    return f"{estimate.low:.1f} to {upper}"


def claims_of(summary: AuditSummary) -> tuple[str, ...]:
    """Item sets the summary speaks about; no unseen items where all could be chosen."""
    there = {row.items for row in summary.rows}
    return tuple(items for items in CLAIMS if items in there)


def _curves(summary: AuditSummary, kind: str) -> tuple[Curve, ...]:
    return summary.agreement_curves if kind == "agreement" else summary.trust_curves


def curve_data(summary: AuditSummary, kind: str, method: str, size: int) -> list[dict[str, Any]]:
    """The bins of one method and size, seen and unseen items; the fullest has a dot of size 1."""
    found = [
        curve for curve in _curves(summary, kind) if (curve.method, curve.size) == (method, size)
    ]
    most = max((point.n_pairs for curve in found for point in curve.points), default=1)
    return [
        {
            "items": curve.items,
            "gap": point.mean_gap,
            "mean": point.agreement,
            "low": point.low,
            "high": point.high,
            "fit": point.fit,
            "pairs": point.n_pairs,
            "dot": point.n_pairs / most,
        }
        for curve in found
        for point in curve.points
    ]


def curve_marks(summary: AuditSummary, kind: str, method: str, size: int) -> list[dict[str, Any]]:
    """Where the curves of one method and size reach the threshold."""
    marks = []
    for row in summary.rows:
        if (row.method, row.size) != (method, size):
            continue
        found = row.mdad if kind == "agreement" else row.observed_gap_95
        if found.value is not None:
            text = f"{row.items} {found.value:.1f}"
            marks.append({"items": row.items, "gap": found.value, "text": text})
    return marks


def curve_end(summary: AuditSummary, kind: str, method: str, size: int) -> float:
    """Widest gap to draw: three times the largest mark; the widest there is without a mark."""
    gaps = [bin_["gap"] for bin_ in curve_data(summary, kind, method, size)]
    widest = max(gaps, default=5.0)
    marks = curve_marks(summary, kind, method, size)
    if len(marks) < len(claims_of(summary)):
        return float(widest)
    wanted = max(SHORTEST, 3 * max(mark["gap"] for mark in marks))
    return float(min(widest, math.ceil(wanted / 5) * 5))


def gaps_marks(summary: AuditSummary, method: str, size: int) -> list[dict[str, Any]]:
    """The MDAD on seen items of one method and size; every gap is below one not reached."""
    found = next(
        row.mdad
        for row in summary.rows
        if (row.method, row.size, row.items) == (method, size, "seen")
    )
    if found.value is None:
        return [{"gap": None, "text": "", "limit": 1e9}]
    return [{"gap": found.value, "text": f"MDAD {found.value:.1f}", "limit": found.value}]


def gaps_data(summary: AuditSummary) -> list[dict[str, Any]]:
    """The histogram: number of compared pairs in each half point of the gap."""
    total = sum(summary.pair_gaps) or 1
    return [
        {
            "gap": i / 2,
            "end": (i + 1) / 2,
            "bin": f"{i / 2:g} to {(i + 1) / 2:g}",
            "pairs": pairs,
            "share": percent(pairs / total),
        }
        for i, pairs in enumerate(summary.pair_gaps)
    ]


def gaps_end(summary: AuditSummary) -> float:
    """End of the axis of the histogram of gaps."""
    return float(max(5, math.ceil(len(summary.pair_gaps) / 10) * 5))


def scores_data(summary: AuditSummary) -> list[dict[str, Any]]:
    """The histogram of full scores, in bins of 1, 2 or 5 points or a tenth or hundredth of that."""
    scores = summary.full_scores
    spread = max(scores[-1] - scores[0], 0.01)
    steps = (factor * 10.0**power for power in (-2, -1, 0, 1) for factor in (1, 2, 5))
    step = next(step for step in steps if spread / step <= MAX_BARS)
    counts = Counter(math.floor(score / step + 1e-9) for score in scores)
    digits = max(0, -math.floor(math.log10(step)))
    edges = range(min(counts), max(counts) + 1)
    return [
        {
            "start": round(edge * step, 4),
            "end": round((edge + 1) * step, 4),
            "bin": f"{edge * step:.{digits}f} to {(edge + 1) * step:.{digits}f}",
            "models": counts[edge],
        }
        for edge in edges
    ]
