"""Logs of Inspect AI: genuine files by hand, and everything that goes wrong in them.

Numbers in names of tests are those of the list of user cases the project works from.
"""

import json
import math
import struct
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_logs import (
    inspect_eval,
    inspect_header,
    inspect_json,
    inspect_sample,
)
from mdad import loaders
from mdad.errors import FormatError, MdadError, SettingError
from mdad.loaders import inspect_ai
from mdad.loaders._inspect_content import CUT, content_hash
from mdad.loaders.inspect_ai import to_number

POPULARITY = "2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval"
UNSCORED = "2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval"


# Genuine files: models, items, values in their order, what else the report must say


@pytest.mark.parametrize(
    ("name", "model", "items", "values"),
    [
        (
            POPULARITY,
            "openai/gpt-4o-mini",
            [f"popularity/{i}" for i in range(1, 11)],
            [1, 1, 0, 1, 1, 1, 0, 1, 1, 1],
        ),
        ("log_formats.eval", "ollama/llama3.1", ["popularity/1"], [0]),
        ("log_formats.json", "ollama/llama3.1", ["popularity/1"], [0]),
        ("mmlu-summary-choices.eval", "openai/gpt-4o", ["inspect_evals/mmlu_0_shot/1"], [0]),
        ("mmlu-no-summary-choices.eval", "openai/gpt-4o", ["inspect_evals/mmlu_0_shot/1"], [0]),
        (
            "2024-11-05T13-32-37-05-00_input-task_hxs4q9azL3ySGkjJirypKZ.eval",
            "openai/gpt-4o-mini",
            ["input_task/1"],
            [1],
        ),
        (
            "2025-05-12T20-28-13-04-00_popularity.json",
            "openai/gpt-4o-mini",
            ["popularity/1", "popularity/2", "popularity/3"],
            [1, 1, 0],
        ),
        (
            "data_arc_qwen.json",
            "ollama/qwen2.5:0.5b",
            [f"inspect_evals/arc_easy/{i}" for i in (1, 2, 3)],
            [1, 0, 0],
        ),
        (
            "data_arc_sonnet.json",
            "anthropic/claude-sonnet-4-0",
            [f"inspect_evals/arc_easy/{i}" for i in range(1, 6)],
            [1, 1, 1, 1, 1],
        ),
        (
            "data_pubmedqa_gpt4o_mini.json",
            "openai/azure/gpt-4o-mini",
            ["inspect_evals/pubmedqa/12377809", "inspect_evals/pubmedqa/26163474"],
            [1, 1],
        ),
        (
            "data_cyse2_vuln_exploit_challenges.json",
            "mistral/mistral-large-latest",
            ["inspect_evals/cyse2_vulnerability_exploit/1"],
            [0.65],
        ),
        (
            "data_intercode_ctf_local_path.json",
            "mistral/mistral-small-latest",
            ["inspect_evals/gdm_intercode_ctf/0"],
            [0],
        ),
    ],
)
def test_genuine_logs(name, model, items, values, shared_formats):
    scores, report = loaders.load_with_report(shared_formats / "inspect" / name)
    assert report.format == "inspect"
    assert scores.models == (model,)
    assert list(scores.items) == items
    assert scores.values.tolist() == [values]
    assert scores.probabilities is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (UNSCORED, r"10 items without a single score: sample without a score.* \(10\)"),
        ("data_cvebench_empty_choices.json", "sample ended with an error: not scored"),
        ("2025-05-12T20-28-13-04-00_no-samples.json", "the log has no samples"),
        ("data_with_llm_scoring.json", "the log has no samples"),
    ],
)
def test_genuine_logs_without_scores_are_refused(name, expected, shared_formats):
    with pytest.raises(FormatError, match=expected):
        loaders.load(shared_formats / "inspect" / name)


def test_two_genuine_models_on_shared_items(shared_formats, tmp_path):
    for name in ("data_arc_qwen.json", "data_arc_sonnet.json"):
        (tmp_path / name).write_bytes((shared_formats / "inspect" / name).read_bytes())
    scores = loaders.load(tmp_path)
    assert scores.models == ("anthropic/claude-sonnet-4-0", "ollama/qwen2.5:0.5b")
    np.testing.assert_array_equal(scores.values, [[1, 1, 1, 1, 1], [1, 0, 0, np.nan, np.nan]])
    one = shared_formats / "inspect" / "log_formats.json"
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(one.read_bytes())
    with pytest.raises(
        FormatError, match=r"2 files hold the same run \(ollama/llama3.1 / popularity\)"
    ):
        loaders.load(tmp_path)


def test_both_forms_of_a_genuine_log_have_the_same_contents(shared_formats):
    folder = shared_formats / "inspect"
    forms = [loaders.load(folder / f"log_formats.{form}") for form in ("eval", "json")]
    hashes = [scores.item_info["content_hash"] for scores in forms]
    assert hashes[0].ne("").all()
    assert hashes[0].equals(hashes[1])
    assert loaders.load(folder / "mmlu-no-summary-choices.eval").item_info is None
    assert loaders.load(folder / "mmlu-summary-choices.eval").item_info is not None


def test_a_log_whose_accuracy_is_another_says_so(shared_formats):
    path = shared_formats / "inspect" / "data_intercode_ctf_local_path.json"
    (text,) = loaders.load_with_report(path)[1].chosen
    assert "the mean here is 0.0000, the log reports an accuracy of 0.3544" in text
    assert loaders.load_with_report(shared_formats / "inspect" / POPULARITY)[1].chosen == ()


# The cases


@pytest.mark.parametrize("write", [inspect_eval, inspect_json])
def test_both_forms_of_a_log_say_the_same(write, tmp_path):
    samples = [inspect_sample("q10", "I"), inspect_sample("q2", "C"), inspect_sample(3, "P")]
    write(tmp_path / f"a{'.eval' if write is inspect_eval else '.json'}", samples)
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.items == ("quiz/3", "quiz/q2", "quiz/q10")
    assert scores.subtasks == ("quiz",) * 3
    assert scores.values.tolist() == [[0.5, 1, 0]]
    assert report.used == {"scorer": {"match": ["quiz"]}}


def test_5_ids_1_and_one_collide(tmp_path):
    inspect_eval(tmp_path / "a.eval", [inspect_sample(1, "C"), inspect_sample("1", "I")])
    with pytest.raises(SettingError, match=r"sample 2 is one more record .* \(scores 1 and 0\)"):
        loaders.load(tmp_path)
    inspect_eval(tmp_path / "a.eval", [inspect_sample(1, "C"), inspect_sample("1", "C")])
    with pytest.raises(FormatError, match=r"sample 2 is one more record .* \(the same score\)"):
        loaders.load(tmp_path)


def test_10_numbers_out_of_range(tmp_path):
    for value, expected in ((1.2, "1.2"), (85, "85"), (float("inf"), r"1e\+308")):
        inspect_json(tmp_path / "a.json", [inspect_sample(1, value)])
        with pytest.raises(FormatError, match=f"sample 1 has the score {expected}"):
            loaders.load(tmp_path)
    inspect_json(tmp_path / "a.json", [inspect_sample(1, 85), inspect_sample(2, float("nan"))])
    found = loaders.load(tmp_path, score_range=(0, 100))
    np.testing.assert_array_equal(found.values, [[85, np.nan]])


def test_11_errors_are_missing_unless_they_shall_be_wrong(tmp_path):
    samples = [inspect_sample(i, "C" if i < 9 else "I") for i in range(10)]
    failed = [inspect_sample(i, ..., error="timeout") for i in range(10, 13)]
    inspect_eval(tmp_path / "a.eval", [*samples, *failed])
    inspect_eval(tmp_path / "b.eval", [inspect_sample(i) for i in range(13)], eval={"model": "m/b"})
    scores, report = loaders.load_with_report(tmp_path)
    assert np.isnan(scores.values[0, 10:]).all()
    assert [(m.n_items, m.mean) for m in report.models] == [(10, 0.9), (13, 1)]
    assert report.models[0].coverage == pytest.approx(10 / 13)
    assert report.dropped == ("sample ended with an error: not scored (3)",)
    scores, report = loaders.load_with_report(tmp_path, errors="wrong")
    assert scores.values[0, 10:].tolist() == [0, 0, 0]
    assert report.dropped == ("sample ended with an error: wrong (3)",)
    with pytest.raises(SettingError, match="errors"):
        loaders.load(tmp_path, errors="ignore")


def test_11_samples_that_were_never_logged_do_not_vanish(tmp_path):
    asked = {"dataset": {"sample_ids": [1, 2, "3"]}}
    inspect_eval(tmp_path / "a.eval", [inspect_sample(2)], eval=asked, status="cancelled")
    scores, report = loaders.load_with_report(tmp_path)
    np.testing.assert_array_equal(scores.values, [[np.nan, 1, np.nan]])
    assert report.dropped == ("quiz: sample of the run that is not in its log: not scored (2)",)
    assert report.suspicious[0] == "runs that did not end well: 'a.eval (cancelled)'"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("C", 1), ("P", 0.5), ("I", 0), ("N", 0), ("yes", 1), ("No", 0), ("TRUE", 1),
        ("false", 0), ("0.7", 0.7), (True, 1), (0, 0), (0.25, 0.25),
    ],
)  # fmt: skip
def test_12_values_that_are_known(value, expected):
    assert to_number(value, "match") == expected


@pytest.mark.parametrize("value", ["maybe", "", "c", "nan", "inf", "1e999x", [1], {"x": 1}, "Cc"])
def test_12_values_that_are_not_known_are_errors_and_never_zero(value, tmp_path):
    assert isinstance(to_number(value, "match"), str)
    if not isinstance(value, dict):
        inspect_eval(tmp_path / "a.eval", [inspect_sample(1), inspect_sample(2, value)])
        with pytest.raises(FormatError, match=r"sample 2 has the value .* of scorer 'match'"):
            loaders.load(tmp_path)
        scores, report = loaders.load_with_report(tmp_path, strict=False)
        assert (scores.n_items, report.n_errors) == (1, 1)


def test_12_null_is_not_scored():
    assert math.isnan(to_number(None, "match"))


def test_12_a_table_of_values_needs_a_choice(tmp_path):
    samples = [inspect_sample(1, {"x": 1, "y": "I"}), inspect_sample(2, {"x": 0})]
    inspect_eval(tmp_path / "a.eval", samples)
    with pytest.raises(SettingError, match=r"2 values and none was chosen: 'x', 'y'.*--metric x"):
        loaders.load(tmp_path)
    assert loaders.load(tmp_path, metric="x").values.tolist() == [[1, 0]]
    with pytest.raises(FormatError, match="sample 2 has no value 'y' for the scorer 'match'"):
        loaders.load(tmp_path, metric="y")


def test_12_epochs_are_averaged(tmp_path):
    samples = [inspect_sample(1, value, i) for i, value in enumerate("CIC", 1)]
    inspect_eval(tmp_path / "a.eval", [*samples, inspect_sample(2, "I", 1)])
    scores = loaders.load(tmp_path)
    np.testing.assert_allclose(scores.values, [[2 / 3, 0]])
    assert scores.kind == "graded"
    inspect_eval(tmp_path / "a.eval", [*samples, inspect_sample(1, "C", 3)])
    with pytest.raises(FormatError, match="record of trial 3 of item 'quiz/1'"):
        loaders.load(tmp_path)


def test_several_scorers_need_a_choice(tmp_path):
    both = {"match": {"value": "C"}, "judge": {"value": 0.5}}
    inspect_eval(tmp_path / "a.eval", [inspect_sample(1, scores=both), inspect_sample(2, "I")])
    with pytest.raises(SettingError, match=r"2 scorers and none was chosen: 'judge', 'match'"):
        loaders.load(tmp_path)
    assert loaders.load(tmp_path, scorer="match").values.tolist() == [[1, 0]]
    found = loaders.load(tmp_path, scorer="judge")
    np.testing.assert_array_equal(found.values, [[0.5, np.nan]])
    with pytest.raises(SettingError, match="there is no scorer 'judges'; found: 'judge', 'match'"):
        loaders.load(tmp_path, scorer="judges")
    inspect_eval(tmp_path / "b.eval", [inspect_sample(1, scorer="exact")], eval={"model": "m/b"})
    with pytest.raises(SettingError, match="no scorer 'match'; found: 'exact'"):
        loaders.load(tmp_path, scorer="match")


def test_re_runs_and_other_arguments(tmp_path):
    inspect_eval(tmp_path / "a.eval", [inspect_sample(1, "I")])
    inspect_eval(tmp_path / "b.eval", [inspect_sample(1, "C")], created="2026-02-01T00:00:00+00:00")
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.values.tolist() == [[1]]
    assert report.chosen == ("m/a / quiz: the newest of 2 runs, b.eval; not a.eval",)
    inspect_eval(tmp_path / "b.eval", [inspect_sample(1, "C")], eval={"task_args": {"n": 5}})
    with pytest.raises(FormatError, match=r"1 item of model 'm/a' in more than one file"):
        loaders.load(tmp_path)
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.eval").rename(tmp_path / name / "x.eval")
    assert loaders.load(tmp_path, model_names="folder").models == ("a", "b")
    assert loaders.load(tmp_path / "a" / "x.eval", model_names="folder").models == ("a",)


def test_invalidated_logs_are_left_out(tmp_path):
    inspect_eval(tmp_path / "a.eval", [inspect_sample(1)])
    inspect_eval(tmp_path / "b.eval", [inspect_sample(1)], eval={"model": "m/b"}, invalidated=True)
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.models == ("m/a",)
    assert report.dropped == ("b.eval: the log is marked as invalidated",)


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "/") + ".json", json.dumps(content))
    return path


def test_runs_that_were_cut_off_have_their_journal(tmp_path):
    start = inspect_header()
    del start["status"]
    parts = {
        "_journal__summaries__2": [inspect_sample(2, "I")],
        "_journal__summaries__10": [inspect_sample(10, "C")],
    }
    path = archive(tmp_path / "a.eval", _journal__start=start, **parts)
    scores, report = loaders.load_with_report(path)
    assert scores.items == ("quiz/2", "quiz/10")
    assert scores.values.tolist() == [[0, 1]]
    assert report.suspicious[0] == "runs that did not end well: 'a.eval (started)'"


def test_archives_without_summaries_have_their_samples(tmp_path):
    samples = {f"samples__{i}_epoch_1": inspect_sample(i, "CI"[i % 2]) for i in range(3)}
    path = archive(tmp_path / "a.eval", header=inspect_header(), **samples)
    assert loaders.load(path).values.tolist() == [[1, 0, 1]]


def packed_anew(path):
    """The same archive packed with Zstandard, as Inspect writes it now, by hand."""
    with zipfile.ZipFile(path) as old:
        members = {info.filename: (old.read(info), info.CRC) for info in old.infolist()}
    body, central = b"", b""
    for name, (data, crc) in members.items():
        packed = pa.compress(data, codec="zstd", asbytes=True)
        fields = struct.pack(
            "<HHHHHIIIHH", 20, 0, 93, 0, 33, crc, len(packed), len(data), len(name), 0
        )
        place = struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        central += b"PK\x01\x02\x14\x00" + fields + place + name.encode()
        body += b"PK\x03\x04" + fields + name.encode() + packed
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(central), len(body), 0)
    path.write_bytes(body + central + b"PK\x05\x06" + end)


def test_archives_packed_with_zstandard(tmp_path):
    path = inspect_eval(tmp_path / "a.eval", [inspect_sample(i, "CI"[i % 2]) for i in range(3)])
    packed_anew(path)
    assert loaders.load(path).values.tolist() == [[1, 0, 1]]
    data = path.read_bytes()
    for place in range(data.index(b"summaries.json") + 14, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :])
        only_our_errors(path, format="inspect")
    path.write_bytes(data)
    with zipfile.ZipFile(path) as file:
        crc = file.getinfo("summaries.json").CRC
    path.write_bytes(data.replace(struct.pack("<I", crc), b"\0\0\0\0"))
    with pytest.raises(
        FormatError, match=r"'summaries.json' cannot be read \(its checksum is wrong"
    ):
        loaders.load(path)


def test_25_a_large_log_is_read_from_its_summaries_without_inspect(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    samples = [inspect_sample(i, "CI"[i % 2]) for i in range(10_000)]
    inspect_eval(tmp_path / "a.eval", samples)  # its samples/ but one are not even JSON
    read = []
    monkeypatch.setattr(
        inspect_ai.Archive,
        "read",
        lambda self, name, old=inspect_ai.Archive.read: (read.append(name), old(self, name))[1],
    )
    scores = loaders.load(tmp_path, cache=False)
    assert (scores.n_items, scores.values.sum()) == (10_000, 5_000)
    assert set(read) == {"header.json", "summaries.json", "samples/1_epoch_1.json"}


QUESTION = {"input": "Which one?", "choices": ["cat", "dog", "eel"], "target": "B"}


@pytest.mark.parametrize(
    ("fields", "same"),
    [
        ({}, True),
        ({"choices": ["dog", "eel", "cat"], "target": "A"}, True),  # shuffled, target moved along
        ({"choices": ["dog", "eel", "cat"]}, False),  # shuffled, target left behind
        ({"choices": ["cat", "dog", "elk"]}, False),
        ({"target": "C"}, False),
        ({"target": ["B"]}, True),
        ({"target": "D"}, False),  # no choice of that letter: the text itself
        ({"input": "Which two?"}, False),
        ({"choices": None}, False),
    ],
)
def test_a_sample_is_known_by_what_it_says(fields, same, tmp_path):
    inspect_json(tmp_path / "a.json", [inspect_sample(1, **QUESTION)])
    changed = [inspect_sample(1, **{**QUESTION, **fields})]
    inspect_json(tmp_path / "b.json", changed, eval={"model": "m/b"})
    scores, report = loaders.load_with_report(tmp_path)
    assert (scores.item_info["content_hash"].iloc[0] != "") is same
    assert any("the content of 1 item differs" in text for text in report.suspicious) is not same


def test_the_hash_is_that_of_inputs_of_any_form():
    long = "x" * CUT
    assert content_hash(long + "y", None, "") == content_hash(long + "...\n(content cut)", [], "")
    user = {"role": "user", "id": "random", "content": "Hello"}
    parts = [{"type": "text", "text": "Hello"}]
    expected = content_hash([user], None, "a")
    assert expected == content_hash([{**user, "id": "other", "content": parts}], None, "a")
    assert expected != content_hash([{**user, "role": "system"}], None, "a")
    # What is no text is a placeholder in the summaries.
    image = {**user, "content": [{"type": "image", "image": "data:..."}]}
    shown = {**user, "content": [{"type": "text", "text": "(Image)"}]}
    assert content_hash([image], None, "a") == content_hash([shown], None, "a")
    for odd in (None, 3, [None], [3], [{"content": None}], {"a": 1}):
        assert len(content_hash(odd, odd if isinstance(odd, list) else None, odd)) == 32


def test_summaries_without_choices_have_no_hash(tmp_path):
    log = inspect_eval(tmp_path / "a.eval", [inspect_sample(1)])
    assert loaders.load(log).item_info["content_hash"].iloc[0]
    archive(log, header=inspect_header(), summaries=[inspect_sample(1)],
            samples__1_epoch_1=QUESTION)  # fmt: skip
    scores, report = loaders.load_with_report(log)
    assert scores.item_info is None
    assert "summaries lack the choices" in " ".join(report.chosen)
    archive(log, header=inspect_header(), summaries=[inspect_sample(1)], samples__1_epoch_1=[])
    assert loaders.load(log).item_info is None
    archive(log, header=inspect_header(), summaries=[inspect_sample(1, choices=["a"])],
            samples__1_epoch_1=[])  # fmt: skip
    assert loaders.load(log).item_info is not None


def test_other_files_are_no_logs_of_inspect(tmp_path):
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04 but no archive")
    with pytest.raises(FormatError, match="no readable zip archive"):
        loaders.load(tmp_path)
    archive(tmp_path / "a.eval", other=[])
    with pytest.raises(FormatError, match=r"no member '_journal/start.json'"):
        loaders.load(tmp_path)
    (tmp_path / "a.eval").unlink()
    (tmp_path / "b.json").write_text('{"eval": 3, "status": 1}')
    with pytest.raises(FormatError, match="no known format was found"):
        loaders.load(tmp_path)


# Anything at all

FUZZ = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", "match", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
SAMPLE_FIELDS = st.sampled_from(["id", "epoch", "scores", "error"])
HEADER_FIELDS = st.sampled_from(["eval", "status", "results", "invalidated", "samples"])
SPEC_FIELDS = st.sampled_from(["task", "model", "created", "task_args", "dataset", "config"])


def only_our_errors(path, **options):
    try:
        loaders.load(path, cache=False, **options)
    except MdadError as error:
        assert str(error)  # noqa: PT017  # an error is not expected, only allowed


@FUZZ
@given(
    sample=st.dictionaries(SAMPLE_FIELDS, ANYTHING, max_size=2),
    spec=st.dictionaries(SPEC_FIELDS, ANYTHING, max_size=2),
    header=st.dictionaries(HEADER_FIELDS, ANYTHING, max_size=1),
    strict=st.booleans(),
)
def test_any_value_in_any_field(sample, spec, header, strict, tmp_path):
    samples = [inspect_sample(1), {**inspect_sample(2), **sample}]
    document = {**inspect_header(eval=spec), "samples": samples, **header}
    (tmp_path / "a.json").write_text(json.dumps(document))
    only_our_errors(tmp_path, strict=strict)
    archive(tmp_path / "a.eval", header={**inspect_header(eval=spec), **header}, summaries=samples)
    only_our_errors(tmp_path / "a.eval", strict=strict)


@FUZZ
@given(contents=st.binary(max_size=100), start=st.integers(0, 900), strict=st.booleans())
def test_any_bytes_in_a_file(contents, start, strict, tmp_path):
    for path in (
        inspect_eval(tmp_path / "a.eval", [inspect_sample(1)]),
        inspect_json(tmp_path / "b.json", [inspect_sample(1)]),
    ):
        whole = path.read_bytes()
        path.write_bytes(whole[:start] + contents + whole[start + len(contents) // 2 :])
        only_our_errors(path, format="inspect", strict=strict)
