"""Reports of saved audits, comparisons and plans; what notebooks show."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import mdad
from browser import chromium, opened, violations
from mdad import datasets, storage
from mdad.cli import app, main
from mdad.errors import ResultsError
from mdad.report import comparison, planned
from mdad.report.comparison import comparison_page, write_comparison
from mdad.report.drawing import specification
from mdad.report.html import render
from mdad.report.kept import keep_summary, kept_summary
from mdad.report.planned import plan_page
from mdad.scores import ScoreMatrix
from test_html import HOSTILE, Page

NAMES = [*(name for name in HOSTILE if "\ud800" not in name), "plain", "other"]


def called(*arguments, code=0):
    found = CliRunner().invoke(app, [str(part) for part in arguments], env={"COLUMNS": "120"})
    assert found.exit_code == code, found.output
    return found


@pytest.fixture(scope="module")
def scores():
    return datasets.simulate(n_models=30, n_items=200, seed=2, probabilities=False)


@pytest.fixture(scope="module")
def table(scores, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "scores.csv"
    storage.write_csv(scores, path)
    return path


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("audits") / "audit"
    called("audit", table, "--sizes", "10,40", "--runs", "4", "--split", "random,frontier",
           "--out", out)  # fmt: skip
    return out


# mdad report, audit --report


def test_report_of_a_folder_is_that_of_the_audit(folder, tmp_path):
    before = (folder / "report.html").read_bytes()
    out = tmp_path / "again.html"
    assert called("report", folder, "--out", out).output == f"Report: {out}\n"
    assert out.read_bytes() == before
    (folder / "report.html").unlink()
    called("report", folder)
    assert (folder / "report.html").read_bytes() == before


def test_a_kept_summary_is_read_only_when_it_is_of_these_results(folder, tmp_path):
    audit = mdad.Audit.load(folder)
    specs = [part.results.spec for part in audit.splits.values()]
    how = {"rule": "monotone", "threshold": 0.8, "ties": "wrong", "unit": "models", "level": 0.95}
    kept = kept_summary(folder, specs, how)
    assert kept == audit.summary()
    assert render(kept) == render(audit.summary())
    assert kept_summary(folder, specs, {**how, "threshold": 0.9}) is None
    assert kept_summary(folder, specs[:1], how) is None
    assert kept_summary(folder, [replace(spec, version="0.0") for spec in specs], how) is None
    assert kept_summary(tmp_path, specs, how) is None
    (tmp_path / "summary.json").write_text("{}")
    assert kept_summary(tmp_path, specs, how) is None


def test_a_summary_that_cannot_be_kept_is_refused(folder, tmp_path):
    summary = mdad.Audit.load(folder / "random").summary()
    with pytest.raises(ResultsError, match="cannot write the summary"):
        keep_summary(summary, tmp_path / "none")


def test_report_with_another_threshold_computes_it(folder, tmp_path):
    out = tmp_path / "other.html"
    document = json.loads(called("report", folder, "--threshold", "0.7", "--out", out,
                                 "--json").stdout)  # fmt: skip
    assert document["threshold"] == 0.7
    assert "with probability 0.7" in Page(out.read_text(encoding="utf-8")).said
    frontier = called("report", folder / "frontier", "--out", out, "--json").stdout
    assert "further" not in json.loads(frontier)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["FOLDER", "--rule", "last"], "unknown rule 'last'"),
        (["FOLDER", "--unit", "pairs"], "unknown unit 'pairs'"),
        (["FOLDER", "--ties", "no"], "unknown ties 'no'"),
        (["FOLDER", "--threshold", "2"], "threshold must be"),
        (["no-such-folder"], "cannot read"),
        (["FOLDER", "--out", "no-such-folder/report.html"], "cannot write the report"),
    ],
)
def test_bad_input_of_report(folder, monkeypatch, capsys, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)
    parts = [str(folder) if part == "FOLDER" else part for part in arguments]
    monkeypatch.setattr("sys.argv", ["mdad", "report", *parts])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_audit_writes_a_report_without_a_folder(table, tmp_path):
    out = tmp_path / "report.html"
    found = called("audit", table, "--sizes", "10", "--runs", "2", "--report", out)
    assert found.stdout.endswith(f"Report: {out}\n")
    assert "<html" in out.read_text(encoding="utf-8")
    many = ["audit", table, "--sizes", "10", "--runs", "2", "--n-source", "10,15", "--report", out]
    result = CliRunner().invoke(app, [str(part) for part in many])
    assert "of several --out keeps a report each" in str(result.exception)


# compare


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(0)
    right = np.linspace(0.35, 0.9, len(NAMES))[:, None]
    scores = ScoreMatrix(
        (rng.random((len(NAMES), 300)) < right).astype(int), NAMES, range(300), name=NAMES[0]
    )
    made = mdad.select(scores, size=200, method="random", seed=1)
    runs = {name: scores.restrict(models=[name], items=made.items) for name in NAMES}
    return made, mdad.compare(made, runs)


def test_comparison_has_every_model_and_pair(compared):
    made, verdict = compared
    text = comparison_page(verdict, made)
    page = Page(text)
    assert page.open == []
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.with_tag("img") == []
    assert len(text.encode()) < 300_000
    assert text == comparison_page(verdict, made)
    assert "[U+202E]reversed" in page.said
    best = verdict.ranking[0]
    score = next(one for one in verdict.scores if one.model == best.model)
    first = next(row for row in page.rows if row[0] == best.model and len(row) == 6)
    assert first[1:3] == ["1", f"{100 * score.value:.1f}"]
    matrix = [row for row in page.rows if len(row) == len(NAMES) + 1][1:]
    places = [place.model for place in verdict.ranking]
    for i, row in enumerate(matrix):
        for j, cell in enumerate(row[1:]):
            if i == j:
                assert cell == ""
                continue
            pair = verdict.pair(places[i], places[j])
            assert cell.startswith("(") == (pair.better is None)
            assert float(cell.strip("()")) == pytest.approx(100 * pair.gap, abs=0.051)
    kinds = [a.get("class") for a in page.with_tag("td")]
    decided = sum(pair.better is not None for pair in verdict.pairs)
    assert kinds.count("better") == kinds.count("worse") == decided > 0
    assert kinds.count("open") == 2 * (len(verdict.pairs) - decided)


def test_comparison_of_two_says_it_once(compared):
    made, verdict = compared
    two = mdad.compare(
        made,
        {
            name: ScoreMatrix(
                np.resize([1, 0, 1], (1, 200)) if name == "a" else np.ones((1, 200)),
                [name],
                made.items,
            )
            for name in "ab"
        },
    )
    said = Page(comparison_page(two, made)).said
    assert said.count("b is better than a") == 1
    assert "a - b" in said
    assert verdict is not two


def test_a_page_that_cannot_be_written_is_refused(compared, tmp_path):
    made, verdict = compared
    with pytest.raises(ResultsError, match="cannot write the report"):
        write_comparison(verdict, made, tmp_path / "none" / "page.html")


def test_compare_and_plan_write_reports(scores, tmp_path):
    made = mdad.select(scores, size=50, method="random")
    made.save(tmp_path / "micro.json")
    run = tmp_path / "run.csv"
    storage.write_csv(scores.restrict(models=scores.models[:3], items=made.items), run)
    out = tmp_path / "compare.html"
    found = called("compare", tmp_path / "micro.json", run, "--report", out)
    assert found.stdout.endswith(f"Report: {out}\n")
    assert "Simulated scores." in Page(out.read_text(encoding="utf-8")).said
    plan = tmp_path / "plan.html"
    found = called("plan", "--gap", "2", "--discordance", "0.3", "--n-items", "12032",
                   "--report", plan)  # fmt: skip
    assert found.stdout.endswith(f"Report: {plan}\n")
    assert "556 of the 12,032 items" in Page(plan.read_text(encoding="utf-8")).said


# plan


def test_plan_has_every_number():
    found = mdad.plan(gap=0.025, size=75, discordance=0.3, n_items=2000, cost_per_item=0.5,
                      budget=20, comparisons=3)  # fmt: skip
    text = plan_page(found)
    page = Page(text)
    assert text == plan_page(found)
    assert page.open == []
    assert found.answer in page.said
    rows = {row[0]: row for row in page.rows}
    gaps = sorted({point.gap for point in found.curve})
    for place in found.sizes:
        row = rows[f"{place.size:,}"]
        assert row[1] == ("not reached" if place.mdad is None else f"{100 * place.mdad:.1f}")
        assert row[2] == f"{0.5 * place.size:g}"
        chances = {p.gap: p.agreement for p in found.curve if p.size == place.size}
        assert row[3:] == [f"{chances[gap]:.3f}" for gap in gaps]
    assert "Agreement at 1 point" in rows["Items"][3]
    assert "Agreement at 2.5 points" in rows["Items"]


@pytest.mark.parametrize(
    "settings",
    [
        {"gap": 0.02, "goal": "show"},
        {"size": 3, "discordance": 0.05},
        {"gap": 2.0, "sd": 9.0, "score_range": (-33.3, 10)},
        {"gap": 0.01, "n_items": 100},
    ],
)
def test_plans_of_all_kinds_make_pages(settings):
    page = Page(plan_page(mdad.plan(**settings)))
    assert page.open == []
    assert not any(word in page.said.split() for word in ("None", "nan", "inf"))


def test_their_charts_keep_the_schema(compared):
    made, verdict = compared
    places = comparison._places(verdict, made.benchmark.score_range[0])
    plan = mdad.plan(gap=0.02, n_items=500)
    for chart in (
        comparison.scores_chart(places),
        comparison.ranks_chart(places),
        planned.power_chart(plan),
        planned.gap_chart(plan),
    ):
        assert specification(chart) == chart.to_dict()


# In a browser


@pytest.fixture(scope="module")
def pages(compared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made, verdict = compared
    write_comparison(verdict, made, folder / "comparison.html")
    plan = plan_page(mdad.plan(gap=0.02, size=100, n_items=12032))
    (folder / "plan.html").write_text(plan, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.mark.parametrize("name", ["comparison", "plan"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_browser_pages_are_whole(browser, pages, name, width, dark):
    # They have no script; the browser's own is on, for axe.
    with opened(browser, pages / f"{name}.html", width=width, dark=dark, ready=False) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for chart in page.locator(".chart").all():
            over = chart.evaluate("e => e.scrollWidth - e.clientWidth")
            assert over == 0
        assert violations(page) == []
        page.emulate_media(media="print")
        assert page.pdf(format="A4").startswith(b"%PDF")


# Notebooks


TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "bdi"}


def test_notebooks_show_text_not_markup(compared):
    made, verdict = compared
    info = pd.DataFrame({"family": ["f"] * len(NAMES)}, index=NAMES)
    values = np.full((len(NAMES), 2), np.nan)
    values[0] = 1
    matrix = ScoreMatrix(values, NAMES, ["q1", HOSTILE[1]], name=NAMES[1], model_info=info)
    for shown in (matrix._repr_html_(), verdict._repr_html_(), made._repr_html_()):
        page = Page(shown)
        assert page.open == []
        assert {tag for tag, _ in page.tags} <= {
            "div",
            "p",
            "strong",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "bdi",
        }
        assert "\u202e" not in shown
        assert len(shown) < 20_000
    assert "2 items, correctness" in Page(matrix._repr_html_()).said
    assert [row[1:] for row in Page(matrix._repr_html_()).rows[1:3]] == [["2", "1.000"], ["0", "-"]]
    assert f"{len(verdict.pairs)} pairs" in Page(verdict._repr_html_()).said
    assert len(Page(made._repr_html_()).rows) == 1 + 12


def test_a_notebook_shows_the_mdads_of_an_audit(scores):
    audit = mdad.audit(scores, sizes=[10, 40], runs=3, split=["random", "frontier"])
    rows = Page(audit._repr_html_()).rows
    assert rows[0] == ["method", "split", "items", "item set", "MDAD", "pairs closer"]
    table = audit.mdad()
    assert rows[1][:4] == ["random", "random", "10", "seen"]
    first = table.mdad[0]
    assert rows[1][4] == ("not reached" if np.isnan(first) else f"{first:.4g}")
    alone = Page(audit.splits["frontier"]._repr_html_())
    assert "split" not in alone.rows[0]
    assert "(simulated)" in alone.said
