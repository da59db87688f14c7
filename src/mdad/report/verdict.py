"""A verdict in words: terminal and Markdown, in points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdad._checks import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from mdad.verdicts import PairVerdict, Score, Verdict

MAX_PAIRS = 50
"""Pairs told one by one; of more, tiers and ranks say enough."""


def headline(verdict: Verdict) -> str:
    """The answer in one sentence."""
    if len(verdict.pairs) == 1:
        return pair_sentence(verdict.pairs[0], verdict)
    decided = sum(pair.better is not None for pair in verdict.pairs)
    first = [place.model for place in verdict.ranking if place.tier == 1]
    return (
        f"{decided} of {counted(len(verdict.pairs), 'pair')} decided; not shown worse than the "
        f"best: {', '.join(first)}."
    )


def pair_sentence(pair: PairVerdict, verdict: Verdict) -> str:
    """What can be said of one pair, in one or two sentences."""
    lead, other = (pair.a, pair.b) if pair.gap >= 0 else (pair.b, pair.a)
    gap = abs(pair.gap) / verdict.point
    ends = sorted(abs_end(pair, verdict))
    if pair.better is not None:
        return (
            f"{pair.better} is better than {pair.b if pair.better == pair.a else pair.a}: "
            f"{gap:.1f} points ahead on {counted(verdict.n, 'item')}, probability "
            f"{_probability(pair.confidence)}."
        )
    more = (
        f" About {pair.items_to_decide:,} items would decide if the gap stays."
        if pair.items_to_decide is not None
        else ""
    )
    if pair.gap == 0:
        return f"Cannot tell {pair.a} and {pair.b} apart: equal on {counted(verdict.n, 'item')}."
    return (
        f"Cannot tell: {lead} is {gap:.1f} points ahead of {other} on {counted(verdict.n, 'item')}"
        f" (interval of the difference {ends[0]:.1f} to {ends[1]:.1f}), probability "
        f"{_probability(max(pair.a_better, 1 - pair.a_better))}.{more}"
    )


def abs_end(pair: PairVerdict, verdict: Verdict) -> tuple[float, float]:
    """Interval of the leader's lead, in points."""
    sign = 1 if pair.gap >= 0 else -1
    return sign * pair.low / verdict.point, sign * pair.high / verdict.point


def _probability(value: float) -> str:
    return "above 0.999" if value > 0.999 else f"{value:.3f}"  # noqa: PLR2004


def _score_cells(score: Score, low: float, point: float) -> list[str]:
    value, lower, upper = ((x - low) / point for x in (score.value, score.low, score.high))
    return [f"{value:.1f}", f"{lower:.1f} to {upper:.1f}"]


def _rows(verdict: Verdict, low: float) -> Iterator[list[str]]:
    scores = {score.model: score for score in verdict.scores}
    for place in verdict.ranking:
        ranks = f"{place.rank_low}-{place.rank_high}"
        cells = _score_cells(scores[place.model], low, verdict.point)
        yield [str(place.rank), place.model, *cells, ranks, str(place.tier)]


HEAD = ("rank", "model", "full score", "95 % interval", "ranks possible", "tier")
PAIR_HEAD = (
    "pair",
    "gap",
    "interval",
    "P(first better)",
    "P unseen",
    "wins/ties/losses",
    "McNemar",
)


def pair_cells(pair: PairVerdict, point: float) -> list[str]:
    """The cells of a pair under ``PAIR_HEAD``, without its name."""
    test = "-" if pair.mcnemar is None else f"{pair.mcnemar:.3g}"
    return [
        f"{pair.gap / point:+.1f}",
        f"{pair.low / point:+.1f} to {pair.high / point:+.1f}",
        f"{pair.a_better:.3f}",
        f"{pair.a_better_unseen:.3f}",
        f"{pair.wins}/{pair.ties}/{pair.losses}",
        test,
    ]


def render_verdict(verdict: Verdict, low: float, console: Console) -> None:
    """Print a verdict; ``low`` is the lower end of the score range."""
    from rich.table import Table  # noqa: PLC0415  # slow to import

    table = Table(box=None, header_style="bold")
    for name in HEAD:
        table.add_column(name, overflow="fold", no_wrap=name != "model")
    for row in _rows(verdict, low):
        table.add_row(*map(_plain, row))
    console.print(table)
    for line in scope(verdict):
        console.print(f"- {line}", style="dim", markup=False)
    if len(verdict.pairs) <= MAX_PAIRS:
        for pair in verdict.pairs:
            console.print(f"- {_details(pair, verdict.point)}", style="dim", markup=False)
    if len(verdict.pairs) > 1:
        for pair in verdict.pairs[:MAX_PAIRS]:
            console.print(pair_sentence(pair, verdict), markup=False)
    console.print(headline(verdict), style="bold", markup=False)


def _details(pair: PairVerdict, point: float) -> str:
    """Everything known of a pair, in one line."""
    gap, ends, better, unseen, counts, test = pair_cells(pair, point)
    mcnemar = "" if pair.mcnemar is None else f"; McNemar p = {test}"
    return (
        f"{pair.a} against {pair.b}: {gap} points ({ends}); probability that the first is better "
        f"{better}, on unseen items of the kind {unseen}; wins/ties/losses {counts}{mcnemar}."
    )


def scope(verdict: Verdict) -> tuple[str, ...]:
    """What the numbers rest on."""
    many = f", Holm-corrected for {len(verdict.pairs)} pairs" if len(verdict.pairs) > 1 else ""
    return (
        f"{counted(verdict.n, 'item')} scored for every model, of a pool of {verdict.n_items:,}. "
        f"'Better' from probability {verdict.confidence:g} on{many}; intervals of gaps at "
        f"{2 * verdict.confidence - 1:.0%}.".replace("%", " %"),
        *verdict.notes,
    )


def to_markdown(verdict: Verdict, low: float) -> str:
    """The verdict for a pull request: the answer, a table, the rest folded away."""
    lines = [f"**{_cell(headline(verdict))}**", ""]
    lines += _table(HEAD, _rows(verdict, low))
    if len(verdict.pairs) <= MAX_PAIRS:
        lines += ["", "<details><summary>Pairs</summary>", ""]
        rows = ([f"{p.a} - {p.b}", *pair_cells(p, verdict.point)] for p in verdict.pairs)
        lines += [*_table(PAIR_HEAD, rows), "", "</details>"]
    lines += ["", *(f"- {_cell(line)}" for line in scope(verdict))]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(map(_cell, row))} |" for row in rows]


def _cell(text: str) -> str:
    """Text that cannot break a Markdown table or become HTML."""
    for sign, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("\n", " ")):
        text = text.replace(sign, safe)
    return text


def _plain(text: str) -> str:
    from rich.markup import escape  # noqa: PLC0415  # slow to import

    return escape(text)
