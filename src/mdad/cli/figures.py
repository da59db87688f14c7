"""``mdad figures``: the paper's figures from saved audits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdad.cli._common import JsonOption, console, names_of, print_json, progress_bar
from mdad.errors import ResultsError, SettingError

EPILOG = "Example: mdad figures audit/ --format svg,pdf --out figures/"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("figures", epilog=EPILOG)(figures_command)


def figures_command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Folders written by `mdad audit --out` or `mdad reproduce`, at any depth.",
        ),
    ],
    format_: Annotated[
        str, typer.Option("--format", help="svg, pdf, png; several, comma-separated.")
    ] = "svg",
    out: Annotated[Path, typer.Option(help="Folder for the figures and captions.md.")] = Path(
        "figures"
    ),
    only: Annotated[
        str | None, typer.Option(help="Only these, by the beginning of their names: fig-3,own.")
    ] = None,
    benchmarks: Annotated[
        str | None, typer.Option(help="Only these benchmarks, in this order, as printed.")
    ] = None,
    resamples: Annotated[
        int, typer.Option(help="Replicates behind the 95 % intervals; 0 = no intervals.")
    ] = 1000,
    json_: JsonOption = False,
) -> None:
    """Draw the paper's figures, and ours, in the column widths of a journal.

    Nothing is run again. A figure that the audits cannot support is left out, and why is said.
    """
    from mdad.plots import figures  # noqa: PLC0415  # slow to import

    formats = names_of(format_)
    if not formats:
        raise SettingError("--format names no format; give svg, pdf or png.")
    for folder in folders:
        if not folder.is_dir():
            raise ResultsError(f"there is no folder {str(folder)!r}.")
    with progress_bar("figures") as progress:
        made = figures(
            list(folders),
            out=out,
            formats=formats,
            only=names_of(only),
            benchmarks=names_of(benchmarks),
            n_resamples=resamples,
            progress=progress,
        )
    if json_:
        print_json(
            {
                "figures": [
                    {
                        "name": figure.name,
                        "caption": figure.caption,
                        "simulated": figure.simulated,
                        "files": [str(file) for file in figure.files],
                    }
                    for figure in made.figures
                ],
                "left_out": made.left_out,
            }
        )
        return
    from rich.text import Text  # noqa: PLC0415  # slow to import

    screen = console()
    for figure in made.figures:
        screen.print(Text(f"{figure.name}{' (SIMULATED scores)' if figure.simulated else ''}"))
    for one in made.left_out:
        screen.print(Text(f"left out: {one.name}: {one.why}."))
    screen.print(Text(f"Figures and captions: {out}"))
