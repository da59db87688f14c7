"""Files to score matrices: one registry of formats, one function.

Words for the same thing elsewhere: our *item* is an *example* in the paper, a *sample* in
Inspect, a *doc* in lm-evaluation-harness, an *instance* in HELM.

A further format is a module with ``detect`` and ``load`` and one line in :data:`LOADERS`; the
module ``_logs`` says how to write one for evaluation logs. Other packages add theirs by an
entry point of the group ``mdad.loaders`` that names a :class:`Loader`. Plain tables come last.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdad import storage
from mdad._checks import check_choice, check_int, counted, listed, suggestion
from mdad.errors import FormatError, SettingError
from mdad.loaders import (
    _cache,
    _join,
    alpaca_eval,
    bfcl,
    cruxeval,
    eqbench,
    evalperf,
    evalplus,
    every_eval_ever,
    helm,
    inspect_ai,
    livecodebench,
    lm_eval,
    mint,
    open_llm_leaderboard,
    openai_evals,
    opencompass,
    option_logits,
    paper_arrays,
    paper_scores,
    py_irt,
    swebench,
    tables,
    terminal_bench,
    wmt25,
    zeroeval,
)
from mdad.loaders._log_files import tree_of
from mdad.loaders._log_report import Loaded, LoadReport, ModelFacts, report_of
from mdad.loaders._logs import Setup

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd

    from mdad.scores import ScoreMatrix

__all__ = [
    "LOADERS",
    "LoadReport",
    "Loaded",
    "Loader",
    "ModelFacts",
    "known_loaders",
    "load",
    "load_with_report",
    "read_items",
]

ENTRY_POINTS = "mdad.loaders"
_SETUP = tuple(field.name for field in dataclasses.fields(Setup))


@dataclass(frozen=True)
class Loader:
    """A named format: how to know it, how to read it, and one line of help.

    ``detect`` and ``load`` of a format of logs get a ``Tree`` of files, and ``load`` a ``Setup``
    beside its own options; those of other formats get the path.
    """

    name: str
    detect: Callable[[Any], bool]
    load: Callable[..., Any]
    help: str
    logs: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options of ``load``."""
        own = list(inspect.signature(self.load).parameters)
        return (*own[2:], *_SETUP) if self.logs else tuple(own[1:])


def _own(
    read: Callable[[Path], ScoreMatrix], path: Path, *, min_models: int = 1, name: str | None = None
) -> ScoreMatrix:
    """A matrix that states range, kind and all else itself."""
    scores = read(path)
    if scores.n_models < check_int("min_models", min_models, 1):
        raise FormatError(
            f"{path.name}: it has {counted(scores.n_models, 'model')}; {min_models:,} or more are "
            "needed here."
        )
    return scores if name is None else scores._replace(name=name)


def _open_directory(path: Path, *, min_models: int = 1, name: str | None = None) -> ScoreMatrix:
    return _own(storage.open_directory, path, min_models=min_models, name=name)


def _read_parquet(path: Path, *, min_models: int = 1, name: str | None = None) -> ScoreMatrix:
    return _own(storage.read_parquet, path, min_models=min_models, name=name)


LOADERS: dict[str, Loader] = {
    loader.name: loader
    for loader in (
        Loader(
            "mdad-directory",
            storage.is_directory_store,
            _open_directory,
            "a directory written by mdad, mapped into memory",
        ),
        Loader(
            "mdad-parquet",
            storage.is_parquet_store,
            _read_parquet,
            "a Parquet file written by mdad, with all it knows",
        ),
        Loader("inspect", inspect_ai.detect, inspect_ai.load, "Inspect AI logs", logs=True),
        Loader("lm-eval", lm_eval.detect, lm_eval.load, "lm-evaluation-harness samples", logs=True),
        *(
            Loader(name, module.detect, module.load, text, logs=True)
            for name, module, text in (
                ("alpaca-eval", alpaca_eval, "AlpacaEval annotations of one judge"),
                ("bfcl", bfcl, "BFCL score files, which list failures only"),
                ("cruxeval", cruxeval, "CRUXEval scored generations"),
                ("eqbench", eqbench, "EQ-Bench results"),
                ("evalperf", evalperf, "EvalPerf results per task"),
                ("evalplus", evalplus, "EvalPlus eval_results.json"),
                ("every-eval-ever", every_eval_ever, "every_eval_ever samples"),
                ("helm", helm, "HELM runs"),
                ("livecodebench", livecodebench, "LiveCodeBench eval_all.json"),
                ("mint", mint, "MINT results.jsonl"),
                ("openai-evals", openai_evals, "OpenAI Evals logs"),
                ("opencompass", opencompass, "OpenCompass details or predictions"),
                ("option-logits", option_logits, "logits of every option"),
                ("paper-arrays", paper_arrays, "the paper's .npy arrays"),
                ("paper-scores", paper_scores, "the paper's model_scores.csv"),
                ("py-irt", py_irt, "py-irt response patterns"),
                ("swebench", swebench, "SWE-bench reports"),
                ("terminal-bench", terminal_bench, "Terminal-Bench results"),
                ("wmt25", wmt25, "WMT25 automatic scores"),
                ("zeroeval", zeroeval, "ZeroEval outputs with numbers as answers"),
            )
        ),
        Loader(
            "open-llm-leaderboard",
            open_llm_leaderboard.detect,
            open_llm_leaderboard.load,
            "Open LLM Leaderboard details as Parquet",
            logs=True,
        ),
        Loader(
            "table",
            tables.detect,
            tables.load,
            "a wide or long table: CSV, TSV, Parquet, JSON Lines; .gz allowed",
        ),
    )
}


def known_loaders() -> dict[str, Loader]:
    """The formats of this package, and behind them those that other packages add.

    Raises
    ------
    SettingError
        when an entry point cannot be loaded, is no :class:`Loader`, or takes a name twice.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to look up

    found = dict(LOADERS)
    for point in entry_points(group=ENTRY_POINTS):
        try:
            loader = point.load()
        except Exception as error:
            raise SettingError(
                f"the loader {point.name!r} of another package cannot be loaded ({error}). Update "
                f"or remove the package that has {point.value}."
            ) from error
        if not isinstance(loader, Loader) or loader.name in found:
            raise SettingError(
                f"the entry point {point.name!r} ({point.value}) of the group {ENTRY_POINTS} must "
                "be a mdad.loaders.Loader with a name of its own."
            )
        found[loader.name] = loader
    return found


def load(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # what everybody calls it
    items: str | os.PathLike[str] | None = None,
    models_file: str | os.PathLike[str] | None = None,
    probabilities: str | os.PathLike[str] | None = None,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> ScoreMatrix:
    """Read a score matrix from a file or directory of any known format.

    Parameters
    ----------
    path : the file or directory
    format : a name in :data:`LOADERS`; None takes the one that knows the file
    items : a table with a column of item ids, one of subtasks (optional) and others; the
        others become ``item_info``. It must have the same items as the scores.
    models_file : a table with a column of model ids and others, which become ``model_info``.
        It must have the same models as the scores.
    probabilities : a table of the probabilities of the correct answers in any form the scores
        may have, with the same models and items; joined by id
    progress : called with the files of logs that are read and their number
    cache : False reads logs anew even when they were read before (smaller ones always are)
    options : of the format. For tables see :func:`mdad.loaders.tables.load`: score_range,
        orientation, columns, delimiter, min_models, duplicates, kind, name. All formats of
        logs have strict, n_jobs, min_models, score_range, kind and name beside
        their own, such as metric and filter.

    Raises
    ------
    FormatError
        when a file is not there, not readable, not in order, or two do not match. One
        paragraph names file, line or column, up to five offenders and the remedy.
    SettingError
        when an option is unknown or has a value it cannot have.
    """
    return load_with_report(
        path,
        format=format,
        items=items,
        models_file=models_file,
        probabilities=probabilities,
        cache=cache,
        progress=progress,
        **options,
    ).scores


def load_with_report(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # what everybody calls it
    items: str | os.PathLike[str] | None = None,
    models_file: str | os.PathLike[str] | None = None,
    probabilities: str | os.PathLike[str] | None = None,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Loaded:
    """Read a score matrix and say what was read, chosen and left out.

    Parameters and errors are those of :func:`load`.

    Returns
    -------
    Loaded
        ``scores``, the matrix, and ``report``, a :class:`LoadReport`.
    """
    target = _existing(path)
    loader = _loader(target, format)
    given = {name: value for name, value in options.items() if value is not None}
    if loader.logs:
        given["progress"] = progress
    for name in given:
        if name not in loader.options:
            known = suggestion(name, loader.options) if loader.options else "it has none"
            raise SettingError(f"format {loader.name!r} has no option {name!r}: {known}.")
    loaded = _loaded(loader, target, given, cache=cache)
    scores = loaded.scores
    if probabilities is not None:
        layer_file = _existing(probabilities)
        layer = _loader(layer_file, None)
        taken = {"layer": "probability"} if "layer" in layer.options else {}
        found = _loaded(layer, layer_file, {"min_models": 1, **taken}, cache=cache).scores
        scores = _join.with_probabilities(scores, found, layer_file)
    if items is not None:
        scores = _join.with_items(scores, _existing_file(items))
    if models_file is not None:
        scores = _join.with_models(scores, _existing_file(models_file))
    return Loaded(scores, loaded.report)


def _loaded(loader: Loader, path: Path, options: dict[str, Any], *, cache: bool) -> Loaded:
    if not loader.logs:
        scores: ScoreMatrix = loader.load(path, **options)
        return Loaded(scores, report_of(scores, format=loader.name))
    setup = Setup(**{name: value for name, value in options.items() if name in _SETUP})
    own = {name: value for name, value in options.items() if name not in _SETUP}
    tree = tree_of(path)
    says = {name: v for name, v in options.items() if name not in {"n_jobs", "progress"}}
    cache = cache and _cache.worth_it(tree)
    key = _cache.key_of(tree, loader.name, says) if cache else ""
    kept = _cache.stored(key) if cache else None
    if kept is not None:
        return kept
    found: Loaded = loader.load(tree, setup, **own)
    if cache:
        _cache.store(key, found)
    return found


def _existing(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    try:
        there = target.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        beside = [p.name for p in target.parent.iterdir()] if target.parent.is_dir() else []
        close = suggestion(target.name, beside) if beside else ""
        hint = f" {close.capitalize()[: close.find('?') + 1]}" if "?" in close else ""
        raise FormatError(f"{target.name}: there is no such file or directory.{hint}")
    return target


def _existing_file(path: str | os.PathLike[str]) -> Path:
    target = _existing(path)
    if target.is_dir():
        raise FormatError(f"{target.name}: this is a folder; a file is expected here.")
    return target


def _loader(path: Path, name: str | None) -> Loader:
    if name is not None:
        known = LOADERS if name in LOADERS else known_loaders()
        check_choice("format", name, known)
        loader = known[name]
        if path.is_dir() and not loader.logs and name != "mdad-directory":
            raise FormatError(f"{path.name}: this is a folder; format {name!r} is a file.")
        return loader
    if storage.is_directory_store(path) or storage.is_parquet_store(path):
        return _first(list(LOADERS.values()), path)
    tree = tree_of(path)
    found = [each for each in LOADERS.values() if each.logs and each.detect(tree)]
    if len(found) > 1 and path.is_dir():
        names = [each.name for each in found]
        raise FormatError(
            f"{path.name}: there are logs of {len(found)} formats in this folder: {listed(names)}. "
            f"Say which to read: format={names[0]!r} (--format {names[0]})."
        )
    others = [each for name, each in known_loaders().items() if name not in LOADERS]
    found += [each for each in others if each.detect(tree if each.logs else path)]
    if found:
        return found[0]
    if path.is_dir():
        raise FormatError(
            f"{path.name}: this is a folder in which no known format was found. Give the file of "
            f"scores itself, or a directory written by mdad with its {storage.directory.MANIFEST}."
        )
    return _first([each for each in LOADERS.values() if not each.logs], path)


def _first(loaders: list[Loader], path: Path) -> Loader:
    for loader in loaders:
        if not loader.logs and loader.detect(path):
            return loader
    raise FormatError(f"{path.name}: this is neither a file nor a directory.")


def read_items(path: str | os.PathLike[str]) -> pd.DataFrame:
    """A table of items, indexed by id; its other columns as they are.

    Raises
    ------
    FormatError
        when it cannot be read, has no column of ids, or has an id twice.
    """
    return _join.read_labels(_existing(path), "item")
