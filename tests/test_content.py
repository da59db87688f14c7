"""Contents of items: carried by exports, and compared when a run comes back."""

import json
from dataclasses import replace

import pytest

import mdad
from harness_logs import inspect_json, inspect_sample, lm_record, lm_run
from mdad.errors import FormatError, ScoresError, SettingError
from mdad.exporters import export_files
from mdad.loaders._inspect_content import content_hash
from mdad.microbenchmark import Benchmark, Made, Microbenchmark


def test_exports_carry_contents_where_they_are_known():
    micro = Microbenchmark(
        ("t/11", "t/2[a]", "t/40"),
        Benchmark("", 90, "-"),
        Made("random", 0),
        subtasks=("t", "t", "t"),
        content_hashes=("h11", "", "h40"),
    )
    ids = ["t/11", "t/40", "t/2[a]"]
    document = json.loads(micro.export("lm-eval", order=ids))
    assert document.pop("mdad:content") == {
        "micro_benchmark": micro.fingerprint,
        "doc_hash": {"t": {"0": "h11", "1": "h40"}},
    }
    assert document == {"t": [0, 1, 2]}
    files = export_files(replace(micro, content_hashes=("a", "b", "c")), "lm-eval-task", order=ids)
    assert list(files) == ["t_micro.yaml", "t_micro.py"]
    assert "joined by content" in files["t_micro.yaml"]
    code = files["t_micro.py"]
    assert '    0: "a",\n    1: "c",\n    2: "b",\n' in code
    compile(code, "t_micro.py", "exec")
    # Inspect names a sample without its task, and takes "[" as the beginning of a pattern.
    assert micro.export("inspect") == "11,2[[]a],40\n"
    code = micro.export("inspect-py")
    assert '"2[a]": ""' in code
    assert '"40": "h40"' in code
    compile(code, "micro_samples.py", "exec")
    two = replace(micro, items=("t/11", "u/2", "u/40"), subtasks=("t", "u", "u"))
    assert two.export("inspect") == "t:11,u:2,u:40\n"
    with pytest.raises(SettingError, match=r"holds one task; the items are of 2.*as 'inspect'"):
        two.export("inspect-py")


def test_the_snippet_hashes_as_the_loader_does():
    micro = Microbenchmark(("q1",), Benchmark("", 9, "-"), Made("random", 0))
    code = micro.export("inspect-py").replace("from inspect_ai import eval", "")
    scope = {}
    exec(compile(code, "micro_samples.py", "exec"), scope)  # noqa: S102  # our own code
    sample = {"input": [{"role": "user", "content": "Q"}], "choices": ["x", "y"], "target": "B"}
    assert scope["of"](sample) == content_hash(*sample.values())


def logged(folder, model="org/a", task="t", **hashes):
    """Scores of a run of four documents, some with other contents than "hash-N"."""
    records = [
        lm_record(n, float(n % 2), doc_hash=hashes.get(f"d{n}", f"hash-{n}")) for n in range(4)
    ]
    lm_run(folder, model, records, task=task)
    return mdad.load(folder)


@pytest.fixture
def made(tmp_path):
    """A micro-benchmark of two of the four documents, made from logs of one model."""
    scores = logged(tmp_path / "source")
    return mdad.select(scores, size=2, seed=1)


def other(item):
    return f"d{item.split('/')[1]}"


def test_a_run_on_the_same_contents_passes(made, tmp_path):
    run = logged(tmp_path / "run", "org/b")
    part = run.restrict(items=made.items)
    assert mdad.score(made, part).value == pytest.approx(part.values.mean())
    # All items are the whole benchmark, by their contents too.
    assert mdad.score(made, run).n == 2
    changed_elsewhere = {other(item): "new" for item in run.items if item not in made.items}
    again = logged(tmp_path / "again", "org/b", **changed_elsewhere)
    with pytest.raises(ScoresError, match="2 scored items of 'org/b' not in the micro"):
        mdad.score(made, again)
    assert mdad.score(made, again, extra="ignore").n == 2


def test_changed_contents_are_refused_and_named(made, tmp_path):
    first, second = made.items
    run = logged(tmp_path / "run", "org/b", **{other(first): "new"})
    with pytest.raises(FormatError) as caught:
        mdad.score(made, run)
    assert "the content of 1 chosen item has changed" in str(caught.value)
    assert repr(first) in str(caught.value)
    assert repr(second) not in str(caught.value)
    with pytest.raises(FormatError, match=r"^b: the content of 1 chosen item"):
        mdad.compare(made, {"a": logged(tmp_path / "a"), "b": run})


def test_a_shuffled_data_set_is_called_one(made, tmp_path):
    turned = {f"d{n}": f"hash-{3 - n}" for n in range(4)}
    with pytest.raises(FormatError, match="was the data set shuffled"):
        mdad.score(made, logged(tmp_path / "run", "org/b", **turned))


def test_contents_that_differ_within_a_run_are_refused(made, tmp_path):
    logged(tmp_path / "run", "org/b")
    both = logged(tmp_path / "run", "org/c", **{other(made.items[1]): "new"})
    with pytest.raises(FormatError, match="It also differs between the models"):
        mdad.compare(made, both)
    # Chosen from such scores, the item's content is not known, and nothing is said against it.
    mixed = mdad.select(both, size=2, seed=1)
    assert sorted(hash_ == "" for hash_ in mixed.content_hashes) == [False, True]
    assert mdad.compare(mixed, both).n == 2


def test_items_numbered_anew_are_joined_by_content(made, tmp_path):
    hashes = dict(zip(made.items, made.content_hashes, strict=True))
    records = [lm_record(n, 1.0 - n, doc_hash=hashes[item]) for n, item in enumerate(made.items)]
    lm_run(tmp_path / "own", "org/b", records, task="t_micro")
    assert mdad.score(made, mdad.load(tmp_path / "own")).value == 0.5
    lm_run(tmp_path / "one", "org/b", [records[0], lm_record(1, doc_hash="new")], task="t_micro")
    with pytest.raises(FormatError, match=r"content of 1 of its 2 items is that of none"):
        mdad.score(made, mdad.load(tmp_path / "one"))
    twice = [records[0], lm_record(1, doc_hash=records[0]["doc_hash"])]
    lm_run(tmp_path / "two", "org/b", twice, task="t_micro")
    with pytest.raises(FormatError, match="two items say the same"):
        mdad.score(made, mdad.load(tmp_path / "two"))
    lm_run(tmp_path / "no", "org/b", [lm_record(0, doc_hash="x")], task="another")
    with pytest.raises(ScoresError, match="not in the micro-benchmark"):
        mdad.score(made, mdad.load(tmp_path / "no"))


def test_samples_of_inspect_are_known_by_their_contents(tmp_path):
    samples = [inspect_sample(n, input=f"Q{n}") for n in range(4)]
    made = mdad.select(mdad.load(inspect_json(tmp_path / "a.json", samples)), size=2)
    assert len(set(made.content_hashes)) == 2
    changed = [inspect_sample(n, input="Q") for n in range(4)]
    with pytest.raises(FormatError, match="content of 2 chosen items has changed"):
        mdad.score(made, mdad.load(inspect_json(tmp_path / "b.json", changed)))


def test_what_cannot_be_checked_is_said_on_the_command_line(made, tmp_path, monkeypatch, capsys):
    made.save(tmp_path / "micro.json")
    table = tmp_path / "run.csv"
    table.write_text("model,item,score\n" + "".join(f"m,{item},1\n" for item in made.items))
    monkeypatch.setattr("sys.argv", ["mdad", "score", str(tmp_path / "micro.json"), str(table)])
    from mdad.cli import main  # noqa: PLC0415  # after the arguments are set

    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert "whether the items changed was not checked" in capsys.readouterr().err
