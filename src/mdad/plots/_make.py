"""Drawing every figure that the results support, and writing them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdad._checks import check_choice, check_int
from mdad._files import write_atomically
from mdad.errors import ResultsError, SettingError
from mdad.intervals import Interval
from mdad.plots import _agreement, _appendix, _grids, _own
from mdad.plots._figure import Figure, FigureSet, LeftOut, Sketch
from mdad.plots._numbers import Numbers
from mdad.plots._sources import benchmarks_of, chosen, found
from mdad.plots._style import FORMATS, encoded, fitted
from mdad.report.legible import legible

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from mdad.plots._sources import Benchmark

__all__ = ["figures"]

MAKERS: tuple[Callable[..., Any], ...] = (
    _agreement.tau_and_agreement,
    _agreement.from_agreement,
    _agreement.four_benchmarks,
    _grids.measures_by_benchmark,
    _grids.measures_by_fraction,
    _grids.fixed_targets,
    _grids.seen_and_unseen,
    _grids.seen_and_unseen_in_one,
    _grids.seen_and_unseen_separate,
    _appendix.thresholds,
    _appendix.number_of_sources,
    _own.own_methods,
    _own.trust,
    _own.unresolved,
    _own.splits,
)
"""Each draws one figure from benchmarks and numbers, or says why it cannot; one draws several."""


def figures(
    source: Any,
    *,
    out: str | os.PathLike[str] | None = None,
    formats: Sequence[str] = ("svg",),
    only: Sequence[str] = (),
    benchmarks: Sequence[str] = (),
    n_resamples: int = 1000,
    progress: Callable[[int, int], None] | None = None,
) -> FigureSet:
    """Draw the paper's figures, and our own, from any audits.

    Parameters
    ----------
    source : an audit or results, a folder with such (searched at any depth; ``mdad reproduce`` and
        ``audit(..., out=...)`` write them), a list of these, or a mapping from a label (of fixed
        target models) to one
    out : folder for the files and for captions.md; None = write nothing
    formats : "svg", "pdf", "png" (300 dots an inch)
    only : names of figures, or beginnings of names, as "fig-3"; empty = all
    benchmarks : names of benchmarks as they are printed, in the order wanted; empty = all
    n_resamples : of the 95 % intervals of MDADs; 0 = none
    progress : called with the number of figures done and of all

    Returns
    -------
    the figures, and which were left out and why. Columns are 84 or 174 mm wide, type is 7 points
    or more. The same results give the same SVG. A figure of simulated scores says so.

    Raises
    ------
    ResultsError
        when a folder holds no results, or the files cannot be written.
    SettingError
        when a format, figure or benchmark is unknown.

    References
    ----------
    Yauney, Warraich and Swayamdipta, ICLR 2026, arXiv 2510.08730, for the paper's figures.
    """
    for form in formats:
        check_choice("format", form, FORMATS)
    check_int("n_resamples", n_resamples, 0)
    given = chosen(benchmarks_of(found(source)), benchmarks)
    sketches, left_out = _sketched(given, Numbers(Interval(n_resamples=n_resamples)), only)
    drawn = []
    for number, sketch in enumerate(sketches):
        svg = fitted(sketch.build, sketch.width, simulated=sketch.simulated)
        drawn.append(Figure(sketch.name, legible(sketch.caption), svg, sketch.simulated))
        if progress is not None:
            progress(number + 1, len(sketches))
    if out is not None:
        drawn = _written(drawn, left_out, Path(out), formats)
    return FigureSet(tuple(drawn), tuple(left_out))


def _sketched(
    given: Sequence[Benchmark], numbers: Numbers, only: Sequence[str]
) -> tuple[list[Sketch], list[LeftOut]]:
    sketches: list[Sketch] = []
    left_out: list[LeftOut] = []
    for maker in MAKERS:
        made = maker(given, numbers)
        for one in made if isinstance(made, list) else [made]:
            if only and not any(one.name.startswith(name) for name in only):
                continue
            if isinstance(one, Sketch):
                sketches.append(one)
            else:
                left_out.append(one)
    if only and not sketches and not left_out:
        raise SettingError(
            f"no figure has a name that begins with {' or '.join(map(repr, only))}; names begin "
            "with fig-1 to fig-6, fig-a1, fig-a2, own-1 to own-4."
        )
    return sketches, left_out


def _written(
    drawn: Sequence[Figure], left_out: Sequence[LeftOut], out: Path, formats: Sequence[str]
) -> list[Figure]:
    done = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for figure in drawn:
            files = tuple(out / f"{figure.name}.{form}" for form in formats)
            for file, form in zip(files, formats, strict=True):
                write_atomically(file, encoded(figure.svg, form))
            done.append(replace(figure, files=files))
        lines = [f"- **{figure.name}**: {figure.caption}" for figure in drawn]
        lines += [f"- *{one.name}* was left out: {one.why}." for one in left_out]
        write_atomically(out / "captions.md", ("\n".join(lines) + "\n").encode())
    except OSError as error:
        raise ResultsError(f"cannot write figures to {out}: {error.strerror}.") from None
    return done
