"""The table of claims, for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mdad.report.legible import legible
from mdad.reproducing._claims import CITATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdad.reproducing._run import Finding, PartDone, Reproduction

__all__ = ["cells_of", "markdown", "notes", "warning"]

HEADERS = ("claim", "measured on", "measured", "verdict", "both halves")
PART_HEADERS = ("benchmark", "part", "runs", "source models", "target models", "not run because")


def warning(reproduction: Reproduction) -> str:
    """What must be said first where scores are simulated; "" otherwise."""
    if not reproduction.simulated:
        return ""
    return (
        f"SIMULATED STAND-INS, NOT REAL MODELS: {', '.join(reproduction.simulated)} are simulated "
        "in the sizes of the real benchmarks. No verdict below says anything about language "
        "models; it says what the paper's experiments show when scores follow an item response "
        "model (which favours tinybenchmarks, whose model it is)."
    )


def notes(reproduction: Reproduction) -> list[str]:
    """What a reader must know to read the table."""
    verdicts = Counter(finding.verdict for finding in reproduction.findings)
    runs = sorted({part.runs for part in reproduction.parts if part.runs})
    tally = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
    form = (
        "MDAD in points, rule monotone, agreement 0.8, an estimated tie counts as wrong; the "
        f"paper's form of each method; {' or '.join(map(str, runs))} runs a part."
    )
    halves = (
        "both halves: yes where the even and the odd runs, each alone, lead to the same verdict; "
        "no where more runs could turn it."
    )
    return [
        f"Verdicts: {tally}. One that does not hold is an answer about these data, not a failure.",
        form,
        halves,
        f"Claims: {CITATION}. The rules were fixed before measuring.",
    ]


def cells_of(finding: Finding) -> tuple[str, ...]:
    """A row of the table, under :data:`HEADERS`."""
    place = f"{'simulated ' if finding.simulated else ''}{finding.benchmark}".strip() or "-"
    steady = {True: "yes", False: "no", None: "-"}[finding.steady]
    why = f" ({finding.why})" if finding.why else ""
    return (
        f"{finding.number}. {finding.claim}",
        legible(place),
        legible(finding.measured) or "-",
        legible(f"{finding.verdict}{why}"),
        steady,
    )


def markdown(reproduction: Reproduction) -> str:
    """The table of claims, the rules and the experiments behind it."""
    return "\n".join(_lines(reproduction)) + "\n"


def _lines(reproduction: Reproduction) -> Iterator[str]:
    if said := warning(reproduction):
        yield from (f"**{said}**", "")
    yield from _table(HEADERS, [cells_of(finding) for finding in reproduction.findings])
    yield ""
    yield from (f"- {note}" for note in notes(reproduction))
    yield from ("", "A claim holds where:", "")
    rules = {finding.number: finding.rule for finding in reproduction.findings}
    yield from (f"- {number}: {rule}." for number, rule in rules.items())
    yield from ("", "The experiments:", "")
    yield from _table(PART_HEADERS, [_cells_of_part(part) for part in reproduction.parts])


def _cells_of_part(part: PartDone) -> tuple[str, ...]:
    numbers = (part.runs, part.n_source, part.n_target) if part.runs else ("-",) * 3
    return (legible(part.benchmark), part.name, *map(str, numbers), legible(part.absent))


def _table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(headers)} |"
    yield "|" + "---|" * len(headers)
    for row in rows:
        # A bar in a name would begin a new cell.
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
