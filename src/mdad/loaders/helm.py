"""HELM: a folder per run with run_spec.json, per_instance_stats.json and scenario_state.json.

An item is an instance of a scenario as it was asked, without perturbation:
``mmlu:subject=philosophy/id147``. Its subtask is the run's name without the model. Trials (other
examples in the prompt) are averaged. The score is one of the metrics that the run's own
specification names. ``scenario_state.json`` is read where it is there: it says which requests
failed, which are not wrong answers, and gives hashes of what was asked.
"""

from __future__ import annotations

import hashlib
import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import beside, error_score, folder_name, some_files
from mdad.loaders._logs import Findings, Record, Run, collect, newest, no_choice, not_there
from mdad.loaders._names import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

STATS = "per_instance_stats.json"
SPEC = "run_spec.json"
STATE = "scenario_state.json"

_MODEL = re.compile(r"(?<=[:,])(model|model_deployment)=[^,]*,?")

_Key = tuple[str, int]


class _Adapter(msgspec.Struct):
    model: str = ""


class _Metrics(msgspec.Struct):
    args: dict[str, Any] = {}


class _Spec(msgspec.Struct):
    name: str
    adapter_spec: _Adapter = msgspec.field(default_factory=_Adapter)
    metric_specs: list[_Metrics] = []


class _Name(msgspec.Struct):
    name: str
    perturbation: Any = None


class _Stat(msgspec.Struct):
    name: _Name
    count: int = 0
    sum: float | None = 0.0


class _Instance(msgspec.Struct):
    instance_id: str
    stats: list[_Stat]
    perturbation: Any = None
    train_trial_index: int = 0


class _Text(msgspec.Struct):
    text: str = ""


class _Reference(msgspec.Struct):
    output: _Text = msgspec.field(default_factory=_Text)
    tags: list[str] = []


class _Asked(msgspec.Struct):
    id: str
    input: _Text = msgspec.field(default_factory=_Text)
    references: list[_Reference] = []
    perturbation: Any = None


class _Answer(msgspec.Struct):
    success: bool = True


class _Request(msgspec.Struct):
    instance: _Asked
    train_trial_index: int = 0
    result: _Answer | None = None


class _State(msgspec.Struct):
    request_states: list[_Request]


_SPECS = msgspec.json.Decoder(_Spec)
_INSTANCES = msgspec.json.Decoder(list[_Instance])
_STATES = msgspec.json.Decoder(_State)


def detect(tree: Tree) -> bool:
    """Whether there is a file of HELM's scores per instance."""
    return any(path.name == STATS and b'"instance_id"' in tree.head(path) for path in tree.files)


def load(tree: Tree, setup: Setup, *, metric: str | None = None, errors: str = "missing") -> Loaded:
    """Read the runs below a folder.

    Parameters
    ----------
    metric : name of HELM's statistic, as in "exact_match"; needed where a run has several
    errors : what an instance whose request failed counts as: "missing" or "wrong"
    """
    error_score(errors)
    files = some_files(tree, [path for path in tree.files if path.name == STATS], STATS)
    runs = []
    for path in files:
        spec = _spec_of(path, Source(tree.shown(path)))
        runs.append(Run((_scenario(spec.name), _model(spec)), "", path))
    chosen_files, chosen = newest(tree, runs)
    read = partial(_read, metric=metric, errors=errors)
    return collect(
        tree,
        chosen_files,
        read,
        setup,
        format="helm",
        metric=metric or "the only metric of each run",
        chosen=chosen,
        unit="entry",
        support=sum(
            beside(path, name) is not None for path in chosen_files for name in (SPEC, STATE)
        ),
    )


def _spec_of(path: Path, source: Source) -> _Spec:
    there = beside(path, SPEC)
    if there is None:
        raise source.error(
            f"there is no {SPEC} beside it, which says what model and scenario this is. Give the "
            "whole folder of the run."
        )
    folder = folder_name(path)
    spec = json_document(there, Source(f"{folder}/{SPEC}" if folder else SPEC), _SPECS)
    if not _model(spec):
        raise Source(f"{folder}/{SPEC}").error("it names no model (adapter_spec.model).")
    return spec


def _model(spec: _Spec) -> str:
    return spec.adapter_spec.model.strip()


def _scenario(name: str) -> str:
    """The name of a run without its model.

    >>> _scenario("mmlu:subject=philosophy,method=joint,model=openai_gpt2")
    'mmlu:subject=philosophy,method=joint'
    """
    return _MODEL.sub("", name).rstrip(":,")


def _read(path: Path, findings: Findings, *, metric: str | None, errors: str) -> Iterator[Record]:
    source = findings.source
    spec = _spec_of(path, source)
    instances = json_document(path, source, _INSTANCES)
    taken = _metric_of(source, spec, instances, metric)
    findings.choose(f"metric {taken}")
    hashes, failed = _state_of(path, source)
    scenario, model = _scenario(spec.name), _model(spec)
    for entry, instance in enumerate(instances, 1):
        if instance.perturbation is not None:
            findings.drop("perturbed instance: not read")
            continue
        key = instance.instance_id, instance.train_trial_index
        score = _score(instance, taken)
        if score is None:
            findings.bad(
                entry, f"({instance.instance_id}) has no value of {taken!r} that is one number."
            )
            continue
        if key in failed:
            score = error_score(errors)
            findings.drop(f"instance whose request failed: {errors}")
        elif math.isnan(score):
            findings.drop(f"instance on which {taken} was not computed: missing")
        yield Record(
            model,
            f"{scenario}/{instance.instance_id}",
            score,
            subtask=scenario,
            content_hash=hashes.get(instance.instance_id, ""),
            trial=str(instance.train_trial_index),
            line=entry,
        )


def _metric_of(source: Source, spec: _Spec, instances: list[_Instance], metric: str | None) -> str:
    there = {stat.name.name for instance in instances for stat in instance.stats}
    if metric is not None:
        if metric not in there:
            raise not_there(source, "metric", metric, there)
        return metric
    if not there:
        raise source.error("it has no statistic of any instance.")
    lists = [part.args.get("names") for part in spec.metric_specs]
    named = {name for names in lists if isinstance(names, list) for name in map(str, names)}
    own = there & named or there
    if len(own) > 1:
        raise no_choice(source, "metric", own, "metric")
    return own.pop()


def _score(instance: _Instance, metric: str) -> float | None:
    """The value of a metric; NaN when it was not computed, None when it is not one value."""
    found = [
        stat for stat in instance.stats
        if stat.name.name == metric and stat.name.perturbation is None
    ]  # fmt: skip
    if len(found) != 1:
        return None
    total = found[0].sum
    return math.nan if total is None or found[0].count <= 0 else total / found[0].count


def _state_of(path: Path, source: Source) -> tuple[dict[str, str], set[_Key]]:
    """Hashes of what was asked, and the instances of which a request failed."""
    there = beside(path, STATE)
    if there is None:
        return {}, set()
    name = source.name.replace(STATS, STATE)
    requests = json_document(there, Source(name), _STATES).request_states
    hashes, failed = {}, set()
    for request in requests:
        asked = request.instance
        if asked.perturbation is not None:
            continue
        if request.result is not None and not request.result.success:
            failed.add((asked.id, request.train_trial_index))
        if asked.id not in hashes:
            told = [asked.input.text, *sorted(f"{r.output.text}{r.tags}" for r in asked.references)]
            text = repr(told).encode("utf-8", "surrogatepass")
            hashes[asked.id] = hashlib.blake2b(text, digest_size=8).hexdigest()
    return hashes, failed
