"""A session run by Inspect AI itself, offline, with its mock models."""

import json
import sys

import pytest

from mdad.adaptive import Session
from mdad.adaptive._inspect import sample_id
from mdad.errors import SettingError
from real_harness import needs, run

SCRIPT = """
import json, tiktoken

class Words:  # the real encodings are downloaded
    def encode(self, text, **options):
        return text.split()

    encode_ordinary = encode

tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: Words()
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import match
import mdad
from mdad.errors import MdadError

samples = [Sample(input=f"Question {i}", target="yes", id=f"q{i}") for i in range(60)]
task = Task(name="quiz", dataset=MemoryDataset(samples), scorer=match())

def model(easy):
    def answer(messages, tools, tool_choice, config):
        number = int(messages[-1].text.split()[-1])
        return ModelOutput.from_content("mockllm/model", "yes" if number % 10 < easy else "no")
    return get_model("mockllm/model", custom_outputs=answer)

ids = [f"quiz/q{i}" for i in range(60)]
session = mdad.Session.new(["good", "bad"], items=ids, path="session.json")
found = session.run_inspect(task, {"good": model(9), "bad": model(3)}, log_dir="logs")
right = all(
    score == (int(item[6:]) % 10 < {"good": 9, "bad": 3}[name])
    for item, scores in session.answers.items() for name, score in scores.items()
)
refused = ""
try:
    mdad.Session.new(["x", "y"], items=ids).run_inspect(task, {"x": model(9)}, log_dir="more")
except MdadError as error:
    refused = str(error)
with open("out.json", "w") as file:
    json.dump([found.status, found.better, found.size, right, refused], file)
"""


def test_inspect_runs_a_session(tmp_path):
    needs("inspect_ai")
    needs("mdad")
    run("-c", SCRIPT, folder=tmp_path)
    status, better, size, right, refused = json.loads((tmp_path / "out.json").read_text())
    assert (status, better, right) == ("decided", "good", True)
    assert size < 60
    assert "which model of Inspect 'y' is" in refused
    # One log for each batch of each model, and the state they led to.
    assert len(list((tmp_path / "logs").iterdir())) == 2 * size // 10
    assert Session.load(tmp_path / "session.json").decision.size == size


def test_without_inspect_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    session = Session.new(["a", "b"], items=[f"q{i}" for i in range(20)])
    with pytest.raises(SettingError, match="pip install inspect_ai"):
        session.run_inspect("task.py", {"a": "mock", "b": "mock"})


def test_samples_are_named_without_their_task():
    assert sample_id("a/b/c") == "c"
