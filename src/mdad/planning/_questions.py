"""Three questions about one pair: agreement at a gap and size, the MDAD, the items for a gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from mdad._checks import check_choice, check_int, check_real
from mdad.errors import SettingError
from mdad.planning._chance import Goal, Rule, Ties
from mdad.planning._known import Known, known_basis
from mdad.planning._sources import gap_for, size_for

if TYPE_CHECKING:
    from typing import Unpack

AGREEMENT = 0.8
LEVEL = 0.05


def checked_rule(
    goal: Any = "rank", ties: Any = None, level: Any = None, comparisons: Any = 1
) -> Rule:
    """The rule of success, with the level divided among the comparisons.

    Raises
    ------
    SettingError
        when a setting has a value it cannot have, or no effect on this goal.
    """
    goal = check_choice("goal", goal, get_args(Goal))
    comparisons = check_int("comparisons", comparisons, 1)
    if goal == "rank":
        if level is not None:
            raise SettingError("level has no effect on goal='rank'; it belongs to goal='show'.")
        ties = check_choice("ties", "wrong" if ties is None else ties, get_args(Ties))
        return Rule("rank", "half" if ties == "half" else "wrong")
    if ties is not None:
        raise SettingError("ties has no effect on goal='show'; it belongs to goal='rank'.")
    level = LEVEL if level is None else check_real("level", level, 0, 0.5, open_ends=True)
    return Rule("show", level=level / comparisons)


def checked_probability(name: str, value: Any, rule: Rule, comparisons: int = 1) -> float:
    """The chance each pair needs, so that all ``comparisons`` succeed with this probability.

    Raises
    ------
    SettingError
        when the value is not between a half and 1 (to rank) or the level and 1 (to show).
    """
    low = 0.5 if rule.goal == "rank" else rule.level
    asked = check_real(name, value, low, 1, open_ends=True)
    return asked if rule.goal == "show" else 1 - (1 - asked) / comparisons


def agreement(
    gap: float,
    size: int,
    *,
    goal: Goal = "rank",
    ties: Ties | None = None,
    level: float | None = None,
    **known: Unpack[Known],
) -> float:
    """Probability that a uniform random subset ranks two models like the full benchmark.

    Parameters
    ----------
    gap : full-score gap of the two models, in the unit of the scores (0.02 = 2 points of 0/1)
    size : number of items drawn without replacement
    goal : "rank", or "show" for the power of the paired test at ``level``
    ties : an estimated tie is "wrong" (default) or "half" right
    level : one-sided level of the test (default 0.05)
    **known : what is known of the models, as in :func:`plan`

    Raises
    ------
    SettingError
        when settings are out of bounds, exclude each other or have no effect.

    Examples
    --------
    >>> round(agreement(0.02, 100, discordance=0.3, n_items=12032), 3)
    0.609
    """
    rule = checked_rule(goal, ties, level)
    basis = known_basis(gap, **known)
    basis.check_ties(ties)
    return basis.source.chance(basis.check_gap(gap), basis.check_size(size), rule)


def mdad(
    size: int,
    *,
    agreement: float = AGREEMENT,
    goal: Goal = "rank",
    ties: Ties | None = None,
    level: float | None = None,
    **known: Unpack[Known],
) -> float | None:
    """Smallest gap that a uniform random subset of this size ranks rightly often enough.

    Parameters
    ----------
    size : number of items drawn without replacement
    agreement : probability of the right order that is asked for
    goal, ties, level, **known : as in :func:`agreement`

    Returns
    -------
    gap in the unit of the scores; 0.0 when the subset is the full benchmark; None when no gap
    that the data show reaches it.

    Raises
    ------
    SettingError
        when settings are out of bounds, exclude each other or have no effect.

    Notes
    -----
    MDAD as in Yauney, Warraich and Swayamdipta, ICLR 2026 (arXiv 2510.08730): the smallest gap
    ranked rightly with probability 0.8; here without drawing subsets. With assumed 0/1 scores two
    models differ on ``discordance`` of the items, or on as many as the gap needs where it is
    larger. With a score matrix it is where the agreement over its pairs, binned by half points of
    gap and made monotone, crosses the threshold.

    Examples
    --------
    >>> round(mdad(100, discordance=0.3, n_items=12032), 4)
    0.0506
    """
    rule = checked_rule(goal, ties, level)
    wanted = checked_probability("agreement", agreement, rule)
    basis = known_basis(**known)
    basis.check_ties(ties)
    return gap_for(basis.source, basis.check_size(size), rule, wanted)


def items_for_gap(
    gap: float,
    *,
    agreement: float = AGREEMENT,
    goal: Goal = "rank",
    ties: Ties | None = None,
    level: float | None = None,
    **known: Unpack[Known],
) -> int | None:
    """Smallest size from which on every larger subset ranks a gap rightly often enough.

    Parameters
    ----------
    gap : full-score gap, in the unit of the scores
    agreement : probability of the right order that is asked for
    goal, ties, level, **known : as in :func:`agreement`

    Returns
    -------
    number of items; None when no subset does (a gap below all that a score matrix shows).

    Raises
    ------
    SettingError
        when settings are out of bounds, exclude each other or have no effect.

    Notes
    -----
    An even size can tie where an odd one cannot, so a single size may reach the threshold before
    the next falls short again; the rule above skips it.

    Examples
    --------
    >>> items_for_gap(0.02, discordance=0.3, n_items=12032)
    556
    """
    rule = checked_rule(goal, ties, level)
    wanted = checked_probability("agreement", agreement, rule)
    basis = known_basis(gap, **known)
    basis.check_ties(ties)
    return size_for(basis.source, basis.check_gap(gap), rule, wanted)
