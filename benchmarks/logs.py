"""Speed and memory of reading logs of lm-evaluation-harness, against the plain JSON decoder.

    python benchmarks/logs.py                 # 40 MB of each kind, half a minute
    python benchmarks/logs.py --gigabytes 2   # memory on a large folder, too

The decoder's time is that of ``msgspec`` (and ``orjson`` where it is installed) making plain
objects of every line of the same files in the same run; ours is the whole load: finding the
format, reading, decoding, checking, probabilities, joining. Seconds of the processor, best of
five each.

Two busy cores, Python 3.11, msgspec 0.23, orjson 3: 640 MB/s of 780 (82 %) with four choices,
720 of 790 (90 %) with ten, 1,210 of 960 (126 %) of generations, whose texts are never made.
2 GB of 100 models in 5.2 s and 98 MB over the imports.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mdad import loaders

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS = 4
WORDS = [f"word{i}" for i in range(5_000)]


def record(rng: random.Random, doc_id: int, *, choices: int) -> dict[str, object]:
    """A record of the size that genuine ones have: 3 to 12 kB, most of it prompts."""
    prompt = " ".join(rng.choices(WORDS, k=150 if choices else 900))
    common = {
        "doc_id": doc_id,
        "doc": {"question": prompt[:400], "subject": "law", "answer": 1},
        "filter": "none",
        "doc_hash": f"{doc_id:064d}",
        "prompt_hash": "0" * 64,
        "target_hash": "1" * 64,
    }
    if not choices:
        answer = " ".join(rng.choices(WORDS, k=300))
        return {
            **common,
            "target": "42",
            "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}},
            "resps": [[answer]],
            "filtered_resps": [answer],
            "metrics": ["exact_match"],
            "exact_match": float(rng.random() < 0.5),
        }
    gold = rng.randrange(choices)
    lls = [rng.uniform(-9, 0) for _ in range(choices)]
    return {
        **common,
        "target": str(gold),
        "arguments": {
            f"gen_args_{i}": {"arg_0": prompt, "arg_1": f" {'ABCDEFGHIJ'[i]}"}
            for i in range(choices)
        },
        "resps": [[[str(ll), "False"]] for ll in lls],
        "filtered_resps": [[str(ll), "False"] for ll in lls],
        "metrics": ["acc"],
        "acc": float(lls.index(max(lls)) == gold),
    }


def write(path: Path, size: int, *, choices: int, seed: int = 0) -> int:
    """A file of samples of about this size; the number of its records."""
    rng = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = count = 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(json.dumps(record(rng, count, choices=choices)).encode() + b"\n")
            count += 1
    return count


def best(function: Callable[[], object], repeats: int = 5) -> float:
    """Fewest seconds of the processor: other programs on the machine count little."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def plain(paths: list[Path], decode: Callable[[bytes], object]) -> None:
    """What a reader without this package does first: every line becomes an object."""
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                decode(line)


def throughput(folder: Path, megabytes: int) -> None:
    decoders = {"msgspec": msgspec.json.Decoder().decode}
    try:
        import orjson  # noqa: PLC0415

        decoders["orjson"] = orjson.loads
    except ImportError:
        pass
    print(f"{'file':24}{'records':>9}{'MB':>6}{'decoder MB/s':>26}{'load MB/s':>11}{'share':>8}")
    for name, choices in (
        ("multiple choice, 4", 4),
        ("multiple choice, 10", 10),
        ("generation", 0),
    ):
        paths = [folder / "logs" / f"m{i}" / "samples_task.jsonl" for i in range(MODELS)]
        count = sum(write(path, (megabytes << 20) // MODELS, choices=choices) for path in paths)
        size = sum(path.stat().st_size for path in paths) / 1e6
        rates = {
            d: size / best(partial(plain, paths, function)) for d, function in decoders.items()
        }
        ours = size / best(partial(loaders.load, folder / "logs", cache=False))
        shown = ", ".join(f"{d} {rate:.0f}" for d, rate in rates.items())
        share = ours / max(rates.values())
        print(f"{name:24}{count:>9,}{size:>6.0f}{shown:>26}{ours:>11.0f}{share:>8.0%}")
        shutil.rmtree(folder / "logs")


MEASURE = """
import sys, time
from mdad import loaders


def peak():  # of this process alone; ru_maxrss would remember the parent's
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


before, start = peak(), time.perf_counter()
scores = loaders.load(sys.argv[1], cache=False, n_jobs=int(sys.argv[2]))
took, after = time.perf_counter() - start, peak()
print(f"{scores!r}: {took:.1f} s, peak {after:.0f} MB, {after - before:.0f} MB over the imports")
"""


def memory(folder: Path, gigabytes: float, models: int) -> None:
    """Peak memory of loading a folder whose files are one another's copies but for the model."""
    size = int(gigabytes * 1e9 / models)
    first = folder / "large" / "org__m0" / "samples_task.jsonl"
    write(first, size, choices=4)
    data = first.read_bytes()
    for number in range(1, models):
        path = folder / "large" / f"org__m{number}" / "samples_task.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    print(f"\n{models} files, {gigabytes:g} GB")
    for n_jobs in ("1", "2"):
        arguments = [sys.executable, "-c", MEASURE, str(folder / "large"), n_jobs]
        found = subprocess.run(arguments, check=True, capture_output=True, text=True)  # noqa: S603
        print(f"{n_jobs} process(es): {found.stdout.strip()}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=40)
    parser.add_argument("--gigabytes", type=float, default=0.2)
    parser.add_argument("--models", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        throughput(Path(name), options.megabytes)
        memory(Path(name), options.gigabytes, options.models)


if __name__ == "__main__":
    main()
