"""Tables load by id, whatever their form; what users of other tools met (user cases) works."""

import gzip
import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mdad import loaders, storage
from mdad.errors import FormatError, SettingError
from mdad.loaders import _cells, _long, _text, _wide, tables
from mdad.loaders._names import Source
from mdad.loaders._orientation import looks_like
from mdad.scores import ScoreMatrix

RNG = np.random.default_rng(1)
VALUES = RNG.integers(0, 2, (6, 9)).astype(float)
VALUES[1, 2] = VALUES[4, 8] = np.nan
MODELS = [f"org/model-{i}" for i in range(6)]
ITEMS = [f"q{i}" for i in range(9)]
CHANCES = RNG.random((6, 9)).astype(np.float32)
FRAME = pd.DataFrame(VALUES, index=MODELS, columns=ITEMS)


def long_records(*, chances=False):
    records = []
    for (row, model), (column, item) in (
        ((r, m), (c, i)) for r, m in enumerate(MODELS) for c, i in enumerate(ITEMS)
    ):
        score = VALUES[row, column]
        record = {"model": model, "item": item, "score": None if math.isnan(score) else int(score)}
        if chances:
            record["probability"] = float(CHANCES[row, column])
        records.append(record)
    order = RNG.permutation(len(records))
    return [records[i] for i in order]


def assert_values(found, values=VALUES, models=MODELS, items=ITEMS):
    assert sorted(found.models) == sorted(models)
    assert sorted(found.items) == sorted(items)
    found = found.restrict(models=models, items=items)
    np.testing.assert_array_equal(found.values, values)


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


WIDE = {
    "w.csv": lambda p: FRAME.rename_axis("model").to_csv(p),
    "w.csv.gz": lambda p: FRAME.rename_axis("Model-Name").to_csv(p),
    "w.tsv": lambda p: FRAME.to_csv(p, sep="\t"),
    "bom.csv": lambda p: FRAME.to_csv(p, encoding="utf-8-sig"),
    "crlf.csv": lambda p: FRAME.to_csv(p, lineterminator="\r\n"),
    "cr.csv": lambda p: FRAME.to_csv(p, lineterminator="\r"),
    "quoted.csv": lambda p: FRAME.to_csv(p, quoting=1),
    "na.csv": lambda p: FRAME.to_csv(p, na_rep="NaN"),
    "columns.csv": lambda p: FRAME.T.rename_axis("item_id").to_csv(p),
    "unnamed-columns.csv": FRAME.T.to_csv,
    "booleans.csv": lambda p: FRAME.replace({1.0: "True", 0.0: "false"}).to_csv(p),
    "w.parquet": FRAME.to_parquet,
    "column.parquet": lambda p: FRAME.rename_axis("model").reset_index().to_parquet(p),
    "ints.parquet": lambda p: FRAME.astype("Int64").to_parquet(p),
    "bools.parquet": lambda p: FRAME.astype("boolean").to_parquet(p),
    "small.parquet": lambda p: FRAME.astype("float32").to_parquet(p, row_group_size=2),
    "columns.parquet": lambda p: FRAME.T.rename_axis("item").to_parquet(p),
    "texts.parquet": lambda p: FRAME.map(lambda x: "NA" if math.isnan(x) else str(x)).to_parquet(p),
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_tables(name, tmp_path):
    WIDE[name](tmp_path / name)
    found = loaders.load(tmp_path / name)
    assert_values(found)
    assert found.kind == "correctness"
    assert found.values.dtype == np.float32
    assert found.name == name.split(".")[0]


def frame(**options):
    return pd.DataFrame(long_records(**options))


def codes(table):
    """Model and item as categories, some of which no row uses."""
    kinds = {"model": pd.CategoricalDtype([*MODELS, "none"]), "item": "category"}
    return table.astype(kinds)


LONG = {
    "l.csv": lambda p: frame().to_csv(p, index=False),
    "l.csv.gz": lambda p: frame().to_csv(p, index=False),
    "l.tsv": lambda p: frame().to_csv(p, index=False, sep="\t"),
    "names.csv": lambda p: (
        frame()
        .rename(columns={"model": "LLM", "item": "Doc ID", "score": "is_correct"})
        .to_csv(p, index=False)
    ),
    "more.csv": lambda p: frame().assign(note="x, y").to_csv(p, index=False),
    "l.parquet": lambda p: frame().to_parquet(p),
    "groups.parquet": lambda p: frame().to_parquet(p, row_group_size=7),
    "codes.parquet": lambda p: codes(frame()).to_parquet(p),
    "l.jsonl": lambda p: write(p, "\n".join(map(json.dumps, long_records()))),
    "l.jsonl.gz": lambda p: write(p, "\n".join(map(json.dumps, long_records())) + "\n\n"),
    "escaped.jsonl": lambda p: write(
        p, "\n".join(json.dumps(r).replace("score", "sc\\u006fre") for r in long_records())
    ),
    "bools.jsonl": lambda p: write(
        p, "\n".join(json.dumps(r).replace(": 1", ": true") for r in long_records())
    ),
    "texts.jsonl": lambda p: write(
        p, "\n".join(json.dumps({k: str(v) for k, v in r.items()}) for r in long_records())
    ),
    "nan.jsonl": lambda p: write(
        p, "\n".join(json.dumps(r).replace("null", "NaN") for r in long_records())
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_tables(name, tmp_path, monkeypatch):
    monkeypatch.setattr("mdad.loaders._long_text.ROWS_AT_ONCE", 5)
    monkeypatch.setattr("mdad.loaders._parquet.ROWS_AT_ONCE", 5)
    LONG[name](tmp_path / name)
    found = loaders.load(tmp_path / name)
    assert_values(found)
    assert found.kind == "correctness"
    assert found.probabilities is None


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.jsonl"])
def test_probabilities_and_subtasks_in_a_long_table(name, tmp_path):
    table = frame(chances=True)
    table["subtask"] = table["item"].map(lambda item: f"part {int(item[1:]) % 2}")
    if name.endswith("csv"):
        table.to_csv(tmp_path / name, index=False)
    elif name.endswith("parquet"):
        table.to_parquet(tmp_path / name)
    else:
        table["score"] = table["score"].astype("Int64")
        table.to_json(tmp_path / name, orient="records", lines=True, double_precision=15)
    found = loaders.load(tmp_path / name)
    assert_values(found)
    found = found.restrict(models=MODELS, items=ITEMS)
    np.testing.assert_allclose(found.probabilities, CHANCES, rtol=1e-6)
    assert found.subtasks == tuple(f"part {i % 2}" for i in range(9))


PROBABILITY_FILES = {
    "wide.csv": pd.DataFrame(CHANCES, MODELS, ITEMS).iloc[::-1, ::-1].to_csv,
    "long.csv": lambda p: frame(chances=True).to_csv(p, index=False),
    "long.parquet": lambda p: frame(chances=True).drop(columns="score").to_parquet(p),
    "own.parquet": lambda p: storage.write_parquet(
        ScoreMatrix(VALUES, MODELS, ITEMS, probabilities=CHANCES), p
    ),
    "own": lambda p: storage.write_directory(ScoreMatrix(CHANCES, MODELS, ITEMS), p),
}


@pytest.mark.parametrize("name", PROBABILITY_FILES)
def test_probabilities_from_a_file_of_their_own(name, tmp_path):
    FRAME.to_csv(tmp_path / "scores.csv")
    PROBABILITY_FILES[name](tmp_path / name)
    found = loaders.load(tmp_path / "scores.csv", probabilities=tmp_path / name)
    assert_values(found)
    np.testing.assert_allclose(found.probabilities, CHANCES, rtol=1e-6)
    assert found.probabilities.dtype == np.float32
    assert not found.probabilities.flags.writeable


def test_items_and_models_files(tmp_path):
    FRAME.to_csv(tmp_path / "scores.csv")
    lines = [f"{i},part {n % 2},{n},00{n},{n / 2},{'x' if n else ''}" for n, i in enumerate(ITEMS)]
    header = "Item_ID,subtask,n,code,half,note\n"
    write(tmp_path / "items.csv", header + "\n".join(lines[::-1]))
    write(
        tmp_path / "models.tsv",
        "model\tfamily\tsize\n"
        + "".join(f"{m}\tf\t{'7' if i else ''}\n" for i, m in enumerate(MODELS)),
    )
    found = loaders.load(
        tmp_path / "scores.csv", items=tmp_path / "items.csv", models_file=tmp_path / "models.tsv"
    )
    assert found.subtasks == tuple(f"part {i % 2}" for i in range(9))
    info = found.item_info
    assert list(info) == ["n", "code", "half", "note"]
    assert info["n"].tolist() == list(range(9))
    assert info["code"].tolist() == [f"00{i}" for i in range(9)]
    assert info["half"].tolist() == [i / 2 for i in range(9)]
    assert info["note"].tolist() == ["", *"xxxxxxxx"]
    assert info.index.tolist() == list(found.items)
    assert found.model_info["size"].isna().tolist() == [True] + [False] * 5
    assert found.model_info.index.tolist() == list(found.models)
    storage.write_parquet(found, tmp_path / "own.parquet")
    assert loaders.load(tmp_path / "own.parquet").data_fingerprint == found.data_fingerprint


@pytest.mark.parametrize("index", [True, False])
def test_items_file_in_parquet(index, tmp_path):
    FRAME.to_csv(tmp_path / "scores.csv")
    table = pd.DataFrame({"item": ITEMS, "category": list("abcabcabc")})
    (table.set_index("item") if index else table).to_parquet(tmp_path / "items.parquet")
    found = loaders.load(tmp_path / "scores.csv", items=tmp_path / "items.parquet")
    assert found.subtasks == tuple("abcabcabc")
    # A column that is called otherwise stays a column of item_info, too.
    assert found.item_info["category"].tolist() == list("abcabcabc")


def test_the_order_of_rows_and_columns_changes_nothing(tmp_path):
    # User cases 1 and 4: join by id, never by position.
    FRAME.to_csv(tmp_path / "one.csv")
    FRAME.iloc[::-1, RNG.permutation(9)].to_csv(tmp_path / "two.csv")
    one, two = (loaders.load(tmp_path / name, name="") for name in ("one.csv", "two.csv"))
    assert one.data_fingerprint == two.data_fingerprint


def test_graded_scores_keep_every_digit(tmp_path):
    values = RNG.normal(size=(6, 9)) * 10
    pd.DataFrame(values, MODELS, ITEMS).to_csv(tmp_path / "g.csv")
    pd.DataFrame(values, MODELS, ITEMS).to_parquet(tmp_path / "g.parquet")
    for name in ("g.csv", "g.parquet"):
        found = loaders.load(tmp_path / name, score_range=(-100, 100))
        assert found.kind == "graded"
        assert found.score_range == (-100.0, 100.0)
        assert_values(found, values)


def test_graded_and_zero_one_rows_in_one_table(tmp_path):
    text = "model,q1,q2\na,1,0\nb,.5,1e-3\nc, True ,\nd,NA, 0.25 \n"
    found = loaders.load(write(tmp_path / "g.csv", text))
    expected = [[1, 0], [0.5, 0.001], [1, np.nan], [np.nan, 0.25]]
    assert_values(found, expected, list("abcd"), ["q1", "q2"])
    records = "model,item,score\n" + "".join(
        f"{m},{q},{'' if np.isnan(s) else s}\n"
        for m, row in zip("abcd", expected, strict=True)
        for q, s in zip(["q1", "q2"], row, strict=True)
    )
    found = loaders.load(write(tmp_path / "l.csv", records))
    assert_values(found, expected, list("abcd"), ["q1", "q2"])


def test_white_space_around_ids_is_taken_off_and_inner_is_kept(tmp_path):
    text = 'model, q 1 ,q2\n"a, b ",1,0\n  c,0,1\n'
    found = loaders.load(write(tmp_path / "s.csv", text))
    assert found.models == ("a, b", "c")
    assert found.items == ("q 1", "q2")


def test_a_model_and_item_without_a_row_is_missing(tmp_path):
    # User case 11: absent is not wrong.
    text = "model,item,score\na,q1,1\na,q2,0\nb,q2,1\n"
    found = loaders.load(write(tmp_path / "l.csv", text))
    assert_values(found, [[1, 0], [np.nan, 1]], ["a", "b"], ["q1", "q2"])


def test_columns_can_be_chosen(tmp_path):
    # User case 7: with two metrics the choice is the user's, and it is kept to.
    text = "model,item,acc,acc_norm\na,q1,1,0\na,q2,0,0\nb,q1,1,1\nb,q2,0,1\n"
    path = write(tmp_path / "l.csv", text)
    assert_values(
        loaders.load(path, columns={"score": "acc_norm"}),
        [[0, 0], [1, 1]],
        ["a", "b"],
        ["q1", "q2"],
    )
    text = text.replace("model", "checkpoint").replace("item", "uid")
    path = write(tmp_path / "l.csv", text)
    names = {"model": "checkpoint", "item": "uid", "score": "acc"}
    assert_values(loaders.load(path, columns=names), [[1, 0], [1, 0]], ["a", "b"], ["q1", "q2"])


def test_per_cent_with_a_declared_range(tmp_path):
    # User case 10.
    found = loaders.load(
        write(tmp_path / "s.csv", "model,q1,q2\na,100,85\nb,0,62.5\n"), score_range=(0, 100)
    )
    assert found.full_scores().tolist() == [92.5, 31.25]
    assert found.point == 1


def test_micro_and_macro_of_user_case_13(tmp_path):
    items = [f"a{i}" for i in range(10)] + [f"b{i}" for i in range(1000)]
    header = "model," + ",".join(items) + "\n"
    row = ",1" * 10 + ",1,0" * 500 + "\n"
    write(tmp_path / "s.csv", header + "x" + row + "y" + row)
    write(tmp_path / "items.csv", "item,subtask\n" + "".join(f"{i},{i[0]}\n" for i in items))
    found = loaders.load(tmp_path / "s.csv", items=tmp_path / "items.csv")
    assert found.full_scores("micro") == pytest.approx([510 / 1010] * 2)
    assert found.full_scores("macro") == pytest.approx([0.75] * 2)


def test_repeated_models_can_be_merged_or_numbered(tmp_path):
    text = "model,q1,q2\na,1,0\nb,0,1\na,1,0\n"
    path = write(tmp_path / "s.csv", text)
    with pytest.raises(FormatError, match="line 2 and line 4"):
        loaders.load(path)
    assert_values(
        loaders.load(path, duplicates="merge"), [[1, 0], [0, 1]], ["a", "b"], ["q1", "q2"]
    )
    found = loaders.load(path, duplicates="number")
    assert found.models == ("a", "b", "a (2)")
    turned = write(tmp_path / "t.csv", "item,a,b,a\nq1,1,0,1\nq2,0,1,0\n")
    assert_values(
        loaders.load(path, duplicates="merge"), [[1, 0], [0, 1]], ["a", "b"], ["q1", "q2"]
    )
    with pytest.raises(FormatError):
        loaders.load(turned)
    long = "model,item,score\na,q1,1\na,q2,0\nb,q1,0\nb,q2,.5\na,q1,1\n"
    found = loaders.load(write(tmp_path / "l.csv", long), duplicates="merge")
    assert_values(found, [[1, 0], [0, 0.5]], ["a", "b"], ["q1", "q2"])
    with pytest.raises(FormatError, match=r"lines 2 and 6 \(scores 0, 1\)"):
        loaders.load(write(tmp_path / "l.csv", long[:-2] + "0\n"), duplicates="merge")


def test_a_single_model_is_read_when_asked_for(tmp_path):
    path = write(tmp_path / "run.csv", "model,q1,q2\na,1,0\n")
    assert loaders.load(path, min_models=1).models == ("a",)
    storage.write_parquet(loaders.load(path, min_models=1), tmp_path / "run.parquet")
    assert loaders.load(tmp_path / "run.parquet").n_models == 1
    with pytest.raises(FormatError, match="1 model; 2 or more"):
        loaders.load(tmp_path / "run.parquet", min_models=2)
    with pytest.raises(SettingError, match="no option 'score_range'"):
        loaders.load(tmp_path / "run.parquet", score_range=(0, 1))
    storage.write_directory(loaders.load(path, min_models=1), tmp_path / "run")
    assert loaders.load(tmp_path / "run", name="other").name == "other"


def test_orientation_can_be_declared(tmp_path):
    path = write(tmp_path / "s.csv", "name,red,green\nx,1,0\ny,1,1\n")
    rows = loaders.load(path, orientation="models-rows")
    columns = loaders.load(path, orientation="models-columns")
    assert rows.models == columns.items == ("x", "y")
    np.testing.assert_array_equal(rows.values, columns.values.T)
    # A wide table may have items with the names of a long table's columns.
    path = write(tmp_path / "t.csv", "model,item,score\nx,1,0\ny,1,1\n")
    assert loaders.load(path, orientation="models-rows").items == ("item", "score")


def test_ids_decide_where_the_first_column_has_no_known_name(tmp_path):
    path = write(
        tmp_path / "s.csv", "name,gpqa_0,gpqa_1,gpqa_2,gpqa_3,gpqa_4\nx,1,0,1,0,1\ny,1,1,0,0,0\n"
    )
    assert loaders.load(path).models == ("x", "y")
    path = write(tmp_path / "t.csv", "name,gpt-4,llama-7b\nred,1,0\ngreen,0,0\n")
    assert loaders.load(path).models == ("gpt-4", "llama-7b")
    assert looks_like(["Qwen/Qwen2.5-7B-Instruct", "google/gemma-2b"]) == "models"
    assert looks_like(["1", "2", "Q3", "item_4"]) == "items"
    assert looks_like(["gpqa_1", "musr_2"]) is None


def test_a_delimiter_can_be_declared(tmp_path):
    path = write(tmp_path / "s.txt", "model;q1;q2\na;1;0\nb;0;1\n")
    assert_values(loaders.load(path, delimiter=";"), [[1, 0], [0, 1]], ["a", "b"], ["q1", "q2"])


def test_cells_by_the_documented_texts_only():
    for text in _cells.MISSING_TEXTS:
        assert math.isnan(_cells.number(text))
        assert math.isnan(_cells.number(f" {text}\t"))
    for text in (
        "n/a",
        "N/A",
        "-",
        "none",
        "NULL",
        "NAN",
        "inf",
        "1_0",
        "\u0661",
        "0x1",
        "1e",
        "+",
        ".",
    ):
        assert _cells.number(text) is None
    assert [_cells.number(t) for t in ("1.", ".5", "+1", "-2e-1", "TRUE", "false")] == [
        1, 0.5, 1, -0.2, 1, 0,
    ]  # fmt: skip


def test_fast_and_slow_cells_agree():
    rows = [
        ["0", "1", "", "True"], ["0", "1", "2"], ["0.5", "-1e3"], ["0.5", ""], [" 1", "0"],
        ["NaN", "3"], ["1", "1-2", "x"], ["1e400"],
    ]  # fmt: skip
    for cells in rows:
        found, wrong = _cells.parsed(cells)
        slow = [_cells.number(cell) for cell in cells]
        assert wrong == [i for i, value in enumerate(slow) if value is None]
        expected = [math.nan if value is None else value for value in slow]
        np.testing.assert_array_equal(_cells.as_floats(found), expected)


def test_the_registry_names_formats_and_options(tmp_path):
    assert list(loaders.LOADERS)[-1] == "table"
    for name, loader in loaders.LOADERS.items():
        assert loader.name == name
        assert loader.help
        assert {"min_models", "name"} <= set(loader.options)
    with pytest.raises(FormatError, match="this is a folder; format 'table' is a file"):
        loaders.load(tmp_path, format="table")
    with pytest.raises(SettingError, match="min_models"):
        loaders.load(write(tmp_path / "s.csv", "model,q1,q2\na,1,0\n"), min_models=0)
    with pytest.raises(SettingError, match="columns must map"):
        loaders.load(tmp_path / "s.csv", columns="score")
    with pytest.raises(SettingError, match="must be the name of a column"):
        loaders.load(tmp_path / "s.csv", columns={"score": 3})


@pytest.mark.parametrize("name", ["\0", "x" * 5000])
def test_names_that_no_file_can_have(name, tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        loaders.load(tmp_path / name)


def test_a_matrix_too_large_is_refused_before_it_is_made(tmp_path, monkeypatch):
    text = "model,item,score\n" + "".join(f"m{i},q{i},{i % 2}\n" for i in range(60))
    path = write(tmp_path / "l.csv", text)
    monkeypatch.setattr(_wide, "MAX_BYTES", 3000)
    with pytest.raises(FormatError, match="60 models x 60 items would need"):
        loaders.load(path)
    monkeypatch.setattr(_wide, "MAX_BYTES", 4000)
    loaders.load(path)
    with pytest.raises(FormatError, match="would need"):
        loaders.load(write(tmp_path / "g.csv", text.replace("q59,1", "q59,.5")))
    FRAME.to_csv(tmp_path / "w.csv")
    monkeypatch.setattr(_wide, "MAX_BYTES", 20)
    with pytest.raises(FormatError, match="the table up to line 4 would need"):
        loaders.load(tmp_path / "w.csv")
    FRAME.to_parquet(tmp_path / "w.parquet")
    with pytest.raises(FormatError, match="6 rows x 9 columns would need"):
        loaders.load(tmp_path / "w.parquet")


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "MAX_LINE", 50)
    with pytest.raises(FormatError, match="line 2 is longer than 50"):
        loaders.load(write(tmp_path / "s.csv", "model,q1\n" + "a" * 60 + ",1\n"))


def test_an_offence_far_down_is_found_and_counted(tmp_path):
    lines = ["model,q1,q2", *(f"m{i},1,0" for i in range(3000))]
    lines[2500] = "m2499,1,x"
    lines[2600] = "m2599,1"
    with pytest.raises(FormatError, match="line 2,601 has 2"):
        loaders.load(write(tmp_path / "s.csv", "\n".join(lines)))
    lines[2600] = "m2599,1,y"
    with pytest.raises(FormatError, match=r"2 cells are not numbers: line 2,501, column 'q2': 'x'"):
        loaders.load(write(tmp_path / "s.csv", "\n".join(lines)))


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    text = 'model,q1,q2\n\n"two\nlines",1,0\n\n\nb,x,1\n'
    with pytest.raises(FormatError, match="line 7, column 'q1'"):
        loaders.load(write(tmp_path / "s.csv", text))


def test_duplicates_across_portions_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("mdad.loaders._long_text.ROWS_AT_ONCE", 2)
    text = "model,item,score\na,q1,1\n\na,q2,0\nb,q1,0\nb,q2,1\na,q1,1\na,q1,\n"
    with pytest.raises(
        FormatError, match=r"2 rows too many.* in lines 2 and 7 and 8 \(scores 1, nan"
    ):
        loaders.load(write(tmp_path / "l.csv", text))


def test_parquet_details(tmp_path):
    table = pd.DataFrame(
        {"model": ["a", "a", "b", "b"], "item": [1, 2, 1, 2], "score": [1, 0, 0, 1]}
    )
    table.to_parquet(tmp_path / "ids.parquet")
    assert loaders.load(tmp_path / "ids.parquet").items == ("1", "2")
    table["item"] = ["q", "r", "q", "r "]
    table.to_parquet(tmp_path / "ids.parquet")
    with pytest.raises(FormatError, match="1 pair of item ids"):
        loaders.load(tmp_path / "ids.parquet")
    table["item"] = ["q", "r", "q", "r"]
    table["score"] = ["1", "0", "x", "y"]
    table.to_parquet(tmp_path / "text.parquet")
    with pytest.raises(
        FormatError,
        match=r"2 cells are not numbers among the first 4 rows: row 3, column 'score': 'x'",
    ):
        loaders.load(tmp_path / "text.parquet")
    table["score"] = [None] * 4
    table.to_parquet(tmp_path / "none.parquet")
    with pytest.raises(FormatError, match="2 models of 2 without a single score"):
        loaders.load(tmp_path / "none.parquet")
    pd.DataFrame({"model": ["a", "b"], "item": ["q", "r"], "x": [1, 0]}).to_parquet(
        tmp_path / "x.parquet"
    )
    with pytest.raises(FormatError, match="there is none for score"):
        loaders.load(tmp_path / "x.parquet")


def test_decimals_and_codes_in_wide_parquet(tmp_path):
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.table(
        {
            "model": ["a", "b"],
            "q1": pa.array([Decimal("1.00"), Decimal(0)]),
            "q2": pa.array(["1", "0.5"]).dictionary_encode(),
            "q3": pa.array([None, 1.0]),
        }
    )
    pq.write_table(table, tmp_path / "d.parquet")
    found = loaders.load(tmp_path / "d.parquet")
    assert_values(found, [[1, 1, np.nan], [0, 0.5, 1]], ["a", "b"], ["q1", "q2", "q3"])


def test_probabilities_just_above_one_are_not_rounded_into_range(tmp_path):
    text = "model,item,score,probability\na,q,1,1.00000001\na,r,1,1\nb,q,1,0\nb,r,1,.5\n"
    with pytest.raises(FormatError, match="1 probability outside"):
        loaders.load(write(tmp_path / "l.csv", text))


def test_stems():
    names = {"a.csv": "a", "a.b.csv.gz": "a.b", "a-1.5": "a-1.5", ".csv": ".csv", "x.JSONL": "x"}
    assert {name: tables.stem(Path(name)) for name in names} == names


def test_grid_promotes_when_a_graded_score_comes_late():
    grid = _long.Grid(Source("x"), (2, 2))
    grid.put(np.array([0, 1]), np.array([1, -1], dtype=np.int8))
    grid.put(np.array([2]), np.array([0.5]))
    assert grid.complete_rows
    np.testing.assert_array_equal(grid.values(), [[1, np.nan], [0.5, np.nan]])
    grid.put(np.array([2]), np.array([0.5]))
    assert not grid.complete_rows


SHAPES = {
    "gpqa": (420, 448, 0), "musr": (448, 756, 0), "ifeval": (448, 541, 0),
    "farel_bench": (122, 450, 0), "mmlu_pro_29": (29, 12_032, 1713), "evalperf_pass1": (34, 118, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_real_matrices_equal_what_pandas_reads(name, shared_data):
    path = shared_data / f"{name}.csv.gz"
    found = loaders.load(path, duplicates="number")
    assert (found.n_models, found.n_items, found.n_missing) == SHAPES[name]
    expected = pd.read_csv(path, index_col=0)
    np.testing.assert_array_equal(found.values, expected.to_numpy(), strict=False)
    assert found.items == tuple(expected.columns)


def test_repeated_models_in_real_matrices_are_refused_by_default(shared_data):
    for name in ("musr", "ifeval"):
        with pytest.raises(FormatError, match=r"19 models more than once"):
            loaders.load(shared_data / f"{name}.csv.gz")
        merged = loaders.load(shared_data / f"{name}.csv.gz", duplicates="merge")
        assert merged.n_models == 429


def test_real_subtasks_labels_and_layers(shared_data):
    mmlu = loaders.load(
        shared_data / "mmlu_pro_29.csv.gz", items=shared_data / "mmlu_pro_29.items.csv"
    )
    assert len(set(mmlu.subtasks)) == 14
    assert list(mmlu.item_info) == ["source"]
    naep = loaders.load(
        shared_data / "naep_cmcqrd_correct_mean.csv.gz",
        probabilities=shared_data / "naep_cmcqrd_prob_mean.csv.gz",
        items=shared_data / "naep_cmcqrd_mean.items.csv",
    )
    expected = pd.read_csv(shared_data / "naep_cmcqrd_prob_mean.csv.gz", index_col=0)
    np.testing.assert_array_equal(naep.probabilities, expected.to_numpy().astype(np.float32))
    eq = shared_data / "eqbench_v2_first.csv.gz"
    with pytest.raises(FormatError, match=r"go from -33\.3026 to 10"):
        loaders.load(eq)
    assert loaders.load(eq, score_range=(-34, 10)).n_missing == 108


def test_white_space_that_python_strips_is_an_empty_file(tmp_path):
    for text in ("\x1c\n", "\u2028", "\ufeff\n \n", " " * 9000):
        for name in ("s.csv", "s.jsonl"):
            with pytest.raises(FormatError, match="empty"):
                loaders.load(write(tmp_path / name, text))


def test_a_delimiter_inside_quotes_is_none(tmp_path):
    with pytest.raises(FormatError, match="one column only when split by ','"):
        loaders.load(write(tmp_path / "s.csv", '"model,q1"\na\n'))


def test_subtasks_of_a_long_table_are_complete(tmp_path):
    text = "model,item,score,subtask,category\na,q,1,x,u\na,r,0,,u\nb,q,1,x,u\nb,r,1,y,u\n"
    path = write(tmp_path / "l.csv", text)
    with pytest.raises(FormatError, match="'r' has a row without one"):
        loaders.load(path)
    # The column that is called subtask goes before its synonyms.
    assert loaders.load(write(path, text.replace("0,,", "0,y,"))).subtasks == ("x", "y")


def test_subtasks_that_are_the_only_labels(tmp_path):
    FRAME.to_csv(tmp_path / "s.csv")
    write(tmp_path / "i.csv", "item,subtask\n" + "".join(f"{i},x\n" for i in ITEMS))
    found = loaders.load(tmp_path / "s.csv", items=tmp_path / "i.csv")
    assert found.subtasks == ("x",) * 9
    assert found.item_info is None
    write(tmp_path / "i.csv", "item,source\n" + "".join(f"{i},x\n" for i in ITEMS))
    found = loaders.load(tmp_path / "s.csv", items=tmp_path / "i.csv")
    assert found.subtasks is None
    assert list(found.item_info) == ["source"]


def test_what_json_can_hold_and_a_table_cannot(tmp_path):
    def told(*records):
        with pytest.raises(FormatError) as caught:
            loaders.load(write(tmp_path / "s.jsonl", "\n".join(records)))
        return str(caught.value)

    first = '{"model": "a", "item": "q", "score": 1}'
    assert "is not valid JSON" in told("{", first)
    assert "usable" in told(first, '{"model": "a", "item": "\\ud800", "score": 1}')
    assert "usable" in told(first, '{"model": "a", "item": "x\\u0000", "score": 1}')
    huge = '{"model": "a", "item": "r", "score": 1' + "0" * 400 + "}"
    others = [
        f'{{"model": "b", "item": "{i}", "score": {s}}}' for i, s in (("q", "null"), ("r", 1))
    ]
    assert "infinite" in told(first, huge)
    assert "infinite" in told(first, huge, *others)
    assert "is not valid JSON" in told(first, "[" * 100_000)
    lines = [first.replace("q", f"q{i}") for i in range(4)]
    found = loaders.load(write(tmp_path / "s.jsonl", "\n\n".join(lines)), min_models=1)
    assert found.items == ("q0", "q1", "q2", "q3")


def test_probabilities_are_compared_when_rows_are_merged(tmp_path):
    text = "model,item,score,probability\na,q,1,.5\na,r,0,.5\nb,q,1,.5\nb,r,1,.5\na,q,1,{}\n"
    loaders.load(write(tmp_path / "l.csv", text.format(".5")), duplicates="merge")
    with pytest.raises(FormatError, match="1 row too many"):
        loaders.load(write(tmp_path / "l.csv", text.format(".6")), duplicates="merge")


def test_models_as_columns_can_be_merged(tmp_path):
    path = write(tmp_path / "t.csv", "item,a,b,a \nq1,1,0,1\nq2,0,1,0\n")
    found = loaders.load(path, duplicates="merge")
    assert_values(found, [[1, 0], [0, 1]], ["a", "b"], ["q1", "q2"])


def test_reading_a_table_of_text_needs_neither_pandas_nor_pyarrow(tmp_path):
    path = write(tmp_path / "s.csv", "model,q1,q2\na,1,0\nb,0,1\n")
    code = (
        "import sys, mdad.loaders; "
        f"mdad.loaders.load({str(path)!r}); "
        "sys.exit(any(name in sys.modules for name in ('pandas', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
