"""Logs of lm-evaluation-harness: genuine files by hand, and everything that goes wrong in them.

Numbers in names of tests are those of the list of user cases the project works from.
"""

import json
import math
import tempfile
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_logs import STAMP, generation, lm_record, lm_run, write_lines
from mdad import loaders
from mdad.errors import FormatError, MdadError, SettingError
from mdad.loaders._lm_eval_gold import choice_scores, softmax_of

NEWER = "2026-02-01T00-00-00.000001"


def softmax(scores, gold):
    """As on paper: no shift, no clipping."""
    weights = [math.exp(score) for score in scores]
    return weights[gold] / sum(weights)


# Genuine files


def test_a_folder_of_old_and_new_records(shared_formats):
    scores, report = loaders.load_with_report(shared_formats / "lm_eval", metric="default")
    qwen = "RylanSchaeffer/mem_Qwen3-93M_minerva_math_rep_0_sbst_1.0000_epch_1_ot_1"
    assert scores.models == (qwen, "lm_eval")  # the old ones have no results file
    assert report.subtasks == {
        "math_perturbed_full": 10,
        "metabench_arc_secondary": 12,
        "metabench_gsm8k_secondary": 12,
        "metabench_mmlu_secondary": 12,
        "metabench_truthfulqa_secondary": 12,
        "metabench_winogrande_secondary": 106,
    }
    frame = pd.DataFrame(scores.values.T, scores.items, scores.models)

    def column(model, task, count):
        return [frame.loc[f"{task}/{i}", model] for i in range(count)]

    assert column(qwen, "math_perturbed_full", 10) == [0] * 10
    assert column("lm_eval", "metabench_gsm8k_secondary", 12) == [0] * 12
    assert column("lm_eval", "metabench_arc_secondary", 12) == [0] * 6 + [1] + [0] * 5
    # By acc, as the file's last field of every line says.
    assert column("lm_eval", "metabench_mmlu_secondary", 12) == [0] * 8 + [1, 0, 0, 1]
    assert column("lm_eval", "metabench_truthfulqa_secondary", 12) == [0, 1, 1] + [0] * 9
    first = [0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0]
    assert column("lm_eval", "metabench_winogrande_secondary", 12) == first
    assert np.isnan(column(qwen, "metabench_winogrande_secondary", 106)).all()
    assert report.used["metric"]["acc_norm"] == ["metabench_arc_secondary"]
    assert report.used["filter"] == {"none": ["math_perturbed_full"]}
    assert (report.n_files, report.n_ignored) == (7, 1)
    hashes = scores.item_info["content_hash"]
    assert hashes["metabench_winogrande_secondary/0"].startswith("8ae202ab8e77b4d0")


def test_probabilities_of_genuine_files(shared_formats):
    scores = loaders.load(shared_formats / "lm_eval", metric="default")
    layer = dict(zip(scores.items, scores.probabilities[1].tolist(), strict=True))
    # Position 1 of ARC's first question, 3 and 2 of MMLU's first and ninth.
    expected = {
        "metabench_arc_secondary/0": softmax([-30.328125, -32.71875, -29.0, -27.53125], 1),
        "metabench_mmlu_secondary/0": softmax(
            [-3.37109375, -4.37109375, -0.37060546875, -3.37109375], 3
        ),
        "metabench_mmlu_secondary/8": softmax(
            [-2.06640625, -2.06640625, -1.06640625, -3.06640625], 2
        ),
        # Winogrande has one continuation for both choices; acc 0 says the first, -59, is wrong
        # or right: -58.625 is likelier, so the first is correct.
        "metabench_winogrande_secondary/0": softmax([-59.0, -58.625], 0),
    }
    for item, value in expected.items():
        assert layer[item] == pytest.approx(value, rel=1e-5)
    assert math.isnan(layer["metabench_gsm8k_secondary/0"])  # 9: NaN for generation, not 0
    assert np.isnan(scores.probabilities[0]).all()


def test_results_with_samples_inside(shared_formats):
    folder = shared_formats / "lm_eval_results_with_samples_inside"
    with pytest.raises(SettingError, match=r"there are 4 metrics and none was chosen: 'inst_level"):
        loaders.load(folder)
    scores, report = loaders.load_with_report(folder, metric="default")
    assert scores.models == ("Qwen/Qwen3-8B",)
    assert scores.n_items == len(scores.subtask_positions) == 39
    values = dict(zip(scores.items, scores.values[0].tolist(), strict=True))
    assert values["leaderboard_mmlu_pro/0"] == 1
    assert values["leaderboard_bbh_causal_judgement/0"] == 0
    assert values["leaderboard_ifeval/0"] == 0
    assert values["leaderboard_math_algebra_hard/0"] == 1
    assert values["leaderboard_math_geometry_hard/0"] == 0
    assert sum(values.values()) == 20
    layer = dict(zip(scores.items, scores.probabilities[0].tolist(), strict=True))
    gpqa = [-11.8125, -6.96875, -8.75, -7.15625]
    assert layer["leaderboard_gpqa_main/0"] == pytest.approx(softmax(gpqa, 3), rel=1e-5)  # "(D)"
    musr = softmax([-18.125, -15.4375, -13.0], 1)  # "producer's desk", the second place
    assert layer["leaderboard_musr_object_placements/0"] == pytest.approx(0.0799, abs=1e-4)
    assert musr == pytest.approx(0.0799, abs=1e-4)
    assert "run with --limit, on the first items only: 'Qwen/Qwen3-8B'" in report.suspicious
    # As the results of the same file say: exact_match of 7 tasks .2857, acc_norm of 30 .5667.
    assert sum(values[f"{t}/0"] for t in report.used["metric"]["exact_match"]) / 7 == 2 / 7
    assert sum(values[f"{t}/0"] for t in report.used["metric"]["acc_norm"]) / 30 == 17 / 30


# Models and runs


def test_models_and_tasks_of_nested_folders(tmp_path):
    lm_run(tmp_path / "deep" / "er", "org/b", [lm_record(0), lm_record(1, 0.0)])
    lm_run(tmp_path, "org/a", [lm_record(1), lm_record(0, 0.0)])
    lm_run(tmp_path, "org/a", [lm_record(0)], task="mmlu_law")
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.models == ("org/a", "org/b")
    assert scores.items == ("arc/0", "arc/1", "mmlu_law/0")
    assert scores.subtasks == ("arc", "arc", "mmlu_law")
    np.testing.assert_array_equal(scores.values, [[0, 1, 1], [1, 0, np.nan]])
    assert scores.probabilities[0, 1] == pytest.approx(softmax([-2, -1], 1))
    assert [model.coverage for model in report.models] == [1, pytest.approx(2 / 3)]


def test_re_runs_the_newest_is_taken_and_said(tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0, 0.0)])
    lm_run(tmp_path, "org/a", [lm_record(0, 1.0)], stamp=NEWER)
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.values.tolist() == [[1]]
    assert report.chosen[0].startswith(
        f"org/a / arc: the newest of 2 runs, org__a/samples_arc_{NEWER}.jsonl; not org__a/"
    )


def test_one_model_in_two_folders_is_refused_or_named_by_folder(tmp_path):
    for shots, score in (("0-shot", 0.0), ("5-shot", 1.0)):
        lm_run(tmp_path / shots, "org/a", [lm_record(0, score)])
    with pytest.raises(FormatError, match=r"in more than one folder: .*--model-names folder"):
        loaders.load(tmp_path)
    scores = loaders.load(tmp_path, model_names="folder")
    assert scores.models == ("0-shot/org__a", "5-shot/org__a")
    assert scores.values.tolist() == [[0], [1]]
    with pytest.raises(SettingError, match="model_names"):
        loaders.load(tmp_path, model_names="file")


def test_two_files_of_one_run_without_a_time_are_refused(tmp_path):
    write_lines(tmp_path / "m" / "samples_arc.jsonl", [lm_record(0)])
    write_lines(tmp_path / "m" / "arc.jsonl", [lm_record(0)])
    with pytest.raises(FormatError, match=r"2 files hold the same run \(m / arc\)"):
        loaders.load(tmp_path)


def test_where_the_name_of_a_model_comes_from(tmp_path):
    path = write_lines(tmp_path / "org__name" / f"samples_arc_{STAMP}.jsonl", [lm_record(0)])
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.models == ("org/name",)
    assert "named after their folders" in report.suspicious[0]
    for results, expected in (
        ({"model_name": "x/y"}, "x/y"),
        ({"config": {"model_args": "pretrained=p/q,dtype=float"}}, "p/q"),
        ({"config": {"model_args": {"model": "api/m"}}}, "api/m"),
        ({"config": {}}, "org/name"),
    ):
        document = {"results": {"arc": {"acc,none": 1}}, **results}
        (path.parent / f"results_{STAMP}.json").write_text(json.dumps(document))
        assert loaders.load(tmp_path).models == (expected,)
        assert loaders.load(path).models == (expected,)  # the file alone, too


def test_a_run_with_a_limit_is_a_prefix(tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(i) for i in range(4)])
    limited = {"config": {"model_args": "", "limit": 2.0}}
    lm_run(tmp_path, "org/b", [lm_record(i) for i in range(2)], **limited)
    scores, report = loaders.load_with_report(tmp_path)
    np.testing.assert_array_equal(scores.values, [[1, 1, 1, 1], [1, 1, np.nan, np.nan]])
    assert "run with --limit, on the first items only: 'org/b'" in report.suspicious
    assert any(
        text.startswith("arc: 2 of 4 items were scored for all 2") for text in report.suspicious
    )


# The cases


def test_3_several_filters_need_a_choice(tmp_path):
    rows = [
        generation(i, float(i == j), filter=name)
        for i in range(2)
        for j, name in enumerate(("strict-match", "flexible-extract"))
    ]
    lm_run(tmp_path, "org/a", rows, task="gsm8k")
    expected = "there are 2 filters and none was chosen: 'flexible-extract', 'strict-match'"
    for strict in (True, False):
        with pytest.raises(SettingError, match=expected):
            loaders.load(tmp_path, strict=strict)
    assert loaders.load(tmp_path, filter="strict-match").values.tolist() == [[1, 0]]
    scores, report = loaders.load_with_report(tmp_path, filter="flexible-extract")
    assert scores.values.tolist() == [[0, 1]]  # never 2n, never the mean
    assert report.used["filter"] == {"flexible-extract": ["gsm8k"]}
    with pytest.raises(SettingError, match="there is no filter of task gsm8k 'none'; found"):
        loaders.load(tmp_path, filter="none")
    lm_run(tmp_path / "x", "org/b", [generation(0, filter="strict-match")], task="gsm8k")
    lm_run(tmp_path / "x", "org/c", [generation(0, filter="none")], task="gsm8k")
    with pytest.raises(SettingError, match=r"gsm8k: the filter is 'strict-match' in .* 'none' in"):
        loaders.load(tmp_path / "x")


def test_4_the_order_of_several_gpus_changes_nothing(tmp_path):
    rows = [lm_record(i, float(i % 3 == 0)) for i in range(12)]
    strided = [rows[i] for rank in range(4) for i in range(rank, 12, 4)]
    lm_run(tmp_path / "one", "org/a", rows)
    lm_run(tmp_path / "many", "org/a", strided)
    one, many = (loaders.load(tmp_path / name, name="") for name in ("one", "many"))
    assert one.items == many.items
    assert one.data_fingerprint == many.data_fingerprint
    np.testing.assert_array_equal(one.probabilities, many.probabilities)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([lm_record(1, 1.0), lm_record("1", 0.0)], r"line 2 .*first at 1 \(scores 1 and 0\)"),
        ([lm_record(1), lm_record(2), lm_record(1)], r"line 3 .*first at 1 \(the same score\)"),
    ],
)
def test_5_duplicates_are_refused_with_their_lines(rows, expected, tmp_path):
    lm_run(tmp_path, "org/a", rows)
    with pytest.raises(MdadError, match=expected):
        loaders.load(tmp_path)


def test_6_other_keys_and_their_overlap(tmp_path):
    asked = [{"doc": {"question": f"q{i}"}, "doc_hash": f"h{i}"} for i in range(4)]
    lm_run(tmp_path, "org/a", [lm_record(i, float(i == 0), **asked[i]) for i in range(3)])
    shuffled = [lm_record(i + 1, float(i == 0), **asked[i]) for i in range(3)]
    lm_run(tmp_path, "org/b", shuffled)
    report = loaders.load_with_report(tmp_path)[1]
    expected = (
        "arc: 2 of 4 items were scored for all 2 models by the key doc_id; 3 of 3 would be by "
        "doc_hash"
    )
    assert expected in report.suspicious
    for key in ("doc_hash", "question"):
        scores, report = loaders.load_with_report(tmp_path, item_key=key)
        assert scores.values.tolist() == [[1, 0, 0], [1, 0, 0]]
        assert not any("scored for all" in text for text in report.suspicious)
    for key in ("answer", "target_hash"):
        with pytest.raises(FormatError, match=f"line 1 has no {key} that could be an item's id"):
            loaders.load(tmp_path, item_key=key)


def test_6_hashes_that_change_with_the_order_of_choices_are_said(tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0), lm_record(1)], task="gpqa")
    lm_run(tmp_path, "org/b", [lm_record(0), lm_record(1, doc_hash="other")], task="gpqa")
    scores, report = loaders.load_with_report(tmp_path)
    assert scores.item_info["content_hash"].tolist() == ["hash-0", ""]
    assert any("the content of 1 item differs" in text for text in report.suspicious)


def test_7_no_metric_is_taken_instead_of_another(tmp_path):
    both = [
        lm_record(i, 1.0, acc_norm=float(i), metrics=["acc", "acc_norm"], target=str(1))
        for i in range(2)
    ]
    lm_run(tmp_path, "org/a", both)
    with pytest.raises(
        SettingError, match=r"2 metrics and none was chosen.*default', here acc_norm"
    ):
        loaders.load(tmp_path)
    assert loaders.load(tmp_path, metric="acc").values.tolist() == [[1, 1]]
    assert loaders.load(tmp_path, metric="acc_norm").values.tolist() == [[0, 1]]
    assert loaders.load(tmp_path, metric="arc*=acc_norm,acc").values.tolist() == [[0, 1]]
    assert loaders.load(tmp_path, metric="default").values.tolist() == [[0, 1]]
    lm_run(tmp_path, "org/b", [lm_record(0), lm_record(1)])
    with pytest.raises(SettingError, match="no metric of task arc 'acc_norm'; found: 'acc'"):
        loaders.load(tmp_path, metric="acc_norm")
    with pytest.raises(SettingError, match="without tasks; one of them may stand alone"):
        loaders.load(tmp_path, metric="acc,acc_norm")


def test_7_all_models_have_the_same_metric(tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0)])
    lm_run(tmp_path, "org/b", [lm_record(0, metric="exact_match")])
    with pytest.raises(SettingError, match=r"arc: the metric is 'acc' in .* 'exact_match' in"):
        loaders.load(tmp_path)


def test_7_a_record_that_lacks_the_metric_is_refused(tmp_path):
    rows = [lm_record(0), {k: v for k, v in lm_record(1).items() if k != "acc"}, lm_record(2)]
    lm_run(tmp_path, "org/a", rows)
    with pytest.raises(FormatError, match="line 2 has no metric 'acc'"):
        loaders.load(tmp_path)
    assert loaders.load(tmp_path, strict=False).items == ("arc/0", "arc/2")


def test_7_old_records_name_their_metrics_by_their_fields(tmp_path):
    rows = [
        {k: v for k, v in lm_record(i).items() if k not in {"filter", "metrics"}} for i in range(2)
    ]
    lm_run(tmp_path, "org/a", rows)
    assert loaders.load_with_report(tmp_path)[1].used["metric"] == {"acc": ["arc"]}


def test_7_metrics_that_are_better_when_lower_are_refused(tmp_path):
    lm_run(
        tmp_path,
        "org/a",
        [generation(0, metric="brier")],
        higher_is_better={"arc": {"brier": False}},
    )
    with pytest.raises(SettingError, match="lower is better for the metric 'brier'"):
        loaders.load(tmp_path)


def test_7_predictions_without_scores_are_refused(tmp_path):
    lm_run(tmp_path, "org/a", [generation(0, 999, metric="bypass")])
    with pytest.raises(SettingError, match="Was it run with --predict_only"):
        loaders.load(tmp_path)


def test_8_lists_and_other_things_for_scores(tmp_path):
    rows = [
        generation(
            0,
            False,  # noqa: FBT003
            metric="prompt_level_strict_acc",
            inst_level_strict_acc=[False, True, True],
            metrics=["prompt_level_strict_acc", "inst_level_strict_acc"],
        )
    ]
    lm_run(tmp_path, "org/a", rows, task="ifeval")
    expected = r"has for the metric 'inst_level_strict_acc' the list \[False, True, True\]"
    with pytest.raises(FormatError, match=expected):
        loaders.load(tmp_path, metric="inst_level_strict_acc")
    reduced = loaders.load(tmp_path, metric="inst_level_strict_acc", reduce="mean")
    assert reduced.values[0, 0] == pytest.approx(2 / 3)
    assert loaders.load(tmp_path, metric="default").values.tolist() == [[0]]  # booleans are 0/1
    with pytest.raises(SettingError, match="reduce"):
        loaders.load(tmp_path, metric="default", reduce="median")
    for value, kind in (("1", "str"), ([0, "gold"], "list"), ({"a": 1}, "dict"), ([], "list")):
        lm_run(tmp_path / kind, "org/a", [generation(0, value, metric="f1")])
        with pytest.raises(FormatError, match=f"has for the metric 'f1' the {kind}"):
            loaders.load(tmp_path / kind, reduce="mean")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, softmax([-2, -1], 1)),
        ({"target": 1}, softmax([-2, -1], 1)),
        ({"target": "yes"}, softmax([-2, -1], 1)),
        ({"target": "[0, 1]"}, 1.0),
        # The flag says that the choice is greedy, not that it is correct.
        ({"filtered_resps": [["-2.6", "False"], ["-2.3", "False"]]}, softmax([-2.6, -2.3], 1)),
        ({"filtered_resps": [[-2.6, True], [-2.3, False]]}, softmax([-2.6, -2.3], 1)),
        # Old arguments are a list of pairs.
        ({"target": "yes", "arguments": [["Q", " no"], ["Q", " yes"]]}, softmax([-2, -1], 1)),
        # With mutual information every choice is asked for twice.
        (
            {
                "metrics": ["acc", "acc_mutual_info"],
                "acc_mutual_info": 1.0,
                "filtered_resps": [[str(s), "False"] for s in (-2, -1, -9, -1)],
            },
            softmax([-2, -1], 1),
        ),
        ({"filtered_resps": [["-inf", "False"], ["-1", "False"]]}, 1.0),
        ({"filtered_resps": [["-inf", "False"], ["-inf", "False"]]}, math.nan),
        ({"filtered_resps": [["nan", "False"], ["-1", "False"]]}, math.nan),
        # One log-likelihood is no choice, texts are none.
        ({"filtered_resps": [["-2.6", "False"]]}, math.nan),
        ({"filtered_resps": ["a", "b"]}, math.nan),
        ({"filtered_resps": None}, math.nan),
        # Neither a position nor a text, three choices: not known.
        (
            {
                "target": "none of these",
                "filtered_resps": [["-1", "False"], ["-2", "False"], ["-3", "False"]],
            },
            math.nan,
        ),
    ],
)
def test_9_probabilities(fields, expected, tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0, **fields)])
    scores = loaders.load(tmp_path, metric="acc")
    found = math.nan if scores.probabilities is None else float(scores.probabilities[0, 0])
    assert found == pytest.approx(expected, rel=1e-6, nan_ok=True)
    assert scores.values.tolist() == [[1]]


def test_9_a_number_that_is_a_choice_and_not_a_position(tmp_path):
    # Choices "2", "1", "0": the target "2" is the first, which acc confirms; as a position it
    # would be the last.
    texts = {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" {2 - i}"} for i in range(3)}
    lls = [["-1", "True"], ["-2", "False"], ["-3", "False"]]
    rows = [
        lm_record(0, target="2", arguments=texts, filtered_resps=lls),
        lm_record(1, 0.0, target="0", arguments=texts, filtered_resps=lls),
    ]
    lm_run(tmp_path, "org/a", rows)
    scores, report = loaders.load_with_report(tmp_path)
    expected = [softmax([-1, -2, -3], 0), softmax([-1, -2, -3], 2)]
    np.testing.assert_allclose(scores.probabilities[0], expected, rtol=1e-6)
    assert report.used["correct choice"] == {"the target's text": ["arc"]}


def test_9_a_model_whose_likelihoods_broke_does_not_spoil_the_others(tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0), lm_record(1)])
    broken = [["nan", "False"], ["-1", "False"]]
    lm_run(tmp_path, "org/b", [lm_record(0), lm_record(1, 0.0, filtered_resps=broken)])
    layer = loaders.load(tmp_path).probabilities
    half = softmax([-2, -1], 1)
    np.testing.assert_allclose(layer, [[half, half], [half, np.nan]], rtol=1e-6)


def test_9_winogrande_is_told_by_acc(tmp_path):
    same = {f"gen_args_{i}": {"arg_0": f"Q{i}", "arg_1": " end"} for i in range(2)}
    rows = [
        lm_record(0, 1.0, target="end", arguments=same),
        lm_record(1, 0.0, target="end", arguments=same),
        lm_record(2, 0.0, target="end", arguments=same, filtered_resps=[["-1", "False"]] * 2),
    ]
    lm_run(tmp_path, "org/a", rows, task="winogrande")
    found = loaders.load(tmp_path).probabilities[0]
    np.testing.assert_allclose(found, [softmax([-2, -1], 1), softmax([-1, -2], 1), 0.5])


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (100.0, r"line 1 has the score 100 for 'arc/0', outside the range from 0 to 1"),
        (1.2, r"has the score 1\.2"),
        (-3.5, r"has the score -3\.5"),
        (float("inf"), r"has the score 1e\+308"),
    ],
)
def test_10_scores_out_of_range(score, expected, tmp_path):
    lm_run(tmp_path, "org/a", [generation(0, score), generation(1, 0.0)])
    with pytest.raises(FormatError, match=expected):
        loaders.load(tmp_path)


def test_10_other_ranges_are_declared_and_nan_is_missing(tmp_path):
    lm_run(
        tmp_path, "org/a", [generation(0, 100), generation(1, 62.5), generation(2, float("nan"))]
    )
    scores = loaders.load(tmp_path, score_range=(0, 100))
    np.testing.assert_array_equal(scores.values, [[100, 62.5, np.nan]])
    lm_run(tmp_path / "x", "org/a", [generation(0), generation(1, None)])
    scores, report = loaders.load_with_report(tmp_path / "x")
    np.testing.assert_array_equal(scores.values, [[1, np.nan]])
    assert report.dropped == ("arc: exact_match is null: not scored (1)",)


@pytest.mark.parametrize(
    "line",
    [
        '{"doc_id": 1, "acc": 1e999}',
        '{"doc_id": 1',
        "[]",
        '{"doc_id": 1.5, "acc": 1}',
        '{"doc_id": true, "acc": 1}',
        '{"acc": 1}',
        '{"doc_id": "\\ud800", "acc": 1}',
        '{"doc_id": 1, "acc": 1, "doc": ' + "[" * 50_000 + "]" * 50_000 + "}",
    ],
)
def test_bad_lines_are_refused_or_counted(line, tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0), line, lm_record(2)])
    with pytest.raises(FormatError, match="line 2 "):
        loaders.load(tmp_path)
    scores, report = loaders.load_with_report(tmp_path, strict=False)
    assert scores.items == ("arc/0", "arc/2")
    assert report.n_errors == 1


def test_bad_first_lines_too(tmp_path):
    path = lm_run(tmp_path, "org/a", [lm_record(0), lm_record(1)])
    path.write_text("{\n" + path.read_text())
    with pytest.raises(FormatError, match="line 1 is not valid JSON"):
        loaders.load(path, format="lm-eval")
    assert loaders.load(path, format="lm-eval", strict=False).n_items == 2


def test_wrong_results_files_are_refused(tmp_path):
    path = lm_run(tmp_path, "org/a", [lm_record(0)])
    results = path.with_name(f"results_{STAMP}.json")
    results.write_text('{"results": {"arc": {"acc,none": 1}}, "model_name": 3}')
    with pytest.raises(FormatError, match=r"results_.*Expected `str \| null`, got `int`"):
        loaders.load(tmp_path)


def test_details_of_the_open_llm_leaderboard(tmp_path):
    for number, model in enumerate(("org__a", "org__b")):
        folder = tmp_path / f"{model}__leaderboard_gpqa_main"
        folder.mkdir()
        rows = [
            {
                "doc_id": i,
                "target": "(B)",
                "arguments": {
                    f"gen_args_{c}": {"arg_0": "Q", "arg_1": f" ({'ABC'[c]})"} for c in range(2 + i)
                },
                "filtered_resps": [[str(-c), "False"] for c in range(2 + i)],
                "doc_hash": f"h{i}",
                "acc_norm": float(i == number),
            }
            for i in range(2)
        ]
        pd.DataFrame(rows[:: 1 - 2 * number]).to_parquet(folder / "latest-00000.parquet")
    scores, report = loaders.load_with_report(tmp_path)
    assert report.format == "open-llm-leaderboard"
    assert scores.models == ("org/a", "org/b")
    assert scores.items == ("leaderboard_gpqa_main/h0", "leaderboard_gpqa_main/h1")
    assert scores.values.tolist() == [[1, 0], [0, 1]]
    expected = [softmax([0, -1], 1), softmax([0, -1, -2], 1)]
    np.testing.assert_allclose(scores.probabilities, [expected] * 2, rtol=1e-6)
    (tmp_path / "org__a__leaderboard_gpqa_main").rename(tmp_path / "x")
    with pytest.raises(FormatError, match="model and task cannot be told"):
        loaders.load(tmp_path)


LIKELIHOODS = st.sampled_from(["-1.5", "-2", "-2.0", "0", "-inf", "nan", "1e5", "x", ""])
FLAGS = st.sampled_from(["True", "False", "maybe", True, False])
PAIRS = st.tuples(LIKELIHOODS | st.floats(-9, 0), FLAGS).map(list)
RECORDS = st.fixed_dictionaries(
    {
        "filtered_resps": st.lists(PAIRS, max_size=4)
        | st.sampled_from([[], ["text"], "text", [["-1", "False", "-2", "True"]], None]),
        "target": st.sampled_from(["0", "1", "2", "yes", "[0, 1]", 1, None]),
        "acc": st.sampled_from([0.0, 1.0, 0, 1, True, 0.5, None, "1", 3.0]),
        "filter": st.sampled_from(["none", "none", "none", "other", None]),
        "doc_hash": st.sampled_from(["h", "h", "", None, " h"]),
        "doc_id": st.sampled_from([0, 1, 2, 3, "4", "", None]),
    }
)


@settings(deadline=None, max_examples=300)
@given(
    rows=st.lists(RECORDS, max_size=4),
    usual=st.booleans(),
    key=st.sampled_from(["doc_id", "doc_hash"]),
)
def test_many_records_at_once_give_what_one_by_one_gives(rows, usual, key):
    if usual:
        fixed = {"filter": "none", "doc_hash": "h"}
        rows = [{**row, **fixed, "doc_id": i, "acc": 1.0} for i, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        lm_run(folder, "org/a", [{**lm_record(0), **row} for row in rows])
        answers = []
        for _ in range(2):
            try:
                scores, report = loaders.load_with_report(folder, strict=False, item_key=key)
                answers.append((scores.values.tolist(), scores.items, report))
                layer = scores.probabilities
                answers[-1] += (None if layer is None else np.round(layer, 6).tolist(),)
            except MdadError as error:
                answers.append(str(error))
            patch.setattr("mdad.loaders._lm_eval_records.quick_columns", lambda *_: None)
    assert repr(answers[0]) == repr(answers[1])


def test_the_usual_records_do_go_the_quick_way(tmp_path, monkeypatch):
    lm_run(tmp_path, "org/a", [lm_record(i, float(i % 2)) for i in range(300)])
    lm_run(tmp_path, "org/a", [generation(i, float(i % 2)) for i in range(300)], task="math")
    monkeypatch.setattr("mdad.loaders._lm_eval_records._Maker._record", None)
    assert loaders.load(tmp_path).n_items == 600


def test_choices_and_softmax():
    assert choice_scores([["-1", "False"], ["x", "False"]]) is None
    assert choice_scores([["-1", "False"], ["-1", "maybe"]]) is None
    assert choice_scores("ab") is None
    assert softmax_of([1000.0, 1000.0], [0, 1]) == 1


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
        | st.dictionaries(st.sampled_from(["arg_1", "gen_args_0", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = sorted(lm_record(0))


def only_our_errors(path, **options):
    try:
        loaders.load(path, cache=False, **options)
    except MdadError as error:
        assert str(error)  # noqa: PT017  # an error is not expected, only allowed


@FUZZ
@given(changes=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=3), strict=st.booleans())
def test_any_value_in_any_field(changes, strict, tmp_path):
    lm_run(tmp_path, "org/a", [lm_record(0), {**lm_record(1), **changes}])
    only_our_errors(tmp_path, strict=strict, metric="acc")
    lm_run(tmp_path, "org/a", [{**lm_record(1), **changes}, lm_record(0)])
    only_our_errors(tmp_path, strict=strict)


@FUZZ
@given(contents=st.binary(max_size=200), start=st.integers(0, 300), strict=st.booleans())
def test_any_bytes_in_a_file(contents, start, strict, tmp_path):
    path = lm_run(tmp_path, "org/a", [lm_record(0), lm_record(1)])
    whole = path.read_bytes()
    path.write_bytes(whole[:start] + contents + whole[start:])
    only_our_errors(path, format="lm-eval", strict=strict)
    results = path.with_name(f"results_{STAMP}.json")
    whole = results.read_bytes()
    results.write_bytes(whole[:start] + contents + whole[start:])
    only_our_errors(tmp_path, strict=strict)


@FUZZ
@given(
    results=st.fixed_dictionaries(
        {},
        optional={
            "model_name": ANYTHING,
            "config": ANYTHING,
            "date": ANYTHING,
            "samples": ANYTHING | st.dictionaries(st.text(max_size=3), st.lists(ANYTHING)),
            "higher_is_better": ANYTHING,
        },
    )
)
def test_any_results(results, tmp_path):
    document = {"results": {"arc": {"acc,none": 1}}, **results}
    (tmp_path / "results.json").write_text(json.dumps(document))
    only_our_errors(tmp_path)
    assert msgspec.json.encode({}) == b"{}"
