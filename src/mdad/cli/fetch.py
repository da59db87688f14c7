"""``mdad fetch``: evaluation details of many models from a public leaderboard."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdad.cli._common import JsonOption, print_json, progress_bar, read_lines, stopped_says
from mdad.errors import SettingError

if TYPE_CHECKING:
    from mdad.hub import Fetched

EPILOG = (
    "Example: mdad fetch open-llm-leaderboard --benchmark musr --models models.txt --out musr/ "
    "--max-disk 10G"
)
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", re.IGNORECASE | re.ASCII)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fetch", epilog=EPILOG)(fetch_command)


def fetch_command(
    leaderboard: Annotated[str, typer.Argument(help="open-llm-leaderboard.")],
    benchmark: Annotated[str, typer.Option(help="bbh, gpqa, ifeval, math, mmlu-pro or musr.")],
    models: Annotated[
        Path, typer.Option(help="Models, one a line, as organisation/name; # begins a comment.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder; default the benchmark's name.", show_default=False)
    ] = None,
    max_disk: Annotated[
        str | None, typer.Option(help="What the folder may take, as in 500M or 10G.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Models at a time, at most 8.")] = 2,
    attempts: Annotated[int, typer.Option(help="Attempts for each request.")] = 6,
    json_: JsonOption = False,
) -> None:
    """Fetch the details of models on a benchmark of a leaderboard; `mdad load` reads the folder.

    Needs the extra `hub`. HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE are honoured. Files are checked
    against the hub's hashes; a fetch that was broken off is gone on with by the same command.
    Models that are gone are named and left out; exit 1 says that another run may bring more.
    """
    from mdad.hub import fetch  # noqa: PLC0415  # slow to import

    names = [line.split("#")[0].strip() for line in read_lines(models)]
    folder = out or Path(benchmark)
    kept = f"What was fetched is kept in {folder}; the same command goes on from there."
    with stopped_says(kept), progress_bar("models") as progress:
        found = fetch(
            leaderboard,
            benchmark=benchmark,
            models=[name for name in names if name],
            out=folder,
            max_disk=None if max_disk is None else bytes_of(max_disk),
            workers=workers,
            attempts=attempts,
            progress=progress,
        )
    if json_:
        print_json({"path": str(found.path), "parts": [asdict(part) for part in found.parts]})
    else:
        _tell(found)
    if any(part.may_come for part in found.missing):
        raise typer.Exit(1)


def bytes_of(text: str) -> int:
    """A size as a number of bytes.

    >>> bytes_of("1.5 GB")
    1500000000

    Raises
    ------
    SettingError
        when it is none.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise SettingError(f"--max-disk takes a size, as in 500M or 10G; got {text!r}.")
    return int(float(match[1]) * UNITS[match[2].upper()])


def _tell(found: Fetched) -> None:
    there = [part for part in found.parts if part.is_there]
    new = sum(part.status == "fetched" for part in there)
    size = sum(part.size for part in there)
    typer.echo(
        f"{len(there):,} of {len(found.parts):,} models in {found.path} ({new:,} new; "
        f"{size / UNITS['M']:,.1f} MB)"
    )
    for part in found.missing:
        typer.echo(f"mdad: {part.model}: {part.status}: {part.reason}.", err=True)
    typer.echo(f"Read it with: mdad load {found.path} --metric default")
