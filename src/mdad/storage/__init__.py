"""Score matrices on disk: Parquet, a memory-mapped directory, wide CSV; never pickle."""

from mdad.storage.directory import is_directory_store, open_directory, write_directory
from mdad.storage.parquet import is_parquet_store, read_parquet, write_parquet
from mdad.storage.text import write_csv

__all__ = [
    "is_directory_store",
    "is_parquet_store",
    "open_directory",
    "read_parquet",
    "write_csv",
    "write_directory",
    "write_parquet",
]
