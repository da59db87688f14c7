"""``mdad items``: faults of the items of a benchmark, and what they say of the full score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mdad.cli._common import (
    DuplicatesOption,
    FileArgument,
    FilterOption,
    FormatOption,
    ItemsOption,
    JsonOption,
    MetricOption,
    OrientationOption,
    ProbabilitiesOption,
    RangeOption,
    ScorerOption,
    console,
    print_json,
    read_scores,
)
from mdad.errors import SettingError

EPILOG = "Example: mdad items digits-zoo --chart items.svg --faulty faulty.txt"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("items", epilog=EPILOG)(items_command)


def items_command(
    file: FileArgument,
    items: ItemsOption = None,
    level: Annotated[
        float, typer.Option(help="Of the tests, corrected for all items: share of false alarms.")
    ] = 0.05,
    aggregate: Annotated[
        str, typer.Option(help="micro: items count the same; macro: subtasks do.")
    ] = "micro",
    top: Annotated[int, typer.Option(help="Items shown of each kind.")] = 10,
    faulty: Annotated[
        Path | None,
        typer.Option(help="Write the ids of faulty items, one a line: for `select --exclude`."),
    ] = None,
    chart: Annotated[Path | None, typer.Option(help="Write the chart: .svg or .png.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page.")] = None,
    probabilities: ProbabilitiesOption = None,
    score_range: RangeOption = None,
    orientation: OrientationOption = None,
    duplicates: DuplicatesOption = None,
    format_: FormatOption = None,
    metric: MetricOption = None,
    filter_: FilterOption = None,
    scorer: ScorerOption = None,
    json_: JsonOption = False,
) -> None:
    """Find suspicious answer keys, negative, constant and duplicate items.

    Every item is seen through the scores of all models: what goes against the rest, what is the
    same for all, what is there twice, and what says most of the full score.
    """
    from mdad._checks import check_int  # noqa: PLC0415
    from mdad.diagnostics import diagnose_items  # noqa: PLC0415  # slow to import
    from mdad.report import items as shown  # noqa: PLC0415

    top = check_int("--top", top, 0)
    scores = read_scores(
        file,
        items=items,
        probabilities=probabilities,
        score_range=score_range,
        orientation=orientation,
        duplicates=duplicates,
        format=format_,
        metric=metric,
        filter=filter_,
        scorer=scorer,
    )
    found = diagnose_items(scores, level=level, aggregate=cast("Any", aggregate))
    if json_:
        print_json(shown.to_document(found))
    else:
        shown.render_items(found, console(), top)
    written = [] if faulty is None else [_write_ids(faulty, found.flagged)]
    written += [] if chart is None else [shown.write_items_chart(found, chart)]
    written += [] if report is None else [shown.write_items_page(found, report)]
    for path in written:
        typer.echo(f"written to {path}", err=json_)


def _write_ids(path: Path, ids: tuple[str, ...]) -> Path:
    try:
        path.write_text("".join(f"{item}\n" for item in ids), encoding="utf-8")
    except OSError as error:
        raise SettingError(f"cannot write {path}: {error.strerror}.") from None
    return path
