"""The details of many models of one leaderboard, politely and as often as it takes."""

from __future__ import annotations

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mdad._checks import check_choice, check_int, counted, listed
from mdad._version import __version__
from mdad.errors import FormatError, SettingError
from mdad.hub import _state
from mdad.hub._again import Gate, GoneError, TryLaterError, attempted
from mdad.hub._budget import Budget, OverBudgetError
from mdad.hub._get import check, check_address, pull
from mdad.hub._repo import RemoteFile, Repo, keep, latest, listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["LEADERBOARDS", "Fetched", "Part", "fetch"]

Status = Literal[
    "fetched", "there", "gone", "gated", "no-details", "failed", "over-budget", "offline"
]
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Leaderboard:
    """Where a leaderboard keeps its details.

    Parameters
    ----------
    repo : data set of a model, with its name where ``{}`` stands
    benchmarks : tasks by benchmark: a task, or the beginning of the names of several
    """

    repo: str
    benchmarks: dict[str, str]


LEADERBOARDS: dict[str, Leaderboard] = {
    "open-llm-leaderboard": Leaderboard(
        "open-llm-leaderboard/{}-details",
        {
            "bbh": "leaderboard_bbh",
            "gpqa": "leaderboard_gpqa",
            "ifeval": "leaderboard_ifeval",
            "math": "leaderboard_math",
            "mmlu-pro": "leaderboard_mmlu_pro",
            "musr": "leaderboard_musr",
        },
    )
}


@dataclass(frozen=True)
class Part:
    """What became of one model.

    Parameters
    ----------
    model : id on the hub
    status : "fetched" now; "there" already; "gone" (no such data set, or private); "gated" (access
        must be asked for); "no-details" of this benchmark; "failed" in all attempts;
        "over-budget"; "offline" and not there
    reason : in words, "" when there is nothing to say
    files, size : how many there are of it now, and their bytes
    """

    model: str
    status: Status
    reason: str = ""
    files: int = 0
    size: int = 0

    @property
    def is_there(self) -> bool:
        """Whether all of it is on the disk."""
        return self.status in {"fetched", "there"}

    @property
    def may_come(self) -> bool:
        """Whether the same call may bring it another time."""
        return self.status in {"failed", "over-budget", "offline"}


@dataclass(frozen=True)
class Fetched:
    """What is there now: ``mdad.load(fetched.path, metric="default")`` reads it."""

    path: Path
    parts: tuple[Part, ...]

    @property
    def missing(self) -> tuple[Part, ...]:
        """Models that are not there, each with its reason."""
        return tuple(part for part in self.parts if not part.is_there)


@dataclass
class _Job:
    """What all models share."""

    out: Path
    repo: str
    benchmark: str
    tasks: str
    api: Any
    headers: dict[str, str]
    timeout: float
    offline: bool
    attempts: int
    budget: Budget
    gate: Gate = field(default_factory=Gate)

    def state(self, model: str) -> Path:
        return self.out / _state.FOLDER / f"{_folder(model)}.{self.benchmark}.json"


def fetch(
    leaderboard: str = "open-llm-leaderboard",
    *,
    benchmark: str,
    models: Sequence[str],
    out: str | os.PathLike[str],
    max_disk: int | None = None,
    workers: int = 2,
    attempts: int = 6,
    progress: Callable[[int, int], None] | None = None,
) -> Fetched:
    """Bring the details of models into a folder that :func:`mdad.load` reads.

    Every file is checked against the hub's hash before it stands under its name; what was broken
    off is gone on with by the same call. ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE``
    count as they do for every program that uses the hub.

    Parameters
    ----------
    leaderboard, benchmark : a name in :data:`LEADERBOARDS`, and in its benchmarks
    models : ids on the hub, ``organisation/name``
    out : folder; what is in it stays
    max_disk : bytes the folder may take, files under way included; None = no limit
    workers : models at a time, at most 8
    attempts : for each request
    progress : called with the models done and their number

    Raises
    ------
    SettingError
        when huggingface_hub is not installed, a name is unknown or no id.
    FormatError
        when none of the models is there in the end, or the disk refuses.
    """
    check_choice("leaderboard", leaderboard, LEADERBOARDS)
    where = LEADERBOARDS[leaderboard]
    check_choice("benchmark", benchmark, where.benchmarks)
    names = _checked(models)
    workers = check_int("workers", workers, 1, 8)
    attempts = check_int("attempts", attempts, 1, 100)
    if max_disk is not None:
        max_disk = check_int("max_disk", max_disk, 1)
    target = Path(out)
    with _hub() as hub:
        asked = os.environ.get("HF_ENDPOINT") or hub.constants.ENDPOINT
        job = _Job(
            out=target,
            repo=where.repo,
            benchmark=benchmark,
            tasks=where.benchmarks[benchmark],
            api=hub.HfApi(endpoint=check_address(asked)),
            headers=hub.utils.build_hf_headers(library_name="mdad", library_version=__version__),
            timeout=float(hub.constants.HF_HUB_DOWNLOAD_TIMEOUT),
            offline=bool(hub.constants.HF_HUB_OFFLINE),
            attempts=attempts,
            budget=Budget(max_disk, _size_of(target)),
        )
        parts = _all(job, names, workers, progress)
    if not any(part.is_there for part in parts):
        shown = "; ".join(f"{part.model}: {part.reason}" for part in parts[:3])
        raise FormatError(f"no model could be fetched: {shown}.")
    return Fetched(target, tuple(parts))


def _all(
    job: _Job, names: list[str], workers: int, progress: Callable[[int, int], None] | None
) -> list[Part]:
    """Every model; Ctrl-C does not wait for the files under way."""
    parts = []
    with ThreadPoolExecutor(workers) as pool:
        try:
            for done, part in enumerate(pool.map(partial(_one, job), names), 1):
                parts.append(part)
                if progress is not None:
                    progress(done, len(names))
        except BaseException:
            job.gate.stopped.set()
            raise
    return parts


def _checked(models: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(models))
    wrong = [name for name in names if not isinstance(name, str) or not _MODEL.fullmatch(name)]
    if wrong or not names:
        raise SettingError(
            f"models are named as on the hub, organisation/name; not so: {listed(wrong)}."
            if wrong
            else "no model was named."
        )
    return names


@contextmanager
def _hub() -> Iterator[Any]:
    """The library, with its progress bars and warnings turned off meanwhile."""
    try:
        import huggingface_hub as hub  # noqa: PLC0415  # an extra
        from huggingface_hub import constants, utils  # noqa: F401, PLC0415  # not loaded with it
    except ModuleNotFoundError:
        raise SettingError(
            "huggingface_hub is not installed. Install it with mdad: pip install 'mdad[hub]'."
        ) from None
    tools: Any = utils  # it does not say what it exports
    level, hidden = tools.logging.get_verbosity(), tools.are_progress_bars_disabled()
    tools.logging.set_verbosity_error()
    tools.disable_progress_bars()
    try:
        yield hub
    finally:
        tools.logging.set_verbosity(level)
        if not hidden:
            tools.enable_progress_bars()


def _size_of(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _folder(model: str) -> str:
    return model.replace("/", "__")


def _one(job: _Job, model: str) -> Part:
    """One model: there already, brought now, or why not."""
    folder = job.out / _folder(model)
    state = _state.read(job.state(model), folder)
    if state is not None:
        return Part(model, "there", "", len(state.files), sum(state.files.values()))
    if job.offline:
        return Part(model, "offline", "it is not here, and HF_HUB_OFFLINE is set")
    try:
        return _brought(job, model, folder)
    except GoneError as error:
        return Part(model, error.reason, str(error))
    except TryLaterError as error:
        return Part(model, "failed", f"{error}; {counted(job.attempts, 'attempt')}")
    except OverBudgetError:
        return Part(model, "over-budget", "it does not fit into what the folder may take")
    except OSError as error:
        raise FormatError(f"cannot write into {folder}: {error.strerror or error}.") from None


def _brought(job: _Job, model: str, folder: Path) -> Part:
    repo_id = job.repo.format(_folder(model))
    repo = attempted(lambda: listing(job.api, repo_id), job.gate, job.attempts)
    wanted = latest(repo.files, job.tasks)
    if not wanted:
        return Part(model, "no-details", f"its data set has no file of {job.tasks}")
    staging = job.out / _state.FOLDER / "partial" / _folder(model) / repo.revision
    sizes = {}
    for file in wanted:
        name = f"{file.name}.gz" if file.name.endswith(".jsonl") else file.name
        sizes[name] = _file(job, repo, file, staging, folder / name)
    shutil.rmtree(staging.parent, ignore_errors=True)
    _state.write(job.state(model), repo.revision, sizes)
    return Part(model, "fetched", "", len(sizes), sum(sizes.values()))


def _file(job: _Job, repo: Repo, file: RemoteFile, staging: Path, target: Path) -> int:
    """Bring one file, unless it is there; its size here."""
    mark = staging / f"{target.name}.kept"
    if target.is_file() and mark.is_file():
        return target.stat().st_size
    staging.mkdir(parents=True, exist_ok=True)
    path = staging / file.name

    def call() -> None:
        address = repo.address(job.api.endpoint, file)
        pull(address, job.headers, path, file.size, timeout=job.timeout, between=job.gate.wait)
        check(path, size=file.size, sha256=file.sha256, blob=file.blob)

    # Whole and compressed it is there at once, before the whole one goes.
    needed = 2 * file.size if target.suffix == ".gz" else file.size
    with job.budget.room(needed, _size_of(staging)):
        try:
            attempted(call, job.gate, job.attempts, lambda: _size_of(path))
            size = keep(path, target)
            mark.touch()
            job.budget.keep(size)
        finally:
            job.budget.keep(_size_of(staging))  # what was begun stays for the next time
    return size
