"""Forms of lm-evaluation-harness. Its ``--samples`` takes sorted lists without repetitions."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mdad._checks import counted
from mdad.errors import SettingError
from mdad.exporters._forms import Chosen, positions, several_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTE = "mdad:content"
"""Key of the samples file that holds contents; the harness looks up its tasks and no other key."""

MODULE = '''"""{count} of {name}; micro-benchmark {fingerprint}. Written by mdad export.

Runs with lm-evaluation-harness: {module}.yaml beside it refers to it.
"""

import json

from lm_eval.utils import handle_non_serializable, hash_string

# Position in the data set, and what doc_hash must be there ("": not known).
CHOSEN = {{
{chosen}}}
# The split of few-shot examples, where it is another one: it is left whole.
EXAMPLES = None


def own(dataset):
    """Call the process_docs of the task itself here, if it has one."""
    return dataset


def keep(dataset):
    """The chosen documents, if they say what they said when they were chosen."""
    whole = own(dataset)
    if EXAMPLES is not None and str(dataset.split) == EXAMPLES:
        return whole
    if len(whole) <= max(CHOSEN):
        raise ValueError(f"the data set has {{len(whole)}} documents, {{max(CHOSEN)}} is chosen.")
    kept = whole.select(list(CHOSEN))
    changed = [n for (n, hash_), doc in zip(CHOSEN.items(), kept) if hash_ not in ("", found(doc))]
    if changed:
        raise ValueError(
            f"{{len(changed)}} of {{len(CHOSEN)}} documents have changed: {{changed[:5]}}. Split "
            f"{{dataset.split}}; if it is that of the examples, name it as EXAMPLES."
        )
    return kept


def found(doc):
    """The doc_hash that the harness will log."""
    text = json.dumps(doc, indent=2, default=handle_non_serializable, ensure_ascii=False)
    return hash_string(text)
'''


def samples(chosen: Chosen, *, task: str | None, order: Sequence[str] | None) -> str:
    """JSON of task to doc ids, for ``lm_eval --samples FILE``.

    The harness mislabels records when the list is not ascending, so it is. Where contents are
    known, the key :data:`NOTE` holds the ``doc_hash`` of each and the micro-benchmark's
    fingerprint.
    """
    tasks = by_task(chosen, task, order)
    document: dict[str, object] = {name: list(docs) for name, docs in tasks.items()}
    hashes = {name: {n: h for n, h in docs.items() if h} for name, docs in tasks.items()}
    if any(hashes.values()):
        document[NOTE] = {"micro_benchmark": chosen.fingerprint, "doc_hash": hashes}
    return json.dumps(document, indent=1) + "\n"


def task_files(chosen: Chosen, *, task: str | None, order: Sequence[str] | None) -> dict[str, str]:
    """A task of its own that runs the chosen documents: task file and module, by name.

    The harness numbers its documents anew, so that results are joined by content.

    Raises
    ------
    SettingError
        when the items are of more than one task: the harness has one file for each.
    """
    tasks = by_task(chosen, task, order)
    if len(tasks) > 1:
        raise several_tasks(tasks, "a task file", "lm-eval")
    ((name, docs),) = tasks.items()
    module = re.sub(r"\W", "_", name) + "_micro"
    count = counted(len(docs), "document")
    joined = (
        "results are joined by content."
        if all(docs.values())
        else "contents are not known for all, so mdad cannot join the results:\n"
        "# run the task itself with --samples (mdad export --to lm-eval) to compare models."
    )
    text = (
        f"# {count} of {name}; micro-benchmark {chosen.fingerprint}\n"
        f"# Belongs beside the harness's own task file, with {module}.py;\n"
        f"# {joined}\n"
        f"include: {json.dumps(name + '.yaml')}\n"
        f"task: {json.dumps(name + '_micro')}\n"
        f"process_docs: !function {module}.keep\n"
    )
    lines = "".join(f"    {n}: {json.dumps(hash_)},\n" for n, hash_ in docs.items())
    code = MODULE.format(
        count=count, name=name, fingerprint=chosen.fingerprint, module=module, chosen=lines
    )
    return {f"{module}.yaml": text, f"{module}.py": code}


def by_task(
    chosen: Chosen, task: str | None, order: Sequence[str] | None
) -> dict[str, dict[int, str]]:
    """Ascending positions and their contents by task: the one given, else each item's subtask.

    Raises
    ------
    SettingError
        when neither a task is given nor subtasks are known.
    """
    found = positions(chosen, order)
    if task is None and chosen.subtasks is None:
        raise SettingError("which task is it? Name it with task=... (--task NAME).")
    labels = (task,) * len(found) if task is not None else chosen.subtasks or ()
    contents = chosen.content_hashes or ("",) * len(found)
    tasks: dict[str, dict[int, str]] = {}
    for label, position, content in sorted(zip(labels, found, contents, strict=True)):
        docs = tasks.setdefault(str(label), {})
        if position in docs:
            raise SettingError(
                "two chosen items have the same position in one task; leave --task out so that "
                "each subtask is a task of its own, or give --order FILE."
            )
        docs[position] = content
    return tasks
