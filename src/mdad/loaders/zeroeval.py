"""ZeroEval: a list of a model's outputs with the right answers; no scores.

Only answers that are numbers are scored here (``gsm`` and the like), by ZeroEval's own rule: the
``answer`` in the last JSON object of the output, without $ and thousands separators, is the same
text as the right answer or begins with the same number. An output without such an answer is
wrong, as ZeroEval counts it. Other tasks (grids, letters, texts) need ZeroEval's own scorer and
are refused.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import begins, fitting, shape_of, some_files
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_GOLD = re.compile(r"#?\s*(-?[\d,]+(?:\.\d+)?)", re.ASCII)
MAX_DIGITS = 300


class _Row(msgspec.Struct):
    id: str | int
    output: list[str]
    generator: str
    answer: Any = None
    dataset: str = ""


_ROWS = msgspec.json.Decoder(list[_Row])


def _is_outputs(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "[" and names >= {"session_id", "chat_history", "output", "generator", "id"}


def detect(tree: Tree) -> bool:
    """Whether there are outputs of ZeroEval."""
    return begins(tree, [".json"], _is_outputs)


def load(tree: Tree, setup: Setup) -> Loaded:
    """Read the outputs below a folder and score those whose right answer is a number."""
    files = some_files(tree, fitting(tree, [".json"], _is_outputs), "outputs of ZeroEval")
    return collect(
        tree, files, _read, setup, format="zeroeval", metric="ZeroEval's number match",
        chosen=["the answers were compared here, by ZeroEval's rule for numbers"], unit="entry",
    )  # fmt: skip


def _read(path: Path, findings: Findings) -> Iterator[Record]:
    rows: list[_Row] = json_document(path, findings.source, _ROWS)
    for entry, row in enumerate(rows, 1):
        gold = _GOLD.fullmatch(row.answer.strip()) if isinstance(row.answer, str) else None
        if gold is None or len(gold[1]) > MAX_DIGITS:
            findings.bad(
                entry,
                f"({str(row.id)[:60]}) has no number as its right answer. The file has outputs, "
                "not scores, and only numbers are compared here: score it with ZeroEval and load "
                "the scores as a table.",
            )
            continue
        if len(row.output) != 1:
            findings.bad(entry, f"({str(row.id)[:60]}) has {len(row.output)} outputs, not one.")
            continue
        score = float(_agrees(_answer(row.output[0]), gold[1].replace(",", "")))
        yield Record(row.generator, str(row.id), score, subtask=row.dataset, line=entry)


def _answer(output: str) -> str | None:
    """The answer in the last JSON object of an output; None without one.

    >>> _answer('Well: {"reasoning": "2 + 2", "answer": "$1,004"}')
    '1004'
    """
    decoder = json.JSONDecoder()
    found = None
    start = output.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(output, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found = value
        start = output.find("{", end)
    if not isinstance(found, dict) or isinstance(found.get("answer"), dict | list | None):
        return None
    return str(found["answer"]).replace("$", "").replace(",", "").strip()


def _agrees(answer: str | None, gold: str) -> bool:
    if answer is None:
        return False
    first = _NUMBER.search(answer.replace(" ", ""))
    right = _NUMBER.search(gold)
    same = bool(first and right and float(first[0]) == float(right[0]))
    return answer == gold or same
