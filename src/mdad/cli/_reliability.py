"""What the calibration of a micro-benchmark says, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdad.microbenchmark import Microbenchmark


def reliability(micro: Microbenchmark) -> list[str]:
    """What a learned micro-benchmark's calibration says, in points."""
    found = micro.calibration
    if found is None:
        return []
    from mdad._gap_law import sure_gap  # noqa: PLC0415  # slow to import
    from mdad._spread import upper  # noqa: PLC0415  # slow to import

    chosen = f"auto chose {micro.made.choice}. " if micro.made.choice else ""
    error = f"+-{upper(found.score, 0.95) / micro.point:.1f} points (95 %)"
    if found.studentised:
        error = "as sure as each model's own answers make them"
    gap, width = sure_gap(found.gap, 0.95), 100 * micro.point
    sure = (
        "no gap between two models is sure with probability 0.95"
        if gap > width
        else f"of two models {gap / micro.point:.1f} points apart on these items the leader is "
        "ahead with probability 0.95"
    )
    return [f"{chosen}On {found.n_models:,} source models held out: full scores {error}; {sure}."]
