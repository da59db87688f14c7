"""The paper's figures of measures against the size: its figures 4 to 6."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad.plots._agreement import (
    FOUR,
    facts,
    mdad_axis,
    mdad_rows,
    paper,
    results_of,
    sizes_in,
    those,
)
from mdad.plots._axes import ROOM, Axis, sizes_axis
from mdad.plots._figure import LeftOut, Sketch
from mdad.plots._numbers import finite
from mdad.plots._panels import Part, Rows, bars, below, beside, in_a_row, lines
from mdad.plots._style import DOUBLE, SINGLE, plain_series, series_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdad.plots._numbers import Numbers
    from mdad.plots._sources import Benchmark, By

__all__ = [
    "HEIGHT",
    "fixed_targets",
    "measure_axis",
    "measure_rows",
    "measures_by_benchmark",
    "measures_by_fraction",
    "seen_and_unseen",
    "seen_and_unseen_in_one",
    "seen_and_unseen_separate",
]

HEIGHT = 92
MEASURES = ("error", "tau", "mdad")


def measure_rows(numbers: Numbers, by: By, measure: str) -> Rows:
    if measure == "mdad":
        return mdad_rows(numbers, by)
    if measure == "agreement":
        return [
            {"series": method, "x": size, "y": value}
            for method, results in by.items()
            for (known, size), value in numbers.agreements(results).items()
            if known == method
        ]
    position = ("error", "tau").index(measure)
    return [
        {"series": method, "x": size, "y": values[position]}
        for method, results in by.items()
        for (known, size), values in numbers.errors(results).items()
        if known == method and np.isfinite(values[position])
    ]


def measure_axis(rows: Rows, measure: str) -> Axis:
    if measure == "mdad":
        return mdad_axis(rows)
    if measure == "error":
        return Axis(("error (points)",), 0, max(finite(rows), default=1.0) * 1.08)
    name = {"tau": "Kendall's tau-b", "agreement": "agreement"}[measure]
    low = np.floor(min(finite(rows), default=0.0) * 5) / 5
    return Axis((name,), float(low), 1.0, form=".1f")


def measures_by_benchmark(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Figure 4: estimation error, tau and MDAD against the size."""
    name = "fig-4-measures"
    there = [benchmark for benchmark in benchmarks if benchmark.main]
    if not there:
        return LeftOut(name, "there is no audit with half of the items seen and subtasks pooled")
    columns = [(b.name, paper(b.main), _sizes_of(b)) for b in there]
    caption = (
        "Estimation error (mean difference of estimate and full score), Kendall's tau-b and MDAD "
        "with its 95 % interval, against the size. Open triangles: not reached. "
        + " ".join(facts(b, paper(b.main)) for b in there)
    )
    build = _grid(columns, numbers, MEASURES)
    return Sketch(name, caption, DOUBLE, build, any(b.simulated for b in there))


def _sizes_of(benchmark: Benchmark) -> Axis:
    return sizes_axis(sizes_in(paper(benchmark.main)), benchmark.pool)


def _grid(
    columns: Sequence[tuple[str, By, Axis]], numbers: Numbers, rows: Sequence[str]
) -> Callable[[float], Any]:
    """A row for each measure, a column for each benchmark; names at the last column."""

    def build(inner: float) -> Any:
        each = inner / len(columns)
        grid = []
        for measure in rows:
            values = [_at(by, measure_rows(numbers, by, measure)) for _, by, _ in columns]
            y = measure_axis([row for part in values for row in part], measure)
            parts = [
                Part(
                    title if measure == rows[0] else "",
                    part,
                    series_of(list(by)),
                    x if measure == rows[-1] else x.untitled(),
                )
                for (title, by, x), part in zip(columns, values, strict=True)
            ]
            grid.append(in_a_row(parts, y, (each, HEIGHT)))
        return below(grid)

    return build


def measures_by_fraction(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """The variant of figure 4 with a micro-benchmark of each subtask."""
    name = "fig-4b-measures-separate-subtasks"
    there = [benchmark for benchmark in benchmarks if benchmark.separate]
    if not there:
        return LeftOut(
            name, "there is no audit with separate subtasks (mdad audit --preset paper-separate)"
        )
    columns = [(b.name, paper(b.separate), _shares(paper(b.separate))) for b in there]
    caption = (
        "The same with a micro-benchmark of each subtask, against the share of the seen items. "
        + " ".join(facts(b, b.separate) for b in there)
    )
    build = _grid(columns, numbers, MEASURES)
    return Sketch(name, caption, DOUBLE, build, any(b.simulated for b in there))


def _at(by: By, rows: Rows) -> Rows:
    """Rows against the share of the seen items where sizes are shares of them."""
    experiment = results_of(by).experiment
    if not experiment.fractions:
        return rows
    share = dict(zip(experiment.sizes, experiment.fractions, strict=True))
    return [{**row, "x": 100 * share[row["x"]]} for row in rows]


def _shares(by: By) -> Axis:
    """Logarithmic, a tick at each share of the seen items in per cent, below it their number."""
    experiment = results_of(by).experiment
    shares = [100 * fraction for fraction in experiment.fractions]
    labels = {
        share: (f"{share:.3g}", f"{size:,}")
        for share, size in zip(shares, experiment.sizes, strict=True)
    }
    words = ("% of the seen items, and", "below it their number")
    ends = (min(shares) / 1.15, max(shares) * ROOM)
    return Axis(words, *ends, log=True, ticks=tuple(labels), labels=labels)


def fixed_targets(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Figure 5: models of one size class."""
    name = "fig-5-fixed-targets"
    groups = [
        (b, group, b.fixed[group]) for b in benchmarks for group in sorted(b.fixed, key=_number)
    ]
    if not groups:
        return LeftOut(
            name, "there is no audit with fixed target models (mdad audit --targets '/PATTERN/')"
        )

    def build(inner: float) -> Any:
        return below(
            [
                _group_row(f"{b.name} {group}", by, numbers, inner, last=by is groups[-1][2])
                for b, group, by in groups
            ]
        )

    stand_in = any(b.simulated for b, _, _ in groups)
    caption = (
        "A row for each group of fixed target models: (a) their full scores, in bins of 2.5 "
        "points; (b) gaps of their pairs, in bins of a point, in colour those below the MDAD of "
        "random sampling at the size nearest to 100; (c) MDAD against the size. "
        + ("Groups of simulated models are stand-ins chosen by rank. " if stand_in else "")
        + " ".join(facts(b, by) for b, _, by in groups)
    )
    return Sketch(name, caption, DOUBLE, build, stand_in)


def _number(name: str) -> tuple[int, str]:
    """By the number a name begins with: 8B before 70B."""
    found = re.match(r"\d{1,9}", name)
    return (int(found[0]) if found else 0, name)


def _group_row(title: str, by: By, numbers: Numbers, inner: float, *, last: bool) -> Any:
    four = those(by, FOUR) or by
    results = results_of(four)
    low, point = results.spec.scores.score_range[0], results.spec.scores.point
    scores = (results.full("all")[0] - low) / point
    upper = np.triu_indices(len(scores), 1)
    gaps = np.abs(scores[:, None] - scores[None, :])[upper]
    sizes = sizes_in(four)
    middle = min(sizes, key=lambda size: abs(np.log(size / 100)))
    method = "random" if "random" in four else next(iter(four))
    limit = numbers.mdads(four[method])[method, middle].value
    accuracies = _histogram(scores, 2.5)
    pairs = [{**row, "mark": row["x2"] <= limit + 1e-9} for row in _histogram(gaps, 1.0)]
    mdads = mdad_rows(numbers, four)
    each, height = inner / 3.1, HEIGHT - 12
    words = {True: (("full score (points)",), ("gap of a pair (points)",)), False: ((), ())}[last]
    pool = results.n_items("seen")
    return beside(
        [
            bars(accuracies, _bin_axis(accuracies, words[0]), (0.9 * each, height),
                 title=f"(a) {title}", y_title=("models",), top=_top(accuracies)),
            bars(pairs, _bin_axis(pairs, words[1]), (each, height),
                 title="(b) gaps", y_title=("pairs",), top=_top(pairs)),
            lines(mdads, series_of(list(four)), sizes_axis(sizes, pool, title=last),
                  mdad_axis(mdads), (1.2 * each, height), title="(c) MDAD", labels=True),
        ],
        12,
    )  # fmt: skip


def _histogram(values: np.ndarray[Any, np.dtype[np.float64]], width: float) -> Rows:
    first = np.floor(values.min() / width + 1e-9)
    places = np.floor(values / width + 1e-9) - first
    counts = np.bincount(places.astype(int))
    return [
        {"x": float((first + i) * width), "x2": float((first + i + 1) * width), "y": int(count),
         "mark": True}
        for i, count in enumerate(counts)
    ]  # fmt: skip


def _top(rows: Rows) -> float:
    return float(max(row["y"] for row in rows)) * 1.05


def _bin_axis(rows: Rows, title: tuple[str, ...]) -> Axis:
    low, high = rows[0]["x"], rows[-1]["x2"]
    step = next(step for step in (1, 2, 5, 10, 20, 50) if (high - low) / step <= 6)  # noqa: PLR2004
    first = int(np.ceil(low / step))
    ticks = tuple(float(i * step) for i in range(first, int(high / step) + 1))
    return Axis(title, low, high, ticks=ticks)


def seen_and_unseen(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Figure 6: MDAD on seen (solid) and unseen (dashed) items."""
    there = [b for b in benchmarks if b.main and results_of(b.main).n_items("unseen")]
    columns = [(b, paper(b.main), sizes_axis(sizes_in(paper(b.main)), b.pool)) for b in there]
    return _both("fig-6-seen-and-unseen", columns, numbers, "subtasks pooled")


def seen_and_unseen_separate(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Its variant with a micro-benchmark of each subtask."""
    there = [b for b in benchmarks if b.separate and results_of(b.separate).n_items("unseen")]
    columns = [(b, paper(b.separate), _shares(paper(b.separate))) for b in there]
    return _both("fig-6c-seen-and-unseen-separate", columns, numbers, "separate subtasks")


def _both(
    name: str, columns: Sequence[tuple[Benchmark, By, Axis]], numbers: Numbers, what: str
) -> Sketch | LeftOut:
    if not columns:
        return LeftOut(name, f"there is no audit with unseen items and {what}")
    data = [_at(by, _solid_and_dashed(numbers, by)) for _, by, _ in columns]

    y = mdad_axis([row for rows in data for row in rows])
    parts = [
        Part(one.name, rows, series_of(list(by)), x)
        for (one, by, x), rows in zip(columns, data, strict=True)
    ]

    def build(inner: float) -> Any:
        return in_a_row(parts, y, (inner / len(parts), 130))

    caption = (
        f"MDAD against the size on seen items (solid) and on unseen items (dashed), {what}. Open "
        "triangles: not reached. " + " ".join(facts(b, by) for b, by, _ in columns)
    )
    return Sketch(name, caption, DOUBLE, build, any(b.simulated for b, _, _ in columns))


def _solid_and_dashed(numbers: Numbers, by: By) -> Rows:
    return [
        *mdad_rows(numbers, by, band=False),
        *mdad_rows(numbers, by, items="unseen", band=False, part="dashed"),
    ]


def seen_and_unseen_in_one(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Its variant with all benchmarks in one panel, for random sampling."""
    name = "fig-6b-seen-and-unseen-in-one"
    there = [b for b in benchmarks if "random" in b.main and b.main["random"].n_items("unseen")]
    if len(there) < 2:  # noqa: PLR2004  # to compare
        return LeftOut(name, "it compares benchmarks, and there are audits of fewer than two")
    series = plain_series([b.name for b in there], [b.name for b in there])
    rows = [
        {**row, "series": b.name}
        for b in there
        for row in _solid_and_dashed(numbers, {"random": b.main["random"]})
    ]
    sizes = sorted({row["x"] for row in rows})
    ticks = {float(size): (f"{size / 1000:g}k" if size >= 1000 else str(size),) for size in sizes}  # noqa: PLR2004
    x = sizes_axis(sizes, 1).with_labels(("items",), ticks)

    def build(inner: float) -> Any:
        return lines(rows, series, x, mdad_axis(rows), (inner, 150), labels=True)

    caption = (
        "MDAD of random sampling against the size on seen items (solid) and on unseen items "
        "(dashed). " + " ".join(facts(b, {"random": b.main["random"]}) for b in there)
    )
    return Sketch(name, caption, SINGLE, build, any(b.simulated for b in there))
