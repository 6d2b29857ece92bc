"""Landing files of every format: each of their rows is read once, from the right file, in its position."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from landing_files import landed, one, rows, source
from pyspark.sql import SparkSession

from lakesmith import limits
from lakesmith.project.definitions import CsvOptions
from lakesmith.project.formats import FileFormat
from lakesmith.sources.columns.reading import ReadGroup, SourceRead
from lakesmith.sources.inspect import count_records, read_shape
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import Layout
from lakesmith.spark.jvm.failures import unreadable_file
from lakesmith.spark.read.files import SparkRecords, read_files
from lakesmith.spark.read.request import ReadRequest


def test_columns_are_matched_by_name_in_every_group(spark: SparkSession, tmp_path: Path) -> None:
    files = [
        landed(tmp_path, "landing/1.csv", "id,note,extra\n1,a,x\n"),
        landed(tmp_path, "landing/2.csv", "NOTE,id\nb,2\n"),
        landed(tmp_path, "landing/3.csv", "id\n3\n"),
        landed(tmp_path, "landing/empty.csv", ""),
        landed(tmp_path, "landing/header.csv", "id,note\n"),
    ]
    headers = [("id", "note", "extra"), ("NOTE", "id"), ("id",), (), ("id", "note")]
    groups = tuple(ReadGroup((file,), header) for file, header in zip(files, headers, strict=True))
    frame = read_files(spark, ReadRequest(source(), tmp_path, groups, (("note", "string"), ("id", "int"))))
    assert [(row.note, row.id) for row in rows(frame)] == [("a", 1), ("b", 2), (None, 3)]
    assert frame.columns == [
        "note", "id", "_source_file", "_source_position", "_source_modified_at", "_raw", "_reasons",
        "_rounded",
    ]  # fmt: skip


@pytest.mark.parametrize("format_", list(FileFormat))
def test_nothing_to_read_is_an_empty_frame_of_the_right_schema(
    spark: SparkSession, tmp_path: Path, format_: FileFormat
) -> None:
    frame = read_files(spark, ReadRequest(source(format_), tmp_path, (), (("id", "int"),)))
    assert frame.dtypes[0] == ("id", "int")
    assert dict(frame.dtypes)["_reasons"] == "array<string>"
    assert frame.count() == 0


NAMES = [
    "a b.csv",
    "50%+c.csv",
    "%41.csv",
    "h#s.csv",
    "g[1]{a,b}*.csv",
    "q?x.csv",
    "12:30.csv",
    "a,b.csv",
    "it's.csv",
    "day=1/p.csv",
    "rep [12:30].csv",
    "rep [12-30].csv",
    "{a:b}.csv",
    "*:?.csv",
    "x:y/[z].csv",
    "[x]/y:z.csv",
    "back\\slash.csv",
    "back\\[1:2].csv",
    "${env:HOME}.csv",
    "$HOME;`id`|&.csv",
    "tab\tnew\nline.csv",
    "file:x.csv",
    "süß:[é]😀.csv",
    ' "quoted" .csv',
]


def test_file_names_come_out_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "my project"
    outside = landed(tmp_path, "else where/o+.csv", "id\n9\n")
    files = [landed(root, f"landing/{name}", "id\n1\n") for name in NAMES]
    files.append(FileIdentity(str(tmp_path / outside.path), outside.size, outside.modified_ns))
    frame = read_files(
        spark, ReadRequest(source(), root, (ReadGroup(tuple(files), ("id",)),), (("id", "int"),))
    )
    # Each once: a name that looks like a pattern must not make the others be read again.
    assert sorted(row._source_file for row in frame.collect()) == sorted(file.path for file in files)


def test_positions_do_not_depend_on_how_files_are_cut_and_packed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{i},{'x' * (i % 37)}" if i % 11 else f"bad{i},y" for i in range(3000)]
    small = [landed(tmp_path, f"landing/s{i}.csv", "id,n\n1,a\nx,b\n3,c\n") for i in range(40)]
    big = landed(tmp_path, "landing/big.csv", "id,n\n" + "\n".join(lines) + "\n")
    request = ReadRequest(
        source(), tmp_path, (ReadGroup((big, *small), ("id", "n")),), (("id", "int"), ("n", "string"))
    )
    whole = rows(read_files(spark, request))
    assert [row._source_position for row in whole if row._source_file == big.path] == list(range(1, 3001))
    monkeypatch.setattr(limits, "LARGE_FILE_BYTES", 1000)
    monkeypatch.setattr(limits, "READ_BLOCK_BYTES", 1000)
    cut = rows(read_files(spark, request))
    again = rows(
        read_files(
            spark, ReadRequest(request.source, tmp_path, (ReadGroup((big,), ("id", "n")),), request.columns)
        )
    )
    split = [row for row in cut if row._source_file == big.path]
    assert [(row.id, row.n, row._raw) for row in split] == [
        (row.id, row.n, row._raw) for row in whole if row._source_file == big.path
    ]
    assert len({row._source_position for row in split}) == 3000
    assert split[-1]._source_position > 3000
    assert [row._source_position for row in again] == [row._source_position for row in split]
    for file in small:
        assert [row._source_position for row in cut if row._source_file == file.path] == [1, 2, 3]


def test_lines_that_are_no_records_of_files_in_blocks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LARGE_FILE_BYTES", 1000)
    monkeypatch.setattr(limits, "READ_BLOCK_BYTES", 1000)
    lines = [f"{number}" if number % 7 else f"# {number}" for number in range(2000)]
    options = CsvOptions(skip_lines=2, comment="#", skip_last=3)
    csv = landed(tmp_path, "landing/a.csv", "\n".join(["title", "", "# x", "id", *lines]) + "\n")
    shape = read_shape(tmp_path / csv.path, source(options=options))
    assert shape.layout == Layout(lines_before=4)
    group = ReadGroup((csv,), shape.columns, layout=shape.layout)
    found = rows(
        read_files(spark, ReadRequest(source(options=options), tmp_path, (group,), (("id", "int"),)))
    )
    assert [row.id for row in found] == [int(line) for line in lines if line.isdigit()][:-3]
    assert count_records([csv], source(options=options), tmp_path, {csv.path: shape.layout}) == len(found)

    json = landed(tmp_path, "landing/a.json", "".join(f'{{"id":\n{number}}}' for number in range(2000)))
    group = ReadGroup((json,), layout=Layout(is_stream=True))
    request = ReadRequest(source(FileFormat.JSON), tmp_path, (group,), (("id", "int"),))
    found = rows(read_files(spark, request))
    assert [(row._source_position, row.id) for row in found] == [(at + 1, at) for at in range(2000)]


def test_typed_files_are_not_cut_whatever_they_are_called(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their rows are numbered from the first of the file on: in each block of it they would begin anew."""
    spark.range(20_000).selectExpr("id", "uuid() AS u").coalesce(1).write.format("avro").save(
        f"{tmp_path}/made"
    )
    made = next((tmp_path / "made").glob("part-*.avro")).read_bytes()
    file = landed(tmp_path, "landing/a.dat", made)
    monkeypatch.setattr(limits, "LARGE_FILE_BYTES", 1000)
    monkeypatch.setattr(limits, "READ_BLOCK_BYTES", 100_000)
    request = ReadRequest(source(FileFormat.AVRO), tmp_path, (ReadGroup((file,)),), (("id", "bigint"),))
    found = rows(read_files(spark, request))
    assert [(row._source_position, row.id) for row in found] == [(n + 1, n) for n in range(20_000)]


def test_a_checksum_of_an_older_version_is_no_matter(spark: SparkSession, tmp_path: Path) -> None:
    request = one(tmp_path, "id\n1\n", ("id",), (("id", "int"),))
    (tmp_path / "landing/.a.csv.crc").write_bytes(b"crc\x00\x00\x00\x02\x00\xff\xff\xff\xff")
    assert [row.id for row in read_files(spark, request).collect()] == [1]


def test_many_small_files_are_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    files = tuple(landed(tmp_path, f"landing/{i}.csv", f"id\n{i}\n") for i in range(200))
    frame = read_files(spark, ReadRequest(source(), tmp_path, (ReadGroup(files, ("id",)),), (("id", "int"),)))
    assert frame.rdd.getNumPartitions() <= spark.sparkContext.defaultParallelism
    assert {row.id for row in frame.collect()} == set(range(200))


def test_gzip_is_read_and_a_cut_one_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    whole = gzip.compress(b"id\n" + b"\n".join(str(i * 7919).encode() for i in range(50_000)) + b"\n")
    columns = (("id", "bigint"),)
    good = one(tmp_path, whole, ("id",), columns, name="landing/a.csv.gz")
    assert read_files(spark, good).count() == 50_000
    cut = one(tmp_path, whole[: len(whole) // 2], ("id",), columns, name="landing/c+ut 1.csv.gz")
    with pytest.raises(Exception) as caught:
        read_files(spark, cut).count()
    assert unreadable_file(caught.value) == str(tmp_path / "landing/c+ut 1.csv.gz")


def test_a_file_that_went_away_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    request = one(tmp_path, "id\n1\n", ("id",), (("id", "int"),))
    frame = read_files(spark, request)
    (tmp_path / "landing/a.csv").unlink()
    with pytest.raises(Exception, match=r"landing/a\.csv"):
        frame.count()


def test_the_session_s_settings_are_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.getAll
    read_files(spark, one(tmp_path, "id\n1\n", ("id",), (("id", "int"),))).collect()
    assert spark.conf.getAll == before


INFERRED: list[tuple[str, Callable[[SparkSession, Path], ReadRequest], dict[str, str]]] = [
    (
        "csv",
        lambda spark, root: one(
            root,
            "n,x,zip,b,day,at,mixed,none\n1,1.5,007,true,2024-01-01,2024-01-01 10:00,1,\n"
            "-2,2,123,false,2024-02-01,2024-01-02T10:00:00Z,a,\n",
            ("n", "x", "zip", "b", "day", "at", "mixed", "none"),
            (),
        ),
        {"n": "bigint", "x": "double", "zip": "string", "b": "boolean", "day": "date", "at": "timestamp",
            "mixed": "string", "none": "string"},
    ),
    (
        "json",
        lambda spark, root: one(
            root, '{"n":1,"day":"2024-01-01","o":{"a":1.5,"e":null}}\n{"n":2,"s":"x"}\n', (), (),
            name="a.json", format_=FileFormat.JSON
        ),
        {"n": "bigint", "day": "date", "o": "struct<a:double,e:string>", "s": "string"},
    ),
    (
        "numbers of JSON of which a double would lose digits",
        lambda spark, root: one(
            root,
            '{"id":12345678901234567890,"x":1,"y":-0.5e3}\n{"id":1.5,"x":2.5,"y":1}\n'
            '{"id":9007199254740993,"x":9007199254740992,"y":7}\n',
            (), (), name="b.json", format_=FileFormat.JSON
        ),
        {"id": "string", "x": "double", "y": "double"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "expected"), [case[1:] for case in INFERRED], ids=[case[0] for case in INFERRED]
)
def test_inference(
    spark: SparkSession,
    tmp_path: Path,
    make: Callable[[SparkSession, Path], ReadRequest],
    expected: dict[str, str],
) -> None:
    request = make(spark, tmp_path)
    found = SparkRecords(spark, tmp_path).infer(SourceRead(request.source, request.groups))
    assert {column.name: column.type for column in found} == expected
