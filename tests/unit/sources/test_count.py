"""The records of a source's files, counted from bytes alone."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith import limits
from lakesmith.errors import Place
from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.inspect import count_records, read_shape
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import Layout

SOURCE = FileSource("files", "in", FileFormat.CSV, Place("t.yaml", 1))


def identity(path: Path) -> FileIdentity:
    return FileIdentity(path.name, path.stat().st_size, 0)


def test_several_files_packed_and_not(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    with gzip.open(tmp_path / "b.csv.gz", "wt") as packed:
        packed.write("x\n3\n")
    files = [identity(tmp_path / name) for name in ("a.csv", "b.csv.gz")]
    assert count_records(files, SOURCE, tmp_path) == 3


def test_values_in_a_stream_are_counted_where_lines_are_not_records(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"x":1}{"x":\n2}\n')
    (tmp_path / "b.json").write_text('{"x":1}\r\n\r\n{"x":2\r\n')
    (tmp_path / "c.json").write_bytes('[{"x":"é"},{"x":2},\n{"x":3}]'.encode("utf-16"))
    files = [identity(tmp_path / name) for name in ("a.json", "b.json", "c.json")]
    source = replace(SOURCE, format=FileFormat.JSON)
    assert count_records(files[:2], source, tmp_path, {"a.json": Layout(is_stream=True)}) == 4
    wide = replace(source, csv=CsvOptions(encoding="UTF-16"))
    assert count_records(files[2:], wide, tmp_path, {"c.json": Layout(is_stream=True)}) == 3


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


CSV_OF_MANY_KINDS: list[tuple[str, bytes, CsvOptions, Layout, int]] = [
    ("lines before the header", b"sep=,\n\nx\n1\n2\n", CsvOptions(skip_lines=1), Layout(lines_before=3), 2),
    ("comments", b"#a\nx\n1\n#2\n\n # 3\n", CsvOptions(comment="#"), Layout(lines_before=2), 2),
    ("rows at the end", b"x\n1\n2\n3\n\n", CsvOptions(skip_last=2), Layout(), 1),
    ("fewer rows than that", b"x\n1\n", CsvOptions(skip_last=2), Layout(), 0),
    ("values with line breaks", b'x\r\n"1\r\n\r\n#"\n"2"\r\n3', CsvOptions(multiline=True), Layout(), 3),
    ("wide characters", 'x\r\né\r\n\r\n"2\n'.encode("utf-16"), CsvOptions(encoding="UTF-16"), Layout(), 2),
]


@pytest.mark.parametrize(
    ("data", "options", "layout", "expected"),
    [case[1:] for case in CSV_OF_MANY_KINDS],
    ids=[case[0] for case in CSV_OF_MANY_KINDS],
)
@pytest.mark.parametrize("chunk", [1, 1024])
def test_records_of_csv(
    data: bytes,
    options: CsvOptions,
    layout: Layout,
    expected: int,
    chunk: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "FILE_CHUNK_BYTES", chunk)
    (tmp_path / "a.csv").write_bytes(data)
    source = replace(SOURCE, csv=options)
    assert read_shape(tmp_path / "a.csv", source).layout == layout
    assert count_records([identity(tmp_path / "a.csv")], source, tmp_path, {"a.csv": layout}) == expected
