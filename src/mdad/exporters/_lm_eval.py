"""Forms of lm-evaluation-harness. Its ``--samples`` takes sorted lists without repetitions."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mdad._checks import listed
from mdad.errors import SettingError
from mdad.exporters._forms import Chosen, positions

if TYPE_CHECKING:
    from collections.abc import Sequence


def samples(chosen: Chosen, *, task: str | None, order: Sequence[str] | None) -> str:
    """JSON of task to doc ids, for ``lm_eval --samples FILE``.

    The harness mislabels records when the list is not ascending, so it is.
    """
    return json.dumps(by_task(chosen, task, order), indent=1) + "\n"


def task_yaml(chosen: Chosen, *, task: str | None, order: Sequence[str] | None) -> str:
    """A task file that includes the harness's own and runs the chosen documents of it.

    Raises
    ------
    SettingError
        when the items are of more than one task: the harness has one file for each.
    """
    tasks = by_task(chosen, task, order)
    if len(tasks) > 1:
        raise SettingError(
            f"a task file holds one task; the items are of {len(tasks)}: {listed(tasks)}. Export "
            "them as 'lm-eval' instead."
        )
    ((name, numbers),) = tasks.items()
    module = re.sub(r"\W", "_", name) + "_micro"
    return (
        f"# {len(numbers)} items of {name}; micro-benchmark {chosen.fingerprint}\n"
        f"# Save as {module}.yaml beside the harness's own task file, and the function below as\n"
        f"# {module}.py. A process_docs of the task itself must be called inside it.\n"
        f"include: {json.dumps(name + '.yaml')}\n"
        f"task: {json.dumps(name + '_micro')}\n"
        f"process_docs: !function {module}.keep\n"
        "#\n"
        "# def keep(dataset):\n"
        f"#     return dataset.select({json.dumps(numbers)})\n"
    )


def by_task(chosen: Chosen, task: str | None, order: Sequence[str] | None) -> dict[str, list[int]]:
    """Ascending positions by task: the one given, else the subtask of each item.

    Raises
    ------
    SettingError
        when neither a task is given nor subtasks are known.
    """
    found = positions(chosen, order)
    if task is None and chosen.subtasks is None:
        raise SettingError("which task is it? Name it with task=... (--task NAME).")
    labels = (task,) * len(found) if task is not None else chosen.subtasks or ()
    tasks: dict[str, list[int]] = {}
    for label, position in zip(labels, found, strict=True):
        tasks.setdefault(str(label), []).append(position)
    if any(len(set(numbers)) < len(numbers) for numbers in tasks.values()):
        raise SettingError(
            "two chosen items have the same position in one task; leave --task out so that each "
            "subtask is a task of its own, or give --order FILE."
        )
    return {name: sorted(numbers) for name, numbers in sorted(tasks.items())}
