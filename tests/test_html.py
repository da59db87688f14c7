"""The page of an audit: what a reader needs is in it, and nothing a name can do breaks it."""

import gzip
import json
import re
from base64 import b64decode
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from browser import chromium, opened
from mdad.auditing import Audit, audit
from mdad.cli import app
from mdad.datasets import simulate
from mdad.errors import ResultsError
from mdad.intervals import Interval
from mdad.report import charts, html
from mdad.report.drawing import specification
from mdad.report.html import render, write_html
from mdad.report.summary import Estimate
from mdad.scores import ScoreMatrix

HOSTILE = [
    "<script>window.broken = 1</script>",
    "</script><img src=x onerror='window.broken = 1'>",
    "\"quotes\" & 'more' <b>",
    "x" * 300,
    "🦙 llama",
    "\u202ereversed",
    "\u200fنموذج",
    "line\u2028break\x00null",
    "{{ 7 * 7 }} {% raw %}",
    "lone \ud800 surrogate",
]
VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """The parts of a page a test asks for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.headings = [], [], [], []
        self.text, self.rows, self.titles = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)
        if tag in {"h1", "h2", "h3", "h4"}:
            self.headings.append(int(tag[1]))
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"script", "style"} & set(self.open):
            return
        if "title" in self.open and "svg" not in self.open:
            self.titles.append(data)
        if "svg" not in self.open:
            self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def said(self):
        return re.sub(r"\s+", " ", "".join(self.text))

    def with_tag(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def summary():
    scores = simulate(n_models=30, n_items=240, seed=1)
    return audit(scores, methods=["random"], sizes=[10, 40, 100], runs=6).summary()


@pytest.fixture(scope="module")
def page(summary):
    return Page(render(summary))


def renamed(summary, names, title):
    """The summary of an audit whose only method has these names, one after the other."""

    def each(parts):
        return tuple(replace(part, method=name) for name in names for part in parts)

    experiment = {**summary.spec["experiment"], "methods": list(names)}
    return replace(
        summary,
        title=title,
        answer=(f"With 100 items chosen by {names[0]} two models", *names[1:]),
        notes=tuple(f"Dropped {name}" for name in names),
        rows=each(summary.rows),
        agreement_curves=each(summary.agreement_curves),
        trust_curves=each(summary.trust_curves),
        spec={**summary.spec, "experiment": experiment},
    )


@pytest.fixture(scope="module")
def hostile(summary):
    return renamed(summary, HOSTILE, HOSTILE[1] + HOSTILE[3])


def never_reached(summary):
    none = Estimate(None, None, None)
    rows = tuple(
        replace(row, mdad=none, observed_gap_95=none, observed_gap_80=None, unresolved=1.0)
        for row in summary.rows
    )
    return replace(summary, rows=rows)


def test_the_answer_comes_first_and_every_section_is_there(summary, page):
    for sentence in (*summary.answer, *summary.scope, *summary.notes):
        assert sentence in page.said
    first = page.said.index(summary.answer[0])
    assert first < page.said.index("How far apart must two models be?")
    order = ["answer", "recommend", "mdad", "look", "misleading", "targets", "numbers", "scope"]
    order += ["data", "provenance"]
    assert [name for name in page.ids if name in order] == order


def test_the_table_has_every_row_and_number(summary, page):
    cells = [row for row in page.rows if row and row[0] == "random"]
    assert len(cells) == len(summary.rows) == 6
    for row, shown in zip(summary.rows[:3], cells[:3], strict=True):
        assert shown[1] == str(row.size)
        assert shown[2] == f"{row.mdad.value:.1f} {row.mdad.low:.1f} to {row.mdad.high:.1f}"
        assert shown[4].startswith(f"{row.agreement.value:.3f}")
        assert shown[5] == f"{row.agreement_ties_half:.3f}"
        assert shown[6].startswith(f"{row.observed_gap_95.value:.1f}")
        assert shown[8].startswith(f"{row.error.value:.1f}")
        assert shown[9].startswith(f"{row.kendall_tau.value:.3f}")
    assert f"{summary.rows[0].n_pairs:,} pairs compared" in page.said


def test_provenance_says_how_to_get_the_numbers_again(summary, page):
    scores = summary.spec["scores"]
    for text in (scores["data_fingerprint"], scores["items_fingerprint"], "mdad 0."):
        assert text in page.said
    command = re.search(r"mdad audit SCORES [^\n]*--out DIR", page.said).group()
    assert "--sizes 10,40,100 --runs 6" in command


def test_the_command_parses():
    help_text = CliRunner().invoke(app, ["audit", "--help"], env={"COLUMNS": "200"}).output
    scores = simulate(n_models=20, n_items=80, seed=0)
    text = render(audit(scores, sizes=[10], runs=1).summary())
    options = re.findall(r"--[a-z-]+", Page(text).said.split("mdad audit SCORES")[1])
    assert options
    assert [option for option in options if option not in help_text] == []


def test_simulated_scores_are_called_so_loudly(summary, page):
    assert "Simulated scores." in page.said[:300]
    assert "simulated" in page.titles[0]
    assert "Simulated scores." not in Page(render(replace(summary, simulated=False))).said


def test_structure_a_screen_reader_needs(page):
    assert page.open == []
    assert page.with_tag("html")[0]["lang"] == "en"
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    steps = zip(page.headings, page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    assert [name for name, n in Counter(page.ids).items() if n > 1] == []
    pictures = [a for a in page.with_tag("div") if a.get("role") == "img"]
    assert len(pictures) == 8
    assert all(len(a["aria-label"]) > 30 for a in pictures)
    scrollable = [a for _, a in page.tags if "scroll" in a.get("class", "").split()]
    assert all(a["tabindex"] == "0" for a in scrollable)
    labels = {a["for"] for a in page.with_tag("label")}
    assert labels == {a["id"] for tag in ("select", "input") for a in page.with_tag(tag)}


def test_readable_without_javascript(page):
    assert len(page.with_tag("svg")) == 8
    assert len([a for a in page.with_tag("form") if "hidden" in a]) == 2
    assert "With JavaScript these charts show any method and size" in page.said


def test_one_file_without_network(summary):
    text = render(summary)
    assert len(text.encode()) < 2_000_000
    page = Page(text)
    links = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in {"src", "href", "xlink:href", "srcset", "action", "data", "poster"}
    ]
    assert links == ["#numbers"]
    assert "@import" not in text[: text.index("</style>")]
    assert "url(" not in text[: text.index("</style>")]
    policy = next(a["content"] for a in page.with_tag("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")


def test_same_summary_same_bytes(summary, tmp_path):
    first = write_html(summary, tmp_path / "a.html").read_bytes()
    assert write_html(summary, tmp_path / "b.html").read_bytes() == first
    again = audit(
        simulate(n_models=30, n_items=240, seed=1), methods=["random"], sizes=[10, 40, 100], runs=6
    ).summary()
    assert render(again).encode() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_page_that_cannot_be_written_is_refused(summary, tmp_path):
    with pytest.raises(ResultsError, match="cannot write the report"):
        write_html(summary, tmp_path / "no such folder" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_hostile_names_are_text(hostile):
    text = render(hostile)
    page = Page(text)
    assert page.open == []
    assert page.with_tag("img") == []
    assert len(page.with_tag("script")) == 4
    for name in HOSTILE[:5]:
        assert name in page.said
    assert "[U+202E]reversed" in page.said
    assert "line[U+2028]break[U+0000]null" in page.said
    assert "lone [U+D800] surrogate" in page.said
    assert "\u200fنموذج" in page.said
    assert "{{ 7 * 7 }} {% raw %}" in page.said
    assert not {"\u202e", "\u2028", "\x00"} & set(text[: text.index('<script type="application')])
    specifications = unpacked(text, "charts")
    names = {entry["name"] for entry in specifications["mdad-seen"]["data"]["values"]}
    assert HOSTILE[0] in names
    assert all(char.isprintable() or char == "\u200f" for name in names for char in name)


def unpacked(text, name):
    packed = text.split(f'id="{name}">')[1].split("</script>")[0]
    return json.loads(gzip.decompress(b64decode(packed, validate=True)))


def test_not_reached_is_said_in_words(summary):
    page = Page(render(never_reached(summary)))
    cells = [row for row in page.rows if row and row[0] == "random"]
    assert all(row[2] == row[6] == row[7] == "not reached" for row in cells)
    assert all(row[3] == "100 %" for row in cells)
    assert "An open triangle at the upper edge" in page.said
    assert (
        "random, 100 items: MDAD not reached on seen items, not reached on unseen items"
        in page.said
    )
    assert not re.search(r"\b(None|nan|inf|undefined)\b", page.said)


def test_one_size_and_one_run():
    scores = simulate(n_models=20, n_items=80, seed=3)
    page = Page(render(audit(scores, sizes=[20], runs=1).summary()))
    assert "1 run, " in page.said
    assert not re.search(r"\b(None|nan|inf)\b", page.said)


def test_graded_scores_with_a_negative_range():
    rng = np.random.default_rng(0)
    ability = rng.normal(size=(30, 1))
    values = np.clip(-10 + 12 * ability + 8 * rng.normal(size=(30, 120)), -33.3, 10)
    scores = ScoreMatrix(
        values,
        [f"m{i}" for i in range(30)],
        [f"q{i}" for i in range(120)],
        score_range=(-33.3, 10),
        kind="graded",
        name="graded",
    )
    page = Page(render(audit(scores, sizes=[10, 40], runs=4).summary()))
    assert "runs from -33.3 to 10" in page.said


@pytest.fixture(scope="module")
def tied():
    answers = np.tile([0, 1], (20, 20))
    scores = ScoreMatrix(answers, [f"m{i}" for i in range(20)], [f"q{i}" for i in range(40)])
    return audit(scores, sizes=[10], runs=2).summary()


def test_models_that_all_tie_still_make_a_page(tied):
    page = Page(render(tied))
    assert "not reached" in page.said
    assert not re.search(r"\b(None|nan|inf)\b", page.said)


def test_many_methods_stay_small(summary):
    many = renamed(summary, [f"method-{i}" for i in range(60)], "many")
    assert len(render(many).encode()) < 2_000_000


def test_a_large_audit_stays_below_two_megabytes():
    place = Path(__file__).parent.parent / "benchmarks" / "report.py"
    spec = spec_from_file_location("report_benchmark", place)
    large = module_from_spec(spec)
    spec.loader.exec_module(large)
    # Few runs and resamples: a page is as large as its bins, and there are as many of them. The
    # splits are alike here; what is packed does not get smaller by that, they lie too far apart.
    one = Audit(large.made_up("random", 0, n_runs=4)).summary(interval=Interval(n_resamples=9))
    experiment = one.spec["experiment"]
    others = (
        replace(one, spec={**one.spec, "experiment": {**experiment, "split": kind}})
        for kind in ("grouped", "frontier")
    )
    summary = replace(one, further=tuple(others))
    assert len(summary.rows) == 12 * 7 * 2
    assert len(render(summary).encode()) < 2_000_000


def test_names_beside_lines_do_not_cover_one_another(summary):
    several = renamed(summary, [f"method-{i}" for i in range(8)], "several")
    chart = charts.mdad_chart(several, "seen").to_dict()
    places = sorted(e["label"] for e in chart["data"]["values"] if e["label"] is not None)
    top = next(one["value"] for one in chart["params"] if one["name"] == "top")
    assert len(places) == 8
    assert min(np.diff(places)) >= top * 15 / 300
    assert places[-1] <= top


def test_a_chart_alone_has_colours_of_its_own(summary):
    text = charts.svg(charts.curve_chart(summary, "agreement", "random", 40))
    assert text.startswith("<svg")
    assert "var(--" not in text


def test_every_chart_keeps_the_schema(summary):
    # Pages leave out this check, which is slow: to_dict raises where a chart breaks the schema.
    drawn = html._charts(replace(summary, further=(summary,)), "random", 40)
    assert len(drawn) == 10
    for chart in drawn.values():
        assert specification(chart) == chart.to_dict()


def test_every_colour_can_be_read():
    def light(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    for theme in (charts.DAY, charts.NIGHT):
        for color, wanted in [(theme.ink, 7), *((c, 3) for c in (*theme.lines, *theme.claims))]:
            bright, dark = sorted((light(color), light(theme.paper)), reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= wanted


# In a browser


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def files(summary, hostile, tied, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    three = renamed(summary, ["first", "second", "third"], "three methods")
    return {
        "three": write_html(three, folder / "three.html"),
        "hostile": write_html(hostile, folder / "hostile.html"),
        "never": write_html(never_reached(summary), folder / "never.html"),
        "tied": write_html(tied, folder / "tied.html"),
    }


def drawn(page, chart):
    return page.inner_html(f"#{chart}")


def lines(page, chart):
    return page.locator(f"#{chart} .mark-line path").count()


def test_browser_live_charts_replace_the_drawings(browser, files):
    with opened(browser, files["three"]) as page:
        for chart in ("mdad-seen", "mdad-unseen", "agreement", "trust", "gaps"):
            assert page.locator(f"#{chart} svg").count() == 1
            assert page.locator(f"#{chart} .vega-embed svg").count() == 1


def test_browser_legend_hides_and_shows_a_method(browser, files):
    with opened(browser, files["three"]) as page:
        assert lines(page, "mdad-seen") == lines(page, "mdad-unseen") == 3
        button = page.get_by_role("button", name="second")
        button.focus()
        page.keyboard.press("Space")
        page.wait_for_function(
            "document.querySelectorAll('#mdad-seen .mark-line path').length === 2"
        )
        assert button.get_attribute("aria-pressed") == "false"
        button.click()
        page.wait_for_function(
            "document.querySelectorAll('#mdad-unseen .mark-line path').length === 3"
        )
        assert button.get_attribute("aria-pressed") == "true"


def test_browser_choice_of_size_changes_charts_and_sentences(browser, files, summary):
    with opened(browser, files["three"]) as page:
        charts_shown = ("agreement", "trust", "gaps")
        before = {chart: drawn(page, chart) for chart in charts_shown}
        row = summary.rows[0]
        assert row.size == 10
        page.get_by_label("Items", exact=True).fill("0")
        for chart in charts_shown:
            page.wait_for_function(
                "([id, old]) => document.getElementById(id).innerHTML !== old",
                arg=[chart, before[chart]],
            )
        assert f"first, 10 items: MDAD {row.mdad.value:.1f} points" in page.inner_text("#sentences")
        assert f"seen {row.mdad.value:.1f}" in page.text_content("#agreement svg")
        page.get_by_label("Method", exact=True).select_option("third")


def test_browser_tooltip_names_the_method_as_text(browser, files):
    with opened(browser, files["hostile"]) as page:
        page.locator("#mdad-seen .mark-symbol path").first.hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "points" in page.inner_text("#vg-tooltip-element")
        assert page.evaluate("window.broken") is None


@pytest.mark.parametrize("name", ["three", "hostile", "never", "tied"])
@pytest.mark.parametrize("script", [True, False])
def test_browser_phone_width_does_not_scroll_sideways(browser, files, name, script):
    with opened(browser, files[name], width=390, script=script) as page:
        assert page.locator("table").count() == 3
        body = page.locator("body").bounding_box()
        assert body["width"] <= 390
        over = page.locator("main > section, header").all()
        assert all(box.bounding_box()["width"] <= 390 for box in over)
        if script:
            assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_browser_without_javascript_shows_drawings_and_tables(browser, files):
    with opened(browser, files["three"], script=False) as page:
        for chart in ("mdad-seen", "mdad-unseen", "agreement", "trust", "gaps"):
            box = page.locator(f"#{chart} > svg").bounding_box()
            assert box["width"] > 300
            assert box["height"] > 200
        assert page.locator("tbody tr").first.is_visible()
        assert not page.locator("#choice").is_visible()
        assert page.locator("noscript p").is_visible()


def test_browser_day_night_and_paper(browser, files):
    colors = (
        "[getComputedStyle(document.body).backgroundColor, "
        "getComputedStyle(document.querySelector('#gaps svg text')).fill]"
    )
    with opened(browser, files["three"]) as page:
        day = page.evaluate(colors)
        assert day == ["rgb(255, 255, 255)", "rgb(31, 35, 40)"]
    with opened(browser, files["three"], dark=True) as page:
        assert page.evaluate(colors) == ["rgb(20, 24, 29)", "rgb(230, 234, 239)"]
        page.emulate_media(media="print")
        assert page.evaluate(colors) == day
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_browser_keyboard_reaches_every_control(browser, files):
    with opened(browser, files["three"]) as page:
        reached = []
        for _ in range(14):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate("document.activeElement.className + document.activeElement.tagName")
            )
        assert reached[0] == "skipA"
        assert reached[1:4] == ["INPUT", "SELECT", "scrollDIV"]
        assert reached[4:9] == ["BUTTON"] * 3 + ["SELECT", "INPUT"]
        assert reached[9:12] == ["scrollDIV", "scrollDIV", "scrollPRE"]
