"""What can be set in a simulation, and the checks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from mdad._checks import check_choice, check_int, check_real, listed, suggestion
from mdad.datasets._presets import PRESETS
from mdad.errors import SettingError

DEFAULT_ITEMS = 1000
ONE_GROUP_SD = 0.12
TWO_GROUPS_SD = 0.03


class SimulationOptions(TypedDict, total=False):
    """The keyword arguments of :func:`simulate`; see :class:`SimulationSettings`."""

    n_models: int
    n_items: int | None
    subtasks: int | Mapping[str, int] | None
    n_dims: int
    accuracy_mean: float
    accuracy_sd: float | None
    difficulty_sd: float
    near_copies: float
    copy_redraws: float
    families: int
    family_effect: float
    groups: int
    group_gap: float
    n_options: int | Mapping[str, int] | None
    guessing: float
    probabilities: bool
    missing: float
    name: str


@dataclass(frozen=True)
class SimulationSettings:
    """Settings of a simulated benchmark and of the models that take it.

    Parameters
    ----------
    n_models : number of models
    n_items : number of items; 1,000, or the sum of the subtask sizes, when not given
    subtasks : None, a number of subtasks of unequal sizes, or a mapping from name to size
    n_dims : number of abilities; the first is general, the others are particular
    accuracy_mean : mean of the models' expected full scores, in (0, 1)
    accuracy_sd : their standard deviation within a group; 0.12, or 0.03 with two groups
    difficulty_sd : standard deviation of item difficulty within a subtask, in logits
    near_copies : share of models that answer like another one except for a few items
    copy_redraws : largest share of items that a near copy answers afresh
    families : number of model families; 0 = none
    family_effect : share of the variance of ability that families explain, in [0, 1)
    groups : 1, or 2 for models that form two groups far apart
    group_gap : difference of the two groups' mean accuracies
    n_options : options of a multiple-choice item, or a mapping from subtask to that; None for
        free answers. With K options a model that knows nothing is right with a probability
        that is guessing / K on average over items.
    guessing : luck of a model that knows nothing, as a share of 1 / K; below 1 where attractive
        wrong options mislead it
    probabilities : whether to make the second layer, the probability of the right option
    missing : share of cells not scored
    name : name of the matrix

    Raises
    ------
    SettingError
        when a setting is out of bounds or has no effect with the others.
    """

    n_models: int = 100
    n_items: int | None = None
    subtasks: int | Mapping[str, int] | None = None
    n_dims: int = 5
    accuracy_mean: float = 0.55
    accuracy_sd: float | None = None
    difficulty_sd: float = 2.0
    near_copies: float = 0.0
    copy_redraws: float = 0.05
    families: int = 12
    family_effect: float = 0.3
    groups: int = 1
    group_gap: float = 0.4
    n_options: int | Mapping[str, int] | None = 4
    guessing: float = 1.0
    probabilities: bool = True
    missing: float = 0.0
    name: str = "simulated benchmark"

    def __post_init__(self) -> None:
        check_int("n_models", self.n_models, 1)
        check_int("n_dims", self.n_dims, 1, 100)
        check_int("families", self.families, 0)
        check_int("groups", self.groups, 1, 2)
        check_real("accuracy_mean", self.accuracy_mean, 0, 1, open_ends=True)
        check_real("difficulty_sd", self.difficulty_sd, 0, 10)
        for share in ("near_copies", "family_effect", "missing"):
            value = check_real(share, getattr(self, share), 0, 1)
            if value == 1:
                raise SettingError(f"{share} must be below 1; got 1.")
        check_real("guessing", self.guessing, 0, 1)
        check_real("copy_redraws", self.copy_redraws, 0, 1)
        check_real("group_gap", self.group_gap, 0, 1)
        if self.accuracy_sd is not None:
            check_real("accuracy_sd", self.accuracy_sd, 0, 0.5, open_ends=True)
        self._check_items()
        self._check_options()

    def _check_items(self) -> None:
        if self.n_items is not None:
            check_int("n_items", self.n_items, 1)
        if isinstance(self.subtasks, Mapping):
            if not self.subtasks:
                raise SettingError("subtasks has no names; give at least one, or None.")
            for label, size in self.subtasks.items():
                check_int(f"the size of subtask {label!r}", size, 1)
            total = sum(self.subtasks.values())
            if self.n_items not in {None, total}:
                raise SettingError(
                    f"n_items is {self.n_items} but the sizes in subtasks add up to {total}; "
                    "leave n_items out, or give the number of subtasks instead of their sizes."
                )
        elif self.subtasks is not None:
            check_int("subtasks", self.subtasks, 1, self.total_items)

    def _check_options(self) -> None:
        if isinstance(self.n_options, Mapping):
            labels = self.subtasks if isinstance(self.subtasks, Mapping) else {}
            if set(self.n_options) != set(labels):
                odd = sorted(set(self.n_options) ^ set(labels))
                raise SettingError(
                    "n_options by subtask must have the same names as a mapping in subtasks; "
                    f"only one of them has {listed(odd)}."
                )
            for label, number in self.n_options.items():
                check_int(f"n_options of subtask {label!r}", number, 2)
        elif self.n_options is not None:
            check_int("n_options", self.n_options, 2)
        elif self.guessing != 1:
            raise SettingError("guessing has no effect on free answers; give n_options too.")

    @property
    def total_items(self) -> int:
        """Number of items, whichever way it was given."""
        if isinstance(self.subtasks, Mapping):
            return sum(self.subtasks.values())
        return DEFAULT_ITEMS if self.n_items is None else self.n_items

    @property
    def spread(self) -> float:
        """Standard deviation of the expected full scores within a group."""
        if self.accuracy_sd is not None:
            return self.accuracy_sd
        return ONE_GROUP_SD if self.groups == 1 else TWO_GROUPS_SD


def proportional(total: int, weights: Sequence[float]) -> list[int]:
    """Split a total in proportion to weights, by largest remainder, at least 1 each.

    >>> proportional(10, [3, 3, 1])
    [4, 4, 2]
    """
    free, whole = total - len(weights), sum(weights)
    exact = [free * weight / whole for weight in weights]
    sizes = [1 + int(share) for share in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda k: int(exact[k]) - exact[k])
    for k in by_remainder[: total - sum(sizes)]:
        sizes[k] += 1
    return sizes


def resized(preset: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """A preset whose sizes give way where the caller brings other ones."""
    subtasks = preset.get("subtasks")
    if "subtasks" in options:
        # Options by subtask belong to the subtasks that are no more.
        gone = {"n_items"} | {k for k in ("n_options",) if not isinstance(preset[k], int)}
        return {key: value for key, value in preset.items() if key not in gone}
    total = options.get("n_items")
    if subtasks is None or total is None:
        return preset
    check_int("n_items", total, len(subtasks))
    sizes = proportional(total, list(subtasks.values()))
    return {**preset, "subtasks": dict(zip(subtasks, sizes, strict=True))}


def settings_of(preset: str | None, options: Mapping[str, Any]) -> SimulationSettings:
    """The settings of a preset with changes.

    Raises
    ------
    SettingError
        when the preset or the name of a setting is unknown, or a value is out of bounds.
    """
    known = [field.name for field in fields(SimulationSettings)]
    for option in options:
        if option not in known:
            raise SettingError(
                f"unknown setting {option!r} of a simulation; {suggestion(option, known)}."
            )
    start: dict[str, Any] = {}
    if preset is not None:
        check_choice("preset", preset, PRESETS)
        start = {**PRESETS[preset], "name": f"simulated {preset}"}
        start = resized(start, options)
    settings = SimulationSettings(**{**start, **options})
    if "simulated" not in settings.name:
        raise SettingError(f"the name must say 'simulated'; got {settings.name!r}.")
    return settings
