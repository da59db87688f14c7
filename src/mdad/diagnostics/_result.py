"""What item diagnostics found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_int

if TYPE_CHECKING:
    import pandas as pd

    from mdad.diagnostics._discrimination import Discrimination, Keys
    from mdad.diagnostics._duplicates import DuplicateGroup
    from mdad.diagnostics._information import SubtaskInformation

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FAULTS = ("suspicious key", "negative", "constant", "duplicate")
"""Names of the faults, the gravest first."""


@dataclass(frozen=True, eq=False)
class ItemDiagnostics:
    """Every item of a benchmark, looked at through the scores of many models.

    Parameters
    ----------
    items : ids; all arrays are of shape (n_items,) in this order
    labels : subtask of each item, or None
    mean : mean score, in the unit of the scores
    constant : all models score the same
    discrimination : item-rest correlations and their test
    slope : discrimination in the two-parameter logistic model with one ability, in logits per
        standard deviation of ability; NaN for graded scores and constant items
    keys : which answer keys look wrong
    information : share of the variance of full scores that the item alone explains
    duplicates : groups of equal items that chance does not explain
    n_chance_equal : items equal to another one as chance explains it
    subtasks : one entry per subtask, alphabetical; one without labels
    n_models, n_distinct : models, and those left when copies and near copies count once
    level : of the tests
    score_range : of a score
    name, simulated : of the benchmark
    notes : what a reader should know
    """

    items: tuple[str, ...]
    labels: tuple[str, ...] | None
    mean: FloatArray
    constant: BoolArray
    discrimination: Discrimination
    slope: FloatArray
    keys: Keys
    information: FloatArray
    duplicates: tuple[DuplicateGroup, ...]
    n_chance_equal: int
    subtasks: tuple[SubtaskInformation, ...]
    n_models: int
    n_distinct: int
    level: float
    score_range: tuple[float, float]
    name: str
    simulated: bool
    notes: tuple[str, ...]

    @property
    def faults(self) -> dict[str, tuple[str, ...]]:
        """Ids of the items with each fault of :data:`FAULTS`, in the order of the items.

        Of a group of duplicates all but the first are faulty. An item can have several faults.
        """
        again = {item for group in self.duplicates for item in group.items[1:]}
        masks: dict[str, Any] = {
            "suspicious key": self.keys.suspicious,
            "negative": self.discrimination.negative,
            "constant": self.constant,
            "duplicate": [item in again for item in self.items],
        }
        return {
            fault: tuple(i for i, bad in zip(self.items, masks[fault], strict=True) if bad)
            for fault in FAULTS
        }

    @property
    def flagged(self) -> tuple[str, ...]:
        """Ids of the items with any fault, in the order of the items."""
        bad = {item for items in self.faults.values() for item in items}
        return tuple(item for item in self.items if item in bad)

    def ranked(self, count: int, which: str = "most") -> tuple[str, ...]:
        """The items that say most, or least, of the full score; constant ones left out.

        Parameters
        ----------
        count : how many
        which : "most" or "least"

        Raises
        ------
        SettingError
            when an argument has a value it cannot have.
        """
        count = check_int("count", count, 0)
        sign = -1 if check_choice("which", which, ("most", "least")) == "most" else 1
        varying = np.flatnonzero(~self.constant)
        order = varying[np.argsort(sign * self.information[varying], kind="stable")]
        return tuple(self.items[i] for i in order[:count].tolist())

    def table(self) -> pd.DataFrame:
        """One row per item, indexed by id, with the columns of :meth:`to_dict`."""
        import pandas as pd  # noqa: PLC0415  # slow to import

        group = {item: k for k, g in enumerate(self.duplicates, 1) for item in g.items}
        columns: dict[str, Any] = {} if self.labels is None else {"subtask": self.labels}
        columns |= {
            "mean": self.mean,
            "item_rest": self.discrimination.item_rest,
            "slope": self.slope,
            "p_negative": self.discrimination.p_negative,
            "negative": self.discrimination.negative,
            "constant": self.constant,
            "duplicate_group": [group.get(item, 0) for item in self.items],
            "strong_score": self.discrimination.strong_score,
            "suspicious_key": self.keys.suspicious,
            "likely_option": self.keys.option,
            "option_share": self.keys.option_share,
            "information": self.information,
        }
        return pd.DataFrame(columns, index=pd.Index(self.items, name="item"))
