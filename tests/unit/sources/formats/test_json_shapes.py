"""A file of JSON lines names no columns; it only says whether it holds anything."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.json import read_json_shape

Make = Callable[..., FileSource]


@pytest.mark.parametrize(
    ("data", "options", "stream"),
    [
        (b'{"a": 1}\n{"a": 2}\n', {}, False),
        (b'{"a": 1}\n{"a": 2}\n', {"multiline": True}, True),
        (b'{"a": "' + b"x" * 20_000 + b'"}\n{"a": 2}\n', {}, False),
        (b'{"a": "' + b"x" * 20_000 + b'"}{"a": 2}\n', {}, True),
        ('[{"a": 1}]'.encode("utf-16"), {"encoding": "UTF-16"}, True),
    ],
)
def test_the_beginning_tells_whether_records_are_lines(
    data: bytes, options: dict[str, Any], stream: bool, tmp_path: Path, make_source: Make
) -> None:
    (tmp_path / "a.json").write_bytes(data)
    source = make_source(format=FileFormat.JSON, csv=CsvOptions(**options))
    assert read_json_shape(tmp_path / "a.json", source).layout.is_stream is stream


@pytest.mark.parametrize(
    ("name", "data", "empty"),
    [
        ("a.json", b'{"a": 1}\n', False), ("a.json", b"", True), ("a.json", b"\n \n", True),
        ("a.json", b" " * 20_000 + b"{}", False), ("a.json.gz", gzip.compress(b'{"a": 1}\n'), False),
        ("a.json.gz", gzip.compress(b"\n"), True),
    ],
)  # fmt: skip
def test_json_lines_have_no_columns(
    name: str, data: bytes, empty: bool, tmp_path: Path, make_source: Make
) -> None:
    (tmp_path / name).write_bytes(data)
    shape = read_json_shape(tmp_path / name, make_source(format=FileFormat.JSON))
    assert (shape.columns, shape.types, shape.empty) == ((), (), empty)
