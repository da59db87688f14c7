"""``mdad convert``, ``mdad datasets``, ``mdad methods``: what there is to work with."""

from __future__ import annotations

from collections.abc import Sequence
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
    ModelsOption,
    OrientationOption,
    ProbabilitiesOption,
    RangeOption,
    ScorerOption,
    console,
    names_of,
    print_json,
    read_lines,
    read_scores,
)
from mdad.errors import SettingError

CONVERT_EPILOG = "Example: mdad convert scores.csv.gz scores.parquet --items items.csv"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("convert", epilog=CONVERT_EPILOG)(convert_command)
    app.command("datasets", epilog="Example: mdad audit digits-zoo")(datasets_command)
    app.command("methods", epilog="Example: mdad audit FILE --methods random")(methods_command)


def convert_command(
    file: FileArgument,
    target: Annotated[
        Path,
        typer.Argument(help="Where to: .csv, .csv.gz, .parquet, or a new folder (memory-mapped)."),
    ],
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
    models: Annotated[
        str | None, typer.Option(help="Keep only these models, comma-separated.")
    ] = None,
    only: Annotated[
        Path | None,
        typer.Option(help="Keep only these items: a micro-benchmark, or ids, one a line."),
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="Parquet only: wide (a column per item) or long.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace what is there.")] = False,
) -> None:
    """Read scores in any known form and write them in another.

    CSV keeps ids and scores only; Parquet and folders keep everything.
    """
    check_target(target, layout, overwrite=overwrite)
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
    scores = scores.restrict(
        models=None if models is None else names_of(models),
        items=None if only is None else _ids(only),
    )
    write_scores(scores, target, layout)
    typer.echo(f"{scores!r}\nwritten to {target}")


def check_target(target: Path, layout: str | None, *, overwrite: bool) -> None:
    """A place where scores can be written, known before anything is read.

    Raises
    ------
    SettingError
        when something is there, or the name does not say what it should be.
    """
    from mdad import storage  # noqa: PLC0415  # slow to import

    if target.exists() and not overwrite:
        raise SettingError(f"{target} exists; give another name or --overwrite.")
    if target.is_dir() and not storage.is_directory_store(target):
        raise SettingError(f"{target} is a folder that holds no score matrix; it is not replaced.")
    name = target.name.lower()
    if layout is not None and not name.endswith(".parquet"):
        raise SettingError("--layout is for Parquet files only.")
    if "." in name and not name.endswith((".parquet", ".csv", ".csv.gz")) and not target.is_dir():
        raise SettingError(
            f"cannot tell what {target.name} should be: end the name with .csv, .csv.gz or "
            ".parquet, or give a folder name without a dot."
        )


def write_scores(scores: Any, target: Path, layout: str | None = None) -> None:
    """Write scores in the form that the target's name says."""
    from mdad import storage  # noqa: PLC0415  # slow to import

    name = target.name.lower()
    if name.endswith(".parquet"):
        storage.write_parquet(scores, target, layout=cast("Any", layout))
    elif name.endswith((".csv", ".csv.gz")):
        storage.write_csv(scores, target)
    else:
        storage.write_directory(scores, target)


def _ids(path: Path) -> Sequence[str]:
    from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415  # slow to import

    if path.suffix == ".json":
        return Microbenchmark.load(path).items
    return read_lines(path)


def datasets_command(json_: JsonOption = False) -> None:
    """List the bundled and simulated data sets."""
    from mdad import datasets  # noqa: PLC0415  # slow to import

    rows = [
        {
            "name": name,
            "models": info.n_models,
            "items": info.n_items,
            "simulated": info.simulated,
            "what": info.summary,
            "licence": info.licence,
        }
        for name, info in datasets.DATASETS.items()
    ]
    if json_:
        print_json(rows)
        return
    from rich.table import Table  # noqa: PLC0415  # slow to import

    table = Table("data set", "models", "items", "what it is", box=None, pad_edge=False)
    for row in rows:
        size = f"{row['models']:,}", f"{row['items']:,}"
        table.add_row(str(row["name"]), *size, str(row["what"]))
    console().print(table)


def methods_command(json_: JsonOption = False) -> None:
    """List the methods an audit can compare."""
    from mdad.methods import METHODS  # noqa: PLC0415  # slow to import

    rows = [
        {"name": name, "what": info.help, "reads": info.reads, "paper_form": info.paper_form}
        for name, info in METHODS.items()
    ]
    if json_:
        print_json(rows)
        return
    from rich.table import Table  # noqa: PLC0415  # slow to import

    table = Table("method", "what it does", "reads", box=None, pad_edge=False)
    for row in rows:
        paper = f"; --preset paper: {row['paper_form']}" if row["paper_form"] else ""
        table.add_row(row["name"], row["what"] + paper, row["reads"])
    console().print(table)
