"""A session run by Inspect AI itself, offline, with its mock models."""

import json
import sys
import types

import pytest

from harness_logs import inspect_eval, inspect_sample
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


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """An `inspect_ai.eval` that writes a log, without the harness; what it was asked for."""
    asked = []

    def evaluate(task, *, model, sample_id, display, log_dir, status="success"):
        assert (task, display) == ("quiz.py", "none")
        asked.append((model, tuple(sample_id)))
        path = tmp_path / log_dir / f"{len(asked)}.eval"
        path.parent.mkdir(exist_ok=True)
        samples = [inspect_sample(i, "C" if model == "m/good" else "I") for i in sample_id]
        inspect_eval(path, samples, model=model)
        error = None if status == "success" else types.SimpleNamespace(message="no money left")
        return [types.SimpleNamespace(status=status, error=error, location=path.as_uri())]

    module = types.ModuleType("inspect_ai")
    module.eval = evaluate
    monkeypatch.setitem(sys.modules, "inspect_ai", module)
    return asked


MODELS = {"good": "m/good", "bad": "m/bad"}


def test_batches_are_samples_of_one_model(fake):
    session = Session.new(["good", "bad"], items=[f"quiz/q{i}" for i in range(60)])
    found = session.run_inspect("quiz.py", MODELS, log_dir="logs", scorer="match")
    assert (found.better, found.size) == ("good", 10)
    assert [model for model, _ in fake] == ["m/good", "m/bad"]
    assert fake[0][1] == tuple(item[5:] for item in session.setup.plan.order[:10])


@pytest.mark.usefixtures("fake")
def test_one_sample_at_a_time():
    session = Session.new(["good", "bad"], items=[f"q{i}" for i in range(60)], batch=1)
    assert session.run_inspect("quiz.py", MODELS, log_dir="logs").better == "good"


def test_a_run_that_did_not_end_well_is_not_taken(fake):
    session = Session.new(["good", "bad"], items=[f"q{i}" for i in range(60)])
    with pytest.raises(SettingError, match="error, no money left"):
        session.run_inspect("quiz.py", MODELS, log_dir="logs", status="error")
    assert session.answers == {}
    assert len(fake) == 1


@pytest.mark.usefixtures("fake")
def test_what_cannot_be_asked_of_inspect():
    session = Session.new(["x", "y"], items=[f"q{i}" for i in range(60)])
    with pytest.raises(SettingError, match="which model of Inspect 'x' is"):
        session.run_inspect("quiz.py", MODELS, log_dir="logs")
    items = [f"{task}/q{i}" for task in "ab" for i in range(10)]
    session = Session.new(["good", "bad"], items=items, batch=20)
    with pytest.raises(SettingError, match="a session for each task"):
        session.run_inspect("quiz.py", MODELS, log_dir="logs")
