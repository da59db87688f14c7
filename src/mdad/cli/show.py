"""``mdad show`` and ``mdad refit``: what a micro-benchmark is, whether it still fits, and anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mdad.cli._common import JsonOption, print_json, read_scores
from mdad.cli._reliability import reliability
from mdad.cli.select import MicroArgument, targets_of

SHOW_EPILOG = (
    "Example: mdad show micro.json; or on new scores: mdad show micro.json --against new_scores.csv"
)
REFIT_EPILOG = "Example: mdad refit micro.json new_scores.csv --extend 20 --out micro-2.json"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("show", epilog=SHOW_EPILOG)(show_command)
    app.command("refit", epilog=REFIT_EPILOG)(refit_command)


def show_command(
    micro: MicroArgument,
    against: Annotated[
        str | None,
        typer.Option(
            help="Scores of newly measured models: does the micro-benchmark still fit them? On "
            "the whole benchmark, its errors are checked, too.",
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Say what a micro-benchmark is: items, benchmark, how it was made.

    With --against, say whether it still fits; exit code 1 when it does not.
    """
    from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415  # slow to import

    found = Microbenchmark.load(micro)
    if against is not None:
        _show_age(found, against, json_)
        return
    if json_:
        typer.echo(found.to_json().decode(), nl=False)
        return
    for line in describe(found):
        typer.echo(line)


def _show_age(micro: Any, against: str, json_: bool) -> None:
    from dataclasses import asdict  # noqa: PLC0415

    from mdad.ageing import age  # noqa: PLC0415  # slow to import

    bounds = micro.benchmark.score_range
    scores = read_scores(against, score_range=None if bounds == (0.0, 1.0) else bounds)
    found = age(micro, scores.complete().scores)
    if json_:
        print_json(asdict(found) | {"fits": found.fits})
    else:
        for line in age_lines(micro, found):
            typer.echo(line)
    if not found.fits:
        raise typer.Exit(1)


def age_lines(micro: Any, found: Any) -> list[str]:
    """How a micro-benchmark fits new models, in points; the answer last."""
    known = f" ({found.n_known} source models among them left out)" if found.n_known else ""
    lines = [f"{found.n_models} newly measured models{known}."]
    if found.outside:
        lines.append(f"beyond the full scores of the source models: {', '.join(found.outside[:5])}")
    if found.unlike:
        lines.append(f"answer unlike the source models: {', '.join(found.unlike[:5])}")
    if found.covered == found.covered:  # known
        lines.append(
            f"95 % intervals hold {100 * found.covered:.0f} % of the full scores; estimates are "
            f"{found.bias / micro.point:+.1f} (standard error {found.bias_error / micro.point:.1f})"
            f" points off on average; leaders: predicted {found.predicted:.2f}, ahead "
            f"{found.right:.2f}"
        )
    else:
        lines.append("errors were not checked: that takes scores on the whole benchmark")
    if found.fits:
        return [*lines, "It still fits models like these."]
    reasons = " ".join(reason[0].upper() + reason[1:] for reason in found.reasons)
    return [*lines, f"It no longer fits: {reasons} Refit it: mdad refit MICRO SCORES."]


def refit_command(
    micro: MicroArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Scores of models on the whole benchmark.")
    ],
    out: Annotated[Path, typer.Option(help="File to write.")],
    extend: Annotated[int, typer.Option(help="Items to add to those it has.")] = 0,
    n_jobs: Annotated[int, typer.Option(help="Processes that measure errors.")] = 1,
    overwrite: Annotated[bool, typer.Option(help="Replace what is there.")] = False,
) -> None:
    """Keep a micro-benchmark's items and learn its estimator anew, with more items if asked to."""
    from mdad.ageing import refit  # noqa: PLC0415  # slow to import
    from mdad.microbenchmark import Microbenchmark  # noqa: PLC0415

    targets = targets_of(out, 1, overwrite=overwrite)
    old = Microbenchmark.load(micro)
    bounds = old.benchmark.score_range
    scores = read_scores(file, score_range=None if bounds == (0.0, 1.0) else bounds)
    found = refit(old, scores.complete().scores, extend=extend, n_jobs=n_jobs)
    found.save(targets[0])
    typer.echo(f"{found.size:,} of {found.benchmark.n_items:,} items written to {targets[0]}")
    for line in reliability(found):
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
        f"scores in [{low:g}, {high:g}], {bench.aggregate} mean; estimate: {_estimator(micro)}",
        *reliability(micro),
        f"items fingerprint {bench.items_fingerprint}; file fingerprint {micro.fingerprint}",
    ]
    if made.lineage:
        lines.append(f"refitted from {', '.join(made.lineage)}")
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


def _estimator(micro: Any) -> str:
    """What is made of the scores on the chosen items."""
    name = type(micro.estimator).__name__.removesuffix("Spec").lower()
    if name == "mean":
        return "plain mean" if micro.weights is None else "weighted mean"
    return {
        "linear": "linear predictor",
        "kernel": "kernel regression",
        "difference": "other items imputed, corrected by held-out ones",
        "irt": "other items predicted from the ability",
    }[name]
