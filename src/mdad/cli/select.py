"""``mdad select`` and ``mdad export``: the micro-benchmark as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mdad.cli._common import (
    DuplicatesOption,
    FilterOption,
    FormatOption,
    MetricOption,
    OrientationOption,
    ProbabilitiesOption,
    RangeOption,
    ScorerOption,
    read_lines,
    read_scores,
)
from mdad.errors import SettingError

SELECT_EPILOG = (
    "Example: mdad select scores.csv --size 100 --out micro.json; or of ids alone: mdad select "
    "--random --items ids.txt --size 100 --seed 7 --out micro.json"
)
MicroArgument = Annotated[
    Path, typer.Argument(metavar="MICRO", help="File written by `mdad select`.")
]
ItemKeyOption = Annotated[
    str | None,
    typer.Option(
        "--item-key",
        help="Logs of lm-evaluation-harness and its leaderboard: what identifies an item, doc_id, "
        "doc_hash or a field of doc.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("select", epilog=SELECT_EPILOG)(select_command)
    app.command("export", epilog="Example: mdad export micro.json --to lm-eval --task gsm8k")(
        export_command
    )


def select_command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="Scores of models x items; not needed with --random.",
            show_default=False,
        ),
    ] = None,
    size: Annotated[int, typer.Option(help="Number of items.")] = 100,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("micro.json"),
    method: Annotated[
        str | None,
        typer.Option(
            help="How to choose; see `mdad methods`. Default: auto where FILE has 10 models or "
            "more, else random.",
            show_default=False,
        ),
    ] = None,
    random: Annotated[
        bool, typer.Option("--random", help="Uniform random items; needs ids only.")
    ] = False,
    items: Annotated[
        Path | None,
        typer.Option(
            help="With --random: ids, one a line, or a table with item_id and subtask. With FILE: "
            "table of subtasks."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    forms: Annotated[int, typer.Option(help="Disjoint forms to write: micro-1.json, ...")] = 1,
    exclude: Annotated[
        Path | None, typer.Option(help="Ids, one a line, that must not be chosen.")
    ] = None,
    force: Annotated[
        Path | None, typer.Option(help="Ids, one a line, chosen in any case (c-optimal).")
    ] = None,
    forbid: Annotated[
        Path | None,
        typer.Option(
            help="Ids, one a line, not chosen though they count in the full score (c-optimal)."
        ),
    ] = None,
    min_per_subtask: Annotated[
        int, typer.Option(help="At least so many items of every subtask (random, c-optimal).")
    ] = 0,
    focus: Annotated[
        str,
        typer.Option(help="Models to be measured: all, top, or near=60, in points (c-optimal)."),
    ] = "all",
    split: Annotated[
        str,
        typer.Option(
            help="How models to be measured differ from those in FILE: random, grouped (other "
            "families), frontier (better than all). Errors are measured accordingly."
        ),
    ] = "random",
    groups: Annotated[
        str,
        typer.Option(help="With --split grouped: column of model information, or pattern."),
    ] = "",
    aggregate: Annotated[
        str, typer.Option(help="micro: items count the same; macro: subtasks do.")
    ] = "micro",
    n_jobs: Annotated[int, typer.Option(help="Processes that measure errors.")] = 1,
    preset: Annotated[
        str | None, typer.Option(help="paper: the method in the form the paper's code runs.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the benchmark, with --random.")] = "",
    probabilities: ProbabilitiesOption = None,
    score_range: RangeOption = None,
    orientation: OrientationOption = None,
    duplicates: DuplicatesOption = None,
    format_: FormatOption = None,
    metric: MetricOption = None,
    filter_: FilterOption = None,
    scorer: ScorerOption = None,
    item_key: ItemKeyOption = None,
    overwrite: Annotated[bool, typer.Option(help="Replace what is there.")] = False,
) -> None:
    """Choose the items of a micro-benchmark and freeze them in a file."""
    from mdad._checks import check_choice  # noqa: PLC0415
    from mdad.cli._reliability import reliability  # noqa: PLC0415
    from mdad.selecting import select_forms  # noqa: PLC0415  # slow to import

    targets = targets_of(out, forms, overwrite=overwrite)
    if preset is not None:
        check_choice("preset", preset, ("paper",))
    common: dict[str, Any] = {
        "size": size,
        "forms": forms,
        "seed": seed,
        "exclude": () if exclude is None else read_lines(exclude),
        "forced": () if force is None else read_lines(force),
        "forbidden": () if forbid is None else read_lines(forbid),
        "split": cast("Any", split),
        "groups": groups,
        "n_jobs": n_jobs,
        "min_per_subtask": min_per_subtask,
        "aggregate": cast("Any", aggregate),
        "form": "default" if preset is None else preset,
    }
    if file is None:
        if not random:
            raise SettingError(
                "give a FILE with scores, or --random with --items: choosing at random needs only "
                "the ids."
            )
        ids, labels = _ids(items)
        if score_range is not None:
            common["score_range"] = score_range
        low, high = common.get("score_range", (0.0, 1.0))
        common |= {"method": "random", "focus": _focus(focus, low, high)}
        made = select_forms(None, items=ids, subtasks=labels, name=name, **common)
    else:
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
            item_key=item_key,
        )
        if random and method not in {None, "random"}:
            raise SettingError(f"--random and --method {method} contradict each other.")
        common |= {"method": "random" if random else method}
        common |= {"focus": _focus(focus, *scores.score_range)}
        made = select_forms(scores, **common)
    for micro, target in zip(made, targets, strict=True):
        micro.save(target)
        typer.echo(
            f"{micro.size:,} of {micro.benchmark.n_items:,} items ({micro.made.method}, seed "
            f"{seed}) written to {target}"
        )
        for line in reliability(micro):
            typer.echo(line)


def _focus(focus: str, low: float, high: float) -> str:
    """The focus with a score in the unit of the scores; the command line has points."""
    name, _, number = focus.partition("=")
    try:
        return f"near={low + float(number) / 100 * (high - low)!r}" if name == "near" else focus
    except ValueError:
        return focus


def targets_of(out: Path, forms: int, *, overwrite: bool) -> list[Path]:
    """Files to write, none of which is there unless it may be replaced."""
    if forms == 1:
        targets = [out]
    else:
        targets = [out.with_name(f"{out.stem}-{i}{out.suffix}") for i in range(1, forms + 1)]
    there = [target for target in targets if target.exists()]
    if there and not overwrite:
        raise SettingError(f"{there[0]} exists; give another --out or --overwrite.")
    return targets


def _ids(path: Path | None) -> tuple[list[str], dict[str, str] | None]:
    """Item ids, and subtasks where the file is a table that has them."""
    if path is None:
        raise SettingError("--random needs --items: the ids of the whole benchmark, one a line.")
    lines = read_lines(path)
    header = lines[0].lower() if lines else ""
    if not any(sign in header for sign in (",", "\t")):
        return lines, None
    from mdad.loaders import read_items  # noqa: PLC0415  # slow to import

    table = read_items(path)
    if "subtask" in table.columns:
        return list(table.index), dict(zip(table.index, table["subtask"].astype(str), strict=True))
    return list(table.index), None


def export_command(
    micro: MicroArgument,
    to: Annotated[
        str,
        typer.Option(help="ids, csv, lm-eval, lm-eval-task, inspect, inspect-py or hf."),
    ] = "ids",
    task: Annotated[
        str | None, typer.Option(help="Task of the harness; default each subtask.")
    ] = None,
    order: Annotated[
        Path | None,
        typer.Option(help="Ids of the whole data set in its order, one a line, to find positions."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, for lm-eval-task a folder; default the screen."),
    ] = None,
) -> None:
    """Write the chosen items in the form a harness takes."""
    from mdad.exporters import export, export_files  # noqa: PLC0415
    from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415  # slow to import

    ids = None if order is None else read_lines(order)
    made = Microbenchmark.load(micro)
    if out is None:
        typer.echo(export(made, to, task=task, order=ids), nl=False)
        return
    for name, text in export_files(made, to, task=task, order=ids).items():
        target = out / name if name else out
        try:
            if name:
                out.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SettingError(f"cannot write {target}: {error.strerror}.") from None
        typer.echo(f"written to {target}")
