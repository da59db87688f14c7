"""The experiment: which models, items, methods, sizes and runs, and how one run is done."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_int, check_known, check_real, counted, listed
from mdad._groups import model_groups
from mdad._rng import Stream
from mdad.errors import ScoresError, SettingError
from mdad.methods import Form, default_methods, make_method
from mdad.scores import Aggregate
from mdad.splits import Seen, Split, SplitKind, draw_models, draw_split, n_seen, n_seen_of

if TYPE_CHECKING:
    from mdad.estimators import Estimates
    from mdad.methods import Built
    from mdad.scores import ScoreMatrix

__all__ = [
    "ITEM_SETS",
    "MIN_MODELS",
    "STANDARD_SIZES",
    "Experiment",
    "Run",
    "SplitKind",
    "run_once",
]

ITEM_SETS = ("seen", "unseen", "all")
"""The item sets a full score is stated for: the pool at hand, held-out items, both together."""

STANDARD_SIZES = (10, 25, 50, 100, 250, 500, 1000)
MIN_MODELS, MIN_TARGET = 15, 2
DEFAULT_RUNS, MAX_TARGET, MAX_SOURCE = 50, 50, 300

SubtaskMode = Literal["pooled", "separate"]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Experiment:
    """Everything that decides the numbers, apart from the scores themselves.

    Parameters
    ----------
    methods : names of registered methods; empty = those that fit the scores
    sizes : items of the micro-benchmarks; empty = the standard sizes up to the seen pool
    fractions : sizes as shares of the seen pool instead; with separate subtasks, of each subtask
    runs : number of runs, each with a split of its own
    n_source, n_target : models per run; None = min(300, the rest) and min(50, a third)
    targets : fixed target models, the same in every run; empty = drawn anew in every run
    split : "random"; "grouped": no family of models is on both sides; "frontier": targets are the
        best models by full score, sources all others
    groups : what a family is, of a grouped split: a column of ``model_info`` or a pattern;
        "" = the column "family", else models that answer almost alike
    seen : "half" of the items of each subtask, or "all": then there are no unseen items
    subtasks : "pooled", or "separate": a micro-benchmark of each subtask; the estimate of the full
        score combines theirs
    aggregate : "micro" (items count the same) or "macro" (subtasks count the same)
    form : "default", or "paper" for the paper's form of each method
    seed : of every random number in the experiment

    Raises
    ------
    SettingError
        when a setting has a value it cannot have.
    """

    methods: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    fractions: tuple[float, ...] = ()
    runs: int = DEFAULT_RUNS
    n_source: int | None = None
    n_target: int | None = None
    targets: tuple[str, ...] = ()
    split: SplitKind = "random"
    groups: str = ""
    seen: Seen = "half"
    subtasks: SubtaskMode = "pooled"
    aggregate: Aggregate = "micro"
    form: Form = "default"
    seed: int = 0

    def __post_init__(self) -> None:
        check_int("runs", self.runs, 1)
        check_int("seed", self.seed, 0)
        check_choice("split", self.split, get_args(SplitKind))
        check_choice("seen", self.seen, get_args(Seen))
        check_choice("subtasks", self.subtasks, get_args(SubtaskMode))
        check_choice("aggregate", self.aggregate, get_args(Aggregate))
        check_choice("form", self.form, get_args(Form))
        for size in self.sizes:
            check_int("a size", size, 1)
        for fraction in self.fractions:
            check_real("a fraction", fraction, 0, 1)
        named = {
            "method": self.methods,
            "size": self.sizes,
            "fraction": self.fractions,
            "target model": self.targets,
        }
        for what, values in named.items():
            if len(set(values)) < len(values):
                raise SettingError(f"every {what} may be named once; got {listed(values)}.")
        self._check_together()
        for name in self.methods:
            make_method(name, self.form)
        if self.n_source is not None:
            check_int("n_source", self.n_source, 1)
        if self.n_target is not None:
            check_int("n_target", self.n_target, 2)

    def _check_together(self) -> None:
        """Settings that exclude or need each other."""
        if self.fractions and self.sizes and len(self.fractions) != len(self.sizes):
            raise SettingError("give sizes or fractions, not both.")
        if self.subtasks == "separate" and not self.fractions:
            raise SettingError(
                "separate subtasks take sizes as fractions of each subtask: fractions=[0.1, 0.2]."
            )
        if self.groups and self.split != "grouped":
            raise SettingError("groups belong to the split 'grouped'; leave them out, or say it.")
        if self.targets and self.split == "frontier":
            raise SettingError("the split 'frontier' takes the best models as targets; name none.")
        if self.targets and self.n_target not in {None, len(self.targets)}:
            raise SettingError(
                f"n_target is {self.n_target}, but {len(self.targets)} target models are named; "
                "leave n_target out."
            )

    def resolve(self, scores: ScoreMatrix) -> Experiment:
        """The experiment with every default filled in for these scores.

        Raises
        ------
        ScoresError
            when there are fewer than 15 models, or cells are missing.
        SettingError
            when more models or items are asked for than there are.
        """
        if scores.n_models < MIN_MODELS:
            raise ScoresError(
                f"an audit needs {MIN_MODELS} models or more, some to choose items with and some "
                f"to compare; got {scores.n_models}. With two or more models `mdad plan` says how "
                "many items tell them apart."
            )
        scores.check_complete()
        if self.split == "grouped":
            model_groups(scores, self.groups)
        check_known("model", self.targets, scores.model_position, "the score matrix")
        n_models, pool = scores.n_models, n_seen(scores, self.seen)
        n_target = len(self.targets) or self.n_target or min(MAX_TARGET, n_models // 3)
        n_source = self.n_source or min(MAX_SOURCE, n_models - n_target)
        if n_source + n_target > n_models or n_source < 1:
            raise SettingError(
                f"{counted(n_target, 'target model')} and {counted(n_source, 'source model')} "
                f"were asked for, but there are {n_models:,} models and no model may be both."
            )
        if n_target < MIN_TARGET:
            raise SettingError("two target models or more are needed to compare; got one.")
        if pool < 1:
            raise ScoresError(
                "no item can be seen: half of every subtask, rounded down, is empty. Subtasks need "
                "two items or more; load the scores without subtasks to pool them."
            )
        if self.split == "grouped":
            self._check_families(scores.sorted(), n_source, n_target)
        sizes = self._sizes(scores, pool)
        if max(sizes) > pool:
            raise SettingError(
                f"size {max(sizes):,} is more than the {pool:,} seen items (half of each subtask); "
                f"ask for {pool:,} or fewer."
            )
        return replace(
            self,
            methods=self.methods or default_methods(scores),
            sizes=sizes,
            n_source=n_source,
            n_target=n_target,
            targets=tuple(sorted(self.targets)),
        )

    def _check_families(self, scores: ScoreMatrix, n_source: int, n_target: int) -> None:
        """Every run has source models: told before any run is done, not after most are."""
        for number in range(self.runs):
            draw_models(
                scores,
                n_source=n_source,
                n_target=n_target,
                stream=_run_stream(self.seed, number).child("split").child("models"),
                targets=self.targets,
                kind=self.split,
                groups=self.groups,
            )

    def _sizes(self, scores: ScoreMatrix, pool: int) -> tuple[int, ...]:
        """Number of items of each size; all subtasks together where they are separate."""
        if not self.fractions:
            return self.sizes or tuple(size for size in STANDARD_SIZES if size <= pool) or (pool,)
        if self.subtasks == "pooled":
            pools = [pool]
        else:
            if scores.subtasks is None:
                raise ScoresError("separate subtasks need scores with subtasks.")
            pools = [n_seen_of(len(p), self.seen) for p in scores.subtask_positions.values()]
            if min(pools) < 1:
                raise ScoresError(
                    "a subtask has no seen item (half of its items, rounded down): it cannot have "
                    "a micro-benchmark of its own."
                )
        sizes = tuple(sum(size_of(f, part) for part in pools) for f in self.fractions)
        if len(set(sizes)) < len(sizes):
            raise SettingError(
                f"fractions {listed(self.fractions)} give the same number of items: {sizes}."
            )
        return sizes

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


@dataclass(frozen=True, eq=False)
class Run:
    """What one run measured.

    Parameters
    ----------
    number : of the run, from 0
    subtask : "" for the whole benchmark
    parts : with separate subtasks, the same of each of them
    models : ids of the target models, in alphabetical order
    estimates, standard_errors : arrays of shape (n_methods, n_sizes, n_target)
    full : array of shape (3, n_target), full scores on the seen items, the unseen items, all
    n_items : items in each of the three sets
    """

    number: int
    models: tuple[str, ...]
    estimates: FloatArray
    standard_errors: FloatArray
    full: FloatArray
    n_items: tuple[int, int, int]
    subtask: str = ""
    parts: tuple[Run, ...] = ()


def size_of(fraction: float, pool: int) -> int:
    """Items that a fraction of a pool is; at least one."""
    return max(1, round(fraction * pool))


def _run_stream(seed: int, number: int) -> Stream:
    return Stream(seed).child("run", number)


def run_once(scores: ScoreMatrix, experiment: Experiment, number: int) -> Run:
    """Do one run; all methods and sizes share its split.

    Parameters
    ----------
    scores : complete matrix, sorted by id
    experiment : resolved for these scores
    number : of the run; with the seed it names all randomness
    """
    stream = _run_stream(experiment.seed, number)
    split = draw_split(
        scores,
        n_source=experiment.n_source or 0,
        n_target=experiment.n_target or 0,
        targets=experiment.targets,
        seen=experiment.seen,
        stream=stream.child("split"),
        kind=experiment.split,
        groups=experiment.groups,
        aggregate=experiment.aggregate,
    )
    select = stream.child("select")
    if experiment.subtasks == "pooled":
        return _measured(scores, experiment, split, number, experiment.sizes, select)
    parts = []
    for label, columns in scores.subtask_positions.items():
        part = scores.restrict(items=[scores.items[i] for i in columns.tolist()])
        inside = Split(
            split.source,
            split.target,
            tuple(item for item in split.seen if item in part.item_position),
            tuple(item for item in split.unseen if item in part.item_position),
        )
        sizes = tuple(size_of(f, len(inside.seen)) for f in experiment.fractions)
        run = _measured(part, experiment, inside, number, sizes, select.child(label))
        parts.append(replace(run, subtask=label))
    return _combined(scores, experiment, split, tuple(parts))


def _measured(
    scores: ScoreMatrix,
    experiment: Experiment,
    split: Split,
    number: int,
    sizes: tuple[int, ...],
    stream: Stream,
) -> Run:
    """All methods and sizes on one set of items."""
    source = scores.restrict(models=split.source, items=split.seen)
    target = scores.restrict(models=split.target)
    shape = (len(experiment.methods), len(sizes), len(split.target))
    estimates, errors = np.empty(shape), np.empty(shape)
    for m, name in enumerate(experiment.methods):
        method = make_method(name, experiment.form)
        build = method.for_split(experiment.split, experiment.groups).prepare(
            source, aggregate=experiment.aggregate, stream=stream
        )
        for s, size in enumerate(sizes):
            result = estimate(build(size), target)
            estimates[m, s], errors[m, s] = result.values, result.standard_errors
    return Run(
        number,
        split.target,
        estimates,
        errors,
        _full_scores(target, split, experiment.aggregate),
        (len(split.seen), len(split.unseen), scores.n_items),
    )


def _combined(
    scores: ScoreMatrix, experiment: Experiment, split: Split, parts: tuple[Run, ...]
) -> Run:
    """The whole benchmark from its subtasks, each at its share of the full score."""
    counts = np.array([part.n_items[0] for part in parts], dtype=np.float64)
    share = counts if experiment.aggregate == "micro" else np.ones(len(parts))
    share = share / share.sum()
    target = scores.restrict(models=split.target)
    return Run(
        parts[0].number,
        split.target,
        np.einsum("p,pmst->mst", share, np.stack([part.estimates for part in parts])),
        np.sqrt(
            np.einsum("p,pmst->mst", share**2, np.stack([p.standard_errors for p in parts]) ** 2)
        ),
        _full_scores(target, split, experiment.aggregate),
        (len(split.seen), len(split.unseen), scores.n_items),
        parts=parts,
    )


def estimate(built: Built, target: ScoreMatrix) -> Estimates:
    """Estimates of target models from their scores on the chosen items alone."""
    positions = [target.item_position[item] for item in built.selection.items]
    probabilities, options = (
        None if layer is None else layer[:, positions]
        for layer in (target.probabilities, target.option_probabilities)
    )
    return built.estimator.estimate(target.values[:, positions], probabilities, options)


def _full_scores(target: ScoreMatrix, split: Split, aggregate: Aggregate) -> FloatArray:
    return np.stack(
        [
            target.restrict(items=split.seen).full_scores(aggregate),
            target.restrict(items=split.unseen).full_scores(aggregate)
            if split.unseen
            else np.full(target.n_models, np.nan),
            target.full_scores(aggregate),
        ]
    )
