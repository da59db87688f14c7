"""Chosen items in the forms that harnesses take. One function per form, one registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad._checks import check_choice
from mdad.errors import SettingError
from mdad.exporters._forms import Chosen, hf_indices, id_list, table
from mdad.exporters._inspect import sample_ids, snippet
from mdad.exporters._lm_eval import samples, task_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EXPORTERS", "Chosen", "Exporter", "export", "export_files"]


@dataclass(frozen=True)
class Exporter:
    """A form: how to write it, which options it takes, one line of help.

    ``write`` returns a text, or several by the names of their files.
    """

    write: Callable[..., str | dict[str, str]]
    options: tuple[str, ...]
    help: str


EXPORTERS: dict[str, Exporter] = {
    "ids": Exporter(id_list, (), "item ids, one a line"),
    "csv": Exporter(table, (), "item, weight, subtask, content hash"),
    "lm-eval": Exporter(samples, ("task", "order"), "JSON for lm-evaluation-harness --samples"),
    "lm-eval-task": Exporter(
        task_files, ("task", "order"), "task file and module for lm-evaluation-harness"
    ),
    "inspect": Exporter(sample_ids, ("task",), "ids for Inspect AI --sample-id"),
    "inspect-py": Exporter(snippet, ("task",), "Python module that runs Inspect AI"),
    "hf": Exporter(hf_indices, ("order",), "row numbers for datasets.Dataset.select, as JSON"),
}


def export(
    chosen: Chosen, to: str, *, task: str | None = None, order: Sequence[str] | None = None
) -> str:
    """The chosen items in the form a harness takes.

    Parameters
    ----------
    chosen : micro-benchmark
    to : a name in :data:`EXPORTERS`
    task : of the harness; needed where items have no subtask that names it
    order : ids of the whole data set in its order, where positions are asked for and the ids do
        not end in them

    Raises
    ------
    SettingError
        when the form is unknown, or positions cannot be told from the ids.
    """
    found = export_files(chosen, to, task=task, order=order)
    if len(found) == 1:
        return next(iter(found.values()))
    return "\n".join(f"# {name}\n\n{text}" for name, text in found.items())


def export_files(
    chosen: Chosen, to: str, *, task: str | None = None, order: Sequence[str] | None = None
) -> dict[str, str]:
    """The same as one text, of the name "", or as several by the names of their files."""
    exporter = EXPORTERS[check_choice("export form", to, EXPORTERS)]
    given = {"task": task, "order": order}
    idle = [name for name, value in given.items() if value and name not in exporter.options]
    if idle:
        raise SettingError(f"{idle[0]} has no effect on the form {to!r}; leave it out.")
    written = exporter.write(chosen, **{name: given[name] for name in exporter.options})
    return {"": written} if isinstance(written, str) else written
