"""Reaching a Dask or a Ray cluster, or saying in one paragraph why it cannot be reached."""

from __future__ import annotations

import logging
import os
import re
import socket
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdad._checks import counted
from mdad._version import __version__
from mdad.errors import BackendError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RAY_BACKEND", "dask_client", "dask_workers", "ray_cluster", "visible_to_all"]

PATIENCE = 10
"""Seconds to wait for a scheduler, or for its first worker."""

RAY_BACKEND = "mdad-ray"

ADDRESS = re.compile(r"(?:(?P<scheme>\w+)://)?(?P<host>[^/:\s]+|\[[^\]]+\]):(?P<port>\d{1,5})")

HOW_DASK = (
    "Start one with `dask scheduler`, and workers with `dask worker tcp://127.0.0.1:8786 "
    "--nworkers 2 --nthreads 1`; then say --scheduler tcp://127.0.0.1:8786."
)
HOW_RAY = (
    "Start one with `ray start --head --port 6379` and say --scheduler 127.0.0.1:6379, or leave "
    "--scheduler out: then Ray is started on this machine for this audit."
)


def _reach(address: str, what: str, how: str) -> None:
    """Refuse an address nobody listens at; the packages themselves may wait for minutes."""
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise SettingError(f"{address!r} is no address of a {what} scheduler. {how}")
    try:
        with socket.create_connection((found["host"].strip("[]"), int(found["port"])), PATIENCE):
            pass
    except (OSError, OverflowError) as error:
        raise BackendError(
            f"the {what} scheduler at {address} cannot be reached ({error}). {how}"
        ) from None


def _missing(extra: str) -> BackendError:
    return BackendError(
        f"the backend {extra!r} needs a package that is not installed: pip install 'mdad[{extra}]'."
    )


@contextmanager
def dask_client(target: Any) -> Iterator[Any]:
    """A client of the scheduler at an address; or the client given, or in use when None.

    Raises
    ------
    SettingError
        when it is neither, or no client is in use.
    BackendError
        when Dask is missing or the scheduler cannot be reached.
    """
    try:
        from distributed import Client  # noqa: PLC0415  # not everybody has it
    except ImportError:
        raise _missing("dask") from None
    if isinstance(target, Client):
        yield target
    elif target is None:
        try:
            current = Client.current()
        except ValueError:
            raise SettingError(f"the backend 'dask' needs a scheduler. {HOW_DASK}") from None
        yield current
    elif not isinstance(target, str):
        raise SettingError(
            "backend must be 'processes', 'threads', 'dask', 'ray' or a Dask client; got "
            f"{type(target).__name__}."
        )
    else:
        _reach(target, "Dask", HOW_DASK)
        # What it logs of a lost connection, with tracebacks, is said in one paragraph here.
        for name in [*logging.root.manager.loggerDict, "distributed.client"]:
            if name.partition(".")[0] in {"distributed", "tornado"}:
                logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(target, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BackendError(
                f"what listens at {target} does not answer as a Dask scheduler ({error}). "
                f"{HOW_DASK}"
            ) from None
        try:
            yield client
        finally:
            client.close()


def dask_workers(client: Any) -> tuple[int, int]:
    """How many workers a cluster has, and threads in all of them, once the first one is there.

    Raises
    ------
    BackendError
        when there is none, or one has another version of this package or none at all.
    """
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        versions = client.run(_version)
    except TimeoutError:
        raise BackendError(
            f"the Dask scheduler at {client.scheduler.address} has no workers after {PATIENCE} "
            f"seconds. {HOW_DASK}"
        ) from None
    except ModuleNotFoundError as error:
        raise BackendError(
            f"a Dask worker cannot import {error.name!r}: install there what is installed here."
        ) from None
    other = {version for version in versions.values() if version != __version__}
    if other:
        raise BackendError(
            f"Dask workers have mdad {', '.join(sorted(other))} and this is {__version__}; their "
            "results may differ. Install one version everywhere."
        )
    threads = client.nthreads()
    return len(threads), sum(threads.values())


def _version() -> str:
    return __version__


def visible_to_all(client: Any, folder: Path) -> bool:
    """Whether every Dask worker sees a folder of this machine."""
    token = uuid.uuid4().hex
    (folder.parent / token).touch()
    seen = client.run(_is_there, str(folder.parent / token))
    return all(seen.values())


def _is_there(path: str) -> bool:
    return Path(path).exists()


@contextmanager
def ray_cluster(address: str | None, n_jobs: int | None) -> Iterator[tuple[Any, int]]:
    """Ray and its number of cores: the one in use, the one at an address, or one started here.

    Parameters
    ----------
    address : host:port, "auto", or None: the environment's RAY_ADDRESS, else one is started
    n_jobs : cores of one that is started; None or -1 = all

    Raises
    ------
    SettingError, BackendError
        when the address is none, Ray is missing or cannot be reached.
    """
    # Nothing of what is done here is anybody else's business.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # noqa: PLC0415  # not everybody has it
    except ImportError:
        raise _missing("ray") from None
    _register()
    if ray.is_initialized():
        if address is not None:
            raise SettingError(
                f"Ray is in use already; leave the scheduler out to use it (got {address!r})."
            )
        yield ray, _ray_cores(ray)
        return
    address = address or os.environ.get("RAY_ADDRESS")
    if address not in {None, "auto"}:
        _reach(str(address), "Ray", HOW_RAY)
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address is None:
            cores = None if n_jobs in {None, -1} else n_jobs
            ray.init(num_cpus=cores, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise BackendError(f"Ray cannot be used ({error}). {HOW_RAY}") from None
    try:
        yield ray, _ray_cores(ray)
    finally:
        ray.shutdown()


def _ray_cores(ray: Any) -> int:
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < 1:
        raise BackendError(f"the Ray cluster has {counted(cores, 'core')}; it needs one or more.")
    return cores


def _register() -> None:
    """Make Ray's joblib backend known, with runs that come back one by one."""
    from joblib import register_parallel_backend  # noqa: PLC0415  # slow to import
    from ray.util.joblib.ray_backend import RayBackend  # noqa: PLC0415

    # joblib waits for the whole list with pools of multiprocessing, from which this one descends,
    # for they may hang when they are given up; Ray's pool does not.
    one_by_one = type("OneByOne", (RayBackend,), {"supports_return_generator": True})
    register_parallel_backend(RAY_BACKEND, one_by_one)
