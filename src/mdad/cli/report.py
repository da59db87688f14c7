"""``mdad report``: the HTML report of an audit that was done before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mdad.cli._common import JsonOption, print_json

EPILOG = "Example: mdad report audit/ --out report.html"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", epilog=EPILOG)(report_command)


def report_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `mdad audit --out` wrote.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write; default report.html in the folder.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="Agreement the MDAD asks for.")] = 0.8,
    rule: Annotated[
        str, typer.Option(help="MDAD rule: monotone, first or reference.")
    ] = "monotone",
    ties: Annotated[
        str, typer.Option(help="What a tie on the micro-benchmark counts as: wrong or half.")
    ] = "wrong",
    unit: Annotated[
        str, typer.Option(help="What intervals resample: models (and runs), or runs.")
    ] = "models",
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    json_: JsonOption = False,
) -> None:
    """Write the report of an audit: one HTML file that needs no network and no JavaScript.

    Nothing is run again; rule, threshold, ties and intervals may differ from those of the audit.
    """
    from mdad._checks import check_choice  # noqa: PLC0415  # slow to import
    from mdad.auditing import Audit  # noqa: PLC0415
    from mdad.intervals import Interval  # noqa: PLC0415
    from mdad.report.html import write_html  # noqa: PLC0415
    from mdad.report.kept import kept_summary  # noqa: PLC0415

    check_choice("unit", unit, ("models", "runs"))
    check_choice("rule", rule, ("monotone", "first", "reference"))
    check_choice("ties", ties, ("wrong", "half"))
    found = Audit.load(folder)
    how = {"rule": rule, "threshold": threshold, "ties": ties}
    specs = [part.results.spec for part in found.splits.values()]
    summary = kept_summary(folder, specs, {**how, "unit": unit, "level": level})
    if summary is None:
        interval = Interval(cast("Any", unit), level)
        summary = found.summary(**cast("Any", how), interval=interval)
    written = write_html(summary, out or folder / "report.html")
    if json_:
        print_json(summary.to_dict())
    else:
        typer.echo(f"Report: {written}")
