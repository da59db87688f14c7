"""Running the paper's experiments, and judging its claims by what they showed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mdad._checks import check_int, listed
from mdad.errors import SettingError
from mdad.experiment import Experiment
from mdad.reproducing._claims import CLAIMS, PAPER_BENCHMARKS
from mdad.reproducing._measured import Measured
from mdad.reproducing._parts import GROUPS, PLANS, Plan, parts_of
from mdad.runner import run_experiment

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from mdad.reproducing._claims import Claim
    from mdad.reproducing._parts import Part
    from mdad.results import Results
    from mdad.scores import Completed, ScoreMatrix

__all__ = ["Finding", "PartDone", "Reproduction", "judge", "measure", "reproduce", "stand_ins"]

Verdict = Literal["holds", "does not hold", "cannot be checked here"]
QUICK_ITEMS = 1200


@dataclass(frozen=True)
class Finding:
    """One claim on one benchmark.

    Parameters
    ----------
    number, claim, rule : of the claim
    benchmark : key; "" where no benchmark can tell
    simulated : whether its scores are a stand-in
    measured : what was found, in points
    verdict : by the rule
    why : why it cannot be checked
    steady : whether the even and the odd runs alone lead to the same verdict; None where there is
        no verdict, or a single run
    """

    number: str
    claim: str
    rule: str
    benchmark: str
    simulated: bool
    measured: str
    verdict: Verdict
    why: str = ""
    steady: bool | None = None


@dataclass(frozen=True)
class PartDone:
    """One experiment that was run, or why it was not."""

    benchmark: str
    name: str
    runs: int
    n_source: int
    n_target: int
    absent: str = ""


@dataclass(frozen=True)
class Reproduction:
    """What came of the paper's experiments.

    Parameters
    ----------
    findings : claim by claim, in the paper's order
    parts : the experiments behind them
    simulated : benchmarks whose scores are stand-ins
    measured : results by benchmark and part
    """

    findings: tuple[Finding, ...]
    parts: tuple[PartDone, ...]
    simulated: tuple[str, ...]
    measured: Mapping[str, Measured]


def stand_ins(*, quick: bool = False) -> dict[str, ScoreMatrix]:
    """Simulated matrices in the sizes of the paper's benchmarks; smaller ones for a trial."""
    from mdad.datasets import simulate  # noqa: PLC0415  # only where asked for

    return {
        key: simulate(preset=key, n_items=QUICK_ITEMS) if quick and key != "gpqa"
        else simulate(preset=key)
        for key in PAPER_BENCHMARKS
    }  # fmt: skip


def reproduce(
    scores: Mapping[str, ScoreMatrix] | None = None,
    *,
    simulated: bool = False,
    quick: bool = False,
    runs: int | None = None,
    seed: int = 0,
    max_missing: float = 0.05,
    n_jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Reproduction:
    """Run the paper's experiments and judge each of its claims.

    Parameters
    ----------
    scores : matrices by key; "mmlu", "mmlu-pro", "bbh" and "gpqa" are the paper's benchmarks
    simulated : take simulated stand-ins of these four instead
    quick : a trial: few runs, and smaller stand-ins
    runs : of every experiment, in place of 50 (stand-ins: 20, variations 8; quick: 4, 2)
    seed : of every random number
    max_missing : see :func:`mdad.audit`
    n_jobs : worker processes; the results do not depend on it
    out : folder for the results of every part, ``BENCHMARK/PART``; parts and runs found there are
        kept, so that a reproduction that was stopped goes on where it was
    groups : regular expressions of fixed target models, by benchmark and name of the group; default
        :data:`GROUPS`
    progress : called with the name of a part, the number of finished runs and of all runs

    Raises
    ------
    SettingError
        when neither or both of scores and stand-ins are asked for.
    ScoresError, ResultsError
        see :func:`mdad.audit`.

    References
    ----------
    Yauney, Warraich and Swayamdipta, ICLR 2026, arXiv 2510.08730.
    """
    if bool(scores) == simulated:
        raise SettingError(
            "give the scores of a benchmark or ask for simulated stand-ins (--simulated): one of "
            "them, not both."
        )
    plan = PLANS["quick" if quick else "simulated" if simulated else "whole"]
    if runs is not None:
        plan = replace(plan, runs=check_int("runs", runs, 1), more=runs)
    patterns = GROUPS if groups is None else groups
    foreign = [key for key in patterns if key not in (*(scores or ()), *PAPER_BENCHMARKS)]
    if foreign:
        raise SettingError(f"groups are named for {listed(foreign)}, of which there are no scores.")
    matrices = dict(scores or stand_ins(quick=quick))
    measured = {
        key: measure(
            key,
            _named(key, matrix).complete(max_missing),
            plan,
            seed=seed,
            n_jobs=n_jobs,
            out=None if out is None else Path(out) / key,
            groups=patterns.get(key, {}),
            progress=progress,
        )
        for key, matrix in sorted(matrices.items(), key=lambda pair: _place(pair[0]))
    }
    return Reproduction(
        tuple(judge(measured)),
        tuple(part for m in measured.values() for part in _done(m)),
        tuple(key for key, m in measured.items() if m.simulated),
        measured,
    )


def _named(key: str, scores: ScoreMatrix) -> ScoreMatrix:
    """Scores under the key of their benchmark: results and figures name them by it."""
    return scores._replace(name=f"simulated {key}" if scores.simulated else key)


def _place(key: str) -> tuple[int, str]:
    known = key in PAPER_BENCHMARKS
    return (PAPER_BENCHMARKS.index(key) if known else len(PAPER_BENCHMARKS), key)


def measure(
    benchmark: str,
    completed: Completed,
    plan: Plan,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    out: Path | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Measured:
    """Run every part on one benchmark; parameters as of :func:`reproduce`.

    Raises
    ------
    ScoresError, SettingError
        when not even the main experiment can be done.
    """
    scores = completed.scores
    parts = parts_of(benchmark, scores, plan, seed, groups or {})
    if parts[0].absent:
        raise SettingError(f"{benchmark}: {parts[0].absent}")
    tell = progress or (lambda _part, _done, _all: None)

    def run(part: Part) -> Results:
        label = f"{benchmark} {part.name}"
        return run_experiment(
            completed,
            Experiment(**part.settings),
            out=None if out is None else out / part.name,
            n_jobs=n_jobs,
            progress=lambda done, of: tell(label, done, of),
        )

    return Measured(
        benchmark,
        {part.name: run(part) for part in parts if not part.absent},
        scores.simulated,
        {part.name: part.absent for part in parts if part.absent},
    )


def _done(measured: Measured) -> Iterator[PartDone]:
    for name, results in measured.parts.items():
        experiment = results.experiment
        yield PartDone(
            measured.benchmark,
            name,
            len(results.runs),
            experiment.n_source or 0,
            experiment.n_target or 0,
        )
    for name, why in measured.absent.items():
        yield PartDone(measured.benchmark, name, 0, 0, 0, why)


def judge(measured: Mapping[str, Measured]) -> Iterator[Finding]:
    """Every claim on every benchmark it concerns, in the paper's order."""
    for claim in CLAIMS:
        concerned = [m for key, m in measured.items() if claim.concerns(key)]
        told = [_finding(claim, m) for m in concerned if claim.needs in m.parts]
        if claim.number == "1" or not told:
            told = [_silent(claim, concerned)]
        yield from told


def _silent(claim: Claim, concerned: list[Measured]) -> Finding:
    """A claim that no benchmark can tell about."""
    if claim.number == "1":
        why = "a definition, not a finding"
    elif not concerned:
        why = f"it is about {listed(claim.about)}; no such scores were given"
    else:
        reasons = {m.absent.get(claim.needs, f"{claim.needs} was not run") for m in concerned}
        why = "; ".join(sorted(reasons))
    return _made(claim, "", simulated=False, measured="", verdict="cannot be checked here", why=why)


def _finding(claim: Claim, measured: Measured) -> Finding:
    answer = claim.check(measured)
    if answer.holds is None:
        return _made(
            claim,
            measured.benchmark,
            simulated=measured.simulated,
            measured=answer.measured,
            verdict="cannot be checked here",
            why=answer.why,
        )
    halves = [claim.check(half).holds for half in measured.halves()]
    return _made(
        claim,
        measured.benchmark,
        simulated=measured.simulated,
        measured=answer.measured,
        verdict="holds" if answer.holds else "does not hold",
        steady=all(half == answer.holds for half in halves) if halves else None,
    )


def _made(
    claim: Claim,
    benchmark: str,
    *,
    simulated: bool,
    measured: str,
    verdict: Verdict,
    why: str = "",
    steady: bool | None = None,
) -> Finding:
    return Finding(
        claim.number, claim.says, claim.rule, benchmark, simulated, measured, verdict, why, steady
    )
