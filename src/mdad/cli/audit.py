"""``mdad audit``: how far apart two models must be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mdad.cli._common import (
    DuplicatesOption,
    FileArgument,
    FormatOption,
    ItemsOption,
    JsonOption,
    ModelsOption,
    OrientationOption,
    ProbabilitiesOption,
    RangeOption,
    console,
    names_of,
    numbers_of,
    print_json,
    progress_bar,
    read_scores,
)
from mdad.errors import ResultsError

if TYPE_CHECKING:
    from mdad.report.summary import AuditSummary

EPILOG = "Example: mdad audit scores.csv.gz --sizes 25,50,100 --out audit/"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit", epilog=EPILOG)(audit_command)


def audit_command(
    file: FileArgument,
    methods: Annotated[
        str | None, typer.Option(help="Methods, comma-separated; default those that fit.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Sizes, comma-separated; default 10,25,50,100,250,500,1000.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs, each with a split of its own.")] = 50,
    n_source: Annotated[
        int | None, typer.Option(help="Source models per run; default 300 or what is left.")
    ] = None,
    n_target: Annotated[
        int | None, typer.Option(help="Target models per run; default 50 or a third.")
    ] = None,
    split: Annotated[str, typer.Option(help="How models are split: random.")] = "random",
    aggregate: Annotated[
        str, typer.Option(help="micro: items count the same; macro: subtasks do.")
    ] = "micro",
    preset: Annotated[
        str | None, typer.Option(help="paper: methods in the form the paper's code runs.")
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
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    n_jobs: Annotated[int, typer.Option(help="Worker processes; -1 = one per core.")] = 1,
    max_missing: Annotated[
        float, typer.Option(help="Drop models that miss more than this share of the items.")
    ] = 0.05,
    items: ItemsOption = None,
    models_file: ModelsOption = None,
    probabilities: ProbabilitiesOption = None,
    score_range: RangeOption = None,
    orientation: OrientationOption = None,
    duplicates: DuplicatesOption = None,
    format_: FormatOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results, summary.json and report.html; resumes there."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Measure the MDAD of micro-benchmarks: how far apart two models must be.

    Models are split into sources and targets and items into seen and unseen many times; each
    method chooses items, and the order of the target models on them is compared with their order
    on the full benchmark.
    """
    from mdad.auditing import audit  # noqa: PLC0415  # slow to import
    from mdad.intervals import Interval  # noqa: PLC0415

    form = _form(preset)
    interval = Interval(cast("Any", _choice("unit", unit, ("models", "runs"))), level)
    _choice("rule", rule, ("monotone", "first", "reference"))
    _choice("ties", ties, ("wrong", "half"))
    scores = read_scores(
        file,
        items=items,
        models_file=models_file,
        probabilities=probabilities,
        score_range=score_range,
        orientation=orientation,
        duplicates=duplicates,
        format=format_,
    )
    with progress_bar("runs") as progress:
        result = audit(
            scores,
            methods=names_of(methods),
            sizes=numbers_of("--sizes", sizes),
            runs=runs,
            n_source=n_source,
            n_target=n_target,
            split=cast("Any", split),
            aggregate=cast("Any", aggregate),
            form=cast("Any", form),
            seed=seed,
            max_missing=max_missing,
            n_jobs=n_jobs,
            out=out,
            progress=progress,
        )
    summary = result.summary(
        cast("Any", rule), threshold=threshold, ties=cast("Any", ties), interval=interval
    )
    show(summary, json=json_)
    if out is not None:
        written = keep(summary, out)
        if not json_:
            typer.echo(f"\nResults, summary and report: {written}")
    elif not json_:
        typer.echo("\nNothing was written; --out DIR keeps results, summary.json and report.html.")


def _form(preset: str | None) -> str:
    return "default" if preset is None else _choice("preset", preset, ("paper",))


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    from mdad._checks import check_choice  # noqa: PLC0415

    return check_choice(name, value, choices)


def keep(summary: AuditSummary, out: Path) -> Path:
    """Write summary.json and report.html beside the results; return the report's path."""
    import msgspec  # noqa: PLC0415  # only needed here

    from mdad.report.html import write_html  # noqa: PLC0415  # slow to import
    from mdad.results import write_atomically  # noqa: PLC0415

    document = msgspec.json.format(msgspec.json.encode(summary), indent=2)
    try:
        write_atomically(out / "summary.json", document + b"\n")
    except OSError as error:
        raise ResultsError(f"cannot write the summary to {out}: {error.strerror}.") from None
    return write_html(summary, out / "report.html")


def show(summary: AuditSummary, *, json: bool = False) -> None:
    """Print a summary as JSON, or as a table that ends with plain sentences."""
    if json:
        print_json(summary)
        return
    from mdad.report.terminal import render_terminal  # noqa: PLC0415  # slow to import

    render_terminal(summary, console())
