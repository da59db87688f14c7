"""The audits that figures are drawn from, sorted by benchmark and by what was varied."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mdad._checks import listed
from mdad.errors import ResultsError, SettingError
from mdad.plots._style import cut
from mdad.presets import PAPER_METHODS
from mdad.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mdad.experiment import Experiment

__all__ = ["Benchmark", "HasResults", "benchmarks_of", "found"]

ORDER = ("MMLU", "MMLU-Pro", "BBH", "GPQA")
"""The paper's benchmarks in the order of its figures."""


class HasResults(Protocol):
    """An audit."""

    @property
    def results(self) -> Results:
        """Of its first split."""


By = dict[str, Results]


@dataclass
class Benchmark:
    """Everything that is known about one benchmark.

    Parameters
    ----------
    name : as printed
    simulated : whether its scores are
    main : results by method: random split, half of the items seen, subtasks pooled, as many
        source models as there are
    separate, all_seen : the same with separate subtasks, with all items seen
    sources : by number of source models
    fixed : by group of fixed target models
    splits : by split; "random" is the main one
    """

    name: str
    simulated: bool
    main: By = field(default_factory=dict)
    separate: By = field(default_factory=dict)
    all_seen: By = field(default_factory=dict)
    sources: dict[int, By] = field(default_factory=dict)
    fixed: dict[str, By] = field(default_factory=dict)
    splits: dict[str, By] = field(default_factory=dict)

    @property
    def pool(self) -> int:
        """Number of seen items."""
        return next(iter(self.main.values())).n_items("seen")


def found(source: Any) -> list[tuple[str, Results]]:
    """Labels and results of what a caller gave: audits, results, folders, or a mapping or list.

    Raises
    ------
    ResultsError
        when a folder holds no results, or unfinished ones.
    SettingError
        when something else was given.
    """
    if isinstance(source, Mapping):
        return [(str(label), one) for label, each in source.items() for _, one in found(each)]
    if isinstance(source, Results):
        return [("", source)]
    if hasattr(source, "results") and isinstance(source.results, Results):
        return [("", part) for part in (source.results, *getattr(source, "further", ()))]
    if isinstance(source, (str, Path)):
        return list(_in_folder(Path(source)))
    if isinstance(source, (list, tuple)):
        return [one for each in source for one in found(each)]
    raise SettingError(
        "figures are drawn from audits, results, folders of them, or a list of these; got "
        f"{type(source).__name__}."
    )


def _in_folder(folder: Path) -> Iterator[tuple[str, Results]]:
    places = sorted(path.parent for path in folder.rglob("experiment.json"))
    if not places:
        raise ResultsError(
            f"{folder} holds no results. `mdad audit FILE --out {folder}` or `mdad reproduce` "
            "makes some."
        )
    for place in places:
        label = place.relative_to(folder) if place != folder else place.resolve().name
        yield str(label), Results.load(place)


def benchmarks_of(labelled: Iterable[tuple[str, Results]]) -> list[Benchmark]:
    """Results by benchmark, the paper's first and in its order.

    Raises
    ------
    ResultsError
        when there are results of other splits of models and items for the same thing twice.
    """
    by_data: dict[str, list[tuple[str, Results]]] = {}
    for label, results in labelled:
        by_data.setdefault(results.spec.scores.data_fingerprint, []).append((label, results))
    names: dict[str, int] = {}
    benchmarks = []
    for group in by_data.values():
        facts = group[0][1].spec.scores
        name = cut(pretty(facts.name))
        names[name] = names.get(name, 0) + 1
        if names[name] > 1:
            name = f"{name} ({names[name]})"
        benchmark = Benchmark(name, facts.simulated)
        _sort(benchmark, group)
        benchmarks.append(benchmark)
    return sorted(benchmarks, key=_place)


def pretty(name: str) -> str:
    """A benchmark's name as the paper writes it, whatever else its file is called.

    >>> pretty("simulated mmlu-pro"), pretty("gpqa"), pretty("digits-zoo")
    ('MMLU-Pro', 'GPQA', 'digits-zoo')
    """
    plain = re.sub(r"[^a-z]+", "-", name.lower().removeprefix("simulated"))
    known = {part.lower(): part for part in ORDER}
    return known.get(plain.strip("-"), name or "benchmark")


def _place(benchmark: Benchmark) -> tuple[int, str]:
    known = ORDER.index(benchmark.name) if benchmark.name in ORDER else len(ORDER)
    return known, benchmark.name


def _sort(benchmark: Benchmark, group: list[tuple[str, Results]]) -> None:
    """Put every audit of a benchmark where it belongs."""
    most = max((r.experiment.n_source or 0 for _, r in group if is_plain(r.experiment)), default=0)
    for label, results in group:
        experiment = results.experiment
        if experiment.targets:
            name = _group_name(label, len(experiment.targets), benchmark.fixed)
            _add(benchmark.fixed.setdefault(name, {}), results)
        elif experiment.subtasks == "separate":
            _add(benchmark.separate, results)
        elif experiment.seen == "all":
            _add(benchmark.all_seen, results)
        elif experiment.split != "random":
            _add(benchmark.splits.setdefault(experiment.split, {}), results)
        else:
            _add(benchmark.sources.setdefault(experiment.n_source or 0, {}), results)
            if experiment.n_source == most:
                _add(benchmark.main, results)
    if benchmark.main:
        benchmark.splits = {"random": benchmark.main, **benchmark.splits}


def is_plain(experiment: Experiment) -> bool:
    """Whether nothing but the number of source models may be varied."""
    return (
        not experiment.targets
        and experiment.subtasks == "pooled"
        and experiment.seen == "half"
        and experiment.split == "random"
    )


def _group_name(label: str, number: int, known: Mapping[str, By]) -> str:
    """What a group of fixed targets is called: by its folder, else by its size."""
    name = cut(Path(label).name.removeprefix("fixed-"), 12) or f"{number} fixed targets"
    return name if name not in known else f"{name} ({len(known) + 1})"


def _add(where: By, results: Results) -> None:
    """Add the methods of an audit; the paper's form of the paper's methods goes before ours."""
    paper = results.experiment.form == "paper"
    for method in results.experiment.methods:
        if method not in where or (paper and method in PAPER_METHODS):
            where[method] = results


def chosen(benchmarks: list[Benchmark], names: Iterable[str]) -> list[Benchmark]:
    """Those of the given names.

    Raises
    ------
    SettingError
        when one is not there.
    """
    wanted = list(names)
    known = {benchmark.name: benchmark for benchmark in benchmarks}
    for name in wanted:
        if name not in known:
            raise SettingError(f"there are no results of {name!r}; there are {listed(known)}.")
    return [known[name] for name in wanted] or benchmarks
