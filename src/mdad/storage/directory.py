"""A memory-mapped directory: a manifest in JSON and one file per layer.

Zeros and ones are stored as bits when there are many of them, with a second file of bits for
the missing cells; everything else is a plain ``.npy`` that is mapped, not read.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mdad.errors import FormatError, SettingError
from mdad.scores import ScoreMatrix
from mdad.storage._files import read_bytes, whole_directory
from mdad.storage._header import (
    FORMAT,
    Header,
    Preamble,
    damaged,
    decode,
    described,
    encode,
    info_from_parquet,
    info_to_parquet,
)

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

__all__ = ["is_directory_store", "open_directory", "write_directory"]

MANIFEST = "manifest.json"
PACK_ABOVE = 4 << 20
"""Zeros and ones are packed when there are more cells than this (4 MiB of int8)."""

VERIFY_BELOW = 256 << 20
"""A mapped file up to this size is checked whenever it is opened: a fraction of a second."""

BLOCK = 1 << 22

OPTION_LAYERS = ("option_probabilities", "right_options")
"""Present when the manifest lists their files, like the tables of models and items."""


class StoredFile(msgspec.Struct):
    """Size in bytes and blake2b digest of one file of the directory."""

    size: int
    digest: str


class Layer(msgspec.Struct):
    """Where a layer lies: a ``.npy`` file, or bits with a mask of the missing cells."""

    file: str
    packed: bool = False
    mask: str | None = None


class Manifest(Header, kw_only=True):
    """The manifest; written last, so a directory without one is not finished."""

    values: Layer
    probabilities: Layer | None
    n_missing: int
    data_fingerprint: str
    items_fingerprint: str
    files: dict[str, StoredFile]


def is_directory_store(path: str | os.PathLike[str]) -> bool:
    """Whether this is a directory with the manifest of a score matrix."""
    manifest = Path(path) / MANIFEST
    try:
        start = msgspec.json.decode(manifest.read_bytes(), type=Preamble)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return start.format == FORMAT


def write_directory(
    scores: ScoreMatrix, path: str | os.PathLike[str], *, packed: bool | None = None
) -> None:
    """Write a matrix as a directory that :func:`open_directory` maps into memory.

    The directory appears under its name when it is complete, and takes the place of an older
    one written by this function.

    Parameters
    ----------
    packed : whether 0/1 scores are stored as bits; None packs more than 4 Mi cells. Bits are
        an eighth of the size but are unpacked when opened; int8 is shared between processes.

    Raises
    ------
    SettingError
        when something else is in its place, or bits are asked for scores that are not 0/1.
    ScoresError
        when a table of models or items cannot be stored.
    """
    binary = scores.kind == "correctness"
    if packed and not binary:
        raise SettingError("packed=True needs 0/1 scores; these are graded. Leave packed out.")
    bits = binary and (scores.values.size > PACK_ABOVE if packed is None else packed)
    with whole_directory(path, is_directory_store) as folder:
        values = _write_bits(scores, folder) if bits else _write_npy("values", scores, folder)
        layer = None
        if scores.probabilities is not None:
            layer = _write_npy("probabilities", scores, folder)
        if scores.option_probabilities is not None:
            for name in OPTION_LAYERS:
                _write_npy(name, scores, folder)
        for kind, info in (("model", scores.model_info), ("item", scores.item_info)):
            stored = info_to_parquet(kind, info)
            if stored is not None:
                (folder / f"{kind}_info.parquet").write_bytes(stored)
        manifest = Manifest(
            **described(scores),
            values=values,
            probabilities=layer,
            n_missing=scores.n_missing,
            data_fingerprint=scores.data_fingerprint,
            items_fingerprint=scores.items_fingerprint,
            files={file.name: _summary(file) for file in sorted(folder.iterdir())},
        )
        (folder / MANIFEST).write_bytes(encode(manifest, pretty=True))


def _write_npy(name: str, scores: ScoreMatrix, folder: Path) -> Layer:
    np.save(folder / f"{name}.npy", getattr(scores, name), allow_pickle=False)
    return Layer(f"{name}.npy")


def _write_bits(scores: ScoreMatrix, folder: Path) -> Layer:
    absent = folder / "values.mask" if scores.n_missing else None
    with (folder / "values.bits").open("wb") as right:
        for row in scores.values:
            right.write(np.packbits(row == 1).tobytes())
    if absent is not None:
        with absent.open("wb") as file:
            for row in scores.values:
                file.write(np.packbits(np.isnan(row)).tobytes())
    return Layer("values.bits", packed=True, mask=None if absent is None else absent.name)


def _summary(file: Path) -> StoredFile:
    digest = hashlib.blake2b(digest_size=16)
    with file.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return StoredFile(file.stat().st_size, digest.hexdigest())


def open_directory(path: str | os.PathLike[str], *, verify: bool | None = None) -> ScoreMatrix:
    """Open what :func:`write_directory` wrote; layers in ``.npy`` files are mapped, not read.

    Parameters
    ----------
    verify : whether to check every file against its digest; None checks bits, tables and
        mapped files up to 256 MiB, and only the size of larger ones

    Raises
    ------
    FormatError
        when it is not there, not finished, damaged, foreign or from a newer version.
    """
    folder = Path(path)
    where = repr(folder.name or str(folder))
    if not folder.is_dir():
        raise FormatError(f"there is no directory {str(folder)!r}.")
    if not (folder / MANIFEST).is_file():
        raise FormatError(
            f"{where} is not a score matrix written by mdad: it has no {MANIFEST}. A directory "
            "that was not finished has none either: write it again."
        )
    manifest = decode(read_bytes(folder / MANIFEST, "the manifest"), Manifest, where)
    _check_names(manifest, where)
    for name, stored in manifest.files.items():
        _check_file(folder / name, stored, where, verify=verify)
    matrix = _matrix(folder, manifest, where)
    # Known from the manifest, whose checksum holds; else each worker would compute them again.
    matrix._fill(  # noqa: SLF001
        n_missing=manifest.n_missing,
        data_fingerprint=manifest.data_fingerprint,
        items_fingerprint=manifest.items_fingerprint,
    )
    return matrix


def _check_names(manifest: Manifest, where: str) -> None:
    """Only files of this directory whose digests are known are ever opened."""
    layers = [layer for layer in (manifest.values, manifest.probabilities) if layer is not None]
    used = [name for layer in layers for name in (layer.file, layer.mask) if name is not None]
    if any(name not in manifest.files for name in used):
        raise damaged(where, "its manifest names a layer without a digest")
    if any(Path(name).name != name for name in manifest.files):
        raise damaged(where, "its manifest names a file outside the directory")


def _check_file(file: Path, stored: StoredFile, where: str, *, verify: bool | None) -> None:
    if not file.is_file():
        raise damaged(where, f"its file {file.name!r} is missing")
    size = file.stat().st_size
    if size != stored.size:
        raise damaged(where, f"{file.name!r} has {size:,} bytes instead of {stored.size:,}")
    always = file.suffix != ".npy" or size <= VERIFY_BELOW
    if (always if verify is None else verify) and _summary(file).digest != stored.digest:
        raise damaged(where, f"the contents of {file.name!r} do not match their digest")


def _matrix(folder: Path, manifest: Manifest, where: str) -> ScoreMatrix:
    shape = (len(manifest.models), len(manifest.items))
    layer = manifest.values
    if layer.packed:
        values = _unpacked(folder, layer, shape, where)
    else:
        values = _mapped(folder / layer.file, shape, where)
    probabilities = None
    if manifest.probabilities is not None:
        probabilities = _mapped(folder / manifest.probabilities.file, shape, where)
    infos: dict[str, Any] = {}
    for kind in ("model", "item"):
        name = f"{kind}_info.parquet"
        stored = read_bytes(folder / name, name) if name in manifest.files else None
        infos[f"{kind}_info"] = info_from_parquet(kind, stored, where)
    if all(f"{name}.npy" in manifest.files for name in OPTION_LAYERS):
        for name, expected in zip(OPTION_LAYERS, ((*shape, None), shape[1:]), strict=True):
            infos[name] = _mapped(folder / f"{name}.npy", expected, where)
    fields = {key: getattr(manifest, key) for key in Header.__struct_fields__}
    for key in ("format", "version", "checksum"):
        del fields[key]
    # The files were checked against their digests; checking every cell would read all of them.
    return ScoreMatrix._trusted(  # noqa: SLF001
        **fields, values=values, probabilities=probabilities, **infos
    )


def _mapped(file: Path, shape: tuple[int | None, ...], where: str) -> npt.NDArray[Any]:
    try:
        array = np.lib.format.open_memmap(file, mode="r")
    except (OSError, ValueError, EOFError, SyntaxError):
        raise damaged(where, f"{file.name!r} is not a readable .npy file") from None
    fits = len(array.shape) == len(shape) and all(
        wanted in {None, found} for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise damaged(where, f"{file.name!r} has the shape {array.shape} instead of {shape}")
    return np.asarray(array)


def _unpacked(folder: Path, layer: Layer, shape: tuple[int, int], where: str) -> npt.NDArray[Any]:
    right = _bits(folder / layer.file, shape, where)
    if layer.mask is None:
        values: npt.NDArray[Any] = right.view(np.int8)
    else:
        absent = _bits(folder / layer.mask, shape, where)
        values = right.astype(np.float32)
        values[absent.view(bool)] = np.nan
    values.flags.writeable = False
    return values


def _bits(file: Path, shape: tuple[int, int], where: str) -> npt.NDArray[np.uint8]:
    width = -(-shape[1] // 8)
    packed = np.frombuffer(read_bytes(file, f"{file.name!r}"), dtype=np.uint8)
    if packed.size != shape[0] * width:
        raise damaged(where, f"{file.name!r} does not hold {shape[0]:,} x {shape[1]:,} bits")
    return np.unpackbits(packed.reshape(shape[0], width), axis=1, count=shape[1])
