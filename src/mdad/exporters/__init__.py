"""Chosen items in the forms that harnesses take. One function per form, one registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad._checks import check_choice
from mdad.errors import SettingError
from mdad.exporters._forms import Chosen, hf_indices, id_list, inspect_ids, table
from mdad.exporters._lm_eval import samples, task_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EXPORTERS", "Chosen", "Exporter", "export"]


@dataclass(frozen=True)
class Exporter:
    """A form: how to write it, whether it needs positions, one line of help."""

    write: Callable[..., str]
    needs_positions: bool
    help: str


EXPORTERS: dict[str, Exporter] = {
    "ids": Exporter(id_list, needs_positions=False, help="item ids, one a line"),
    "csv": Exporter(table, needs_positions=False, help="item, weight, subtask, content hash"),
    "lm-eval": Exporter(
        samples, needs_positions=True, help="JSON for lm-evaluation-harness --samples"
    ),
    "lm-eval-task": Exporter(
        task_yaml, needs_positions=True, help="task YAML for lm-evaluation-harness"
    ),
    "inspect": Exporter(inspect_ids, needs_positions=False, help="ids for Inspect AI --sample-id"),
    "hf": Exporter(
        hf_indices, needs_positions=True, help="row numbers for datasets.Dataset.select, as JSON"
    ),
}


def export(
    chosen: Chosen, to: str, *, task: str | None = None, order: Sequence[str] | None = None
) -> str:
    """The chosen items in the form a harness takes.

    Parameters
    ----------
    chosen : micro-benchmark
    to : a name in :data:`EXPORTERS`
    task : of lm-evaluation-harness; needed where items have no subtask that names it
    order : ids of the whole data set in its order, where positions are asked for and the ids do
        not end in them

    Raises
    ------
    SettingError
        when the form is unknown, or positions cannot be told from the ids.
    """
    exporter = EXPORTERS[check_choice("export form", to, EXPORTERS)]
    if not exporter.needs_positions:
        if task is not None or order is not None:
            raise SettingError(f"task and order have no effect on the form {to!r}; leave them out.")
        return exporter.write(chosen)
    return exporter.write(chosen, task=task, order=order)
