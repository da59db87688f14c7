"""The smaller log formats on genuine files: every value was read in the file, not by the loader."""

import csv
import gzip
import hashlib
import json
import math

import numpy as np
import pytest

from mdad import loaders
from mdad.errors import MdadError
from small_logs import cells, read


def test_helm(shared_formats):
    scores = read(shared_formats / "helm", metric="exact_match")
    hellaswag = "commonsense:dataset=hellaswag,method=multiple_choice_joint"
    philosophy = "mmlu:subject=philosophy,method=multiple_choice_joint"
    right = {f"{hellaswag}/id{n}" for n in (45277, 41992, 44284)} | {f"{philosophy}/id222"}
    wrong = {
        *(f"{hellaswag}/id{n}" for n in (44874, 47299, 49438, 42841, 46128, 47975, 41468)),
        *(f"{philosophy}/id{n}" for n in (147, 11, 65, 344, 59, 291, 131, 259, 105)),
        *(f"narrative_qa/id{n}" for n in (1413, 1332, 1123, 1514, 1340)),
    }
    found = cells(scores)
    assert scores.models == ("eleutherai/pythia-1b-v0", "openai/gpt2")
    assert set(scores.items) == right | wrong
    for item in scores.items:
        model = scores.models[0 if item.startswith(hellaswag) else 1]
        other = scores.models[1 if item.startswith(hellaswag) else 0]
        assert found[model][item] == (item in right)
        assert math.isnan(found[other][item])
    assert set(scores.subtasks) == {hellaswag, philosophy, "narrative_qa"}
    assert scores.item_info["content_hash"].is_unique
    f1 = read(shared_formats / "helm" / "narrative_qa-model=openai_gpt2", metric="f1_score")
    assert cells(f1)["openai/gpt2"] == {
        "narrative_qa/id1123": 0, "narrative_qa/id1332": 1 / 3, "narrative_qa/id1340": 4 / 11,
        "narrative_qa/id1413": 0, "narrative_qa/id1514": 0,
    }  # fmt: skip
    with pytest.raises(MdadError, match=r"4 metrics and none was chosen: 'exact_match'"):
        read(shared_formats / "helm")


def test_opencompass(shared_formats):
    with pytest.raises(MdadError, match="predictions and references but no scores"):
        read(shared_formats / "opencompass")
    scores = read(shared_formats / "opencompass", rule="lawbench")
    found = cells(scores)["llama-2-13b-chat"]
    assert len(found) == 40
    # 3-7: the reference's amount is written in the output (3,900 with a comma is not).
    right = {n for n in range(20) if found[f"3-7/{n}"]}
    assert {1, 6, 8, 10, 17} <= right
    assert not right & {0, 3, 4, 5, 7, 9, 11, 13, 14, 18}
    # 1-2: the right letter and no other; 4 has the A of "As a helpful", as LawBench counts.
    single = {n for n in range(20) if found[f"1-2/{n}"]}
    assert 4 in single
    assert not single & {0, 1, 2, 3, 9, 10, 12, 14, 15, 16, 17, 18}


def test_swebench_reports(shared_formats):
    folder = shared_formats / "swebench_report"
    deepseek = read(folder / "20240825_SWE-agent_deepseek-chat-v2.results.json")
    found = cells(deepseek)["20240825_SWE-agent_deepseek-chat-v2"]
    assert {item for item, score in found.items() if score == 1} == {
        *(f"fasterxml__jackson-databind-{n}" for n in (4048, 4050, 4219, 4360, 4486, 4487)),
        "fasterxml__jackson-dataformat-xml-638",
        *(f"googlecontainertools__jib-{n}" for n in (2688, 4035)),
    }
    assert [item for item, score in found.items() if math.isnan(score)] == ["google__gson-1787"]
    assert found["fasterxml__jackson-core-174"] == 0  # an empty patch is the model's
    assert found["apache__dubbo-10638"] == 0
    assert len(found) == 91
    wrong = read(folder / "20240825_SWE-agent_deepseek-chat-v2.results.json", errors="wrong")
    assert wrong.full_scores().tolist() == [9 / 91]

    mini = read(folder / "20240825_SWE-agent_gpt-4o-mini-2024-07-18.results.json")
    assert mini.n_items - mini.n_missing == 1
    assert cells(mini)[mini.models[0]]["fasterxml__jackson-databind-3701"] == 1

    acr = cells(read(folder / "acr-run-1.new_report.json"))["acr-run-1.new_report"]
    assert (len(acr), sum(acr.values())) == (249, 54)
    assert acr["django__django-16139"] == 1
    assert acr["django__django-13757"] == 0  # did not apply
    aider = cells(read(folder / "aider_results.json"))["aider_results"]
    assert (len(aider), sum(aider.values())) == (300, 79)
    assert aider["sympy__sympy-23117"] == 1
    assert aider["django__django-15738"] == 0  # no patch

    with pytest.raises(MdadError, match="lists the resolved instances only"):
        read(folder / "acr-run-1.old_final_report.json")
    with pytest.raises(MdadError, match="not who they were"):
        read(folder / "resolved_submissions_head.json")
    both = loaders.load_with_report(folder, strict=False, cache=False)
    assert (both.scores.n_models, both.scores.n_items) == (4, 391)
    assert both.report.n_errors == 2


def test_a_swebench_list_of_resolved_ids_with_the_ids_of_the_benchmark(shared_formats, tmp_path):
    folder = shared_formats / "swebench_report"
    known = read(folder / "aider_results.json").items
    (tmp_path / "lite.txt").write_text("\n".join(known))
    old = folder / "acr-run-1.old_final_report.json"
    found = cells(read(old, ids=tmp_path / "lite.txt"))["acr-run-1.old_final_report"]
    assert (len(found), sum(found.values())) == (300, 48)
    assert found["django__django-11001"] == 1
    (tmp_path / "few.txt").write_text("\n".join(known[:5]))
    with pytest.raises(MdadError, match="not in the list of ids"):
        read(old, ids=tmp_path / "few.txt")


def test_alpaca_eval(shared_formats):
    folder = shared_formats / "alpaca_eval"
    with pytest.raises(MdadError, match="2 judges and none was chosen"):
        read(folder)
    with pytest.raises(MdadError, match=r"'falcon-7b-instruct', its records 'falcon-40b"):
        read(folder, scorer="alpaca_eval_gpt4")
    falcon = read(folder, scorer="alpaca_eval_gpt4", model_names="folder")
    rows = json.loads((folder / "falcon-7b-instruct/alpaca_eval_gpt4/annotations.json").read_text())
    # The preferences in the order of the file, read by eye.
    expected = [1, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert falcon.models == ("falcon-7b-instruct",)
    assert sorted(falcon.values[0].tolist()) == sorted(expected)
    assert read(folder, scorer="alpaca_eval_gpt4", model_names="log").models == (
        "falcon-40b-instruct",
    )
    claude = read(folder, scorer="weighted_alpaca_eval_gpt4_turbo")
    preferences = [
        1.0001195986, 1.0000022959, 1.0001233945, 1.0695417419, 1.0004173158, 1.0083157768,
        1.9990302482, 1.0191240374, 1.0009110511, 1.0000043569,
    ]  # fmt: skip
    assert claude.models == ("claude-2",)
    assert claude.kind == "graded"
    assert sorted(claude.values[0]) == pytest.approx(sorted(p - 1 for p in preferences), abs=1e-7)
    # The same questions, so that the two judges' items have the same ids.
    assert claude.items == falcon.items
    by_item = dict(zip(falcon.items, falcon.values[0].tolist(), strict=True))
    order = [item for row in rows for item in falcon.items if item_of(row) == item]
    assert [by_item[item] for item in order] == expected


def item_of(row):
    digest = hashlib.blake2b(row["instruction"].encode(), digest_size=8).hexdigest()
    return f"{row['dataset']}/{digest}"


def test_bfcl(shared_formats):
    scores = read(shared_formats / "bfcl")
    found = cells(scores)["Nexusflow-Raven-v2"]
    multiple = [found[f"executable_multiple_function_{n}"] for n in range(50)]
    assert [n for n, score in enumerate(multiple) if score == 0] == [12, 30, 35, 45]
    rest = [found[f"rest_{n}"] for n in range(70)]
    right = [*range(6, 13), 29, 30, 33, 34, *range(53, 60), 62, 63]
    assert [n for n, score in enumerate(rest) if score == 1] == right
    assert len(right) == 20
    assert set(scores.subtasks) == {"executable_multiple_function", "rest"}


def test_py_irt(shared_formats):
    assert cells(read(shared_formats / "py_irt")) == {
        "pedro": {"q1": 1, "q2": 0, "q3": 1, "q4": 0},
        "pinguino": {"q1": 1, "q2": 1, "q3": 0, "q4": 0},
        "ken": {"q1": 1, "q2": 1, "q3": 1, "q4": 1},
        "burt": {"q1": 0, "q2": 0, "q3": 0, "q4": 0},
    }


def one_row(path, model):
    """Item to cell of one model in a wide table."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = csv.reader(stream)
        header = next(rows)
        return next(dict(zip(header, row, strict=True)) for row in rows if row[0] == model)


def test_option_logits(shared_formats, shared_data, tmp_path):
    with pytest.raises(MdadError, match="do not say which option is right"):
        read(shared_formats / "option_logits")
    # Somebody else's probabilities and verdicts on the same items, whose right options are found
    # by comparing them with a plain softmax over the logits.
    theirs = one_row(shared_data / "naep_cmcqrd_prob_mean.csv.gz", "Qwen2.5-7B")
    verdicts = one_row(shared_data / "naep_cmcqrd_correct_mean.csv.gz", "Qwen2.5-7B")
    keys, plain = {}, {}
    path = shared_formats / "option_logits" / "naep-economics-responses-Qwen2.5-7B.jsonl"
    for line in path.read_text().splitlines():
        row = json.loads(line)
        likely = [[math.exp(x - max(own)) for x in own] for own in row["logits"]]
        item = row["item_id"]
        plain[item] = [
            sum(own[k] / sum(own) for own in likely) / len(likely) for k in range(len(likely[0]))
        ]
        wanted = float(theirs[f"naep-economics|{item}"])
        keys[item] = min(range(len(plain[item])), key=lambda k: abs(plain[item][k] - wanted))
    key_file = tmp_path / "keys.csv"
    lines = [f"naep-economics/{item},{place}" for item, place in keys.items()]
    key_file.write_text("\n".join(["item,right", *lines]))
    scores = read(shared_formats / "option_logits", right=key_file)
    assert scores.models == ("Qwen2.5-7B",)
    assert scores.n_items == 93
    for column, name in enumerate(scores.items):
        item = name.removeprefix("naep-economics/")
        assert scores.option_probabilities[0, column] == pytest.approx(plain[item], abs=1e-6)
        assert scores.right_options[column] == keys[item]
        there = f"naep-economics|{item}"
        assert scores.values[0, column] == float(verdicts[there])
        assert scores.probabilities[0, column] == pytest.approx(float(theirs[there]), abs=2e-6)
    first = read(shared_formats / "option_logits", right=key_file, order=0)
    row = first.option_probabilities[0, first.item_position["naep-economics/NAEP-E407801"]]
    e = [
        math.exp(x - 40.271888732910156)
        for x in (29.073373794555664, 33.386043548583984, 40.271888732910156, 40.16612243652344)
    ]  # the first order, as it stands there
    assert row == pytest.approx([x / sum(e) for x in e], abs=1e-6)


def test_evalperf(shared_formats):
    with pytest.raises(MdadError, match="3 metrics and none was chosen"):
        read(shared_formats / "evalperf")
    passes = read(shared_formats / "evalperf", metric="pass@1")
    model = "meta-llama--Meta-Llama-3-8B-Instruct_vllm_temp_1.0"
    assert passes.models == (model,)
    found = cells(passes)[model]
    shown = [found[f"HumanEval/{n}"] for n in (9, 0, 4, 16, 20, 24, 26, 31)]
    assert shown == [32, 37, 35, 99, 13, 79, 0, 72]
    assert passes.score_range == (0, 100)
    assert passes.full_scores()[0] == pytest.approx(43.69491525423729)  # the file's own summary
    fast = read(shared_formats / "evalperf", metric="dps")
    assert math.isnan(cells(fast)[model]["HumanEval/26"])
    assert cells(fast)[model]["HumanEval/0"] == 100
    assert np.nanmean(fast.values) == pytest.approx(77.04079291937829)
    with pytest.raises(MdadError, match="no results of EvalPerf per task"):
        read(shared_formats / "evalperf/COMBINED-RESULTS.json", format="evalperf", metric="dps")


def test_livecodebench(shared_formats):
    assert cells(read(shared_formats / "livecodebench")) == {
        "O1-Mini-2024-09-12_(N=1)": {
            "1873_A": 1, "1873_B": 1, "1873_D": 1, "1883_B": 0, "1883_C": 1, "1899_A": 1
        },
        "O1-Preview-2024-09-12_(N=1)": {
            "1873_A": 1, "1873_B": 1, "1873_D": 0, "1883_B": 1, "1883_C": 0, "1899_A": 1
        },
    }  # fmt: skip


def test_openai_evals(shared_formats):
    assert cells(read(shared_formats / "openai_evals")) == {
        "auto_gpt_completion_fn": {
            "test-match.s1.0": 0, "test-match.s1.1": 1, "test-match.s1.2": 0
        }
    }  # fmt: skip


def test_the_papers_table(shared_formats):
    scores = read(shared_formats / "paper_repo_model_scores")
    assert (scores.n_models, scores.n_items) == (420, 20)
    assert scores.items[:3] == ("gpqa_main/0", "gpqa_main/1", "gpqa_main/2")
    found = cells(scores)
    # The first column of the file, from top to bottom.
    first = [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1]
    own = found["meta-llama__Llama-2-13b-chat-hf"]
    assert [own[f"gpqa_main/{n}"] for n in range(20)] == first


def test_terminal_bench(shared_formats):
    found = cells(read(shared_formats / "terminal_bench"))["tb_rc2_g5_1"]
    missing = {"cron-broken-network", "jupyter-notebook-server", "build-initramfs-qemu"}
    assert {task for task, score in found.items() if math.isnan(score)} == missing
    assert sum(score == 1 for score in found.values()) == 39
    assert found["build-linux-kernel-qemu"] == 0
    assert found["eval-mteb.hard"] == 1
    assert found["count-dataset-tokens"] == 1  # the agent timed out, the tests passed
    wrong = read(shared_formats / "terminal_bench", errors="wrong")
    assert wrong.full_scores()[0] == 0.4875  # the leaderboard's own accuracy


def test_zeroeval(shared_formats):
    assert cells(read(shared_formats / "zeroeval")) == {
        "openai/gpt-4o-2024-05-13": {f"gsm8k-main-test-#{n}": 1 for n in range(8)}
    }


def test_eqbench_needs_its_range(shared_formats):
    with pytest.raises(MdadError, match=r"outside the range from 0 to 1.*score_range"):
        read(shared_formats / "eqbench")
    scores = read(shared_formats / "eqbench", score_range=(-34, 10))
    found = cells(scores)["Qwen/Qwen-72B-Chat"]
    assert len(found) == 171
    assert found["eq_1"] == 8.341532691815866
    assert found["eq_109"] == -2.8401627186332483


def test_cruxeval(shared_formats):
    found = cells(read(shared_formats / "cruxeval"))["codellama-7b_temp0.2"]
    shares = [found[f"output/sample_{n}"] for n in (0, 1, 2, 3, 13, 16)]
    assert shares == [0, 1, 0.1, 1, 0.5, 0.7]
    assert len(found) == 800
    assert sum(found.values()) / 8 == pytest.approx(34.2125)  # the file's own pass_at_1


def test_mint(shared_formats):
    assert cells(read(shared_formats / "mint")) == {
        "gpt-4-0613 (max5)": {f"gsm8k/{n}": 1 for n in range(4)}
    }


def test_wmt25_needs_metric_and_range(shared_formats):
    folder = shared_formats / "wmt25_automatic_scores"
    with pytest.raises(MdadError, match="5 metrics and none was chosen"):
        read(folder)
    with pytest.raises(MdadError, match=r"score -9.62421 .* outside the range"):
        read(folder, metric="MetricX-24-Hybrid-XL")
    scores = read(folder, metric="GEMBA-ESA-CMDA", score_range=(0, 100))
    found = cells(scores)["AMI"]
    place = "en-is_IS/literary/rink_rats_chapter1"
    assert [found[f"{place}/{n}"] for n in (1, 2, 3)] == [60, 60, 75]
    assert len(found) == 42 + 43 + 6
