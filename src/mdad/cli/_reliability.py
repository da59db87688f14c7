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
    from mdad._spread import upper  # noqa: PLC0415  # slow to import

    sure = upper(found.lead, 0.9) / micro.point
    chosen = f"auto chose {micro.made.choice}. " if micro.made.choice else ""
    error = (
        "" if found.studentised else f"full scores +-{upper(found.score, 0.95) / micro.point:.1f}, "
    )
    line = (
        f"{chosen}On {found.n_models:,} held-out source models (95 %): {error}gaps "
        f"+-{upper(found.gap, 0.95) / micro.point:.1f} points; a gap of {sure:.1f} points or more "
        "on these items has the right sign with probability 0.95."
    )
    return [line]
