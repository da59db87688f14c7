"""``mdad reproduce``: the paper's experiments, and its claims beside what they show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdad.cli._common import (
    DuplicatesOption,
    JsonOption,
    console,
    print_json,
    progress_bar,
    read_scores,
    stopped_says,
)
from mdad.errors import ResultsError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad.reproducing import Reproduction
    from mdad.scores import ScoreMatrix

EPILOG = "Example: mdad reproduce --simulated --out reproduced/"

KEPT = "Finished runs are kept in {}; the same command goes on from there."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce", epilog=EPILOG)(reproduce_command)


def reproduce_command(
    scores: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=FILE]...",
            help="Scores by benchmark: mmlu, mmlu-pro, bbh and gpqa are the paper's; FILE is a "
            "folder of the authors' arrays or of Open LLM Leaderboard details, or a table.",
            show_default=False,
        ),
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Take simulated stand-ins: not real models.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A trial: few runs, and smaller stand-ins.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(help="Runs of every experiment; default 50 (stand-ins 20 and 8)."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:GROUP=REGEX",
            help="Fixed target models, as in mmlu-pro:8B=8B-Instruct; may be given several times.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    n_jobs: Annotated[int, typer.Option(help="Worker processes; -1 = one per core.")] = -1,
    max_missing: Annotated[
        float, typer.Option(help="Drop models that miss more than this share of the items.")
    ] = 0.05,
    duplicates: DuplicatesOption = None,
    out: Annotated[
        Path, typer.Option(help="Folder for results and claims.md; resumes there.")
    ] = Path("mdad-reproduce"),
    json_: JsonOption = False,
) -> None:
    """Run the paper's experiments and say which of its claims hold on these scores.

    The main experiment, 10 to 300 source models, a micro-benchmark of each subtask, fixed target
    models, and all items seen. What was finished before is kept: the same command goes on.
    `mdad figures OUT` draws the paper's figures from the results.
    """
    from mdad.reproducing import GROUPS, reproduce  # noqa: PLC0415  # slow to import

    named = [_named(text, "NAME=FILE", "=") for text in scores or []]
    if len({name for name, _ in named}) < len(named):
        raise SettingError("every benchmark may be named once.")
    groups = {key: dict(patterns) for key, patterns in GROUPS.items()}
    for text in group or []:
        where, pattern = _named(text, "NAME:GROUP=REGEX", "=")
        benchmark, name = _named(where, "NAME:GROUP=REGEX", ":")
        groups.setdefault(benchmark, {})[name] = pattern
    matrices = {name: _read(file, duplicates) for name, file in named}
    with stopped_says(KEPT.format(out)), progress_bar("runs") as bar:
        done = reproduce(
            matrices,
            simulated=simulated,
            quick=quick,
            runs=runs,
            seed=seed,
            max_missing=max_missing,
            n_jobs=n_jobs,
            out=out,
            groups=groups,
            progress=_teller(bar),
        )
    _keep(done, out)
    if json_:
        print_json(_document(done))
    else:
        _show(done, out)


def _named(text: str, form: str, mark: str) -> tuple[str, str]:
    """The two sides of a mark; a benchmark's key names a folder, so it must be plain."""
    name, found, rest = text.partition(mark)
    plain = name.replace("-", "").replace("_", "").replace(".", "").replace(":", "").isalnum()
    if not found or not rest or not plain or name.startswith((".", "-")):
        raise SettingError(
            f"{form} is expected, with a name of letters, digits, '-', '_' and '.'; got {text!r}."
        )
    return name, rest


def _read(file: str, duplicates: str | None) -> ScoreMatrix:
    options = {} if duplicates is None else {"duplicates": duplicates}
    return read_scores(file, **options)


def _teller(bar: Callable[..., None]) -> Callable[[str, int, int], None]:
    def tell(_part: str, done: int, of: int) -> None:
        bar(done, of)

    return tell


def _document(done: Reproduction) -> dict[str, Any]:
    from mdad.reproducing import CITATION  # noqa: PLC0415  # slow to import
    from mdad.reproducing._words import warning  # noqa: PLC0415

    return {
        "claims_of": CITATION,
        "warning": warning(done),
        "findings": done.findings,
        "parts": done.parts,
    }


def _keep(done: Reproduction, out: Path) -> None:
    import msgspec  # noqa: PLC0415  # only needed here

    from mdad._files import write_atomically  # noqa: PLC0415
    from mdad.reproducing import markdown  # noqa: PLC0415  # slow to import

    text = f"# The paper's claims, measured\n\n{markdown(done)}"
    document = msgspec.json.format(msgspec.json.encode(_document(done)), indent=2)
    try:
        write_atomically(out / "claims.md", text.encode())
        write_atomically(out / "claims.json", document + b"\n")
    except OSError as error:
        raise ResultsError(f"cannot write the claims to {out}: {error.strerror}.") from None


def _show(done: Reproduction, out: Path) -> None:
    from rich.text import Text  # noqa: PLC0415  # slow to import

    from mdad.reproducing._words import cells_of, notes, warning  # noqa: PLC0415

    screen = console()
    if said := warning(done):
        screen.print(Text(said, style="bold"))
    last = ""
    for finding in done.findings:
        claim, place, measured, verdict, steady = cells_of(finding)
        if claim != last:
            screen.print(Text(f"\n{claim}", style="bold"))
        halves = "" if steady == "-" else f" (in both halves: {steady})"
        screen.print(Text(f"  {place}: {verdict}{halves}. {measured}".removesuffix(". -")))
        last = claim
    screen.print()
    for note in notes(done):
        screen.print(Text(f"- {note}"))
    screen.print(Text(f"\nResults, claims.md, claims.json: {out}. Figures: mdad figures {out}"))
