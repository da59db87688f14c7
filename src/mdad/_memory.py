"""What an audit needs of memory, worked out before it starts.

An upper estimate from the numbers of models and items and from what methods were measured to hold
at most (``python benchmarks/scale.py memory``). It counts what this machine must have: pages of a
mapped file that workers share are none of it, for the system can take them back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mdad._checks import check_real, counted
from mdad.errors import SettingError
from mdad.splits import n_seen

if TYPE_CHECKING:
    from mdad.experiment import Experiment
    from mdad.scores import ScoreMatrix

__all__ = ["Needs", "Plan", "bytes_of", "check_memory", "memory_plan", "shown"]

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

PROCESS = 220 << 20
"""Python and its libraries, in each process."""

PER_ITEM = 1200
"""Ids of an item in the tables of a run: strings are shared, the tables that hold them are not."""


@dataclass(frozen=True)
class Needs:
    """What a method holds at most while it does a run, in bytes.

    Parameters
    ----------
    cell : for each source model x seen item
    chosen : for each seen item x item of the largest size
    pair : for each pair of seen items
    option : for each source model x seen item x option
    """

    cell: float
    chosen: float = 0
    pair: float = 0
    option: float = 0

    def of(self, n_source: int, pool: int, size: int, n_options: int = 0) -> float:
        """Bytes for so many source models, seen items, items to choose, and options."""
        cells = n_source * pool * (self.cell + self.option * n_options)
        return cells + self.chosen * size * pool + min(self.pair * pool**2, PAIRS)


PAIRS = 3 << 30
"""Above 2 GiB of distances a sample of the items is clustered; with what is made of them."""

_ANCHORS = Needs(16, pair=7)
_IRT = Needs(36)
NEEDS = {
    "random": Needs(1),
    "random-subtasks-equal": Needs(1),
    "random-subtasks-proportional": Needs(1),
    "stratified-confidence": Needs(8),
    "diversity": Needs(24, chosen=26),
    "anchor-points": _ANCHORS,
    "anchor-points-predictor": Needs(16, pair=8, option=36),
    "anchor-ridge": _ANCHORS,
    "tinybenchmarks": _IRT,
    "tinybenchmarks-pirt": _IRT,
    "tinybenchmarks-gpirt": _IRT,
    "irt-information": _IRT,
    "c-optimal": Needs(36),
    "c-optimal-factor": Needs(28),
    "random-ridge": Needs(12),
    "random-aipw": Needs(40),
    "mrmr-ridge": Needs(20),
    "mrmr-kernel-ridge": Needs(20),
    "lasso": Needs(80, chosen=24),
    "auto": Needs(64, pair=7),
    "auto-ability": Needs(64, pair=7),
}
UNKNOWN = Needs(64, chosen=16)
"""Taken for methods of other packages."""


@dataclass(frozen=True)
class Plan:
    """Bytes an audit needs on this machine at most.

    Parameters
    ----------
    scores : of the matrix, in this process
    run : of one run at a time
    largest : the method that needs most in a run
    n_processes, n_workers : processes beside this one, and runs at a time
    """

    scores: float
    run: float
    largest: str
    n_processes: int
    n_workers: int

    @property
    def total(self) -> float:
        """Bytes in all processes together."""
        others = self.n_processes if self.n_workers > 1 or self.n_processes > 1 else 0
        return (1 + others) * PROCESS + self.scores + self.n_workers * self.run

    @property
    def line(self) -> str:
        """The plan in one sentence."""
        at_a_time = "" if self.n_workers == 1 else f" x {self.n_workers} at a time"
        free = available()
        room = "" if free is None else f"; {shown(free)} are free"
        return (
            f"Memory: {shown(self.total)} at most, {shown(self.scores)} of it scores and "
            f"{shown(self.run)} a run{at_a_time} (most for {self.largest}){room}."
        )


def memory_plan(
    scores: ScoreMatrix, experiment: Experiment, n_processes: int, n_workers: int
) -> Plan:
    """What a resolved experiment needs.

    Parameters
    ----------
    scores : complete matrix
    experiment : resolved for these scores
    n_processes, n_workers : processes that do runs, and runs done at a time
    """
    cells = [
        layer.nbytes
        for layer in (scores.values, scores.probabilities, scores.option_probabilities)
        if layer is not None
    ]
    per_cell = sum(cells) / scores.values.size
    n_source, n_target = experiment.n_source or 0, experiment.n_target or 0
    pool = n_seen(scores, experiment.seen)
    options = scores.option_probabilities
    numbers = n_source, pool, max(experiment.sizes), 0 if options is None else options.shape[2]
    needs = {name: NEEDS.get(name, UNKNOWN).of(*numbers) for name in experiment.methods}
    largest = max(needs, key=needs.__getitem__)
    split = per_cell * (n_source * pool + 3 * n_target * scores.n_items)
    run = needs[largest] + split + PER_ITEM * scores.n_items
    return Plan(2.0 * sum(cells), run, largest, n_processes, n_workers)


def bytes_of(memory: str | float) -> float:
    """A size of memory in bytes.

    Raises
    ------
    SettingError
        when it is none.

    >>> bytes_of("4G") == bytes_of("4 GiB") == bytes_of(4 * 2**30)
    True
    """
    if not isinstance(memory, str):
        return check_real("memory", memory, 1, float("inf"))
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise SettingError(f"memory is a size such as 4G or 800M; got {memory!r}.")
    return float(found[1]) * UNITS[found[2].upper()]


def shown(size: float) -> str:
    """A number of bytes for people.

    >>> shown(3 * 2**29), shown(5 * 2**20)
    ('1.5 GiB', '5 MiB')
    """
    if size >= UNITS["G"]:
        return f"{size / UNITS['G']:.1f} GiB"
    return f"{size / UNITS['M']:,.0f} MiB"


def available() -> int | None:
    """Bytes of memory that are free on this machine; None where it does not say."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return None if found is None else int(found[1]) * 1024


def check_memory(plan: Plan, memory: str | float | None) -> None:
    """Refuse what does not fit.

    Raises
    ------
    SettingError
        when the plan needs more; says what would fit.
    """
    if memory is None or plan.total <= (limit := bytes_of(memory)):
        return
    raise SettingError(
        f"this audit needs {shown(plan.total)} of memory and may take {shown(limit)}: "
        f"{shown(plan.scores)} for the scores, {shown(plan.run)} for each of "
        f"{counted(plan.n_workers, 'run')} at a time (most for {plan.largest}), and "
        f"{shown(PROCESS)} for each process. {_fitting(plan, limit)}"
    )


def _fitting(plan: Plan, limit: float) -> str:
    for count in range(plan.n_workers - 1, 0, -1):
        fewer = replace(plan, n_workers=count, n_processes=min(plan.n_processes, count))
        if fewer.total <= limit:
            return (
                f"With {counted(count, 'worker')} (--n-jobs {count}) it needs {shown(fewer.total)}."
            )
    one = replace(plan, n_workers=1, n_processes=1)
    without = replace(one, run=0).total
    if without < limit:
        share = (limit - without) / one.run
        return (
            f"One worker needs {shown(one.total)}. What a run needs grows with source models x "
            f"items: about {share:.0%} of them fit (--n-source), or leave out {plan.largest}."
        )
    return f"The scores alone need {shown(without)}; give more memory, or audit fewer items."
