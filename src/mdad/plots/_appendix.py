"""The figures of the paper's appendix: thresholds, and numbers of source models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdad.plots._agreement import facts, main_of, mdad_axis, mdad_rows, paper, results_of, sizes_in
from mdad.plots._axes import Axis, sizes_axis
from mdad.plots._figure import LeftOut, Sketch
from mdad.plots._grids import HEIGHT, measure_axis, measure_rows
from mdad.plots._panels import Part, Rows, below, in_a_row
from mdad.plots._style import DOUBLE, Series, cut, series_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.plots._numbers import Numbers
    from mdad.plots._sources import Benchmark

__all__ = ["number_of_sources", "thresholds"]


def thresholds(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Appendix: MDAD at the thresholds 0.7, 0.8 and 0.9."""
    name = "fig-a1-thresholds"
    there = [benchmark for benchmark in benchmarks if benchmark.main]
    if not there:
        return LeftOut(name, "there is no audit with half of the items seen and subtasks pooled")
    levels = (0.7, 0.8, 0.9)

    def build(inner: float) -> Any:
        each = inner / len(levels)
        return below([_levels_row(b, numbers, levels, each, last=b is there[-1]) for b in there])

    caption = (
        "MDAD against the size at agreement 0.7, 0.8 and 0.9. Open triangles: not reached. "
        + " ".join(facts(b, paper(b.main)) for b in there)
    )
    return Sketch(name, caption, DOUBLE, build, any(b.simulated for b in there))


def _levels_row(
    one: Benchmark, numbers: Numbers, levels: Sequence[float], each: float, *, last: bool
) -> Any:
    by = paper(one.main)
    data = [mdad_rows(numbers, by, threshold=level, band=False) for level in levels]
    y = mdad_axis([row for rows in data for row in rows])
    x = sizes_axis(sizes_in(by), one.pool, title=last)
    words = (cut(one.name, 16), "MDAD (points)")
    parts = [
        Part(f"agreement {level:g}", rows, series_of(list(by)), x)
        for level, rows in zip(levels, data, strict=True)
    ]
    return in_a_row(parts, y.retitled(*words), (each, HEIGHT))


def number_of_sources(benchmarks: Sequence[Benchmark], numbers: Numbers) -> list[Sketch | LeftOut]:
    """Appendix: all measures against the number of source models, a column for each size."""
    name = "fig-a2-source-models"
    there = [b for b in benchmarks if len(b.sources) > 2]  # noqa: PLR2004  # a line needs some
    if not there:
        return [
            LeftOut(
                name,
                "there are no audits with three or more numbers of source models (mdad audit "
                "--preset paper-sources)",
            )
        ]
    first = main_of(there)
    there.sort(key=lambda b: b is not first)
    return [
        _sources(name if i == 0 else f"{name}-{i + 1}", b, numbers) for i, b in enumerate(there)
    ]


def _sources(name: str, one: Benchmark, numbers: Numbers) -> Sketch:
    common = [sizes_in(paper(by)) for by in one.sources.values()]
    sizes = sorted(set.intersection(*map(set, common)))[:7]
    methods = list(paper(one.main))
    counts = sorted(one.sources)
    x = Axis(
        ("source models",), 0, max(counts) * 1.08,
        ticks=tuple(float(n) for n in counts if n % 100 == 0 or n == min(counts)),
    )  # fmt: skip
    series: list[Series] = series_of(methods)

    def rows_of(measure: str, size: int) -> Rows:
        return [
            {**row, "x": count}
            for count in counts
            for row in measure_rows(numbers, paper(one.sources[count]), measure)
            if row["x"] == size
        ]

    def build(inner: float) -> Any:
        each, grid = inner / len(sizes), []
        for measure in ("error", "tau", "agreement", "mdad"):
            data = [rows_of(measure, size) for size in sizes]
            y = measure_axis([row for rows in data for row in rows], measure)
            axis = x if measure == "mdad" else x.untitled()
            parts = [
                Part(f"{size:,} items" if measure == "error" else "", rows, series, axis)
                for size, rows in zip(sizes, data, strict=True)
            ]
            grid.append(in_a_row(parts, y, (each, 80)))
        return below(grid)

    caption = (
        "Estimation error, Kendall's tau-b, mean agreement and MDAD against the number of source "
        f"models, a column for each size. {facts(one, one.main)} Smaller numbers of source models "
        f"have {min(len(results_of(by).runs) for by in one.sources.values())} runs or more."
    )
    return Sketch(name, caption, DOUBLE, build, one.simulated)
