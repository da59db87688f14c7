"""What inner experiments at neighbouring sizes say together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mdad._method import Candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]

Tried = dict[str, FloatArray]
"""Agreements of each candidate in the runs of one inner experiment, shape (2, runs): an estimated
tie counts a quarter, or half."""


@dataclass(frozen=True)
class Lead:
    """How far one candidate is ahead of another.

    Parameters
    ----------
    mean : of the difference of agreements
    standard_error : over the inner runs; NaN where it is not known
    """

    mean: float
    standard_error: float

    def exceeds(self, errors: float) -> bool:
        """Whether the lead is more than so many standard errors."""
        error = 0.0 if math.isnan(self.standard_error) else self.standard_error
        return self.mean > errors * error


@dataclass(frozen=True)
class Evidence:
    """Candidates compared at one or more sizes.

    Parameters
    ----------
    names : of the candidates; random ones first, the safest of them at 0
    tried : weight and agreements of each size, that asked for first. A candidate that was not
        tried at a size is judged by the others
    """

    names: Sequence[str]
    tried: Sequence[tuple[float, Tried]]

    @property
    def runs(self) -> int:
        """Number of inner runs at the size asked for."""
        return int(next(iter(self.tried[0][1].values())).shape[1])

    def lead(self, name: str, other: str, *, ties: int = 0) -> Lead:
        """How far ``name`` is ahead of ``other``, ties counting a quarter (0) or half (1)."""
        gaps = ((w, t[name][ties] - t[other][ties]) for w, t in self.tried if name in t)
        both = [(weight, gap) for weight, gap in gaps if len(gap)]
        total = sum(weight for weight, _ in both)
        mean = sum(weight * float(gap.mean()) for weight, gap in both) / total
        if any(len(gap) == 1 for _, gap in both):
            return Lead(mean, math.nan)
        squares = (w**2 * float(gap.var(ddof=1)) / len(gap) for w, gap in both)
        return Lead(mean, math.sqrt(sum(squares)) / total)

    def best(self, n_random: int, caution: float) -> tuple[int, str]:
        """Position of the candidate to take, and why.

        Parameters
        ----------
        n_random : number of random candidates
        caution : standard errors by which a learned one must lead
        """
        first = self.names[0]
        means = [self.lead(name, first).mean for name in self.names]
        safe = int(np.argmax(means[:n_random]))
        if not self.lead(self.names[safe], first).exceeds(1.0):
            safe = 0
        best = n_random + int(np.argmax(means[n_random:]))
        # A lead that comes of never tying alone is none.
        confirmed = self.lead(self.names[best], "random", ties=1).mean > 0
        if confirmed and self.lead(self.names[best], self.names[safe]).exceeds(caution):
            return best, "it leads the random methods in the inner experiment."
        return safe, "no learned method leads the random ones in the inner experiment."

    def table(self) -> tuple[Candidate, ...]:
        """Every candidate, best first; leads are over the plain random mean."""
        rows = []
        for name in self.names:
            lead = self.lead(name, "random")
            agreement = float(self.tried[0][1][name][0].mean())
            rows.append(Candidate(name, agreement, lead.mean, lead.standard_error))
        return tuple(sorted(rows, key=lambda row: -row.lead))
