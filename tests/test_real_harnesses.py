"""Logs made here by the harnesses themselves, offline: our numbers are theirs."""

import json
import math

import numpy as np
import pytest

from mdad import loaders
from mdad.errors import SettingError
from real_harness import needs, run

TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "{{{{q}}}}"
"""
CHOICE = (
    TASK
    + """
output_type: multiple_choice
doc_to_choice: "{{{{choices}}}}"
doc_to_target: {target}
metric_list: [{{metric: acc}}, {{metric: acc_norm}}]
"""
)
GENERATE = (
    TASK
    + """
output_type: generate_until
doc_to_target: "{{{{text}}}}"
generation_kwargs: {{until: ["."]}}
metric_list: [{{metric: exact_match, regexes_to_ignore: [","]}}]
filter_list:
  - {{name: whole, filter: [{{function: take_first}}]}}
  - {{name: first, filter: [{{function: regex, regex_pattern: "(l)"}}, {{function: take_first}}]}}
"""
)


@pytest.fixture(scope="module")
def lm_eval_runs(tmp_path_factory):
    """Three tasks run on a model that answers at random, the first twelve items once more."""
    needs("lm_eval")
    folder = tmp_path_factory.mktemp("lm_eval")
    data = folder / "data.jsonl"
    with data.open("w") as file:
        for i in range(30):
            choices = [f"a{i}", f"bb{i}", f"ccc{i}"][: 2 + i % 2]
            row = {"q": f"question {i}", "choices": choices, "gold": i % 2, "text": choices[i % 2]}
            row["text"] = "lol" if i % 5 == 0 else row["text"]
            row["right"] = choices[i % 2]
            file.write(json.dumps(row) + "\n")
    tasks = folder / "tasks"
    tasks.mkdir()
    for name, form, target in (
        ("by_place", CHOICE, "gold"),
        ("by_text", CHOICE, '"{{right}}"'),
        ("written", GENERATE, ""),
    ):
        (tasks / f"{name}.yaml").write_text(form.format(name=name, data=data, target=target))
    common = ["-m", "lm_eval", "--model", "dummy", "--include_path", tasks, "--log_samples"]
    names = ["--tasks", "by_place,by_text,written"]
    for run_name, extra in (("whole", []), ("limited", ["--limit", "12"])):
        run(*common, *names, *extra, "--output_path", folder / run_name, folder=folder)
    return folder


def log_of(folder, task):
    (path,) = folder.glob(f"*/samples_{task}_*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def results_of(folder):
    (path,) = folder.glob("*/results_*.json")
    return json.loads(path.read_text())["results"]


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
@pytest.mark.parametrize("task", ["by_place", "by_text"])
@pytest.mark.parametrize("run_name", ["whole", "limited"])
def test_multiple_choice_of_lm_evaluation_harness(run_name, task, metric, lm_eval_runs):
    folder = lm_eval_runs / run_name
    (path,) = folder.glob(f"*/samples_{task}_*.jsonl")
    scores = loaders.load(path, metric=metric, format="lm-eval")
    records = log_of(folder, task)
    assert scores.n_items == (30 if run_name == "whole" else 12) == len(records)
    for record in records:
        place = scores.item_position[f"{task}/{record['doc_id']}"]
        assert scores.values[0, place] == record[metric]
        lls = [float(value) for value, _ in record["filtered_resps"]]
        weights = [math.exp(value) for value in lls]
        gold = record["doc"]["gold"]
        expected = weights[gold] / sum(weights)
        assert scores.probabilities[0, place] == pytest.approx(expected, rel=1e-6)
        assert scores.item_info["content_hash"].iloc[place] == record["doc_hash"]
    reported = results_of(folder)[task][f"{metric},none"]
    assert scores.full_scores()[0] == pytest.approx(reported, abs=1e-12)


@pytest.mark.parametrize("name", ["whole", "first"])
def test_filters_of_lm_evaluation_harness(name, lm_eval_runs):
    folder = lm_eval_runs / "whole"
    (path,) = folder.glob("*/samples_written_*.jsonl")
    scores = loaders.load(path, filter=name, format="lm-eval")
    records = [record for record in log_of(folder, "written") if record["filter"] == name]
    for record in records:
        place = scores.item_position[f"written/{record['doc_id']}"]
        assert scores.values[0, place] == record["exact_match"]
    assert scores.n_items == len(records) == 30
    assert scores.probabilities is None
    reported = results_of(folder)["written"][f"exact_match,{name}"]
    assert scores.full_scores()[0] == pytest.approx(reported, abs=1e-12)


def test_a_run_with_a_limit_is_said_to_be_one(lm_eval_runs):
    options = {"metric": "by_*=acc,exact_match", "filter": "first"}
    with pytest.raises(SettingError, match="no filter of task by_place 'first'; found: 'none'"):
        loaders.load(lm_eval_runs / "limited", **options)
    (path,) = (lm_eval_runs / "limited").glob("*/samples_by_text_*.jsonl")
    report = loaders.load_with_report(path, metric="acc")[1]
    assert any("run with --limit" in text for text in report.suspicious)


INSPECT = """
import tiktoken


class Words:  # the real encodings are downloaded
    def encode(self, text, **options):
        return text.split()

    encode_ordinary = encode


tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: Words()
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import includes, match

answers = ["yes", "no", "yes", "no", "no", "no", "yes", "yes"]
samples = [Sample(input=f"Q{i}", target="yes", id=f"q{i}") for i in range(4)]
for form in ("eval", "json"):
    model = get_model(
        "mockllm/model",
        custom_outputs=[ModelOutput.from_content("mockllm/model", a) for a in answers],
    )
    task = Task(dataset=MemoryDataset(samples), scorer=[match(), includes()], epochs=2)
    (log,) = eval(
        task, model=model, log_dir=form, log_format=form, max_connections=1, max_samples=1,
        display="none",
    )
    assert log.status == "success", log.error
"""


@pytest.fixture(scope="module")
def inspect_runs(tmp_path_factory):
    """Four samples in two epochs, with two scorers, in both forms of a log."""
    needs("inspect_ai")
    folder = tmp_path_factory.mktemp("inspect")
    run("-c", INSPECT, folder=folder)
    return folder


@pytest.mark.parametrize("scorer", ["match", "includes"])
@pytest.mark.parametrize("form", ["eval", "json"])
def test_logs_of_inspect(form, scorer, inspect_runs):
    scores, report = loaders.load_with_report(inspect_runs / form, scorer=scorer)
    assert report.format == "inspect"
    assert scores.models == ("mockllm/model",)
    (path,) = (inspect_runs / "json").glob("*.json")
    log = json.loads(path.read_text())
    found = {}
    for sample in log["samples"]:
        value = {"C": 1.0, "I": 0.0}[sample["scores"][scorer]["value"]]
        found.setdefault(sample["id"], []).append(value)
    assert sorted(found) == ["q0", "q1", "q2", "q3"]
    assert all(len(values) == 2 for values in found.values())
    expected = [np.mean(found[item.split("/")[1]]) for item in scores.items]
    np.testing.assert_array_equal(scores.values[0], expected)
    (reported,) = [each for each in log["results"]["scores"] if each["name"] == scorer]
    assert scores.full_scores()[0] == reported["metrics"]["accuracy"]["value"]
    assert not report.chosen  # our mean is the accuracy the log reports
