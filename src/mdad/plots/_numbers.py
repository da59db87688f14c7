"""Rows behind the figures: measures of results, in points, computed once each."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdad import measures
from mdad._tables import agreement_table
from mdad.intervals import Interval, isotonic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad._tables import Binned
    from mdad.results import Results

__all__ = ["Numbers", "Value", "finite", "nearest"]

NONE = Interval(n_resamples=0)
END = 20.0
"""Points: gaps are drawn this far, as in the paper."""


class Value(NamedTuple):
    """A number and its interval; NaN = none, infinite = not reached."""

    value: float
    low: float
    high: float


class Numbers:
    """Measures in points.

    Parameters
    ----------
    interval : of MDADs; ``Interval(n_resamples=0)`` for none
    """

    def __init__(self, interval: Interval) -> None:
        self.interval = interval
        self.mdads = cache(self._mdads)
        self.binned = cache(self._binned)
        self.errors = cache(self._errors)
        self.agreements = cache(self._agreements)

    def _mdads(
        self, results: Results, items: str = "seen", threshold: float = 0.8
    ) -> dict[tuple[str, int], Value]:
        table = measures.mdad(results, items=[items], threshold=threshold, interval=self.interval)
        point = results.spec.scores.point
        columns = [table[name].fillna(np.inf if name == "mdad" else np.nan) / point
                   for name in ("mdad", "low", "high")]  # fmt: skip
        cells = zip(table["method"], table["size"], strict=True)
        return {cell: Value(*map(float, row)) for cell, *row in zip(cells, *columns, strict=True)}

    def _errors(self, results: Results) -> dict[tuple[str, int], tuple[float, float]]:
        """Estimation error in points and Kendall's tau-b, on seen items."""
        table = measures.errors(results, items=["seen"], interval=NONE)
        rows = zip(
            table["method"], table["size"], table["error"], table["kendall_tau"], strict=True
        )
        point = results.spec.scores.point
        return {(method, size): (error / point, tau) for method, size, error, tau in rows}

    def _agreements(self, results: Results) -> dict[tuple[str, int], float]:
        table = measures.agreement(results, items=["seen"], interval=NONE)
        rows = zip(table["method"], table["size"], table["agreement"], strict=True)
        return {(method, size): float(value) for method, size, value in rows}

    def _binned(self, results: Results) -> Binned:
        """Agreement of every cell by gap on seen items, bins of half a point."""
        return agreement_table(results, "seen", "wrong", NONE)

    def agreement_rows(
        self, results: Results, method: str, size: int, end: float = END
    ) -> list[dict[str, Any]]:
        """Agreement in bins of one point, gaps in points; x is the mean gap of a bin's pairs."""
        table, cell = self.binned(results), _cell(results, method, size)
        point = results.spec.scores.point
        rows = []
        for first in range(0, min(len(table.counts), round(2 * end)), 2):
            both = slice(first, first + 2)
            pairs = table.counts[both]
            if pairs.sum() > 0:
                gap = float(table.position[both] @ pairs / pairs.sum()) / point
                share = float(table.sums[cell, both].sum() / pairs.sum())
                rows.append({"x": gap, "y": share})
        return rows

    def fit_rows(
        self, results: Results, method: str, size: int, end: float
    ) -> list[dict[str, Any]]:
        """The isotonic fit of agreement that the MDAD is read from; gaps in points."""
        table, cell = self.binned(results), _cell(results, method, size)
        gaps = table.position / results.spec.scores.point
        fit = isotonic(table.sums[cell], table.counts)
        return [
            {"x": float(x), "y": float(y)}
            for x, y in zip(gaps, fit, strict=True)
            if x <= end and not math.isnan(y)
        ]

    def trust_rows(
        self, results: Results, method: str, size: int, end: float
    ) -> list[dict[str, Any]]:
        """Trust by observed gap, its isotonic fit; gaps in points."""
        table = measures.trust_curve(results, method, size, interval=NONE)
        point = results.spec.scores.point
        # The last digit of a gap of just that size may be rounded up.
        kept = table[table["mean_gap"] / point <= end * (1 + 1e-9)]
        return [
            {"x": min(float(x) / point, end), "y": float(y)}
            for x, y in zip(kept["mean_gap"], kept["fit"], strict=True)
        ]


def _cell(results: Results, method: str, size: int) -> int:
    """Row of a method and size in a table of agreement."""
    experiment = results.experiment
    place = experiment.methods.index(method) * len(experiment.sizes)
    return place + experiment.sizes.index(size)


def finite(rows: Sequence[dict[str, Any]], key: str = "y") -> list[float]:
    """The values of rows that are numbers."""
    return [row[key] for row in rows if row.get(key) is not None and math.isfinite(row[key])]


def nearest(sizes: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The sizes nearest, by ratio, to those wanted; each once, in order.

    >>> nearest([10, 25, 50, 100, 200], [10, 50, 250, 1000])
    [10, 50, 200]
    """
    near = {min(sizes, key=lambda size: abs(math.log(size / one))) for one in wanted}
    return sorted(near)
