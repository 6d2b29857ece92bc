"""Files of text: what Hadoop's lines are, to the last odd ending, and whether a file is whole."""

import bz2
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith import limits
from lakesmith.sources.formats.text import count_lines, read_packed
from lakesmith.sources.shape import UnreadableFile

Put = Callable[..., Path]
TEXT = b"".join(b"%d,%x\n" % (n, n * 7919) for n in range(20_000))

CASES = [
    ("nothing", b"", True, 0), ("only a header", b"a,b\n", True, 0),
    ("only a header, not ended", b"a,b", True, 0), ("two rows", b"a,b\n1,2\n3,4\n", True, 2),
    ("the last row is not ended", b"a,b\n1,2\n3,4", True, 2), ("no header", b"1,2\n3,4\n", False, 2),
    ("lines of Windows", b"a,b\r\n1,2\r\n3,4\r\n", True, 2),
    ("lines of an old Mac", b"a,b\r1,2\r3,4\r", True, 2), ("all three ends", b"a\r\n1\n2\r3", True, 3),
    ("blank lines are no records", b"a\n\n1\n   \n2\n\n", True, 2),
    ("blank lines of Windows", b"a\r\n\r\n1\r\n", True, 1),
    ("a line of one tab is a record", b"a\n\t\n", True, 1),
    ("a line that begins with a space", b"a\n 1\n2\n", True, 2),
    ("a byte order mark alone in the first line", b"\xef\xbb\xbf\n1\n", False, 1),
]  # fmt: skip


@pytest.mark.parametrize(("title", "data", "header", "expected"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 8 * 1024 * 1024])
def test_lines(
    title: str, data: bytes, header: bool, expected: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILE_CHUNK_BYTES", chunk)
    assert count_lines(io.BytesIO(data), header) == expected


@pytest.mark.parametrize(
    ("name", "content", "whole"),
    [
        ("a.csv", TEXT, True),
        ("a.csv.gz", gzip.compress(TEXT), True),
        ("a.csv.gz", gzip.compress(TEXT) + gzip.compress(TEXT), True),
        ("a.csv.gz", gzip.compress(TEXT)[:-3], False),
        ("a.csv.gz", gzip.compress(TEXT)[:-8] + b"12345678", False),
        ("a.csv.bz2", bz2.compress(TEXT), True),
        ("a.csv.bz2", bz2.compress(TEXT)[:-9], False),
    ],
)
def test_a_text_is_read_to_its_end(name: str, content: bytes, whole: bool, tmp_path: Path, put: Put) -> None:
    path = put(name, content)
    if whole:
        read_packed(path)
        return
    with pytest.raises(UnreadableFile, match="LS422"):
        read_packed(path)
