"""Fetching from a hub that stalls, truncates, refuses and loses things."""

import errno
import gzip
import json
import os
import subprocess
import sys
import threading
import time

import pytest

import mdad
from harness_logs import lm_record
from hub_server import serving
from mdad import hub as mdad_hub
from mdad.cli import main
from mdad.cli.fetch import bytes_of
from mdad.errors import FormatError, SettingError
from mdad.hub import _again, _budget, fetch

constants = pytest.importorskip("huggingface_hub.constants")
hub_errors = pytest.importorskip("huggingface_hub.errors")

STAMP, OLD = "2024-06-16T15-03-47.911519", "2024-06-12T01-00-00.000000"
TASKS = ("leaderboard_musr_murder_mysteries", "leaderboard_musr_team_allocation")


def details(model, *, right=2, stamp=STAMP, n=8, form="jsonl"):
    """Files of a model's data set, as the harness pushes them."""
    folder = model.replace("/", "__")
    files = {"README.md": b"# Details\n", ".gitattributes": b"*\n"}
    for task in (*TASKS, "leaderboard_ifeval"):
        records = [
            {**lm_record(i, float(i % 3 < right), metric="acc_norm"), "metrics": ["acc_norm"]}
            for i in range(n)
        ]
        text = "".join(json.dumps(record) + "\n" for record in records)
        files[f"{folder}/samples_{task}_{stamp}.{form}"] = text.encode()
    results = {
        "results": {task: {"acc_norm,none": 0.5} for task in TASKS},
        "config": {"model": "hf", "model_args": f"pretrained={model}", "limit": None},
        "model_name": model,
    }
    files[f"{folder}/results_{stamp}.json"] = json.dumps(results).encode()
    return files


@pytest.fixture
def hub(monkeypatch):
    """A hub with three models; short pauses and timeouts."""
    monkeypatch.setattr(_again, "PAUSE", 0.01)
    for name in ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"):
        monkeypatch.setattr(constants, name, 1)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serving() as found:
        monkeypatch.setenv("HF_ENDPOINT", found.address)
        for number, model in enumerate(MODELS, 1):
            name = model.replace("/", "__")
            found.add(f"open-llm-leaderboard/{name}-details", details(model, right=number))
        yield found


MODELS = ("org/one", "org/two", "lab/Three-7B")


def get(tmp_path, models=MODELS, **options):
    return fetch(benchmark="musr", models=models, out=tmp_path / "musr", **options)


def arguments():
    """The command as a process of its own."""
    command = [sys.executable, "-m", "mdad", "fetch", "open-llm-leaderboard"]
    return [*command, "--benchmark", "musr", "--models", "models.txt"]


def environment(hub):
    return {**os.environ, "HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0"}


def files_in(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(".")
    )


def check_whole(tmp_path, models=MODELS):
    """What is there is what the hub has, and nothing else."""
    scores = mdad.load(tmp_path / "musr", metric="acc_norm")
    assert sorted(scores.models) == sorted(models)
    assert scores.n_items == 16
    for number, model in enumerate(MODELS, 1):
        if model in models:
            row = scores.values[scores.model_position[model]]
            assert row.mean() == pytest.approx(sum(i % 3 < number for i in range(8)) / 8)
            for name, content in details(model, right=number).items():
                if name.split("_")[-2:-1] != ["ifeval"] and "samples" in name and "musr" in name:
                    kept = (tmp_path / "musr" / f"{name}.gz").read_bytes()
                    assert gzip.decompress(kept) == content
    assert not list((tmp_path / "musr").rglob("*.incomplete"))


def test_details_are_fetched_and_loaded(hub, tmp_path):
    seen = []
    found = get(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert [part.status for part in found.parts] == ["fetched"] * 3
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert found.missing == ()
    assert len(files_in(tmp_path / "musr")) == 9
    assert not any("ifeval" in name or "README" in name for name in files_in(tmp_path / "musr"))
    check_whole(tmp_path)
    assert hub.most_active <= 2
    # Once more: nothing is asked of the hub.
    asked = len(hub.requests)
    again = get(tmp_path)
    assert [part.status for part in again.parts] == ["there"] * 3
    assert [part.size for part in again.parts] == [part.size for part in found.parts]
    assert len(hub.requests) == asked


SAMPLES = f"samples_{TASKS[0]}"
AGAIN = (429, {"Retry-After": "0"})


@pytest.mark.parametrize(
    "faults",
    [
        {"GET /cdn": ["stall", "stall"]},
        {"GET /cdn": ["truncate", "truncate", "truncate"]},
        {"GET /cdn": ["drop"]},
        {"GET /cdn": ["garbage", "garbage"]},
        {"GET /cdn": [(500, {}), (503, {}), AGAIN]},
        {"HEAD": [(500, {}), AGAIN, (502, {})]},
        {"/revision/": [(500, {}), "truncate", AGAIN], "/tree/": ["stall", "truncate", AGAIN]},
        {"/api/datasets": ["stall", (504, {}), "drop"]},
    ],
    ids=["stall", "truncate", "drop", "garbage", "refused", "head", "tree", "api"],
)
def test_what_passes_with_time_is_survived(faults, hub, tmp_path):
    hub.faults = faults
    found = get(tmp_path)
    assert [part.status for part in found.parts] == ["fetched"] * 3, found.missing
    check_whole(tmp_path)


def test_everybody_waits_when_the_hub_asks(hub, tmp_path, monkeypatch):
    """Retry-After closes the gate that all workers pass."""
    waits = []
    monkeypatch.setattr(_again.Gate, "close", lambda _, seconds: waits.append(seconds))
    hub.faults = {"GET /api/datasets": [(429, {"Retry-After": "7"})] * 3}
    found = get(tmp_path, workers=1)
    assert [part.status for part in found.parts] == ["fetched"] * 3
    assert waits == [7.0] * 3
    monkeypatch.undo()
    gate, before = _again.Gate(), time.monotonic()
    gate.close(0.05)
    gate.close(0.01)
    gate.wait()
    assert time.monotonic() - before >= 0.05


def test_broken_off_it_goes_on_and_takes_nothing_half(hub, tmp_path):
    hub.faults = {f"GET /cdn/open-llm-leaderboard/org__two-details/org__two/{SAMPLES}": ["garbage"]}
    found = get(tmp_path, attempts=1)
    assert [part.status for part in found.parts] == ["fetched", "failed", "fetched"]
    assert "arrived with another content than the hub has; 1 attempt" in found.missing[0].reason
    assert found.missing[0].may_come
    assert not any(SAMPLES in name and "org__two" in name for name in files_in(tmp_path / "musr"))
    asked = len(hub.requests)
    found = get(tmp_path)
    assert [part.status for part in found.parts] == ["there", "fetched", "there"]
    assert not any("org__one" in request for request in hub.requests[asked:])
    check_whole(tmp_path)
    # A file that was lost or cut here is brought again.
    (path,) = (tmp_path / "musr" / "org__one").glob(f"{SAMPLES}*")
    path.write_bytes(path.read_bytes()[:50])
    assert get(tmp_path).parts[0].status == "fetched"
    check_whole(tmp_path)


def test_stopped_it_ends_at_once(hub, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    hub.faults = {"GET /cdn/open-llm-leaderboard/org__two": ["stall"] * 9}
    with pytest.raises(KeyboardInterrupt):
        get(tmp_path, progress=stop)
    assert not any("org__two/samples" in name for name in files_in(tmp_path / "musr"))
    hub.faults = {}
    assert get(tmp_path).missing == ()
    check_whole(tmp_path)


def test_killed_it_leaves_nothing_half(hub, tmp_path):
    (tmp_path / "models.txt").write_text("\n".join(MODELS))
    place = f"/cdn/open-llm-leaderboard/org__two-details/org__two/{SAMPLES}"
    hub.faults = {place: ["stall"]}
    process = subprocess.Popen(arguments(), cwd=tmp_path, env=environment(hub))
    while not any(place in request for request in hub.requests):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    for name in files_in(tmp_path / "musr") if (tmp_path / "musr").exists() else ():
        if name.endswith(".gz"):
            number = MODELS.index(name.split("/")[0].replace("__", "/")) + 1
            content = details(MODELS[number - 1], right=number)[name.removesuffix(".gz")]
            assert gzip.decompress((tmp_path / "musr" / name).read_bytes()) == content
    assert not any(f"org__two/{SAMPLES}" in name for name in files_in(tmp_path / "musr"))
    assert get(tmp_path).missing == ()
    check_whole(tmp_path)


def test_models_that_are_gone_are_named_and_the_others_kept(hub, tmp_path):
    hub.repos["open-llm-leaderboard/org__two-details"]["info"]["gated"] = True
    hub.add("open-llm-leaderboard/org__other-details", {"README.md": b"nothing"})
    models = ("org/one", "org/never", "org/two", "org/other")
    found = get(tmp_path, models)
    assert [part.status for part in found.parts] == ["fetched", "gone", "gated", "no-details"]
    assert "HF_TOKEN" in found.parts[2].reason
    assert not any(part.may_come for part in found.missing)
    check_whole(tmp_path, ("org/one",))
    with pytest.raises(FormatError, match=r"no model could be fetched: org/never: there"):
        get(tmp_path, ["org/never"])


def test_a_file_that_is_gone_from_its_data_set(hub, tmp_path):
    hub.faults = {"GET /datasets/open-llm-leaderboard/org__two-details": [(404, {})]}
    found = get(tmp_path)
    assert [part.status for part in found.parts] == ["fetched", "gone", "fetched"]
    hub.faults = {"GET /api/datasets/open-llm-leaderboard/org__two-details": [(410, {})]}
    assert get(tmp_path).parts[1].reason == "the hub answers 410"
    # A name the hub cannot have.
    assert get(tmp_path, [*MODELS, "a/b--c"]).missing[0].status == "gone"


def test_the_newest_run_of_every_task(hub, tmp_path):
    files = details("org/one", right=1) | details("org/one", right=3, stamp=OLD)
    hub.add("open-llm-leaderboard/org__one-details", files)
    get(tmp_path, ["org/one"])
    assert all(STAMP in name for name in files_in(tmp_path / "musr"))
    check_whole(tmp_path, ("org/one",))


def test_lines_under_the_name_of_a_document(hub, tmp_path):
    hub.add("open-llm-leaderboard/org__one-details", details("org/one", right=1, form="json"))
    get(tmp_path, ["org/one"])
    assert f"org__one/{SAMPLES}_{STAMP}.jsonl.gz" in files_in(tmp_path / "musr")
    assert mdad.load(tmp_path / "musr", metric="default").n_items == 16


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.usefixtures("hub")
def test_the_disk_budget_holds(tmp_path):
    sizes = [part.size for part in get(tmp_path / "all").parts]
    raw = max(len(content) for content in details("org/one").values())
    limit = sizes[0] + sizes[1] // 2 + 2 * raw + 500  # the state files are small
    found = get(tmp_path, max_disk=limit, workers=1)
    assert [part.status for part in found.parts] == ["fetched", "fetched", "over-budget"]
    assert size_of(tmp_path / "musr") < limit
    check_whole(tmp_path, MODELS[:2])
    assert get(tmp_path).missing == ()
    with pytest.raises(FormatError, match="does not fit into what the folder may take"):
        fetch(benchmark="musr", models=MODELS, out=tmp_path / "none", max_disk=100)


def test_what_was_begun_is_gone_on_with(hub, tmp_path):
    """What came before the connection broke is kept, counted, and not asked for again."""
    place = f"/cdn/open-llm-leaderboard/org__one-details/org__one/{SAMPLES}_{STAMP}.jsonl"
    hub.faults = {f"GET {place}": ["stall", (500, {})]}
    found = get(tmp_path, MODELS[:2], attempts=1)
    assert [part.status for part in found.parts] == ["failed", "fetched"]
    (begun,) = (tmp_path / "musr" / ".mdad-fetch" / "partial").rglob("*.jsonl")
    size = len(details("org/one", right=1)[place.split("details/")[1]])
    assert begun.stat().st_size == size // 2
    hub.faults = {}
    hub.requests.clear()
    assert get(tmp_path, MODELS[:2]).missing == ()
    ranges = [request.split()[2:] for request in hub.requests if place in request]
    assert ranges == [[f"bytes={size // 2}-"]]
    check_whole(tmp_path, MODELS[:2])
    assert not (tmp_path / "musr" / ".mdad-fetch" / "partial" / "org__one").exists()


def test_a_slow_line_that_comes_further_is_no_failure(hub, tmp_path):
    hub.faults = {"GET /cdn": ["truncate"] * 9}  # half of what is left each time
    assert get(tmp_path, ["org/one"], attempts=2).missing == ()
    check_whole(tmp_path, ("org/one",))


def test_a_budget_waits_for_what_is_under_way():
    budget = _budget.Budget(100, 20)
    with budget.room(60):
        budget.keep(5)
    assert budget.used == 25
    with pytest.raises(_budget.OverBudgetError), budget.room(76):
        pass
    budget.keep(10)
    with budget.room(75, begun=10):  # ten of its bytes are there and counted
        assert budget.used == 25


def test_who_does_not_fit_waits_for_who_is_under_way():
    budget, order = _budget.Budget(100, 0), []

    def second():
        with budget.room(60):
            order.append("second")

    with budget.room(60):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.05)
        order.append("first")
        budget.keep(10)
    thread.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FormatError),
        (RuntimeError("a mistake of ours"), RuntimeError),
        (TimeoutError("timed out"), _again.TryLaterError),
        (hub_errors.LocalEntryNotFoundError("nobody there"), _again.TryLaterError),
    ],
)
def test_what_passes_and_what_does_not(error, said, monkeypatch):
    monkeypatch.setattr(_again, "PAUSE", 0.0)
    calls = []

    def call():
        calls.append(1)
        raise error

    with pytest.raises(said):
        _again.attempted(call, _again.Gate(), 3)
    assert len(calls) == (3 if said is _again.TryLaterError else 1)


def test_offline_takes_what_is_there(hub, tmp_path, monkeypatch):
    get(tmp_path, ["org/one"])
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.requests)
    found = get(tmp_path, ["org/one", "org/two"])
    assert [part.status for part in found.parts] == ["there", "offline"]
    assert len(hub.requests) == asked


def test_the_token_is_sent_to_the_hub_and_nowhere_else(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    get(tmp_path, ["org/one"])
    by_place = {"cdn": set(), "hub": set()}
    for asked, token in hub.tokens:
        by_place["cdn" if " /cdn/" in asked else "hub"].add(token)
    assert by_place == {"cdn": {None}, "hub": {"Bearer hf_secret"}}
    text = "".join(p.read_text(errors="replace") for p in tmp_path.rglob("*") if p.is_file())
    assert "hf_secret" not in text


@pytest.mark.usefixtures("hub")
def test_a_disk_that_refuses_is_an_error(tmp_path):
    (tmp_path / "musr").mkdir()
    (tmp_path / "musr" / "org__one").write_text("in the way")
    with pytest.raises(FormatError, match=r"cannot write into .*org__one: "):
        get(tmp_path, ["org/one"])


def test_an_address_that_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    with pytest.raises(SettingError, match="HF_ENDPOINT must begin with http"):
        get(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"benchmark": "mmlu"}, "unknown benchmark"),
        ({"leaderboard": "lmarena"}, "unknown leaderboard"),
        ({"models": []}, "no model was named"),
        ({"models": ["gpt2", "a/b/c", "../x/y"]}, "organisation/name; not so: 'gpt2', 'a/b/c'"),
        ({"workers": 9}, "workers"),
        ({"attempts": 0}, "attempts"),
        ({"max_disk": 0}, "max_disk"),
    ],
)
def test_settings_that_cannot_be(options, said, tmp_path):
    given = {"benchmark": "musr", "models": ["org/one"], "out": tmp_path, **options}
    with pytest.raises(SettingError, match=said):
        fetch(**given)


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SettingError, match=r"pip install 'mdad\[hub\]'"):
        get(tmp_path)


def test_sizes():
    assert [bytes_of(text) for text in ("10", "5k", "1.5G", "2 TB")] == [
        10, 5_000, 1_500_000_000, 2_000_000_000_000,
    ]  # fmt: skip
    with pytest.raises(SettingError, match="got 'a lot'"):
        bytes_of("a lot")


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run ``mdad fetch`` in an empty folder: code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mdad", "fetch", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return run


def test_the_command(hub, tmp_path, command, monkeypatch):
    (tmp_path / "models.txt").write_text("# two of them\norg/one\norg/never  # gone\n\n")
    asked = ("open-llm-leaderboard", "--benchmark", "musr", "--models", "models.txt")
    code, out, err = command(*asked, "--max-disk", "1G")
    assert code == 0
    assert out.startswith("1 of 2 models in musr (1 new; ")
    assert err == "mdad: org/never: gone: there is no such data set, or it is private.\n"
    check_whole(tmp_path, ("org/one",))
    (tmp_path / "models.txt").write_text("org/one\norg/two\n")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    code, out, _ = command(*asked, "--json")
    assert code == 1
    assert [part["status"] for part in json.loads(out)["parts"]] == ["there", "offline"]
    assert len(hub.requests) > 3


def test_bad_input_is_one_paragraph(command, tmp_path):
    (tmp_path / "models.txt").write_text("gpt2\n")
    asked = ("open-llm-leaderboard", "--benchmark", "musr", "--models")
    for arguments, said in (
        ((*asked, "none.txt"), "cannot read none.txt"),
        ((*asked, "models.txt"), "organisation/name"),
        ((*asked, "models.txt", "--max-disk", "lots"), "takes a size"),
        (("lmsys", *asked[1:], "models.txt"), "unknown leaderboard"),
    ):
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("mdad: ")
        assert said in err
        assert err.count("\n") == 1


def test_the_environment_is_honoured_by_a_new_process(hub, tmp_path):
    (tmp_path / "models.txt").write_text("org/one\n")
    found = subprocess.run(
        arguments(),
        cwd=tmp_path,
        env=environment(hub),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
    check_whole(tmp_path, ("org/one",))


def test_public_names():
    assert mdad.fetch is fetch
    assert set(mdad_hub.LEADERBOARDS) == {"open-llm-leaderboard"}
