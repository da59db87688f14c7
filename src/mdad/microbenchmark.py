"""Microbenchmark: the chosen items and the fitted estimator, in one JSON file.

A model is scored from the file alone, years later, on any machine: nothing else is needed, and
items are joined by id, never by position.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mdad._checks import counted, listed
from mdad._files import write_atomically
from mdad._notebook import shown
from mdad._specs import Calibration, EstimatorSpec, MeanSpec, mismatch
from mdad._version import __version__
from mdad.errors import FormatError
from mdad.exporters import export

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

__all__ = ["Benchmark", "EstimatorSpec", "Made", "Microbenchmark"]

FORMAT: Literal["mdad-microbenchmark"] = "mdad-microbenchmark"
VERSION = 2
"""2 added the estimators of learned methods and their calibration."""

MAX_BYTES = 10 * 2**20
WEIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Benchmark:
    """The full benchmark a micro-benchmark was made for.

    Parameters
    ----------
    name : for titles
    n_items : items of the pool the chosen ones were drawn from: what a full score is over
    items_fingerprint : of all items of the benchmark; see :class:`mdad.scores.ScoreMatrix`
    score_range, kind : of a score
    aggregate : "micro" (items count the same) or "macro" (subtasks count the same)
    n_excluded : items that could not be chosen and are no part of the full score
    simulated : whether the scores it was made with are simulated
    """

    name: str
    n_items: int
    items_fingerprint: str
    score_range: tuple[float, float] = (0.0, 1.0)
    kind: Literal["correctness", "graded", "unknown"] = "unknown"
    aggregate: Literal["micro", "macro"] = "micro"
    n_excluded: int = 0
    simulated: bool = False


@dataclass(frozen=True)
class Made:
    """How a micro-benchmark was made; enough to make it again.

    Parameters
    ----------
    method, form, seed : as of :func:`mdad.methods.make_method` and the selection
    settings : further settings, by name
    form_number, n_forms : which of several disjoint forms this is
    source_models : ids of the models it was chosen with; empty when none were needed
    source_scores : lowest and highest full score of these models, or None
    source_spread : standard deviation of their full scores, or None
    source_differing : mean and standard deviation over pairs of them of the mean squared
        difference of their scores on an item, or None
    choice : of a method that chooses among others, the one it chose; else ""
    lineage : file fingerprints of the micro-benchmarks this one was refitted from, oldest first
    data_fingerprint : of the scores it was chosen with, "" when none were needed
    mdad_version : that made it
    """

    method: str
    seed: int
    form: str = "default"
    settings: dict[str, Any] = field(default_factory=dict)
    form_number: int = 1
    n_forms: int = 1
    source_models: tuple[str, ...] = ()
    source_scores: tuple[float, float] | None = None
    source_spread: float | None = None
    source_differing: tuple[float, float] | None = None
    choice: str = ""
    lineage: tuple[str, ...] = ()
    data_fingerprint: str = ""
    mdad_version: str = __version__


@dataclass(frozen=True)
class Microbenchmark:
    """Chosen items of a benchmark, and how to estimate a full score from them.

    Parameters
    ----------
    items : ids, in order, all different
    benchmark : the full benchmark
    made : how the items were chosen
    weights : one per item, they sum to 1; None = all the same
    estimator : fitted to the chosen items
    subtasks : one label per item, or None
    content_hashes : one per item where known, or None: tells a changed item from its old self
    calibration : of a method that learned from source models; see :mod:`mdad.crossfit`

    Raises
    ------
    FormatError
        when the parts do not fit together.
    """

    items: tuple[str, ...]
    benchmark: Benchmark
    made: Made
    weights: tuple[float, ...] | None = None
    estimator: EstimatorSpec = field(default_factory=MeanSpec)
    subtasks: tuple[str, ...] | None = None
    content_hashes: tuple[str, ...] | None = None
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        if not self.items or "" in self.items:
            raise FormatError("a micro-benchmark needs items, each with an id.")
        if len(set(self.items)) < len(self.items):
            twice = sorted({item for item in self.items if self.items.count(item) > 1})
            raise FormatError(f"a micro-benchmark holds every item once; twice: {listed(twice)}.")
        for name in ("weights", "subtasks", "content_hashes"):
            part = getattr(self, name)
            if part is not None and len(part) != len(self.items):
                raise FormatError(
                    f"{name} must have one entry per item, {len(self.items)}; got {len(part)}."
                )
        problem = mismatch(self.estimator, self.calibration, len(self.items))
        if problem:
            raise FormatError(problem)
        if self.size > self.benchmark.n_items:
            raise FormatError(
                f"{counted(self.size, 'item')} cannot be chosen from {self.benchmark.n_items:,}."
            )
        if self.weights is not None:
            total = math.fsum(self.weights)
            if not all(map(math.isfinite, self.weights)) or abs(total - 1) > WEIGHT_TOLERANCE:
                raise FormatError(f"weights must be finite and sum to 1; they sum to {total:g}.")

    def _repr_html_(self) -> str:
        """What a notebook shows: what was chosen how, and the first items."""
        whole, made = self.benchmark, self.made
        weights = self.weights or [1 / len(self.items)] * len(self.items)
        facts = [
            (
                f"{counted(len(self.items), 'item')} of the {whole.n_items:,} of "
                f"{whole.name or 'the benchmark'}{' (simulated)' if whole.simulated else ''}"
            ),
            f"chosen by {made.method}, seed {made.seed}, mdad {made.mdad_version}",
        ]
        pairs = zip(self.items, weights, strict=True)
        rows = [(item, f"{weight:.4g}") for item, weight in pairs]
        return shown("Microbenchmark", facts, ("item", "weight"), rows)

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return len(self.items)

    @property
    def point(self) -> float:
        """One point: a hundredth of the range of a score."""
        low, high = self.benchmark.score_range
        return (high - low) / 100

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the file's content; 32 hex digits."""
        return hashlib.blake2b(self.to_json(), digest_size=16).hexdigest()

    def to_json(self) -> bytes:
        """The file's content; equal micro-benchmarks give equal bytes."""
        document = {"format": FORMAT, "format_version": VERSION}
        document |= {part.name: getattr(self, part.name) for part in fields(self)}
        return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file; it appears under its name only when it is whole.

        Raises
        ------
        FormatError
            when it would exceed 10 MB or cannot be written.
        """
        content, target = self.to_json(), Path(path)
        if len(content) > MAX_BYTES:
            raise FormatError(
                f"the micro-benchmark is {len(content) / 2**20:.1f} MB; at most 10 MB are allowed. "
                "Choose fewer items."
            )
        try:
            write_atomically(target, content)
        except OSError as error:
            raise FormatError(f"cannot write {target}: {error.strerror}.") from None
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Microbenchmark:
        """Read and validate a file.

        Raises
        ------
        FormatError
            when it is no micro-benchmark, is damaged, or was written by a newer version.
        """
        source = Path(path)
        try:
            if source.stat().st_size > MAX_BYTES:
                raise FormatError(f"{source} is larger than 10 MB: not a micro-benchmark.")
            content = source.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot read {source}: {error.strerror}.") from None
        return cls.from_json(content, str(source))

    @classmethod
    def from_json(cls, content: bytes, name: str = "the file") -> Microbenchmark:
        """Validate the content of a file.

        Raises
        ------
        FormatError
            as :meth:`load`.
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
            raise FormatError(f"{name} is not a micro-benchmark made by mdad: {error}.") from None
        parts = {part.name: getattr(document, part.name) for part in fields(cls)}
        try:
            return cls(**parts)
        except FormatError as error:
            raise FormatError(f"{name} is damaged: {error}") from None

    def export(
        self, to: str, *, task: str | None = None, order: Sequence[str] | None = None
    ) -> str:
        """The chosen items in the form a harness takes; see :func:`mdad.exporters.export`."""
        return export(self, to, task=task, order=order)

    def check_hashes(self, hashes: dict[str, str]) -> None:
        """Compare the content of items with what they were when the file was made.

        Parameters
        ----------
        hashes : content hash of each item that has one

        Raises
        ------
        FormatError
            when the content of a chosen item has changed.
        """
        known = self.content_hashes or ()
        changed = [
            item
            for item, hash_ in zip(self.items, known, strict=False)
            if hash_ and hashes.get(item, hash_) != hash_
        ]
        if changed:
            raise FormatError(
                f"the content of {counted(len(changed), 'chosen item')} has changed since the "
                f"micro-benchmark was made: {listed(changed)}. The benchmark is another one now: "
                "choose items anew."
            )

    def check_benchmark(self, items: Iterable[str], fingerprint: str) -> None:
        """Refuse a whole benchmark that is not the one the file was made for.

        Parameters
        ----------
        items : ids of the whole benchmark
        fingerprint : of these items

        Raises
        ------
        FormatError
            with both fingerprints, and how many chosen items are there.
        """
        if fingerprint == self.benchmark.items_fingerprint:
            return
        there = len(set(self.items) & set(items))
        raise FormatError(
            f"the micro-benchmark was made for another version of the benchmark: its items have "
            f"the fingerprint {self.benchmark.items_fingerprint}, these {fingerprint}. "
            f"{there} of the {self.size} chosen items are among these."
        )


class _Head(msgspec.Struct):
    """What every version of the file begins with."""

    format: Literal["mdad-microbenchmark"]
    format_version: int


class _File(_Head, forbid_unknown_fields=True):
    """The file of this version."""

    items: tuple[str, ...]
    benchmark: Benchmark
    made: Made
    weights: tuple[float, ...] | None = None
    estimator: EstimatorSpec = msgspec.field(default_factory=MeanSpec)
    subtasks: tuple[str, ...] | None = None
    content_hashes: tuple[str, ...] | None = None
    calibration: Calibration | None = None


def json_schema() -> dict[str, Any]:
    """The JSON schema of the file; published as ``docs/microbenchmark.schema.json``."""
    return msgspec.json.schema(_File)
