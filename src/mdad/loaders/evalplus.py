"""EvalPlus: ``eval_results.json`` of HumanEval+ and MBPP+, one file per model.

Each task has one outcome per completion. The score is the share of completions that pass: the
original tests and EvalPlus's own (metric "plus", as the leaderboard ranks), or the original ones
alone ("base"). A file made with ``--base-only`` has no "plus", and "base" is not taken instead.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad._checks import check_choice
from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import begins, fitting, model_of, shape_of, some_files
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

METRICS = ("plus", "base")
GENERIC = ("eval_results", "humaneval", "mbpp", "results")
ENDINGS = ("_eval_results", ".eval_results")
PASSED = ("pass", "success")
OUTCOMES = (*PASSED, "fail", "failed", "timeout", "timed out")


class _Completion(msgspec.Struct):
    base_status: str | None = None
    plus_status: str | None = None


class _Old(msgspec.Struct):
    """Older files: a list of [status, details] for each kind of test."""

    base: list[list[Any]]
    plus: list[list[Any]] = []


class _Document(msgspec.Struct):
    eval: dict[str, Any]


_DECODER = msgspec.json.Decoder(_Document)


def _is_results(head: bytes) -> bool:
    kind, names = shape_of(head)
    return (
        kind == "{"
        and "eval" in names
        and "config" not in names
        and (b'"base_status"' in head or b'"nfiles"' in head)
    )


def detect(tree: Tree) -> bool:
    """Whether there are results of EvalPlus."""
    return begins(tree, [".json"], _is_results)


def load(tree: Tree, setup: Setup, *, metric: str = "plus") -> Loaded:
    """Read the results below a folder, one model each.

    Parameters
    ----------
    metric : "plus", all tests, or "base", the original benchmark's alone
    """
    check_choice("metric", metric, METRICS)
    files = some_files(tree, fitting(tree, [".json"], _is_results), "eval_results.json")
    names = {path: model_of(tree, path, GENERIC, *ENDINGS) for path in files}
    read = partial(_read, models=names, metric=metric)
    return collect(tree, files, read, setup, format="evalplus", metric=metric, unit="task")


def _read(
    path: Path, findings: Findings, *, models: dict[Path, str], metric: str
) -> Iterator[Record]:
    document = json_document(path, findings.source, _DECODER)
    for entry, (task, outcomes) in enumerate(document.eval.items(), 1):
        score = _score(outcomes, metric)
        if isinstance(score, str):
            findings.bad(entry, f"({task}) {score}")
            continue
        subtask = task.rpartition("/")[0]
        yield Record(models[path], task, score, subtask=subtask, line=entry)


def _score(outcomes: Any, metric: str) -> float | str:
    """The share of completions that pass, or why there is none."""
    try:
        pairs = _pairs(outcomes)
    except (msgspec.ValidationError, ValueError) as error:
        return f"has no outcomes of completions: {error}."
    if not pairs:
        return "has no completion: nothing was generated for it."
    passes = 0
    for pair in pairs:
        asked = pair if metric == "plus" else pair[:1]
        for status in asked:
            if status is None:
                return f"has no {metric!r} outcome; no other metric is taken instead."
            if status not in OUTCOMES:
                return f"has the unknown outcome {status[:40]!r}; known: {', '.join(OUTCOMES)}."
        passes += all(status in PASSED for status in asked)
    return passes / len(pairs)


def _pairs(outcomes: Any) -> list[tuple[str | None, str | None]]:
    """Outcomes of the original tests and of EvalPlus's own, for each completion."""
    if isinstance(outcomes, list):
        rows = msgspec.convert(outcomes, list[_Completion])
        return [(row.base_status, row.plus_status) for row in rows]
    old = msgspec.convert(outcomes, _Old)
    if old.plus and len(old.plus) != len(old.base):
        raise ValueError("as many base as plus outcomes are needed")
    base = [_status(found) for found in old.base]
    plus = [_status(found) for found in old.plus] if old.plus else [None] * len(base)
    return list(zip(base, plus, strict=True))


def _status(found: list[Any]) -> str:
    if not found or not isinstance(found[0], str):
        raise ValueError("an outcome is [status, details]")
    return found[0]
