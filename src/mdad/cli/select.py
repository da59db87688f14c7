"""``mdad select``, ``mdad show``, ``mdad export``: the micro-benchmark as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from mdad.cli._common import (
    DuplicatesOption,
    FilterOption,
    FormatOption,
    JsonOption,
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
    "Examples: mdad select --random --items ids.txt --size 100 --seed 7 --out micro.json; "
    "Example: mdad select scores.csv --size 100 --out micro.json"
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
    app.command("show", epilog="Example: mdad show micro.json")(show_command)
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
    method: Annotated[str, typer.Option(help="How to choose; see `mdad methods`.")] = "random",
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
    min_per_subtask: Annotated[
        int, typer.Option(help="At least so many items of every subtask.")
    ] = 0,
    aggregate: Annotated[
        str, typer.Option(help="micro: items count the same; macro: subtasks do.")
    ] = "micro",
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
    from mdad.selecting import select_forms  # noqa: PLC0415  # slow to import

    targets = _targets(out, forms, overwrite=overwrite)
    if preset is not None:
        check_choice("preset", preset, ("paper",))
    common: dict[str, Any] = {
        "size": size,
        "forms": forms,
        "seed": seed,
        "exclude": () if exclude is None else read_lines(exclude),
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
        if random and method != "random":
            raise SettingError(f"--random and --method {method} contradict each other.")
        made = select_forms(scores, method=method, **common)
    for micro, target in zip(made, targets, strict=True):
        micro.save(target)
        typer.echo(
            f"{micro.size:,} of {micro.benchmark.n_items:,} items ({micro.made.method}, seed "
            f"{seed}) written to {target}"
        )


def _targets(out: Path, forms: int, *, overwrite: bool) -> list[Path]:
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


def show_command(
    micro: MicroArgument,
    json_: JsonOption = False,
) -> None:
    """Say what a micro-benchmark is: items, benchmark, how it was made."""
    from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415  # slow to import

    found = Microbenchmark.load(micro)
    if json_:
        typer.echo(found.to_json().decode(), nl=False)
        return
    for line in describe(found):
        typer.echo(line)


def describe(micro: Any) -> list[str]:
    """A micro-benchmark in a few lines."""
    bench, made = micro.benchmark, micro.made
    low, high = bench.score_range
    named = f" of {bench.name}" if bench.name else ""
    lines = [
        f"{micro.size:,} of {bench.n_items:,} items{named}"
        + (" (simulated)" if bench.simulated else ""),
        f"made by mdad {made.mdad_version}: method {made.method}, form {made.form}, seed "
        f"{made.seed}"
        + "".join(f", {key} {value}" for key, value in made.settings.items())
        + (f", form {made.form_number} of {made.n_forms}" if made.n_forms > 1 else ""),
        f"scores in [{low:g}, {high:g}], {bench.aggregate} mean; estimate: "
        + ("plain mean" if micro.weights is None else "weighted mean"),
        f"items fingerprint {bench.items_fingerprint}; file fingerprint {micro.fingerprint}",
    ]
    if bench.n_excluded:
        lines.append(f"{bench.n_excluded:,} items were excluded and are no part of the full score")
    if made.source_scores is not None:
        points = [100 * (score - low) / (high - low) for score in made.source_scores]
        lines.append(
            f"{len(made.source_models):,} source models, full scores {points[0]:.1f} to "
            f"{points[1]:.1f} points"
        )
    if micro.subtasks is not None:
        counts: dict[str, int] = {}
        for label in micro.subtasks:
            counts[label] = counts.get(label, 0) + 1
        parts = ", ".join(f"{label} {count}" for label, count in sorted(counts.items()))
        lines.append(f"items per subtask: {parts}")
    shown = ", ".join(micro.items[:5])
    lines.append(f"first items: {shown}{', ...' if micro.size > 5 else ''}")  # noqa: PLR2004
    return lines


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
