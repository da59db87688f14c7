"""Audits that are killed, stopped, run out of disk or lose workers, and what is left of them.

Each is started as a user starts it, ended at a random moment, and started again until it is done.
After every end, whatever stands under the name of a result must be whole, byte by byte; at the end
the folder must hold the bytes of an audit that nothing happened to.

    python experiments/survive.py [--kills 20] [--seed 0] [--small]

Linux, as root for the full and the read-only disk (tmpfs).
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RUNS = 24
COMMAND = [
    sys.executable,
    "-m",
    "mdad",
    "audit",
    "scores",
    "--methods",
    "random,stratified-confidence,c-optimal",
    "--sizes",
    "10,50",
    "--runs",
    str(RUNS),
    "--json",
]
WAIT = 600


def shards(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("runs/run-*.parquet"))}


def temporary(place: Path) -> Path:
    """Where copies of the scores are kept for workers to map."""
    folder = place / "temporary"
    folder.mkdir(exist_ok=True)
    return folder


def begin(place: Path, out: str, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  # our own command
        [*COMMAND, "--out", out, *options],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary(place))},
    )


def finish(place: Path, out: str, *options: str) -> tuple[int, str]:
    process = begin(place, out, *options)
    _, text = process.communicate(timeout=WAIT)
    return process.returncode, text.strip()


def check(place: Path, out: str, whole: dict[str, bytes]) -> int:
    """How many runs are there; every one is whole."""
    found = shards(place / out)
    wrong = [name for name, content in found.items() if whole[name] != content]
    if wrong:
        sys.exit(f"{out}: {wrong} are not what they should be")
    return len(found)


def until(place: Path, out: str, wanted: int, process: subprocess.Popen[str], extra: float) -> None:
    while process.poll() is None and len(list((place / out).glob("runs/run-*.parquet"))) < wanted:
        time.sleep(0.002)
    time.sleep(extra)


def left_behind(place: Path) -> int:
    """Copies of scores that are there a few seconds after the last command ended."""
    time.sleep(5)
    return len(list(temporary(place).glob("mdad-*")))


def killed(
    place: Path, whole: dict[str, bytes], rng: random.Random, kills: int, how: int, *options: str
) -> str:
    """Kill again and again at random points; what the last message said."""
    out = f"kill-{how}-{'-'.join(options).strip('-') or 'one'}"
    ended, said, done = 0, "", []
    while ended < kills:
        there = check(place, out, whole)
        if there == RUNS:
            shutil.rmtree(place / out)  # done before it could be killed often enough: begin again
            there = 0
        process = begin(place, out, *options)
        until(place, out, there + rng.randint(0, 3), process, rng.random() * 0.3)
        process.send_signal(how)
        said = process.communicate(timeout=WAIT)[1].strip() or said
        if process.returncode != 0:
            ended += 1
        done.append(check(place, out, whole))
    code, _ = finish(place, out, *options)
    complete = check(place, out, whole)
    print(
        f"{out}: ended {ended} times with {signal.Signals(how).name}; runs there afterwards {done};"
        f" then exit {code} with {complete} of {RUNS} runs, all bytes equal; copies of the scores "
        f"left behind: {left_behind(place)}",
        flush=True,
    )
    return said


def disk(place: Path, whole: dict[str, bytes], size: str) -> None:
    folder = place / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)  # noqa: S603
    try:
        code, text = finish(place, "disk/out")
        print(f"full disk: exit {code}, {check(place, 'disk/out', whole)} runs kept\n    {text}")
        partial = [path.name for path in (folder / "out").rglob("*.partial")]
        print(f"    half-written files left: {len(partial)}")
        remount(folder, "size=64m")
        code, _ = finish(place, "disk/out")
        print(f"    with space again: exit {code}, {check(place, 'disk/out', whole)} runs")
        shutil.rmtree(folder / "out" / "runs")
        (folder / "out" / "runs").mkdir()
        remount(folder, "ro")
        code, text = finish(place, "disk/out")
        print(f"read-only folder: exit {code}\n    {text}")
        code, text = finish(place, "disk/new")
        print(f"read-only disk: exit {code}\n    {text}", flush=True)
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S603, S607


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)  # noqa: S603, S607


def dask_worker(place: Path, whole: dict[str, bytes], rng: random.Random, kills: int) -> None:
    from distributed import Client, LocalCluster  # noqa: PLC0415  # not everybody has it

    settings: dict[str, Any] = {"dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **settings) as cluster:
        process = begin(
            place, "dask", "--backend", "dask", "--scheduler", cluster.scheduler_address
        )
        for kill in range(kills):
            until(place, "dask", 2 + 4 * kill, process, rng.random() * 0.2)
            with Client(cluster, set_as_default=False) as client:
                workers = sorted(client.run(os.getpid).values())
            os.kill(rng.choice(workers), signal.SIGKILL)
        _, text = process.communicate(timeout=WAIT)
        print(
            f"Dask, a worker killed {kills} times: exit {process.returncode}, "
            f"{check(place, 'dask', whole)} of {RUNS} runs, all bytes equal {text[-300:]}",
            flush=True,
        )
        process = begin(
            place, "gone", "--backend", "dask", "--scheduler", cluster.scheduler_address
        )
        until(place, "gone", 3, process, 0)
    try:
        _, text = process.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text = "(did not end)"
    print(f"Dask, the whole cluster gone: exit {process.returncode}\n    {text[-600:]}")
    code, _ = finish(place, "gone")
    print(f"    then without it: exit {code}, {check(place, 'gone', whole)} of {RUNS} runs")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="survive-") as folder:
        place = Path(folder)
        from mdad.datasets import simulate  # noqa: PLC0415
        from mdad.storage import write_directory  # noqa: PLC0415

        write_directory(simulate(n_models=200, n_items=6000, seed=1), place / "scores")
        start = time.monotonic()
        code, _ = finish(place, "whole")
        whole = shards(place / "whole")
        print(f"undisturbed: exit {code}, {len(whole)} runs, {time.monotonic() - start:.0f} s")
        steps = {
            "kill": lambda: killed(place, whole, rng, options.kills, signal.SIGKILL),
            "kill2": lambda: killed(
                place, whole, rng, options.kills, signal.SIGKILL, "--n-jobs", "2"
            ),
            "stop": lambda: print(
                "   ", killed(place, whole, rng, 3, signal.SIGINT, "--n-jobs", "2")
            ),
            "disk": lambda: disk(place, whole, "180k"),
            "dask": lambda: dask_worker(place, whole, rng, 3),
        }
        for name, step in steps.items():
            if not options.only or name in options.only.split(","):
                step()


if __name__ == "__main__":
    main()
