"""OpenCompass: results with details, or predictions with references.

``results/<model>/<dataset>.json`` has ``details`` when they were asked for
(``dump_details``): a numbered object or a list with ``correct`` for every item. Without details
there is one accuracy and nothing to read. ``predictions/<model>/<dataset>.json`` has outputs and
references but no scores; they are compared here when a rule is given, and refused otherwise.
Items are numbered within their data set, ``<dataset>/7``; the data set is the subtask.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad._checks import check_choice, shorten
from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import (
    begins,
    fitting,
    folder_name,
    no_number,
    number_of,
    shape_of,
    some_files,
    stem,
)
from mdad.loaders._logs import Findings, Record, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup
    from mdad.loaders._names import Source

RULES = ("exact", "lawbench")
PARTS = ("predictions", "results")
CORRECT = ("correct", "is_correct", "cascade_correct")

_FLAT = re.compile(r"(?:predictions|results)__(?P<model>.+)__(?P<data>.+?)")
_LETTER = re.compile("正确答案\uff1a([A-D])。?")  # a fullwidth colon
_AMOUNT = re.compile("上文涉及到的犯罪金额:([0-9.]{1,300})元。")
_NUMBERS = re.compile(r"[0-9]{1,300}\.?[0-9]{0,300}")

_DECODER = msgspec.json.Decoder(dict[str, Any])


def _is_predictions(head: bytes) -> bool:
    start = head[:4096].lstrip()
    return start[:1] == b"{" and b'"origin_prompt"' in start and b'"prediction"' in head


def _is_details(head: bytes) -> bool:
    kind, names = shape_of(head)
    if kind != "{" or "details" not in names:
        return False
    return any(f'"{name}"'.encode() in head for name in CORRECT)


def _fits(head: bytes) -> bool:
    return _is_predictions(head) or _is_details(head)


def detect(tree: Tree) -> bool:
    """Whether there are results or predictions of OpenCompass."""
    return begins(tree, [".json"], _fits)


def load(tree: Tree, setup: Setup, *, rule: str | None = None) -> Loaded:
    """Read the results below a folder, or its predictions by a rule.

    Parameters
    ----------
    rule : how predictions are compared with references: "exact", the same text without white
        space around it; "lawbench", LawBench's own rules for single choices (the right letter
        and no other in the output) and for amounts (the right number somewhere in the output)
    """
    if rule is not None:
        check_choice("rule", rule, RULES)
    wanted = _is_details if rule is None else _is_predictions
    files = fitting(tree, [".json"], wanted) or fitting(tree, [".json"], _fits)
    some_files(tree, files, "result or prediction of OpenCompass")
    metric = "correct" if rule is None else f"predictions compared by the rule {rule!r}"
    read = partial(_read, rule=rule)
    return collect(tree, files, read, setup, format="opencompass", metric=metric, unit="entry")


def _names(path: Path, source: Source) -> tuple[str, str]:
    """Model and data set."""
    name = stem(path)
    flat = _FLAT.fullmatch(name)
    if flat is not None:
        return flat["model"], flat["data"]
    model = folder_name(path)
    if not model or model in PARTS:
        raise source.error(
            "its folder does not name the model. Keep OpenCompass's folders, "
            "results/<model>/<dataset>.json."
        )
    return model, name


def _read(path: Path, findings: Findings, *, rule: str | None) -> Iterator[Record]:
    source = findings.source
    document = json_document(path, source, _DECODER)
    model, data = _names(path, source)
    if "details" in document:
        rows, score_of = _numbered(document["details"], source), _correct
    elif rule is None:
        raise source.error(
            "it has predictions and references but no scores. Load the results that OpenCompass "
            "writes with dump_details=True, or say how to compare: rule='exact' or "
            "rule='lawbench' (--option rule=lawbench)."
        )
    else:
        rows = _numbered(document, source)
        score_of = partial(_compared, rule=rule)
    for entry, (number, row) in enumerate(rows, 1):
        score = score_of(row) if isinstance(row, dict) else "is no object."
        if isinstance(score, str):
            findings.bad(entry, f"({number}) {score}")
            continue
        yield Record(model, f"{data}/{number}", score, subtask=data, line=entry)


def _numbered(details: Any, source: Source) -> list[tuple[str, Any]]:
    """The items with their numbers, which count from 0."""
    if isinstance(details, list):
        return [(str(number), row) for number, row in enumerate(details)]
    if isinstance(details, dict):
        found = [(name, row) for name, row in details.items() if name != "type"]
        if {name for name, _ in found} == {str(number) for number in range(len(found))}:
            return found
    raise source.error(
        f"its items must be a list or be numbered from 0 without a gap; got {shorten(details)}. "
        "Part of a data set would get the ids of other items."
    )


def _correct(row: dict[str, Any]) -> float | str:
    there = [name for name in CORRECT if name in row]
    if len(there) != 1:
        return f"has {len(there)} of the names {', '.join(CORRECT)}; one is needed."
    score = number_of(row[there[0]])
    return no_number(there[0], row[there[0]]) if score is None else score


def _compared(row: dict[str, Any], *, rule: str) -> float | str:
    output = row.get("prediction")
    right = row["refr"] if "refr" in row else row.get("gold", row.get("reference"))
    if not isinstance(output, str) or not isinstance(right, str):
        return "needs one text as 'prediction' and one as reference ('refr' or 'gold')."
    if rule == "exact":
        return float(output.strip() == right.strip())
    letter, amount = _LETTER.fullmatch(right), _AMOUNT.fullmatch(right)
    if letter is not None:
        return float({option for option in "ABCD" if option in output} == {letter[1]})
    if amount is not None:
        try:
            wanted = float(amount[1])
        except ValueError:
            return f"has no number in its reference {shorten(right)}."
        return float(wanted in {float(found) for found in _NUMBERS.findall(output)})
    return (
        f"has the reference {shorten(right)}, neither a single choice nor an amount: LawBench "
        "scores this task in another way, which is not done here."
    )
