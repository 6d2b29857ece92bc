"""The header of a log and the number of its records, as Spark reads them, without Spark."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith.project.definitions import FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.registry import LANDING_FORMATS
from lakesmith.sources.shape import USUAL, UnreadableFile

Make = Callable[..., FileSource]
CLOUDFRONT = LANDING_FORMATS[FileFormat.CLOUDFRONT]
HEAD = "#Version: 1.0\n#Fields: date time sc-status cs(User-Agent)\n"
ROW = "2026-11-01\t00:00:01\t200\tx\n"
COLUMNS = ("event_time", "sc_status", "cs_user_agent", "log_line")


@pytest.mark.parametrize(
    ("title", "content", "records"),
    [
        ("two records", HEAD + ROW * 2, 2),
        ("no end of the last line", HEAD + ROW + ROW[:-1], 2),
        ("a header alone", HEAD, 0),
        ("line ends of Windows", (HEAD + ROW * 2).replace("\n", "\r\n"), 2),
        ("a byte order mark", "\ufeff" + HEAD + ROW, 1),
        ("a byte order mark before the fields", "\ufeff" + HEAD.partition("\n")[2] + ROW, 1),
        ("blank lines and directives", HEAD + ROW + "\n#Date: x\n" + HEAD + "  \n" + ROW, 2),
        ("a separator of lines in a text", HEAD + ROW.replace("x", "a\u2028b\x0b#c"), 1),
        ("a long directive", HEAD + "#Remark: " + "r" * 100_000 + "\n" + ROW, 1),
    ],
)  # fmt: skip
def test_a_log_has_columns_and_records(
    make_source: Make, tmp_path: Path, title: str, content: str, records: int
) -> None:
    path, source = tmp_path / "a.gz", make_source(format=FileFormat.CLOUDFRONT)
    path.write_bytes(gzip.compress(content.encode()))
    count = CLOUDFRONT.counter(source, USUAL)
    shape = CLOUDFRONT.read_shape(path, source)
    assert count is not None and count(path) == records, title
    assert (shape.columns, shape.empty) == (COLUMNS, records == 0), title


@pytest.mark.parametrize(
    ("title", "content", "why"),
    [
        ("no header", ROW, "it is not a log of CloudFront"),
        ("a header after the first record", ROW + HEAD, "it is not a log of CloudFront"),
        ("a field twice", HEAD.replace("time", "date"), "two columns have one name"),
        ("two fields of one column", HEAD.replace("time", "cs-user-agent"), "two columns have one name"),
    ],
)
def test_a_file_is_refused(make_source: Make, tmp_path: Path, title: str, content: str, why: str) -> None:
    path = tmp_path / "a.log"
    path.write_text(content)
    with pytest.raises(UnreadableFile, match=why):
        CLOUDFRONT.read_shape(path, make_source(format=FileFormat.CLOUDFRONT))


def test_the_line_of_a_changed_header_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(HEAD + ROW * 3 + HEAD + ROW + HEAD.replace("sc-status", "asn"))
    with pytest.raises(UnreadableFile, match="its header changes in line 10"):
        CLOUDFRONT.read_whole(path)
