"""``mdad plan``: how many items, or which gap, without a simulation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mdad.cli._common import (
    FormatOption,
    JsonOption,
    OrientationOption,
    RangeOption,
    console,
    names_of,
    print_json,
    read_scores,
)
from mdad.errors import SettingError

if TYPE_CHECKING:
    from mdad.planning import Plan
    from mdad.scores import ScoreMatrix

EPILOG = "Example: mdad plan --gap 2 --discordance 0.3 --n-items 12032"
BAR = 40


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", epilog=EPILOG)(plan_command)


def plan_command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="Scores to learn from how far models differ: table, folder or data set.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[float | None, typer.Option(help="Gap to be resolved, in points.")] = None,
    size: Annotated[int | None, typer.Option(help="Number of items.")] = None,
    agreement: Annotated[
        float, typer.Option(help="Probability of success asked for (power with --goal show).")
    ] = 0.8,
    goal: Annotated[
        str, typer.Option(help="rank: order the models rightly; show: a test shows the better.")
    ] = "rank",
    models: Annotated[
        str | None, typer.Option(help="Only these models of FILE, comma-separated.")
    ] = None,
    pair: Annotated[
        str | None, typer.Option(help="Two models of FILE, A,B: plan for this very pair.")
    ] = None,
    discordance: Annotated[
        float | None, typer.Option(help="Share of items on which exactly one of two is right.")
    ] = None,
    accuracies: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Assumed accuracies of the two models, as in `0.62 0.6`."),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(help="Graded scores: standard deviation of the item-wise differences."),
    ] = None,
    score_range: RangeOption = None,
    n_items: Annotated[
        int | None, typer.Option(help="Items of the whole benchmark; default without bound.")
    ] = None,
    comparisons: Annotated[int, typer.Option(help="Number of pairs to be compared.")] = 1,
    level: Annotated[
        float | None, typer.Option(help="With --goal show: one-sided level of all tests (0.05).")
    ] = None,
    ties: Annotated[
        str | None, typer.Option(help="With --goal rank: a tie is wrong (default) or half.")
    ] = None,
    cost_per_item: Annotated[
        float | None, typer.Option(help="Cost of one item for all models compared.")
    ] = None,
    budget: Annotated[float | None, typer.Option(help="What may be spent.")] = None,
    orientation: OrientationOption = None,
    format_: FormatOption = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Say how many items tell two models apart, or how far apart they must be.

    For items drawn at random. No source models are needed: an assumed discordance, two assumed
    accuracies, or scores of similar models say how far two models differ.
    """
    from mdad.planning import plan  # noqa: PLC0415  # slow to import

    known = _known(file, models, pair, score_range, orientation, format_)
    low, high = known.get("range") or score_range or (0.0, 1.0)
    found = plan(
        gap=None if gap is None else gap * (high - low) / 100,
        size=size,
        agreement=agreement,
        goal=cast("Any", goal),
        discordance=discordance,
        accuracies=accuracies,
        sd=sd,
        n_items=n_items,
        comparisons=comparisons,
        level=level,
        ties=cast("Any", ties),
        cost_per_item=cost_per_item,
        budget=budget,
        **known["scores"] if file else {"score_range": score_range},
    )
    if report is not None:
        from mdad.report.planned import write_plan  # noqa: PLC0415  # slow to import

        write_plan(found, report)
    if json_:
        print_json(found.to_dict())
        return
    _show(found)
    if report is not None:
        typer.echo(f"Report: {report}")


def _known(
    file: str | None,
    models: str | None,
    pair: str | None,
    score_range: tuple[float, float] | None,
    orientation: str | None,
    format_: str | None,
) -> dict[str, Any]:
    """What the file says: arguments of :func:`mdad.planning.plan`, and the range of scores."""
    if file is None:
        given = {"--models": models, "--pair": pair, "--orientation": orientation}
        without = [name for name, value in given.items() if value is not None]
        if without:
            raise SettingError(f"{', '.join(without)} need a FILE with scores.")
        return {}
    scores = read_scores(
        file,
        score_range=score_range,
        orientation=orientation,
        format=format_,
    )
    if pair is not None:
        return {"scores": _pair(scores, names_of(pair)), "range": scores.score_range}
    wanted = list(names_of(models)) or None
    matrix = scores if wanted is None else scores.restrict(models=wanted)
    return {"scores": {"scores": matrix.complete().scores}, "range": scores.score_range}


def _pair(scores: ScoreMatrix, names: tuple[str, ...]) -> dict[str, Any]:
    if len(names) != 2:  # noqa: PLR2004  # a pair
        raise SettingError(f"--pair takes two models, A,B; got {len(names)}.")
    both = scores.restrict(models=names).complete(1.0).scores
    a, b = both.values.astype(float)
    ranged = {} if scores.kind == "correctness" else {"score_range": scores.score_range}
    return {"a": a, "b": b, **ranged}


def _show(found: Plan) -> None:
    from rich.table import Table  # noqa: PLC0415  # slow to import

    screen = console()
    screen.print(found.answer, style="bold", markup=False)
    table = Table(box=None, header_style="bold")
    for name in ("items", "MDAD", "cost") if found.cost_per_item else ("items", "MDAD"):
        table.add_column(name, justify="right")
    table.add_column("")
    reached = [p.mdad for p in found.sizes if p.mdad is not None]
    widest = max(reached, default=1.0) or 1.0
    for place in found.sizes:
        gap = "not reached" if place.mdad is None else f"{place.mdad / found.point:.1f} points"
        bar = "" if place.mdad is None else "█" * math.ceil(BAR * place.mdad / widest)
        cost = [f"{place.cost:g}"] if found.cost_per_item and place.cost is not None else []
        table.add_row(f"{place.size:,}", gap, *cost, bar)
    screen.print(table)
    for line in found.assumptions:
        screen.print(f"- {line}", style="dim", markup=False)
