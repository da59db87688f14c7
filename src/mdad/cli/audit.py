"""``mdad audit``: how far apart two models must be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mdad.cli._common import (
    DuplicatesOption,
    FileArgument,
    FilterOption,
    FormatOption,
    ItemsOption,
    JsonOption,
    MetricOption,
    ModelsOption,
    OrientationOption,
    ProbabilitiesOption,
    RangeOption,
    ScorerOption,
    console,
    names_of,
    numbers_of,
    print_json,
    progress_bar,
    read_lines,
    read_scores,
    shares_of,
)
from mdad.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdad.report.summary import AuditSummary
    from mdad.scores import ScoreMatrix

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
    runs: Annotated[
        int | None, typer.Option(help="Runs, each with a split of its own; default 50.")
    ] = None,
    fractions: Annotated[
        str | None, typer.Option(help="Sizes as shares of the seen items instead, as in 0.02,0.1.")
    ] = None,
    n_source: Annotated[
        str | None,
        typer.Option(
            help="Source models per run; default 300 or what is left. Several, comma-separated, "
            "are audited one after another."
        ),
    ] = None,
    n_target: Annotated[
        int | None, typer.Option(help="Target models per run; default 50 or a third.")
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            help="Fixed target models: ids, comma-separated; @FILE with one a line; or /REGEX/."
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            help="How models are split: random; grouped: a family is on one side only; frontier: "
            "the best models are the targets. Several, comma-separated, stand side by side."
        ),
    ] = "random",
    groups: Annotated[
        str,
        typer.Option(
            help="Of the grouped split: a column of --models-file or a pattern in the ids."
        ),
    ] = "",
    seen: Annotated[
        str, typer.Option(help="Items that may be chosen: half (of each subtask) or all.")
    ] = "half",
    subtasks: Annotated[
        str | None,
        typer.Option(help="pooled, or separate: a micro-benchmark of each subtask (--fractions)."),
    ] = None,
    aggregate: Annotated[
        str, typer.Option(help="micro: items count the same; macro: subtasks do.")
    ] = "micro",
    preset: Annotated[
        str | None,
        typer.Option(help="paper, paper-sources, paper-separate or paper-fixed-targets."),
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
    n_jobs: Annotated[
        int | None,
        typer.Option(help="Workers; -1 = one per core; default 1, or all of a cluster."),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="Who does the runs: processes, threads, dask or ray.")
    ] = "processes",
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of the Dask scheduler (tcp://HOST:8786) or Ray cluster."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Most memory to use, as in 4G: an audit that needs more is refused."),
    ] = None,
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
    metric: MetricOption = None,
    filter_: FilterOption = None,
    scorer: ScorerOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results, summary.json and report.html; resumes there."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the HTML report to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Measure the MDAD of micro-benchmarks: how far apart two models must be.

    Models are split into sources and targets and items into seen and unseen many times; each
    method chooses items, and the order of the target models on them is compared with their order
    on the full benchmark.
    """
    from mdad._checks import check_real  # noqa: PLC0415  # slow to import
    from mdad.intervals import Interval  # noqa: PLC0415

    interval = Interval(cast("Any", _choice("unit", unit, ("models", "runs"))), level)
    _choice("rule", rule, ("monotone", "first", "reference"))
    _choice("ties", ties, ("wrong", "half"))
    check_real("threshold", threshold, 0, 1, open_ends=True)  # told before any run is done
    scores = read_scores(
        file,
        items=items,
        models_file=models_file,
        probabilities=probabilities,
        score_range=score_range,
        orientation=orientation,
        duplicates=duplicates,
        format=format_,
        metric=metric,
        filter=filter_,
        scorer=scorer,
    )
    given = {
        "methods": names_of(methods),
        "sizes": numbers_of("--sizes", sizes),
        "fractions": shares_of("--fractions", fractions),
        "runs": runs,
        "n_source": list(numbers_of("--n-source", n_source)),
        "n_target": n_target,
        "targets": _targets(targets, scores),
        "split": names_of(split),
        "groups": groups,
        "seen": seen,
        "subtasks": subtasks,
        "aggregate": aggregate,
        "seed": seed,
    }
    measured = {"rule": rule, "threshold": threshold, "ties": ties, "interval": interval}
    how = {
        "max_missing": max_missing,
        "n_jobs": n_jobs,
        "backend": backend,
        "scheduler": scheduler,
        "memory": memory,
    }
    audits = list(_audits(given, preset, scores, max_missing, out))
    if report is not None and len(audits) > 1:
        raise SettingError("--report is of one audit; of several --out keeps a report each.")
    done = [
        _one(scores, {**settings, **how}, measured, place, quiet=json_)
        for place, settings in audits
    ]
    if report is not None:
        _write_report(done[0], report, quiet=json_)
    if json_:
        # One audit is one document, several are a list of them.
        documents = [summary.to_dict() for summary in done]
        print_json(documents[0] if len(done) == 1 else documents)


def _audits(
    given: dict[str, Any],
    preset: str | None,
    scores: ScoreMatrix,
    max_missing: float,
    out: Path | None,
) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Settings and folder of every audit: one, or one for each number of source models."""
    from mdad.presets import preset_settings  # noqa: PLC0415  # slow to import

    if preset is not None:
        given = preset_settings(preset, scores.complete(max_missing).scores, given)
    settings = {key: value for key, value in given.items() if value not in (None, (), [], "")}
    sources = settings.pop("n_source", None)
    if not isinstance(sources, list):
        sources = [sources]
    for n_source in sources:
        place = out if len(sources) == 1 or out is None else out / f"n-source-{n_source}"
        yield place, settings if n_source is None else {**settings, "n_source": n_source}


def _one(
    scores: ScoreMatrix,
    settings: dict[str, Any],
    measured: dict[str, Any],
    out: Path | None,
    *,
    quiet: bool,
) -> AuditSummary:
    """Audit, print unless quiet, and write where a folder was given."""
    from mdad.auditing import audit  # noqa: PLC0415  # slow to import

    with progress_bar("runs") as progress:
        # What a machine reads must not be told besides what it asked for.
        tell = None if quiet else progress.tell
        result = audit(scores, **settings, out=out, progress=progress, tell=tell)
    summary = result.summary(**measured)
    if not quiet:
        show(summary)
    if out is not None:
        written = keep(summary, out)
    if not quiet:
        typer.echo(
            "\nNothing was written; --out DIR keeps results, summary.json and report.html."
            if out is None
            else f"\nResults, summary and report: {written}"
        )
    return summary


def _write_report(summary: AuditSummary, path: Path, *, quiet: bool) -> None:
    from mdad.report.html import write_html  # noqa: PLC0415  # slow to import

    written = write_html(summary, path)
    if not quiet:
        typer.echo(f"Report: {written}")


def _targets(option: str | None, scores: ScoreMatrix) -> tuple[str, ...]:
    """Target models: ids, @FILE or /REGEX/."""
    from mdad.auditing import matching  # noqa: PLC0415  # slow to import

    if option is None:
        return ()
    if option.startswith("@"):
        return tuple(read_lines(Path(option[1:])))
    if len(option) > 1 and option.startswith("/") and option.endswith("/"):
        return matching(scores.models, option[1:-1])
    return names_of(option)


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    from mdad._checks import check_choice  # noqa: PLC0415

    return check_choice(name, value, choices)


def keep(summary: AuditSummary, out: Path) -> Path:
    """Write summary.json and report.html beside the results; return the report's path."""
    from mdad.report.html import write_html  # noqa: PLC0415  # slow to import
    from mdad.report.kept import keep_summary  # noqa: PLC0415

    keep_summary(summary, out)
    return write_html(summary, out / "report.html")


def show(summary: AuditSummary, *, json: bool = False) -> None:
    """Print a summary as JSON, or as a table that ends with plain sentences."""
    if json:
        print_json(summary.to_dict())
        return
    from mdad.report.terminal import render_terminal  # noqa: PLC0415  # slow to import

    render_terminal(summary, console())
