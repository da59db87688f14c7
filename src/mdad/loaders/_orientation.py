"""Which way round a wide table lies: models as rows or as columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from mdad._checks import check_choice
from mdad.loaders._names import Source, is_role

if TYPE_CHECKING:
    from collections.abc import Sequence

Orientation = Literal["models-rows", "models-columns"]

MOST = 0.8
"""Share of ids that must look alike before their look says anything."""

_ITEM = re.compile(
    r"(q|item|question|doc|id|ex|example|sample|instance|problem|task)?[\s_.:/#-]*\d+",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"(m|model|llm|system)[\s_.:#-]*\d+"
    r"|.*(gpt|llama|claude|gemini|gemma|mistral|mixtral|qwen|deepseek|phi-?\d|falcon|olmo|pythia"
    r"|vicuna|\bmodel[-_ ]?\d|[-_]instruct|[-_]chat|\d+b\b).*",
    re.IGNORECASE,
)
_SLASH = re.compile(r"[^/]+/[^/]+")
_SERIES = re.compile(r"(.*?)\d+$", re.DOTALL)
_LONG_SERIES = 5


def _share(pattern: re.Pattern[str], ids: Sequence[str]) -> float:
    return sum(pattern.fullmatch(i) is not None for i in ids) / max(1, len(ids))


def looks_like(ids: Sequence[str]) -> Literal["models", "items"] | None:
    """What ids look like: numbered as items are, or named as models are.

    >>> looks_like(["q1", "q2"]), looks_like(["gpt-4", "Llama-2-7b"]), looks_like(["a", "b"])
    ('items', 'models', None)
    """
    if _share(_ITEM, ids) >= MOST:
        return "items"
    if _share(_MODEL, ids) >= MOST:
        return "models"
    matches = [_SERIES.fullmatch(i) for i in ids]
    stems = {match[1] if match else i for match, i in zip(matches, ids, strict=True)}
    if len(ids) >= _LONG_SERIES and all(matches) and len(stems) == 1:
        return "items"
    # Organisation and name; items such as mmlu/law_7 share what stands before the number.
    named = _share(_SLASH, ids) >= MOST and len(stems) > len(ids) / 2
    return "models" if named else None


def orientation_of(
    source: Source,
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    given: Orientation | None,
) -> Orientation:
    """The orientation of a wide table: as declared, else by its first column and its ids.

    Raises
    ------
    FormatError
        when name and ids contradict each other, or neither says anything.
    """
    if given is not None:
        check_choice("orientation", given, get_args(Orientation))
        return given
    ways = {"models-rows": 0, "models-columns": 0}
    looks = looks_like(rows), looks_like(columns)
    if looks in {("models", "items"), ("models", None), (None, "items")}:
        ways["models-rows"] = 1
    elif looks in {("items", "models"), ("items", None), (None, "models")}:
        ways["models-columns"] = 1
    named: Orientation | None = None
    if is_role(corner, "model"):
        named = "models-rows"
    elif is_role(corner, "item"):
        named = "models-columns"
    seen: Orientation | None = None
    for way in get_args(Orientation):
        if ways[way]:
            seen = way
    # A name is believed unless both sides speak against it: checkpoints are numbered too.
    if named and seen and named != seen and None not in looks:
        wrong = "models" if named == "models-rows" else "items"
        raise source.error(
            f"the matrix looks transposed: by its first column, {corner!r}, its rows are {wrong}, "
            f"but the rows are called {_sample(rows)} and the columns {_sample(columns)}. Say how "
            f"it lies: orientation={seen!r}, or {named!r} if it is right as it stands."
        )
    if named or seen:
        return named or seen or "models-rows"
    raise source.error(
        f"it is not clear whether the rows ({_sample(rows)}) or the columns ({_sample(columns)}) "
        "are the models. Name the first column model (or item), or say orientation='models-rows' "
        "or 'models-columns'."
    )


def _sample(ids: Sequence[str]) -> str:
    return ", ".join(repr(i[:30]) for i in ids[:2]) + (", ..." if len(ids) > 2 else "")  # noqa: PLR2004
