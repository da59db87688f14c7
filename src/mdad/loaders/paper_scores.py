"""The paper's published ``model_scores.csv``: rows are items, columns are models.

The last two columns are ``subtask_range``, where the subtask begins and ends in the whole table,
and ``subset``, its name. There are no ids: an item is its place within the subtask
(``gpqa_main/7``), which is right as long as the rows are in their first order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mdad._checks import counted, shorten
from mdad.loaders._cells import number
from mdad.loaders._log_shapes import begins, fitting, some_files
from mdad.loaders._logs import Findings, Record, collect
from mdad.loaders._text import table_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

LAST = ("subtask_range", "subset")
_TAIL = re.compile(rb",subtask_range,subset\s*[\r\n]")
_RANGE = re.compile(r"\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)", re.ASCII)


def _fits(head: bytes) -> bool:
    return _TAIL.search(head) is not None


def detect(tree: Tree) -> bool:
    """Whether there is a table of the paper's form."""
    return begins(tree, [".csv"], _fits)


def load(tree: Tree, setup: Setup) -> Loaded:
    """Read the tables below a folder, one benchmark each."""
    files = fitting(tree, [".csv"], _fits)
    some_files(tree, files, "model_scores.csv of the paper")
    return collect(
        tree, files, _read, setup, format="paper-scores", metric="the score of the table",
        chosen=["items are named by their place in the table, which has no ids"],
    )  # fmt: skip


def _read(path: Path, findings: Findings) -> Iterator[Record]:
    source = findings.source
    header, body = table_rows(path, source)
    names = [name.strip() for name in header[:-2]]
    if tuple(header[-2:]) != LAST or len(set(names)) < len(names) or not names:
        raise source.error(
            f"its header must be the names of the models, each once, and {LAST[0]}, {LAST[1]}."
        )
    for place, (line, row) in enumerate(body):
        if len(row) != len(header):
            findings.bad(line, f"has {counted(len(row), 'cell')}, the header {len(header):,}.")
            continue
        subset, found = row[-1].strip(), _RANGE.fullmatch(row[-2].strip())
        if found is None or not subset or not int(found[1]) <= place < int(found[2]):
            findings.bad(
                line,
                f"is row {place:,} from 0 of the table, in the range {shorten(row[-2])} of "
                f"{shorten(subset)}: rows are missing, or in another order.",
            )
            continue
        item = f"{subset}/{place - int(found[1])}"
        for model, cell in zip(names, row, strict=False):
            score = number(cell)
            if score is None:
                findings.bad(line, f"has {shorten(cell)} for {shorten(model)}, not a number.")
                continue
            yield Record(model, item, score, subtask=subset, line=line)
