"""LiveCodeBench: ``*_eval_all.json``, a list of problems with the verdict on each attempt.

The score is the share of attempts that pass (``graded_list``), which has to agree with the
file's own ``pass@1``. Items are the problems' ids; the platform is the subtask.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import begins, fitting, folder_name, shape_of, some_files, stem
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

ROUNDING = 1e-9
_TAIL = re.compile(r"[._]eval_all.*$")


class _Problem(msgspec.Struct):
    question_id: str | int
    graded_list: list[bool]
    platform: str = ""
    test_id: str | int | None = None
    pass_at_1: float | None = msgspec.field(default=None, name="pass@1")


_DECODER = msgspec.json.Decoder(list[_Problem])


def _is_verdicts(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "[" and names >= {"question_id", "graded_list"}


def detect(tree: Tree) -> bool:
    """Whether there are verdicts of LiveCodeBench."""
    return begins(tree, [".json"], _is_verdicts)


def load(tree: Tree, setup: Setup) -> Loaded:
    """Read the verdicts below a folder, one model each."""
    files = some_files(tree, fitting(tree, [".json"], _is_verdicts), "eval_all.json")
    names = {path: _model(path) for path in files}
    read = partial(_read, models=names)
    return collect(tree, files, read, setup, format="livecodebench", metric="pass@1", unit="entry")


def _model(path: Path) -> str:
    """``<model>/Scenario.codegeneration_1_0.2_eval_all.json`` or ``<model>.eval_all.json``."""
    name = stem(path)
    return folder_name(path) if name.startswith("Scenario.") else _TAIL.sub("", name)


def _read(path: Path, findings: Findings, *, models: dict[Path, str]) -> Iterator[Record]:
    problems: list[_Problem] = json_document(path, findings.source, _DECODER)
    for entry, problem in enumerate(problems, 1):
        verdicts = problem.graded_list
        item = str(problem.question_id)
        if problem.test_id is not None:
            item = f"{item}/{problem.test_id}"
        if not verdicts:
            findings.drop("problem without a verdict: missing")
        score = sum(verdicts) / len(verdicts) if verdicts else float("nan")
        own = problem.pass_at_1
        if own is not None and verdicts and not abs(own - score) < ROUNDING:
            findings.bad(entry, f"has pass@1 {own:g}, but {score:g} of its attempts pass.")
            continue
        yield Record(models[path], item, score, subtask=problem.platform, line=entry)
