"""What the paper claims, as facts with their source, and the rule that decides about each.

Claims and published numbers: Yauney, Warraich and Swayamdipta, How Reliable is Language Model
Micro-Benchmarking?, ICLR 2026, arXiv 2510.08730. The sentences are ours. The rules were fixed
before anything was measured; they are read on seen items unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mdad.reproducing import _rules as rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad.reproducing._measured import Measured
    from mdad.reproducing._rules import Answer

__all__ = ["CITATION", "CLAIMS", "PAPER_BENCHMARKS", "Claim"]

CITATION = (
    "Yauney, Warraich and Swayamdipta, How Reliable is Language Model Micro-Benchmarking?, "
    "ICLR 2026, arXiv 2510.08730"
)

PAPER_BENCHMARKS = ("mmlu", "mmlu-pro", "bbh", "gpqa")
"""The paper's benchmarks by key, in the order of its figures."""


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Parameters
    ----------
    number : for reference; parts of one claim have a letter
    says : what the paper claims
    rule : when it holds here, in words; the function ``check`` decides by it
    check : reads what was measured on one benchmark
    about : keys of the benchmarks it is about; empty = any
    needs : part of the experiments that it is read from
    """

    number: str
    says: str
    rule: str
    check: Callable[[Measured], Answer]
    about: tuple[str, ...] = ()
    needs: str = "main"

    def concerns(self, benchmark: str) -> bool:
        """Whether it is asked of a benchmark: its own, or one that the paper does not have."""
        return not self.about or benchmark in self.about or benchmark not in PAPER_BENCHMARKS


PRO, CLOSE = ("mmlu-pro",), ("mmlu-pro", "bbh")

CLAIMS = (
    Claim(
        "1",
        "The MDAD is the smallest full-benchmark gap at which a pair is ranked correctly with "
        "probability 0.8 or more; it extends to graded scores.",
        "none: a definition",
        rules.definition,
    ),
    Claim(
        "2a",
        "Kendall's tau hides unreliability.",
        "two cells (method, size) whose tau differs by 0.03 or less have MDADs 1 point apart or "
        "more",
        rules.tau_hides,
    ),
    Claim(
        "2b",
        "Where tau is about the same (some 0.74), Anchor Points with 10 items resolve gaps (about "
        "6 points) that random sampling does not.",
        "at the tau of anchor-points with 10 items, random's MDAD, interpolated on tau between its "
        "sizes, is 0.5 points larger or more",
        rules.same_tau,
        PRO,
    ),
    Claim(
        "2c",
        "With 500 items random sampling has an MDAD of 2 and no longer differs from Anchor Points.",
        "at 500 items (the largest size below, where there is none) random's MDAD is 2.5 or less "
        "and within 1 point of that of anchor-points",
        rules.same_at_500,
        PRO,
    ),
    Claim(
        "3",
        "With 10 items no method ranks pairs 3.5 points apart (BBH: 4) consistently.",
        "the smallest MDAD at 10 items is above 3.5 (BBH: 4)",
        rules.ten_items,
        CLOSE,
    ),
    Claim(
        "4a",
        "With 10 items Anchor Points is the most reliable method.",
        "anchor-points has the smallest MDAD at 10 items",
        rules.anchor_points_first,
    ),
    Claim(
        "4b",
        "With 10 items random sampling needs gaps of about 20 points.",
        "random's MDAD at 10 items is from 15 to 25",
        rules.random_needs_twenty,
    ),
    Claim(
        "5a",
        "From about 250 items random sampling is as good as a selection.",
        "at 250 items (or the largest size below) random's MDAD is at most 0.5 points above the "
        "best of the methods that learn from source models",
        rules.random_competitive,
    ),
    Claim(
        "5b",
        "At about 250 items every method has an MDAD of 2 to 3 points or less.",
        "at 250 items (or the largest size below) the largest MDAD is 3 or less",
        rules.all_small,
    ),
    Claim(
        "6a",
        "The 32 instruction-tuned models of 8B differ mostly by less than 5 points.",
        "more than half of the pairs of the group are less than 5 points apart on all items",
        rules.close_group,
        PRO,
        "fixed-8B",
    ),
    Claim(
        "6b",
        "With 25 items the order of 51 % of the pairs of that group is not reliably preserved.",
        "with 25 items the method of the smallest MDAD leaves half of the pairs or more closer "
        "than its MDAD",
        rules.half_unresolved,
        PRO,
        "fixed-8B",
    ),
    Claim(
        "6c",
        "In that group the MDAD is 2 points with 1,000 items.",
        "the smallest MDAD at 1,000 items is from 1.5 to 2.5",
        rules.two_points,
        PRO,
        "fixed-8B",
    ),
    Claim(
        "7",
        "Also studied: 70B models on MMLU-Pro, 7B and 70B models on BBH.",
        "none: a description",
        rules.also_studied,
        CLOSE,
        "fixed-70B",
    ),
    Claim(
        "8a",
        "On unseen items the MDAD is a little higher when items are pooled.",
        "at 250 items (or the largest size below) random's MDAD on unseen items is from 0 to 2 "
        "points above that on seen items",
        rules.unseen_little_higher,
    ),
    Claim(
        "8b",
        "With a micro-benchmark of each subtask reliability on unseen items falls clearly.",
        "with 8 % of each subtask the MDAD of anchor-points is 1 point higher or more on unseen "
        "than on seen items",
        rules.separate_falls,
        needs="separate",
    ),
    Claim(
        "9",
        "More source models help the methods that learn from them.",
        "at 50 items every such method has a smaller MDAD with all source models than with 50, on "
        "the same runs",
        rules.sources_help,
        needs="sources-50",
    ),
    Claim(
        "10a",
        "For gaps above 4 to 5 points 10 to 25 items do, and a selected subset helps.",
        "at 25 items the best method that learns from source models has an MDAD of 5 or less, and "
        "below random's",
        rules.selected_helps,
    ),
    Claim(
        "10b",
        "For gaps under 2 to 3 points take 250 items or more.",
        "random's MDAD reaches 2.5 points at 250 items or more, not before",
        rules.advice_for_close,
    ),
)
