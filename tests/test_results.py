"""Results on disk: the same bytes however they were made, and nothing half-written among them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from mdad import measures
from mdad.errors import ResultsError
from mdad.experiment import Experiment
from mdad.intervals import Interval
from mdad.results import Results, ScoresFacts, Spec, read_shard, shard_path
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix

EXPERIMENT = Experiment(methods=("random", "random-subtasks-equal"), sizes=(3, 8), runs=4, seed=4)


def scored(seed=0, n_models=20, n_items=30):
    rng = np.random.default_rng(seed)
    return ScoreMatrix(
        rng.integers(0, 2, (n_models, n_items)),
        [f"m{i:02d}" for i in range(n_models)],
        [f"q{i:02d}" for i in range(n_items)],
        [f"t{i % 2}" for i in range(n_items)],
        name="made up",
    )


def completed(seed=0):
    return Completed(scored(seed), (), ())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def results():
    return run_experiment(completed(), EXPERIMENT)


def test_any_number_of_workers_writes_the_same_bytes(tmp_path):
    for n_jobs in (1, 2, 8):
        run_experiment(completed(), EXPERIMENT, out=tmp_path / str(n_jobs), n_jobs=n_jobs)
    one = contents(tmp_path / "1")
    assert sorted(one) == ["experiment.json", *[f"run-{i:05d}.parquet" for i in range(4)]]
    assert contents(tmp_path / "2") == one
    assert contents(tmp_path / "8") == one


def test_saving_and_loading_changes_nothing(tmp_path, results):
    results.save(tmp_path / "a")
    loaded = Results.load(tmp_path / "a")
    assert loaded.spec == results.spec
    assert loaded.models == results.models
    assert (loaded.estimates == results.estimates).all()
    np.testing.assert_array_equal(loaded.standard_errors, results.standard_errors)
    for items in ("seen", "unseen", "all"):
        assert (loaded.full(items) == results.full(items)).all()
        assert loaded.n_items(items) == results.n_items(items)
    interval = Interval(n_resamples=20)
    a, b = (measures.mdad(r, interval=interval) for r in (results, loaded))
    assert a.equals(b)
    loaded.save(tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    # Written while it ran, or afterwards: the same.
    run_experiment(completed(), EXPERIMENT, out=tmp_path / "c")
    assert contents(tmp_path / "c") == contents(tmp_path / "a")


def test_a_name_that_is_no_unicode_is_kept_spelled_out(tmp_path):
    # So Python reads the name of a file that is not UTF-8.
    named = ScoreMatrix(scored().values, scored().models, scored().items, name="caf\udce9")
    for scores in (named, scored()._replace(name="caf\udce9")):
        folder = tmp_path / str(scores is named)
        run_experiment(Completed(scores, (), ()), replace(EXPERIMENT, methods=()), out=folder)
        assert Results.load(folder).spec.scores.name == "caf\\udce9"


def test_the_frame_has_one_row_per_run_method_size_and_model(results):
    frame = results.frame()
    assert len(frame) == 4 * 2 * 2 * 6
    row = frame[
        (frame["run"] == 2) & (frame["method"] == "random-subtasks-equal") & (frame["size"] == 8)
    ].iloc[3]
    assert row["model"] == results.runs[2].models[3]
    assert row["estimate"] == results.estimates[1, 1, 2, 3]
    assert row["unseen"] == results.full("unseen")[2, 3]
    assert row["n_seen"] + row["n_unseen"] == row["n_all"] == 30


def test_an_audit_goes_on_where_it_was_stopped(tmp_path, results):
    results.save(tmp_path / "whole")
    results.save(tmp_path / "part")
    for number in (1, 3):
        shard_path(tmp_path / "part", number).unlink()
    with pytest.raises(ResultsError, match=r"2 of 4 runs in .* are not done \(runs 1, 3\)"):
        Results.load(tmp_path / "part")
    kept = shard_path(tmp_path / "part", 0)
    before, seen = kept.stat().st_mtime_ns, []
    run_experiment(
        completed(), EXPERIMENT, out=tmp_path / "part", progress=lambda *at: seen.append(at)
    )
    assert seen == [(2, 4), (3, 4), (4, 4)]
    assert kept.stat().st_mtime_ns == before
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")


def test_half_written_files_are_no_results(tmp_path, results):
    results.save(tmp_path)
    whole = shard_path(tmp_path, 2).read_bytes()
    shard_path(tmp_path, 2).unlink()
    (tmp_path / "runs" / ".run-00002.parquet.77.partial").write_bytes(whole[:100])
    with pytest.raises(ResultsError, match="1 of 4 runs"):
        Results.load(tmp_path)
    run_experiment(completed(), EXPERIMENT, out=tmp_path)
    assert shard_path(tmp_path, 2).read_bytes() == whole
    assert (Results.load(tmp_path).estimates == results.estimates).all()


@pytest.mark.parametrize("kept", [0, 10, 0.5, -1])
def test_damaged_shards_are_refused_when_read_and_done_again_when_resumed(tmp_path, results, kept):
    results.save(tmp_path)
    path = shard_path(tmp_path, 1)
    whole = path.read_bytes()
    cut = whole[: int(len(whole) * kept) if isinstance(kept, float) else kept]
    path.write_bytes(cut)
    with pytest.raises(ResultsError, match=r"run-00001\.parquet is damaged.*sets it aside"):
        Results.load(tmp_path)
    lines = []
    run_experiment(completed(), EXPERIMENT, out=tmp_path, tell=lines.append)
    assert re.search(r"run-00001\.parquet is damaged.*set aside as run-00001", lines[0])
    assert "1 run to do" in lines[1]
    assert path.read_bytes() == whole
    assert path.with_name("run-00001.parquet.damaged").read_bytes() == cut
    path.write_bytes(cut)
    with pytest.warns(UserWarning, match=r"run-00001\.parquet is damaged.*set aside"):
        run_experiment(completed(), EXPERIMENT, out=tmp_path)
    assert path.read_bytes() == whole


def test_a_changed_byte_anywhere_is_noticed_or_changes_nothing(tmp_path, results):
    results.save(tmp_path)
    path, spec = shard_path(tmp_path, 1), results.spec
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    noticed = 0
    for place in rng.permutation(len(whole))[:300].tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            found = read_shard(tmp_path, 1, spec)
        except ResultsError:
            noticed += 1
            continue
        assert (found.estimates == results.runs[1].estimates).all()
        assert (found.full == results.runs[1].full).all()
        assert found.models == results.runs[1].models
    assert noticed > 200
    path.write_bytes(whole)
    assert read_shard(tmp_path, 1, spec) is not None


def test_shards_without_a_digest_are_read_as_earlier_versions_wrote_them(tmp_path, results):
    results.save(tmp_path)
    path = shard_path(tmp_path, 1)
    table = pq.ParquetFile(path).read()
    metadata = {k: v for k, v in table.schema.metadata.items() if k != b"mdad_digest"}
    assert len(metadata) < len(table.schema.metadata)
    pq.write_table(table.replace_schema_metadata(metadata), path)
    assert (Results.load(tmp_path).estimates == results.estimates).all()
    wrong = {**metadata, b"mdad_digest": b"0" * 32}
    pq.write_table(table.replace_schema_metadata(wrong), path)
    with pytest.raises(ResultsError, match="do not match their digest"):
        Results.load(tmp_path)


def test_a_folder_left_before_its_settings_were_written_is_taken_up(tmp_path, results):
    (tmp_path / "runs").mkdir()
    (tmp_path / ".experiment.json.123.partial").write_bytes(b'{"format": "mdad-res')
    run_experiment(completed(), EXPERIMENT, out=tmp_path)
    assert (Results.load(tmp_path).estimates == results.estimates).all()


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("the only copy")
    with pytest.raises(ResultsError, match="not empty and holds no results"):
        run_experiment(completed(), EXPERIMENT, out=tmp_path)
    (tmp_path / "a" / "runs").mkdir(parents=True)
    (tmp_path / "a" / "runs" / "marathon.gpx").write_text("42 km")
    with pytest.raises(ResultsError, match="not empty and holds no results"):
        run_experiment(completed(), EXPERIMENT, out=tmp_path / "a")


def test_folder_names_with_an_equals_sign_are_no_columns(tmp_path, results):
    folder = tmp_path / "method=random" / "size=10"
    results.save(folder)
    loaded = Results.load(folder)
    assert (loaded.estimates == results.estimates).all()
    assert len(loaded.frame()) == len(results.frame())


def test_another_experiment_is_refused_with_what_differs(tmp_path, results):
    results.save(tmp_path)
    with pytest.raises(ResultsError, match=r"another experiment.*seed: 4, 5"):
        run_experiment(completed(), replace(EXPERIMENT, seed=5), out=tmp_path)
    with pytest.raises(ResultsError, match=r"another experiment.*data_fingerprint"):
        run_experiment(completed(seed=1), EXPERIMENT, out=tmp_path)
    with pytest.raises(ResultsError, match=r"another experiment.*dropped_models"):
        run_experiment(Completed(scored(), ("m99",), ()), EXPERIMENT, out=tmp_path)


def test_shards_of_other_experiments_or_runs_are_refused(tmp_path, results):
    results.save(tmp_path / "a")
    other = run_experiment(completed(), replace(EXPERIMENT, seed=5), out=tmp_path / "b")
    assert other.spec.fingerprint != results.spec.fingerprint
    own = shard_path(tmp_path / "a", 0).read_bytes()
    shard_path(tmp_path / "a", 0).write_bytes(shard_path(tmp_path / "b", 0).read_bytes())
    with pytest.raises(ResultsError, match="another experiment or run"):
        Results.load(tmp_path / "a")
    shard_path(tmp_path / "a", 0).write_bytes(own)
    shard_path(tmp_path / "a", 1).write_bytes(own)
    with pytest.raises(ResultsError, match="another experiment or run"):
        Results.load(tmp_path / "a")


def test_a_shard_without_a_column_is_refused(tmp_path, results):
    results.save(tmp_path)
    path = shard_path(tmp_path, 1)
    table = pq.ParquetFile(path).read()
    pq.write_table(table.drop_columns(["unseen"]), path)
    with pytest.raises(ResultsError, match="unseen"):
        Results.load(tmp_path)
    pq.write_table(table.slice(1), path)
    with pytest.raises(ResultsError, match="run 1 has 23 rows; expected 24"):
        Results.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "damaged"),
        (b"[]", "damaged"),
        (b'{"format": "something else"}', "not an mdad experiment"),
        (b'{"format": "mdad-results", "format_version": 1}', "damaged"),
        (
            b'{"format": "mdad-results", "format_version": 99, "mdad_version": "9.0"}',
            "written by mdad 9.0 in a newer format",
        ),
    ],
)
def test_settings_that_are_none_are_refused(tmp_path, text, message):
    (tmp_path / "experiment.json").write_bytes(text)
    with pytest.raises(ResultsError, match=message):
        Results.load(tmp_path)


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="cannot read"):
        Results.load(tmp_path / "nowhere")


def test_the_spec_survives_json_and_another_version_is_the_same_experiment(tmp_path, results):
    path = tmp_path / "experiment.json"
    path.write_bytes(results.spec.to_json())
    assert Spec.read(path) == results.spec
    newer = replace(results.spec, version="9.9")
    assert newer.fingerprint == results.spec.fingerprint
    assert results.spec.difference(newer) == []


def test_the_order_of_dropped_ids_identifies_nothing():
    a, b = (
        run_experiment(
            Completed(scored(), dropped, dropped), replace(EXPERIMENT, runs=1)
        ).spec.fingerprint
        for dropped in (("x", "y"), ("y", "x"))
    )
    assert a == b


def test_merging_puts_methods_side_by_side(results):
    parts = [
        run_experiment(completed(), replace(EXPERIMENT, methods=(name,)))
        for name in EXPERIMENT.methods
    ]
    merged = Results.merge(parts)
    assert merged.spec == results.spec
    assert (merged.estimates == results.estimates).all()
    np.testing.assert_array_equal(merged.standard_errors, results.standard_errors)
    assert Results.merge(parts[:1]).spec == parts[0].spec


def test_merging_what_does_not_belong_together_is_refused(results):
    for other, text in (
        (run_experiment(completed(), replace(EXPERIMENT, seed=5)), "seed: 4, 5"),
        (run_experiment(completed(seed=1), EXPERIMENT), "data_fingerprint"),
        (results, "method occurs in more than one part"),
    ):
        with pytest.raises(ResultsError, match=text):
            Results.merge([results, other])


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
import test_results
from mdad.runner import run_experiment
test_results.run_experiment(
    test_results.big(), test_results.LONG, out=sys.argv[1], n_jobs=int(sys.argv[3])
)
"""
LONG = replace(EXPERIMENT, runs=60)


def big():
    return Completed(scored(n_models=60, n_items=3000), (), ())


@pytest.mark.parametrize(("n_jobs", "kills"), [(1, (1, 20, 40)), (2, (20,))])
def test_kill_minus_9_leaves_only_whole_results(tmp_path, n_jobs, kills):
    run_experiment(big(), LONG, out=tmp_path / "whole")
    whole, folder = contents(tmp_path / "whole"), tmp_path / "killed"
    killed = 0
    for wanted in kills:
        command = [sys.executable, "-c", KILLED, folder, Path(__file__).parent, str(n_jobs)]
        process = subprocess.Popen(command, start_new_session=True)
        while process.poll() is None and len(shards(folder)) < wanted:
            time.sleep(0.001)
        os.killpg(process.pid, signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        # Whatever stands under the name of a result is whole, byte by byte.
        for name in shards(folder):
            assert (folder / "runs" / name).read_bytes() == whole[name]
    assert killed > 0
    run_experiment(big(), LONG, out=folder)
    found = {name: text for name, text in contents(folder).items() if ".partial" not in name}
    assert found == whole
    assert len(Results.load(folder).runs) == 60


def shards(folder):
    runs = folder / "runs"
    return [path.name for path in runs.glob("run-*.parquet")] if runs.is_dir() else []


def test_a_setting_more_in_a_later_version_leaves_results_readable(tmp_path):
    facts = ScoresFacts(
        name="s",
        simulated=False,
        kind="graded",
        score_range=(0.0, 1.0),
        n_models=20,
        n_items=9,
        n_subtasks=0,
        data_fingerprint="d",
        items_fingerprint="i",
    )
    spec = Spec(Experiment(runs=3, seed=4), facts)
    document = json.loads(spec.to_json())
    # As written before the setting existed: it is not there, and was what its default says.
    del document["experiment"]["groups"]
    (tmp_path / "experiment.json").write_text(json.dumps(document))
    older = Spec.read(tmp_path / "experiment.json")
    assert older.fingerprint == spec.fingerprint
    newer = Spec(replace(spec.experiment, aggregate="macro"), facts)
    assert newer.fingerprint != spec.fingerprint
