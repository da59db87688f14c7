"""What a user wants of a selection beside the method: items in or out, minimums, a focus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mdad._checks import check_int
from mdad.errors import MethodError, SettingError
from mdad.estimators import BestLinear
from mdad.selectors import COptimal, MinimumPerSubtask, Uniform

if TYPE_CHECKING:
    from mdad._method import Method
    from mdad.scores import ScoreMatrix

__all__ = ["Wishes", "forced_items", "wished", "without_forbidden"]


@dataclass(frozen=True)
class Wishes:
    """See :func:`mdad.selecting.select`."""

    forced: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    min_per_subtask: int = 0
    focus: str = "all"

    def __post_init__(self) -> None:
        check_int("min_per_subtask", self.min_per_subtask, 0)

    def settings(self) -> dict[str, Any]:
        """Those that are not the default, for the record."""
        found: dict[str, Any] = {}
        if self.forced:
            found["forced"] = list(self.forced)
        if self.forbidden:
            found["forbidden"] = list(self.forbidden)
        if self.min_per_subtask:
            found["min_per_subtask"] = self.min_per_subtask
        if self.focus != "all":
            found["focus"] = self.focus
        return found


def wished(method: Method, pool: ScoreMatrix, size: int, wishes: Wishes) -> Method:
    """The method that heeds the wishes.

    Raises
    ------
    MethodError
        when the method cannot.
    SettingError
        when the size has no room for the minimums, or the focus is none.
    """
    if not wishes.settings():
        return method
    if isinstance(method.selector, COptimal):
        covariance = replace(method.selector.covariance, focus=wishes.focus)
        selector = replace(
            method.selector,
            covariance=covariance,
            forced=wishes.forced,
            forbidden=wishes.forbidden,
            min_per_subtask=wishes.min_per_subtask,
        )
        return replace(method, selector=selector, estimator=BestLinear(covariance))
    if wishes.forced or wishes.forbidden or wishes.focus != "all":
        raise MethodError(
            "forced and forbidden items and a focus go with the methods 'c-optimal' and "
            f"'c-optimal-factor', not {method.name!r}."
        )
    if not isinstance(method.selector, Uniform) or method.name != "random":
        raise MethodError(
            f"a minimum per subtask goes with the methods 'random' and 'c-optimal', not "
            f"{method.name!r}."
        )
    wanted = sum(min(wishes.min_per_subtask, len(p)) for p in pool.subtask_positions.values())
    if wanted > size:
        raise SettingError(
            f"{wishes.min_per_subtask} of each of {len(pool.subtask_positions)} subtasks are "
            f"{wanted:,} items; only {size:,} are asked for."
        )
    return replace(method, selector=MinimumPerSubtask(wishes.min_per_subtask))


def forced_items(method: Method) -> tuple[str, ...]:
    """Items that a method chooses in any case."""
    selector = method.selector
    return selector.forced if isinstance(selector, COptimal) else ()


def without_forbidden(method: Method) -> Method:
    """The method free to choose all items: what it says of unseen ones does not hang on a few."""
    selector = method.selector
    if not isinstance(selector, COptimal) or not selector.forbidden:
        return method
    return replace(method, selector=replace(selector, forbidden=()))
