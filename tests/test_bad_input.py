"""Every way a table can be wrong: how it is made, and the one paragraph that refuses it.

``docs/bad-input.md`` is made from this table: ``python tests/test_bad_input.py`` writes it.
"""

import gzip
import json
import pickle
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mdad
from harness_logs import lm_record
from mdad import loaders, storage
from mdad.errors import MdadError
from mdad.microbenchmark import Benchmark, Made, Microbenchmark
from mdad.scores import ScoreMatrix

PAGE = Path(__file__).resolve().parents[1] / "docs" / "bad-input.md"

WIDE = "model,q1,q2,q3\na,1,0,1\nb,0,0,1\n"
LONG = "model,item,score\na,q1,1\na,q2,0\nb,q1,0\nb,q2,1\n"
MICRO = Microbenchmark(
    ("quiz/3", "quiz/8"),
    Benchmark("", 90, "-"),
    Made("random", 0),
    content_hashes=("hash-3", "hash-8"),
)
MATRIX = ScoreMatrix([[1, 0, 1], [0, 0, 1]], ["a", "b"], ["q1", "q2", "q3"])


@dataclass(frozen=True)
class Case:
    """A bad input: files to write (name: contents or a function of the path), and a call."""

    name: str
    made: str
    files: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    path: str = ""

    def load(self, folder):
        """Write the files and load the first, or ``path``."""
        for name, contents in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if callable(contents):
                contents(target)
            else:
                target.write_bytes(
                    contents if isinstance(contents, bytes) else contents.encode("utf-8")
                )
        companions = {"items", "models_file", "probabilities"}
        options = {k: folder / v if k in companions else v for k, v in self.options.items()}
        return loaders.load(folder / (self.path or next(iter(self.files))), **options)

    def message(self):
        """The text of the refusal, with the folder taken out."""
        folder = Path(tempfile.mkdtemp())
        try:
            self.load(folder)
        except MdadError as error:
            return str(error).replace(f"{folder}/", "").replace(str(folder), "FOLDER")
        finally:
            shutil.rmtree(folder)
        return None


class Returned(Case):
    """A run on a micro-benchmark of two items, which is scored."""

    def load(self, folder):
        """Load it and score it."""
        return mdad.score(MICRO, super().load(folder))


class Asked(Case):
    """Something to fetch."""

    def load(self, folder):
        """Ask for it; nothing is asked of the network."""
        return mdad.fetch(out=folder, **self.options)


class Figured(Case):
    """The same for a call of `mdad.figures` with the folder."""

    def load(self, folder):
        """Write the files and draw."""
        for name, contents in self.files.items():
            contents(folder / name)
        return mdad.figures(folder, **self.options)


class Reproduced(Case):
    """The same for a call of `mdad.reproduce`."""

    def load(self, folder):
        """Ask for it, to be kept in the folder."""
        return mdad.reproduce(**self.options, out=folder)


class Asking(Case):
    """A session that cannot start, go on or be told."""

    def load(self, folder):
        """Start one in the folder, change its file, resume it and tell answers."""
        told, change = self.files.get("told", {}), self.files.get("change", ("", ""))
        items, path = [f"q{i}" for i in range(1, 21)], folder / "session.json"
        mdad.Session.new(["a", "b"], items=items, path=path, **self.options)
        path.write_text(path.read_text().replace(*change, 1))
        mdad.Session.load(path).tell(told)


class Examined(Case):
    """Scores whose items are examined."""

    def load(self, folder):
        """Load them and look at their items."""
        return mdad.diagnose_items(super().load(folder))


def unfinished_results(path):
    scores = mdad.datasets.simulate(n_models=15, n_items=20, seed=1)
    mdad.audit(scores, methods=["random"], sizes=[5], runs=2, out=path)
    (path / "runs" / "run-00001.parquet").unlink()


def returned(name, made, *records, task="quiz"):
    text = "".join(json.dumps(record) + "\n" for record in records)
    return Returned(name, made, {f"org__a/samples_{task}.jsonl": text})


def wide(name, made, contents, **options):
    return Case(name, made, {"scores.csv": contents}, options)


def long(name, made, contents, **options):
    return Case(name, made, {"long.csv": contents}, options)


def lines(name, made, *records):
    texts = [r if isinstance(r, str) else json.dumps(r) for r in records]
    return Case(name, made, {"scores.jsonl": "\n".join(texts) + "\n"})


def parquet(name, made, frame, **options):
    return Case(
        name, made, {"scores.parquet": lambda p: pd.DataFrame(frame).to_parquet(p)}, options
    )


def beside(name, made, option, contents):
    return Case(name, made, {"scores.csv": WIDE, "other.csv": contents}, {option: "other.csv"})


def record(model="a", item="q1", score=1):
    return {"model": model, "item": item, "score": score}


def bomb(path):
    with gzip.open(path, "wb") as file:
        file.write(b"model,q1,q2\n" + b"a" * (300 << 20))


def truncated(path):
    pd.DataFrame({"model": ["a", "b"], "q1": [1, 0], "q2": [1, 1]}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-40])


def changed_store(path):
    import pyarrow.parquet as pq  # noqa: PLC0415

    storage.write_parquet(MATRIX, path, "long")
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 4), path)


def scores_for_probabilities(path):
    storage.write_parquet(
        ScoreMatrix([[7, 0, 10], [0, 2, 1]], "ab", MATRIX.items, score_range=(0, 10)), path
    )


def newer_store(path):
    storage.write_directory(MATRIX, path)
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 2'))


def edited_store(path):
    storage.write_directory(MATRIX, path)
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"q1"', '"q9"'))


def store_without_file(path):
    storage.write_directory(MATRIX, path)
    (path / "values.npy").unlink()


def short_store(path):
    storage.write_directory(MATRIX, path)
    values = path / "values.npy"
    values.write_bytes(values.read_bytes()[:-1])


def flipped_store(path):
    storage.write_directory(MATRIX, path)
    values = path / "values.npy"
    data = bytearray(values.read_bytes())
    data[-1] ^= 1
    values.write_bytes(data)


CASES = (
    # Files that are no tables
    Case("no such file", "a name that does not exist", {"scores.csv": WIDE}, path="score.csv"),
    Case("a folder", "a folder of other things", {"logs/notes.txt": "x"}, path="logs"),
    wide("empty file", "no bytes at all", ""),
    wide("white space only", "three empty lines", "\n\n\n"),
    wide("header only", "a header and nothing below", "model,q1,q2\n"),
    wide("one column", "no delimiter in the first line", "model\na\nb\n"),
    wide("semicolons in a .csv", "saved with a decimal-comma locale", WIDE.replace(",", ";")),
    wide("tabs in a .csv", "saved as tab-separated", WIDE.replace(",", "\t")),
    Case("commas in a .tsv", "named .tsv, saved with commas", {"scores.tsv": WIDE}),
    wide("the wrong delimiter= given", 'delimiter=";"', WIDE, delimiter=";"),
    wide("UTF-16", "saved as Unicode by a spreadsheet", WIDE.encode("utf-16")),
    wide("UTF-16 without a mark", "the same without a byte order mark", WIDE.encode("utf-16-le")),
    wide("Latin-1", "an accent in one byte", "model,q1,q2\ncaf\xe9,1,0\nb,0,1\n".encode("latin-1")),
    wide("zero bytes", "a damaged line", "model,q1,q2\na,1,\0\nb,0,1\n" + " " * 5000),
    wide("zero bytes far below", "the same after 5,000 bytes", WIDE + "\n" * 5000 + "c,1,\0,0\n"),
    wide("a quotation mark not closed", "one quote too few", 'model,q1,q2\n"a,1,0\nb,0,1\n'),
    wide("a quotation mark not doubled", "a quote inside quotes", 'model,q1\n"a"b",1\n"c",0\n'),
    Case("a spreadsheet", "an .xlsx under a .csv name", {"scores.csv": b"PK\x03\x04" + bytes(60)}),
    Case("a pickle", "a pickled dict", {"scores.pkl": pickle.dumps({"a": [1, 0]})}),
    Case("a NumPy array", "saved by numpy.save", {"scores.npy": lambda p: np.save(p, np.eye(3))}),
    Case("binary bytes", "bytes 0 to 255", {"scores.csv": bytes(range(256))}),
    Case("truncated gzip", "a download cut off", {"s.csv.gz": gzip.compress(WIDE.encode())[:-12]}),
    Case(
        "damaged gzip",
        "one byte changed, so that the checksum fails",
        {"s.csv.gz": gzip.compress(WIDE.encode())[:-8] + bytes(8)},
    ),
    Case("a gzip bomb", "0.3 MB that expand to 300 MB", {"s.csv.gz": bomb}),
    # Wide tables
    wide("one model", "one row", "model,q1,q2\na,1,0\n"),
    wide("one item", "a table of means", "model,score\na,0.71\nb,0.64\n"),
    wide("column name twice", "q1 and q1, other scores", "model,q1,q1\na,1,0\nb,0,0\n"),
    wide("column names that differ in white space", "q1 and ' q1'", "model,q1, q1\na,1,1\nb,0,0\n"),
    wide("model twice, same scores", "a row pasted twice", WIDE + "a,1,0,1\n"),
    wide("model twice, different scores", "two runs of one model", WIDE + "a,1,1,1\n"),
    wide("models that differ in white space", "a and 'a '", WIDE + "a ,1,1,1\n"),
    wide("model twice, merged", "duplicates='merge'", WIDE + "a,1,1,1\n", duplicates="merge"),
    wide('ids 1 and "1"', "quoted and bare", 'model,q1,q2\n1,1,0\n"1",0,1\n'),
    wide("text in a cell", "a word", "model,q1,q2\na,1,yes\nb,0,1\n"),
    wide("text in many cells", "letters", "model,q1,q2,q3\na,C,I,C\nb,I,I,C\n"),
    wide("a dash for a missing score", "- and n/a", "model,q1,q2\na,1,-\nb,n/a,1\n"),
    wide("an infinite score", "inf", "model,q1,q2\na,1,inf\nb,0,1\n"),
    wide("a number too large", "1e999", "model,q1,q2\na,1,1e999\nb,0,1\n"),
    wide("a number as only Python writes it", "1_0", "model,q1,q2\na,1,1_0\nb,0,1\n"),
    wide("per cent", "0 to 100", "model,q1,q2\na,100,85\nb,0,62.5\n"),
    wide("per cent signs", "85%", "model,q1,q2\na,85%,10%\nb,0%,1%\n"),
    wide(
        "outside the declared range",
        "11 of 10",
        "model,q1,q2\na,11,8\nb,0,-1\n",
        score_range=(0, 10),
    ),
    wide("negative scores", "no range declared", "model,q1,q2\na,-3.5,8\nb,0,1\n"),
    wide("decimal commas", "split by ;", "model;q1;q2\na;0,5;1\nb;0;1\n", delimiter=";"),
    wide("a short row", "a cell left out", "model,q1,q2\na,1\nb,0,1\n"),
    wide("a long row", "a comma in an id", "model,q1,q2\nllama, 7b,1,0\nb,0,1\n"),
    wide("a model without id", "an empty first cell", "model,q1,q2\na,1,0\n,0,1\n"),
    wide(
        "columns without name",
        "3,000 of them",
        "model,q1" + "," * 3000 + "\na,1" + "," * 3000 + "\n",
    ),
    wide("no header", "scores from the first line on", "0,1,1,0\n1,0,1,1\n0,0,1,0\n"),
    wide("a model without scores", "an empty row", WIDE + "c,,,\n"),
    wide("an item without scores", "an empty column", "model,q1,q2\na,1,\nb,0,NA\n"),
    wide("a label column", "a family beside the items", "model,family,q1\na,llama,1\nb,gemma,0\n"),
    wide(
        "transposed, first column model",
        "items as rows",
        "model,gpt-4,llama-7b\nq1,1,0\nq2,1,1\nq3,0,0\n",
    ),
    wide(
        "transposed, first column item",
        "models as rows",
        "item,q1,q2,q3\ngpt-4,1,0,1\nllama-7b,0,0,1\n",
    ),
    wide("which are the models?", "names that say nothing", "name,red,green\nx,1,0\ny,0,1\n"),
    # Long tables
    long("a row twice, same score", "pasted twice", LONG + "a,q1,1\n"),
    long("a row twice, different scores", "two runs", LONG + "a,q1,0\n"),
    long(
        "a row per filter",
        "strict and flexible matches of one log",
        "model,item,filter,score\na,q1,strict,0\na,q1,flexible,1\na,q2,strict,1\na,q2,flexible,1\n",
    ),
    long("a row twice, merged", "duplicates='merge'", LONG + "a,q1,0\n", duplicates="merge"),
    long("no column of scores", "a name that is not known", LONG.replace("score", "grade")),
    long(
        "two columns of scores",
        "acc and acc_norm",
        "model,item,acc,acc_norm\na,q1,1,0\na,q2,0,0\nb,q1,1,1\nb,q2,0,1\n",
    ),
    long("a row without item", "an empty cell", LONG + "b,,1\n"),
    long("items that differ in white space", "q2 and 'q2 '", LONG + "c,q1,1\nc,q2 ,1\n"),
    long(
        "an item in two subtasks",
        "labels that disagree",
        "model,item,score,subtask\na,q1,1,law\na,q2,0,law\nb,q1,0,art\nb,q2,1,law\n",
    ),
    long("a word for a score", "correct", LONG.replace("b,q2,1", "b,q2,correct")),
    long("per cent in a long table", "0 to 100", LONG.replace(",1\n", ",100\n")),
    long(
        "log-likelihoods for probabilities",
        "negative numbers",
        "model,item,score,probability\na,q1,1,-0.3\na,q2,0,-2.1\nb,q1,0,0.2\nb,q2,1,0.9\n",
    ),
    long("a short row in a long table", "a cell left out", LONG + "c,q1\n"),
    long("one model in a long table", "one model", "model,item,score\na,q1,1\na,q2,0\n"),
    long("one item in a long table", "one benchmark as item", "model,item,score\na,x,1\nb,x,0\n"),
    # JSON Lines
    lines("a JSON list", "records in brackets", "[" + json.dumps(record()) + "]"),
    lines("a line that is not JSON", "cut off", record(), '{"model": "a", "ite'),
    lines("a line that is no object", "a number", record(), "3"),
    lines("a record without score", "two names only", record(), {"model": "a", "item": "q2"}),
    lines(
        "a name twice in a record",
        "two scores",
        record(),
        record("b"),
        '{"model": "a", "item": "q2", "score": 1, "score": 0}',
    ),
    lines('ids 1 and "1" in JSON', "a number and text", record(item=1), record(item="1", score=0)),
    lines("an id with decimals", "1.5", record(), record(item=1.5)),
    lines("an id that is null", "null", record(), record(item=None)),
    lines(
        "a list for a score", "several metrics", record(), record(item="q2", score=[True, False])
    ),
    lines("an infinite score in JSON", "Infinity", record(), record(item="q2", score=float("inf"))),
    lines("a record per model", "items as names", {"model": "a", "q1": 1, "q2": 0}),
    # Parquet
    Case("truncated Parquet", "the last 40 bytes are gone", {"scores.parquet": truncated}),
    parquet("Parquet without rows", "columns only", {"model": [], "q1": [], "q2": []}),
    parquet("long Parquet without rows", "columns only", {"model": [], "item": [], "score": []}),
    parquet(
        "a column of dates",
        "when a run was made",
        {
            "model": ["a", "b"],
            "q1": [1, 0],
            "run": np.array(["2025-01-01"] * 2, dtype="datetime64[ms]"),
        },
    ),
    parquet("ids as decimals", "1.0", {"model": [1.0, 2.0], "q1": [1, 0], "q2": [1, 0]}),
    parquet("text in Parquet", "a word", {"model": ["a", "b"], "q1": ["1", "x"], "q2": ["0", "1"]}),
    parquet(
        "infinity in Parquet",
        "a division by zero",
        {"model": ["a", "b"], "q1": [1, float("inf")], "q2": [1, 0]},
    ),
    parquet(
        "a row twice in Parquet",
        "long",
        {"model": ["a", "a", "a"], "item": ["q1", "q2", "q1"], "score": [1, 0, 0]},
    ),
    parquet(
        "a null id in Parquet", "long", {"model": ["a", None], "item": ["q", "r"], "score": [1, 0]}
    ),
    # Own formats
    Case(
        "an own Parquet file, cut", "rows removed by another program", {"s.parquet": changed_store}
    ),
    Case("a directory of a newer version", "version 2", {"store": newer_store}),
    Case("a manifest edited by hand", "an item renamed", {"store": edited_store}),
    Case("a directory without its values", "a file removed", {"store": store_without_file}),
    Case("a directory with a short file", "copied in part", {"store": short_store}),
    Case("a directory with a changed score", "one bit", {"store": flipped_store}),
    Case(
        "a foreign manifest",
        "another program's folder",
        {"store/manifest.json": '{"format": "other", "version": 1}'},
        {"format": "mdad-directory"},
        "store",
    ),
    Case(
        "a folder that was not finished",
        "no manifest",
        {"store/values.npy": b"x"},
        {"format": "mdad-directory"},
        "store",
    ),
    # Files beside the scores
    beside(
        "items that do not match", "another version", "items", "item_id,subtask\nq1,x\nq2,x\nq4,y\n"
    ),
    beside(
        "an item twice in the items file",
        "pasted",
        "items",
        "item,subtask\nq1,x\nq1,y\nq2,x\nq3,x\n",
    ),
    beside("an item without id", "an empty cell", "items", "item,subtask\nq1,x\n,x\nq3,x\n"),
    beside("an items file without ids", "no known column", "items", "number,subtask\nq1,x\nq2,x\n"),
    beside("an item without subtask", "an empty label", "items", "item,subtask\nq1,x\nq2,\nq3,x\n"),
    beside(
        "an items file with a short row",
        "a cell left out",
        "items",
        "item,subtask\nq1\nq2,x\nq3,x\n",
    ),
    beside("an items file of a header", "no rows", "items", "item,subtask\n"),
    beside(
        "models that do not match",
        "a models file of others",
        "models_file",
        "model,size\na,7\nc,9\n",
    ),
    beside(
        "probabilities of other models",
        "a and c",
        "probabilities",
        "model,q1,q2,q3\na,.9,.1,.8\nc,.2,.3,.7\n",
    ),
    beside(
        "probabilities of other items",
        "q4 for q3",
        "probabilities",
        "model,q1,q2,q4\na,.9,.1,.8\nb,.2,.3,.7\n",
    ),
    beside(
        "probabilities above 1",
        "per cent",
        "probabilities",
        "model,q1,q2,q3\na,90,10,80\nb,20,30,70\n",
    ),
    Case(
        "an own file of scores for probabilities",
        "0 to 10",
        {"scores.csv": WIDE, "o.parquet": scores_for_probabilities},
        {"probabilities": "o.parquet"},
    ),
    Case(
        "a folder for the items file",
        "items=FOLDER",
        {"scores.csv": WIDE, "d/x": ""},
        {"items": "d"},
    ),
    # Options
    wide("an unknown option", "a typing mistake", WIDE, score_rnage=(0, 1)),
    wide("an unknown format", "a typing mistake", WIDE, format="tabel"),
    wide("a range that is none", "(1, 0)", WIDE, score_range=(1, 0)),
    wide("a range of three numbers", "(0, 1, 2)", WIDE, score_range=(0, 1, 2)),
    wide("an unknown orientation", "rows", WIDE, orientation="rows"),
    wide(
        "graded scores declared 0/1",
        "kind='correctness'",
        WIDE.replace("a,1", "a,.5"),
        kind="correctness",
    ),
    wide("a delimiter of two characters", "delimiter=', '", WIDE, delimiter=", "),
    long("a column that is not there", "columns={'score': 'acc'}", LONG, columns={"score": "acc"}),
    long("a role that is none", "columns={'metric': 'acc'}", LONG, columns={"metric": "acc"}),
    returned(
        "a run on an item that says something else now",
        "a log of lm-evaluation-harness with another doc_hash; scored on a micro-benchmark",
        lm_record(3),
        lm_record(8, doc_hash="new"),
    ),
    returned(
        "a run on a data set that was shuffled",
        "a log whose two documents have changed places; scored on a micro-benchmark",
        lm_record(3, doc_hash="hash-8"),
        lm_record(8, doc_hash="hash-3"),
    ),
    returned(
        "a run on another document than the chosen one",
        "a task of its own that numbers its documents anew; scored on a micro-benchmark",
        lm_record(0, doc_hash="hash-3"),
        lm_record(1, doc_hash="new"),
        task="quiz_micro",
    ),
    Asked(
        "a model to fetch that is no name of the hub",
        "`mdad.fetch` of models without an organisation",
        {},
        {"benchmark": "musr", "models": ["gpt2", "org/model"]},
    ),
    Asked(
        "a benchmark the leaderboard does not have",
        "`mdad.fetch` of a benchmark with a slip of the pen",
        {},
        {"benchmark": "mmlu_pro", "models": ["org/model"]},
    ),
    Figured("figures of nothing", "`mdad.figures` of an empty folder", {}),
    Figured(
        "figures of an audit that was stopped",
        "`mdad.figures` of a folder in which one of two runs is not done",
        {"audit": unfinished_results},
    ),
    Figured(
        "figures in a format of photographs",
        "`mdad.figures` with a format that has no lines",
        {},
        {"formats": ["jpeg"]},
    ),
    Examined(
        "items examined through two models",
        "`mdad.diagnose_items` of two models on three items",
        {"scores.csv": WIDE},
    ),
    Asking(
        "a learned session without source models",
        "`mdad.Session.new` with design='c-optimal' and ids only",
        {},
        {"design": "c-optimal"},
    ),
    Asking(
        "a budget beyond the pool",
        "`mdad.Session.new` of 20 items with a budget of 30",
        {},
        {"budget": 30},
    ),
    Asking(
        "a session with another error probability than it began with",
        "session.json with alpha edited",
        {"change": ('"alpha": 0.05', '"alpha": 0.5')},
    ),
    Asking(
        "a session cut short",
        "session.json without its first brace",
        {"change": ("{", "")},
    ),
    Asking(
        "an answer to another question",
        "`session.tell` of an item that is not in the pool",
        {"told": {"q99": {"a": 1}}},
    ),
    Asking(
        "an answer that is none",
        "`session.tell` of an item that could not be scored",
        {"told": {"q7": {"a": None}}},
    ),
    Reproduced("a reproduction of nothing", "`mdad.reproduce` without scores", {}),
    Reproduced(
        "a reproduction with fixed targets of scores that are not there",
        "`mdad.reproduce` with a slip of the pen in the name of a benchmark",
        {},
        {"simulated": True, "quick": True, "groups": {"mmlu_pro": {"8B": "8b"}}},
    ),
)


MESSAGES = {}


def said(case):
    """The message of a case, made once."""
    if case.name not in MESSAGES:
        MESSAGES[case.name] = case.message()
    return MESSAGES[case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused_in_one_paragraph(case):
    message = said(case)
    assert message is not None, "it was accepted"
    assert "\n" not in message
    assert message.endswith((".", "?"))
    assert len(message) < 1000
    assert "Traceback" not in message
    assert "object at 0x" not in message


def test_there_are_many_and_each_has_a_name_of_its_own():
    assert len({case.name for case in CASES}) == len(CASES) >= 40


def page():
    """The document: how each input is made and what mdad says."""
    text = [
        "# Input that is refused",
        "",
        (
            "Nothing is silently dropped, averaged or filled in. This is what `mdad.load`, and "
            f"where it is named another call, says about {len(CASES)} kinds of input that it does "
            "not accept. The page is made by "
            "`tests/test_bad_input.py`."
        ),
    ]
    for case in CASES:
        message = re.sub(r"([*_<>|\\])", r"\\\1", said(case))
        options = ", ".join(f"{k}={v!r}" for k, v in case.options.items())
        call = f" Loaded with `{options}`." if options else ""
        text += ["", f"## {case.name}", "", f"Made: {case.made}.{call}", "", f"> {message}"]
    return "\n".join(text) + "\n"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python tests/test_bad_input.py"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
