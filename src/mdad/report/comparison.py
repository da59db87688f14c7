"""The report of a comparison: tiers, ranks that stay possible, and every pair. Static HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdad.report.drawing import DAY, PAGE, Theme, dressed
from mdad.report.legible import legible
from mdad.report.page import fill, picture, write_page
from mdad.report.verdict import MAX_PAIRS, PAIR_HEAD, headline, pair_cells, pair_sentence, scope

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

    from mdad.microbenchmark import Microbenchmark
    from mdad.verdicts import PairVerdict, Verdict

__all__ = ["comparison_page", "ranks_chart", "scores_chart", "write_comparison"]

MAX_MATRIX = 40
"""Models of the matrix of pairs; more make no table that can be read."""

WIDTH = 320
"""Of the plot without the names beside it."""

ROW_HEIGHT = 24
MIN_HEIGHT = 90

SHOWN = 0.05
"""A smaller gap is shown as 0.0, without a sign."""


def write_comparison(verdict: Verdict, made: Microbenchmark, path: Path) -> Path:
    """Write the report of a comparison.

    Raises
    ------
    ResultsError
        when the file cannot be written.
    """
    return write_page(comparison_page(verdict, made), path)


def comparison_page(verdict: Verdict, made: Microbenchmark) -> str:
    """The report as text; the same verdict gives the same text."""
    from mdad._version import __version__  # noqa: PLC0415

    places = _places(verdict, made.benchmark.score_range[0])
    charts = {"scores": scores_chart(places, PAGE), "ranks": ranks_chart(places, PAGE)}
    matrix = [place["model"] for place in places][:MAX_MATRIX]
    told = verdict.pairs if len(verdict.pairs) <= MAX_PAIRS else ()
    return fill(
        "comparison.html",
        version=__version__,
        simulated=made.benchmark.simulated,
        made=made,
        verdict=verdict,
        headline=headline(verdict),
        # Of a single pair the headline has said it all.
        sentences=[pair_sentence(pair, verdict) for pair in told if len(told) > 1],
        places=places,
        pictures={name: picture(name, chart, width=WIDTH) for name, chart in charts.items()},
        descriptions={name: chart.description for name, chart in charts.items()},
        matrix=matrix,
        cells=_matrix(verdict, matrix),
        pair_head=PAIR_HEAD,
        pairs=[(f"{pair.a} - {pair.b}", pair_cells(pair, verdict.point)) for pair in told],
        scope=scope(verdict),
    )


def _places(verdict: Verdict, low: float) -> list[dict[str, Any]]:
    """Models best first; scores in points above the lower end of the range."""
    scores = {score.model: score for score in verdict.scores}
    places = []
    for number, place in enumerate(verdict.ranking, 1):
        score = scores[place.model]
        value, lower, upper = (
            round((x - low) / verdict.point, 4) for x in (score.value, score.low, score.high)
        )
        places.append(
            {
                "number": number,
                "model": place.model,
                "name": legible(place.model),
                "value": value,
                "low": lower,
                "high": upper,
                "rank": place.rank,
                "rankLow": place.rank_low,
                "rankHigh": place.rank_high,
                "tier": place.tier,
            }
        )
    return places


def scores_chart(places: list[dict[str, Any]], theme: Theme = DAY) -> alt.LayerChart:
    """Full scores with their intervals, best model on top; tiers in alternating colours."""
    import altair as alt  # noqa: PLC0415  # slow to import

    base = _base(theme)
    x = alt.X("value:Q", title="full score (points)").scale(zero=False, nice=True)
    layers = [
        base.mark_rule(strokeWidth=2).encode(alt.X("low:Q"), alt.X2("high:Q")),
        base.mark_point(filled=True, size=70, opacity=1).encode(x),
    ]
    words = "Full scores with intervals, the best model first; the numbers are in the table."
    return _tall(alt.LayerChart(layer=layers, data=alt.InlineData(places)), places, theme, words)


def ranks_chart(places: list[dict[str, Any]], theme: Theme = DAY) -> alt.LayerChart:
    """Ranks that the verdicts leave possible, best model on top."""
    import altair as alt  # noqa: PLC0415  # slow to import

    base = _base(theme)
    scale = alt.Scale(domain=[0.5, len(places) + 0.5], nice=False)
    ticks = list(range(1, len(places) + 1, max(1, len(places) // 10)))
    x = alt.X("rankLow:Q", title="rank").scale(scale).axis(values=ticks, format="d")
    layers = [
        base.mark_rule(strokeWidth=8, strokeCap="round", opacity=0.45).encode(
            x, alt.X2("rankHigh:Q")
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(alt.X("rank:Q").scale(scale)),
    ]
    words = "Ranks that the verdicts leave possible, the best model first."
    return _tall(alt.LayerChart(layer=layers, data=alt.InlineData(places)), places, theme, words)


def _base(theme: Theme) -> alt.Chart:
    import altair as alt  # noqa: PLC0415  # slow to import

    # Names may be equal once they are legible, so a row is found by its number.
    y = alt.Y("number:O", title=None).axis(
        labelExpr="names[datum.value - 1]", labelLimit=150, ticks=False, domain=False, grid=True
    )
    shade = {"condition": {"test": "datum.tier % 2 === 1", "value": theme.claims[0]}}
    return alt.Chart().encode(y, color=alt.ColorValue(theme.claims[1], **shade))


def _tall(
    chart: alt.LayerChart, places: list[dict[str, Any]], theme: Theme, words: str
) -> alt.LayerChart:
    import altair as alt  # noqa: PLC0415  # slow to import

    named = chart.add_params(alt.param(name="names", value=[place["name"] for place in places]))
    dressed_chart: alt.LayerChart = dressed(named, theme, words).properties(
        height=max(MIN_HEIGHT, ROW_HEIGHT * len(places))
    )
    return dressed_chart


def _matrix(verdict: Verdict, models: list[str]) -> list[list[dict[str, str]]]:
    """One cell for each ordered pair: what is known, in a word and a number."""
    known: dict[tuple[str, str], tuple[float, PairVerdict]] = {}
    for pair in verdict.pairs:
        known[pair.a, pair.b] = pair.gap, pair
        known[pair.b, pair.a] = -pair.gap, pair
    table = []
    for row in models:
        cells = []
        for column in models:
            if row == column:
                cells.append({"kind": "self", "text": ""})
                continue
            gap, pair = known[row, column]
            kind = "open" if pair.better is None else "better" if pair.better == row else "worse"
            number = f"{gap / verdict.point:+.1f}" if abs(gap / verdict.point) >= SHOWN else "0.0"
            cells.append({"kind": kind, "text": f"({number})" if kind == "open" else number})
        table.append(cells)
    return table
