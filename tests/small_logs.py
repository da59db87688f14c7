"""One small log of every small format, as it lies on a disk, with the scores that are in it.

Used by the tests of these formats, by their fuzzing, and by ``experiments/fuzz_logs.py``.
"""

import io
import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mdad import loaders

NAN = math.nan


@dataclass(frozen=True)
class Sample:
    """Files by name (the first is the one to damage), options, and scores by model and item."""

    format: str
    files: dict[str, Any]
    scores: dict[str, dict[str, float]]
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, folder):
        """Write the files; the options, with names of files made paths."""
        for name, contents in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content_of(contents))
        return {
            key: folder.parent / value if key in {"right", "ids"} else value
            for key, value in self.options.items()
        }


def content_of(contents):
    """Bytes as they are, arrays as .npy, lists of lines as JSON Lines, other things as JSON."""
    if isinstance(contents, bytes):
        return contents
    if isinstance(contents, np.ndarray):
        stream = io.BytesIO()
        np.save(stream, contents)
        return stream.getvalue()
    if isinstance(contents, Lines):
        return "".join(json.dumps(row) + "\n" for row in contents).encode()
    return json.dumps(contents).encode()


class Lines(list):
    """Records of a JSON Lines file."""


def cells(scores):
    """Scores by model and item."""
    return {
        model: {item: float(scores.values[row, i]) for i, item in enumerate(scores.items)}
        for row, model in enumerate(scores.models)
    }


def same(one, other):
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def floats(expected):
    return {m: {i: float(s) for i, s in own.items()} for m, own in expected.items()}


def read(path, **options):
    return loaders.load(path, cache=False, **options)


def stat(name, value, split="test"):
    return {"name": {"name": name, "split": split}, "count": 1, "sum": value, "mean": value}


def helm_run(model, scores, *, failed=()):
    instances = [
        {
            "instance_id": name,
            "train_trial_index": 0,
            "stats": [stat("num_output_tokens", 7), stat("exact_match", value)],
        }
        for name, value in scores.items()
    ]
    spec = {
        "name": f"mmlu:subject=law,model={model.replace('/', '_')}",
        "adapter_spec": {"model": model},
        "metric_specs": [{"class_name": "x", "args": {"names": ["exact_match", "f1"]}}],
    }
    states = [
        {
            "instance": {"id": name, "input": {"text": f"Question {name}"}, "references": []},
            "train_trial_index": 0,
            "result": {"success": name not in failed},
        }
        for name in scores
    ]
    folder = f"runs/v1/mmlu-model={model.replace('/', '_')}"
    return {
        f"{folder}/per_instance_stats.json": instances,
        f"{folder}/run_spec.json": spec,
        f"{folder}/scenario_state.json": {"adapter_spec": {}, "request_states": states},
    }


def swe_report(resolved, unresolved, empty=(), failed=(), absent=()):
    submitted = [*resolved, *unresolved, *empty, *failed]
    return {
        "total_instances": len(submitted) + len(absent),
        "submitted_instances": len(submitted),
        "resolved_instances": len(resolved),
        "unresolved_instances": len(unresolved),
        "empty_patch_instances": len(empty),
        "error_instances": len(failed),
        "submitted_ids": submitted,
        "completed_ids": [*resolved, *unresolved],
        "resolved_ids": list(resolved),
        "unresolved_ids": list(unresolved),
        "empty_patch_ids": list(empty),
        "error_ids": list(failed),
        "incomplete_ids": list(absent),
        "schema_version": 2,
    }


def comparison(instruction, preference, model="m", judge="judge", baseline="base"):
    return {
        "instruction": instruction,
        "output_1": "one",
        "generator_1": baseline,
        "dataset": "helpful",
        "output_2": "two",
        "generator_2": model,
        "annotator": judge,
        "preference": preference,
    }


def failure(number, category="rest"):
    return {
        "id": number + 1,
        "model_name": "raven",
        "test_category": category,
        "valid": False,
        "error": ["no"],
        "prompt": {"id": f"{category}_{number}", "question": "?"},
    }


def eee_row(sample, score, result="acc", model="org/m", **more):
    return {
        "schema_version": "0.2.2",
        "evaluation_id": "run",
        "model_id": model,
        "evaluation_name": "gsm8k",
        "evaluation_result_id": result,
        "sample_id": sample,
        "sample_hash": f"h{sample}",
        "interaction_type": "single_turn",
        "input": {"raw": "?", "reference": ["1"]},
        "output": {"raw": ["1"]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1},
        "error": None,
        **more,
    }


def eee_aggregate(*results):
    return {
        "schema_version": "0.2.2",
        "evaluation_id": "run",
        "model_info": {"name": "m", "id": "org/m"},
        "evaluation_results": [
            {
                "evaluation_result_id": name,
                "evaluation_name": "gsm8k",
                "metric_config": {
                    "metric_id": name, "lower_is_better": lower, "min_score": low,
                    "max_score": high,
                },
            }
            for name, lower, low, high in results
        ],
    }  # fmt: skip


def event(number, sample, kind, **data):
    return {"run_id": "r", "event_id": number, "sample_id": sample, "type": kind, "data": data}


def oai_spec(model="gpt", name="arith.v0", created="2024-01-01"):
    return {
        "spec": {
            "completion_fns": [model], "eval_name": name, "run_id": "r", "created_at": created
        }
    }  # fmt: skip


def trial(task, number=1, *, resolved, mode="unset"):
    return {
        "id": "x",
        "trial_name": f"{task}.{number}-of-1.run_a",
        "task_id": task,
        "is_resolved": resolved,
        "failure_mode": mode,
        "parser_results": {"t": "passed"},
    }


def zero(name, output, answer):
    return {
        "session_id": name, "chat_history": ["?"], "output": [output], "generator": "org/z",
        "dataset": "gsm", "id": name, "answer": answer, "task_type": "qa",
    }  # fmt: skip


def problem(name, verdicts, **more):
    mean = sum(verdicts) / len(verdicts) if verdicts else 0
    return {
        "question_id": name,
        "platform": "codeforces",
        "graded_list": verdicts,
        "pass@1": mean,
        **more,
    }


def attempt(base, plus):
    return {"task_id": "HumanEval/0", "base_status": base, "plus_status": plus}


CORRECTNESS = np.array([[1, 0, 1], [0, 0, 1]], dtype=np.int64)
CONFIDENCE = np.array(
    [[[0.7, 0.3, 0], [0.4, 0.6, 0], [0.9, 0.1, 0]], [[0.2, 0.8, 0], [0.5, 0.5, 0], [0.6, 0.4, 0]]]
)

# fmt: off  # small logs are read like tables
SAMPLES = {
    sample.format: sample
    for sample in (
        Sample(
            "helm",
            {
                **helm_run("org/a", {"id7": 1, "id12": 0}, failed=["id12"]),
                **helm_run("org/b", {"id7": 0, "id12": 1}),
            },
            {
                "org/a": {"mmlu:subject=law/id7": 1, "mmlu:subject=law/id12": NAN},
                "org/b": {"mmlu:subject=law/id7": 0, "mmlu:subject=law/id12": 1},
            },
        ),
        Sample(
            "swebench",
            {
                "gpt-4.1.run1.json": swe_report(
                    ["a__a-1"], ["a__a-2"], ["b__b-3"], ["b__b-4"], ["b__b-5"]
                ),
                "sub/results/results.json": {
                    "no_generation": ["b__b-5"],
                    "generated": ["a__a-1", "a__a-2", "b__b-3", "b__b-4"],
                    "with_logs": ["a__a-1", "a__a-2", "b__b-4"],
                    "no_apply": ["b__b-4"],
                    "test_timeout": [],
                    "resolved": ["a__a-2"],
                },
            },
            {
                "gpt-4.1.run1": {
                    "a__a-1": 1,
                    "a__a-2": 0,
                    "b__b-3": 0,
                    "b__b-4": NAN,
                    "b__b-5": NAN,
                },
                "sub": {"a__a-1": 0, "a__a-2": 1, "b__b-3": NAN, "b__b-4": 0, "b__b-5": 0},
            },
        ),
        Sample(
            "alpaca-eval",
            {
                "results/m/judge/annotations.json": [
                    comparison("First?", 2),
                    comparison("Second?", 1.25),
                    comparison("Third?", None),
                ],
                "results/n/judge/annotations.json": [
                    comparison("Second?", 1, "n"),
                    comparison("First?", 1.5, "n"),
                    comparison("Third?", 0, "n"),
                ],
            },
            {
                "m": {
                    "helpful/98f0ff773a802821": 1,
                    "helpful/617cc0d6c0da45c5": 0.25,
                    "helpful/72fb5e80fbb643a6": NAN,
                },
                "n": {
                    "helpful/98f0ff773a802821": 0.5,
                    "helpful/617cc0d6c0da45c5": 0,
                    "helpful/72fb5e80fbb643a6": 0.5,
                },
            },
        ),
        Sample(
            "bfcl",
            {
                "score/raven/rest_score.json": Lines(
                    [
                        {"accuracy": 0.5, "correct_count": 2, "total_count": 4},
                        failure(0),
                        failure(3),
                    ]
                )
            },
            {"raven": {"rest_0": 0, "rest_1": 1, "rest_2": 1, "rest_3": 0}},
        ),
        Sample(
            "evalplus",
            {
                "m_temp_0.0.eval_results.json": {
                    "date": "2024-01-01",
                    "hash": "x",
                    "eval": {
                        "HumanEval/0": [attempt("pass", "pass"), attempt("pass", "fail")],
                        "HumanEval/1": [attempt("fail", "fail"), attempt("fail", "timeout")],
                    },
                },
                "old_temp_0.0/eval_results.json": {
                    "date": "2023-06-01",
                    "hash": "x",
                    "eval": {
                        "HumanEval/0": {
                            "nfiles": 1,
                            "base": [["success", [True]]],
                            "plus": [["success", []]],
                        },
                        "HumanEval/1": {
                            "nfiles": 1,
                            "base": [["success", []]],
                            "plus": [["failed", [False]]],
                        },
                    },
                },
            },
            {
                "m_temp_0.0": {"HumanEval/0": 0.5, "HumanEval/1": 0},
                "old_temp_0.0": {"HumanEval/0": 1, "HumanEval/1": 0},
            },
        ),
        Sample(
            "evalperf",
            {
                "m_evalperf_results.brief.json": {
                    "date": "x",
                    "config": {"n_samples": 100},
                    "summary": {"dps": 50.0},
                    "eval": {
                        "HumanEval/0": {"dps": 100.0, "dps_norm": 90.5, "pass@1": 37.0},
                        "Mbpp/3": {"dps": None, "dps_norm": None, "pass@1": 0.0},
                    },
                }
            },
            {"m": {"HumanEval/0": 100, "Mbpp/3": NAN}},
            {"metric": "dps"},
        ),
        Sample(
            "every-eval-ever",
            {
                "data/x/org/m/u_samples.jsonl": Lines(
                    [eee_row("1", 1.0), eee_row("2", 0.0), eee_row("3", 0.0, error="timeout")]
                ),
                "data/x/org/m/u.json": eee_aggregate(("acc", False, 0.0, 1.0)),
            },
            {"org/m": {"gsm8k/1": 1, "gsm8k/2": 0, "gsm8k/3": NAN}},
        ),
        Sample(
            "py-irt",
            {
                "x.jsonlines": Lines(
                    [
                        {"subject_id": "ken", "responses": {"q1": 1, "q2": 0}},
                        {"subject_id": 7, "responses": {"q2": 1, "q1": None}},
                    ]
                )
            },
            {"ken": {"q1": 1, "q2": 0}, "7": {"q1": NAN, "q2": 1}},
        ),
        Sample(
            "option-logits",
            {
                "naep-responses-m.jsonl": Lines(
                    [
                        {"item_id": "a", "logits": [[2.0, 0.0], [1.0, 0.0]]},
                        {"item_id": "b", "logits": [0.0, 0.5, 1.0]},
                    ]
                ),
                "../right.csv": b"item,right\nnaep/a,A\nnaep/b,1\n",
            },
            {"m": {"naep/a": 1, "naep/b": 0}},
            {"right": "right.csv"},
        ),
        Sample(
            "paper-arrays",
            {
                "law_models-by-correctness.npy": CORRECTNESS,
                "law_models-by-confidence.npy": CONFIDENCE,
                "law_labels.npy": np.array([0, 0, 0]),
                "law_model-names-in-order.json": ["a", "b"],
            },
            {"a": {"law/0": 1, "law/1": 0, "law/2": 1}, "b": {"law/0": 0, "law/1": 0, "law/2": 1}},
        ),
        Sample(
            "paper-scores",
            {
                "model_scores.csv": b'a,b,subtask_range,subset\n1,0,"(0, 2)",law\n0,,"(0, 2)",law\n'
                b'1,1.0,"(2, 3)",art\n'
            },
            {
                "a": {"law/0": 1, "law/1": 0, "art/0": 1},
                "b": {"law/0": 0, "law/1": NAN, "art/0": 1},
            },
        ),
        Sample(
            "livecodebench",
            {
                "O1 (N=2)/Scenario.codegeneration_2_0.2_eval_all.json": [
                    problem("1_A", [True, False]),
                    problem("1_B", [True, True]),
                    problem("1_C", []),
                ]
            },
            {"O1 (N=2)": {"1_A": 0.5, "1_B": 1, "1_C": NAN}},
        ),
        Sample(
            "openai-evals",
            {
                "log.jsonl": Lines(
                    [
                        oai_spec(),
                        event(0, "s.1", "sampling", prompt="?"),
                        event(1, "s.1", "match", correct=True, expected="2"),
                        event(2, "s.2", "match", correct=False, expected="3"),
                        event(3, "s.3", "sampling", prompt="?"),
                        {"final_report": {"accuracy": 0.5}},
                    ]
                )
            },
            {"gpt": {"s.1": 1, "s.2": 0, "s.3": NAN}},
        ),
        Sample(
            "terminal-bench",
            {
                "run/results.json": {
                    "id": "x",
                    "results": [
                        trial("a", resolved=True),
                        trial("b", resolved=False),
                        trial("c", resolved=None, mode="test_timeout"),
                        trial("a", 2, resolved=False),
                    ],
                    "n_resolved": 1,
                    "accuracy": 0.25,
                },
                "run/run_metadata.json": {"agent_name": "terminus", "model_name": "org/m"},
            },
            {"terminus:org/m": {"a": 0.5, "b": 0, "c": NAN}},
        ),
        Sample(
            "zeroeval",
            {
                "gsm/z.json": [
                    zero(
                        "g#0", '```json\n{"reasoning": "x", "answer": "$1,200.00"}\n```', "# 1200"
                    ),
                    zero("g#1", '{"answer": "7 miles"}', "# 70"),
                    zero("g#2", "I do not know {", "# 3"),
                ]
            },
            {"org/z": {"g#0": 1, "g#1": 0, "g#2": 0}},
        ),
        Sample(
            "eqbench",
            {
                "m_eqbench_v2_results.json": {
                    "benchmark_score": 70.0,
                    "eqbench_version": "v2",
                    "model_path": "org/m",
                    "raw_results": {
                        "1": {
                            "individual_scores": {
                                "1": {"first_pass_score": 8.5, "revised_score": None},
                                "2": {"first_pass_score": -3.0, "revised_score": None},
                            }
                        },
                        "2": {
                            "individual_scores": {
                                "1": {"first_pass_score": 9.5, "revised_score": None},
                                "2": {"first_pass_score": None, "revised_score": None},
                            }
                        },
                    },
                }
            },
            {"org/m": {"eq_1": 9.0, "eq_2": -3.0}},
            {"score_range": (-34, 10)},
        ),
        Sample(
            "cruxeval",
            {
                "sample_scored_m_temp0.2_output.json": {
                    "raw_generations": {"sample_0": ["1", "2"], "sample_1": ["3", "4"]},
                    "raw_scored_generations": {"sample_0": [True, False], "sample_1": [True, True]},
                    "pass_at_1": 75.0,
                }
            },
            {"m_temp0.2": {"output/sample_0": 0.5, "output/sample_1": 1}},
        ),
        Sample(
            "mint",
            {
                "outputs/gpt/F=None/max5/reasoning/gsm8k/results.jsonl": Lines(
                    [
                        {
                            "state": {
                                "success": success,
                                "error": error,
                                "agent_action_count": {"x": 1},
                            },
                            "task": {"task_id": number, "task_name": "reasoning"},
                        }
                        for number, (success, error) in enumerate(
                            [(True, None), (False, None), (False, "API down")]
                        )
                    ]
                )
            },
            {"gpt (F=None, max5)": {"gsm8k/0": 1, "gsm8k/1": 0, "gsm8k/2": NAN}},
        ),
        Sample(
            "wmt25",
            {
                "AMI.jsonl": Lines(
                    [
                        {
                            "language_pair": "en-is",
                            "domain": "news",
                            "document_id": "d1",
                            "metric_scores": {"Comet": [0.5, 0.75], "X": [-9.5, -3]},
                        }
                    ]
                )
            },
            {"AMI": {"en-is/news/d1/1": 0.5, "en-is/news/d1/2": 0.75}},
            {"metric": "Comet"},
        ),
        Sample(
            "opencompass",
            {
                "results/llama/gsm8k.json": {
                    "accuracy": 50.0,
                    "details": {
                        "type": "GEN",
                        "0": {"prompt": "?", "predictions": "1", "correct": True},
                        "1": {"prompt": "?", "predictions": "2", "correct": False},
                    },
                },
                "results/llama/arc.json": {
                    "accuracy": 100.0,
                    "details": [{"pred": "A", "answer": "A", "correct": True}],
                },
            },
            {"llama": {"gsm8k/0": 1, "gsm8k/1": 0, "arc/0": 1}},
        ),
    )
}
# fmt: on
