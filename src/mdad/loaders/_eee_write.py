"""Writing a score matrix as every_eval_ever files: an aggregate and its samples for each model."""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._checks import counted
from mdad._files import write_atomically
from mdad._version import __version__
from mdad.errors import SettingError

if TYPE_CHECKING:
    import os

    from mdad.scores import FloatArray, ScoreMatrix

SCHEMA_VERSION = "0.2.2"
"""The version of the public schema whose fields these files have."""

ITEM = "mdad_item"
MODEL = "mdad_model"
_PORTABLE = re.compile(r"[^A-Za-z0-9._-]+")


def write(
    scores: ScoreMatrix,
    folder: str | os.PathLike[str],
    *,
    collection: str | None = None,
    metric: str = "accuracy",
    organization: str = "unknown",
    timestamp: int | None = None,
) -> list[Path]:
    """Write ``data/<collection>/<developer>/<model>/<uuid>.json`` and ``<uuid>_samples.jsonl``.

    Cells that were not scored have no line, since the format has no score for them. Prompts and
    outputs are not known and are left empty. Names of files come from the contents, so that the
    same matrix gives the same files.

    Parameters
    ----------
    scores : the matrix; subtasks become evaluations
    collection : first folder below ``data``; None is the name of the matrix
    metric : id of the metric
    organization : who reports the scores
    timestamp : seconds since 1970 at which the record was made; None is now

    Returns
    -------
    list of Path
        the aggregate files.

    Raises
    ------
    SettingError
        when the collection has no name.
    """
    name = _portable(collection if collection is not None else scores.name)
    if not name:
        raise SettingError("collection must be given: the score matrix has no name.")
    stamp = str(int(time.time()) if timestamp is None else timestamp)
    written = []
    for row, model in enumerate(scores.models):
        values = np.asarray(scores.values[row], dtype=np.float64)
        if np.isnan(values).all():
            continue
        identity = model if model.count("/") == 1 and all(model.split("/")) else f"unknown/{model}"
        evaluation = f"{name}/{identity}/{scores.data_fingerprint}"
        samples = _samples(scores, values, identity, evaluation, metric)
        own = str(uuid.UUID(bytes=hashlib.blake2b(samples, digest_size=16).digest(), version=4))
        developer, short = (_portable(part) or "_" for part in identity.split("/", 1))
        place = Path("data") / name / developer / short
        target = Path(folder) / place
        target.mkdir(parents=True, exist_ok=True)
        aggregate: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation,
            "retrieved_timestamp": stamp,
            "source_metadata": {
                "source_type": "evaluation_run",
                "source_organization_name": organization,
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "mdad", "version": __version__},
            "model_info": {
                "name": model, "id": identity, "developer": identity.split("/", 1)[0],
                "additional_details": {MODEL: model},
            },
            "evaluation_results": _results(scores, values, metric),
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": (place / f"{own}_samples.jsonl").as_posix(),
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(samples).hexdigest(),
                "total_rows": samples.count(b"\n"),
            },
        }  # fmt: skip
        write_atomically(target / f"{own}_samples.jsonl", samples)
        content = json.dumps(aggregate, ensure_ascii=False, indent=2) + "\n"
        write_atomically(target / f"{own}.json", content.encode())
        written.append(target / f"{own}.json")
    return written


def _portable(name: str) -> str:
    """A name that every file system takes.

    >>> _portable("GPQA (main)/x")
    'GPQA_main_x'
    """
    return _PORTABLE.sub("_", name).strip("._")[:100]


def _evaluation_of(scores: ScoreMatrix, column: int) -> str:
    return (scores.name or "all") if scores.subtasks is None else scores.subtasks[column]


def _samples(
    scores: ScoreMatrix, values: FloatArray, model: str, evaluation: str, metric: str
) -> bytes:
    lines = []
    for column in np.flatnonzero(~np.isnan(values)).tolist():
        score = float(values[column])
        name = _evaluation_of(scores, column)
        record = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation,
            "model_id": model,
            "evaluation_name": name,
            "evaluation_result_id": f"{name}/{metric}",
            "sample_id": scores.items[column],
            "interaction_type": "single_turn",
            "input": {"raw": "", "reference": []},
            "output": {"raw": []},
            "answer_attribution": [],
            # For graded scores the format still wants a yes or no: only the best is a yes.
            "evaluation": {"score": score, "is_correct": score == scores.score_range[1]},
            "metadata": {ITEM: scores.items[column]},
        }
        lines.append(json.dumps(record, ensure_ascii=False))
    return ("\n".join(lines) + "\n").encode()


def _results(scores: ScoreMatrix, values: FloatArray, metric: str) -> list[dict[str, Any]]:
    """One aggregate result per evaluation: the mean of its scored items."""
    low, high = scores.score_range
    found = []
    for label, columns in scores.subtask_positions.items():
        own = values[columns]
        own = own[~np.isnan(own)]
        if not own.size:
            continue
        name = label or scores.name or "all"
        found.append(
            {
                "evaluation_result_id": f"{name}/{metric}",
                "evaluation_name": name,
                "source_data": {"dataset_name": scores.name or name, "source_type": "other"},
                "metric_config": {
                    "metric_id": metric,
                    "lower_is_better": False,
                    "score_type": "binary" if scores.kind == "correctness" else "continuous",
                    "min_score": low,
                    "max_score": high,
                },
                "score_details": {
                    "score": float(own.mean()),
                    "details": {"scored": counted(own.size, "item")},
                    "uncertainty": {"num_samples": int(own.size)},
                },
            }
        )
    return found
