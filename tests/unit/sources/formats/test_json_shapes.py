"""A file of JSON lines names no columns; it only says whether it holds anything."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith.project.definitions import FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.json import read_json_shape

Make = Callable[..., FileSource]


@pytest.mark.parametrize(
    ("name", "data", "empty"),
    [
        ("a.json", b'{"a": 1}\n', False),
        ("a.json", b"", True),
        ("a.json", b"\n \n", True),
        ("a.json", b" " * 20_000 + b"{}", False),
        ("a.json.gz", gzip.compress(b'{"a": 1}\n'), False),
        ("a.json.gz", gzip.compress(b"\n"), True),
    ],
)
def test_json_lines_have_no_columns(
    name: str, data: bytes, empty: bool, tmp_path: Path, make_source: Make
) -> None:
    (tmp_path / name).write_bytes(data)
    shape = read_json_shape(tmp_path / name, make_source(format=FileFormat.JSON))
    assert (shape.columns, shape.types, shape.empty) == ((), (), empty)
