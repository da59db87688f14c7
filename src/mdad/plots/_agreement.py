"""The paper's figures of agreement against the gap: its figures 1, 2 and 3."""

from __future__ import annotations

import math
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from mdad.plots._axes import Axis, sizes_axis
from mdad.plots._figure import LeftOut, Sketch
from mdad.plots._numbers import END, finite, nearest
from mdad.plots._panels import below, beside, lines
from mdad.plots._style import DOUBLE, SINGLE, cut, series_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.plots._numbers import Numbers
    from mdad.plots._sources import Benchmark, By
    from mdad.results import Results

__all__ = ["facts", "four_benchmarks", "from_agreement", "main_of", "mdad_axis", "mdad_rows",
           "sizes_in", "tau_and_agreement"]  # fmt: skip

Cell = tuple[str, int]
Letters = dict[Cell, str]
FOUR = ("random", "stratified-confidence", "anchor-points", "tinybenchmarks")
LEVEL = 0.8
WIDER, BROADER = 1.8, 1.35
"""A panel of MDADs is so many times as wide as one of agreement: it has seven ticks, not three."""
GAP = ("gap (points)",)


def main_of(benchmarks: Sequence[Benchmark]) -> Benchmark | None:
    """The benchmark of the paper's first figures: MMLU-Pro, or the first there is."""
    there = [benchmark for benchmark in benchmarks if benchmark.main]
    return next((b for b in there if b.name == "MMLU-Pro"), there[0] if there else None)


def sizes_in(by: By) -> list[int]:
    """All sizes of some results, ascending."""
    return sorted({size for results in by.values() for size in results.experiment.sizes})


def those(by: By, methods: Sequence[str]) -> By:
    """Results of some of the methods."""
    return {method: by[method] for method in methods if method in by}


def facts(benchmark: Benchmark, by: By) -> str:
    """What a caption says of the data behind a figure."""
    results = next(iter(by.values()))
    experiment, scores = results.experiment, results.spec.scores
    made_up = "SIMULATED scores, not real models; " if benchmark.simulated else ""
    return (
        f"{benchmark.name}: {made_up}{scores.n_models:,} models x {scores.n_items:,} items, "
        f"{len(results.runs)} runs, {experiment.n_source} source and {experiment.n_target} target "
        f"models, {results.n_items('seen'):,} seen items."
    )


def mdad_rows(
    numbers: Numbers,
    by: By,
    *,
    items: str = "seen",
    threshold: float = LEVEL,
    band: bool = True,
    part: str = "",
) -> list[dict[str, Any]]:
    """MDAD of every method and size."""
    rows = []
    for method, results in by.items():
        for (name, size), found in numbers.mdads(results, items, threshold).items():
            if name == method:
                ends = {"low": found.low, "high": found.high} if band else {}
                rows.append({"series": method, "x": size, "y": found.value, "part": part, **ends})
    return rows


def mdad_axis(rows: Sequence[dict[str, Any]], *, title: bool = True) -> Axis:
    """From 0 to the largest MDAD reached, and somewhat more."""
    top = max(finite(rows), default=10.0) * 1.08
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100) if top <= 6 * s or s == 100)  # noqa: PLR2004
    ticks = tuple(float(i * step) for i in range(int(top / step) + 1))
    return Axis(("MDAD (points)",) if title else (), 0, max(top, step), ticks=ticks)


def _gap_axis(end: float, *, title: bool = True) -> Axis:
    step = 5 if end <= END else 10 if end <= 3 * END else 20
    ticks = tuple(float(i) for i in range(0, int(end) + 1, step))
    return Axis(GAP if title else (), 0, end, ticks=ticks)


def _share_axis(rows: Sequence[dict[str, Any]], *title: str) -> Axis:
    """Of agreement: up to 1, from a tenth at or below the lowest value."""
    low = math.floor(min([*finite(rows), 0.5]) * 10) / 10
    ticks = tuple(round(i / 10, 1) for i in range(int(low * 10), 11) if (10 - i) % 2 == 0)
    return Axis(title, low, 1.005, ticks=ticks, form=".1f")


def tau_and_agreement(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Figure 1: tau looks alike, agreement does not."""
    name, one = "fig-1-tau-and-agreement", main_of(benchmarks)
    by = those(one.main, FOUR) if one else {}
    if one is None or "random" not in by:
        return LeftOut(name, "there is no audit with random sampling, half of the items seen")
    series, sizes = series_of(list(by)), sizes_in(by)
    taus = [
        {"series": method, "x": size, "y": tau}
        for method, results in by.items()
        for (known, size), (_, tau) in numbers.errors(results).items()
        if known == method and not math.isnan(tau)
    ]
    shown = nearest(sizes, (10, 500))
    curves = {size: _agreements(numbers, by, size) for size in shown}
    low = math.floor(min([*finite(taus), 0.5]) * 10) / 10
    tau_axis = Axis(("Kendall's tau-b",), low, 1.0, form=".1f")
    y = _share_axis([row for rows in curves.values() for row in rows], "agreement")

    def build(inner: float) -> Any:
        top = lines(taus, series, sizes_axis(sizes, one.pool), tau_axis, (inner, 120), labels=True)
        half = (SINGLE - 50) / len(shown) - 10
        bottom = [
            lines(
                curves[size],
                series,
                _gap_axis(END),
                y if i == 0 else y.hidden(),
                (half, 110),
                title=f"{size:,} items",
                points=False,
                level=LEVEL,
            )
            for i, size in enumerate(shown)
        ]
        return below([top, beside(bottom, 14)])

    caption = (
        "Top: Kendall's tau-b against the size. Bottom: share of the pairs ordered alike against "
        f"their gap on all seen items, in bins of a point, at {' and '.join(map(str, shown))} "
        f"items; dashed: {LEVEL}. Colours as above. {facts(one, by)}"
    )
    return Sketch(name, caption, SINGLE, build, one.simulated)


def _agreements(numbers: Numbers, by: By, size: int) -> list[dict[str, Any]]:
    return [
        {"series": method, **row}
        for method, results in by.items()
        if size in results.experiment.sizes
        for row in numbers.agreement_rows(results, method, size)
    ]


def from_agreement(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Figure 2: where agreement reaches 0.8 is the MDAD."""
    name, one = "fig-2-from-agreement-to-mdad", main_of(benchmarks)
    by = those(one.main, ("random", "anchor-points")) if one else {}
    if one is None or not by:
        return LeftOut(name, "there is no audit with random sampling or anchor-points")
    series, sizes = series_of(list(by)), sizes_in(by)
    shown = nearest(sizes, (10, 50, 1000))
    mdads = mdad_rows(numbers, by, band=False)
    reached = {(row["series"], row["x"]): row["y"] for row in mdads}
    # Methods audited apart may have other sizes.
    cells = [(m, s) for s in shown for m in by if math.isfinite(reached.get((m, s), math.inf))]
    letters = dict(zip(cells, ascii_lowercase, strict=False))
    widest = max([END, *(reached[cell] for cell in letters)])
    end = END if widest <= END else math.ceil((widest + 2) / 5) * 5.0
    curves = {size: _fits(numbers, by, size, end) for size in shown}
    y = _share_axis([row for rows in curves.values() for row in rows], "agreement (isotonic fit)")

    def build(inner: float) -> Any:
        each = inner / (len(shown) + BROADER)
        panels = [
            lines(
                curves[size],
                series,
                _gap_axis(end),
                y.hidden() if i else y,
                (each, 120),
                title=f"{size:,} items",
                points=False,
                level=LEVEL,
                marks=_crossings(letters, reached, size),
            )
            for i, size in enumerate(shown)
        ]
        marks = [row for size in shown for row in _values(letters, reached, size)]
        axes = sizes_axis(sizes, one.pool), mdad_axis(mdads)
        size = BROADER * each, 120
        last = lines(mdads, series, *axes, size, title="MDAD", labels=True, marks=marks)
        return beside([*panels, last], 12)

    caption = (
        "Agreement against the gap (isotonic fit of the share of pairs ordered alike) at "
        f"{', '.join(map(str, shown))} items; where it reaches {LEVEL} (dashed) is the MDAD, "
        f"lettered. Last panel: MDAD against the size, same letters. {facts(one, by)}"
    )
    return Sketch(name, caption, DOUBLE, build, one.simulated)


def _crossings(letters: Letters, reached: dict[Cell, float], size: int) -> list[dict[str, Any]]:
    """Where the curves of one size reach the threshold; letters left of the first, right of others.

    The curves rise, so there is room above them to the left and below them to the right.
    """
    cells = sorted((cell for cell in letters if cell[1] == size), key=reached.__getitem__)
    return [
        {
            "series": cell[0],
            "x": reached[cell],
            "y": LEVEL,
            "text": letters[cell],
            "at": (9, 10) if i else (-7, -9),
        }
        for i, cell in enumerate(cells)
    ]


def _values(letters: Letters, reached: dict[Cell, float], size: int) -> list[dict[str, Any]]:
    """The same in the panel of MDADs, whose lines fall: the letter of the largest is on top.

    That of a low one stands beside it, not on the axis.
    """
    low = 0.1 * max((reached[cell] for cell in letters), default=0.0)
    cells = sorted((cell for cell in letters if cell[1] == size), key=reached.__getitem__)
    return [
        {
            "series": cell[0],
            "x": size,
            "y": reached[cell],
            "text": letters[cell],
            "at": (7, -9) if i == len(cells) - 1 else (8, 10) if reached[cell] > low else (8, 0),
        }
        for i, cell in enumerate(cells)
    ]


def _fits(numbers: Numbers, by: By, size: int, end: float) -> list[dict[str, Any]]:
    return [
        {"series": method, **row}
        for method, results in by.items()
        if size in results.experiment.sizes
        for row in numbers.fit_rows(results, method, size, end)
    ]


def four_benchmarks(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Figure 3: agreement by size and MDAD, a row for every benchmark."""
    name = "fig-3-agreement-by-benchmark"
    rows = [benchmark for benchmark in benchmarks if benchmark.main]
    if not rows:
        return LeftOut(name, "there is no audit with half of the items seen and subtasks pooled")

    def build(inner: float) -> Any:
        return below([_benchmark_row(b, numbers, inner, last=b is rows[-1]) for b in rows])

    caption = (
        "A row for each benchmark. Agreement against the gap in bins of a point, at five sizes; "
        "dashed: 0.8. Last panel: MDAD against the size; open triangles: not reached. "
        + " ".join(facts(b, paper(b.main)) for b in rows)
    )
    return Sketch(name, caption, DOUBLE, build, any(b.simulated for b in rows))


def paper(by: By) -> By:
    """Results of the paper's methods, in its order; of all methods where there is none."""
    from mdad.presets import PAPER_METHODS  # noqa: PLC0415  # one line, here alone

    return those(by, PAPER_METHODS) or by


def _benchmark_row(one: Benchmark, numbers: Numbers, inner: float, *, last: bool) -> Any:
    by = paper(one.main)
    series, sizes = series_of(list(by)), sizes_in(by)
    shown = nearest(sizes, (10, 25, 50, 100, 250))
    curves = {size: _agreements(numbers, by, size) for size in shown}
    y = _share_axis(
        [row for rows in curves.values() for row in rows], cut(one.name, 16), "agreement"
    )
    each = inner / (5 + WIDER)
    panels = [
        lines(
            curves[size],
            series,
            _gap_axis(END, title=last),
            y if i == 0 else y.hidden(),
            (each, 92),
            title=f"{size:,} items",
            points=False,
            level=LEVEL,
        )
        for i, size in enumerate(shown)
    ]
    mdads = mdad_rows(numbers, by, band=False)
    x = sizes_axis(sizes, one.pool, title=last)
    panels.append(
        lines(mdads, series, x, mdad_axis(mdads), (WIDER * each, 92), title="MDAD", labels=True)
    )
    return beside(panels, 8)


def results_of(by: By) -> Results:
    """Any of some results."""
    return next(iter(by.values()))
