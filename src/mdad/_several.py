"""Results of one experiment under several splits, side by side in one folder.

The folder holds ``splits.json``, which names the splits in order, and a folder of ordinary results
for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast, get_args

import msgspec

from mdad._checks import check_choice, listed
from mdad._files import write_atomically
from mdad.errors import MdadError, ResultsError, SettingError
from mdad.experiment import Experiment, SplitKind
from mdad.results import SPLITS_MANIFEST as MANIFEST
from mdad.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mdad.scores import ScoreMatrix

__all__ = ["check_each", "load_splits", "run_each", "save_splits", "split_kinds"]

FORMAT, VERSION = "mdad-splits", 1


class Do(Protocol):
    """Does all runs of one experiment; see :func:`mdad.runner.run_experiment`."""

    def __call__(
        self, experiment: Experiment, *, out: Path | None, progress: Callable[[int, int], None]
    ) -> Results: ...


def split_kinds(split: str | Sequence[str]) -> tuple[SplitKind, ...]:
    """The splits asked for: one, or several different ones.

    Raises
    ------
    SettingError
        when one is unknown or named twice, or none is named.

    >>> split_kinds("random"), split_kinds(["random", "frontier"])
    (('random',), ('random', 'frontier'))
    """
    kinds = (split,) if isinstance(split, str) else tuple(split)
    if not kinds:
        raise SettingError("no split is named; leave the setting out for 'random'.")
    for kind in kinds:
        check_choice("split", kind, get_args(SplitKind))
    if len(set(kinds)) < len(kinds):
        raise SettingError(f"every split may be named once; got {listed(kinds)}.")
    return cast("tuple[SplitKind, ...]", kinds)


def check_each(
    kinds: Sequence[SplitKind], made: Callable[[SplitKind], Experiment], scores: ScoreMatrix
) -> dict[SplitKind, Experiment]:
    """An experiment for each split, before any run is done; the error says which cannot be."""
    experiments = {}
    for kind in kinds:
        try:
            experiments[kind] = made(kind)
            experiments[kind].resolve(scores)
        except MdadError as error:
            raise type(error)(f"split {kind!r}: {error}") from None
    return experiments


def run_each(
    experiments: Mapping[SplitKind, Experiment],
    do: Do,
    out: Path | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[Results, ...]:
    """Results of every split, in order. One that fails does not keep the others from finishing.

    Raises
    ------
    MdadError
        of the first split that failed, after all others are done; with ``out`` they are kept.
    """
    if out is not None:
        _open(out, tuple(experiments))
    everything = sum(experiment.runs for experiment in experiments.values())
    finished: dict[SplitKind, Results] = {}
    failed: dict[SplitKind, MdadError] = {}
    before = 0
    for kind, experiment in experiments.items():
        place = None if out is None else out / kind
        try:
            finished[kind] = do(
                experiment, out=place, progress=_after(before, everything, progress)
            )
        except MdadError as error:
            failed[kind] = error
        before += experiment.runs
    for kind, reason in failed.items():
        kept = f" Finished and kept in {out}: {listed(finished)}." if out and finished else ""
        raise type(reason)(f"split {kind!r}: {reason}{kept}")
    return tuple(finished.values())


def _after(
    before: int, everything: int, progress: Callable[[int, int], None] | None
) -> Callable[[int, int], None]:
    """Progress of one split as that of all."""

    def report(done: int, _all: int) -> None:
        if progress is not None:
            progress(before + done, everything)

    return report


def save_splits(parts: Sequence[Results], folder: Path) -> None:
    """Write results of several splits.

    Raises
    ------
    ResultsError
        when the folder holds something else or cannot be written.
    """
    _open(folder, tuple(part.experiment.split for part in parts))
    for part in parts:
        part.save(folder / part.experiment.split)


def _open(folder: Path, kinds: tuple[SplitKind, ...]) -> None:
    """Make a folder ready for the results of these splits; splits that it holds already stay."""
    try:
        # A file with a dot in front was left by a process that was stopped while it wrote.
        held = [p for p in folder.iterdir() if p.name[0] != "."] if folder.exists() else []
        if held and not (folder / MANIFEST).exists():
            raise ResultsError(
                f"{folder} is not empty and holds no results of several splits; give another "
                "folder."
            )
        folder.mkdir(parents=True, exist_ok=True)
        document = {"format": FORMAT, "format_version": VERSION, "splits": kinds}
        content = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
        write_atomically(folder / MANIFEST, content)
    except OSError as error:
        raise ResultsError(f"cannot write results to {folder}: {error.strerror}.") from None


def load_splits(folder: Path) -> tuple[Results, ...]:
    """Read a folder of results: those of several splits, or of one.

    Raises
    ------
    ResultsError
        when there are none, or they are damaged or not finished.
    """
    path = folder / MANIFEST
    if not path.exists():
        return (Results.load(folder),)
    try:
        document = msgspec.json.decode(path.read_bytes())
        if document["format"] != FORMAT or document["format_version"] > VERSION:
            raise ResultsError(f"{path} was written by a newer mdad; update mdad.")
        kinds = split_kinds(document["splits"])
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}.") from None
    except (msgspec.MsgspecError, KeyError, TypeError, SettingError) as error:
        raise ResultsError(f"{path} is damaged: {error}.") from None
    return tuple(Results.load(folder / kind) for kind in kinds)
