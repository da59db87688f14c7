"""What is written is read back the same, and nothing else is taken for it."""

import gzip
import json
import os
import shutil
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdad import loaders, storage
from mdad.errors import FormatError, ScoresError, SettingError
from mdad.scores import ScoreMatrix
from mdad.storage import directory

MODELS = ["a/b", "c d", 'e"f', "g,h"]
ITEMS = ["1", "two", "\u00e9", "model", "score"]

FIELDS = ("models", "items", "subtasks", "score_range", "kind", "name", "simulated")


def matrix(*, missing=False, graded=False, full=False):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 2, (4, 5)).astype(float)
    if graded:
        values = rng.normal(size=(4, 5)) * 10
    if missing:
        values[1, 2] = values[3, 0] = np.nan
    extra = {}
    if full:
        chances = rng.random((4, 5))
        chances[0, 0] = np.nan
        dates = pd.to_datetime(["2025-01-01", None, "2025-03-01", "2025-04-01"])
        extra = {
            "subtasks": ["x", "y", "x", "z", "y"],
            "probabilities": chances,
            "model_info": pd.DataFrame(
                {"family": ["f", "f", None, "g"], "size": [7.0, 1.5, np.nan, 3], "date": dates},
                index=MODELS,
            ),
            "item_info": pd.DataFrame({"content_hash": list("vwxyz"), "n": range(5)}, index=ITEMS),
            "name": "bench",
            "simulated": True,
        }
    low_high = (-100.0, 100.0) if graded else (0.0, 1.0)
    return ScoreMatrix(values, MODELS, ITEMS, score_range=low_high, **extra)


MATRICES = {
    f"{'missing' if m else 'complete'}-{'graded' if g else 'binary'}-{'full' if f else 'bare'}": (
        matrix(missing=m, graded=g, full=f)
    )
    for m in (False, True)
    for g in (False, True)
    for f in (False, True)
}


@pytest.fixture(params=MATRICES.values(), ids=MATRICES)
def scores(request):
    return request.param


def assert_same(one, other):
    assert one.values.dtype == other.values.dtype
    np.testing.assert_array_equal(one.values, other.values)
    assert not other.values.flags.writeable
    assert (one.probabilities is None) == (other.probabilities is None)
    assert (one.right_options is None) == (other.right_options is None)
    if one.right_options is not None:
        np.testing.assert_array_equal(one.right_options, other.right_options)
        assert one.option_probabilities.dtype == other.option_probabilities.dtype
        np.testing.assert_array_equal(one.option_probabilities, other.option_probabilities)
    if one.probabilities is not None:
        assert one.probabilities.dtype == other.probabilities.dtype
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
    assert [getattr(one, name) for name in FIELDS] == [getattr(other, name) for name in FIELDS]
    for name in ("model_info", "item_info"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None)
        if left is not None:
            pd.testing.assert_frame_equal(left, right)
    assert one.n_missing == other.n_missing
    assert one.data_fingerprint == other.data_fingerprint
    assert one.items_fingerprint == other.items_fingerprint


@pytest.mark.parametrize("layout", ["wide", "long", None])
def test_parquet_round_trip(scores, layout, tmp_path):
    storage.write_parquet(scores, tmp_path / "s.parquet", layout)
    assert storage.is_parquet_store(tmp_path / "s.parquet")
    assert_same(scores, storage.read_parquet(tmp_path / "s.parquet"))
    assert_same(scores, loaders.load(tmp_path / "s.parquet"))
    assert [file.name for file in tmp_path.iterdir()] == ["s.parquet"]


def test_parquet_default_layout_is_wide_only_without_probabilities(tmp_path):
    wide, long = ["model", "1", "two"], ["model", "item", "score"]
    bare = matrix()
    for scores, names in (
        (bare.restrict(items=["1", "two"]), wide),
        (bare.restrict(items=["1", "model"]), long),
        (matrix(full=True), [*long, "probability"]),
    ):
        storage.write_parquet(scores, tmp_path / "s.parquet")
        assert pq.read_schema(tmp_path / "s.parquet").names == names


def test_long_parquet_of_many_rows_comes_back_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(storage.parquet, "ROWS_AT_ONCE", 7)
    scores = matrix(missing=True, full=True)
    storage.write_parquet(scores, tmp_path / "s.parquet", "long")
    assert_same(scores, storage.read_parquet(tmp_path / "s.parquet"))


def test_probabilities_of_options_round_trip_in_a_directory(tmp_path):
    options = np.random.default_rng(0).random((4, 5, 3)).astype(np.float32)
    options[:, 2, 2] = np.nan
    for chances in (None, options[:, :, 0]):
        scores = ScoreMatrix(
            matrix(missing=True).values,
            MODELS,
            ITEMS,
            probabilities=chances,
            option_probabilities=options,
            right_options=[0, 1, 1, 2, 0],
        )
        storage.write_directory(scores, tmp_path / "s")
        assert_same(scores, storage.open_directory(tmp_path / "s"))
        with pytest.raises(SettingError, match="write_directory"):
            storage.write_parquet(scores, tmp_path / "s.parquet")


@pytest.mark.parametrize("packed", [None, False, True])
def test_directory_round_trip(scores, packed, tmp_path):
    if packed and scores.kind == "graded":
        with pytest.raises(SettingError, match="packed=True needs 0/1 scores"):
            storage.write_directory(scores, tmp_path / "s", packed=packed)
        return
    storage.write_directory(scores, tmp_path / "s", packed=packed)
    for verify in (None, True, False):
        assert_same(scores, storage.open_directory(tmp_path / "s", verify=verify))
    assert_same(scores, loaders.load(tmp_path / "s"))
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


def test_directory_maps_its_layers_and_a_restriction_of_it_is_checked_like_any_other(tmp_path):
    storage.write_directory(matrix(graded=True), tmp_path / "s")
    opened = storage.open_directory(tmp_path / "s")
    base = opened.values
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert_same(matrix(graded=True).restrict(items=["two"]), opened.restrict(items=["two"]))


def test_fingerprints_of_a_directory_are_those_computed_again(tmp_path):
    scores = matrix(missing=True, full=True)
    storage.write_directory(scores, tmp_path / "s")
    opened = storage.open_directory(tmp_path / "s")
    again = opened.restrict(models=opened.models)
    assert again.data_fingerprint == opened.data_fingerprint == scores.data_fingerprint


def test_large_binary_layers_are_packed_and_others_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "PACK_ABOVE", 10)
    storage.write_directory(matrix(missing=True), tmp_path / "bits")
    assert {"values.bits", "values.mask"} < {f.name for f in (tmp_path / "bits").iterdir()}
    storage.write_directory(matrix(graded=True), tmp_path / "floats")
    assert (tmp_path / "floats" / "values.npy").is_file()


def test_a_directory_replaces_an_older_one_and_an_empty_one_only(tmp_path):
    target = tmp_path / "s"
    target.mkdir()
    storage.write_directory(matrix(), target)
    storage.write_directory(matrix(graded=True), target)
    assert storage.open_directory(target).kind == "graded"
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("important")
    with pytest.raises(SettingError, match="left alone"):
        storage.write_directory(matrix(), tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "important"
    assert sorted(f.name for f in tmp_path.iterdir()) == ["s", "thesis"]


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    storage.write_directory(matrix(), tmp_path / "s")
    storage.write_csv(matrix(), tmp_path / "s.csv")
    before = (tmp_path / "s.csv").read_bytes()

    def fail(*_args, **_kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(directory, "encode", fail)
    monkeypatch.setattr(storage.text, "_write_rows", fail)
    with pytest.raises(ZeroDivisionError):
        storage.write_directory(matrix(graded=True), tmp_path / "s")
    with pytest.raises(ZeroDivisionError):
        storage.write_csv(matrix(graded=True), tmp_path / "s.csv")
    assert storage.open_directory(tmp_path / "s").kind == "correctness"
    assert (tmp_path / "s.csv").read_bytes() == before
    assert sorted(f.name for f in tmp_path.iterdir()) == ["s", "s.csv"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    for write in (storage.write_csv, storage.write_parquet, storage.write_directory):
        with pytest.raises(SettingError, match=r"folder .* does not exist"):
            write(matrix(), tmp_path / "none" / "s")
    for write in (storage.write_csv, storage.write_parquet):
        with pytest.raises(SettingError, match="is a folder"):
            write(matrix(), tmp_path)
    with pytest.raises(SettingError, match="layout"):
        storage.write_parquet(matrix(), tmp_path / "s.parquet", "tall")


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz"])
def test_csv_round_trip(name, tmp_path):
    for missing in (False, True):
        for graded in (False, True):
            scores = matrix(missing=missing, graded=graded)
            storage.write_csv(scores, tmp_path / name)
            options = {"score_range": scores.score_range, "name": "", "orientation": "models-rows"}
            assert_same(scores, loaders.load(tmp_path / name, **options))


def test_csv_bytes_do_not_depend_on_the_time(tmp_path, monkeypatch):
    storage.write_csv(matrix(), tmp_path / "one.csv.gz")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    storage.write_csv(matrix(), tmp_path / "two.csv.gz")
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.csv.gz").read_bytes()).startswith(b"model,1,two,")


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    spaced = ScoreMatrix([[1]], [" a"], ["q"])
    with pytest.raises(ScoresError, match="white space"):
        storage.write_csv(spaced, tmp_path / "s.csv")
    storage.write_parquet(spaced, tmp_path / "s.parquet")
    assert storage.read_parquet(tmp_path / "s.parquet").models == (" a",)
    said = pd.Series(["\ud800"], index=["a"], dtype=object)
    lone = ScoreMatrix([[1]], ["a"], ["q"], model_info=pd.DataFrame({"x": said}))
    for write in (storage.write_parquet, storage.write_directory):
        with pytest.raises(ScoresError, match="cannot be stored"):
            write(lone, tmp_path / "t")
    odd = pd.DataFrame({"x": [object()]}, index=["a"])
    with pytest.raises(ScoresError, match="model_info cannot be stored"):
        storage.write_parquet(ScoreMatrix([[1]], ["a"], ["q"], model_info=odd), tmp_path / "t")
    assert [f.name for f in tmp_path.iterdir()] == ["s.parquet"]


def test_nothing_is_pickled(tmp_path):
    folder = tmp_path / "s"
    storage.write_directory(matrix(), folder)
    np.save(folder / "values.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["values.npy"] = {
        "size": (folder / "values.npy").stat().st_size,
        "digest": directory._summary(folder / "values.npy").digest,
    }
    manifest["checksum"] = ""
    header = directory.msgspec.convert(manifest, directory.Manifest)
    (folder / "manifest.json").write_bytes(directory.encode(header))
    with pytest.raises(FormatError, match=r"not a readable \.npy"):
        storage.open_directory(folder)


def rewritten(folder, **changes):
    """A manifest with other contents, and a checksum that holds."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.update(changes)
    header = directory.msgspec.convert(manifest, directory.Manifest)
    (folder / "manifest.json").write_bytes(directory.encode(header))


def test_layers_of_another_shape_are_refused(tmp_path):
    for packed, text in ((False, "has the shape"), (True, "does not hold")):
        folder = tmp_path / f"s{packed}"
        storage.write_directory(matrix(), folder, packed=packed)
        rewritten(folder, models=["one"])
        with pytest.raises(FormatError, match=text):
            storage.open_directory(folder)


def test_a_file_outside_the_directory_is_never_opened(tmp_path):
    folder = tmp_path / "s"
    storage.write_directory(matrix(), folder)
    np.save(tmp_path / "values.npy", matrix().values)
    size = (tmp_path / "values.npy").stat().st_size
    digest = directory._summary(tmp_path / "values.npy").digest
    rewritten(
        folder,
        files={"../values.npy": {"size": size, "digest": digest}},
        values={"file": "../values.npy", "packed": False, "mask": None},
    )
    with pytest.raises(FormatError, match="damaged"):
        storage.open_directory(folder)


def test_a_layer_that_the_manifest_does_not_vouch_for_is_refused(tmp_path):
    folder = tmp_path / "s"
    storage.write_directory(matrix(), folder)
    rewritten(folder, files={})
    with pytest.raises(FormatError, match="damaged"):
        storage.open_directory(folder)


def test_no_directory_no_store(tmp_path):
    with pytest.raises(FormatError, match="no directory"):
        storage.open_directory(tmp_path / "none")
    assert not storage.is_directory_store(tmp_path)
    assert not storage.is_parquet_store(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    assert not storage.is_parquet_store(tmp_path / "x.parquet")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(FormatError, match="not a score matrix written by mdad"):
        storage.read_parquet(tmp_path / "y.parquet")
    with pytest.raises(FormatError, match="cannot be read"):
        storage.read_parquet(tmp_path / "none.parquet")


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_own_parquet_changed_by_another_program_is_refused(layout, tmp_path):
    path = tmp_path / "s.parquet"
    storage.write_parquet(matrix(), path, layout)
    table = pq.ParquetFile(path).read()
    order = np.arange(table.num_rows)[::-1]
    for other in (table.slice(1), table.take(order), table.drop_columns(table.column_names[-1])):
        pq.write_table(other, path)
        with pytest.raises(FormatError, match="changed by another program"):
            storage.read_parquet(path)


@pytest.mark.parametrize("layout", ["wide", "long"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_flipped_bit_in_own_parquet_is_refused_or_harmless(layout, data, tmp_path):
    path = tmp_path / "s.parquet"
    scores = matrix(missing=True, full=True)
    storage.write_parquet(scores, path, layout)
    contents = bytearray(path.read_bytes())
    contents[data.draw(st.integers(0, len(contents) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(contents)
    try:
        found = storage.read_parquet(path)
    except FormatError:
        return
    assert found.data_fingerprint == scores.data_fingerprint


@pytest.mark.parametrize("packed", [True, False])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_flipped_bit_in_a_directory_is_refused_or_harmless(packed, data, tmp_path):
    scores = matrix(missing=True, full=True)
    shutil.rmtree(tmp_path / "s", ignore_errors=True)
    storage.write_directory(scores, tmp_path / "s", packed=packed)
    files = sorted((tmp_path / "s").iterdir())
    file = files[data.draw(st.integers(0, len(files) - 1))]
    contents = bytearray(file.read_bytes())
    contents[data.draw(st.integers(0, len(contents) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(contents)
    try:
        found = storage.open_directory(tmp_path / "s")
    except FormatError:
        return
    assert_same(scores, found)


def test_opening_a_large_packed_directory_is_quick(tmp_path):
    values = np.random.default_rng(0).integers(0, 2, (500, 20_000), dtype=np.int8)
    models, items = [f"m{i}" for i in range(500)], [f"q{i}" for i in range(20_000)]
    scores = ScoreMatrix(values, models, items)
    storage.write_directory(scores, tmp_path / "s")
    assert (tmp_path / "s" / "values.bits").stat().st_size == 500 * 2_500
    start = time.process_time()
    opened = storage.open_directory(tmp_path / "s")
    # A fiftieth of 5,000 x 100,000, which may take a second; room for a busy machine.
    assert time.process_time() - start < 1
    assert np.array_equal(opened.values, values)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_directory_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").mkdir()
    storage.write_directory(matrix(), tmp_path / "s")
    assert (tmp_path / "s").stat().st_mode == (tmp_path / "usual").stat().st_mode
