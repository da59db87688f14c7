"""Damaged logs of every small format: refused properly, or read as they now stand."""

import json
import math
import os
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdad import loaders
from mdad.errors import MdadError
from small_logs import SAMPLES, content_of

FUZZ = settings(
    max_examples=int(os.environ.get("MDAD_FUZZ", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
RANGE = (-1000, 1000)
JUNK = [None, True, False, 0, 1, 0.5, -7, 1e300, 10**400, "", "x", "1", [], [1], {}, {"x": 1}]
PIECES = [
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\\", b"\0", b"\xff", b"1", b"0", b"-"),
    *(b"null", b"true", b"NaN", b"Infinity", b"1e999", b'"\\ud800"', b"[" * 3000, b'{"a":' * 3000),
]


def loaded(sample, folder, options, **more):
    """The scores by model and item; None when the log is refused as it should be."""
    try:
        scores = loaders.load(
            folder, format=sample.format, cache=False, score_range=RANGE,
            **{k: v for k, v in options.items() if k != "score_range"}, **more,
        )  # fmt: skip
    except MdadError as error:
        text = str(error)
        assert "\n" not in text
        assert text.endswith((".", "?"))
        return None
    values = np.asarray(scores.values, dtype=float)
    assert ((values >= RANGE[0]) & (values <= RANGE[1]) | np.isnan(values)).all()
    return {
        model: {item: float(values[row, i]) for i, item in enumerate(scores.items)}
        for row, model in enumerate(scores.models)
    }


def fresh(folder, sample):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return sample.write(folder)


@pytest.mark.parametrize("name", SAMPLES)
@FUZZ
@given(data=st.data())
def test_damaged_bytes(name, data, tmp_path):
    sample, folder = SAMPLES[name], tmp_path / "logs"
    options = fresh(folder, sample)
    file = data.draw(st.sampled_from(sorted(sample.files)))
    contents = content_of(sample.files[file])
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(contents)))
        stop = min(len(contents), start + data.draw(st.integers(0, 8)))
        piece = data.draw(st.sampled_from([*PIECES, contents[start:stop] * 2, b""]))
        contents = contents[:start] + piece + contents[stop:]
    (folder / file).write_bytes(contents)
    loaded(sample, folder, options)
    loaded(sample, folder, options, strict=False)


@pytest.mark.parametrize("name", SAMPLES)
@FUZZ
@given(contents=st.binary(max_size=200))
def test_random_bytes(name, contents, tmp_path):
    sample, folder = SAMPLES[name], tmp_path / "logs"
    options = fresh(folder, sample)
    (folder / next(iter(sample.files))).write_bytes(contents)
    loaded(sample, folder, options)


def paths_in(value, path=()):
    """Every place in a JSON value."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_in(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from paths_in(inner, (*path, place))


def changed(value, path, new):
    """A copy in which one place holds something else; ``...`` takes it out."""
    if not path:
        return None if new is ... else new
    copy = type(value)(value)
    if new is ... and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", SAMPLES)
@FUZZ
@given(data=st.data())
def test_changed_values(name, data, tmp_path):
    sample, folder = SAMPLES[name], tmp_path / "logs"
    options = fresh(folder, sample)
    texts = [f for f, c in sample.files.items() if isinstance(c, dict | list)]
    if not texts:
        return
    file = data.draw(st.sampled_from(texts))
    value = sample.files[file]
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(paths_in(value))[1:] or [()]))
        value = changed(value, path, data.draw(st.sampled_from([..., *JUNK])))
    contents = content_of(value)
    (folder / file).write_bytes(contents)
    found = loaded(sample, folder, options)
    if found is not None and name in NAIVE:
        naive = NAIVE[name](contents.decode())
        got = {(m, i): s for m, own in found.items() for i, s in own.items()}
        full = {key: naive.get(key, math.nan) for key in got}
        assert naive.keys() <= got.keys()
        assert all(full[k] == got[k] or (math.isnan(full[k]) and math.isnan(got[k])) for k in got)


def number(value):
    """A score as it stands in JSON; null is missing and all else a mistake."""
    assert value is None or isinstance(value, bool | int | float)
    return math.nan if value is None else float(value)


def naive_irt(text):
    found = {}
    for line in text.splitlines():
        row = json.loads(line)
        for item, score in row["responses"].items():
            assert (str(row["subject_id"]), item) not in found
            found[str(row["subject_id"]), item] = number(score)
    return found


def naive_perf(text):
    return {("m", task): number(own["dps"]) for task, own in json.loads(text)["eval"].items()}


def naive_code(text):
    found = {}
    for own in json.loads(text):
        item = str(own["question_id"])
        if own.get("test_id") is not None:
            item += f"/{own['test_id']}"
        assert ("O1 (N=2)", item) not in found
        verdicts = own["graded_list"]
        assert all(isinstance(each, bool) for each in verdicts)
        found["O1 (N=2)", item] = sum(verdicts) / len(verdicts) if verdicts else math.nan
    return found


def naive_crux(text):
    scored = json.loads(text)["raw_scored_generations"]
    return {
        ("m_temp0.2", f"output/{key}"): sum(own) / len(own) if own else math.nan
        for key, own in scored.items()
    }


def naive_wmt(text):
    found = {}
    for line in text.splitlines():
        row = json.loads(line)
        place = f"{row['language_pair']}/{row['domain']}/{row['document_id']}"
        for i, score in enumerate(row["metric_scores"]["Comet"], 1):
            found["AMI", f"{place}/{i}"] = number(score)
    return found


NAIVE = {
    "py-irt": naive_irt,
    "evalperf": naive_perf,
    "livecodebench": naive_code,
    "cruxeval": naive_crux,
    "wmt25": naive_wmt,
}


@pytest.mark.parametrize("name", ["py-irt", "every-eval-ever", "livecodebench", "alpaca-eval"])
@FUZZ
@given(data=st.data())
def test_the_order_of_records_changes_nothing(name, data, tmp_path):
    sample, folder = SAMPLES[name], tmp_path / "logs"
    options = fresh(folder, sample)
    before = loaded(sample, folder, options)
    for file, contents in sample.files.items():
        if isinstance(contents, list):
            order = data.draw(st.permutations(range(len(contents))))
            (folder / file).write_bytes(content_of(type(contents)(contents[i] for i in order)))
    assert json.dumps(loaded(sample, folder, options)) == json.dumps(before)
