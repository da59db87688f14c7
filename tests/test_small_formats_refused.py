"""What each of the smaller log formats refuses: one table of files and words of the refusal."""

import numpy as np
import pytest

from mdad import loaders
from mdad.errors import MdadError
from small_logs import (
    CONFIDENCE,
    CORRECTNESS,
    SAMPLES,
    Lines,
    Sample,
    attempt,
    comparison,
    eee_aggregate,
    eee_row,
    event,
    failure,
    helm_run,
    oai_spec,
    problem,
    swe_report,
    trial,
    zero,
)

HELM = helm_run("org/a", {"id1": 1})
RUN = "runs/v1/mmlu-model=org_a/"
STATS = HELM[f"{RUN}per_instance_stats.json"][0]


def helm(**files):
    """A run with other contents of one of its files."""
    return {**HELM, **{f"{RUN}{name}.json": contents for name, contents in files.items()}}


def bfcl(*rows, head=(1, 2), results=None):
    files = {
        "raven/rest_score.json": Lines(
            [{"accuracy": 0.5, "correct_count": head[0], "total_count": head[1]}, *rows]
        )
    }
    return files if results is None else {**files, "raven/rest_result.json": results}


def plus(outcomes):
    return {"m_eval_results.json": {"hash": "x", "eval": {"HumanEval/0": outcomes, "n": "nfiles"}}}


def perf(**task):
    return {
        "m_evalperf_results.json": {
            "config": {}, "summary": {"dps": 1}, "eval": {"HumanEval/0": task}
        }
    }  # fmt: skip


CUT_OFF = b'{"accuracy": 1, "correct_count": 1, "total_count": 1}\n{"id": '


def eq(scores):
    return {
        "x.json": {
            "eqbench_version": "v2",
            "model_path": "m",
            "raw_results": {"1": {"individual_scores": {"1": scores}}},
        }
    }


def details(found):
    return {"results/m/x.json": {"accuracy": 1, "details": found, "hint": {"correct": 1}}}


def predictions(right, output="A"):
    row = {"origin_prompt": "?", "prediction": output, "refr": right}
    return {"predictions/m/x.json": {"0": row}}


def logits(*rows, keys=b"item,right\na,0\n"):
    return {"m.jsonl": Lines([{"item_id": "a", "logits": row} for row in rows]), "keys.csv": keys}


def crux(verdicts, name="sample_scored_m_output.json", **more):
    return {name: {"raw_generations": {"s": ["1"]}, "raw_scored_generations": verdicts, **more}}


def arrays(**changed):
    files = {
        "models-by-correctness.npy": CORRECTNESS,
        "models-by-confidence.npy": CONFIDENCE,
        "labels.npy": np.array([0, 0, 0]),
        "model-names-in-order.json": ["a", "b"],
    } | {key.replace("_", "-"): value for key, value in changed.items()}
    return {f"law_{key if '.' in key else key + '.npy'}": value for key, value in files.items()}


MINT = {"state": {"success": True, "agent_action_count": {}}, "task": {"task_id": 1}}
WMT = {"language_pair": "a", "domain": "b", "document_id": "c", "metric_scores": {"M": [1]}}
GOOD = [1.0, 0.0]
KEYS = {"right": "keys.csv"}

CASES = [
    # HELM
    ("helm", helm(run_spec={"name": "x"}), {}, "it names no model"),
    ("helm", helm(per_instance_stats=[{"instance_id": "1", "stats": []}]), {}, "no statistic"),
    ("helm", helm(run_spec=[]), {}, "is not as it should be"),
    (
        "helm",
        helm(per_instance_stats=[{**STATS, "stats": STATS["stats"] * 2}]),
        {},
        "has no value of 'exact_match' that is one number",
    ),
    # SWE-bench
    (
        "swebench",
        {"m.json": {**swe_report(["a-1"], []), "resolved_ids": "a"}},
        {},
        "must be a list",
    ),
    ("swebench", {"m.json": {"generated": ["a"], "resolved": ["b"]}}, {}, "resolved but not gen"),
    ("swebench", {"m.json": swe_report(["a-1"], [])}, {"ids": "no.txt"}, "no such file of inst"),
    ("swebench", {"m.json": swe_report(["a-1"], []), "i.txt": b"a\na\n"}, {"ids": "i.txt"}, "once"),
    # AlpacaEval
    ("alpaca-eval", {"x.json": [comparison("a", "best")]}, {}, "has preference of the kind str"),
    ("alpaca-eval", {"x.json": [comparison("a", 4)]}, {}, "outside the range"),
    (
        "alpaca-eval",
        {"x.json": [comparison("a", 1), comparison("b", 1, "n")]},
        {},
        "is about 'n', others about 'm'",
    ),
    # BFCL
    ("bfcl", bfcl(failure(0), head=(3, 2)), {}, "line 1 must count correct_count"),
    ("bfcl", bfcl({"id": 3, "valid": False}), {}, "is no failure with an id"),
    (
        "bfcl",
        bfcl(failure(0), {**failure(1), "model_name": "x"}, head=(0, 2)),
        {},
        "several models",
    ),
    ("bfcl", {"raven/rest_score.json": CUT_OFF}, {}, "line 2 is not valid JSON"),
    ("bfcl", bfcl(failure(0), results=b'{"id": 1}\n'), {}, "in rest_result.json beside it, line 1"),
    ("bfcl", bfcl(failure(0), results=Lines([{"id": "a"}])), {}, "has 1 items in 1 lines"),
    # EvalPlus and EvalPerf
    ("evalplus", plus([]), {}, "has no completion"),
    ("evalplus", plus(7), {}, "has no outcomes of completions"),
    ("evalplus", plus([attempt("maybe", "pass")]), {}, "has the unknown outcome 'maybe'"),
    ("evalplus", plus({"base": [["pass"]], "plus": [["pass"], ["pass"]]}), {}, "as many base as"),
    ("evalplus", plus({"base": [[]]}), {}, r"an outcome is \[status, details\]"),
    ("evalplus", plus({"base": [["pass"]]}), {}, "has no 'plus' outcome"),
    ("evalperf", perf(dps=1.0), {"metric": "speed"}, "no metric 'speed'"),
    ("evalperf", perf(dps_norm=1.0), {"metric": "dps"}, "has no 'dps'"),
    ("evalperf", perf(dps=[1.0]), {"metric": "dps"}, "has dps of the kind list of 1"),
    # every_eval_ever
    (
        "every-eval-ever",
        {"x.jsonl": Lines([eee_row("1", "1")])},
        {},
        "evaluation.score of the kind",
    ),
    ("every-eval-ever", {"x.jsonl": Lines([eee_row("1", 1), {"x": 1}])}, {}, "line 2 is not as it"),
    (
        "every-eval-ever",
        {"x.jsonl": Lines([eee_row("1", 1, result=None)])},
        {"metric": "acc"},
        "its lines name no metric",
    ),
    # LiveCodeBench, CRUXEval, Terminal-Bench, ZeroEval, EQ-Bench
    (
        "livecodebench",
        {"m.json": [problem("1", [True]) | {"graded_list": [1]}]},
        {},
        "as it should",
    ),
    ("cruxeval", crux({"s": [True]}, "x.json"), {}, "its name does not say model and task"),
    (
        "cruxeval",
        crux({"s": [True]}, pass_at_1=50),
        {},
        "its pass_at_1 is 50 but its verdicts give",
    ),
    (
        "terminal-bench",
        {"x.json": {"results": [trial("a", resolved=True)], "n_resolved": 2}},
        {},
        "it counts 2 resolved trials, but 1 are",
    ),
    ("zeroeval", {"x.json": [{**zero("a", "x", "# 1"), "output": []}]}, {}, "has 0 outputs"),
    (
        "eqbench",
        eq({"first_pass_score": 1, "revised_score": 0}),
        {},
        "2 scores and none was chosen",
    ),
    (
        "eqbench",
        eq({"first_pass_score": 1}),
        {"metric": "revised_score"},
        "no score 'revised_score'",
    ),
    ("eqbench", eq({"first_pass_score": None}), {}, "no question has a score"),
    ("eqbench", eq({"first_pass_score": "1"}), {}, "has first_pass_score of the kind str"),
    # OpenAI Evals
    ("openai-evals", {"x.jsonl": Lines([oai_spec(model="")])}, {}, "its first line is no spec"),
    (
        "openai-evals",
        {"x.jsonl": Lines([oai_spec(), event(0, "s", "x")])},
        {},
        "nothing was scored",
    ),
    ("openai-evals", {"x.jsonl": Lines([oai_spec(), [1]])}, {}, "line 2 is not as it should be"),
    (
        "openai-evals",
        {"x.jsonl": Lines([oai_spec(), event(0, "s", "match", correct="yes")])},
        {},
        "has correct of the kind str",
    ),
    (
        "openai-evals",
        {"x.jsonl": Lines([oai_spec(), *[event(n, "s", "match", correct=True) for n in (0, 1)]])},
        {},
        "is a second score of 's', first on 2",
    ),
    (
        "openai-evals",
        {"x.jsonl": Lines([oai_spec(), event(0, "s", "metrics", bleu=1)])},
        {"metric": "f1"},
        "no metric 'f1'; found: 'bleu'",
    ),
    # OpenCompass
    ("opencompass", details([1]), {}, r"\(0\) is no object"),
    ("opencompass", details([{"correct": 1, "is_correct": 0}]), {}, "has 2 of the names"),
    ("opencompass", details([{"correct": "yes"}]), {}, "has correct of the kind str"),
    (
        "opencompass",
        {"results/x.json": {"details": [{"correct": 1}]}},
        {},
        "does not name the model",
    ),
    ("opencompass", predictions("1", ["A"]), {"rule": "exact"}, "needs one text as 'prediction'"),
    ("opencompass", predictions("x"), {"rule": "lawbench"}, "neither a single choice nor"),
    (
        "opencompass",
        predictions("上文涉及到的犯罪金额:1.2.3元。"),
        {"rule": "lawbench"},
        "has no number in its reference",
    ),
    # MINT and WMT25
    ("mint", {"x/results.jsonl": Lines([MINT])}, {}, "its path does not say model and data set"),
    ("mint", {"m__s__d.jsonl": Lines([MINT, {}])}, {}, "line 2 is not as it should be"),
    ("wmt25", {"m.jsonl": Lines([WMT])}, {"metric": "N"}, "no metric 'N'; found: 'M'"),
    ("wmt25", {"m.jsonl": Lines([WMT, {}])}, {"metric": "M"}, "line 2 is not as it should be"),
    (
        "wmt25",
        {"m.jsonl": Lines([{**WMT, "metric_scores": {"M": [[1]]}}])},
        {"metric": "M"},
        "has M of segment 1 of the kind list of 1",
    ),
    # py-irt and option logits
    (
        "py-irt",
        {"x.jsonl": Lines([{"subject_id": "a", "responses": {"q": 1}}, 7])},
        {},
        "line 2 is",
    ),
    ("option-logits", logits(GOOD), {"right": "no.csv"}, "no such table of right options"),
    ("option-logits", logits(GOOD, keys=b"item,what\na,0\n"), KEYS, "one column with the right"),
    ("option-logits", logits(GOOD, keys=b"item,right\na,first\n"), KEYS, "a position from 0 or a"),
    ("option-logits", logits(["x"]), KEYS, "must have a number for each of at least two options"),
    ("option-logits", logits([1.0]), KEYS, "must have a number for each of at least two options"),
    ("option-logits", logits([1.0, 1e400]), KEYS, "has logits that are infinite"),
    ("option-logits", logits(GOOD), {**KEYS, "order": 3}, "none with number 3"),
    (
        "option-logits",
        logits(GOOD) | {"m.jsonl": b'{"item_id": "a", "logits": [1, 0]}\n7\n'},
        KEYS,
        "line 2 is not as it should be",
    ),
    # the paper's own files
    ("paper-arrays", arrays(labels=np.array([0, 0])), {}, "they are of other models or items"),
    ("paper-arrays", arrays(labels=np.array([0, 0, 7])), {}, "from 0 to 2"),
    ("paper-arrays", arrays(labels=np.array([0, 0, 2])), {}, "has no probability for any model"),
    ("paper-arrays", arrays(labels=CORRECTNESS), {}, "it must have 1 axes"),
    ("paper-arrays", arrays(models_by_correctness=CORRECTNESS * 2), {}, "outside"),
    (
        "paper-arrays",
        arrays(models_by_correctness=b"\x93NUMPY\x01\x00\x05\x00{'x':"),
        {},
        "no .npy",
    ),
    (
        "paper-arrays",
        arrays() | {"law_model-names-in-order.json": ["a\n", "b"]},
        {},
        "cannot be shown",
    ),
    ("paper-arrays", arrays(), {"min_models": 3}, "it has 2 models; 3 or more"),
    ("paper-arrays", arrays(), {"subtask_ranges": "no.json"}, "no such file of subtask ranges"),
    (
        "paper-arrays",
        arrays() | {"r.json": {"a": [0, 2]}},
        {"subtask_ranges": "r.json"},
        "1 of 3 items are in no range",
    ),
    (
        "paper-arrays",
        arrays() | {f"more/{k}": v for k, v in arrays().items()},
        {},
        "more than once",
    ),
    (
        "paper-arrays",
        arrays()
        | {k.replace("law", "art"): v for k, v in arrays().items() if "rect" in k or "name" in k},
        {},
        "no confidences and labels for 'art'",
    ),
    ("paper-scores", {"s.csv": b'a,a,subtask_range,subset\n1,1,"(0, 1)",x\n'}, {}, "each once"),
    ("paper-scores", {"s.csv": b'a,b,subtask_range,subset\n1,"(0, 1)",x\n'}, {}, "has 3 cells"),
    (
        "paper-scores",
        {"s.csv": b'a,b,subtask_range,subset\n1,x,"(0, 1)",x\n'},
        {},
        "has 'x' for 'b'",
    ),
]


@pytest.mark.parametrize(("name", "files", "options", "words"), CASES)
def test_refused(name, files, options, words, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    Sample(name, files, {}).write(folder)
    options = {
        key: folder / value if key in {"right", "ids", "subtask_ranges"} else value
        for key, value in options.items()
    }
    with pytest.raises(MdadError, match=words) as caught:
        loaders.load(folder, format=name, cache=False, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))


def test_every_format_refuses_something():
    assert {name for name, *_ in CASES} == set(SAMPLES)


def test_a_combined_file_says_nothing_per_task(tmp_path):
    assert eee_aggregate()["evaluation_results"] == []
    (tmp_path / "x.json").write_text('{"m": {"dps": 50.0}}')
    with pytest.raises(MdadError, match="no results of EvalPerf per task"):
        loaders.load(tmp_path, format="evalperf", metric="dps")


def test_lenient_loading_counts_what_it_leaves_out(tmp_path):
    rows = [
        oai_spec(),
        event(0, "s.1", "match", correct=True),
        [1],
        {"final_report": {"accuracy": 0}},
    ]
    Sample("", {"x.jsonl": Lines(rows)}, {}).write(tmp_path)
    found = loaders.load_with_report(tmp_path, strict=False, cache=False)
    assert found.report.n_errors == 1
    assert found.scores.values.tolist() == [[1]]
