"""``mdad load``: what is in a folder of evaluation logs, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdad.cli._common import (
    FilterOption,
    FormatOption,
    ItemsOption,
    JsonOption,
    MetricOption,
    ModelsOption,
    RangeOption,
    ScorerOption,
    console,
    print_json,
    progress_bar,
)
from mdad.cli.data import check_target, write_scores
from mdad.errors import ScoresError, SettingError

if TYPE_CHECKING:
    from mdad.loaders import LoadReport
    from mdad.scores import ScoreMatrix

EPILOG = "Example: mdad load results/ --filter strict-match --out scores.parquet"
MAX_ROWS = 20
MAX_NAMES = 3

_NAMED = (
    "format", "items", "models_file", "cache", "progress", "metric", "filter", "scorer",
    "item_key", "reduce", "errors", "model_names", "score_range", "strict", "n_jobs",
)  # fmt: skip
"""Options that have a flag of their own."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("load", epilog=EPILOG)(load_command)


def load_command(
    path: Annotated[str, typer.Argument(metavar="DIR", help="Folder or file of evaluation logs.")],
    format_: FormatOption = None,
    metric: MetricOption = None,
    filter_: FilterOption = None,
    scorer: ScorerOption = None,
    item_key: Annotated[
        str | None,
        typer.Option(help="What identifies an item: doc_id, doc_hash, or a field of doc."),
    ] = None,
    reduce: Annotated[
        str | None, typer.Option(help="mean: make one score of a list of scores per item.")
    ] = None,
    errors: Annotated[
        str | None,
        typer.Option(help="Samples that ended with an error: missing (default) or wrong."),
    ] = None,
    model_names: Annotated[
        str | None, typer.Option(help="Name models by their log (default) or their folder.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="An option of one format only, as in `ids=FILE`; may be repeated."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict/--lenient", help="Stop at the first bad record, or count them."),
    ] = True,
    score_range: RangeOption = None,
    items: ItemsOption = None,
    models_file: ModelsOption = None,
    n_jobs: Annotated[int, typer.Option(help="Worker processes; -1 = one per core.")] = 1,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep what was read for the next time.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="Write the scores: .csv, .csv.gz, .parquet or a folder.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace what is there.")] = False,
    json_: JsonOption = False,
) -> None:
    """Read evaluation logs and say what is in them: models, items, choices, omissions.

    The other commands read the same folder; give them the same --metric, --filter or --scorer.
    """
    from mdad import loaders  # noqa: PLC0415  # slow to import

    if out is not None:
        check_target(out, None, overwrite=overwrite)
    with progress_bar("files") as progress:
        scores, report = loaders.load_with_report(
            path,
            format=format_,
            items=items,
            models_file=models_file,
            cache=cache,
            progress=progress,
            metric=metric,
            filter=filter_,
            scorer=scorer,
            item_key=item_key,
            reduce=reduce,
            errors=errors,
            model_names=model_names,
            score_range=score_range,
            strict=None if strict else False,
            n_jobs=None if n_jobs == 1 else n_jobs,
            **_own_options(option or []),
        )
    alike = _alike(scores)
    if out is not None:
        write_scores(scores, out)
    if json_:
        import msgspec  # noqa: PLC0415  # only needed here

        print_json({**msgspec.structs.asdict(report), "alike": alike})
        return
    _show(scores, report, alike)
    if out is not None:
        typer.echo(f"written to {out}")


def _own_options(given: list[str]) -> dict[str, Any]:
    """Options of one format, whole numbers as such."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or name in _NAMED or not value:
            raise SettingError(
                f"--option {text!r} must be NAME=VALUE with the name of an option that has no "
                "other flag, as in --option ids=lite.txt."
            )
        found[name] = int(value) if value.isascii() and value.isdigit() else value
    return found


def _alike(scores: ScoreMatrix) -> list[str]:
    """Models that answer like another one, in sentences."""
    from mdad._checks import counted, listed  # noqa: PLC0415
    from mdad.quality import assess  # noqa: PLC0415  # slow to import

    if scores.n_models == 1:
        return []
    try:
        found = assess(scores.complete().scores)
    except ScoresError:
        return ["copies were not looked for: too many scores are missing"]
    texts = [f"identical answers: {listed(group)}" for group in found.copies]
    if found.near_copies:
        texts.append(f"{counted(found.near_copies, 'more model')} that differ on 1 % at most")
    return texts


def _show(scores: ScoreMatrix, report: LoadReport, alike: list[str]) -> None:
    from mdad._checks import counted  # noqa: PLC0415

    others = counted(report.n_ignored, "other file")
    ignored = f", {others} ignored" if report.n_ignored else ""
    cached = " (from the cache)" if report.cached else ""
    typer.echo(f"{scores!r}\n{report.format}: {counted(report.n_files, 'file')}{ignored}{cached}")
    if report.metric:
        typer.echo(f"score: {report.metric}")
    for what, values in sorted(report.used.items()):
        typer.echo(f"{what}: {'; '.join(_used(value, tasks) for value, tasks in values.items())}")
    _show_models(scores, report)
    sections = (
        ("chosen", report.chosen),
        ("left out", report.dropped),
        ("look at", (*report.suspicious, *alike)),
        (f"{counted(report.n_errors, 'bad record')} left out", report.errors),
    )
    for title, texts in sections:
        if texts:
            typer.echo(f"{title}:")
        for text in texts:
            typer.echo(f"  {text}")


def _used(value: str, tasks: list[str]) -> str:
    named = [task for task in tasks if task]
    more = f" and {len(named) - MAX_NAMES} more" if len(named) > MAX_NAMES else ""
    return f"{value} ({', '.join(named[:MAX_NAMES])}{more})" if named else value


def _show_models(scores: ScoreMatrix, report: LoadReport) -> None:
    from rich.markup import escape  # noqa: PLC0415  # slow to import
    from rich.table import Table  # noqa: PLC0415

    low, point = scores.score_range[0], scores.point
    table = Table("model", "items", "coverage", "mean", box=None, pad_edge=False)
    table.columns[0].overflow = "fold"
    for model in report.models[:MAX_ROWS]:
        mean = "" if model.mean is None else f"{(model.mean - low) / point:.1f}"
        table.add_row(escape(model.name), f"{model.n_items:,}", f"{model.coverage:.1%}", mean)
    console().print(table)
    if len(report.models) > MAX_ROWS:
        typer.echo(f"and {len(report.models) - MAX_ROWS:,} more models (--json lists all)")
