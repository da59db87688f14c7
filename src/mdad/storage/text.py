"""Wide CSV: what every other program reads."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mdad._checks import listed
from mdad.errors import ScoresError
from mdad.storage._files import whole_file

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from mdad.scores import ScoreMatrix

_DIGITS = np.array(["0", "1", ""])


def write_csv(scores: ScoreMatrix, path: str | os.PathLike[str]) -> None:
    """Write the scores as a wide CSV: first column ``model``, one column per item.

    An empty cell was not scored. Only ids and scores are written: subtasks, probabilities and
    tables of models or items need :func:`~mdad.storage.write_parquet`.

    Parameters
    ----------
    path : a name that ends in .gz is compressed; equal scores give equal bytes

    Raises
    ------
    ScoresError
        when an id would not be read back as it is: white space around it.
    SettingError
        when the file cannot be put there.
    """
    spaced = [i for i in (*scores.models, *scores.items) if i != i.strip()]
    if spaced:
        raise ScoresError(
            f"ids with white space around them do not survive a CSV file: {listed(spaced)}. "
            "Rename them, or write Parquet."
        )
    with whole_file(path) as temporary, temporary.open("wb") as raw:
        if Path(path).suffix.lower() == ".gz":
            # No name and no time in the header: the same scores give the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                _write_rows(scores, packed)
        else:
            _write_rows(scores, raw)


def _write_rows(scores: ScoreMatrix, raw: io.RawIOBase | io.BufferedIOBase) -> None:
    text = io.TextIOWrapper(raw, encoding="utf-8", newline="")  # type: ignore[type-var]
    writer = csv.writer(text, lineterminator="\n")
    try:
        writer.writerow(["model", *scores.items])
        for model, row in zip(scores.models, scores.values, strict=True):
            writer.writerow([model, *_cells(row, binary=scores.kind == "correctness")])
        text.flush()
    finally:
        text.detach()


def _cells(row: npt.NDArray[np.generic], *, binary: bool) -> list[str]:
    if binary:
        codes = np.where(np.isnan(row), 2, row) if row.dtype != np.int8 else row
        cells: list[str] = _DIGITS[codes.astype(np.intp)].tolist()
        return cells
    # repr gives the shortest text that reads back as the same number.
    return ["" if value != value else repr(value) for value in row.tolist()]  # noqa: PLR0124
