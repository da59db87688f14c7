"""The smaller log formats: logs as the harnesses write them, made here, and their faults."""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from mdad import loaders
from mdad.errors import MdadError, SettingError
from mdad.loaders import every_eval_ever
from mdad.scores import ScoreMatrix
from small_logs import (
    CONFIDENCE,
    CORRECTNESS,
    NAN,
    SAMPLES,
    Lines,
    Sample,
    attempt,
    cells,
    comparison,
    eee_aggregate,
    eee_row,
    event,
    failure,
    floats,
    helm_run,
    oai_spec,
    problem,
    read,
    same,
    swe_report,
    trial,
    zero,
)


def written(folder, files, **options):
    """Write files of a made-up log and load the folder."""
    Sample("", files, {}).write(folder)
    return read(folder, **options)


def message(folder, files, **options):
    """How a made-up log is refused: one paragraph, with a file's name before the colon."""
    with pytest.raises(MdadError) as caught:
        written(folder, files, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
    return text


# ---- every format, as files made here


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_small_log_of_every_format(name, folder):
    sample = SAMPLES[name]
    options = sample.write(folder)
    found = loaders.load_with_report(folder, cache=False, **options)
    assert found.report.format == name
    assert same(cells(found.scores), floats(sample.scores))
    assert same(cells(read(folder, format=name, **options)), floats(sample.scores))


@pytest.mark.parametrize("name", SAMPLES)
def test_bad_folders_of_every_format_are_refused(name, folder):
    (folder / "notes.json").write_text("[]")
    options = {"metric": "dps"} if name == "evalperf" else {}
    with pytest.raises(MdadError):
        read(folder, format=name, **options)


# The names of the files of the other two are fixed.
@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"helm", "paper-arrays"}))
def test_gzip_and_a_byte_order_mark_change_nothing(name, folder):
    sample = SAMPLES[name]
    options = sample.write(folder)
    first = folder / next(iter(sample.files))
    packed = first.with_name(f"{first.name}.gz")
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + first.read_bytes()))
    first.unlink()
    assert same(cells(read(folder, **options)), floats(sample.scores))


def test_every_small_format_has_a_sample():
    others = {"inspect", "lm-eval", "open-llm-leaderboard"}
    logs = {name for name, loader in loaders.LOADERS.items() if loader.logs}
    assert logs - others == set(SAMPLES)


# ---- errors are not wrong, and wrong is not missing


@pytest.mark.parametrize(
    ("name", "model", "item"),
    [
        ("helm", "org/a", "mmlu:subject=law/id12"),
        ("swebench", "gpt-4.1.run1", "b__b-4"),
        ("every-eval-ever", "org/m", "gsm8k/3"),
        ("terminal-bench", "terminus:org/m", "c"),
        ("mint", "gpt (F=None, max5)", "gsm8k/2"),
    ],
)
def test_an_error_is_missing_unless_asked_for(name, model, item, folder):
    SAMPLES[name].write(folder)
    found = loaders.load_with_report(folder, cache=False)
    assert math.isnan(cells(found.scores)[model][item])
    assert any("missing" in text for text in found.report.dropped)
    assert cells(read(folder, errors="wrong"))[model][item] == 0
    with pytest.raises(SettingError, match="unknown errors 'right'"):
        read(folder, errors="right")


# ---- lists, texts and NaN are no scores


BAD_VALUES = ([True, False], "1", {"x": 1}, "C")


@pytest.mark.parametrize("value", BAD_VALUES, ids=str)
def test_values_that_are_no_numbers(value, folder):
    files = {
        "x.jsonl": Lines([{"subject_id": "a", "responses": {"q1": 1, "q2": value}}]),
    }
    text = message(folder, files)
    assert text.startswith("x.jsonl: line 1 ('q2') has response of the kind")
    assert "nothing is guessed" in text
    assert cells(read(folder, strict=False)) == {"a": {"q1": 1}}


def test_nan_and_null_are_missing(folder):
    rows = [{"subject_id": "a", "responses": {"q1": 1, "q2": NAN, "q3": None}}]
    assert same(
        cells(written(folder, {"x.jsonl": Lines(rows)})), {"a": {"q1": 1.0, "q2": NAN, "q3": NAN}}
    )


@pytest.mark.parametrize("value", [1.2, -0.5, 100])
def test_values_out_of_range(value, folder):
    text = message(folder, {"u_samples.jsonl": Lines([eee_row("1", value), eee_row("2", 1)])})
    assert "outside the range from 0 to 1" in text
    assert text.startswith("u_samples.jsonl: line 1 ")


def test_infinite_values(folder):
    rows = "".join(json.dumps(eee_row(item, 0.5)) + "\n" for item in "12")
    rows = "1e999".join(rows.rsplit("0.5", 1))
    text = message(folder, {"u_samples.jsonl": rows.encode()})
    assert text.startswith("u_samples.jsonl: line 2 ")
    assert "out of range" in text or "outside the range" in text


# ---- duplicates and ids


def test_ids_1_and_text_1_collide(folder):
    files = {"results/llama/x_eval_all.json": [problem(1, [True]), problem("1", [False])]}
    text = message(folder, files)
    assert "one more record of item '1'" in text
    assert "scores 1 and 0" in text


@pytest.mark.parametrize("again", [1, 0])
def test_helm_instances_twice(again, folder):
    files = helm_run("org/a", {"id1": 1, "id2": 0})
    name = next(iter(files))
    files[name] += helm_run("org/a", {"id1": again})[name]
    text = message(folder, files)
    assert "record 3" in text or "entry 3" in text
    assert "id1" in text


def test_helm_runs_twice(folder):
    files = helm_run("org/a", {"id1": 1})
    files |= {f"again/{name}": contents for name, contents in files.items()}
    assert "was run in more than one folder" in message(folder, files)


def test_helm_trials_are_averaged_and_perturbations_left_out(folder):
    files = helm_run("org/a", {"id1": 1, "id2": 0})
    name = next(iter(files))
    second, strange = helm_run("org/a", {"id1": 0})[name] * 1, helm_run("org/a", {"id2": 1})[name]
    second[0]["train_trial_index"] = 1
    strange[0]["perturbation"] = {"name": "typos"}
    files[name] += second + strange
    found = cells(written(folder, files))["org/a"]
    assert found == {"mmlu:subject=law/id1": 0.5, "mmlu:subject=law/id2": 0}


def test_helm_needs_the_specification(folder):
    files = helm_run("org/a", {"id1": 1})
    files = {name: contents for name, contents in files.items() if "spec" not in name}
    assert "there is no run_spec.json beside it" in message(folder, files)


def test_a_metric_that_is_not_there_is_not_replaced(folder):
    text = message(folder, helm_run("org/a", {"id1": 1}), metric="quasi_exact_match")
    assert "no metric 'quasi_exact_match'; found: 'exact_match'" in text


def test_two_py_irt_lines_of_one_model(folder):
    rows = [{"subject_id": "a", "responses": {"q": 1}}, {"subject_id": "a", "responses": {"p": 1}}]
    assert "second line of 'a', first on 1" in message(folder, {"x.jsonl": Lines(rows)})


def test_bfcl_counts_must_agree(folder):
    head = {"accuracy": 0.5, "correct_count": 2, "total_count": 4}
    name = "score/raven/rest_score.json"
    assert "counts 2 right of 4 but lists 1 failure" in message(
        folder, {name: Lines([head, failure(0)])}
    )
    assert "do not fit the 4 items" in message(
        folder, {name: Lines([head, failure(0), failure(9)])}
    )
    assert "second failure of 'rest_0'" in message(
        folder, {name: Lines([head, failure(0), failure(0)])}
    )


def test_bfcl_takes_ids_from_results_beside(folder):
    head = {"accuracy": 0.5, "correct_count": 1, "total_count": 2}
    files = {
        "score/raven/BFCL_v3_live_simple_score.json": Lines(
            [head, {"id": "live_simple_1-1-0", "valid": False, "prompt": {}}]
        ),
        "result/raven/BFCL_v3_live_simple_result.json": Lines(
            [{"id": "live_simple_0-0-0", "result": "f()"}, {"id": "live_simple_1-1-0"}]
        ),
    }
    assert cells(written(folder, files)) == {
        "raven": {"live_simple_0-0-0": 1, "live_simple_1-1-0": 0}
    }


def test_evalplus_base_is_not_taken_for_plus(folder):
    files = {"m_eval_results.json": {"hash": "x", "eval": {"HumanEval/0": [attempt("pass", None)]}}}
    assert "has no 'plus' outcome" in message(folder, files)
    assert cells(read(folder, metric="base")) == {"m": {"HumanEval/0": 1}}


def test_swebench_reports_must_be_consistent(folder):
    report = swe_report(["a-1"], ["a-2"])
    assert "resolved_instances is 7" in message(
        folder, {"m.json": {**report, "resolved_instances": 7}}
    )
    assert "more than one outcome: 'a-1'" in message(
        folder, {"m.json": swe_report(["a-1"], ["a-1"])}
    )
    assert "but not submitted: 'a-2'" in message(
        folder, {"m.json": {**report, "submitted_ids": ["a-1"], "submitted_instances": 1}}
    )


def test_livecodebench_pass_rate_must_agree(folder):
    text = message(folder, {"m.eval_all.json": [{**problem("1", [True]), "pass@1": 0.0}]})
    assert "has pass@1 0, but 1 of its attempts pass" in text


def test_openai_evals_report_must_agree_and_the_newest_run_counts(folder):
    log = [oai_spec(), event(0, "s.1", "match", correct=True), {"final_report": {"accuracy": 0.5}}]
    assert "reports the accuracy 0.5 but its matches give 1" in message(
        folder, {"a.jsonl": Lines(log)}
    )
    newer = [oai_spec(created="2024-02-01"), event(0, "s.1", "match", correct=False)]
    found = written(folder, {"a.jsonl": Lines(log[:2]), "b.jsonl": Lines(newer)})
    assert cells(found) == {"gpt": {"s.1": 0}}


def test_openai_evals_metrics(folder):
    log = [oai_spec(), event(0, "s.1", "metrics", bleu=0.5, chrf=0.25)]
    assert "2 metrics and none was chosen: 'bleu', 'chrf'" in message(
        folder, {"a.jsonl": Lines(log)}
    )
    assert cells(read(folder, metric="chrf")) == {"gpt": {"s.1": 0.25}}


def test_alpaca_eval_refuses_to_mix(folder):
    files = {
        "m/judge/annotations.json": [comparison("a", 1)],
        "n/judge/annotations.json": [comparison("a", 2, "n", baseline="other")],
    }
    assert "several baselines" in message(folder, files)
    mixed = {"x.json": [comparison("a", 1), comparison("b", 2, judge="second")]}
    for path in folder.rglob("*.json"):
        path.unlink()
    assert "by several judges" in message(folder, mixed)
    assert "no judge 'gpt5'; found: 'judge'" in message(
        folder, {"x.json": [comparison("a", 1)]}, scorer="gpt5"
    )


def test_terminal_bench_without_a_name(folder):
    files = {
        "results.json": {"id": "x", "results": [{**trial("a", resolved=True), "trial_name": "a"}]}
    }
    assert "its trials name 0 runs" in message(folder, files)


def test_zeroeval_refuses_what_it_cannot_compare(folder):
    files = {"z.json": [zero("q", '{"answer": "B"}', "B")]}
    assert "has no number as its right answer" in message(folder, files)


def test_opencompass_numbers_must_be_whole(folder):
    details = {"type": "GEN", "5": {"correct": True}, "6": {"correct": False}}
    text = message(folder, {"results/m/x.json": {"accuracy": 50, "details": details}})
    assert "numbered from 0 without a gap" in text


def test_opencompass_exact_rule(folder):
    row = {"origin_prompt": "?", "prediction": " 4\n", "gold": "4"}
    files = {"predictions/m/sum.json": {"0": row, "1": {**row, "prediction": "5"}}}
    assert cells(written(folder, files, rule="exact")) == {"m": {"sum/0": 1, "sum/1": 0}}
    with pytest.raises(SettingError, match="unknown rule"):
        read(folder, rule="exakt")


# ---- every_eval_ever


def test_eee_metrics_are_not_mixed(folder):
    rows = [eee_row("1", 1, "acc"), eee_row("1", 0.25, "f1"), eee_row("2", 0, "acc")]
    files = {"u_samples.jsonl": Lines(rows)}
    assert "2 metrics and none was chosen: 'acc', 'f1'" in message(folder, files)
    assert cells(read(folder, metric="acc")) == {"org/m": {"gsm8k/1": 1, "gsm8k/2": 0}}
    with pytest.raises(MdadError, match="no metric 'em'; found: 'acc', 'f1'"):
        read(folder, metric="em")


def test_eee_takes_the_range_and_refuses_lower_is_better(folder):
    rows = Lines([eee_row("1", 62.5), eee_row("2", 0.0)])
    files = {"u_samples.jsonl": rows, "u.json": eee_aggregate(("acc", False, 0, 100))}
    scores = written(folder, files)
    assert scores.score_range == (0, 100)
    files["u.json"] = eee_aggregate(("acc", True, 0, 100))
    assert "a lower score is better" in message(folder, files)


def test_eee_writes_what_it_reads(tmp_path):
    scores = ScoreMatrix(
        [[1, 0, NAN], [0, 1, 1], [NAN, NAN, NAN]], ["org/a", "b", "c"], ["q1", "q2", "x/y"],
        ["one", "one", "two"], name="Bench (v1)",
    )  # fmt: skip
    paths = every_eval_ever.write(scores, tmp_path / "out", timestamp=0)
    assert [p.parent.relative_to(tmp_path / "out").as_posix() for p in paths] == [
        "data/Bench_v1/org/a", "data/Bench_v1/unknown/b"
    ]  # fmt: skip
    again = every_eval_ever.write(scores, tmp_path / "twice", timestamp=0)
    assert [p.read_bytes() for p in paths] == [p.read_bytes() for p in again]
    found = read(tmp_path / "out")
    expected = scores.restrict(models=["b", "org/a"])
    assert same(cells(found), cells(expected))
    assert dict(zip(found.items, found.subtasks, strict=True)) == {
        "q1": "one", "q2": "one", "x/y": "two"
    }  # fmt: skip


def test_eee_files_have_what_the_schema_requires(tmp_path):
    graded = ScoreMatrix([[7, 10.0]], ["org/a"], ["p", "q"], score_range=(0, 10), name="g")
    (path,) = every_eval_ever.write(graded, tmp_path, timestamp=5)
    aggregate = json.loads(path.read_text())
    assert {
        "schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info",
        "eval_library", "evaluation_results",
    } <= aggregate.keys()  # fmt: skip
    (result,) = aggregate["evaluation_results"]
    assert result["metric_config"]["score_type"] == "continuous"
    assert (result["metric_config"]["min_score"], result["metric_config"]["max_score"]) == (0, 10)
    assert result["score_details"]["score"] == 8.5
    detailed = aggregate["detailed_evaluation_results"]
    samples = (tmp_path / detailed["file_path"]).read_text().splitlines()
    assert len(samples) == detailed["total_rows"] == 2
    record = json.loads(samples[0])
    assert {
        "schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id",
        "interaction_type", "input", "answer_attribution", "evaluation", "output",
    } <= record.keys()  # fmt: skip
    assert record["evaluation_id"] == aggregate["evaluation_id"]
    assert read(tmp_path).score_range == (0, 10)
    with pytest.raises(SettingError, match="collection must be given"):
        every_eval_ever.write(ScoreMatrix([[1]], ["a"], ["q"]), tmp_path)


# ---- the paper's own files


def test_the_papers_arrays_have_options(folder):
    SAMPLES["paper-arrays"].write(folder)
    scores = read(folder)
    assert scores.option_probabilities.shape == (2, 3, 3)
    assert np.isnan(scores.option_probabilities[:, :, 2]).all()  # padding is no option
    assert scores.probabilities[0] == pytest.approx([0.7, 0.4, 0.9])
    assert scores.right_options.tolist() == [0, 0, 0]


def arrays(name, models=("a", "b"), **changed):
    files = {
        "models-by-correctness.npy": CORRECTNESS,
        "models-by-confidence.npy": CONFIDENCE,
        "labels.npy": np.array([0, 0, 0]),
        "model-names-in-order.json": list(models),
    } | {key.replace("_", "-"): value for key, value in changed.items()}
    return {f"{name}_{key}": value for key, value in files.items() if value is not None}


def test_the_papers_arrays_must_fit(folder):
    def refused(files):
        for path in folder.iterdir():
            path.unlink()
        return message(folder, files)

    assert "other models" in refused(arrays("art") | arrays("law", ("b", "a")))
    files = arrays("law")
    files["law_models-by-correctness.npy"] = np.array([[1, {}], [0, 1]], dtype=object)
    assert "never opened" in refused(files)
    files = arrays("law")
    del files["law_model-names-in-order.json"]
    assert "no law_model-names-in-order.json beside it" in refused(files)
    files = arrays("law")
    del files["law_labels.npy"]
    assert "no law_labels.npy beside it" in refused(files)
    files = arrays("law")
    files["law_models-by-confidence.npy"] = CONFIDENCE - 1
    assert "outside 0 and 1" in refused(files)
    assert "names 3 models" in refused(arrays("law", ("a", "b", "c")))


def test_the_papers_arrays_with_subtask_ranges(folder, tmp_path):
    SAMPLES["paper-arrays"].write(folder)
    (tmp_path / "ranges.json").write_text('{"first": [0, 1], "rest": [1, 3]}')
    scores = read(folder, subtask_ranges=tmp_path / "ranges.json")
    assert scores.items == ("first/0", "rest/0", "rest/1")
    (tmp_path / "ranges.json").write_text('{"first": [0, 2], "rest": [1, 3]}')
    with pytest.raises(MdadError, match="overlaps another"):
        read(folder, subtask_ranges=tmp_path / "ranges.json")


def test_the_papers_table_with_a_row_missing(folder):
    text = 'a,b,subtask_range,subset\n1,0,"(0, 1)",law\n1,0,"(2, 3)",art\n'
    assert "rows are missing, or in another order" in message(folder, {"s.csv": text.encode()})


# ---- option logits


def test_option_logits_need_keys_for_every_item(folder):
    files = {**SAMPLES["option-logits"].files, "../right.csv": b"item,right\nnaep/a,A\n"}
    text = message(folder, files, right=folder.parent / "right.csv")
    assert "the right option is not given" in text
    files["../right.csv"] = b"item,right\nnaep/a,A\nnaep/b,D\n"
    text = message(folder, files, right=folder.parent / "right.csv")
    assert "has 3 options for 'naep/b', but the right one is number 3" in text


def test_no_file_in_a_link_that_leaves_the_folder(folder, tmp_path):
    files = helm_run("org/a", {"id1": 1})
    Sample("", files, {}).write(folder)
    spec = next(folder.rglob("run_spec.json"))
    (tmp_path / "elsewhere.json").write_bytes(spec.read_bytes())
    spec.unlink()
    try:
        spec.symlink_to(tmp_path / "elsewhere.json")
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(MdadError, match=r"there is no run_spec\.json"):
        read(Path(folder))


# ---- documentation and command line


def test_every_format_has_a_paragraph():
    page = (Path(__file__).resolve().parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    logs = [name for name, loader in loaders.LOADERS.items() if loader.logs]
    assert [name for name in logs if f"**`{name}`**" not in page] == []


def test_options_of_one_format_on_the_command_line(folder):
    from typer.testing import CliRunner  # noqa: PLC0415

    from mdad.cli import app  # noqa: PLC0415

    options = SAMPLES["option-logits"].write(folder)

    def ran(*more):
        return CliRunner().invoke(app, ["load", str(folder), *more])

    shown = ran("--option", f"right={options['right']}", "--option", "order=0")
    assert shown.exit_code == 0, shown.output
    assert "most probable option, order 0" in shown.output
    for wrong in ("right", "metric=x", "=x"):
        result = ran("--option", wrong)
        assert isinstance(result.exception, SettingError)
        assert "must be NAME=VALUE" in str(result.exception)
