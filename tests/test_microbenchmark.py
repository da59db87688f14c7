"""The micro-benchmark as a file, selection, and export."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mdad
from mdad import datasets
from mdad.errors import FormatError, MdadError, MethodError, SettingError, UnknownIdError
from mdad.exporters import EXPORTERS, export
from mdad.microbenchmark import Benchmark, Made, Microbenchmark, json_schema
from mdad.scores import ScoreMatrix
from mdad.selecting import select, select_forms

SCHEMA = Path(__file__).resolve().parents[1] / "docs" / "microbenchmark.schema.json"
IDS = [f"task/{i}" for i in range(60)]
LABELS = ["a"] * 10 + ["b"] * 20 + ["c"] * 30


@pytest.fixture(scope="module")
def scores():
    return datasets.simulate(n_models=20, n_items=90, subtasks=3, seed=4)


def test_saved_and_loaded_it_is_the_same(scores, tmp_path):
    for micro in (
        select(scores, size=12, min_per_subtask=2, seed=3),
        select(scores, size=9, method="random-subtasks-equal", aggregate="macro"),
        select(items=IDS, size=5, name="näme <x>", score_range=(-33.3, 10)),
        select(datasets.load("digits-zoo"), size=7),
    ):
        path = micro.save(tmp_path / "micro.json")
        again = Microbenchmark.load(path)
        assert again == micro
        assert again.to_json() == micro.to_json()
        assert again.fingerprint == micro.fingerprint
        if micro.weights is not None:
            assert sum(again.weights) == pytest.approx(1, abs=1e-12)


def test_the_published_schema_is_that_of_the_code():
    assert json.loads(SCHEMA.read_text()) == json.loads(json.dumps(json_schema()))


def test_what_is_in_the_file(scores):
    micro = select(scores, size=10, seed=5)
    document = json.loads(micro.to_json())
    assert document["format"] == "mdad-microbenchmark"
    assert document["benchmark"]["items_fingerprint"] == scores.items_fingerprint
    assert document["made"]["source_models"] == sorted(scores.models)
    full = scores.full_scores()
    assert document["made"]["source_scores"] == [full.min(), full.max()]
    assert document["made"]["seed"] == 5
    hashed = select(datasets.load("digits-zoo"), size=3)
    info = datasets.load("digits-zoo").item_info
    assert list(hashed.content_hashes) == [info.loc[item, "content_hash"] for item in hashed.items]


def test_order_of_rows_and_columns_changes_nothing(scores):
    turned = scores.restrict(models=scores.models[::-1], items=scores.items[::-1])
    assert select(scores, size=10, seed=1) == select(turned, size=10, seed=1)


def test_ids_alone_choose_what_scores_choose():
    values = np.eye(20, 60)
    matrix = ScoreMatrix(values, range(20), IDS, LABELS)
    with_scores = select(matrix, size=12, seed=9, method="random")
    without = select(items=IDS, subtasks=LABELS, size=12, seed=9)
    assert with_scores.items == without.items
    assert with_scores.benchmark.items_fingerprint == without.benchmark.items_fingerprint
    assert without.made.source_models == ()


@given(st.integers(1, 5), st.integers(1, 12), st.integers(0, 99))
def test_forms_are_disjoint_and_the_first_is_the_single_one(forms, size, seed):
    made = select_forms(items=IDS, size=size, forms=forms, seed=seed)
    assert made[0].items == select(items=IDS, size=size, seed=seed).items
    for one, two in combinations(made, 2):
        assert not set(one.items) & set(two.items)
    assert [m.made.form_number for m in made] == list(range(1, forms + 1))


def test_minimum_per_subtask_and_exclusions():
    exclude = IDS[:3]
    micro = select(items=IDS, subtasks=LABELS, size=12, min_per_subtask=3, exclude=exclude, seed=2)
    assert not set(micro.items) & set(exclude)
    assert micro.benchmark.n_items == 57
    assert micro.benchmark.n_excluded == 3
    counts = {label: micro.subtasks.count(label) for label in "abc"}
    assert min(counts.values()) >= 3
    # Items weigh their subtask's share: 7, 20 and 30 of the 57 items left.
    for label, items in (("a", 7), ("b", 20), ("c", 30)):
        share = sum(w for w, s in zip(micro.weights, micro.subtasks, strict=True) if s == label)
        assert share == pytest.approx(items / 57)


def test_minimum_per_subtask_is_unbiased():
    values = np.array([1.0] * 10 + [0.0] * 20 + [1.0, 0.0, 0.0] * 10)
    estimates = []
    for seed in range(3000):
        micro = select(items=IDS, subtasks=LABELS, size=9, min_per_subtask=1, seed=seed)
        row = np.array([values[IDS.index(item)] for item in micro.items])
        estimates.append(row.mean() if micro.weights is None else row @ np.array(micro.weights))
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - values.mean()) < 4 * error


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"size": 61}, SettingError, "60 can be chosen"),
        ({"size": 0}, SettingError, "size"),
        ({"forms": 7, "size": 9}, SettingError, "63 items"),
        ({"exclude": ["nope"]}, UnknownIdError, "nope"),
        ({"exclude": IDS}, SettingError, "every item is excluded"),
        ({"min_per_subtask": 5}, SettingError, "only 10 are asked for"),
        ({"min_per_subtask": 1, "method": "random-subtasks-equal"}, MethodError, "goes with"),
        ({"method": "randm"}, MethodError, "did you mean"),
        ({"method": "tinybenchmarks"}, MethodError, "learns from the scores"),
        ({"method": "c-optimal", "forms": 2}, MethodError, "learns from the scores"),
        ({"forced": ["item-001"]}, MethodError, "go with the methods 'c-optimal'"),
        ({"focus": "top"}, MethodError, "go with the methods 'c-optimal'"),
        ({"split": "sideways"}, SettingError, "split"),
        ({"aggregate": "macro", "subtasks": None}, SettingError, "needs subtasks"),
        ({"scores": "both"}, SettingError, "not both"),
    ],
)
def test_what_cannot_be_chosen(scores, changes, error, said):
    asked = {"items": IDS, "subtasks": LABELS, "size": 10, "forms": 1, **changes}
    if asked.get("scores") == "both":
        asked["scores"] = scores
    with pytest.raises(error, match=said):
        select_forms(**asked)


def test_subtasks_come_with_scores(scores):
    with pytest.raises(SettingError, match="come with the scores"):
        select(scores, size=5, subtasks=["x"] * 90)


def write(tmp_path, change):
    document = json.loads(select(items=IDS, size=4, name="b").to_json())
    change(document)
    path = tmp_path / "micro.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(format_version=3), "Update mdad"),
        (lambda d: d.update(format="other"), "not a micro-benchmark"),
        (lambda d: d.pop("items"), "not a micro-benchmark"),
        (lambda d: d.update(surprise=1), "surprise"),
        (lambda d: d.update(items=[]), "needs items"),
        (lambda d: d.update(items=["a", "a"]), "twice: 'a'"),
        (lambda d: d.update(items=["a", ""]), "each with an id"),
        (lambda d: d.update(weights=[0.5, 0.5]), "one entry per item"),
        (lambda d: d.update(weights=[0.5, 0.5, 0.5, 0.5]), "sum to 1"),
        (lambda d: d.update(weights=[1e400, 0, 0, 0]), "micro-benchmark"),
        (lambda d: d.update(subtasks=["a"]), "one entry per item"),
        (lambda d: d["benchmark"].update(n_items=3), "cannot be chosen from 3"),
        (lambda d: d["benchmark"].update(aggregate="mean"), "Invalid enum"),
        (lambda d: d["made"].update(seed="x"), "seed"),
    ],
)
def test_damaged_files_are_refused_in_one_paragraph(tmp_path, change, said):
    with pytest.raises(FormatError, match=said) as caught:
        Microbenchmark.load(write(tmp_path, change))
    assert "\n" not in str(caught.value)


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_refused(content):
    with pytest.raises(MdadError):
        Microbenchmark.from_json(content)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(FormatError, match="No such file"):
        Microbenchmark.load(tmp_path / "none.json")
    (tmp_path / "big.json").write_bytes(b" " * (10 * 2**20 + 1))
    with pytest.raises(FormatError, match="larger than 10 MB"):
        Microbenchmark.load(tmp_path / "big.json")
    micro = select(items=IDS, size=4)
    with pytest.raises(FormatError, match="cannot write"):
        micro.save(tmp_path / "no" / "micro.json")
    huge = Microbenchmark(
        tuple("x" * 2000 + str(i) for i in range(6000)), Benchmark("", 6000, "-"), Made("random", 0)
    )
    with pytest.raises(FormatError, match="at most 10 MB"):
        huge.save(tmp_path / "huge.json")
    assert [path.name for path in tmp_path.iterdir()] == ["big.json"]


def test_a_changed_benchmark_is_refused_with_both_fingerprints(scores):
    micro = select(scores, size=5)
    micro.check_benchmark(scores.items, scores.items_fingerprint)
    other = scores.restrict(items=scores.items[:-1])
    with pytest.raises(FormatError) as caught:
        micro.check_benchmark(other.items, other.items_fingerprint)
    assert scores.items_fingerprint in str(caught.value)
    assert other.items_fingerprint in str(caught.value)


def test_changed_content_of_a_chosen_item_is_refused():
    micro = select(datasets.load("digits-zoo"), size=5)
    hashes = dict(zip(micro.items, micro.content_hashes, strict=True))
    micro.check_hashes(hashes)
    micro.check_hashes({})
    with pytest.raises(FormatError, match=micro.items[2]):
        micro.check_hashes({**hashes, micro.items[2]: "changed"})


def test_export_forms_by_hand():
    micro = replace(
        select(items=IDS, subtasks=LABELS, size=3),
        items=("task/11", "task/2", "task/40"),
        subtasks=("b", "a", "c"),
        weights=(0.25, 0.5, 0.25),
    )
    assert micro.export("ids") == "task/11\ntask/2\ntask/40\n"
    assert micro.export("inspect") == "task/11,task/2,task/40\n"
    assert micro.export("csv").splitlines() == [
        "item_id,weight,subtask",
        "task/11,0.25,b",
        "task/2,0.5,a",
        "task/40,0.25,c",
    ]
    assert json.loads(micro.export("lm-eval")) == {"a": [2], "b": [11], "c": [40]}
    assert json.loads(micro.export("lm-eval", task="mine")) == {"mine": [2, 11, 40]}
    assert json.loads(micro.export("hf")) == [2, 11, 40]
    assert json.loads(micro.export("hf", order=IDS[::-1])) == [19, 48, 57]
    text = micro.export("lm-eval-task", task="mine-x")
    assert 'task: "mine-x_micro"' in text
    assert "process_docs: !function mine_x_micro.keep" in text
    assert '    2: "",\n    11: "",\n    40: "",\n' in text
    assert "cannot join the results" in text
    assert micro.fingerprint in text
    assert micro.export("inspect", task="task") == "11,2,40\n"


@pytest.mark.parametrize(
    ("items", "to", "options", "said"),
    [
        (("a", "b"), "hf", {}, "do not end in a position"),
        (("x/1", "y/1"), "hf", {}, "same number"),
        (("a", "b"), "hf", {"order": ["a"]}, "not in the ordered list"),
        (("a", "b"), "hf", {"order": ["a", "b", "a"]}, "names an item twice"),
        (("a1", "b2"), "lm-eval", {}, "do not end in a position"),
        (("a/1", "b/2"), "lm-eval", {}, "which task"),
        (("a/1", "b/2"), "hf", {"task": "t"}, "no effect"),
        (("a/1", "b/2"), "ids", {"task": "t"}, "no effect"),
        (("a/1", "b/2"), "inspect", {"order": ["a"]}, "no effect"),
        (("a,1", "b/2"), "inspect", {}, "a comma or line break"),
        (("a\n1", "b/2"), "ids", {}, "a line break"),
        (("a/1", "b/2"), "jsonl", {}, "unknown export form"),
    ],
)
def test_what_cannot_be_exported(items, to, options, said):
    micro = Microbenchmark(items, Benchmark("", 9, "-"), Made("random", 0))
    with pytest.raises(SettingError, match=said):
        export(micro, to, **options)


def test_task_files_hold_one_task_and_positions_of_one_data_set():
    micro = Microbenchmark(
        ("x/1", "y/1"), Benchmark("", 9, "-"), Made("random", 0), subtasks=("x", "y")
    )
    assert json.loads(micro.export("lm-eval")) == {"x": [1], "y": [1]}
    with pytest.raises(SettingError, match="one task"):
        micro.export("lm-eval-task")
    with pytest.raises(SettingError, match="same position in one task"):
        micro.export("lm-eval", task="both")


def test_every_export_form_has_help():
    assert all(exporter.help for exporter in EXPORTERS.values())


def test_public_names():
    assert mdad.select is select
    assert mdad.Microbenchmark is Microbenchmark
