"""Files that cannot be read: which of them lasts, what is said of it, and what is looked at once a batch
has failed."""

import errno
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakesmith.project.definitions import FileSource, OnBadFile, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.bad_files import unreadable
from lakesmith.sources.inspect import damaged_files
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import UnreadableFile

Make = Callable[..., FileSource]
Put = Callable[..., Path]
ORDERS = TableName("bronze", "orders")
FILE = FileIdentity("landing/orders/a.csv.gz", 10, 1)


@pytest.mark.parametrize(
    ("error", "code", "may_be_skipped"),
    [
        (UnreadableFile("LS422", "it is damaged", "a whole .gz file", "EOF"), "LS422", True),
        (UnreadableFile("LS423", "two columns have one name", "each once", "'a'"), "LS423", True),
        (UnreadableFile("LS425", "its encoding is unknown", "UTF-8", "klingon"), "LS425", False),
        (PermissionError(errno.EACCES, "Permission denied"), "LS421", True),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "LS421", False),
        (OSError(errno.EIO, "Input/output error"), "LS421", False),
    ],
)
def test_only_what_lasts_as_long_as_the_file_does_is_left_out(
    error: OSError | UnreadableFile, code: str, may_be_skipped: bool, make_source: Make
) -> None:
    bad = unreadable(FILE, make_source(on_bad_file=OnBadFile.SKIP), error, ORDERS)
    assert (bad.problem.code, bad.may_be_skipped) == (code, may_be_skipped)
    strict = unreadable(FILE, make_source(), error, ORDERS)
    assert not strict.may_be_skipped
    assert strict.problem.what.startswith("source 'orders': landing/orders/a.csv.gz: ")
    assert strict.problem.place == make_source().place
    assert ("on_bad_file: skip" in (strict.problem.hint or "")) == may_be_skipped


def _parquet(path: Path) -> bytes:
    pq.write_table(pa.table({"a": list(range(5000))}), path, use_dictionary=False, compression="gzip")
    return path.read_bytes()


def test_a_parquet_file_with_a_torn_page_is_damaged(tmp_path: Path, put: Put, make_source: Make) -> None:
    whole = _parquet(tmp_path / "w.parquet")
    put("landing/orders/a.parquet", whole)
    put("landing/orders/b.parquet", whole[:300] + bytes(200) + whole[500:])
    put("landing/orders/c.parquet", b"")
    files = [FileIdentity(f"landing/orders/{name}.parquet", len(whole), 1) for name in "ab"]
    files.append(FileIdentity("landing/orders/c.parquet", 0, 1))
    (bad,) = damaged_files(files, make_source(format=FileFormat.PARQUET), tmp_path, ORDERS)
    assert bad.file == files[1]
    assert "--skip landing/orders/b.parquet" in (bad.problem.hint or "")
