"""Matrices read from logs, kept as memory-mapped directories so that a second load is quick.

An entry is found by the paths, sizes and times of all files, the options and the version of
the package; anything else is read anew. The folder is ``MDAD_CACHE_DIR``, else ``mdad`` in the
user's cache directory. It holds the newest entries only and may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mdad import storage
from mdad._files import write_atomically
from mdad._version import __version__
from mdad.errors import MdadError
from mdad.loaders._log_report import Loaded, LoadReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mdad.loaders._log_files import Tree

FORM = 2
"""Another number when loaders of one version come to find more in the same files."""

KEEP = 32
WORTH = 1 << 20
"""Bytes of logs below which reading them is as quick as looking for an entry."""


def cache_folder() -> Path:
    """Where entries lie, by the convention of the platform."""
    return _home() / "loads"


def _home() -> Path:
    given = os.environ.get("MDAD_CACHE_DIR")
    if given:
        return Path(given)
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "mdad"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mdad"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "mdad" / "Cache"
    return Path.home() / ".cache" / "mdad"


def worth_it(tree: Tree) -> bool:
    """Whether there is so much to read that an entry is of use."""
    return sum(path.stat().st_size for path in tree.files) >= WORTH


def key_of(tree: Tree, format: str, options: Mapping[str, Any]) -> str:  # noqa: A002
    """Identifies what a load would read and how."""
    digest = hashlib.blake2b(digest_size=16)
    root = tree.root.resolve()
    named = [Path(value) for value in options.values() if isinstance(value, str | os.PathLike)]
    states = [(path.stat().st_size, path.stat().st_mtime_ns) for path in named if path.is_file()]
    said = repr((__version__, FORM, format, str(root), sorted(options.items()), states))
    digest.update(said.encode(errors="surrogateescape"))
    for path in tree.files:
        state = path.stat()
        line = f"{tree.shown(path)}\0{state.st_size}\0{state.st_mtime_ns}\n"
        digest.update(line.encode(errors="surrogateescape"))
    digest.update(repr(tree.outside).encode(errors="surrogateescape"))
    return digest.hexdigest()


def stored(key: str) -> Loaded | None:
    """The entry of a key; None when there is none or it is not whole."""
    folder = cache_folder() / key
    try:
        report = msgspec.json.decode((folder.with_suffix(".json")).read_bytes(), type=LoadReport)
        scores = storage.open_directory(folder)
        os.utime(folder)
    except (OSError, MdadError, ValueError, RecursionError):
        return None
    return Loaded(scores, msgspec.structs.replace(report, cached=True))


def store(key: str, loaded: Loaded) -> None:
    """Keep an entry; a cache that cannot be written is no reason to fail."""
    folder = cache_folder() / key
    with suppress(OSError, MdadError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        storage.write_directory(loaded.scores, folder)
        # The report is written last: without it there is no entry.
        write_atomically(folder.with_suffix(".json"), msgspec.json.encode(loaded.report))
        _forget(folder.parent)


def _forget(parent: Path) -> None:
    """Remove all but the newest entries."""
    entries = [path for path in parent.iterdir() if storage.is_directory_store(path)]
    entries.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[KEEP:]:
        path.with_suffix(".json").unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=True)
