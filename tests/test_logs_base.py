"""The base of all loaders of logs: joining, refusing, reporting, caching, and hostile files."""

import json
import os
import zipfile
from functools import partial

import msgspec
import numpy as np
import pytest

from harness_logs import inspect_eval, inspect_sample, lm_record, lm_run, write_lines
from mdad import loaders
from mdad.errors import FormatError, MdadError, SettingError
from mdad.loaders import Loader, _cache, _log_files, _log_zip, _logs
from mdad.loaders._log_files import json_document, json_lines, tree_of
from mdad.loaders._log_zip import archive
from mdad.loaders._logs import Record, collect
from mdad.loaders._names import Source


class Row(msgspec.Struct):
    m: str
    i: int | str
    s: float | None = None
    t: str = ""
    u: str = ""
    h: str = ""
    p: float = float("nan")


def read(path, findings, *, label=""):
    for line, row in json_lines(path, findings.source, msgspec.json.Decoder(Row)):
        if isinstance(row, str):
            findings.bad(line, row)
            continue
        if label:
            findings.same("label", "", path.stem)
        score = float("nan") if row.s is None else row.s
        yield Record(row.m, str(row.i), score, row.p, row.u, row.h, row.h, row.t, line)


def load(tree, setup, *, label=""):
    files = tree.ending(".toy")
    return collect(
        tree,
        files,
        partial(read, label=label),
        setup,
        format="toy",
        unit="line",
        keys=("i", "hash"),
    )


TOY = Loader("toy", lambda tree: bool(tree.ending(".toy")), load, "a toy", logs=True)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(loaders.LOADERS, "toy", TOY)


def made(folder, **files):
    for name, rows in files.items():
        write_lines(folder / f"{name}.toy", rows)
    return folder


def row(model, item, score, **fields):
    return {"m": model, "i": item, "s": score, **fields}


GOOD = [row("b", 10, 1), row("b", 2, 0), row("a", 2, 1), row("a", 10, 0)]


def test_records_of_many_files_are_joined_by_id_in_natural_order(tmp_path):
    made(tmp_path, one=GOOD[:1], two=GOOD[1:], three=[row("c", 10, 0.5), row("c", 2, 0)])
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.models == ("a", "b", "c")
    assert scores.items == ("2", "10")
    np.testing.assert_array_equal(scores.values, [[1, 0], [0, 1], [0, 0.5]])
    assert scores.kind == "graded"
    assert scores.subtasks is None
    assert [(m.name, m.n_items, m.coverage, m.mean, m.files) for m in report.models] == [
        ("a", 2, 1, 0.5, 1),
        ("b", 2, 1, 0.5, 2),
        ("c", 2, 1, 0.25, 1),
    ]
    assert (report.format, report.n_files, report.n_ignored) == ("toy", 3, 0)


def test_the_order_of_files_and_lines_changes_nothing(tmp_path):
    one = loaders.load(made(tmp_path / "one", x=GOOD))
    other = loaders.load(made(tmp_path / "other", y=GOOD[3:], x=GOOD[2::-1]), name="one")
    assert one.data_fingerprint == other.data_fingerprint
    assert (one.models, one.items) == (other.models, other.items)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["{"], r"x\.toy: line 5 is not valid JSON"),
        ([row("c", 2, 1.5)], r"line 5 has the score 1\.5 for '2', outside the range from 0 to 1"),
        ([row("c", 2, 85)], r"per cent\? then --score-range 0 100"),
        ([row("c", 2, 1, p=1.2)], r"line 5 has the probability 1\.2"),
        ([row("c", "", 1)], "line 5 has the item id ''"),
        ([row("c", " 2", 1)], "line 5 has the item id ' 2': empty, or with white space"),
        ([row("", 2, 1)], "line 5 has the model id ''"),
        ([row("c", "q\0", 1)], "zero byte"),
        (['{"m": "c", "i": "\\ud800", "s": 1}'], "not valid Unicode"),
        (['{"m": "c", "i": 2, "s": 1e999}'], "line 5 is not as it should be: Number out of range"),
        (['{"m": "c", "i": 2, "s": NaN}', row("c", 2, 0)], "line 6 is one more record"),
        (['{"m": "c", "i": 2, "s": true}'], "line 5 is not as it should be: Expected `float"),
        ([row("b", 2, 0)], "line 5 is one more record of item '2' of model 'b', first at 2"),
        (['{"m": "c", "x": ' + "[" * 10**5 + "]" * 10**5 + "}"], "line 5 is nested too deeply"),
        (["", "", '{"m'], "line 7 is not valid JSON"),
    ],
)
def test_a_bad_record_is_refused_with_its_line(rows, expected, tmp_path):
    with pytest.raises((FormatError, SettingError), match=expected):
        loaders.load(made(tmp_path, x=[*GOOD, *rows]))


def test_lenient_mode_counts_what_it_leaves_out(tmp_path):
    bad = ["{", row("c", 2, 7), row("b", 2, 0), *[row("", 2, 0)] * 4, row("c", 2, 1)]
    scores, report = loaders.load_with_report(made(tmp_path, x=[*GOOD, *bad]), strict=False)
    assert scores.models == ("a", "b", "c")
    np.testing.assert_array_equal(scores.values, [[1, 0], [0, 1], [1, np.nan]])
    assert report.n_errors == 7
    assert len(report.errors) == 5
    assert report.errors[0].startswith("x.toy: line 5 is not valid JSON")


def test_two_scores_of_one_item_are_refused_in_lenient_mode_too(tmp_path):
    made(tmp_path, x=[*GOOD, row("b", "2", 1)])
    for strict in (True, False):
        with pytest.raises(SettingError, match=r"'b', first at 2 \(scores 0 and 1\)"):
            loaders.load(tmp_path, strict=strict)


@pytest.mark.parametrize(("score", "how"), [(0, "the same score"), (1, "other scores")])
def test_an_item_in_two_files_of_a_model_is_refused_with_both_places(score, how, tmp_path):
    made(tmp_path, x=GOOD, y=[row("b", 2, score)])
    expected = (
        rf"1 item of model 'b' in more than one file: '2' in x.toy \(2\) and y.toy \(1\), {how}"
    )
    with pytest.raises(FormatError, match=expected):
        loaders.load(tmp_path)


def test_missing_is_not_wrong(tmp_path):
    scores, report = loaders.load_with_report(made(tmp_path, x=[*GOOD, row("c", 2, None)]))
    np.testing.assert_array_equal(scores.values, [[1, 0], [0, 1], [np.nan, np.nan]])
    assert report.models[2].mean is None
    assert "all items: 1 of 2 items were scored for all 3 models" in report.suspicious[0]
    assert report.suspicious[-1] == "1 model scored on less than 95% of the items: 'c'"
    with pytest.raises(FormatError, match="1 item without a single score"):
        loaders.load(made(tmp_path / "none", x=[row("c", 2, None)]))


def test_trials_are_averaged_and_unscored_ones_left_out(tmp_path):
    trials = [row("a", 1, s, t=str(t), p=0.5) for t, s in enumerate([1, 0, 1, None])]
    scores = loaders.load(made(tmp_path, x=[*trials, row("a", 2, None, t="0")]))
    np.testing.assert_allclose(scores.values, [[2 / 3, np.nan]])
    assert scores.probabilities[0, 0] == 0.5
    with pytest.raises(FormatError, match=r"line 6 is one more record of trial 1 of item '1'"):
        loaders.load(made(tmp_path, x=[*trials, row("a", 2, 1), row("a", 1, 1, t="1")]))


def test_an_item_is_in_one_subtask(tmp_path):
    made(tmp_path, x=[row("a", 1, 1, u="law")], y=[row("b", 1, 1, u="art")])
    expected = r"the item '1' is in the subtask 'law' for some models and in 'art' for 'b' \(y.toy"
    with pytest.raises(FormatError, match=expected):
        loaders.load(tmp_path)


def test_content_hashes_are_kept_where_they_do_not_differ(tmp_path):
    rows = [row(m, i, 1, h=f"h{i}") for m in "ab" for i in (1, 2)]
    scores, report = loaders.load_with_report(made(tmp_path, x=rows))
    assert scores.item_info["content_hash"].tolist() == ["h1", "h2"]
    scores, report = loaders.load_with_report(made(tmp_path, x=rows, y=[row("c", 2, 1, h="new")]))
    assert scores.item_info["content_hash"].tolist() == ["h1", ""]
    assert scores.item_info["content_differs"].tolist() == [False, True]
    assert "the content of 1 item differs between models ('2')" in " ".join(report.suspicious)


def test_the_overlap_is_said_with_that_under_the_other_key(tmp_path):
    rows = [row("a", 1, 1, h="x"), row("a", 2, 1, h="y"), row("b", 2, 1, h="x"), row("b", 3, 1)]
    report = loaders.load_with_report(made(tmp_path, x=rows))[1]
    expected = "1 of 3 items were scored for all 2 models by the key i; 1 of 2 would be by hash"
    assert expected in report.suspicious[0]


def test_what_must_be_the_same_is(tmp_path):
    made(tmp_path, x=GOOD[:2], y=GOOD[2:])
    with pytest.raises(SettingError, match=r"the label is 'x' in x.toy and 'y' in y.toy"):
        loaders.load(tmp_path, label="yes")
    report = loaders.load_with_report(tmp_path / "x.toy", label="yes")[1]
    assert report.used == {"label": {"x": [""]}}


def test_workers_give_the_same_matrix_and_say_how_far_they_are(tmp_path, monkeypatch):
    made(tmp_path, **{f"f{i}": [row(f"m{i}", j, (i + j) % 2) for j in range(9)] for i in range(5)})
    monkeypatch.setattr(_logs, "PARALLEL_ABOVE", 0)
    done = []
    one = loaders.load(tmp_path, progress=lambda *counts: done.append(counts))
    assert done == [(i, 5) for i in range(1, 6)]
    assert loaders.load(tmp_path, n_jobs=2).data_fingerprint == one.data_fingerprint


def test_a_bad_file_stops_all_workers_without_further_ado(tmp_path, monkeypatch):
    files = {f"f{i}": [row(f"m{i}", j, 1) for j in range(9)] for i in range(12)}
    made(tmp_path, **{**files, "f03": ["{"]})
    monkeypatch.setattr(_logs, "PARALLEL_ABOVE", 0)
    with pytest.raises(FormatError, match=r"f03.toy: line 1 is not valid JSON"):
        loaders.load(tmp_path, n_jobs=2)
    assert loaders.load_with_report(tmp_path, n_jobs=2, strict=False).report.n_errors == 1


def test_settings_are_checked(tmp_path):
    made(tmp_path, x=GOOD)
    assert loaders.load(tmp_path, name="quiz").name == "quiz"
    assert loaders.load(tmp_path, score_range=(0, 10)).score_range == (0, 10)
    with pytest.raises(FormatError, match="it has 2 models; 3 or more are needed here"):
        loaders.load(tmp_path, min_models=3)
    with pytest.raises(SettingError, match="min_models"):
        loaders.load(tmp_path, min_models=0)
    with pytest.raises(SettingError, match="format 'toy' has no option 'metric'"):
        loaders.load(tmp_path, metric="acc")
    with pytest.raises(FormatError, match="no scored record was found in it"):
        loaders.load(made(tmp_path / "empty", x=[]))


# The cache


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("MDAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_cache, "WORTH", 0)
    return made(tmp_path / "logs", x=GOOD)


def test_a_second_load_comes_from_the_cache(cached):
    first = loaders.load_with_report(cached)
    again = loaders.load_with_report(cached)
    assert (first.report.cached, again.report.cached) == (False, True)
    assert again.scores.data_fingerprint == first.scores.data_fingerprint
    assert msgspec.structs.replace(again.report, cached=False) == first.report
    assert not loaders.load_with_report(cached, cache=False).report.cached
    assert not loaders.load_with_report(cached, name="other").report.cached
    write_lines(cached / "x.toy", [*GOOD, row("c", 2, 1)])
    changed = loaders.load_with_report(cached)
    assert (changed.report.cached, changed.scores.n_models) == (False, 3)


def test_a_damaged_entry_is_read_anew(cached):
    loaders.load(cached)
    (entry,) = [path for path in _cache.cache_folder().iterdir() if path.is_dir()]
    values = entry / "values.npy"
    data = bytearray(values.read_bytes())
    data[-1] ^= 1
    values.write_bytes(data)
    assert not loaders.load_with_report(cached).report.cached
    entry.with_suffix(".json").write_text("{")
    assert not loaders.load_with_report(cached).report.cached


def test_old_entries_are_removed_and_a_cache_that_cannot_be_written_is_no_error(
    cached, monkeypatch, tmp_path
):
    monkeypatch.setattr(_cache, "KEEP", 2)
    for name in "abc":
        loaders.load(cached, name=name)
    assert len([path for path in _cache.cache_folder().iterdir() if path.is_dir()]) == 2
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MDAD_CACHE_DIR", str(tmp_path / "file"))
    assert loaders.load(cached).n_models == 2


def test_the_folder_of_the_cache_follows_the_platform(monkeypatch):
    monkeypatch.setenv("MDAD_CACHE_DIR", "/one")
    assert _cache.cache_folder().as_posix() == "/one/loads"
    monkeypatch.delenv("MDAD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/two")
    assert _cache.cache_folder().as_posix() == "/two/mdad/loads"
    monkeypatch.delenv("XDG_CACHE_HOME")
    for platform, end in (
        ("linux", ".cache/mdad/loads"),
        ("darwin", "Library/Caches/mdad/loads"),
        ("win32", "mdad/Cache/loads"),
    ):
        monkeypatch.setattr(_cache.sys, "platform", platform)
        assert _cache.cache_folder().as_posix().endswith(end)


# Which format


def test_logs_of_two_formats_in_one_folder_need_a_choice(tmp_path):
    made(tmp_path, x=GOOD)
    lm_run(tmp_path, "org/a", [lm_record(0)])
    with pytest.raises(FormatError, match=r"logs of 2 formats in this folder: 'lm-eval', 'toy'"):
        loaders.load(tmp_path)
    assert loaders.load(tmp_path, format="toy").n_models == 2
    report = loaders.load_with_report(tmp_path, format="lm-eval")[1]
    assert (report.n_files, report.n_ignored) == (2, 1)


class Point:
    """An entry point of another package."""

    def __init__(self, name, found):
        self.name, self.value, self._found = name, f"other:{name}", found

    def load(self):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def test_other_packages_add_formats_by_entry_point(tmp_path, monkeypatch):
    made(tmp_path, x=GOOD)
    monkeypatch.delitem(loaders.LOADERS, "toy")
    points = [Point("toy", TOY)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: points)
    assert loaders.load(tmp_path).models == ("a", "b")
    assert loaders.load_with_report(tmp_path, format="toy").report.format == "toy"
    for found, expected in (
        (ImportError("no such thing"), "cannot be loaded"),
        (3, "must be a mdad.loaders.Loader"),
        (loaders.LOADERS["table"], "with a name of its own"),
    ):
        points[:] = [Point("bad", found)]
        with pytest.raises(SettingError, match=expected):
            loaders.load(tmp_path)


# Hostile files


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    made(tmp_path / "logs", x=GOOD)
    made(tmp_path / "secret", y=[row("spy", 2, 1), row("spy", 10, 1)])
    (tmp_path / "logs" / "y.toy").symlink_to(tmp_path / "secret" / "y.toy")
    (tmp_path / "logs" / "z").symlink_to(tmp_path / "secret")
    (tmp_path / "logs" / ".hidden.toy").write_text("{")
    os.mkfifo(tmp_path / "logs" / "pipe.toy")
    scores, report = loaders.load_with_report(tmp_path / "logs")
    assert scores.models == ("a", "b")
    assert [text for text in report.dropped if "not followed" in text] == [
        "link that leaves the folder, not followed: y.toy",
        "link that leaves the folder, not followed: z",
    ]


def test_trees_are_bounded(tmp_path, monkeypatch):
    deep = tmp_path.joinpath(*"abcdefghijklmnopqr")
    deep.mkdir(parents=True)
    with pytest.raises(FormatError, match="more than 16 deep"):
        tree_of(tmp_path)
    monkeypatch.setattr(_log_files, "MAX_FILES", 2)
    with pytest.raises(FormatError, match="more than 2 files"):
        tree_of(made(tmp_path / "many", x=[], y=[], z=[]))


def test_nan_and_surrogates_pass_where_nobody_asked_for_them(tmp_path):
    rows = ['{"m": "a", "i": 1, "s": 1, "x": NaN, "y": ["\\ud800", -Infinity]}', GOOD[2]]
    assert loaders.load(made(tmp_path, x=rows)).values.tolist() == [[1, 1]]


def test_a_line_of_ten_megabytes_is_read_and_one_without_end_is_not(tmp_path, monkeypatch):
    long = json.dumps({**row("a", 1, 1), "x": "y" * 10_000_000})
    assert loaders.load(made(tmp_path, x=[long, GOOD[2]])).values.tolist() == [[1, 1]]
    monkeypatch.setattr(_log_files, "MAX_LINE", 1 << 20)
    with pytest.raises(FormatError, match=r"line 1 is longer than 1,048,576 bytes"):
        loaders.load(tmp_path, cache=False)


def test_a_byte_order_mark_gzip_and_a_missing_last_newline_pass(tmp_path):
    import gzip  # noqa: PLC0415

    text = "".join(json.dumps(r) + "\n" for r in GOOD)[:-1]
    (tmp_path / "x.toy.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.encode()))
    assert loaders.load(tmp_path).models == ("a", "b")
    (tmp_path / "x.toy.gz").write_bytes(gzip.compress(text.encode())[:-9])
    with pytest.raises(FormatError, match="truncated or damaged"):
        loaders.load(tmp_path)


def bomb(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return path


def test_archives_are_bounded(tmp_path, monkeypatch):
    source = Source("a.eval")
    monkeypatch.setattr(_log_zip, "FREE_BYTES", 1000)
    path = bomb(tmp_path / "a.eval", ("x", b"0" * 10_000_000), ("../../y", b"1"))
    with archive(path, source) as members:
        assert members.read("../../y") == b"1"  # into memory, whatever its name
        with pytest.raises(FormatError, match="inflates to more than"):
            members.read("x")
        with pytest.raises(FormatError, match="no member 'z'"):
            members.read("z")
    assert not (tmp_path.parent.parent / "y").exists()
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)
    with archive(path, source) as members, pytest.raises(FormatError):
        members.read("x")
    path.write_bytes(data[:-30])
    with pytest.raises(FormatError, match="no readable zip archive"), archive(path, source):
        pass
    with pytest.raises(FormatError, match="cannot be read"), archive(tmp_path / "none", source):
        pass


def test_an_archive_with_a_member_twice_is_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = bomb(tmp_path / "a.eval", ("summaries.json", b"[]"), ("summaries.json", b"[1]"))
    with pytest.raises(FormatError, match="more than once"), archive(path, Source("a.eval")):
        pass
    with pytest.raises(MdadError):
        loaders.load(path)


def test_documents_are_bounded(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("[" * 10**5 + "]" * 10**5)
    decoder = msgspec.json.Decoder()
    with pytest.raises(FormatError, match="nested too deeply"):
        json_document(path, Source("a.json"), decoder)
    monkeypatch.setattr(_log_files, "MAX_DOCUMENT", 10)
    with pytest.raises(FormatError, match="more than 10 bytes"):
        json_document(path, Source("a.json"), decoder)


def test_a_first_record_longer_than_the_head_gives_its_names(tmp_path):
    record = {"doc_id": 1, 'a "b"': {"inner": "}"}, "text": "x" * 100_000, "late": 1}
    path = write_lines(tmp_path / "x.jsonl", [record])
    assert tree_of(path).first_record(path) == {"doc_id": None, 'a \\"b\\"': None, "text": None}


def test_no_network_and_no_pickle(tmp_path, monkeypatch):
    monkeypatch.setattr("socket.socket", None)
    monkeypatch.setattr("pickle.loads", None)
    monkeypatch.setattr("pickle.load", None)
    inspect_eval(tmp_path / "a.eval", [inspect_sample(1)])
    assert loaders.load(tmp_path).n_items == 1
