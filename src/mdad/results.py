"""Results: what the runs of an experiment measured, one Parquet shard per run.

A directory of results holds ``experiment.json`` (settings, fingerprints, what was dropped) and
``runs/run-00000.parquet`` and so on. A shard appears under its name only when it is whole, and
names the experiment it belongs to; everything else in the directory is ignored.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from mdad._checks import counted, listed, shorten
from mdad._files import write_atomically
from mdad._groups import Grouping
from mdad._shards import DamagedShardError, read_shard, shard_path, table_of, write_shard
from mdad._version import __version__
from mdad.errors import ResultsError
from mdad.experiment import ITEM_SETS, Experiment, Run
from mdad.quality import Quality

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["Results", "ScoresFacts", "Spec", "read_shard", "shard_path", "write_shard"]

FORMAT, VERSION = "mdad-results", 1
SPLITS_MANIFEST = "splits.json"
"""What a folder of several folders of results holds; see :mod:`mdad._several`."""
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoresFacts:
    """What results say of the scores they were measured on."""

    name: str
    simulated: bool
    kind: str
    score_range: tuple[float, float]
    n_models: int
    n_items: int
    n_subtasks: int
    data_fingerprint: str
    items_fingerprint: str
    dropped_models: tuple[str, ...] = ()
    dropped_items: tuple[str, ...] = ()
    quality: Quality = field(default_factory=Quality)

    @property
    def point(self) -> float:
        """One point, in the unit of the scores."""
        return (self.score_range[1] - self.score_range[0]) / 100


@dataclass(frozen=True)
class Spec:
    """An experiment and the scores it is done on; results of equal specs are equal bytes.

    ``grouping`` says what the groups of a grouped split are; None for the others, and in results
    of versions that did not say.
    """

    experiment: Experiment
    scores: ScoresFacts
    version: str = __version__
    grouping: Grouping | None = None

    def to_json(self) -> bytes:
        """The spec as JSON, the same bytes for the same spec."""
        document = {
            "format": FORMAT,
            "format_version": VERSION,
            "mdad_version": self.version,
            "experiment": self.experiment.to_dict(),
            "scores": self.scores,
        }
        if self.grouping is not None:
            document["grouping"] = self.grouping
        return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"

    @classmethod
    def read(cls, path: Path) -> Spec:
        """Read ``experiment.json``.

        Raises
        ------
        ResultsError
            when the file is not one, or was written by a newer version.
        """
        try:
            document = msgspec.json.decode(path.read_bytes())
            if document["format"] != FORMAT:
                raise ResultsError(f"{path.name} is not an mdad experiment.")
            if document["format_version"] > VERSION:
                raise ResultsError(
                    f"{path} was written by mdad {document['mdad_version']} in a newer format "
                    f"({document['format_version']}; this version reads {VERSION}). Update mdad."
                )
            return cls(
                msgspec.convert(document["experiment"], Experiment),
                msgspec.convert(document["scores"], ScoresFacts),
                str(document["mdad_version"]),
                msgspec.convert(document.get("grouping"), Grouping | None),
            )
        except OSError as error:
            raise ResultsError(f"cannot read {path}: {error.strerror}.") from None
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            raise ResultsError(f"{path} is damaged: {error}.") from None

    @cached_property
    def fingerprint(self) -> str:
        """Identifies experiment and scores; 32 hex digits.

        The package version is no part of it, nor is what follows from settings and scores.

        Settings that have their default value are left out, so that results stay readable when a
        later version has a setting more.
        """
        defaults = Experiment().to_dict()
        settings = self.experiment.to_dict()
        document = {
            "experiment": {k: v for k, v in settings.items() if v != defaults[k]},
            "scores": self.scores,
        }
        return hashlib.blake2b(msgspec.json.encode(document), digest_size=16).hexdigest()

    def difference(self, other: Spec) -> list[str]:
        """Settings in which two specs differ, as ``name: ours, theirs``."""
        lines = []
        for part in ("experiment", "scores"):
            ours, theirs = (msgspec.to_builtins(getattr(spec, part)) for spec in (self, other))
            lines += [
                f"{name}: {shorten(ours[name])}, {shorten(theirs[name])}"
                for name in ours
                if ours[name] != theirs[name]
            ]
        return lines


@dataclass(frozen=True, eq=False)
class Results:
    """Estimates and full scores of every run, method, size and target model.

    Parameters
    ----------
    spec : what was done, on which scores
    runs : in the order of their numbers

    Notes
    -----
    Scores are in the unit of the score matrix. Everything in :mod:`mdad.measures` is computed from
    this alone; nothing is run again.
    """

    spec: Spec
    runs: tuple[Run, ...] = field(repr=False)

    @property
    def experiment(self) -> Experiment:
        """The resolved experiment."""
        return self.spec.experiment

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Every model that was a target in some run, in alphabetical order."""
        return tuple(sorted({model for run in self.runs for model in run.models}))

    @cached_property
    def target(self) -> npt.NDArray[np.intp]:
        """Position in :attr:`models` of each run's targets, shape (n_runs, n_target)."""
        position = {model: i for i, model in enumerate(self.models)}
        return np.array([[position[model] for model in run.models] for run in self.runs])

    @cached_property
    def estimates(self) -> FloatArray:
        """Estimated full scores, shape (n_methods, n_sizes, n_runs, n_target)."""
        return np.stack([run.estimates for run in self.runs], axis=2)

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Their standard errors, the same shape; NaN where a method has none."""
        return np.stack([run.standard_errors for run in self.runs], axis=2)

    @cached_property
    def subtasks(self) -> dict[str, Results]:
        """With separate subtasks, the results of each; a size is still that of all together."""
        return {
            label: Results(self.spec, tuple(run.parts[i] for run in self.runs))
            for i, label in enumerate(part.subtask for part in self.runs[0].parts)
        }

    def full(self, items: str) -> FloatArray:
        """Full scores on "seen", "unseen" or "all" items, shape (n_runs, n_target)."""
        return np.stack([run.full[ITEM_SETS.index(items)] for run in self.runs])

    def n_items(self, items: str) -> int:
        """Number of items in that set (the same in every run)."""
        return self.runs[0].n_items[ITEM_SETS.index(items)]

    def frame(self) -> pd.DataFrame:
        """One row per run x (subtask) x method x size x target model.

        Columns: run, subtask ("" = the whole benchmark), method, size, model, estimate,
        standard_error, seen, unseen, all (full scores on those items), n_seen, n_unseen, n_all.
        """
        import pandas as pd  # noqa: PLC0415  # slow to import, not needed for measures

        tables = [table_of(run, self.spec).to_pandas() for run in self.runs]
        frame: pd.DataFrame = pd.concat(tables, ignore_index=True)
        return frame

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write ``experiment.json`` and one shard per run.

        Raises
        ------
        ResultsError
            when the directory holds results of another experiment.
        """
        folder = open_results(Path(directory), self.spec)
        for run in self.runs:
            write_shard(folder, run, self.spec)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Results:
        """Read a directory written by :meth:`save` or by an audit with ``out``.

        Raises
        ------
        ResultsError
            when there is none, a shard is damaged or foreign, or runs are missing.
        """
        folder = Path(directory)
        spec = Spec.read(folder / "experiment.json")
        try:
            runs = [read_shard(folder, number, spec) for number in range(spec.experiment.runs)]
        except DamagedShardError as error:
            raise ResultsError(
                f"{error} The same audit with the same output folder sets it aside and does the "
                "run again."
            ) from None
        missing = [number for number, run in enumerate(runs) if run is None]
        if missing:
            raise ResultsError(
                f"{len(missing)} of {counted(len(runs), 'run')} in {folder} are not done (runs "
                f"{listed(missing)}). The same audit with the same output folder finishes them."
            )
        return cls(spec, tuple(run for run in runs if run is not None))

    @classmethod
    def merge(cls, parts: Sequence[Results]) -> Results:
        """Results of the same splits with different methods, side by side.

        Raises
        ------
        ResultsError
            when scores or settings other than the methods differ.
        """
        first = parts[0]
        for part in parts[1:]:
            same = replace(part.experiment, methods=first.experiment.methods)
            difference = first.spec.difference(Spec(same, part.spec.scores))
            if difference:
                raise ResultsError(
                    "results can be merged only when they are of the same scores and settings; "
                    f"these differ in {'; '.join(difference)}."
                )
        names = [name for part in parts for name in part.experiment.methods]
        if len(set(names)) < len(names):
            raise ResultsError(f"a method occurs in more than one part: {listed(names)}.")
        runs = tuple(
            replace(
                runs[0],
                estimates=np.concatenate([run.estimates for run in runs]),
                standard_errors=np.concatenate([run.standard_errors for run in runs]),
            )
            for runs in zip(*(part.runs for part in parts), strict=True)
        )
        return cls(
            replace(first.spec, experiment=replace(first.experiment, methods=tuple(names))), runs
        )


def open_results(folder: Path, spec: Spec) -> Path:
    """Make a directory ready for this experiment's shards, or go on with what it holds.

    Raises
    ------
    ResultsError
        when it holds another experiment, or something else, or cannot be written.
    """
    manifest = folder / "experiment.json"
    try:
        if manifest.exists():
            held = Spec.read(manifest)
            if held.fingerprint != spec.fingerprint:
                raise ResultsError(
                    f"{folder} holds another experiment (there, here): "
                    f"{'; '.join(held.difference(spec))}. Give another output folder."
                )
        elif (folder / SPLITS_MANIFEST).exists():
            raise ResultsError(
                f"{folder} holds an audit of several splits; ask for the same splits to go on with "
                "it, or give another folder."
            )
        elif folder.exists() and not _abandoned(folder):
            raise ResultsError(f"{folder} is not empty and holds no results; give another folder.")
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        if not manifest.exists():
            write_atomically(manifest, spec.to_json())
    except OSError as error:
        raise cannot_write(folder, error) from None
    return folder


def cannot_write(folder: Path, error: OSError) -> ResultsError:
    """Why results cannot be written, and what happens to those that are there."""
    return ResultsError(
        f"cannot write results to {folder}: {error.strerror}. Finished runs that are there stay "
        "whole; once the folder can be written, the same audit goes on from them."
    )


def _abandoned(folder: Path) -> bool:
    """Whether a folder is empty, or an audit was stopped in it before it wrote its settings."""
    own = re.compile(r"\.experiment\.json\.\d+\.partial")
    return all(
        own.fullmatch(entry.name) or (entry.name == "runs" and not any(entry.iterdir()))
        for entry in folder.iterdir()
    )
