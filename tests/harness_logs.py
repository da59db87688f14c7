"""Writes small logs in the layout of the harnesses, for tests."""

import json
import zipfile

STAMP = "2026-01-21T03-44-18.458309"


def lm_record(doc_id, score=1.0, *, metric="acc", **fields):
    """One record of lm-evaluation-harness with two choices, the second correct."""
    record = {
        "doc_id": doc_id,
        "doc": {"question": f"question {doc_id}"},
        "target": "1",
        "arguments": {
            "gen_args_0": {"arg_0": "Q", "arg_1": " no"},
            "gen_args_1": {"arg_0": "Q", "arg_1": " yes"},
        },
        "resps": [[["-2.0", "False"]], [["-1.0", "False"]]],
        "filtered_resps": [["-2.0", "False"], ["-1.0", "False"]]
        if score
        else [["-1.0", "False"], ["-2.0", "False"]],
        "filter": "none",
        "metrics": [metric],
        "doc_hash": f"hash-{doc_id}",
        metric: score,
    }
    return {**record, **fields}


def generation(doc_id, score=1.0, *, metric="exact_match", **fields):
    """One record of a generation task."""
    text = lm_record(doc_id, score, metric=metric, target="42", filtered_resps=["so it is 42"])
    return {**text, "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": []}}}, **fields}


def lm_run(folder, model, records, *, task="arc", stamp=STAMP, **results):
    """A folder of one model: a results file and the samples of one task."""
    place = folder / model.replace("/", "__")
    place.mkdir(parents=True, exist_ok=True)
    document = {
        "results": {task: {"alias": task, "acc,none": 0.5}},
        "config": {"model": "hf", "model_args": f"pretrained={model}", "limit": None},
        "model_name": model,
        **results,
    }
    (place / f"results_{stamp}.json").write_text(json.dumps(document))
    return write_lines(place / f"samples_{task}_{stamp}.jsonl", records)


def write_lines(path, records):
    """JSON Lines; a text stands as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [r if isinstance(r, str) else json.dumps(r) for r in records]
    path.write_text(
        "".join(text + "\n" for text in texts), encoding="utf-8", errors="surrogatepass"
    )
    return path


def inspect_sample(id_, value="C", epoch=1, *, scorer="match", **fields):
    """One summary of a sample."""
    scores = {} if value is ... else {scorer: {"value": value, "answer": "x"}}
    return {"id": id_, "epoch": epoch, "input": "Q", "target": "A", "scores": scores, **fields}


def inspect_header(model="m/a", task="quiz", created="2026-01-01T00:00:00+00:00", **fields):
    """The header of a log of Inspect."""
    spec = {"task": task, "model": model, "created": created, "run_id": "r", "dataset": {}}
    return {"version": 2, "status": "success", "eval": {**spec, **fields.pop("eval", {})}, **fields}


def inspect_eval(path, samples, **header):
    """An ``.eval`` archive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(inspect_header(**header)))
        archive.writestr("samples/1_epoch_1.json", "{}")  # one is looked at for its choices
        archive.writestr("samples/2_epoch_1.json", "never read: not JSON")
        archive.writestr("summaries.json", json.dumps(samples))
        archive.writestr("header.json", json.dumps(inspect_header(**header)))
    return path


def inspect_json(path, samples, **header):
    """A ``.json`` log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**inspect_header(**header), "samples": samples}))
    return path
