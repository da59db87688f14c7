"""``mdad next``: which items to ask now, and whether it is decided."""

from __future__ import annotations

from dataclasses import asdict
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
    RangeOption,
    ScorerOption,
    names_of,
    print_json,
    read_lines,
    read_scores,
)
from mdad.errors import SettingError

EPILOG = (
    "Example: mdad next --new session.json --scores digits-zoo --models mine,yours --budget 200; "
    "then, after every run on the items it names, mdad next session.json --answers run.csv"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("next", epilog=EPILOG)(next_command)


def next_command(
    session: Annotated[Path, typer.Argument(metavar="SESSION", help="File of the session.")],
    new: Annotated[bool, typer.Option("--new", help="Start one; the file must not exist.")] = False,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            "--answers",
            help="Scores to tell: a table, logs, or JSON {item: {model: score}}. May be repeated.",
        ),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="With --new: the two models A,B, or one with --against.")
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(help="Scores of other models on the whole benchmark: its items, and sources."),
    ] = None,
    micro: Annotated[
        Path | None, typer.Option(help="A micro-benchmark of random items, instead of --scores.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(help="Ids of the whole benchmark, one a line, instead.")
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(
            help="random (holds for every model), or, learned from --scores, c-optimal or "
            "irt-information (holds for models like those)."
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Error probability, over all looks (0.05).")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Items asked for at a time (10).")] = None,
    budget: Annotated[
        int | None, typer.Option(help="Items at most; default all, 70 % for learned designs.")
    ] = None,
    against: Annotated[
        float | None, typer.Option(help="A full score, in points, to compare one model with.")
    ] = None,
    spending: Annotated[
        str | None, typer.Option(help="Of design random: pocock (default) or obrien-fleming.")
    ] = None,
    aggregate: Annotated[
        str | None, typer.Option(help="micro or, learned designs only, macro.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the random order (0).")] = None,
    extra: Annotated[
        str,
        typer.Option(
            help="Answers to other models or to items the session will never ask: error or ignore. "
            "Those to its later items are kept; each counts when its look comes."
        ),
    ] = "error",
    score_range: RangeOption = None,
    orientation: OrientationOption = None,
    duplicates: DuplicatesOption = None,
    format_: FormatOption = None,
    metric: MetricOption = None,
    filter_: FilterOption = None,
    scorer: ScorerOption = None,
    json_: JsonOption = False,
) -> None:
    """Ask a few items at a time, and stop as soon as it is decided which model is better.

    Prints the ids of the next items, one a line, or the decision. The error probability holds
    however often is looked. Given again, --scores or --micro only checks that it is the same
    benchmark.
    """
    from mdad._checks import check_choice  # noqa: PLC0415  # slow to import
    from mdad.adaptive import Session  # noqa: PLC0415

    check_choice("--extra", extra, ("error", "ignore"))  # told before a session is made
    how: dict[str, Any] = {"orientation": orientation, "format": format_, "metric": metric}
    how |= {"filter": filter_, "scorer": scorer, "score_range": score_range}
    settings = {
        "design": design,
        "alpha": alpha,
        "batch": batch,
        "budget": budget,
        "against": against,
        "spending": spending,
        "aggregate": aggregate,
        "seed": seed,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    where = _where(scores, micro, items, {**how, "duplicates": duplicates})
    if new:
        running = _start(session, models, where, settings)
    else:
        if models is not None or settings:
            given = ["models"] if models is not None else []
            raise SettingError(
                f"{', '.join('--' + name for name in [*given, *settings])}: settings are fixed "
                "when a session starts, or its error rate would not hold. Start another with "
                "--new."
            )
        running = Session.load(session)
        _check(running, where)
    for file in answers or ():
        _tell(running, file, extra, {**how, "duplicates": duplicates})
    _show(running, json_)


def _where(
    scores: str | None, micro: Path | None, items: Path | None, how: dict[str, Any]
) -> dict[str, Any]:
    """Where the items come from, as an argument of Session.new."""
    found: dict[str, Any] = {}
    if scores is not None:
        found["scores"] = read_scores(scores, **how)
    if micro is not None:
        from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415  # slow to import

        found["micro"] = Microbenchmark.load(micro)
    if items is not None:
        found["items"] = read_lines(items)
        if how["score_range"] is not None:
            found["score_range"] = how["score_range"]
    return found


def _start(
    session: Path, models: str | None, where: dict[str, Any], settings: dict[str, Any]
) -> Any:
    from mdad.adaptive import Session  # noqa: PLC0415  # slow to import

    if models is None:
        raise SettingError("--new needs --models A,B, or --models A with --against POINTS.")
    if len([name for name in where if name != "score_range"]) != 1:
        raise SettingError("--new needs one of --scores, --micro and --items.")
    if "against" in settings:
        low, high = _range(where)
        settings = {**settings, "against": low + settings["against"] * (high - low) / 100}
    return Session.new(names_of(models), path=session, **where, **settings)


def _range(where: dict[str, Any]) -> tuple[float, float]:
    if "micro" in where:
        return cast("tuple[float, float]", where["micro"].benchmark.score_range)
    if "scores" in where:
        return cast("tuple[float, float]", where["scores"].score_range)
    return cast("tuple[float, float]", where.get("score_range", (0.0, 1.0)))


def _check(running: Any, where: dict[str, Any]) -> None:
    """Refuse another benchmark than that of the session."""
    if "scores" in where:
        whole = where["scores"].complete().scores
        running.check_items(whole.items, whole.items_fingerprint)
    if "micro" in where:
        micro = where["micro"]
        running.check_items(micro.items, micro.benchmark.items_fingerprint)
    if "items" in where:
        from mdad.adaptive import items_fingerprint  # noqa: PLC0415

        running.check_items(where["items"], items_fingerprint(where["items"]))


def _tell(running: Any, file: str, extra: str, how: dict[str, Any]) -> None:
    from mdad.adaptive import by_item  # noqa: PLC0415

    told = _mapping(Path(file))
    if told is None:
        scores = _scores(running, file, how)
        running.check_contents(scores)
        told = by_item(scores)
    if extra == "ignore":
        known, compared = set(running.setup.plan.order), running.setup.models
        told = {
            item: {model: score for model, score in scores.items() if model in compared}
            for item, scores in told.items()
            if item in known
        }
    running.tell(told)


def _mapping(path: Path) -> dict[str, dict[str, float]] | None:
    """Answers as JSON, {item: {model: score}}; None when the file is something else."""
    import msgspec  # noqa: PLC0415

    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, float]])
    except (OSError, msgspec.MsgspecError):
        return None


def _scores(running: Any, file: str, how: dict[str, Any]) -> Any:
    pool = running.setup.pool.score_range
    if how["score_range"] is None and pool != (0.0, 1.0):
        how = {**how, "score_range": pool}
    return read_scores(file, min_models=1, **how)


def _show(running: Any, json_: bool) -> None:
    from mdad.report.session import sentences  # noqa: PLC0415

    decision, wanted = running.decision, running.wanted()
    if json_:
        print_json(
            {
                **asdict(decision),
                "items": list(wanted),
                "wanted": wanted,
                "models": running.setup.models,
                "alpha": running.setup.alpha,
                "budget": running.setup.budget,
                "fingerprint": running.setup.fingerprint,
            }
        )
        return
    # Ids alone go to the output, for a pipe; words go beside it while the session is open.
    for line in sentences(running):
        typer.echo(line, err=decision.open)
    for item in wanted:
        typer.echo(item)
