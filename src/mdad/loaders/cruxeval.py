"""CRUXEval: ``sample_scored_<model>_<task>.json`` with the verdict on each generation.

The score is the share of generations that are right, which has to agree with the file's own
``pass_at_1``. The two tasks ask for outputs and for inputs of the same programs: the task is the
subtask and a part of the item's id (``output/sample_7``).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import msgspec

from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import begins, fitting, shape_of, some_files, stem
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

ROUNDING = 1e-6
_NAME = re.compile(r"(?:sample_scored_)?(?P<model>.+)_(?P<task>input|output)")


class _Document(msgspec.Struct):
    raw_scored_generations: dict[str, list[bool]]
    pass_at_1: float | None = None


_DECODER = msgspec.json.Decoder(_Document)


def _is_scored(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "{" and bool(names & {"raw_generations", "raw_scored_generations"})


def detect(tree: Tree) -> bool:
    """Whether there are scored generations of CRUXEval."""
    return begins(tree, [".json"], _is_scored)


def load(tree: Tree, setup: Setup) -> Loaded:
    """Read the scored generations below a folder, one model and task each."""
    files = some_files(tree, fitting(tree, [".json"], _is_scored), "scored generations")
    return collect(tree, files, _read, setup, format="cruxeval", metric="pass@1", unit="entry")


def _read(path: Path, findings: Findings) -> Iterator[Record]:
    source = findings.source
    name = _NAME.fullmatch(stem(path))
    if name is None:
        raise source.error(
            "its name does not say model and task. Name it "
            "sample_scored_<model>_<input or output>.json, as CRUXEval does."
        )
    document = json_document(path, source, _DECODER)
    scores = {
        sample: sum(verdicts) / len(verdicts) if verdicts else float("nan")
        for sample, verdicts in document.raw_scored_generations.items()
    }
    scored = [score for score in scores.values() if not math.isnan(score)]
    own = document.pass_at_1
    if own is not None and scored and not abs(own / 100 - sum(scored) / len(scored)) < ROUNDING:
        raise source.error(
            f"its pass_at_1 is {own:g} but its verdicts give {100 * sum(scored) / len(scored):g}: "
            "the file is damaged or edited."
        )
    task = name["task"]
    for entry, (sample, score) in enumerate(scores.items(), 1):
        if math.isnan(score):
            findings.drop("sample without a verdict: missing")
        yield Record(name["model"], f"{task}/{sample}", score, subtask=task, line=entry)
