"""Make the bundled data set digits-zoo again, and say what differs from the committed files.

Run ``python scripts/make_digits_zoo.py`` to compare, with ``--write`` to replace the files.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import sys
import time
from pathlib import Path

import numpy as np
import sklearn
from digits_zoo_models import Digits, Recipe, class_probabilities, halves, recipes
from threadpoolctl import threadpool_limits

DATA = Path(__file__).parents[1] / "src" / "mdad" / "datasets" / "data"
N_WITH_OPTIONS = 60


def make() -> dict[str, bytes]:
    """Fit all models; the content of each file by name."""
    data, chosen, made = halves(), recipes(), []
    # One thread: sums are then always added in the same order.
    with threadpool_limits(1):
        for k, recipe in enumerate(chosen):
            made.append(class_probabilities(recipe, data))
            if (k + 1) % 50 == 0:
                print(f"{k + 1} of {len(chosen)} models", file=sys.stderr)
    layers = np.stack([probabilities for probabilities, _ in made])
    values = right_answers(layers, data.test_digits)
    right = layers[:, np.arange(len(data.test_digits)), data.test_digits]
    rows = spread_over(values.mean(axis=1), N_WITH_OPTIONS)
    return {
        "digits-zoo.npz": npz(values=np.packbits(values, axis=1), probabilities=right),
        "digits-zoo.options.npz": npz(rows=rows.astype(np.uint16), probabilities=layers[rows]),
        "digits-zoo.models.csv": models_table(chosen, [size for _, size in made]),
        "digits-zoo.items.csv": items_table(data),
    }


def right_answers(layers: np.ndarray, digits: np.ndarray) -> np.ndarray:
    """Whether the most probable digit is the right one; a tie goes to the lowest digit."""
    return (layers.argmax(axis=2) == digits).astype(np.uint8)


def spread_over(accuracies: np.ndarray, number: int) -> np.ndarray:
    """Rows of models whose accuracies are spread over the ranks, ends included."""
    order = np.argsort(accuracies, kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, number).round().astype(int)])


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def models_table(chosen: list[Recipe], sizes: list[int]) -> bytes:
    rows = [
        (recipe.name, recipe.family, recipe.setting, recipe.view or "full", size, recipe.n_train,
         recipe.seed)
        for recipe, size in zip(chosen, sizes, strict=True)
    ]  # fmt: skip
    return table(("model", "family", "setting", "view", "size", "n_train", "seed"), rows)


def items_table(data: Digits) -> bytes:
    first = len(data.train_digits)
    rows = [
        (f"digits-{first + k:04d}", int(digit), hashlib.blake2b(image, digest_size=8).hexdigest())
        for k, (digit, image) in enumerate(
            zip(data.test_digits, (row.tobytes() for row in data.pixels), strict=True)
        )
    ]
    return table(("item", "digit", "content_hash"), rows)


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def difference(name: str, new: bytes, old: bytes) -> str:
    """What differs between two versions of a file, in one line."""
    if new == old:
        return "the same bytes"
    if not name.endswith(".npz"):
        pairs = zip(new.splitlines(), old.splitlines(), strict=False)
        return f"{sum(a != b for a, b in pairs)} lines differ"
    with np.load(io.BytesIO(new)) as a, np.load(io.BytesIO(old)) as b:
        parts = []
        for key in a.files:
            if key not in b.files or a[key].shape != b[key].shape:
                parts.append(f"{key}: other shape")
            elif (a[key] != b[key]).any():
                cells = (a[key] != b[key]).sum()
                largest = np.abs(a[key].astype(int) - b[key].astype(int)).max()
                parts.append(f"{key}: {cells} cells differ, by {largest} at most")
        return "; ".join(parts) or "the same content, compressed differently"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the committed files")
    write = parser.parse_args().write
    start = time.perf_counter()
    files = make()
    print(f"made in {time.perf_counter() - start:.0f} s with scikit-learn {sklearn.__version__}, "
          f"numpy {np.__version__}")  # fmt: skip
    same = True
    for name, content in files.items():
        path = DATA / name
        note = difference(name, content, path.read_bytes()) if path.exists() else "new"
        same &= note.startswith("the same")
        print(f"{name}: {len(content):,} bytes, {note}")
        if write:
            path.write_bytes(content)
    return 0 if same or write else 1


if __name__ == "__main__":
    sys.exit(main())
