"""The state of a session in one JSON file: the plan, and the answers so far."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from mdad._checks import counted, listed
from mdad._files import write_atomically
from mdad._version import __version__
from mdad.adaptive._plan import Plan  # noqa: TC001  # read at run time
from mdad.errors import FormatError, ScoresError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mdad.scores import ScoreMatrix

VERSION = 1
MAX_BYTES = 100 * 2**20


class Pool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the full scores are over.

    Parameters
    ----------
    name : for titles
    n_items : items of the pool
    items_fingerprint : of all items of the benchmark; see :class:`mdad.scores.ScoreMatrix`
    score_range : of a score
    aggregate : "micro" or "macro"
    simulated : whether scores are simulated
    """

    name: str
    n_items: int
    items_fingerprint: str
    score_range: tuple[float, float] = (0.0, 1.0)
    aggregate: Literal["micro", "macro"] = "micro"
    simulated: bool = False


class Sources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Source models of a learned design: how many, of which scores, and their range."""

    n_models: int
    data_fingerprint: str
    lowest: float
    highest: float


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything about a session that is fixed before the first answer.

    Parameters
    ----------
    models : the two that are compared, or one
    reference : score that one model is compared with, in the unit of the scores
    alpha, batch, budget, spending, seed : settings
    pool, sources : what is measured, and learned from
    plan : order, looks and boundaries
    contents : content hash of each item of the plan where it is known
    """

    models: tuple[str, ...]
    reference: float | None
    alpha: float
    batch: int
    budget: int
    spending: str
    seed: int
    pool: Pool
    plan: Plan
    sources: Sources | None = None
    contents: dict[str, str] = {}  # msgspec gives each its own
    mdad_version: str = __version__

    @property
    def fingerprint(self) -> str:
        """Identifies the session, whatever was answered; 32 hex digits."""
        return hashlib.blake2b(msgspec.json.encode(self), digest_size=16).hexdigest()


class _Head(msgspec.Struct):
    format: Literal["mdad-session"]
    format_version: int


class _File(_Head, forbid_unknown_fields=True):
    setup: Setup
    setup_fingerprint: str
    answers: dict[str, dict[str, float]]


Answers = dict[str, dict[str, float]]
"""Item -> model -> score."""


def encode(setup: Setup, answers: Answers) -> bytes:
    """The content of the file; equal states give equal bytes."""
    ordered = {
        item: {model: answers[item][model] for model in setup.models if model in answers[item]}
        for item in setup.plan.order
        if item in answers
    }
    document = _File("mdad-session", VERSION, setup, setup.fingerprint, ordered)
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def decode(content: bytes, name: str) -> tuple[Setup, Answers]:
    """Validate the content of a file.

    Raises
    ------
    FormatError
        when it is no session, was edited, or was written by a newer version.
    """
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.format_version > VERSION:
            raise FormatError(
                f"{name} has format version {head.format_version}; this mdad ({__version__}) "
                f"reads versions up to {VERSION}. Update mdad to use it."
            )
        document = msgspec.json.decode(content, type=_File)
    except msgspec.MsgspecError as error:
        raise FormatError(f"{name} is not a session of mdad: {error}.") from None
    if document.setup.fingerprint != document.setup_fingerprint:
        raise FormatError(
            f"{name} was changed by another hand: its settings or the order of its items no longer "
            "have the fingerprint they were written with, so its error rate would not hold."
        )
    answers: Answers = {}
    merge(document.setup, answers, document.answers)
    return document.setup, answers


def read(path: Path) -> tuple[Setup, Answers]:
    """Read a file; errors as of :func:`decode`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"{path} is larger than 100 MB: not a session.")
        content = path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror}.") from None
    return decode(content, str(path))


def write(path: Path, setup: Setup, answers: Answers) -> None:
    """Write the file; it appears under its name only when it is whole.

    Raises
    ------
    FormatError
        when it cannot be written.
    """
    try:
        write_atomically(path, encode(setup, answers))
    except OSError as error:
        raise FormatError(f"cannot write {path}: {error.strerror}.") from None


def merge(setup: Setup, answers: Answers, told: Mapping[str, Mapping[str, Any]]) -> int:
    """Add answers; all are checked before the first is taken.

    Returns
    -------
    how many are new

    Raises
    ------
    ScoresError
        when an item or a model is not of this session, a score is none, or an answer that is known
        is told differently.
    """
    order = set(setup.plan.order)
    strange = [item for item in told if item not in order]
    if strange:
        raise ScoresError(
            f"{counted(len(strange), 'item')} not of this session, which has "
            f"{counted(len(order), 'item')} to ask for: {listed(strange)}."
        )
    new: list[tuple[str, str, float]] = []
    for item, scores in told.items():
        for model, value in scores.items():
            if model not in setup.models:
                raise ScoresError(
                    f"{model!r} is not compared in this session; it compares "
                    f"{listed(setup.models)}."
                )
            score = _score(setup, item, model, value)
            known = answers.get(item, {}).get(model)
            if known is None:
                new.append((item, model, score))
            elif known != score:
                raise ScoresError(
                    f"the item {item!r} was answered before: {model} scored {known:g}, and now "
                    f"{score:g}. The first answer counts; asking again until it suits would break "
                    "the error rate."
                )
    for item, model, score in new:
        answers.setdefault(item, {})[model] = score
    return len(new)


def _score(setup: Setup, item: str, model: str, value: Any) -> float:
    low, high = setup.pool.score_range
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = math.nan
    if not low <= score <= high:
        raise ScoresError(
            f"the score of {model} on {item!r} must be a number from {low:g} to {high:g}; got "
            f"{value!r}. An item that could not be scored is not answered: score it, or say "
            "that it counts as wrong."
        )
    return score + 0.0


def by_item(scores: ScoreMatrix) -> Answers:
    """Item -> model -> score of a matrix; cells that were not scored are left out."""
    return {
        item: {
            model: float(value)
            for model, value in zip(scores.models, scores.values[:, column], strict=True)
            if not np.isnan(value)
        }
        for item, column in scores.item_position.items()
    }
