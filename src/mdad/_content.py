"""Whether the items of a run still say what they said when a micro-benchmark was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdad._checks import counted, listed
from mdad.errors import FormatError

if TYPE_CHECKING:
    from mdad.microbenchmark import Microbenchmark
    from mdad.scores import ScoreMatrix

__all__ = ["checked", "contents_of"]


def contents_of(run: ScoreMatrix) -> dict[str, str]:
    """Content hash of each item that has one.

    A hash that is not the same for all models of the run is the empty text.
    """
    info = run.item_info
    if info is None or "content_hash" not in info.columns:
        return {}
    found = dict(zip(run.items, info["content_hash"].astype(str), strict=True))
    differs = info["content_differs"] if "content_differs" in info.columns else [False] * len(found)
    return {
        item: "" if differing else content
        for (item, content), differing in zip(found.items(), differs, strict=True)
        if content or differing
    }


def checked(micro: Microbenchmark, run: ScoreMatrix) -> ScoreMatrix:
    """A run whose items say what they said; of a task of its own, under their first ids.

    A task that holds nothing but the chosen items numbers them anew. Its items are told by their
    content, where each content is that of exactly one chosen item.

    Raises
    ------
    FormatError
        naming the items whose content has changed, or that no chosen item has.
    """
    contents, known = contents_of(run), _known(micro)
    if not contents or not known:
        return run
    if not set(run.items) & set(micro.items):
        return _renamed(run, contents, known, micro.size)
    changed = [item for item, hash_ in known.items() if contents.get(item, hash_) != hash_]
    if changed:
        raise FormatError(_what_changed(changed, contents, known))
    return run


def _known(micro: Microbenchmark) -> dict[str, str]:
    hashes = micro.content_hashes or ()
    return {item: hash_ for item, hash_ in zip(micro.items, hashes, strict=False) if hash_}


def _what_changed(changed: list[str], contents: dict[str, str], known: dict[str, str]) -> str:
    elsewhere = {hash_: item for item, hash_ in contents.items()}
    moved = [
        f"{item} is {elsewhere[known[item]]} now" for item in changed if known[item] in elsewhere
    ]
    text = (
        f"the content of {counted(len(changed), 'chosen item')} has changed since the "
        f"micro-benchmark was made: {listed(changed)}. "
    )
    if moved:
        text += f"Some stand under another id ({listed(moved)}): was the data set shuffled? "
    elif any(not contents[item] for item in changed):
        text += "It also differs between the models of this run. "
    return text + "Nothing was scored. Run on the old data set, or choose items anew."


def _renamed(
    run: ScoreMatrix, contents: dict[str, str], known: dict[str, str], size: int
) -> ScoreMatrix:
    """The run under the ids of the chosen items with the same contents."""
    ids: dict[str, list[str]] = {}
    for item, hash_ in known.items():
        ids.setdefault(hash_, []).append(item)
    strange = [item for item in run.items if contents.get(item, "") not in ids]
    if len(strange) == run.n_items:
        return run  # another benchmark altogether; the ids say so
    if strange:
        raise FormatError(
            f"no id of this run is that of a chosen item, and the content of {len(strange)} of its "
            f"{counted(run.n_items, 'item')} is that of none either: {listed(strange)}. The data "
            "set has changed since the micro-benchmark was made. Nothing was scored."
        )
    names = [ids[contents[item]] for item in run.items]
    if any(len(found) > 1 for found in names) or len({found[0] for found in names}) < len(names):
        raise FormatError(
            f"the run has no id of the {counted(size, 'chosen item')}, and cannot be joined by "
            "content either: two items say the same. Run the task under its own name."
        )
    return run._replace(items=tuple(found[0] for found in names), item_info=None)
