"""The rules that decide about the paper's claims; `_claims` says each in words."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdad.measures import unresolved_share
from mdad.report.sentences import percent

if TYPE_CHECKING:
    from mdad.reproducing._measured import Measured

TEN, TWENTY_FIVE, FIFTY, SOURCES = 10, 25, 50, 50
INFINITE = float("inf")


class Answer(NamedTuple):
    """What was measured, and whether the claim holds; ``why`` says why that cannot be told."""

    measured: str
    holds: bool | None
    why: str = ""


def _said(value: float) -> str:
    return "not reached" if value == INFINITE else f"{value:.1f}"


def _without(sizes: tuple[int, ...], *needed: int) -> Answer | None:
    """The answer where a size is lacking."""
    lacking = [size for size in needed if size not in sizes]
    return (
        Answer("", None, f"no micro-benchmark of {lacking[0]} items was run") if lacking else None
    )


def definition(_m: Measured) -> Answer:
    """Claim 1."""
    return Answer("", None, "a definition, not a finding")


def tau_hides(m: Measured) -> Answer:
    """Claim 2a."""
    reached = [cell for cell, value in m.mdads().items() if value < INFINITE]
    alike = [
        (abs(m.at(*one) - m.at(*other)), one, other)
        for one, other in combinations(reached, 2)
        if abs(m.taus[one] - m.taus[other]) <= 0.03  # noqa: PLR2004  # the rule
    ]
    if not alike:
        return Answer("", None, "no two cells have a similar tau and reach the threshold")
    apart, *pair = max(alike)
    cells = " and ".join(
        f"{method} at {size} (tau {m.taus[method, size]:.2f}, MDAD {_said(m.at(method, size))})"
        for method, size in pair
    )
    return Answer(cells, apart >= 1)


def same_tau(m: Measured) -> Answer:
    """Claim 2b."""
    if missing := _without(m.sizes, TEN):
        return missing
    tau, own = m.taus["anchor-points", TEN], m.at("anchor-points", TEN)
    known = sorted(
        (m.taus["random", size], m.at("random", size))
        for size in m.sizes
        if m.at("random", size) < INFINITE
    )
    text = f"anchor-points at 10: tau {tau:.2f}, MDAD {_said(own)}"
    if not known or not known[0][0] <= tau <= known[-1][0]:
        return Answer(text, None, "no size gives random sampling a similar tau")
    other = float(np.interp(tau, *np.array(known).T))
    return Answer(f"{text}; random of that tau: {_said(other)}", other >= own + 0.5)


def same_at_500(m: Measured) -> Answer:
    """Claim 2c."""
    size = max((s for s in m.sizes if s <= 500), default=min(m.sizes))  # noqa: PLR2004
    random, anchor = m.at("random", size), m.at("anchor-points", size)
    text = f"at {size}: random {_said(random)}, anchor-points {_said(anchor)}"
    return Answer(text, random <= 2.5 and abs(random - anchor) <= 1)  # noqa: PLR2004  # the rule


def ten_items(m: Measured) -> Answer:
    """Claim 3."""
    if missing := _without(m.sizes, TEN):
        return missing
    best, limit = m.best(TEN), 4 if m.benchmark == "bbh" else 3.5
    value = m.at(best, TEN)
    return Answer(f"best at 10: {best}, {_said(value)} (limit {limit:g})", value > limit)


def anchor_points_first(m: Measured) -> Answer:
    """Claim 4a."""
    if missing := _without(m.sizes, TEN):
        return missing
    best = m.best(TEN)
    text = (
        f"anchor-points {_said(m.at('anchor-points', TEN))}, best {best} {_said(m.at(best, TEN))}"
    )
    return Answer(text, best == "anchor-points")


def random_needs_twenty(m: Measured) -> Answer:
    """Claim 4b."""
    if missing := _without(m.sizes, TEN):
        return missing
    value = m.at("random", TEN)
    return Answer(f"random at 10: {_said(value)}", 15 <= value <= 25)  # noqa: PLR2004  # the rule


def random_competitive(m: Measured) -> Answer:
    """Claim 5a."""
    size = m.middle
    best = m.best(size, m.learned)
    random, other = m.at("random", size), m.at(best, size)
    text = f"at {size}: random {_said(random)}, best learned {best} {_said(other)}"
    return Answer(text, random <= other + 0.5)


def all_small(m: Measured) -> Answer:
    """Claim 5b."""
    size = m.middle
    worst = max(m.methods, key=lambda method: m.at(method, size))
    value = m.at(worst, size)
    return Answer(f"at {size}: worst is {worst}, {_said(value)}", value <= 3)  # noqa: PLR2004


def _made_up(m: Measured, text: str) -> Answer | None:
    """The answer where the group of targets is a stand-in, whose gaps mean nothing."""
    why = "the group is a stand-in: which models are in it was chosen here"
    return Answer(text, None, why) if m.simulated else None


def close_group(m: Measured) -> Answer:
    """Claim 6a."""
    gaps = m.gaps("fixed-8B")
    share = float((gaps < 5).mean())  # noqa: PLR2004  # the rule
    number = len(m.parts["fixed-8B"].experiment.targets)
    text = f"{number} models, {percent(share)} of the pairs less than 5 points apart"
    return _made_up(m, text) or Answer(text, share > 0.5)  # noqa: PLR2004  # the rule


def half_unresolved(m: Measured) -> Answer:
    """Claim 6b."""
    part = "fixed-8B"
    if missing := _without(m.parts[part].experiment.sizes, TWENTY_FIVE):
        return missing
    best = m.best(TWENTY_FIVE, part=part)
    value = m.at(best, TWENTY_FIVE, part=part)
    share = unresolved_share(m.gaps(part), np.nan if value == INFINITE else value)
    text = f"best at 25: {best}, MDAD {_said(value)}, {percent(share)} of the pairs are closer"
    return _made_up(m, text) or Answer(text, share >= 0.5)  # noqa: PLR2004  # the rule


def two_points(m: Measured) -> Answer:
    """Claim 6c."""
    part, size = "fixed-8B", 1000
    if missing := _without(m.parts[part].experiment.sizes, size):
        return missing
    best = m.best(size, part=part)
    value = m.at(best, size, part=part)
    text = f"best at 1,000: {best}, {_said(value)}"
    return Answer(text, 1.5 <= value <= 2.5)  # noqa: PLR2004  # the rule


def also_studied(m: Measured) -> Answer:
    """Claim 7."""
    found = []
    for part in (name for name in m.parts if name.startswith("fixed-")):
        size = max(m.parts[part].experiment.sizes)
        number = len(m.parts[part].experiment.targets)
        best = m.best(size, part=part)
        value = _said(m.at(best, size, part=part))
        group = part.removeprefix("fixed-")
        found.append(f"{group}: {number} models, best at {size} {best} {value}")
    return Answer("; ".join(found), None, "a description, not a finding")


def unseen_little_higher(m: Measured) -> Answer:
    """Claim 8a."""
    if not m.parts["main"].n_items("unseen"):
        return Answer("", None, "there are no unseen items")
    size = m.middle
    seen, unseen = m.at("random", size), m.at("random", size, "unseen")
    text = f"random at {size}: seen {_said(seen)}, unseen {_said(unseen)}"
    return Answer(text, seen <= unseen <= seen + 2)


def separate_falls(m: Measured) -> Answer:
    """Claim 8b."""
    experiment = m.parts["separate"].experiment
    if 0.08 not in experiment.fractions:  # noqa: PLR2004  # the rule
        return Answer("", None, "no micro-benchmarks of 8 % of each subtask were run")
    size = experiment.sizes[experiment.fractions.index(0.08)]
    seen, unseen = (m.at("anchor-points", size, s, "separate") for s in ("seen", "unseen"))
    text = f"anchor-points, 8 % of each subtask: seen {_said(seen)}, unseen {_said(unseen)}"
    return Answer(text, unseen >= seen + 1)


def sources_help(m: Measured) -> Answer:
    """Claim 9."""
    part = f"sources-{SOURCES}"
    if missing := _without(m.sizes, FIFTY):
        return missing
    cut = m.common_runs("main", part)
    gains = {x: cut.at(x, FIFTY, part=part) - cut.at(x, FIFTY) for x in m.learned}
    number = m.parts["main"].experiment.n_source
    text = ", ".join(f"{method} {gain:+.1f}" for method, gain in gains.items())
    return Answer(
        f"MDAD at 50 with {SOURCES} source models less that with {number}: {text}",
        min(gains.values()) > 0,
    )


def selected_helps(m: Measured) -> Answer:
    """Claim 10a."""
    if missing := _without(m.sizes, TWENTY_FIVE):
        return missing
    best = m.best(TWENTY_FIVE, m.learned)
    value, random = m.at(best, TWENTY_FIVE), m.at("random", TWENTY_FIVE)
    text = f"at 25: best learned {best} {_said(value)}, random {_said(random)}"
    return Answer(text, value <= 5 and value < random)  # noqa: PLR2004  # the rule


def advice_for_close(m: Measured) -> Answer:
    """Claim 10b."""
    reached = [size for size in sorted(m.sizes) if m.at("random", size) <= 2.5]  # noqa: PLR2004
    text = f"random reaches 2.5 points at {reached[0] if reached else 'none of the sizes'}"
    return Answer(text, bool(reached) and reached[0] >= 250)  # noqa: PLR2004  # the rule
