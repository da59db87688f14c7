"""``mdad demo``: the main job on bundled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdad.cli._common import JsonOption, progress_bar
from mdad.cli.audit import keep, show

EPILOG = "Example: mdad demo --out mdad-demo"
DATA = "digits-zoo"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog=EPILOG)(demo_command)


def demo_command(
    out: Annotated[Path, typer.Option(help="Folder for results and report.")] = Path("mdad-demo"),
    n_jobs: Annotated[int, typer.Option(help="Worker processes; -1 = one per core.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Audit bundled data: a table, what it means, and an HTML report.

    The data are real answers of scikit-learn classifiers to pictures of digits: not language
    models, but true models with true mistakes, and free to pass on.
    """
    from mdad import datasets  # noqa: PLC0415  # slow to import
    from mdad.auditing import audit  # noqa: PLC0415

    with progress_bar("runs") as progress:
        result = audit(datasets.load(DATA), seed=seed, n_jobs=n_jobs, out=out, progress=progress)
    summary = result.summary()
    show(summary, json=json_)
    report = keep(summary, out)
    if not json_:
        typer.echo(f"\nReport: {report}")
