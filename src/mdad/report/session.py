"""An adaptive session in words. Scores are in points here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdad._checks import counted
from mdad.report.legible import legible

if TYPE_CHECKING:
    from mdad.adaptive import Decision, Session

__all__ = ["sentences"]


def sentences(session: Session) -> list[str]:
    """How the session stands, the answer first."""
    decision, setup = session.decision, session.setup
    lines = [_answer(session, decision)]
    if decision.open:
        wanted = session.wanted()
        asked = sum(len(who) for who in wanted.values())
        lines.append(
            f"Asked now: {counted(len(wanted), 'item')}, {counted(asked, 'answer')} to tell."
        )
        # With one model lacking some answers it matters which.
        for model in setup.models:
            lacking = [item for item, who in wanted.items() if model in who]
            if 0 < len(lacking) < len(wanted):
                lines.append(f"{legible(model)} lacks {len(lacking):,} of them.")
    lines.append(
        f"Error probability {setup.alpha:g} over all looks ({_promise(session)}); at most "
        f"{counted(setup.budget, 'item')} of {setup.pool.n_items:,}."
    )
    return [*lines, *decision.notes]


def _promise(session: Session) -> str:
    setup = session.setup
    if setup.sources is None:
        return f"random order, alpha spending after {_NAMES[setup.spending]}"
    return (
        f"{setup.plan.design}, for models like the {setup.sources.n_models:,} source models; "
        "calibrated by replay"
    )


_NAMES = {"pocock": "Pocock", "obrien-fleming": "O'Brien and Fleming"}


def _answer(session: Session, decision: Decision) -> str:
    setup = session.setup
    first = legible(setup.models[0])
    other = _reference(session) if setup.reference is not None else legible(setup.models[1])
    on = f"on {counted(decision.size, 'item')}"
    if decision.status == "equal":
        return f"{first} and {other} are equal on all {decision.size:,} items."
    if decision.gap is None:
        return f"Open: no look yet, {counted(decision.n_answered, 'item')} answered."
    lead = _gap(session, decision)
    if decision.status == "decided":
        if setup.reference is not None:
            side = "above" if decision.sign > 0 else "below"
            return f"Decided: {first} is {side} {other}, {lead} {on}."
        better, worse = (first, other) if decision.sign > 0 else (other, first)
        return f"Decided: {better} is better than {worse}, {lead} {on}."
    word = "Open" if decision.open else "Undecided, the budget is used up"
    return f"{word}: {first} less {other} {lead} {on}."


def _gap(session: Session, decision: Decision) -> str:
    low, high = session.setup.pool.score_range
    point = (high - low) / 100
    gap, below, above = (
        (value or 0.0) / point for value in (decision.gap, decision.low, decision.high)
    )
    if decision.sign < 0:
        gap, below, above = -gap, -above, -below
    return f"{gap:.1f} points ({below:.1f} to {above:.1f})"


def _reference(session: Session) -> str:
    low, high = session.setup.pool.score_range
    return f"{100 * ((session.setup.reference or 0.0) - low) / (high - low):.1f} points"
