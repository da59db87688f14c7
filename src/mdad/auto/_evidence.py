"""What inner experiments at neighbouring sizes say together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._method import Candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdad.auto._inner import InnerRun

FloatArray = npt.NDArray[np.float64]

ALIKE = 1.0
"""Standard errors within which two learned methods are alike."""


@dataclass(frozen=True, eq=False)
class Tried:
    """What the inner runs found of the candidates at one size.

    Parameters
    ----------
    names : of the candidates
    pairs : array of shape (n_runs, n_models), share of a run's pairs that each model is in
    agreements : array of shape (n_candidates, 2, n_runs); an estimated tie counts a quarter, and
        half
    by_model : array of shape (n_candidates, 2, n_runs, n_models), parts of the agreement by model;
        see :class:`mdad.auto._inner.Outcome`
    """

    names: tuple[str, ...]
    pairs: FloatArray
    agreements: FloatArray
    by_model: FloatArray

    @classmethod
    def of(cls, names: Sequence[str], runs: Sequence[InnerRun]) -> Tried:
        """Put inner runs together."""
        agreements = [[run.outcomes[name].agreement for run in runs] for name in names]
        by_model = [[run.outcomes[name].by_model for run in runs] for name in names]
        if not runs:
            return cls(tuple(names), np.empty((0, 0)), np.empty((0, 2, 0)), np.empty((0, 2, 0, 0)))
        return cls(
            tuple(names),
            np.array([run.pairs for run in runs]),
            np.array(agreements).transpose(0, 2, 1),
            np.array(by_model).transpose(0, 2, 1, 3),
        )

    @property
    def runs(self) -> int:
        """Number of inner runs."""
        return len(self.pairs)

    @cached_property
    def place(self) -> dict[str, int]:
        """Candidates by name."""
        return {name: i for i, name in enumerate(self.names)}


@dataclass(frozen=True)
class Lead:
    """How far one candidate is ahead of another.

    Parameters
    ----------
    mean : of the difference of agreements
    standard_error : for other models of the kind; NaN of a single run
    """

    mean: float
    standard_error: float

    @property
    def error(self) -> float:
        """The standard error, 0 where it is not known."""
        return 0.0 if math.isnan(self.standard_error) else self.standard_error

    def exceeds(self, errors: float) -> bool:
        """Whether the lead is more than so many standard errors."""
        return self.mean > errors * self.error


@dataclass(frozen=True, eq=False)
class Evidence:
    """Candidates compared at one or more sizes.

    Parameters
    ----------
    names : of the candidates; random ones first, the safest of them at 0, then the learned ones,
        those to be preferred first
    tried : weight and findings of each size, that asked for first. A candidate that was not tried
        at a size is judged by the others
    """

    names: Sequence[str]
    tried: Sequence[tuple[float, Tried]]

    @property
    def runs(self) -> int:
        """Number of inner runs at the size asked for."""
        return self.tried[0][1].runs

    def lead(self, name: str, other: str, *, ties: int = 0) -> Lead:
        """How far ``name`` is ahead of ``other``, ties counting a quarter (0) or half (1).

        Inner runs share models, so that the standard deviation over runs understates what other
        models would change. The standard error is the larger of that over runs and of one that
        lets a model's pairs, in all runs and sizes, vary together (dyadic clusters [1]_).

        References
        ----------
        .. [1] M. Fafchamps and F. Gubert, "The formation of risk sharing networks", Journal of
           Development Economics 83 (2007).
        """
        both = [(w, t) for w, t in self.tried if name in t.place and other in t.place and t.runs]
        total = sum(weight for weight, _ in both)
        most = max(tried.runs for _, tried in both)
        mean, by_run = 0.0, np.zeros(most)
        by_model = np.zeros(both[0][1].pairs.shape[1])
        for weight, tried in both:
            one, two = tried.place[name], tried.place[other]
            gap = tried.agreements[one, ties] - tried.agreements[two, ties]
            parts = tried.by_model[one, ties] - tried.by_model[two, ties]
            share, here = weight / total, float(gap.mean())
            mean += share * here
            by_run[: tried.runs] += share / tried.runs * (gap - here)
            by_model += share / tried.runs * (parts - here * tried.pairs).sum(axis=0)
        if min(tried.runs for _, tried in both) == 1:
            return Lead(mean, math.nan)
        over_runs = float(by_run @ by_run) * most / (most - 1)
        return Lead(mean, math.sqrt(max(over_runs, float(by_model @ by_model))))

    def best(self, n_random: int, caution: float) -> tuple[int, str]:
        """Position of the candidate to take, and why.

        Parameters
        ----------
        n_random : number of random candidates
        caution : standard errors by which a learned one must lead
        """
        safe = self._safe(n_random)
        leads = {
            i: self.lead(self.names[i], self.names[safe]) for i in range(n_random, len(self.names))
        }
        # A lead that comes of never tying alone is none.
        sure = [
            i
            for i, lead in leads.items()
            if lead.exceeds(caution) and self.lead(self.names[i], "random", ties=1).mean > 0
        ]
        if not sure:
            return safe, "no learned method leads the random ones in the inner experiment."
        first = max(sure, key=lambda i: leads[i].mean)
        for i in sure:
            # Of methods that cannot be told apart, the preferred one.
            if not self.lead(self.names[first], self.names[i]).exceeds(ALIKE):
                return i, "it leads the random methods in the inner experiment."
        return first, "it leads the random methods in the inner experiment."

    def _safe(self, n_random: int) -> int:
        """The first random method, or the best of the others where that leads it clearly."""
        first = self.names[0]
        means = [self.lead(name, first).mean for name in self.names[:n_random]]
        best = int(np.argmax(means))
        return best if self.lead(self.names[best], first).exceeds(1.0) else 0

    def table(self) -> tuple[Candidate, ...]:
        """Every candidate, best first; leads are over the plain random mean."""
        rows, (_, tried) = [], self.tried[0]
        for name in self.names:
            lead = self.lead(name, "random")
            agreement = float(tried.agreements[tried.place[name], 0].mean())
            rows.append(Candidate(name, agreement, lead.mean, lead.standard_error))
        return tuple(sorted(rows, key=lambda row: -row.lead))
