"""What every command shares: reading scores, options as lists, progress, output, errors."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from mdad.cli._progress import console, progress_bar
from mdad.errors import FormatError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdad.scores import ScoreMatrix

__all__ = [
    "FILE_HELP",
    "DuplicatesOption",
    "FileArgument",
    "FilterOption",
    "FormatOption",
    "ItemsOption",
    "JsonOption",
    "MetricOption",
    "ModelsOption",
    "OrientationOption",
    "ProbabilitiesOption",
    "RangeOption",
    "ScorerOption",
    "console",
    "fail",
    "names_of",
    "numbers_of",
    "print_json",
    "progress_bar",
    "read_lines",
    "read_scores",
    "shares_of",
    "stopped_says",
]

Number = TypeVar("Number", int, float)

FILE_HELP = (
    "Table of models x items (CSV, TSV, Parquet, JSONL; .gz allowed), a folder of evaluation logs "
    "(`mdad load` says what is in it), one written by `mdad convert`, or the name of a data set "
    "(`mdad datasets`)."
)

FileArgument = Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)]
ItemsOption = Annotated[
    Path | None,
    typer.Option("--items", help="Table of items: item_id, subtask and other columns."),
]
ModelsOption = Annotated[
    Path | None,
    typer.Option("--models-file", help="Table of models: model, family and other columns."),
]
ProbabilitiesOption = Annotated[
    Path | None,
    typer.Option("--probabilities", help="Table of the probability of the right answer."),
]
RangeOption = Annotated[
    tuple[float, float] | None,
    typer.Option("--score-range", help="Lowest and highest possible score, as in `0 100`."),
]
OrientationOption = Annotated[
    str | None,
    typer.Option("--orientation", help="models-rows or models-columns, when it cannot be told."),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="Read the file as this format instead of guessing.")
]
DuplicatesOption = Annotated[
    str | None,
    typer.Option(
        "--duplicates",
        help="Rows of the same model: merge (equal ones), number (NAME (2)), or mean (trials).",
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric", help="Logs only: the metric, or TASK=METRIC pairs, comma-separated; default."
    ),
]
FilterOption = Annotated[
    str | None, typer.Option("--filter", help="Logs of lm-evaluation-harness: the filter.")
]
ScorerOption = Annotated[str | None, typer.Option("--scorer", help="Logs of Inspect: the scorer.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def fail(message: str, code: int = 2) -> NoReturn:
    """Print one paragraph to the error stream and exit."""
    typer.echo(f"mdad: {message}", err=True)
    sys.exit(code)


@contextmanager
def stopped_says(kept: str) -> Iterator[None]:
    """Ctrl-C inside says what is kept, unless what was stopped says it better."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(str(stopped) or f"stopped. {kept}") from None


def read_scores(file: str, **options: Any) -> ScoreMatrix:
    """Scores from a file, a directory or the name of a data set.

    Raises
    ------
    FormatError
        when there is no such file and no such data set.
    """
    from mdad import datasets, loaders  # noqa: PLC0415  # slow to import

    if Path(file).is_dir():
        with progress_bar("files") as progress:
            return loaders.load(file, progress=progress, **options)
    if Path(file).exists():
        return loaders.load(file, **options)
    if file in datasets.names():
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise SettingError(
                f"the data set {file!r} is complete as it is; leave out "
                f"{', '.join('--' + name.replace('_', '-') for name in given)}."
            )
        return datasets.load(file)
    raise FormatError(
        f"there is no file {file!r} and no data set of that name. Data sets: "
        f"{', '.join(datasets.names())}."
    )


def names_of(option: str | None) -> tuple[str, ...]:
    """The parts of a comma-separated option."""
    if option is None:
        return ()
    return tuple(part.strip() for part in option.split(",") if part.strip())


def numbers_of(name: str, option: str | None) -> tuple[int, ...]:
    """The parts of a comma-separated option as whole numbers.

    Raises
    ------
    SettingError
        when a part is not one.
    """
    return _parts(name, option, int, "whole numbers separated by commas, as in 25,50,100")


def shares_of(name: str, option: str | None) -> tuple[float, ...]:
    """The parts of a comma-separated option as numbers; errors as of :func:`numbers_of`."""
    return _parts(name, option, float, "numbers separated by commas, as in 0.02,0.1")


def _parts(
    name: str, option: str | None, kind: Callable[[str], Number], what: str
) -> tuple[Number, ...]:
    try:
        return tuple(kind(part) for part in names_of(option))
    except ValueError:
        raise SettingError(f"{name} takes {what}; got {option!r}.") from None


def print_json(document: Any) -> None:
    """Print a document as JSON; numbers that do not exist are null."""
    import msgspec  # noqa: PLC0415  # only needed here

    typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def read_lines(path: Path) -> list[str]:
    """Ids from a text file, one a line; blank lines are left out.

    Raises
    ------
    SettingError
        when the file cannot be read as UTF-8 text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingError(f"{path} is not UTF-8 text; one id a line is expected.") from None
    return [line.strip() for line in text.splitlines() if line.strip()]
