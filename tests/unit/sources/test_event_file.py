"""Events as landing files: records taken out of files, rows as texts, and events that are kept."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.errors import Place, UsageError
from lakesmith.project.definitions import Column, CsvOptions, FileSource, HttpSource, Source, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.event_file import (
    alone,
    cut_by_lines,
    keep_event,
    kept_events,
    record_of,
    require_name,
    text_of,
    write_event,
)

PLACE = Place("tables/bronze/orders.yaml", 1)
CSV = FileSource(name="files", path="landing", format=FileFormat.CSV, place=PLACE)
JSON = replace(CSV, format=FileFormat.JSON)
MULTILINE = replace(CSV, csv=CsvOptions(multiline=True))
TABLE = TableName("bronze", "orders")


@pytest.mark.parametrize(
    ("source", "text", "position", "record"),
    [
        (CSV, "id,city\n1,Oslo\n2,Rome\n", 1, "id,city\n1,Oslo\n"),
        (CSV, "id,city\r\n1,Oslo\r\n\r\n2,Rome", 2, "id,city\n2,Rome\n"),
        (CSV, "id,city\n", 1, None),
        (replace(CSV, csv=CsvOptions(header=False)), "1,Oslo\n2,Rome\n", 2, "2,Rome\n"),
        (replace(CSV, csv=CsvOptions(skip_lines=1)), "sep=,\nid\n1\n", 1, "sep=,\nid\n1\n"),
        (replace(CSV, csv=CsvOptions(comment="#")), "#a\nid\n1\n#b\n2\n", 1, "id\n1\n"),
        (JSON, '{"id": 1}\n{"id": 2}\n', 2, '{"id": 2}\n'),
        (JSON, '[{"id": 1.50},\n {"id": 2}]', 1, '{"id": 1.50}\n'),
        (CSV, "id,city\n1,a\u2028b\x0bc\x85d\n2,Rome\n", 1, "id,city\n1,a\u2028b\x0bc\x85d\n"),
        (replace(CSV, csv=CsvOptions(delimiter="\t")), "id\tb\n\t\n2\tc\n", 1, "id\tb\n\t\n"),
        (MULTILINE, 'id,city\n1,"a\n\nb"\n2,"c\r\nd"\n', 1, 'id,city\n1,"a\n\nb"\n'),
        (MULTILINE, 'id,city\n1,"a\n\nb"\n2,"c\r\nd"\n', 2, 'id,city\n2,"c\r\nd"\n'),
        (JSON, 'no {\n\n{"id":\u2028 2}\n{"id": 3}\n', 3, '{"id": 3}\n'),
        (JSON, '{"id":\n 1}\n{"id": 2}', 1, '{"id":\n 1}\n'),
        (JSON, '{"a": {"b": "}"}}', 1, '{"a": {"b": "}"}}\n'),
        (replace(CSV, format=FileFormat.PARQUET), "PAR1", 1, None),
    ],
)
def test_a_record_is_taken_as_a_file_of_its_own(
    tmp_path: Path, source: Source, text: str, position: int, record: str | None
) -> None:
    path = tmp_path / "a"
    path.write_bytes(text.encode())
    assert record_of(path, source, position) == record


def test_records_of_compressed_files_and_of_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("city\nZürich\n".encode("latin-1")))
    assert record_of(path, replace(CSV, csv=CsvOptions(encoding="ISO-8859-1"))) == "city\nZürich\n"


def test_rows_are_written_as_the_source_has_them() -> None:
    columns = [Column(name, "string", place=PLACE) for name in ("id", "city", "note")]
    rows = [{"id": 1, "city": "a,b"}, {"city": None, "id": 2}]
    assert text_of(CSV, columns, rows) == 'id,city\n1,"a,b"\n2,\n'
    assert text_of(replace(CSV, csv=CsvOptions(header=False)), columns, rows) == '1,"a,b",\n2,,\n'
    assert text_of(JSON, columns, rows) == '{"id": 1, "city": "a,b"}\n{"city": null, "id": 2}\n'


def test_a_line_break_in_a_row_is_refused_where_a_record_is_a_line() -> None:
    rows = [{"id": 1, "city": "a"}, {"id": 2, "city": "b\rc"}]
    assert cut_by_lines(CSV, rows) == "city"
    assert cut_by_lines(CSV, rows[:1]) is None
    assert cut_by_lines(MULTILINE, rows) is None
    assert cut_by_lines(JSON, rows) is None
    assert len(text_of(JSON, [], rows).splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (CsvOptions(), ',"",\\N,"a""b\\"'),
        (CsvOptions(null_value="\\N"), ',"","\\N","a""b\\"'),
        (CsvOptions(delimiter="||", quote="'", escape="\\"), "||''||'\\\\N'||'a\"b\\\\'"),
    ],
)
def test_null_and_an_empty_text_are_written_apart(options: CsvOptions, line: str) -> None:
    columns = [Column(name, "string", place=PLACE) for name in "abcd"]
    values = dict(zip("abcd", [None, "", "\\N", 'a"b\\'], strict=True))
    written = text_of(replace(CSV, csv=replace(options, header=False)), columns, [values])
    assert written == line + "\n"


def test_a_row_of_one_null_is_no_blank_line() -> None:
    columns = [Column("a", "string", place=PLACE)]
    for options, line in ((CsvOptions(), '""'), (CsvOptions(null_value="NA"), "NA")):
        assert text_of(replace(CSV, csv=options), columns, [{"a": None}]) == f"a\n{line}\n"


@pytest.mark.parametrize("path", ["/data/orders", "s3://bucket/orders/", "../orders", "landing/orders/"])
def test_an_event_stays_inside_the_root(tmp_path: Path, path: str) -> None:
    source = alone(replace(CSV, path=path, pattern="orders_*.csv", since="b", min_age_seconds=60.0))
    (tmp_path / source.path).mkdir(parents=True)
    write_event(source, tmp_path, "id\n1")
    (file,) = (each for each in tmp_path.rglob("*") if each.is_file())
    assert file.read_text() == "id\n1\n" and file.suffix == ".csv"
    assert (source.pattern, source.since, source.min_age_seconds) == ("*", None, 0.0)


def test_events_over_http_are_a_segment(tmp_path: Path) -> None:
    http = HttpSource(
        name="http", path=".lakesmith/intake/x", format=FileFormat.JSON, place=PLACE, url_path="/x"
    )
    (tmp_path / http.path).mkdir(parents=True)
    write_event(alone(http), tmp_path, "{}\n")
    assert [each.suffix for each in (tmp_path / http.path).iterdir()] == [".jsonl"]


def test_kept_events_come_back_and_are_replaced(tmp_path: Path) -> None:
    assert list(kept_events(tmp_path, TABLE)) == []
    assert keep_event(tmp_path, TABLE, CSV, "late", "id\n1\n") == "events/bronze.orders/late.csv"
    keep_event(tmp_path, TABLE, JSON, "late", "{}\n")
    (tmp_path / "events/bronze.orders/.hidden").write_text("no")
    assert list(kept_events(tmp_path, TABLE)) == [("late", "{}\n")]


@pytest.mark.parametrize("name", ["", "../a", "a/b", ".a", "a.b", "a b", "ä", "x" * 61, "-a", "a\n"])
def test_a_name_is_that_of_a_file_and_of_nothing_else(name: str) -> None:
    with pytest.raises(UsageError, match="LS279"):
        require_name(name)
