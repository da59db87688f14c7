"""The probability a model gave to the correct answer, from the records of lm-evaluation-harness.

A multiple-choice record lists, for every choice, the log-likelihood of the choice and whether it
is the greedy continuation (which says nothing about correctness). The probability is a softmax
of the log-likelihoods. Which choice is correct is logged in one of three ways, and which of them
a task uses is found for a whole file, never record by record: "2" may be a position or a choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

GOLD_RULES = ("index", "text", "two")
"""Target is a position; the text of a choice; or neither, and ``acc`` tells it for two choices."""

_NONE = math.nan


class Misfit(Exception):  # noqa: N818  # not an error: the next rule is tried
    """A record does not fit the rule for the correct choice."""


class _Argument(msgspec.Struct):
    arg_1: Any = None


_ARGUMENTS = msgspec.json.Decoder(dict[str, _Argument] | list[list[Any]])


def plain(value: Any) -> Any:
    """A value that was kept undecoded, decoded; None when it is not JSON after all."""
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        return msgspec.json.decode(value) if bytes(value) else None
    except (msgspec.DecodeError, RecursionError):
        return None


def choice_scores(responses: Any) -> list[float] | None:
    """The log-likelihoods of the choices; None when the record is no multiple choice.

    >>> choice_scores([["-2.6", "False"], ["-2.3", "True"]]), choice_scores(["a text"])
    ([-2.6, -2.3], None)
    """
    if not isinstance(responses, Sequence) or isinstance(responses, str) or len(responses) < 2:  # noqa: PLR2004  # two choices
        return None
    found = []
    for response in responses:
        if not isinstance(response, Sequence) or isinstance(response, str) or len(response) != 2:  # noqa: PLR2004  # value, greedy
            return None
        try:
            found.append(float(response[0]))
        except (TypeError, ValueError):
            return None
        if str(response[1]) not in {"True", "False"}:
            return None
    return found


def softmax_of(scores: Sequence[float], gold: Sequence[int]) -> float:
    """Probability of the correct choices; NaN when the log-likelihoods give none.

    >>> round(softmax_of([0.0, 0.0], [1]), 3)
    0.5
    """
    top = max(scores)
    if not math.isfinite(top):
        return _NONE
    weights = [math.exp(score - top) for score in scores]
    # A NaN among them makes the sum NaN, which is what it is. Rounding may pass 1.
    found = sum(weights[i] for i in gold) / sum(weights)
    return min(found, 1.0) if found == found else _NONE  # noqa: PLR0124  # is it NaN?


def gold_probability(row: Any, scores: list[float], rule: str, *, acc: Any) -> float:
    """The probability of the correct choice by one rule.

    Parameters
    ----------
    row : with ``target`` and ``arguments`` as they were logged
    scores : log-likelihoods of the choices; with mutual information, of both halves
    rule : one of :data:`GOLD_RULES`
    acc : whether the likeliest choice was the correct one, where the record says so

    Raises
    ------
    Misfit
        when the record does not fit the rule.
    """
    texts = None
    if rule == "text":
        texts = _choices(row.arguments)
        if texts is None or len(texts) < 2:  # noqa: PLR2004  # two choices
            raise Misfit
        # acc_mutual_info asks for every choice twice, the second time without the question.
        half = len(scores) // 2
        if len(texts) == len(scores) and texts[:half] == texts[half:]:
            texts = texts[:half]
        scores = scores[: len(texts)]
    else:
        scores = _without_repeats(row, scores)
    if rule == "two":
        if len(scores) == 2 and scores[0] == scores[1]:  # noqa: PLR2004
            return softmax_of(scores, [0])  # a half, whichever is correct
        gold = _of_two(scores, acc)
    else:
        gold = index_of(row.target) if rule == "index" else _position(row.target, texts or [])
    if not gold or max(gold) >= len(scores) or min(gold) < 0:
        raise Misfit
    if any(map(math.isnan, scores)):
        return _NONE  # what the harness made of it says nothing about the rule
    if _contradicts(scores, gold, acc):
        raise Misfit
    return softmax_of(scores, gold)


def _without_repeats(row: Any, scores: list[float]) -> list[float]:
    """The first half when the request was made with and without the question."""
    if "acc_mutual_info" not in (row.metrics or ()) or len(scores) % 2:
        return scores
    return scores[: len(scores) // 2]


def _choices(arguments: Any) -> list[str] | None:
    """The texts of the choices as they were requested, without white space around them."""
    if isinstance(arguments, msgspec.Raw):
        try:
            arguments = _ARGUMENTS.decode(bytes(arguments)) if bytes(arguments) else None
        except (msgspec.DecodeError, RecursionError):
            return None
    found: list[Any]
    if isinstance(arguments, Mapping):
        # A Parquet column has a place for every choice any row has.
        known = [each for each in arguments.values() if each is not None]
        found = [each["arg_1"] if isinstance(each, Mapping) else each.arg_1 for each in known]
    elif isinstance(arguments, Sequence) and not isinstance(arguments, str):
        found = [each[1] if len(each) > 1 else None for each in arguments]
    else:
        return None
    texts = [text.strip() for text in found if isinstance(text, str)]
    return texts if len(texts) == len(found) else None


def index_of(target: Any) -> list[int]:
    """A target that is a position, or a list of them."""
    if isinstance(target, bool):
        return []
    if isinstance(target, int):
        return [target]
    if isinstance(target, str):
        text = target.strip()
        if text.isascii() and text.isdigit():
            return [int(text)] if len(text) < 4 else []  # noqa: PLR2004  # thousands of choices
        if text.startswith("[") and text.endswith("]"):
            parts = [part.strip() for part in text[1:-1].split(",")]
            if all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):  # noqa: PLR2004
                return [int(part) for part in parts]
    return []


def _position(target: Any, texts: list[str]) -> list[int]:
    """The one choice that has the target's text."""
    wanted = str(target).strip()
    found = [i for i, text in enumerate(texts) if text == wanted]
    return found if len(found) == 1 else []


def _of_two(scores: list[float], acc: Any) -> list[int]:
    """Which of two choices is correct when the harness says whether the likelier one was."""
    if len(scores) != 2 or acc not in (0, 1):  # noqa: PLR2004
        return []
    likelier = int(scores[1] > scores[0])
    return [likelier if acc else 1 - likelier]


def _contradicts(scores: list[float], gold: list[int], acc: Any) -> bool:
    """Whether the harness says something else about the likeliest choice."""
    if not isinstance(acc, int | float):
        return False
    if acc not in (0, 1):
        return True  # TruthfulQA's mc2, for one: no single choice is correct
    top = max(scores)
    likeliest = [i for i, score in enumerate(scores) if score == top]
    # On a tie the harness takes the first, which other versions need not.
    return len(likeliest) == 1 and (likeliest[0] in gold) != bool(acc)
