"""The paper's settings by name; what a preset sets, an explicit setting overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdad._checks import check_choice
from mdad.errors import SettingError
from mdad.experiment import MAX_TARGET
from mdad.splits import n_seen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mdad.scores import ScoreMatrix

__all__ = ["PAPER_METHODS", "PRESETS", "preset_settings"]

PAPER_METHODS = (
    "random",
    "random-subtasks-equal",
    "stratified-confidence",
    "diversity",
    "anchor-points",
    "tinybenchmarks",
)
"""The paper's methods, in the order of its figures."""

PAPER_SIZES = (10, 25, 50, 100, 250, 500, 1000)
SMALL_SIZES = (10, 25, 50, 100, 200)
"""For a seen pool of fewer than 250 items (GPQA)."""

FRACTIONS = (0.02, 0.04, 0.08, 0.16, 0.24, 0.32, 0.4)
SOURCES = (10, 50, 100, 150, 200, 250, 300)

PRESETS: dict[str, str] = {
    "paper": "the paper's six methods in its form, 300 source and 50 target models, 50 runs",
    "paper-sources": "the same for 10 to 300 source models",
    "paper-separate": "the same with a micro-benchmark of each subtask, sizes as fractions",
    "paper-fixed-targets": "the same for fixed target models; name them with targets",
}


def preset_settings(name: str, scores: ScoreMatrix, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a preset for these scores, with those given on top.

    Parameters
    ----------
    name : a key of :data:`PRESETS`
    scores : complete matrix; a smaller one than the paper's gets what it can hold
    given : explicit settings; empty and None ones count as not given

    Returns
    -------
    settings of :class:`mdad.experiment.Experiment`; ``n_source`` is a list for "paper-sources"

    Raises
    ------
    SettingError
        when there is no such preset, or it needs target models and none are named.
    """
    check_choice("preset", name, PRESETS)
    explicit = {key: value for key, value in given.items() if value not in (None, (), "", [])}
    pool = n_seen(scores, explicit.get("seen", "half"))
    sizes = PAPER_SIZES if pool >= PAPER_SIZES[4] else SMALL_SIZES
    n_target = len(explicit.get("targets", ())) or min(MAX_TARGET, scores.n_models // 3)
    most = scores.n_models - n_target
    settings: dict[str, Any] = {
        "methods": PAPER_METHODS,
        "sizes": tuple(size for size in sizes if size <= pool) or (pool,),
        "form": "paper",
        "runs": 50,
        "n_source": min(300, most),
    }
    if name == "paper-sources":
        settings["n_source"] = [n for n in SOURCES if n <= most]
    if name == "paper-separate":
        settings |= {"subtasks": "separate", "fractions": FRACTIONS, "sizes": ()}
    if name == "paper-fixed-targets" and "targets" not in explicit:
        raise SettingError(
            "the preset paper-fixed-targets needs target models: targets (--targets)."
        )
    if "fractions" in explicit:
        settings["sizes"] = ()
    if "sizes" in explicit:
        settings["fractions"] = ()
    return settings | explicit
