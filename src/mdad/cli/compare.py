"""``mdad score`` and ``mdad compare``: what a run on the micro-benchmark says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mdad._checks import listed
from mdad.cli._common import (
    FilterOption,
    FormatOption,
    JsonOption,
    MetricOption,
    OrientationOption,
    ScorerOption,
    console,
    names_of,
    print_json,
    read_scores,
)
from mdad.cli.select import ItemKeyOption, MicroArgument
from mdad.errors import MdadError, SettingError

COMPARE_EPILOG = "Example: mdad compare micro.json baseline.csv candidate.csv --fail-if-worse"
RESULTS_HELP = (
    "Scores on the chosen items: one or more files or folders of logs, each with one or more "
    "models."
)
ResultsArgument = Annotated[list[str], typer.Argument(metavar="RESULTS...", help=RESULTS_HELP)]
MissingOption = Annotated[
    str,
    typer.Option(help="Chosen items without a score: error, drop (weigh anew), wrong."),
]
ExtraOption = Annotated[
    str, typer.Option(help="Scored items that were not chosen: error or ignore.")
]
TrialsOption = Annotated[
    bool, typer.Option("--mean-of-trials", help="Average several scores of one model on an item.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("score", epilog="Example: mdad score micro.json run.csv")(score_command)
    app.command("compare", epilog=COMPARE_EPILOG)(compare_command)


def score_command(
    micro: MicroArgument,
    results: ResultsArgument,
    missing: MissingOption = "error",
    extra: ExtraOption = "error",
    level: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    mean_of_trials: TrialsOption = False,
    orientation: OrientationOption = None,
    format_: FormatOption = None,
    metric: MetricOption = None,
    filter_: FilterOption = None,
    scorer: ScorerOption = None,
    item_key: ItemKeyOption = None,
    json_: JsonOption = False,
) -> None:
    """Estimate full scores from scores on the chosen items, with intervals."""
    from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415  # slow to import
    from mdad.verdicts import score  # noqa: PLC0415

    made = Microbenchmark.load(micro)
    how = {"orientation": orientation, "format": format_, "metric": metric}
    how |= {"filter": filter_, "scorer": scorer, "item_key": item_key}
    runs = _runs(made, results, mean_of_trials, how)
    options = {"missing": cast("Any", missing), "extra": cast("Any", extra), "level": level}
    found = [_named(score, made, model, run, **options) for model, run in runs.items()]
    if json_:
        print_json([asdict(one) for one in found])
        return
    from rich.table import Table  # noqa: PLC0415  # slow to import

    low, point = made.benchmark.score_range[0], made.point
    table = Table("model", "full score", f"{level:.0%} interval", "items", box=None)
    for one in sorted(found, key=lambda one: -one.value):
        value, lower, upper = ((x - low) / point for x in (one.value, one.low, one.high))
        ends = f"{lower:.1f} to {upper:.1f}"
        table.add_row(_escape(one.model), f"{value:.1f}", ends, f"{one.n:,} of {one.n_items:,}")
    console().print(table)
    typer.echo("Full scores in points over the pool the items were drawn from.")
    for note in dict.fromkeys(note for one in found for note in one.notes):
        typer.echo(f"- {note}")


def compare_command(
    micro: MicroArgument,
    results: ResultsArgument,
    names: Annotated[
        str | None, typer.Option(help="Names for files of one model each, comma-separated.")
    ] = None,
    missing: MissingOption = "error",
    extra: ExtraOption = "error",
    confidence: Annotated[
        float, typer.Option(help="Probability from which on a model is called better.")
    ] = 0.95,
    fail_if_worse: Annotated[
        bool,
        typer.Option("--fail-if-worse", help="Exit 1 when a model is shown worse than the first."),
    ] = False,
    margin: Annotated[
        float | None, typer.Option(help="With --require-proof: points a model may be worse.")
    ] = None,
    require_proof: Annotated[
        bool,
        typer.Option(
            "--require-proof",
            help="Exit 1 unless every model is shown not worse than the first by --margin.",
        ),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown for a pull request.")
    ] = False,
    mean_of_trials: TrialsOption = False,
    orientation: OrientationOption = None,
    format_: FormatOption = None,
    metric: MetricOption = None,
    filter_: FilterOption = None,
    scorer: ScorerOption = None,
    item_key: ItemKeyOption = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Say which model is better on the full benchmark, and how sure that is.

    The first model is the baseline. "Cannot tell" is an answer, with the number of items that
    would decide.
    """
    from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415  # slow to import
    from mdad.report.verdict import render_verdict, to_markdown  # noqa: PLC0415
    from mdad.verdicts import compare  # noqa: PLC0415

    if require_proof != (margin is not None):
        raise SettingError("--margin and --require-proof go together: --margin 1 --require-proof.")
    if json_ and markdown:
        raise SettingError("--json and --markdown cannot be printed at once.")
    made = Microbenchmark.load(micro)
    how = {"orientation": orientation, "format": format_, "metric": metric}
    how |= {"filter": filter_, "scorer": scorer, "item_key": item_key}
    runs = _runs(made, results, mean_of_trials, how, names_of(names))
    verdict = compare(
        made,
        runs,
        missing=cast("Any", missing),
        extra=cast("Any", extra),
        confidence=confidence,
    )
    low = made.benchmark.score_range[0]
    if report is not None:
        from mdad.report.comparison import write_comparison  # noqa: PLC0415  # slow to import

        write_comparison(verdict, made, report)
    if json_:
        print_json(asdict(verdict))
    elif markdown:
        typer.echo(to_markdown(verdict, low), nl=False)
    else:
        render_verdict(verdict, low, console())
        if report is not None:
            typer.echo(f"Report: {report}")
    _gate(verdict, fail_if_worse, None if margin is None else margin * made.point)


def _gate(verdict: Any, fail_if_worse: bool, margin: float | None) -> None:
    """Exit with 1 when a gate asked for does not pass."""
    baseline, *others = [score.model for score in verdict.scores]
    worse = [m for m in others if verdict.pair(baseline, m).better == baseline]
    if fail_if_worse and worse:
        typer.echo(f"mdad: shown worse than {baseline}: {', '.join(worse)}.", err=True)
        raise typer.Exit(1)
    if margin is None:
        return
    open_ = [m for m in others if not verdict.not_worse(m, baseline, margin)]
    if open_:
        typer.echo(
            f"mdad: not shown to be within {margin / verdict.point:g} points of {baseline}: "
            f"{', '.join(open_)}.",
            err=True,
        )
        raise typer.Exit(1)


def _runs(
    made: Any,
    results: list[str],
    mean_of_trials: bool,
    how: dict[str, str | None],
    names: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Each model's scores, in the order of the files."""
    if names and len(names) != len(results):
        raise SettingError(
            f"--names must name every file: {len(results)} files, {len(names)} names."
        )
    runs: dict[str, Any] = {}
    unchecked: list[str] = []
    for number, file in enumerate(results):
        scores = _read(made, file, mean_of_trials, how, unchecked)
        if names and scores.n_models != 1:
            raise SettingError(f"--names is for files of one model; {file} has {scores.n_models}.")
        for model in scores.models:
            label = names[number] if names else model
            if label in runs:
                raise SettingError(
                    f"the model {label!r} occurs in more than one file; tell them apart with "
                    f"--names, as in --names {Path(results[0]).stem},{Path(file).stem}."
                )
            runs[label] = scores.restrict(models=[model])
    if unchecked:
        typer.echo(
            f"mdad: whether the items changed was not checked; {listed(unchecked)} do not say what "
            "they hold.",
            err=True,
        )
    return runs


def _read(
    made: Any, file: str, mean_of_trials: bool, how: dict[str, str | None], unchecked: list[str]
) -> Any:
    """The scores of one file, which is noted when it does not say what its items hold."""
    from mdad._content import contents_of  # noqa: PLC0415  # slow to import

    whole = made.benchmark.score_range == (0.0, 1.0)
    scores = read_scores(
        file,
        score_range=None if whole else made.benchmark.score_range,
        duplicates="mean" if mean_of_trials else None,
        min_models=1,
        **how,
    )
    if any(made.content_hashes or ()) and not contents_of(scores):
        unchecked.append(file)
    return scores


def _named(function: Any, made: Any, model: str, run: Any, **options: Any) -> Any:
    try:
        return function(made, run, **options)
    except MdadError as error:
        raise type(error)(f"{model}: {error}") from None


def _escape(text: str) -> str:
    from rich.markup import escape  # noqa: PLC0415  # slow to import

    return escape(text)
