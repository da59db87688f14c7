"""Audit: how far apart two models must be before micro-benchmarks rank them correctly."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mdad import measures
from mdad._checks import check_real, counted
from mdad._notebook import shown
from mdad._several import check_each, load_splits, run_each, save_splits, split_kinds
from mdad.errors import SettingError
from mdad.experiment import MIN_TARGET, Experiment
from mdad.intervals import Interval
from mdad.report.summary import summarize
from mdad.runner import run_experiment

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import pandas as pd

    from mdad.experiment import SplitKind, SubtaskMode
    from mdad.measures import Rule, Ties
    from mdad.methods import Form
    from mdad.report.summary import AuditSummary
    from mdad.results import Results
    from mdad.scores import Aggregate, ScoreMatrix
    from mdad.splits import Seen

__all__ = ["Audit", "audit"]


@dataclass(frozen=True)
class Audit:
    """Results of an audit, and the measures computed from them; nothing is run again.

    Scores, gaps and MDADs are in the unit of the score matrix (0/1 scores: fractions). Tables of
    an audit of several splits have the column ``split`` in front.

    Parameters
    ----------
    results : of the audit; of its first split, when there are several
    further : of the other splits, in the order asked for
    """

    results: Results
    further: tuple[Results, ...] = ()

    @property
    def splits(self) -> dict[str, Audit]:
        """An audit of each split alone, by its name."""
        return {part.experiment.split: Audit(part) for part in (self.results, *self.further)}

    def _repr_html_(self) -> str:
        """What a notebook shows: the MDAD of every method and size, in the unit of the scores."""
        facts = self.results.spec.scores
        table = self.mdad(interval=Interval(n_resamples=0))
        rows = [
            (
                row.method,
                *([row.split] if self.further else []),
                f"{row.size:,}",
                row.items,
                "not reached" if math.isnan(row.mdad) else f"{row.mdad:.4g}",
                f"{row.unresolved:.0%}",
            )
            for row in cast("Any", table).itertuples()
        ]
        middle = ("split", "items", "item set") if self.further else ("items", "item set")
        simulated = " (simulated)" if facts.simulated else ""
        said = [
            (
                f"{counted(facts.n_models, 'model')} x {counted(facts.n_items, 'item')}, "
                f"{counted(self.results.experiment.runs, 'run')} of each split: "
                f"{', '.join(self.splits)}; report('audit.html') shows everything"
            )
        ]
        head = ("method", *middle, "MDAD", "pairs closer")
        return shown(f"Audit of {facts.name or 'score matrix'}{simulated}", said, head, rows)

    def _table(
        self, measure: Callable[..., pd.DataFrame], *args: Any, **settings: Any
    ) -> pd.DataFrame:
        """A measure of every split, one below the other."""
        if not self.further:
            return measure(self.results, *args, **settings)
        import pandas as pd  # noqa: PLC0415  # slow to import, not needed for measures

        tables = []
        for kind, alone in self.splits.items():
            table = measure(alone.results, *args, **settings)
            table.insert(0, "split", kind)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def mdad(
        self,
        rule: Rule = "monotone",
        *,
        threshold: float = measures.AGREEMENT_THRESHOLD,
        items: Sequence[str] = ("seen", "unseen"),
        ties: Ties = "wrong",
        interval: Interval | None = None,
    ) -> pd.DataFrame:
        """MDAD of every method and size; see :func:`mdad.measures.mdad`."""
        return self._table(
            measures.mdad, rule=rule, threshold=threshold, items=items, ties=ties, interval=interval
        )

    def agreement(
        self,
        *,
        items: Sequence[str] = ("seen", "unseen"),
        ties: Ties = "wrong",
        interval: Interval | None = None,
    ) -> pd.DataFrame:
        """Mean agreement of every method and size; see :func:`mdad.measures.agreement`."""
        return self._table(measures.agreement, items=items, ties=ties, interval=interval)

    def errors(
        self,
        *,
        items: Sequence[str] = ("seen", "unseen"),
        interval: Interval | None = None,
    ) -> pd.DataFrame:
        """Estimation error and Kendall's tau-b; see :func:`mdad.measures.errors`."""
        return self._table(measures.errors, items=items, interval=interval)

    def curve(
        self,
        method: str,
        size: int,
        *,
        items: str = "seen",
        ties: Ties = "wrong",
        interval: Interval | None = None,
    ) -> pd.DataFrame:
        """Agreement by full-score gap; see :func:`mdad.measures.agreement_curve`."""
        return self._table(
            measures.agreement_curve, method, size, items=items, ties=ties, interval=interval
        )

    def trust(
        self,
        method: str,
        size: int,
        *,
        items: str = "seen",
        interval: Interval = measures.RUNS_ONLY,
    ) -> pd.DataFrame:
        """Trust by observed gap; see :func:`mdad.measures.trust_curve`."""
        return self._table(measures.trust_curve, method, size, items=items, interval=interval)

    def smallest_trustworthy_gap(
        self,
        probability: float = 0.95,
        *,
        items: Sequence[str] = ("seen", "unseen"),
        interval: Interval = measures.RUNS_ONLY,
    ) -> pd.DataFrame:
        """Observed gap to trust; see :func:`mdad.measures.smallest_trustworthy_gap`."""
        return self._table(
            measures.smallest_trustworthy_gap,
            probability=probability,
            items=items,
            interval=interval,
        )

    def summary(
        self,
        rule: Rule = "monotone",
        *,
        threshold: float = measures.AGREEMENT_THRESHOLD,
        ties: Ties = "wrong",
        interval: Interval | None = None,
    ) -> AuditSummary:
        """Everything a report says, as plain numbers and sentences; in points."""
        return summarize(
            self.results,
            *self.further,
            rule=rule,
            threshold=threshold,
            ties=ties,
            interval=interval,
        )

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report: one HTML file that needs no network.

        Raises
        ------
        ResultsError
            when the file cannot be written.
        """
        from mdad.report.html import write_html  # noqa: PLC0415  # loads the chart library

        return write_html(self.summary(), Path(path))

    @property
    def subtasks(self) -> dict[str, Audit]:
        """With separate subtasks, an audit of each; a size is still that of all together."""
        return {
            label: Audit(part, tuple(other.subtasks[label] for other in self.further))
            for label, part in self.results.subtasks.items()
        }

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the results: settings and one Parquet shard per run, in a folder for each split.

        Raises
        ------
        ResultsError
            when the directory holds something else or cannot be written.
        """
        if self.further:
            save_splits((self.results, *self.further), Path(directory))
        else:
            self.results.save(directory)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Audit:
        """Read what :meth:`save`, or ``audit(..., out=directory)``, wrote.

        Raises
        ------
        ResultsError
            when there is nothing of the kind, or it is damaged or not finished.
        """
        first, *further = load_splits(Path(directory))
        return cls(first, tuple(further))


def audit(
    scores: ScoreMatrix,
    *,
    methods: Sequence[str] = (),
    sizes: Sequence[int] = (),
    fractions: Sequence[float] = (),
    runs: int = 50,
    n_source: int | None = None,
    n_target: int | None = None,
    targets: Sequence[str] | str = (),
    split: SplitKind | Sequence[SplitKind] = "random",
    groups: str = "",
    seen: Seen = "half",
    subtasks: SubtaskMode = "pooled",
    aggregate: Aggregate = "micro",
    form: Form = "default",
    seed: int = 0,
    max_missing: float = 0.05,
    n_jobs: int | None = None,
    backend: Any = "processes",
    scheduler: str | None = None,
    memory: str | float | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """Measure how far micro-benchmarks of this benchmark can be trusted.

    Parameters
    ----------
    scores : models x items; 15 models or more
    methods, sizes, fractions, runs, n_source, n_target, seen, subtasks, aggregate, form, seed :
        see :class:`mdad.experiment.Experiment`
    split, groups : the same; several splits are done one after another, with the same items, and
        stand side by side in every table (``groups`` belongs to the grouped one)
    targets : fixed target models: ids, or one regular expression that is searched for in the ids
    max_missing : models that miss more than this share of the items are dropped, then items that
        are still incomplete; the report lists both
    n_jobs, backend, scheduler, memory, out, progress, tell :
        see :func:`mdad.runner.run_experiment`

    Raises
    ------
    ScoresError, SettingError, MethodError
        when the experiment cannot be done on these scores.
        With several splits the error names the one that cannot be; the others are finished first,
        unless that can be told before any run is done.
    ResultsError
        when ``out`` holds another experiment or cannot be written.
    BackendError
        when there are no workers, or they die.

    Examples
    --------
    >>> from mdad.datasets import simulate
    >>> result = audit(simulate(n_models=40, n_items=200, seed=1), sizes=[20, 50], runs=5)
    >>> table = result.mdad(items=["seen"])
    >>> bool(table.mdad[0] > table.mdad[1])
    True
    """
    completed = scores.complete(check_real("max_missing", max_missing, 0, 1))
    kinds = split_kinds(split)

    one = Experiment(
        methods=tuple(methods),
        sizes=tuple(sizes),
        fractions=tuple(fractions),
        runs=runs,
        n_source=n_source,
        n_target=n_target,
        targets=matching(completed.scores.models, targets),
        seen=seen,
        subtasks=subtasks,
        aggregate=aggregate,
        form=form,
        seed=seed,
    )

    def made(kind: SplitKind) -> Experiment:
        # Of several splits the grouped one alone has families.
        own = groups if kind == "grouped" or "grouped" not in kinds else ""
        return replace(one, split=kind, groups=own)

    do = partial(
        run_experiment,
        completed,
        n_jobs=n_jobs,
        backend=backend,
        scheduler=scheduler,
        memory=memory,
        tell=tell,
    )
    if len(kinds) == 1:
        return Audit(do(made(*kinds), out=out, progress=progress))
    experiments = check_each(kinds, made, completed.scores)
    first, *further = run_each(experiments, do, None if out is None else Path(out), progress)
    return Audit(first, tuple(further))


def matching(models: Sequence[str], targets: Sequence[str] | str) -> tuple[str, ...]:
    """Target models: those named, or those in whose id a regular expression is found.

    Raises
    ------
    SettingError
        when the expression is not one, or matches fewer than two models.

    >>> matching(["llama-8b", "llama-70b", "qwen-8b"], r"-8b$")
    ('llama-8b', 'qwen-8b')
    """
    if not isinstance(targets, str):
        return tuple(targets)
    try:
        pattern = re.compile(targets)
    except re.error as error:
        raise SettingError(f"targets {targets!r} is no regular expression: {error}.") from None
    found = tuple(model for model in models if pattern.search(model))
    if len(found) < MIN_TARGET:
        raise SettingError(
            f"targets {targets!r} is found in {counted(len(found), 'model id')}; two or more are "
            "needed to compare."
        )
    return found
