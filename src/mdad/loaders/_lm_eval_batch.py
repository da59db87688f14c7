"""Many sound records of lm-evaluation-harness at once.

What is here says the same as the code for one record, faster: a test compares the two. Anything
unusual is left to that code (the answer is None), which also words the messages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mdad.loaders._lm_eval_gold import Misfit, index_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_NUMBERS = frozenset({float, int, bool})
_FLAGS = frozenset({b"True", b"False", b"true", b"false"})
_WRITTEN = (b'["', b"[]")
MIN_CHOICES = 2


@dataclass(frozen=True)
class Columns:
    """Columns of sound rows."""

    items: list[str]
    scores: list[float]
    probabilities: list[float] | None
    hashes: list[str]
    alternates: list[str]
    n_choices: int
    n_known: int


def quick_columns(rows: Sequence[Any], item_key: str, rule: str, acc: str) -> Columns | None:
    """The columns of rows when all are of the usual kind; None when one is not.

    Parameters
    ----------
    rule : the rule for the correct choice
    acc : the field that says whether the likeliest choice was correct

    Raises
    ------
    Misfit
        when a row does not fit the rule.
    """
    values = [row.score for row in rows]
    ids = [row.doc_id for row in rows]
    if not _NUMBERS.issuperset(map(type, values)) or item_key not in {"doc_id", "doc_hash"}:
        return None
    if not {int}.issuperset(map(type, ids)):
        return None
    names = list(map(str, ids))
    hashes = [row.doc_hash or "" for row in rows]
    if item_key == "doc_hash":
        if not all(hashes) or list(map(str.strip, hashes)) != hashes:
            return None
        names, others = hashes, names
    else:
        others = hashes
    layer, n_choices = None, 0
    responses = _packed(rows)
    if responses is None:
        return None
    if not all(text.startswith(_WRITTEN) for text in responses):
        found = _probabilities(rows, responses, rule, acc)
        if found is None:
            return None
        layer, n_choices = found, len(rows)
    known = 0 if layer is None else sum(value == value for value in layer)  # noqa: PLR0124  # NaN
    return Columns(names, list(map(float, values)), layer, hashes, others, n_choices, known)


def _packed(rows: Sequence[Any]) -> list[bytes] | None:
    """The responses as they stand in the file; None where they come from elsewhere."""
    raws = [row.filtered_resps for row in rows]
    return list(map(bytes, raws)) if {msgspec.Raw}.issuperset(map(type, raws)) else None


def _probabilities(
    rows: Sequence[Any], responses: list[bytes], rule: str, acc: str
) -> list[float] | None:
    """By the target's position, or none at all; other rules are for the slower code."""
    if rule not in {"index", ""} or "acc_mutual_info" in (rows[0].metrics or ()):
        return None
    # [["-2.5", "False"], ["-0.5", "True"]] without its punctuation is -2.5,False,-0.5,True.
    parts = b",".join(responses).translate(None, b'[]" ').split(b",")
    counts = np.array([text.count(b"[") - 1 for text in responses])
    commas = np.array([text.count(b",") for text in responses])
    try:
        scores = np.array(list(map(float, parts[::2])))
    except ValueError:
        return None
    usual = all(text.startswith(b"[[") for text in responses) and _FLAGS.issuperset(parts[1::2])
    usual = usual and 2 * len(scores) == len(parts) and bool((commas == 2 * counts - 1).all())
    if not usual or counts.min() < MIN_CHOICES or not np.isfinite(scores).all():
        return None
    if rule == "":
        return [math.nan] * len(rows)
    return _by_index(rows, scores, counts, acc)


def _by_index(
    rows: Sequence[Any], scores: npt.NDArray[Any], counts: npt.NDArray[Any], acc: str
) -> list[float] | None:
    targets = [row.target for row in rows]
    if not {str}.issuperset(map(type, targets)):
        return None
    places = {target: index_of(target) for target in set(targets)}
    if any(len(found) > 1 for found in places.values()):
        return None
    if not all(places.values()):
        raise Misfit
    gold = np.array([places[target][0] for target in targets])
    if (gold >= counts).any():
        raise Misfit
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    top = np.maximum.reduceat(scores, starts)
    weights = np.exp(scores - np.repeat(top, counts))
    chosen = starts + gold
    if not _agrees(rows, acc, scores[chosen] == top, np.add.reduceat(weights == 1, starts)):
        return None
    found: list[float] = (weights[chosen] / np.add.reduceat(weights, starts)).tolist()
    return found


def _agrees(
    rows: Sequence[Any], acc: str, likeliest: npt.NDArray[Any], n_likeliest: npt.NDArray[Any]
) -> bool:
    """Whether the harness says the same about the likeliest choice wherever it says something."""
    said = [getattr(row, acc) for row in rows]
    if all(value is None for value in said):
        return True
    if not _NUMBERS.issuperset(map(type, said)):
        return False
    values = np.array(said, dtype=np.float64)
    return bool(((values == likeliest) | ((n_likeliest > 1) & np.isin(values, (0, 1)))).all())
