"""The records of a source's files, counted from bytes alone."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.count import count_records
from lakesmith.sources.model import FileIdentity

SOURCE = FileSource("files", "in", FileFormat.CSV, Place("t.yaml", 1))


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
