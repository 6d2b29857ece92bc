"""Records counted from bytes alone: what Hadoop's lines are, to the last odd ending."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import CsvOptions, FileFormat, FileSource
from lakesmith.sources import count
from lakesmith.sources.count import count_lines, count_records
from lakesmith.sources.model import FileIdentity

SOURCE = FileSource("files", "in", FileFormat.CSV, Place("t.yaml", 1))

CASES = [
    ("nothing", b"", True, 0),
    ("only a header", b"a,b\n", True, 0),
    ("only a header, not ended", b"a,b", True, 0),
    ("two rows", b"a,b\n1,2\n3,4\n", True, 2),
    ("the last row is not ended", b"a,b\n1,2\n3,4", True, 2),
    ("no header", b"1,2\n3,4\n", False, 2),
    ("lines of Windows", b"a,b\r\n1,2\r\n3,4\r\n", True, 2),
    ("lines of an old Mac", b"a,b\r1,2\r3,4\r", True, 2),
    ("all three ends", b"a\r\n1\n2\r3", True, 3),
    ("blank lines are no records", b"a\n\n1\n   \n2\n\n", True, 2),
    ("blank lines of Windows", b"a\r\n\r\n1\r\n", True, 1),
    ("a line of one tab is a record", b"a\n\t\n", True, 1),
    ("a line that begins with a space", b"a\n 1\n2\n", True, 2),
    ("a byte order mark alone in the first line", b"\xef\xbb\xbf\n1\n", False, 1),
]


@pytest.mark.parametrize(("title", "text", "header", "expected"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 8 * 1024 * 1024])
def test_lines(
    title: str, text: bytes, header: bool, expected: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count, "_CHUNK", chunk)
    assert count_lines(io.BytesIO(text), header) == expected


def identity(path: Path) -> FileIdentity:
    return FileIdentity(path.name, path.stat().st_size, 0)


def test_several_files_packed_and_not(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    with gzip.open(tmp_path / "b.csv.gz", "wt") as packed:
        packed.write("x\n3\n")
    files = [identity(tmp_path / name) for name in ("a.csv", "b.csv.gz")]
    assert count_records(files, SOURCE, tmp_path) == 3


def test_a_packed_file_that_breaks_off_is_told_of(tmp_path: Path) -> None:
    whole = gzip.compress(b"x\n" + b"1234567890\n" * 1000)
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match=r"a\.csv\.gz is damaged"):
        count_records([identity(tmp_path / "a.csv.gz")], SOURCE, tmp_path)


def test_parquet_says_its_rows(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"x": range(5)}), tmp_path / "a.parquet")
    source = replace(SOURCE, format=FileFormat.PARQUET)
    assert count_records([identity(tmp_path / "a.parquet")], source, tmp_path) == 5


@pytest.mark.parametrize(
    "source",
    [replace(SOURCE, csv=CsvOptions(multiline=True)), replace(SOURCE, csv=CsvOptions(encoding="utf-16le"))],
    ids=["values with line breaks", "wide characters"],
)
def test_what_cannot_be_counted_by_lines_is_not(source: FileSource, tmp_path: Path) -> None:
    assert count_records([], source, tmp_path) is None
