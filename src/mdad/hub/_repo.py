"""One model's data set of details: which files are wanted, and where they are kept."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mdad.hub._get import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["RemoteFile", "Repo", "keep", "latest", "listing"]

_NAME = re.compile(
    r"(?P<kind>samples|results)_(?:(?P<task>[\w.-]+?)_)?"
    r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?)\.(?P<form>jsonl?)"
)


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set on the hub.

    Parameters
    ----------
    path : in the data set
    size : bytes
    sha256 : of the content where the hub knows it (files in LFS), else ""
    blob : git's hash of the content, for other files
    """

    path: str
    size: int
    sha256: str
    blob: str

    @property
    def name(self) -> str:
        """Name of the file here: one record a line, whatever the hub calls it."""
        name = PurePosixPath(self.path).name.replace(":", "-")
        lines = name.startswith("samples_") and name.endswith(".json")
        return f"{name}l" if lines else name


@dataclass(frozen=True)
class Repo:
    """A data set of details at one commit."""

    repo_id: str
    revision: str
    files: tuple[RemoteFile, ...]

    def address(self, endpoint: str, file: RemoteFile) -> str:
        """Where the hub serves a file."""
        return (
            f"{endpoint}/datasets/{self.repo_id}/resolve/{quote(self.revision)}/{quote(file.path)}"
        )


def latest(files: Iterable[RemoteFile], benchmark: str) -> tuple[RemoteFile, ...]:
    """Samples of the newest run of every task of a benchmark, and the results of these runs."""
    tasks: dict[str, tuple[str, RemoteFile]] = {}
    results: dict[str, RemoteFile] = {}
    for file in files:
        match = _NAME.fullmatch(PurePosixPath(file.path).name)
        if match is None:
            continue
        stamp = match["stamp"].replace(":", "-")
        task = match["task"] or ""
        if match["kind"] == "results":
            results[stamp] = file
        elif task == benchmark or task.startswith(f"{benchmark}_"):
            tasks[task] = max(tasks.get(task, ("", file)), (stamp, file), key=lambda each: each[0])
    stamps = {stamp for stamp, _ in tasks.values()}
    samples = [file for _, file in tasks.values()]
    return tuple(sorted([*samples, *(results[s] for s in stamps & set(results))],
                        key=lambda file: file.path))  # fmt: skip


def listing(api: Any, repo_id: str) -> Repo:
    """All files of a data set, at the commit that is the newest now."""
    revision = api.repo_info(repo_id, repo_type="dataset").sha
    tree = api.list_repo_tree(repo_id, repo_type="dataset", revision=revision, recursive=True)
    files = [
        RemoteFile(
            entry.path,
            int(entry.size),
            "" if entry.lfs is None else str(entry.lfs.sha256),
            str(entry.blob_id),
        )
        for entry in tree
        if hasattr(entry, "blob_id")  # folders have none
    ]
    return Repo(repo_id, str(revision), tuple(files))


def keep(path: Path, target: Path) -> int:
    """Move a checked file to its place, samples compressed; its size there.

    Under its name there is never less than the whole file.
    """
    whole = path
    if target.suffix == ".gz":
        whole = path.with_name(f"{path.name}.gz")
        with path.open("rb") as raw, gzip.GzipFile(whole, "wb", compresslevel=3, mtime=0) as packed:
            shutil.copyfileobj(raw, packed, CHUNK)
        path.unlink()
    with whole.open("rb") as stream:
        os.fsync(stream.fileno())
    target.parent.mkdir(parents=True, exist_ok=True)
    whole.replace(target)
    return target.stat().st_size
