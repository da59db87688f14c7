"""AlpacaEval annotations: what a judge preferred, a model's answer or the baseline's.

``results/<model>/<judge>/annotations.json`` is a list of comparisons with the instruction and
the preference: 1 is the baseline's answer, 2 the model's, 1.5 (0 in old files) a tie, numbers
between are a judge's weights. The score is preference - 1, the model's share of a win. There
are no ids: an item is its data set and a hash of the instruction. Judges are never mixed, nor
baselines.
"""

from __future__ import annotations

import hashlib
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad._checks import check_choice, listed
from mdad.errors import FormatError
from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import (
    begins,
    fitting,
    folder_name,
    no_number,
    number_of,
    shape_of,
    some_files,
)
from mdad.loaders._logs import Findings, Record, collect, no_choice, not_there
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

MODEL_NAMES = ("log", "folder")


class _Row(msgspec.Struct):
    instruction: str
    generator_1: str
    generator_2: str
    annotator: str = ""
    dataset: str = ""
    preference: Any = None


class _Names(msgspec.Struct):
    generator_1: str
    generator_2: str
    annotator: str = ""


_ROWS = msgspec.json.Decoder(list[_Row])
_NAMES = msgspec.json.Decoder(list[_Names])


def _is_annotations(head: bytes) -> bool:
    kind, names = shape_of(head)
    return kind == "[" and names >= {"generator_1", "generator_2", "instruction"}


def detect(tree: Tree) -> bool:
    """Whether there are annotations of AlpacaEval."""
    return begins(tree, [".json"], _is_annotations)


def load(
    tree: Tree, setup: Setup, *, scorer: str | None = None, model_names: str | None = None
) -> Loaded:
    """Read the annotations of one judge.

    Parameters
    ----------
    scorer : the judge (annotator), as in "alpaca_eval_gpt4"; needed where there are several
    model_names : "log" or "folder": where a model's name is taken from when its folder and the
        records in it disagree; None refuses such files
    """
    if model_names is not None:
        check_choice("model_names", model_names, MODEL_NAMES)
    files = some_files(tree, fitting(tree, [".json"], _is_annotations), "annotations.json")
    by_judge: dict[str, dict[str, list[Path]]] = {}
    for path in files:
        pairs = {(row.annotator, row.generator_1) for row in _names(tree, path)}
        if len(pairs) > 1:
            raise FormatError(
                f"{tree.shown(path)}: it has comparisons by several judges or with several "
                f"baselines: {listed(sorted(pairs))}. Split it into one file for each."
            )
        for annotator, baseline in pairs:
            by_judge.setdefault(annotator, {}).setdefault(baseline, []).append(path)
    source = Source(tree.root.name)
    judge = scorer
    if judge is None:
        if len(by_judge) != 1:
            raise no_choice(source, "judge", by_judge or {"NAME"}, "scorer")
        judge = next(iter(by_judge))
    elif judge not in by_judge:
        raise not_there(source, "judge", judge, by_judge)
    baselines = by_judge[judge]
    if len(baselines) > 1:
        raise source.error(
            f"the judge {judge!r} compared with several baselines, which are other scores: "
            f"{listed(sorted(baselines))}. Load the files of one baseline."
        )
    ((baseline, taken),) = baselines.items()
    return collect(
        tree,
        taken,
        partial(_read, model_names=model_names),
        setup,
        format="alpaca-eval",
        metric=f"preference over {baseline} by {judge}",
        unit="entry",
    )


def _names(tree: Tree, path: Path) -> list[_Names]:
    return json_document(path, Source(tree.shown(path)), _NAMES)


def _model(path: Path, source: Source, row: _Row, model_names: str | None) -> str:
    """The model of a file; folder and record agree, or the caller says which is right."""
    folder = folder_name(path, 2) if folder_name(path) == row.annotator else ""
    if folder and folder != row.generator_2 and model_names is None:
        raise source.error(
            f"its folder says that the model is {folder!r}, its records {row.generator_2!r}. Say "
            "which is right: model_names='log' or model_names='folder' (--model-names)."
        )
    return folder if folder and model_names == "folder" else row.generator_2


def _read(path: Path, findings: Findings, *, model_names: str | None) -> Iterator[Record]:
    rows = json_document(path, findings.source, _ROWS)
    model = _model(path, findings.source, rows[0], model_names) if rows else ""
    for entry, row in enumerate(rows, 1):
        if row.generator_2 != rows[0].generator_2:
            findings.bad(
                entry, f"is about {row.generator_2!r}, others about {rows[0].generator_2!r}."
            )
            continue
        preference = number_of(row.preference)
        if preference is None:
            findings.bad(entry, no_number("preference", row.preference))
            continue
        if math.isnan(preference):
            findings.drop("comparison without a preference: missing")
        # Old files have 0 for a tie.
        score = 0.5 if preference == 0 else preference - 1
        text = row.instruction.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=8).hexdigest()
        item = f"{row.dataset}/{digest}" if row.dataset else digest
        yield Record(model, item, score, subtask=row.dataset, line=entry)
