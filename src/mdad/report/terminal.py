"""An audit in the terminal: one table, then plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdad.report.sentences import percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from mdad.report.summary import AuditSummary, Estimate, Row


def render_terminal(summary: AuditSummary, console: Console) -> None:
    """Print a summary; the sentences come last, where they are read first."""
    simulated = " (simulated)" if summary.simulated else ""
    console.print(f"[bold]Audit of {_plain(summary.title)}{simulated}[/bold]")
    console.print(_table(summary))
    for line in (*summary.scope, *summary.notes):
        console.print(f"- {_plain(line)}", style="dim")
    console.print()
    for line in summary.answer:
        console.print(_plain(line))


def _table(summary: AuditSummary) -> Table:
    from rich.table import Table  # noqa: PLC0415  # slow to import

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method", overflow="fold")
    for name in ("items", "MDAD seen", "MDAD unseen", "closer pairs", "agreement", "trust from"):
        table.add_column(name, justify="right")
    unseen = {(row.method, row.size): row for row in summary.rows if row.items == "unseen"}
    last = ""
    for row in summary.rows:
        if row.items != "seen":
            continue
        twin = unseen.get((row.method, row.size))
        table.add_row(
            _plain(row.method) if row.method != last else "",
            f"{row.size:,}",
            _estimate(row.mdad),
            "-" if twin is None else _estimate(twin.mdad),
            percent(row.unresolved),
            _agreement(row),
            "not reached"
            if row.observed_gap_95.value is None
            else f"{row.observed_gap_95.value:.1f}",
        )
        last = row.method
    table.caption = (
        "MDAD in points with its interval; closer pairs: target pairs below it; agreement (ties "
        "half); trust from: observed gap right with probability 0.95. All but 'unseen': seen items."
    )
    table.caption_justify = "left"
    return table


def _estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not reached"
    if estimate.low is None:
        return f"{estimate.value:.1f}"
    high = "-" if estimate.high is None else f"{estimate.high:.1f}"
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {high}]".replace("[", r"\[")


def _agreement(row: Row) -> str:
    return f"{row.agreement.value or 0:.3f} ({row.agreement_ties_half:.3f})"


def _plain(text: str) -> str:
    from rich.markup import escape  # noqa: PLC0415  # slow to import

    return escape(text)
