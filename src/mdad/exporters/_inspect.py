"""Forms of Inspect AI: sample ids for its command line, and a snippet that checks contents."""

from __future__ import annotations

import inspect
import json

from mdad._checks import counted
from mdad.exporters._forms import Chosen, refuse, several_tasks
from mdad.loaders import _inspect_content

SNIPPET = '''"""{count}; micro-benchmark {fingerprint}. Written by mdad export.

    from {module} import run
    run(my_task(), model="openai/gpt-4o", log_dir="logs/candidate")
"""

import hashlib
import json
from typing import Any

from inspect_ai import eval

# Sample id, and what the content hash must be ("": not known).
CHOSEN = {chosen}


def run(task, **options):
    """Evaluate the chosen samples, if they say what they said when they were chosen."""
    there = {{str(sample.id): sample.model_dump() for sample in task.dataset}}
    gone = [id for id in CHOSEN if id not in there]
    known = {{id: hash_ for id, hash_ in CHOSEN.items() if hash_ and id in there}}
    changed = [id for id, hash_ in known.items() if of(there[id]) != hash_]
    if gone or changed:
        raise ValueError(f"samples not there: {{gone[:5]}}; changed: {{changed[:5]}}")
    return eval(task, sample_id=PATTERNS, **options)


def of(sample):
    return content_hash(sample["input"], sample["choices"], sample["target"])


# An id is a pattern to Inspect.
PATTERNS = [id.replace("[", "[[]") for id in CHOSEN]


# How mdad knows a sample by what it says

CUT = {cut}


{functions}'''


def sample_ids(chosen: Chosen, *, task: str | None) -> str:
    """Ids separated by commas, as ``--sample-id`` takes them.

    Logs name an item by task and sample; of one task only the sample is named here, of several
    ``task:sample``.

    Raises
    ------
    SettingError
        when an id holds a comma.
    """
    refuse(chosen, ",\n\r", "a comma or line break", "inspect-py")
    pairs = _samples(chosen, task)
    several = len({name for name, _ in pairs}) > 1
    # "[" begins a pattern in Inspect.
    ids = [sample.replace("[", "[[]") for _, sample in pairs]
    names = [f"{name}:" if several and name else "" for name, _ in pairs]
    return ",".join(map("".join, zip(names, ids, strict=True))) + "\n"


def snippet(chosen: Chosen, *, task: str | None) -> str:
    """A Python module that evaluates the chosen samples of one task after looking at them.

    Raises
    ------
    SettingError
        when the items are of several tasks.
    """
    pairs = _samples(chosen, task)
    names = {name for name, _ in pairs}
    if len(names) > 1:
        raise several_tasks(names, "a module", "inspect")
    hashes = chosen.content_hashes or ("",) * len(pairs)
    ids = dict(zip((sample for _, sample in pairs), hashes, strict=True))
    of_task = f" of {names.pop()}" if names != {""} else ""
    functions = (_inspect_content.content_hash, _inspect_content.plain_text)
    return SNIPPET.format(
        count=counted(len(ids), "sample") + of_task,
        fingerprint=chosen.fingerprint,
        module="micro_samples",
        chosen=json.dumps(ids, indent=4),
        cut=_inspect_content.CUT,
        functions="\n\n".join(inspect.getsource(function) for function in functions),
    )


def _samples(chosen: Chosen, task: str | None) -> list[tuple[str, str]]:
    """Task and sample id of each item."""
    labels = (task,) * len(chosen.items) if task is not None else chosen.subtasks
    pairs = []
    for item, label in zip(chosen.items, labels or ("",) * len(chosen.items), strict=True):
        inside = bool(label) and item.startswith(f"{label}/")
        pairs.append((label, item[len(label) + 1 :]) if inside else ("", item))
    return pairs
