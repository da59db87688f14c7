"""What the experiments on one benchmark showed, in the words of the rules that judge claims."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mdad import measures
from mdad.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mdad.results import Results

__all__ = ["LEARNED", "Cell", "Measured", "as_points"]

LEARNED = ("stratified-confidence", "diversity", "anchor-points", "tinybenchmarks")
"""The paper's methods that look at the source models."""

NONE = Interval(n_resamples=0)
MAIN = "main"
MIDDLE = 250
"""The size from which the paper calls random sampling competitive."""

Cell = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Measured:
    """Experiments on one benchmark, by name of the part.

    Parameters
    ----------
    benchmark : key of the benchmark, "mmlu-pro" for one
    parts : results by part: "main", "separate", "sources-50", "fixed-8B", "all-seen"
    simulated : whether the scores are a simulated stand-in
    absent : for a part that could not be done, the reason

    Notes
    -----
    MDADs are in points, by the rule "monotone" with an estimated tie counted as wrong, and infinite
    where the threshold is not reached.
    """

    benchmark: str
    parts: Mapping[str, Results]
    simulated: bool = False
    absent: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _mdads(self) -> dict[tuple[str, str], dict[Cell, float]]:
        return {}

    def mdads(self, part: str = MAIN, items: str = "seen") -> dict[Cell, float]:
        """MDAD of every method and size of a part."""
        if (part, items) not in self._mdads:
            results = self.parts[part]
            table = measures.mdad(results, items=[items], interval=NONE)
            values = as_points(table["mdad"].fillna(np.inf), results)
            cells = zip(table["method"], table["size"], strict=True)
            self._mdads[part, items] = dict(zip(cells, values, strict=True))
        return self._mdads[part, items]

    def at(self, method: str, size: int, items: str = "seen", part: str = MAIN) -> float:
        """MDAD of one method and size."""
        return self.mdads(part, items)[method, size]

    @cached_property
    def taus(self) -> dict[Cell, float]:
        """Mean Kendall's tau-b on seen items, of every method and size of the main part."""
        results = self.parts[MAIN]
        each = measures.kendall_tau(results, "seen")
        # A mean of nothing but undefined values is undefined.
        sums, numbers = np.nansum(each, axis=-1), (~np.isnan(each)).sum(axis=-1)
        with np.errstate(invalid="ignore"):
            means = sums / numbers
        experiment = results.experiment
        return {
            (method, size): float(means[m, s])
            for m, method in enumerate(experiment.methods)
            for s, size in enumerate(experiment.sizes)
        }

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods of the main part, in the paper's order."""
        return self.parts[MAIN].experiment.methods

    @property
    def learned(self) -> tuple[str, ...]:
        """Those that look at the source models."""
        return tuple(method for method in self.methods if method in LEARNED)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the main part."""
        return self.parts[MAIN].experiment.sizes

    @property
    def middle(self) -> int:
        """250, or the largest size below it; the smallest of all where none is."""
        return max((size for size in self.sizes if size <= MIDDLE), default=min(self.sizes))

    def best(self, size: int, among: tuple[str, ...] = (), part: str = MAIN) -> str:
        """The method of the smallest MDAD on seen items."""
        known = among or self.parts[part].experiment.methods
        return min(known, key=lambda method: self.at(method, size, part=part))

    def gaps(self, part: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Gaps between the target models of a part's first run, on all items, in points."""
        results = self.parts[part]
        scores = results.full("all")[0] / results.spec.scores.point
        upper = np.triu_indices(len(scores), 1)
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = np.abs(
            scores[:, None] - scores[None, :]
        )[upper]
        return found

    def common_runs(self, one: str, other: str) -> Measured:
        """The same with two parts cut to the number of runs that both have."""
        number = min(len(self.parts[one].runs), len(self.parts[other].runs))
        cut = {name: _taken(self.parts[name], slice(number)) for name in (one, other)}
        return replace(self, parts={**self.parts, **cut})

    def halves(self) -> tuple[Measured, ...]:
        """The even and the odd runs alone; nothing where a part has one run."""
        if any(len(results.runs) < 2 for results in self.parts.values()):  # noqa: PLR2004  # a pair
            return ()
        return tuple(
            replace(
                self,
                parts={
                    name: _taken(results, slice(start, None, 2))
                    for name, results in self.parts.items()
                },
            )
            for start in (0, 1)
        )


def _taken(results: Results, runs: slice) -> Results:
    return replace(results, runs=results.runs[runs])


def as_points(values: object, results: Results) -> list[float]:
    """Gaps in the unit of the scores as points."""
    points: list[float] = (
        np.asarray(values, dtype=np.float64) / results.spec.scores.point
    ).tolist()
    return points
