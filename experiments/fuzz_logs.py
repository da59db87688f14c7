"""Coverage-guided fuzzing of all loaders of logs with atheris, for a bounded time.

    python experiments/fuzz_logs.py [seconds]

An input is a byte that says which log and which of its files, and the bytes of that file; the
other files stay as they are. Each is loaded twice, strictly and leniently. Anything but a score
matrix or an MdadError stops the run. Needs `pip install atheris`.

Three minutes on one busy core (atheris with Python 3.11): 14,300 inputs, 28,600 loads, 6,444
accepted, 22,156 refused, nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

with atheris.instrument_imports(include=["mdad"]):
    import mdad.loaders
    from mdad.errors import MdadError

from small_logs import SAMPLES, Lines, Sample, content_of  # behind the path

COUNTS = {"inputs": 0, "accepted": 0, "refused": 0}
HOME = Path(tempfile.mkdtemp(prefix="fuzz-logs-"))

LM_EVAL = Sample(
    "lm-eval",
    {
        "m/samples_arc_2024-01-01T00-00-00.000000.jsonl": Lines(
            {
                "doc_id": place, "doc": {"q": "?"}, "target": "0", "filter": "none",
                "arguments": [["?", " a"], ["?", " b"]],
                "resps": [[[-1.5, False]], [[-2.5, False]]],
                "filtered_resps": [[-1.5, False], [-2.5, False]],
                "doc_hash": f"{place}a", "acc": 1.0, "metrics": ["acc"],
            }
            for place in range(2)
        ),
        "m/results_2024-01-01T00-00-00.000000.json": {
            "results": {"arc": {"acc,none": 1.0}}, "configs": {}, "model_name": "org/m",
            "config": {"model": "hf", "model_args": "pretrained=org/m"},
        },
    },
    {},
)  # fmt: skip


def inspect_log() -> dict[str, object]:
    """A log of Inspect AI as one JSON document."""
    sample = {
        "id": 1, "epoch": 1, "input": "?", "target": "a",
        "scores": {"match": {"value": "C", "answer": "a"}},
    }  # fmt: skip
    return {
        "version": 2, "status": "success",
        "eval": {"task": "arc", "task_id": "t", "run_id": "r", "model": "org/m", "created": "2024"},
        "samples": [sample, {**sample, "id": "2", "scores": {"match": {"value": "I"}}}],
    }  # fmt: skip


def inspect_archive() -> bytes:
    """The same log as a zip archive."""
    log = inspect_log()
    path = HOME / "x.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
        archive.writestr("summaries.json", json.dumps(log["samples"]))
    return path.read_bytes()


def leaderboard_details() -> bytes:
    """Two records of the Open LLM Leaderboard as Parquet."""
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame(
        {
            "doc_id": [0, 1], "doc_hash": ["a", "b"], "target": ["0", "1"], "acc_norm": [1.0, 0.0],
            "filtered_resps": [[["-1.5", "False"], ["-2.5", "False"]]] * 2,
        }
    ).to_parquet()  # fmt: skip


LOGS = [
    *SAMPLES.values(),
    LM_EVAL,
    Sample("inspect", {"log.json": inspect_log()}, {}),
    Sample("inspect", {"log.eval": inspect_archive()}, {}),
    Sample(
        "open-llm-leaderboard",
        {"org__m__leaderboard_gpqa/latest.parquet": leaderboard_details()},
        {},
    ),
]
TARGETS = [
    (number, file)
    for number, sample in enumerate(LOGS)
    for file in sample.files
    if not file.startswith("..")
]


def one_input(data: bytes) -> None:
    """Damage one file of one log and load it."""
    if not data:
        return
    number, file = TARGETS[data[0] % len(TARGETS)]
    sample = LOGS[number]
    COUNTS["inputs"] += 1
    folder = HOME / f"log{number}" / "logs"
    if not folder.is_dir():
        folder.mkdir(parents=True)
        sample.write(folder)
    options = {
        key: folder.parent / value if key == "right" else value
        for key, value in sample.options.items()
    }
    target = folder / file
    target.write_bytes(data[1:])
    try:
        for strict in (True, False):
            load(sample.format, folder, {**options, "strict": strict})
    finally:
        target.write_bytes(content_of(sample.files[file]))


def load(name: str, folder: Path, options: dict[str, object]) -> None:
    """Load a folder and count what comes of it."""
    try:
        mdad.loaders.load(folder, format=name, cache=False, **options)
        COUNTS["accepted"] += 1
    except MdadError as error:
        COUNTS["refused"] += 1
        if "\n" in str(error):
            raise ValueError(f"more than one paragraph: {error}") from error


def main() -> None:
    """Run in a child process, since the fuzzer ends its own process when the time is up."""
    seconds = sys.argv[1] if len(sys.argv) > 1 else "60"
    seeds = HOME / "seeds"
    seeds.mkdir()
    for place, (number, file) in enumerate(TARGETS):
        contents = content_of(LOGS[number].files[file])
        (seeds / str(place)).write_bytes(bytes([place]) + contents)
    child = os.fork()
    if child == 0:
        options = [f"-max_total_time={seconds}", "-max_len=8192", "-rss_limit_mb=4096"]
        atheris.Setup([sys.argv[0], str(seeds), *options], counted)
        atheris.Fuzz()
    _, status = os.waitpid(child, 0)
    print((HOME / "counts").read_text().strip())
    print("ended with", os.waitstatus_to_exitcode(status))
    shutil.rmtree(HOME)


def counted(data: bytes) -> None:
    """Load one input, and leave the counts where the parent finds them."""
    one_input(data)
    if COUNTS["inputs"] % 100 == 0:
        (HOME / "counts").write_text(", ".join(f"{n:,} {k}" for k, n in COUNTS.items()))


if __name__ == "__main__":
    main()
