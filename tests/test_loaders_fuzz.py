"""Random bytes and mutated tables: refused, or read as a second, naive reader reads them."""

import csv
import gzip
import io
import json
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdad import loaders
from mdad.errors import MdadError

FUZZ = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MISSING = {"", "NA", "NaN", "nan", "null", "None"}
WORDS = {"true": 1.0, "false": 0.0}

WIDE = "model,q1,q2,q3\na,1,0,\nb,0.5,0,1\nc,True,NA,0\n"
TURNED = "item,a,b,c\nq1,1,0,\nq2,0.5,0,1\n"
LONG = "model,item,score\na,q1,1\na,q2,0.5\nb,q1,\nb,q2,1\n"
LINES = "".join(
    json.dumps({"model": m, "item": q, "score": s}) + "\n"
    for m, q, s in [("a", "q1", 1), ("a", "q2", 0.5), ("b", "q1", None), ("b", "q2", True)]
)


def cell(text):
    text = text.strip()
    if text in MISSING:
        return math.nan
    if text in {"True", "true", "TRUE", "False", "false", "FALSE"}:
        return WORDS[text.lower()]
    assert re.fullmatch(r"[-+.0-9eE]+", text), text
    return float(text)


def naive(text, *, wide):
    """Cells by (row id, column id) of a wide table, or (model, item) of a long one."""
    rows = [
        row
        for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
        if len(row) > 1 or (row and row[0].strip())
    ]
    header = [name.strip() for name in rows[0]]
    assert all(len(row) == len(header) for row in rows)
    found = {}
    for row in rows[1:]:
        if wide:
            pairs = [((row[0].strip(), n), c) for n, c in zip(header[1:], row[1:], strict=True)]
        else:
            names = [re.sub(r"[\s-]+", "_", name.lower()) for name in header]
            pairs = [
                (
                    (row[names.index("model")].strip(), row[names.index("item")].strip()),
                    row[names.index("score")],
                )
            ]
        for key, value in pairs:
            assert key not in found, key
            found[key] = cell(value)
    return found


def naive_lines(text):
    found = {}
    for line in text.removeprefix("\ufeff").split("\n"):
        if line.strip("\ufeff \t\r\n"):
            record = json.loads(line)
            key = str(record["model"]).strip(), str(record["item"]).strip()
            assert key not in found, key
            score = record["score"]
            if isinstance(score, str):
                score = cell(score)
            found[key] = math.nan if score is None else float(score)
    return found


def cells_of(scores, *, turned=False):
    values = np.asarray(scores.values, dtype=float)
    return {
        (i, m) if turned else (m, i): values[row, column]
        for row, m in enumerate(scores.models)
        for column, i in enumerate(scores.items)
    }


def same(one, other):
    return one.keys() == other.keys() and all(
        one[k] == other[k] or (math.isnan(one[k]) and math.isnan(other[k])) for k in one
    )


def mutated(text, data):
    """The text after a few cuts, doublings, insertions and replacements."""
    pieces = [
        *',\n"10.- \t\rexa\ufeff\0{}:;\u2028\xa0\\',
        *("nan", "True", "model", "item"),
    ]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 6)))
        piece = data.draw(st.sampled_from([*pieces, text[start:stop] * 2, ""]))
        text = text[:start] + piece + text[stop:]
    return text


def loaded(path, contents, **options):
    """The matrix, or None when it is refused as it should be."""
    path.write_bytes(contents)
    try:
        return loaders.load(path, score_range=(-1000, 1000), min_models=1, **options)
    except MdadError as error:
        text = str(error)
        assert "\n" not in text
        assert text.endswith((".", "?"))
        return None


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.tsv", "x.parquet", "x.jsonl", "x"])
@FUZZ
@given(contents=st.binary(max_size=300))
def test_random_bytes(name, contents, tmp_path):
    for start in (b"", b"PAR1", b"\x1f\x8b\x08\x00", b"model,", b'{"model":'):
        loaded(tmp_path / name, start + contents)


@FUZZ
@given(text=st.text(max_size=80))
def test_random_text_below_a_header(text, tmp_path):
    for header in ("model,q1,q2\n", "model,item,score\n"):
        wide = "q1" in header
        contents = (header + text).encode("utf-8", "surrogatepass")
        found = loaded(tmp_path / "x.csv", contents)
        if found is not None:
            assert same(naive(header + text, wide=wide), cells_of(found))


@pytest.mark.parametrize("orientation", ["models-rows", "models-columns"])
@FUZZ
@given(data=st.data())
def test_mutated_wide_tables(orientation, data, tmp_path):
    turned = orientation == "models-columns"
    text = mutated(TURNED if turned else WIDE, data)
    found = loaded(tmp_path / "x.csv", text.encode(), orientation=orientation)
    if found is not None:
        assert same(naive(text, wide=True), cells_of(found, turned=turned))


@FUZZ
@given(data=st.data())
def test_mutated_long_tables(data, tmp_path):
    text = mutated(LONG, data)
    found = loaded(tmp_path / "x.csv", text.encode())
    if found is None:
        return
    expected = naive(text, wide=not {"model", "item", "score"} <= set(header_words(text)))
    got = cells_of(found)
    # A pair without a row is missing; a wide table may lie either way.
    full = {key: expected.get(key, math.nan) for key in got}
    assert expected.keys() <= got.keys() or same(expected, cells_of(found, turned=True))
    assert same(full, got) or same(expected, cells_of(found, turned=True))


def header_words(text):
    first = next(line for line in re.split(r"[\r\n]", text) if line.strip("\ufeff \t"))
    return [word.strip(' "\ufeff\xa0\u2028\t').lower() for word in first.split(",")]


@FUZZ
@given(data=st.data())
def test_mutated_json_lines(data, tmp_path):
    text = mutated(LINES, data)
    found = loaded(tmp_path / "x.jsonl", text.encode())
    if found is not None and text.lstrip("\ufeff \n\r\t").startswith("{"):
        expected = naive_lines(re.sub(r"\r\n?", "\n", text))
        got = cells_of(found)
        assert expected.keys() <= got.keys()
        assert same({key: expected.get(key, math.nan) for key in got}, got)


@FUZZ
@given(data=st.data())
def test_mutated_gzip(data, tmp_path):
    contents = bytearray(gzip.compress(WIDE.encode(), mtime=0))
    position = data.draw(st.integers(0, len(contents) - 1))
    contents[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(contents)))
    for damaged in (bytes(contents), bytes(contents[:cut])):
        found = loaded(tmp_path / "x.csv.gz", damaged)
        assert found is None or same(naive(WIDE, wide=True), cells_of(found))


@FUZZ
@given(data=st.data())
def test_mutated_parquet(data, tmp_path):
    import pandas as pd  # noqa: PLC0415

    pd.read_csv(io.StringIO(LONG)).to_parquet(tmp_path / "x.parquet")
    contents = bytearray((tmp_path / "x.parquet").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        contents[data.draw(st.integers(0, len(contents) - 1))] = data.draw(st.integers(0, 255))
    # Plain Parquet has no checksums: only that it is refused properly or is a matrix.
    loaded(tmp_path / "x.parquet", bytes(contents))
