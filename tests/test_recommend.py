"""From a wanted gap to a method and a size: hand-worked."""

import itertools
from dataclasses import replace

import pytest

from mdad.report.chart_data import axis_top, scores_data
from mdad.report.recommend import gap_steps, recommend, recommendation_lines
from mdad.report.summary import Estimate, Row


def row(method, size, value, low=None, high=None, items="seen"):
    none = Estimate(None, None, None)
    return Row(
        method=method,
        size=size,
        items=items,
        mdad=Estimate(value, low, high),
        agreement=Estimate(0.8, None, None),
        agreement_ties_half=0.8,
        observed_gap_95=none,
        observed_gap_80=None,
        error=none,
        kendall_tau=none,
        unresolved=0.4,
        n_pairs=100,
    )


ROWS = [
    row("random", 10, 16.0, 14.0, 19.0),
    row("random", 40, 8.0, 7.0, 9.0),
    row("random", 160, 4.0, 3.5, 4.5),
    row("clever", 10, 9.0, 8.0, 11.0),
    row("clever", 40, 4.5, 4.0, 5.2),
    row("clever", 160, 3.0, 2.6, 3.3),
    row("other", 10, None),
    row("other", 40, 4.4, 3.0, None),
    row("other", 160, 4.2, 4.0, 4.4),
    row("random", 40, 1.0, items="unseen"),
]


def test_the_fewest_items_then_the_smallest_mdad():
    found = recommend(ROWS, "seen", 5.0)
    # At 40 both clever (4.5) and other (4.4) do it; with the whole interval only at 160.
    assert (found.row.method, found.row.size) == ("other", 40)
    assert (found.sure.method, found.sure.size) == ("clever", 160)
    assert (found.plain.method, found.plain.size) == ("random", 160)
    # The line of other is not reached at 10, so nothing is between it and 40.
    assert found.between is None
    found = recommend(ROWS, "seen", 6.0)
    assert (found.sure.method, found.sure.size) == ("clever", 40)
    assert recommend(ROWS, "unseen", 2.0).row.size == 40


def test_between_sizes_on_the_log_scale():
    # clever falls from 9 to 4.5 as items grow from 10 to 40: 6.36 = 9 / sqrt(2) is half-way.
    rows = [one for one in ROWS if one.method == "clever"]
    found = recommend(rows, "seen", 9 / 2**0.5)
    assert found.between == pytest.approx(20)
    assert found.row.size == 40
    lines = recommendation_lines(rows, "seen", 9 / 2**0.5, 0.95)
    # Two significant digits, upwards, of a hair more than 20.
    assert lines[1] in {
        "Between the audited sizes: about 20 items may do.",
        "Between the audited sizes: about 21 items may do.",
    }


def test_sentences_say_size_certainty_and_the_plain_method():
    assert recommendation_lines(ROWS, "seen", 5.0, 0.95) == [
        "For 5 points: 40 items with other. MDAD 4.4 points (95 % interval 3.0 to beyond reach).",
        "For the whole interval to lie within the gap: 160 items with clever.",
        "random needs 160 items for that.",
    ]
    # On the log scale 3.5 is 62 % of the way from 4.5 to 3, so the size is 40 x 4 to the 0.62.
    assert recommendation_lines(ROWS, "seen", 3.5, 0.9) == [
        "For 3.5 points: 160 items with clever. MDAD 3 points (90 % interval 2.6 to 3.3).",
        "Between the audited sizes: about 95 items may do.",
        "The whole interval lies within the gap.",
        "random needs more than 160 items for that.",
    ]
    assert recommendation_lines(ROWS, "seen", 3.0, 0.95)[1] == (
        "With no method does the whole interval lie within the gap up to 160 items."
    )


def test_a_gap_that_is_too_small_for_all():
    assert recommendation_lines(ROWS, "seen", 2.0, 0.95) == [
        (
            "For 2 points: no method has an MDAD that small with 160 items or fewer; the smallest "
            "is 3 points (clever, 160 items)."
        )
    ]
    never = [row("random", 10, None), row("random", 40, None)]
    assert "it is reached nowhere in the data" in recommendation_lines(never, "seen", 2.0, 0.95)[0]


def test_without_intervals_nothing_is_said_of_them():
    rows = [row("random", 10, 4.0), row("random", 40, 2.0)]
    assert recommendation_lines(rows, "seen", 2.5, 0.95) == [
        "For 2.5 points: 40 items with random. MDAD 2 points.",
        "Between the audited sizes: about 26 items may do.",
    ]


class Summary:
    """What steps and histograms read of a summary."""

    def __init__(self, rows=(), full_scores=()):
        self.rows, self.full_scores, self.splits = rows, full_scores, (self,)


def test_steps_reach_the_widest_mdad():
    steps = gap_steps(Summary(ROWS))
    assert steps[0] == 0.5
    assert steps[-1] == axis_top(ROWS) >= 16.0
    assert {b - a for a, b in itertools.pairwise(steps)} == {0.5}
    wide = gap_steps(Summary([row("random", 10, 70.0)]))
    assert (wide[0], wide[1] - wide[0]) == (1.0, 1.0)
    assert gap_steps(Summary([row("random", 10, 0.2)]))[-1] == 5.0
    assert gap_steps(Summary([row("random", 10, 400.0)]))[-1] == 100.0


def test_histogram_of_scores_holds_every_model_once():
    scores = (-3.0, 0.0, 0.99, 1.0, 7.0, 61.5)
    bars = scores_data(Summary(full_scores=scores))
    assert sum(bar["models"] for bar in bars) == 6
    assert all(bar["end"] - bar["start"] == 2 for bar in bars)
    assert bars[0]["start"] == -4
    assert next(bar for bar in bars if bar["start"] == 0)["models"] == 3
    assert scores_data(Summary(full_scores=(5.0, 5.0)))[0]["models"] == 2


def test_a_first_method_needs_no_sentence_of_its_own():
    rows = [replace(one, method="random") for one in ROWS if one.method == "clever"]
    assert not any("needs" in line for line in recommendation_lines(rows, "seen", 5.0, 0.95))
