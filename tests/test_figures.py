"""Figures for print: what they show is measured, fits its column, is safe and the same again."""

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import mdad
from mdad import datasets
from mdad.cli import app
from mdad.errors import MdadError, ResultsError, SettingError
from mdad.intervals import Interval
from mdad.plots import figures
from mdad.plots._agreement import mdad_axis
from mdad.plots._axes import sizes_axis
from mdad.plots._numbers import Numbers, nearest
from mdad.plots._panels import lines, spread
from mdad.plots._sources import benchmarks_of, found
from mdad.plots._style import DOUBLE, SINGLE, cut, encoded, series_of
from mdad.presets import PAPER_METHODS
from mdad.results import Results
from mdad.scores import ScoreMatrix

SVG = "{http://www.w3.org/2000/svg}"
NONE = Interval(n_resamples=0)
METHODS = ["random", "anchor-points", "stratified-confidence", "c-optimal"]


def simulated(name="simulated mmlu-pro", seed=3, **options):
    return datasets.simulate(
        n_models=60, n_items=400, subtasks={"x": 200, "y": 200}, seed=seed, name=name, **options
    )


@pytest.fixture(scope="module")
def matrix():
    return simulated()


@pytest.fixture(scope="module")
def audit(matrix):
    return mdad.audit(matrix, methods=METHODS, sizes=[10, 50, 150], runs=4)


@pytest.fixture(scope="module")
def folder(matrix, audit, tmp_path_factory):
    """Audits of every kind that a figure is drawn from."""
    out = tmp_path_factory.mktemp("audits")
    audit.save(out / "main")
    few = {"methods": METHODS[:2], "sizes": [10, 50], "runs": 2}
    for number in (10, 20):
        mdad.audit(matrix, **few, n_source=number, out=out / f"sources-{number}")
    mdad.audit(matrix, **few, split="frontier", out=out / "frontier")
    mdad.audit(matrix, **few, targets=matrix.models[:12], out=out / "fixed-8B")
    mdad.audit(
        matrix, methods=METHODS[:2], fractions=[0.05, 0.2], subtasks="separate", runs=2,
        out=out / "separate",
    )  # fmt: skip
    mdad.audit(simulated("simulated gpqa", 4), **few, out=out / "gpqa")
    return out


@pytest.fixture(scope="module")
def made(folder):
    return figures(folder, n_resamples=50)


def texts(svg):
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def sizes_of_type(svg):
    return {float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)}


def test_every_figure_is_drawn_from_audits_of_every_kind(made):
    names = [figure.name for figure in made.figures]
    assert names == [
        "fig-1-tau-and-agreement",
        "fig-2-from-agreement-to-mdad",
        "fig-3-agreement-by-benchmark",
        "fig-4-measures",
        "fig-4b-measures-separate-subtasks",
        "fig-5-fixed-targets",
        "fig-6-seen-and-unseen",
        "fig-6b-seen-and-unseen-in-one",
        "fig-6c-seen-and-unseen-separate",
        "fig-a1-thresholds",
        "fig-a2-source-models",
        "own-1-methods",
        "own-2-trust",
        "own-3-unresolved-pairs",
        "own-4-splits",
    ]
    assert made.left_out == ()
    assert made["own-4-splits"].name == "own-4-splits"


def test_figures_fit_a_column_and_can_be_read(made):
    for figure in made.figures:
        root = ET.fromstring(figure.svg)  # noqa: S314
        width = float(root.get("width"))
        assert any(column - 7 < width <= column for column in (SINGLE, DOUBLE)), figure.name
        assert float(root.get("height")) < 900
        assert min(sizes_of_type(figure.svg)) >= 7 * 96 / 72


def test_a_figure_of_simulated_scores_says_so_in_the_picture(made, audit):
    for figure in made.figures:
        assert figure.simulated
        assert "Simulated stand-ins, not real models" in texts(figure.svg)
        assert "SIMULATED" in figure.caption
    spec = audit.results.spec
    real = replace(audit.results, spec=replace(spec, scores=replace(spec.scores, simulated=False)))
    drawn = figures(real, only=["fig-1"], n_resamples=0)["fig-1-tau-and-agreement"]
    assert not any("Simulated" in text for text in texts(drawn.svg))
    assert "SIMULATED" not in drawn.caption


def test_same_results_same_bytes(audit, made, folder):
    first = figures(audit, only=["fig-1", "fig-4-"], n_resamples=20)
    figures(audit, only=["fig-2"], n_resamples=0)
    again = figures([audit], only=["fig-1", "fig-4-"], n_resamples=20)
    assert [f.svg for f in first.figures] == [f.svg for f in again.figures]
    assert figures(str(folder), only=["own-4"])["own-4-splits"].svg == made["own-4-splits"].svg


def test_lines_are_named_in_the_figure(made):
    named = texts(made["own-1-methods"].svg)
    assert {"random", "c-optimal", "MMLU-Pro"} <= set(named)
    assert {"10 items", "50 items", "150 items"} <= set(
        texts(made["fig-2-from-agreement-to-mdad"].svg)
    )
    # Panels of fixed targets, and a size with its share of the 200 seen items below it.
    assert "(a) MMLU-Pro 8B" in texts(made["fig-5-fixed-targets"].svg)
    assert "15075" in texts(made["fig-4-measures"].svg)


def test_numbers_are_those_of_the_audit_in_points(audit):
    numbers = Numbers(NONE)
    table = audit.mdad(items=["unseen"], threshold=0.7, interval=NONE)
    mdads = numbers.mdads(audit.results, "unseen", 0.7)
    for row in table.itertuples():
        value = mdads[row.method, row.size].value
        assert value == pytest.approx(math.inf if np.isnan(row.mdad) else 100 * row.mdad)
    errors = audit.errors(items=["seen"], interval=NONE).iloc[0]
    error, tau = numbers.errors(audit.results)[errors.method, errors["size"]]
    assert (error, tau) == pytest.approx((100 * errors.error, errors.kendall_tau))


def test_agreement_in_bins_of_a_point_is_that_of_a_plain_loop(audit):
    results = audit.results
    method, size = "anchor-points", 50
    m, s = METHODS.index(method), (10, 50, 150).index(size)
    bins = {}
    for run, full in enumerate(np.rint(results.full("seen") * 200).astype(int)):
        estimates = results.estimates[m, s, run]
        for i in range(len(full)):
            for j in range(i):
                gap = full[i] - full[j]
                if gap:
                    right = np.sign(gap) == np.sign(estimates[i] - estimates[j])
                    # 200 items: two of them are a point.
                    bins.setdefault(abs(gap) // 2, []).append((abs(gap) / 2, right))
    rows = Numbers(NONE).agreement_rows(results, method, size)
    expected = {bin_: np.mean(pairs, axis=0) for bin_, pairs in bins.items() if bin_ < 20}
    assert [int(row["x"]) for row in rows] == sorted(expected)
    for row in rows:
        assert (row["x"], row["y"]) == pytest.approx(tuple(expected[int(row["x"])]))


def test_the_fit_reaches_the_threshold_at_the_mdad(audit):
    numbers = Numbers(NONE)
    value = numbers.mdads(audit.results)["random", 50].value
    rows = numbers.fit_rows(audit.results, "random", 50, 100)
    x, y = np.array([[row["x"], row["y"]] for row in rows]).T
    assert np.interp(value, x, y) == pytest.approx(0.8)
    assert (np.diff(y) >= 0).all()


def test_what_is_lacking_is_left_out_with_its_reason(matrix):
    bare = mdad.audit(matrix, methods=["random"], sizes=[20], runs=1, seen="all")
    left = figures(bare)
    assert left.figures == ()
    assert all(one.why for one in left.left_out)
    assert len(left.left_out) == 15
    plain = mdad.audit(matrix, methods=["random"], sizes=[20, 40], runs=1)
    some = figures(plain, n_resamples=10)
    names = {one.name: one.why for one in some.left_out}
    assert "paper-separate" in names["fig-4b-measures-separate-subtasks"]
    assert "fewer than two" in names["fig-6b-seen-and-unseen-in-one"]
    assert "c-optimal" in names["own-1-methods"]
    assert "fig-4-measures" in {figure.name for figure in some.figures}


def test_hostile_names_are_text(tmp_path):
    rng = np.random.default_rng(1)
    names = ["<script>alert(1)</script>", "\u202e]]>&'\"", "x" * 300, "\ud800 🦙\x00"]
    audits = [
        mdad.audit(
            ScoreMatrix(
                rng.integers(0, 2, (20, 60)), map(str, range(20)), map(str, range(60)), name=name
            ),
            methods=["random"],
            sizes=[5, 20],
            runs=2,
        )
        for name in names
    ]
    drawn = figures(audits, out=tmp_path, formats=["svg", "png"], n_resamples=5)
    assert drawn.figures
    for figure in drawn.figures:
        root = ET.fromstring(figure.svg)  # noqa: S314
        assert not [node for node in root.iter() if "script" in node.tag.lower()]
        assert "\u202e" not in figure.svg
        assert float(root.get("width")) <= DOUBLE
    assert any(text.startswith("<script>") for text in texts(drawn["fig-6-seen-and-unseen"].svg))
    assert "[U+202E]" in (tmp_path / "captions.md").read_text()


def test_graded_scores_of_a_negative_range_and_nothing_reached():
    rng = np.random.default_rng(2)
    scores = ScoreMatrix(
        rng.uniform(-33, 10, (40, 80)), map(str, range(40)), map(str, range(80)),
        kind="graded", score_range=(-33, 10), name="noise",
    )  # fmt: skip
    results = mdad.audit(scores, methods=["random"], sizes=[2, 4], runs=3).results
    # Every order the wrong way round: no gap is ever enough.
    runs = [replace(r, estimates=0 * r.estimates - r.full[0]) for r in results.runs]
    wrong = replace(results, runs=tuple(runs))
    values = Numbers(NONE).mdads(wrong)
    assert all(math.isinf(found.value) for found in values.values())
    drawn = figures(wrong, n_resamples=20)
    assert "fig-4-measures" in {figure.name for figure in drawn.figures}
    some = Numbers(NONE).mdads(results)["random", 4].value
    assert some == pytest.approx(
        mdad.Audit(results).mdad(items=["seen"]).mdad[1] / 0.43, nan_ok=True
    ) or math.isinf(some)


def test_what_is_not_reached_is_a_triangle_and_a_hole():
    rows = [
        {"series": "random", "x": size, "y": value}
        for size, value in ((10, math.inf), (25, 8.0), (50, math.inf), (100, 2.0))
    ]
    y = mdad_axis(rows)
    panel = lines(rows, series_of(["random"]), sizes_axis([10, 25, 50, 100], 200), y, (100, 80))
    data = panel["data"]["values"]
    assert [row["y"] for row in data] == [None, 8.0, None, 2.0]
    assert [row["never"] is not None for row in data] == [True, False, True, False]
    assert all(row["never"] is None or 8 < row["never"] <= y.high for row in data)
    marks = [layer["mark"] for layer in panel["layer"]]
    assert any(mark.get("shape") == "triangle-up" for mark in marks)


def test_a_line_of_one_value_is_a_dot():
    rows = [{"series": "random", "x": 10, "y": 0.7}]
    axis = mdad_axis(rows)
    panel = lines(rows, series_of(["random"]), axis, axis, (100, 80), points=False)
    assert [layer["mark"]["type"] for layer in panel["layer"]] == ["line", "point"]
    both = [*rows, {"series": "random", "x": 20, "y": 0.8}]
    panel = lines(both, series_of(["random"]), axis, axis, (100, 80), points=False)
    assert [layer["mark"]["type"] for layer in panel["layer"]] == ["line"]


def test_methods_are_in_the_papers_order_and_look_unlike():
    series = series_of(["zeta", *reversed(PAPER_METHODS), "alpha"])
    assert [one.key for one in series] == [*PAPER_METHODS, "zeta", "alpha"]
    looks = {(one.colour, one.shape) for one in series}
    assert len(looks) == len(series)
    many = series_of([f"method-{i}" for i in range(40)])
    assert len({(one.colour, one.dash, one.shape) for one in many}) > 20


def luminances(colour, weights):
    """What a reader sees of a colour who lacks one kind of cone (Vienot et al. 1999)."""
    linear = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]) ** 2.2
    return np.clip(np.array(weights) @ linear, 0, 1)


@pytest.mark.parametrize(
    "weights",
    [
        # Red and green become one axis, blue another: protanopes, deuteranopes.
        ((0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
        ((0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
    ],
)
def test_readers_who_confuse_colours_can_tell_the_methods_apart(weights):
    seen = [luminances(one.colour, weights) ** (1 / 2.2) for one in series_of(PAPER_METHODS)]
    shapes = [one.shape for one in series_of(PAPER_METHODS)]
    for i in range(len(seen)):
        for j in range(i):
            far = np.linalg.norm(seen[i] - seen[j]) > 0.12
            assert far or shapes[i] != shapes[j]


@given(
    st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=20).map(sorted),
    st.floats(1, 20),
)
def test_names_keep_their_distance_and_order(wanted, between):
    placed = spread(wanted, between, 100.0)
    assert len(placed) == len(wanted)
    assert all(b - a >= between - 1e-6 for a, b in pairwise(placed))
    if (len(wanted) - 1) * between <= 100:
        assert placed[0] >= -1e-6
        assert placed[-1] <= 100 + 1e-6
    if all(b - a >= between for a, b in pairwise(wanted)):
        assert placed == pytest.approx(wanted)


def test_labels_of_ticks_do_not_touch():
    axis = sizes_axis([10, 25, 50, 100, 250, 500, 1000], 6012)
    assert axis.labels[10.0] == ("10", "0.2")
    assert axis.labels[1000.0] == ("1k", "17")
    narrow, wide = axis.fitting(60), axis.fitting(400)
    assert set(narrow.labels) < set(wide.labels) == set(axis.ticks)
    assert {10.0, 1000.0} <= set(narrow.labels)
    assert narrow.ticks == axis.ticks
    assert nearest([10, 25, 200], [10, 500]) == [10, 200]
    assert len(cut("a" * 100)) == 24


def test_files_have_print_size(audit, tmp_path):
    drawn = figures(audit, out=tmp_path, formats=["svg", "pdf", "png"], only=["fig-1"])
    svg, pdf, png = (file.read_bytes() for file in drawn.figures[0].files)
    assert svg.decode() == drawn.figures[0].svg
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert 84 - 1 <= float(box[1]) / 72 * 25.4 <= 84.2
    pixels = int.from_bytes(png[16:20], "big")
    assert 84 - 1 <= pixels / 300 * 25.4 <= 84.2
    assert drawn.figures[0]._repr_html_().startswith("<svg")
    assert encoded("<svg/>", "svg") == b"<svg/>"


def test_audits_are_sorted_by_what_was_varied(folder, audit, matrix):
    first, second = benchmarks_of(found(folder))
    assert (first.name, second.name) == ("MMLU-Pro", "GPQA")
    assert sorted(first.sources) == [10, 20, 40]
    assert set(first.fixed) == {"8B"}
    assert list(first.splits) == ["random", "frontier"]
    assert set(first.main) == set(METHODS)
    assert first.pool == 200
    # The paper's form goes before ours; other scores of the same name get a number.
    paper = mdad.audit(matrix, methods=["random"], sizes=[10], runs=1, form="paper").results
    both = benchmarks_of(found([audit, paper]))[0]
    assert both.main["random"] is paper
    assert both.main["c-optimal"] is audit.results
    other = mdad.audit(simulated(seed=9), methods=["random"], sizes=[10], runs=1)
    assert [b.name for b in benchmarks_of(found([audit, other]))] == ["MMLU-Pro", "MMLU-Pro (2)"]
    named = {"70B": mdad.audit(matrix, methods=["random"], targets=matrix.models[:9], sizes=[10],
                               runs=1)}  # fmt: skip
    assert set(benchmarks_of(found(named))[0].fixed) == {"70B"}
    several = SimpleNamespace(results=audit.results, further=(paper,))
    assert len(found(several)) == 2


def test_bad_input(audit, tmp_path):
    with pytest.raises(SettingError, match="format"):
        figures(audit, formats=["gif"])
    with pytest.raises(SettingError, match="no figure"):
        figures(audit, only=["fig-9"])
    with pytest.raises(SettingError, match="no results of 'BBH'"):
        figures(audit, benchmarks=["BBH"])
    with pytest.raises(SettingError, match="got int"):
        figures(3)
    with pytest.raises(SettingError, match="n_resamples"):
        figures(audit, n_resamples=-1)
    with pytest.raises(ResultsError, match="holds no results"):
        figures(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="cannot write figures"):
        figures(audit, out=tmp_path / "file", only=["fig-1"], n_resamples=0)


class TestCommand:
    def run(self, *args):
        return CliRunner().invoke(app, ["figures", *map(str, args)])

    def test_it_draws_and_says_what_is_left_out(self, folder, tmp_path):
        out = tmp_path / "figures"
        args = (folder / "gpqa", "--out", out, "--format", "svg,pdf", "--resamples", 0)
        result = self.run(*args)
        assert result.exit_code == 0, result.output
        assert "fig-4-measures (SIMULATED scores)" in result.output
        assert "left out: own-1-methods" in result.output
        assert {path.suffix for path in out.iterdir()} == {".svg", ".pdf", ".md"}
        document = json.loads(self.run(*args, "--json", "--only", "fig-1,own-1").output)
        assert [figure["name"] for figure in document["figures"]] == ["fig-1-tau-and-agreement"]
        assert document["figures"][0]["simulated"] is True
        assert [one["name"] for one in document["left_out"]] == ["own-1-methods"]

    @pytest.mark.parametrize(
        ("args", "text"),
        [
            (("nowhere",), "there is no folder"),
            ((".", "--format", ","), "names no format"),
            ((".", "--format", "gif"), "unknown format"),
        ],
    )
    def test_bad_input_is_one_paragraph(self, args, text, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = self.run(*args)
        assert isinstance(result.exception, MdadError)
        assert text in str(result.exception)


def test_unfinished_results_are_not_drawn(audit, tmp_path):
    audit.save(tmp_path / "a")
    (tmp_path / "a" / "runs" / "run-00001.parquet").unlink()
    with pytest.raises(ResultsError, match="not done"):
        figures(tmp_path)
    assert isinstance(audit.results, Results)


def test_methods_audited_apart_may_have_other_sizes(matrix):
    apart = [
        mdad.audit(matrix, methods=["random"], sizes=[10, 50, 150], runs=2),
        mdad.audit(matrix, methods=["anchor-points"], sizes=[10, 25], runs=2),
    ]
    drawn = figures(apart, n_resamples=0)
    assert {"fig-2-from-agreement-to-mdad", "fig-3-agreement-by-benchmark"} <= {
        figure.name for figure in drawn.figures
    }
