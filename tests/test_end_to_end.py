"""From a harness's logs to a verdict: select, export, run, compare; and a tampered data set.

The harnesses run here, offline, on a local data set and models that answer by rule.
"""

import json
import os
import subprocess
import sys

import pytest

from real_harness import attempt, needs, run

SIZE = 60


def mdad(*arguments, folder, code=0):
    """Run the command as a user does."""
    found = subprocess.run(
        [sys.executable, "-m", "mdad", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "MDAD_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == code, (found.stdout, found.stderr)
    assert "Traceback" not in found.stderr
    return found


def micro_of(folder):
    return json.loads((folder / "micro.json").read_text())


# lm-evaluation-harness

QUIZ = """
task: quiz
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: "{{choices}}"
doc_to_target: gold
metric_list: [{metric: acc}]
"""


def quiz_rows():
    return [
        {"q": f"question {i}", "choices": [f"a{i}", f"b{i}", f"c{i}"], "gold": i % 3}
        for i in range(150)
    ]


def write_quiz(folder, rows):
    """A data set under a name of its own: the harness caches by name."""
    folder.mkdir()
    data = folder / f"{folder.name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "quiz.yaml").write_text(QUIZ.replace("DATA", str(data)))
    return folder


def lm_eval(folder, tasks, out, *extra, task="quiz"):
    """Arguments of one run on the model that answers at random."""
    return [
        *("-m", "lm_eval", "--model", "dummy", "--include_path", folder / tasks),
        *("--tasks", task, "--log_samples", "--output_path", folder / out, *extra),
    ]


def accuracy(folder, task="quiz"):
    """What the harness itself reports."""
    (path,) = folder.glob("*/results_*.json")
    return json.loads(path.read_text())["results"][task]["acc,none"]


@pytest.fixture(scope="module")
def quiz(tmp_path_factory):
    """A full run, a micro-benchmark from its logs, and two runs on that."""
    needs("lm_eval")
    folder = tmp_path_factory.mktemp("quiz")
    write_quiz(folder / "tasks", quiz_rows())
    run(*lm_eval(folder, "tasks", "full", "--seed", "1"), folder=folder)
    mdad("select", "full", "--size", SIZE, "--out", "micro.json", folder=folder)
    mdad("export", "micro.json", "--to", "lm-eval", "--out", "samples.json", folder=folder)
    for name, seed in (("baseline", "2"), ("candidate", "3")):
        extra = ("--samples", folder / "samples.json", "--seed", seed)
        run(*lm_eval(folder, "tasks", name, *extra), folder=folder)
    return folder


def test_the_samples_of_lm_eval_carry_doc_ids_and_hashes(quiz):
    document = json.loads((quiz / "samples.json").read_text())
    content = document.pop("mdad:content")
    micro = micro_of(quiz)
    assert sorted(f"quiz/{n}" for n in document["quiz"]) == sorted(micro["items"])
    hashes = {f"quiz/{n}": hash_ for n, hash_ in content["doc_hash"]["quiz"].items()}
    assert hashes == dict(zip(micro["items"], micro["content_hashes"], strict=True))
    (log,) = (quiz / "baseline").glob("*/samples_*.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert {f"quiz/{each['doc_id']}": each["doc_hash"] for each in records} == hashes


def test_lm_eval_logs_are_compared_as_they_lie(quiz):
    found = mdad(
        *("compare", "micro.json", "baseline", "candidate"),
        *("--names", "old,new", "--json"),
        folder=quiz,
    )
    verdict = json.loads(found.stdout)
    assert verdict["n"] == SIZE
    expected = {"old": accuracy(quiz / "baseline"), "new": accuracy(quiz / "candidate")}
    for score in verdict["scores"]:
        assert score["value"] == pytest.approx(expected[score["model"]], abs=1e-12)
    shown = mdad("score", "micro.json", "candidate", "--json", folder=quiz)
    assert json.loads(shown.stdout)[0]["value"] == pytest.approx(expected["new"], abs=1e-12)
    arguments = ("compare", "micro.json", "baseline", "candidate", "--names", "old,new")
    text = mdad(*arguments, "--markdown", folder=quiz).stdout
    assert "| old |" in text
    # The whole benchmark holds the chosen items too.
    whole = mdad("score", "micro.json", "full", "--json", folder=quiz)
    assert json.loads(whole.stdout)[0]["n"] == SIZE


def test_a_task_of_its_own_is_joined_by_content(quiz):
    arguments = ("export", "micro.json", "--to", "lm-eval-task", "--out", "tasks")
    mdad(*arguments, folder=quiz)
    run(*lm_eval(quiz, "tasks", "own", "--seed", "4", task="quiz_micro"), folder=quiz)
    found = mdad("score", "micro.json", "own", "--json", folder=quiz)
    (score,) = json.loads(found.stdout)
    assert score["n"] == SIZE
    assert score["value"] == pytest.approx(accuracy(quiz / "own", "quiz_micro"), abs=1e-12)


def reverse(rows, chosen):
    del chosen
    return rows[::-1]


def new_text(rows, chosen):
    rows[chosen[3]]["q"] = "another question"
    return rows


def new_key(rows, chosen):
    rows[chosen[5]]["gold"] = (rows[chosen[5]]["gold"] + 1) % 3
    return rows


@pytest.mark.parametrize("tamper", [reverse, new_text, new_key])
def test_a_tampered_data_set_of_lm_eval_is_noticed(tamper, quiz):
    chosen = json.loads((quiz / "samples.json").read_text())["quiz"]
    name = tamper.__name__
    write_quiz(quiz / name, tamper(quiz_rows(), chosen))
    out = f"{name}-run"
    run(*lm_eval(quiz, name, out, "--samples", quiz / "samples.json"), folder=quiz)
    arguments = ("compare", "micro.json", "baseline", out, "--names", "old,new")
    found = mdad(*arguments, folder=quiz, code=2)
    assert found.stdout == ""
    assert "has changed since the micro-benchmark was made" in found.stderr
    if tamper is reverse:
        assert "was the data set shuffled?" in found.stderr
    else:
        changed = chosen[3 if tamper is new_text else 5]
        assert "the content of 1 chosen item has changed" in found.stderr
        assert f"'quiz/{changed}'" in found.stderr
    # The exported task looks before a model is asked.
    mdad("export", "micro.json", "--to", "lm-eval-task", "--out", name, folder=quiz)
    stopped = attempt(*lm_eval(quiz, name, f"{name}-own", task="quiz_micro"), folder=quiz)
    assert stopped.returncode != 0
    assert "documents have changed" in stopped.stderr


# Inspect AI

TASK = """
import json, sys
from pathlib import Path

import tiktoken


class Words:  # the real encodings are downloaded
    def encode(self, text, **options):
        return text.split()

    encode_ordinary = encode


tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: Words()
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

data, skill, out = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rows = [json.loads(line) for line in data.read_text().splitlines()]
task = Task(
    name="letters",
    dataset=MemoryDataset([Sample(**row) for row in rows]),
    solver=multiple_choice(),
    scorer=choice(),
)
chosen = sys.argv[4].split(",") if len(sys.argv) > 4 and sys.argv[4] != "snippet" else None
if len(sys.argv) > 4 and sys.argv[4] == "snippet":
    import micro_samples
    wanted = list(micro_samples.CHOSEN)
else:
    wanted = chosen or [str(row["id"]) for row in rows]


def answer(row):
    right = int(row["id"][1:]) * 7 % 10 < skill
    letter = row["target"] if right else "ABC"[("ABC".index(row["target"]) + 1) % 3]
    return ModelOutput.from_content("mockllm/model", "ANSWER: " + letter)


model = get_model(
    "mockllm/model", custom_outputs=[answer(row) for row in rows if row["id"] in wanted]
)
options = {"model": model, "log_dir": out, "max_connections": 1, "max_samples": 1,
           "display": "none"}
if len(sys.argv) > 4 and sys.argv[4] == "snippet":
    (log,) = micro_samples.run(task, **options)
else:
    (log,) = eval(task, sample_id=chosen, **options)
assert log.status == "success", log.error
"""


def letter_rows():
    return [
        {
            "id": f"q{i}",
            "input": f"question {i}",
            "choices": [f"a{i}", f"b{i}", f"c{i}"],
            "target": "ABC"[i % 3],
        }
        for i in range(120)
    ]


def write_letters(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """The same with Inspect AI: models that know 9 and 5 questions of ten."""
    needs("inspect_ai")
    folder = tmp_path_factory.mktemp("letters")
    (folder / "task.py").write_text(TASK)
    write_letters(folder / "data.jsonl", letter_rows())
    run("task.py", "data.jsonl", 7, "full", folder=folder)
    mdad("select", "full", "--size", SIZE, "--out", "micro.json", folder=folder)
    mdad("export", "micro.json", "--to", "inspect", "--out", "ids.txt", folder=folder)
    ids = (folder / "ids.txt").read_text().strip()
    for name, skill in (("baseline", 5), ("candidate", 9)):
        run("task.py", "data.jsonl", skill, name, ids, folder=folder)
    return folder


def test_sample_ids_of_inspect_are_those_chosen(letters):
    ids = (letters / "ids.txt").read_text().strip().split(",")
    micro = micro_of(letters)
    assert [f"letters/{each}" for each in ids] == micro["items"]
    assert len(set(micro["content_hashes"])) == SIZE


def test_inspect_logs_are_compared_as_they_lie(letters):
    arguments = ("compare", "micro.json", "baseline", "candidate", "--names", "old,new")
    verdict = json.loads(mdad(*arguments, "--json", folder=letters).stdout)
    chosen = [int(item.removeprefix("letters/q")) for item in micro_of(letters)["items"]]
    for score, skill in zip(verdict["scores"], (5, 9), strict=True):
        expected = sum(n * 7 % 10 < skill for n in chosen) / SIZE
        assert score["value"] == pytest.approx(expected, abs=1e-12)
    assert verdict["pairs"][0]["better"] == "new"
    found = mdad(*arguments, "--fail-if-worse", folder=letters)
    assert "new is better than old" in " ".join(found.stdout.split())
    turned = ("compare", "micro.json", "candidate", "baseline", "--names", "old,new")
    mdad(*turned, "--fail-if-worse", folder=letters, code=1)


def test_the_snippet_runs_the_chosen_samples_of_inspect(letters):
    arguments = ("export", "micro.json", "--to", "inspect-py", "--out", "micro_samples.py")
    mdad(*arguments, folder=letters)
    run("task.py", "data.jsonl", 9, "snippet-run", "snippet", folder=letters)
    scores = [
        json.loads(mdad("score", "micro.json", name, "--json", folder=letters).stdout)
        for name in ("candidate", "snippet-run")
    ]
    assert scores[0] == scores[1]


def other_order(rows, chosen):
    del chosen
    ids = [row["id"] for row in rows]
    return [{**row, "id": id_} for row, id_ in zip(rows[::-1], ids, strict=True)]


def other_input(rows, chosen):
    rows[chosen[3]]["input"] = "another question"
    return rows


def other_target(rows, chosen):
    rows[chosen[3]]["target"] = "ABC"[(chosen[3] + 1) % 3]
    return rows


@pytest.mark.parametrize("tamper", [other_order, other_input, other_target])
def test_a_tampered_data_set_of_inspect_is_noticed(tamper, letters):
    ids = (letters / "ids.txt").read_text().strip()
    chosen = [int(each[1:]) for each in ids.split(",")]
    name = tamper.__name__
    write_letters(letters / f"{name}.jsonl", tamper(letter_rows(), chosen))
    run("task.py", f"{name}.jsonl", 9, name, ids, folder=letters)
    arguments = ("compare", "micro.json", "baseline", name, "--names", "old,new")
    found = mdad(*arguments, folder=letters, code=2)
    assert found.stdout == ""
    assert "has changed since the micro-benchmark was made" in found.stderr
    if tamper is other_order:
        assert "was the data set shuffled?" in found.stderr
    else:
        assert "the content of 1 chosen item has changed" in found.stderr
        assert f"'letters/q{chosen[3]}'" in found.stderr
    mdad(
        *("export", "micro.json", "--to", "inspect-py", "--out", "micro_samples.py"), folder=letters
    )
    again = attempt("task.py", f"{name}.jsonl", 9, f"{name}-own", "snippet", folder=letters)
    assert again.returncode != 0
    assert "changed: ['q" in again.stderr
