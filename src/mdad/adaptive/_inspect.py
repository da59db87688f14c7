"""A session run by Inspect AI: every batch is one evaluation of one model, read from its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdad._checks import counted
from mdad.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["inspect_evaluator"]


def inspect_evaluator(
    task: Any,
    models: Mapping[str, Any],
    *,
    scorer: str | None = None,
    metric: str | None = None,
    **options: Any,
) -> Callable[[str, list[str]], dict[str, float]]:
    """A function that evaluates items with Inspect AI, for :meth:`mdad.Session.run`.

    Parameters
    ----------
    task : what ``inspect_ai.eval`` takes as one task
    models : model id of the session -> what ``inspect_ai.eval`` takes as a model
    scorer, metric : which score to read, where samples have several; see
        :func:`mdad.loaders.load`
    options : more options of ``inspect_ai.eval``, such as ``log_dir``

    Raises
    ------
    SettingError
        when inspect_ai is not installed; (when called) for a model that is not named, or a run
        that did not end well.
    """
    try:
        from inspect_ai import eval as evaluate  # noqa: PLC0415  # an extra
    except ImportError:
        raise SettingError(
            "inspect_ai is not installed: pip install inspect_ai, or evaluate by a function of "
            "your own with Session.run."
        ) from None

    def run(model: str, items: list[str]) -> dict[str, float]:
        if model not in models:
            raise SettingError(f"say which model of Inspect {model!r} is; known: {list(models)}.")
        ids = [sample_id(item) for item in items]
        if len(set(ids)) < len(ids):
            raise SettingError(
                "items of several tasks have the same sample id; run a session for each task."
            )
        settings = {"display": "none", **options}
        (log,) = evaluate(task, model=models[model], sample_id=ids, **settings)
        if log.status != "success":
            raise SettingError(
                f"Inspect did not finish {counted(len(items), 'sample')} of {model}: "
                f"{log.status}{f', {log.error.message}' if log.error else ''}. What was answered "
                "before is kept."
            )
        found = _scores(log.location, scorer, metric)
        return {item: found[name] for item, name in zip(items, ids, strict=True) if name in found}

    return run


def sample_id(item: str) -> str:
    """Inspect's id of an item: what follows the task.

    >>> sample_id("arc/q7"), sample_id("q7")
    ('q7', 'q7')
    """
    return item.rpartition("/")[2]


def _scores(location: str, scorer: str | None, metric: str | None) -> dict[str, float]:
    """Score of each sample that has one, by sample id."""
    from pathlib import Path  # noqa: PLC0415
    from urllib.parse import unquote, urlparse  # noqa: PLC0415

    from mdad.loaders import load  # noqa: PLC0415  # slow to import

    parts = urlparse(location)
    path = Path(unquote(parts.path)) if parts.scheme == "file" else Path(location)
    read = load(path, format="inspect", scorer=scorer, metric=metric, min_models=1)
    row = read.values[0].astype(float).tolist()
    return {
        sample_id(item): score
        for item, score in zip(read.items, row, strict=True)
        if score == score  # noqa: PLR0124  # not NaN: not scored
    }
