"""An audit in the terminal: one table, then plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdad.report.sentences import percent
from mdad.report.summary import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from mdad.report.summary import AuditSummary, Row

LEGEND = (
    "MDAD in points, with its interval ('-': beyond the data). closer: share of the compared pairs "
    "whose gap is below the MDAD. agreement: share of pairs ordered alike, ties wrong / half. "
    "trust from: observed gap, in points, whose order is right with probability 0.95. The last "
    "three are for seen items."
)

SPLITS_LEGEND = (
    "A column for each split. MDAD in points, with its interval ('-': beyond the data). closer: "
    "share of the compared pairs whose gap is below the MDAD; agreement: share of pairs ordered "
    "alike, ties wrong / half, both on seen items."
)


def render_terminal(summary: AuditSummary, console: Console) -> None:
    """Print a summary; the sentences come last, where they are read first."""
    simulated = " (simulated)" if summary.simulated else ""
    console.print(f"[bold]Audit of {_plain(summary.title)}{simulated}[/bold]")
    if summary.further:
        _print_splits(summary, console)
    else:
        _print_methods(summary, console)
    if summary.subtask_rows:
        largest = max(row.size for row in summary.subtask_rows)
        console.print(f"MDAD within each subtask, {largest:,} items in all", style="italic")
        console.print(_subtasks(summary, largest))
    console.print(SPLITS_LEGEND if summary.further else LEGEND, style="dim")
    for line in (*summary.scopes, *summary.notes):
        console.print(f"- {_plain(line)}", style="dim")
    console.print()
    for line in summary.answer:
        console.print(_plain(line))


def _print_methods(summary: AuditSummary, console: Console) -> None:
    seen = [row for row in summary.rows if row.items == "seen"]
    unseen = {(row.method, row.size): row for row in summary.rows if row.items == "unseen"}
    for method in dict.fromkeys(row.method for row in seen):
        rows = [(row, unseen.get((method, row.size))) for row in seen if row.method == method]
        console.print(_table(method, rows))


def _print_splits(summary: AuditSummary, console: Console) -> None:
    """A table for each method, with a column for each split."""
    from rich.table import Table  # noqa: PLC0415  # slow to import

    cells = {
        (part.split, row.method, row.size, row.items): row
        for part in summary.splits
        for row in part.rows
    }
    kinds = [part.split for part in summary.splits]
    claims = list(dict.fromkeys(row.items for row in summary.rows))
    experiment = summary.spec["experiment"]
    for method in experiment["methods"]:
        table = Table(box=None, header_style="bold", title=_plain(method), title_justify="left")
        for name in ("items", "", *kinds):
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        for size in experiment["sizes"]:
            here = {items: [cells[kind, method, size, items] for kind in kinds] for items in claims}
            for items, rows in here.items():
                shown = f"{size:,}" if items == claims[0] else ""
                table.add_row(shown, f"MDAD {items}", *(_estimate(row.mdad) for row in rows))
            closer = (percent(row.unresolved) for row in here["seen"])
            table.add_row("", "closer", *closer)
            table.add_row("", "agreement", *(_agreement(row) for row in here["seen"]))
        console.print(table)


def _table(method: str, rows: list[tuple[Row, Row | None]]) -> Table:
    from rich.table import Table  # noqa: PLC0415  # slow to import

    table = Table(box=None, header_style="bold", title=_plain(method), title_justify="left")
    for name in ("items", "MDAD seen", "MDAD unseen", "closer", "agreement", "trust from"):
        table.add_column(name, justify="right", no_wrap=True)
    for row, twin in rows:
        table.add_row(
            f"{row.size:,}",
            _estimate(row.mdad),
            "-" if twin is None else _estimate(twin.mdad),
            percent(row.unresolved),
            _agreement(row),
            _estimate(Estimate(row.observed_gap_95.value, None, None)),
        )
    return table


def _subtasks(summary: AuditSummary, largest: int) -> Table:
    """MDAD within each subtask: a row a subtask, a column a method, at the largest size."""
    from rich.table import Table  # noqa: PLC0415  # slow to import

    rows = summary.subtask_rows
    table = Table(box=None, header_style="bold")
    methods = list(dict.fromkeys(row.method for row in rows))
    table.add_column("subtask", overflow="fold")
    for method in methods:
        table.add_column(_plain(method), justify="right", overflow="fold")
    cells = {(row.subtask, row.method): row.mdad for row in rows if row.size == largest}
    for label in dict.fromkeys(row.subtask for row in rows):
        shown = (_estimate(Estimate(cells[label, m], None, None)) for m in methods)
        table.add_row(_plain(label), *shown)
    return table


def _estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not reached"
    if estimate.low is None:
        return f"{estimate.value:.1f}"
    high = "-" if estimate.high is None else f"{estimate.high:.1f}"
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {high}]".replace("[", r"\[")


def _agreement(row: Row) -> str:
    if row.agreement.value is None:
        return "-"
    return f"{row.agreement.value:.3f}/{row.agreement_ties_half:.3f}"


def _plain(text: str) -> str:
    from rich.markup import escape  # noqa: PLC0415  # slow to import

    return escape(text)
