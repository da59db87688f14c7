"""Figures that the paper does not have: our methods, trust, unresolved pairs, splits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._pairs import pairs_of
from mdad.measures import unresolved_share
from mdad.plots._agreement import (
    facts,
    main_of,
    mdad_axis,
    mdad_rows,
    paper,
    results_of,
    sizes_in,
    those,
)
from mdad.plots._axes import Axis, sizes_axis
from mdad.plots._figure import LeftOut, Sketch
from mdad.plots._numbers import END, finite, nearest
from mdad.plots._panels import Part, Rows, in_a_row
from mdad.plots._style import DOUBLE, SINGLE, ordered_series, plain_series, series_of
from mdad.presets import PAPER_METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.plots._numbers import Numbers
    from mdad.plots._sources import Benchmark

__all__ = ["own_methods", "splits", "trust", "unresolved"]

HEIGHT = 130
COLUMNS = 4
LEVEL = 0.95
NO_AUDIT = "there is no audit with half of the items seen and subtasks pooled"


def own_methods(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """MDAD of methods beyond the paper beside random sampling and the paper's best."""
    name = "own-1-methods"
    there = [b for b in benchmarks if set(b.main) - set(PAPER_METHODS)][:COLUMNS]
    if not there:
        return LeftOut(
            name,
            "no method beyond the paper's was audited (mdad audit FILE --methods random,c-optimal)",
        )
    data = []
    for b in there:
        best = _best_of_paper(b, numbers)
        others = [method for method in b.main if method not in PAPER_METHODS]
        data.append(mdad_rows(numbers, those(b.main, ["random", *best, *others])))
    y = mdad_axis([row for rows in data for row in rows])

    parts = [
        Part(b.name, rows, series_of(list(b.main)), sizes_axis(_sizes(rows), b.pool))
        for b, rows in zip(there, data, strict=True)
    ]

    def build(inner: float) -> Any:
        return in_a_row(parts, y, (inner / len(there), HEIGHT), named=True)

    caption = (
        "MDAD with its 95 % interval against the size: methods that are not the paper's, random "
        "sampling, and the best of the paper's methods at the size nearest to 50. "
        + " ".join(facts(b, b.main) for b in there)
    )
    width = SINGLE if len(there) == 1 else DOUBLE
    return Sketch(name, caption, width, build, any(b.simulated for b in there))


def _sizes(rows: Rows) -> list[int]:
    return sorted({row["x"] for row in rows})


def _best_of_paper(one: Benchmark, numbers: Numbers) -> list[str]:
    """The paper's method of the smallest MDAD at the size nearest to 50, but random sampling."""
    known = those(one.main, [m for m in PAPER_METHODS if m != "random"])
    if not known:
        return []
    (size,) = nearest(sizes_in(known), (50,))
    values = {m: numbers.mdads(r).get((m, size)) for m, r in known.items()}
    reached = {m: v.value for m, v in values.items() if v is not None}
    return [min(reached, key=reached.__getitem__)] if reached else []


def trust(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Probability that an observed order is right."""
    name, one = "own-2-trust", main_of(benchmarks)
    if one is None:
        return LeftOut(name, NO_AUDIT)
    methods = [m for m in ("random", *_best_of_paper(one, numbers)) if m in one.main]
    methods += [m for m in one.main if m not in PAPER_METHODS]
    by = those(one.main, methods[:3])
    shown = nearest(sizes_in(by), (10, 50, 250))
    series = ordered_series([str(s) for s in shown], [f"{s:,} items" for s in shown])
    data = {
        method: [
            {"series": str(size), **row}
            for size in shown
            if size in results.experiment.sizes
            for row in numbers.trust_rows(results, method, size, END)
        ]
        for method, results in by.items()
    }
    low = math.floor(min([*finite([r for rows in data.values() for r in rows]), 0.5]) * 10) / 10
    y = Axis(("probability that the", "order is right"), low, 1.005, form=".1f")
    x = Axis(("observed gap (points)",), 0, END, ticks=(0.0, 5.0, 10.0, 15.0, 20.0))

    parts = [Part(method, rows, series, x) for method, rows in data.items()]

    def build(inner: float) -> Any:
        size = (inner / len(by), 120)
        return in_a_row(parts, y, size, points=False, level=LEVEL, spacing=12)

    caption = (
        "Probability that two models are ordered rightly given the gap observed on the "
        f"micro-benchmark (isotonic fit, seen items); dashed: {LEVEL}. {facts(one, by)}"
    )
    width = SINGLE if len(by) == 1 else DOUBLE
    return Sketch(name, caption, width, build, one.simulated)


def unresolved(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """Share of the pairs that are closer than the MDAD."""
    name = "own-3-unresolved-pairs"
    there = [benchmark for benchmark in benchmarks if benchmark.main][:COLUMNS]
    if not there:
        return LeftOut(name, NO_AUDIT)
    data = [_shares_of(b, numbers) for b in there]
    y = Axis(("pairs closer than the MDAD (%)",), 0, 100, ticks=(0.0, 25.0, 50.0, 75.0, 100.0))

    parts = [
        Part(b.name, rows, series_of(list(b.main)), sizes_axis(_sizes(rows), b.pool))
        for b, rows in zip(there, data, strict=True)
    ]

    def build(inner: float) -> Any:
        return in_a_row(parts, y, (inner / len(there), HEIGHT))

    caption = (
        "Share of the compared pairs whose gap on the seen items is below the MDAD: their order "
        "is not reliably preserved (which is not the same as ranked wrongly). "
        + " ".join(facts(b, b.main) for b in there)
    )
    return Sketch(name, caption, DOUBLE, build, any(b.simulated for b in there))


def _shares_of(one: Benchmark, numbers: Numbers) -> Rows:
    rows = []
    for method, results in paper(one.main).items():
        point = results.spec.scores.point
        gaps = pairs_of(results, "seen").gap.ravel() / point
        for (known, size), found in numbers.mdads(results).items():
            if known == method:
                limit = found.value if math.isfinite(found.value) else np.nan
                share = 100 * unresolved_share(gaps, limit)
                rows.append({"series": method, "x": size, "y": share})
    return rows


def splits(benchmarks: Sequence[Benchmark], numbers: Numbers) -> Sketch | LeftOut:
    """MDAD under several splits of the models."""
    name = "own-4-splits"
    one = next((b for b in benchmarks if len(b.splits) > 1), None)
    if one is None:
        return LeftOut(
            name,
            "no split of the models but the random one was audited (mdad audit FILE --split "
            "frontier)",
        )
    first, *others = one.splits.values()
    common = [method for method in first if all(method in by for by in others)]
    methods = [series.key for series in series_of(common)][:COLUMNS]
    if not methods:
        return LeftOut(name, "the splits that were audited have no method in common")
    series = plain_series(list(one.splits), list(one.splits))
    data = [_by_split(one, method, numbers) for method in methods]
    y = mdad_axis([row for rows in data for row in rows])
    pool = results_of(first).n_items("seen")
    parts = [
        Part(method, rows, series, sizes_axis(_sizes(rows), pool))
        for method, rows in zip(methods, data, strict=True)
    ]

    def build(inner: float) -> Any:
        return in_a_row(parts, y, (inner / len(parts), HEIGHT))

    caption = (
        "MDAD against the size when target models are drawn at random, when a family of models is "
        "on one side only (grouped), and when the best models are the targets (frontier). "
        f"{facts(one, first)}"
    )
    width = SINGLE if len(methods) == 1 else DOUBLE
    return Sketch(name, caption, width, build, one.simulated)


def _by_split(one: Benchmark, method: str, numbers: Numbers) -> Rows:
    return [
        {**row, "series": split}
        for split, by in one.splits.items()
        for row in mdad_rows(numbers, those(by, [method]), band=False)
    ]
