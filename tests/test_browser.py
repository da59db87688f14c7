"""The reports in a browser: what moves, what stays without a script, what a screen reader finds."""

from dataclasses import replace

import pytest

from browser import chromium, opened, violations
from mdad.auditing import audit
from mdad.datasets import simulate
from mdad.report.html import render, write_html
from mdad.report.live import misleading
from mdad.report.recommend import gap_steps, recommendation_lines

SPLITS = ("random", "grouped", "frontier")
NAMES = [f'method-{i:03d} of "many" <b> {"x" * (i % 40)}' for i in range(200)]


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def summary():
    scores = simulate(n_models=36, n_items=160, seed=1, probabilities=False)
    result = audit(
        scores, methods=["random", "anchor-points"], sizes=[10, 40], runs=5, split=SPLITS
    )
    return result.summary()


@pytest.fixture(scope="module")
def page_file(summary, tmp_path_factory):
    return write_html(summary, tmp_path_factory.mktemp("pages") / "splits.html")


def many(summary):
    """Two hundred methods, each a copy of the first."""

    def each(entries):
        some = [entry for entry in entries if entry.method == "random"]
        return tuple(replace(entry, method=name) for name in NAMES for entry in some)

    experiment = {**summary.spec["experiment"], "methods": NAMES}
    return replace(
        summary,
        rows=each(summary.rows),
        agreement_curves=each(summary.agreement_curves),
        trust_curves=each(summary.trust_curves),
        spec={**summary.spec, "experiment": experiment},
        further=(),
    )


def wait_for_change(page, chart, before):
    page.wait_for_function(
        "([id, old]) => document.getElementById(id).innerHTML !== old", arg=[chart, before]
    )


def test_browser_slider_of_the_gap_moves_the_advice_and_the_line(browser, page_file, summary):
    steps = gap_steps(summary)
    with opened(browser, page_file) as page:
        slider = page.get_by_label("Gap to be resolved")
        for claim in ("seen", "unseen"):
            page.get_by_label("Full score on").select_option(claim)
            for place in (0, len(steps) - 1):
                before = page.inner_html("#mdad-seen")
                slider.fill(str(place))
                wait_for_change(page, "mdad-seen", before)
                said = recommendation_lines(summary.rows, claim, steps[place], summary.level)
                assert page.inner_text("#advice").split("\n\n") == said
                assert page.inner_text("#wanted-said") == slider.get_attribute("aria-valuetext")
                assert page.inner_text("#wanted-said").split()[0] == f"{steps[place]:g}"
        slider.focus()
        page.keyboard.press("ArrowLeft")
        assert page.inner_text("#wanted-said").split()[0] == f"{steps[-2]:g}"


def test_browser_slider_of_the_size_moves_curves_and_sentences(browser, page_file, summary):
    with opened(browser, page_file) as page:
        page.get_by_label("Items", exact=True).fill("0")
        assert page.inner_text("#size-said") == "10"
        assert page.inner_text("#misleading-said") == misleading(summary, "random", 10)
        page.locator("#method").select_option("1")
        assert page.inner_text("#misleading-said") == misleading(summary, "anchor-points", 10)


def test_browser_split_changes_every_chart_and_table(browser, page_file, summary):
    frontier = summary.further[1]
    charts = ["mdad-seen", "mdad-unseen", "agreement", "trust", "error", "kendall_tau"]
    charts += ["scores", "gaps"]
    with opened(browser, page_file) as page:
        before = {chart: page.inner_html(f"#{chart}") for chart in charts}
        assert page.locator("#table-frontier-seen").is_hidden()
        page.get_by_label("Split shown in what follows").select_option("2")
        for chart in charts:
            wait_for_change(page, chart, before[chart])
        assert page.inner_text("#misleading-said") == misleading(frontier, "random", 40)
        assert page.locator("#table-frontier-seen").is_visible()
        assert page.locator("#table-random-seen").is_hidden()
        page.emulate_media(media="print")
        assert all(page.locator(f"#table-{split}-seen").is_visible() for split in SPLITS)


def test_browser_splits_stand_side_by_side(browser, page_file):
    with opened(browser, page_file) as page:
        assert page.locator("#splits-seen .mark-line path").count() == 3
        before = page.inner_html("#splits-seen")
        page.locator("#across-method").select_option("1")
        wait_for_change(page, "splits-seen", before)
        assert page.locator("#splits-unseen .mark-line path").count() == 3


def test_browser_legend_moves_the_usual_figures_too(browser, page_file):
    with opened(browser, page_file) as page:
        assert page.locator("#error .mark-line path").count() == 2
        page.get_by_role("button", name="anchor-points").click()
        for chart in ("error", "kendall_tau", "mdad-seen"):
            page.wait_for_function(
                f"document.querySelectorAll('#{chart} .mark-line path').length === 1"
            )


def test_browser_without_javascript_everything_is_there(browser, page_file):
    with opened(browser, page_file, script=False) as page:
        assert page.locator("form:visible").count() == 0
        assert page.locator(".chart > svg:visible").count() == 10
        assert page.locator("table:visible").count() == 8
        assert "The charts show the random split" in page.inner_text("main")


@pytest.mark.parametrize("look", ["day", "night", "phone"])
def test_browser_axe_finds_nothing_serious(browser, page_file, look):
    how = {"width": 390 if look == "phone" else 1280, "dark": look == "night"}
    with opened(browser, page_file, **how) as page:
        assert violations(page) == []


def test_browser_axe_sees_what_it_should(browser, page_file, tmp_path):
    text = page_file.read_text(encoding="utf-8").replace('<html lang="en">', "<html>")
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("--soft: #57606a", "--soft: #c0c0c0"), encoding="utf-8")
    with opened(browser, broken) as page:
        assert {rule for rule, *_ in violations(page)} == {"color-contrast", "html-has-lang"}


def test_browser_two_hundred_methods_are_legible(browser, summary, tmp_path):
    with opened(browser, write_html(many(summary), tmp_path / "many.html"), width=390) as page:
        assert page.locator("#legend button").count() == 200
        assert page.locator("#mdad-seen .mark-line path").count() == 12
        page.get_by_role("button", name=NAMES[150]).click()
        page.wait_for_function(
            "document.querySelectorAll('#mdad-seen .mark-line path').length === 13"
        )
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert violations(page) == []


def test_two_hundred_methods_stay_small(summary):
    assert len(render(many(summary)).encode()) < 2_000_000
