import bz2
import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lakesmith.project.definitions import CsvOptions, FileSource, OnNewColumn
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.csv import read_csv_shape
from lakesmith.sources.shape import UnreadableFile

Make = Callable[..., FileSource]
LONG = ",".join(f"column_{number:05}" for number in range(20_000))


@dataclass
class Case:
    title: str
    data: bytes | str
    columns: list[str]
    empty: bool = False
    options: CsvOptions = field(default_factory=CsvOptions)
    format: FileFormat = FileFormat.CSV
    name: str = "a.csv"


CASES = [
    Case("plain", "a,b,c\n1,2,3\n", ["a", "b", "c"]),
    Case("no line end after the only row", "a,b\n1,2", ["a", "b"]),
    Case("Windows line ends", "a,b\r\n1,2\r\n", ["a", "b"]),
    Case("old Mac line ends", "a,b\r1,2\r", ["a", "b"]),
    Case("line separators of Unicode do not end a line", "a\u2028x,b\x0by,c\x85\n1,2,3\n",
        ["a\u2028x", "b\x0by", "c\x85"]),
    Case("blank lines first", "\n  \r\n\na,b\n1,2\n", ["a", "b"]),
    Case("spaces are kept", "a, b ,c\n1,2,3\n", ["a", " b ", "c"]),
    Case("quoted names", '"a","b ""x"" y","c,d"\n1,2,3\n', ["a", 'b "x" y', "c,d"]),
    Case("quotes escaped otherwise", '"a\\"x",b\n1,2\n', ['a"x', "b"], options=CsvOptions(escape="\\")),
    Case("another quote", "'a,b',c\n1,2\n", ["a,b", "c"], options=CsvOptions(quote="'")),
    Case("no quotes at all", '"a,b"\n1,2\n', ['"a', 'b"'], options=CsvOptions(quote="")),
    Case("semicolons", "a;b,c\n1;2\n", ["a", "b,c"], options=CsvOptions(delimiter=";")),
    Case("a delimiter of two characters", 'a||b|c||"d||e"\n1||2||3\n', ["a", "b|c", "d||e"],
        options=CsvOptions(delimiter="||")),
    Case("tabs", "a\tb,c\n1\t2\n", ["a", "b,c"], format=FileFormat.TSV, options=CsvOptions(delimiter="\t")),
    Case("tsv with commas, as declared", "a\tb,c\n1,2\n", ["a\tb", "c"], format=FileFormat.TSV,
        options=CsvOptions(delimiter=",")),
    Case("tsv with another delimiter", "a|b\n1|2\n", ["a", "b"], format=FileFormat.TSV,
        options=CsvOptions(delimiter="|")),
    Case("a byte order mark", b"\xef\xbb\xbfa,b\n1,2\n", ["a", "b"]),
    Case("a byte order mark before a quote", b'\xef\xbb\xbf"a",b\n1,2\n', ["a", "b"]),
    Case("UTF-16 with its mark", "\ufeffa,ž\n1,2\n".encode("utf-16-le"), ["a", "ž"],
        options=CsvOptions(encoding="UTF-16")),
    Case("UTF-32 with its mark", "a,ž\n1,2\n".encode("utf-32"), ["a", "ž"],
        options=CsvOptions(encoding="UTF-32")),
    Case("UTF-16BE without a mark", "a,ž\n1,2\n".encode("utf-16-be"), ["a", "ž"],
        options=CsvOptions(encoding="UTF-16BE")),
    Case("Latin-1", "année,b\n1,2\n".encode("latin-1"), ["année", "b"],
        options=CsvOptions(encoding="ISO-8859-1")),
    Case("Windows", "prix €\n1\n".encode("cp1252"), ["prix €"], options=CsvOptions(encoding="windows-1252")),
    Case("bytes that are not UTF-8 after the header are no matter of the header", b"a,b\n\xe9,2\n",
        ["a", "b"]),
    Case("a header over two lines", '"a\nx",b\n1,2\n', ["a\nx", "b"], options=CsvOptions(multiline=True)),
    Case("a header longer than what is read at first", LONG + "\n" + "1," * 19_999 + "1\n", LONG.split(",")),
    Case("a long header that ends with the file", LONG, LONG.split(","), empty=True),
    Case("a character cut by what is read at first", "a" * 16_383 + "ž,b\n1,2\n", ["a" * 16_383 + "ž", "b"]),
    Case("a Windows line end cut by what is read at first", "a" * 16_383 + "\r\n\r\n", ["a" * 16_383],
        empty=True),
    Case("a row after many blank lines", "a\n" + "\n" * 100_000 + "1\n", ["a"]),
    Case("nothing", "", [], empty=True),
    Case("blank lines only", "\n \n\r\n", [], empty=True),
    Case("a byte order mark only", b"\xef\xbb\xbf", [], empty=True),
    Case("a header only", "a,b\n", ["a", "b"], empty=True),
    Case("a header only, without a line end", "a,b", ["a", "b"], empty=True),
    Case("a header and blank lines", "a,b\n\n  \n", ["a", "b"], empty=True),
    Case("no header declared", "1,2\n", [], options=CsvOptions(header=False)),
    Case("no header declared, odd first line", ",,\n", [], options=CsvOptions(header=False)),
    Case("no header declared, nothing there", "\n", [], empty=True, options=CsvOptions(header=False)),
    Case("gzip", gzip.compress(b"a,b\n1,2\n"), ["a", "b"], name="a.csv.gz"),
    Case("gzip in two members, the header alone in the first",
        gzip.compress(b"a,b\n") + gzip.compress(b"1,2\n"), ["a", "b"], name="a.csv.gz"),
    Case("gzip of nothing", gzip.compress(b""), [], empty=True, name="a.csv.gz"),
    Case("no byte where gzip is expected", b"", [], empty=True, name="a.csv.gz"),
    Case("bzip2", bz2.compress(b"a,b\n1,2\n"), ["a", "b"], name="a.CSV.BZ2"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_header(case: Case, tmp_path: Path, make_source: Make) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.data.encode() if isinstance(case.data, str) else case.data)
    shape = read_csv_shape(path, make_source(format=case.format, csv=case.options))
    assert list(shape.columns) == case.columns
    assert shape.empty == case.empty
    assert shape.types == (None,) * len(case.columns)


@dataclass
class Bad:
    title: str
    data: bytes | str
    code: str
    says: str
    options: CsvOptions = field(default_factory=CsvOptions)
    name: str = "a.csv"


NOISE = gzip.compress(bytes(range(256)) * 40)
BAD = [
    Bad("two columns of one name", "id,name,id\n1,2,3\n", "LS423", "'id' as columns 1 and 3"),
    Bad("a delimiter too many", "a,b,\n1,2,3\n", "LS424", "none for column 3 of 3"),
    Bad("a name of spaces", "a,  ,c\n1,2,3\n", "LS424", "none for column 2 of 3"),
    Bad("a line of a tab is no blank line", "\t\na,b\n", "LS424", "none for column 1 of 1"),
    Bad("only delimiters", ",,\n1,2,3\n", "LS424", "none for column 1 of 3"),
    Bad("Latin-1 read as UTF-8", "année,b\n".encode("latin-1"), "LS425", "ann\ufffde"),
    Bad("UTF-16 read as UTF-8", "\ufeffa,b\n1,2\n".encode("utf-16-le"), "LS425", "UTF-16"),
    Bad("an unknown encoding", "a,b\n", "LS425", "klingon", CsvOptions(encoding="klingon")),
    Bad("a binary file", b"PAR1\0\0\1\2,\0\n", "LS422", "bytes of value 0"),
    Bad("gzip that is not", b"a,b\n1,2\n", "LS422", "no gzip: it begins with the bytes 61 2c 62 0a",
        name="a.csv.gz"),
    Bad("gzip cut in its first bytes", NOISE[:5], "LS422", "ended before", name="a.csv.gz"),
    Bad("gzip cut in the middle", NOISE[:-30], "LS422", "ended before", name="a.csv.gz"),
    Bad("gzip with other content than its sum", NOISE[:-8] + b"12345678", "LS422", "incorrect data check",
        name="a.csv.gz"),
    Bad("bzip2 that is not", b"a,b\n1,2\n", "LS422", "no bzip2: it begins with the bytes", name="a.csv.bz2"),
    Bad("gzip without the name", NOISE, "LS426", "name ending in .gz"),
    Bad("another compression", b"PK", "LS426", ".zip", name="a.csv.zip"),
    Bad("a quote not closed", '"a,b\n1,2\n', "LS427", "quote that is not closed"),
    Bad("a quote not closed in a header of many lines", '"a,b\n1,2\n', "LS427", "not closed",
        CsvOptions(multiline=True)),
    Bad("a header without end", "a" * 9_000_000, "LS422", "field larger than"),
    Bad("many columns without end", "ab," * 3_000_000, "LS427", "no end in 8 MiB"),
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.title)
def test_a_header_that_cannot_be_used(bad: Bad, tmp_path: Path, make_source: Make) -> None:
    path = tmp_path / bad.name
    path.write_bytes(bad.data.encode() if isinstance(bad.data, str) else bad.data)
    with pytest.raises(UnreadableFile) as caught:
        read_csv_shape(path, make_source(csv=bad.options))
    assert caught.value.code == bad.code
    assert bad.says in str(caught.value)


TITLED: list[tuple[str, str, OnNewColumn, str | None]] = [
    ("a line for spreadsheets", "SEP=;\r\nid;name\r\n1;a\r\n", OnNewColumn.FAIL, "`skip_lines: 1`"),
    ("the same with its delimiter", '"sep=,"\nid,name\n', OnNewColumn.EVOLVE, "`skip_lines: 1`"),
    ("a title", "Report Q1\n\nid,name\n1,a\n2,b\n", OnNewColumn.EVOLVE, "`skip_lines`"),
    ("a title in a cell of many", "Report,,\nid,name,x\n", OnNewColumn.EVOLVE, "`skip_lines`"),
    ("columns without names are left out", ",id,\n1,2,\n", OnNewColumn.IGNORE, None),
    ("columns without names", ",id,\n1,2,\n", OnNewColumn.EVOLVE, "`on_new_column: ignore`"),
    ("one column of texts", 'text\n"a, b"\n"c, d"\n', OnNewColumn.EVOLVE, None),
]


@pytest.mark.parametrize(
    ("text", "policy", "setting"), [case[1:] for case in TITLED], ids=[case[0] for case in TITLED]
)
def test_what_helps_is_named(
    text: str, policy: OnNewColumn, setting: str | None, tmp_path: Path, make_source: Make
) -> None:
    (tmp_path / "a.csv").write_text(text, newline="")
    source = make_source(on_new_column=policy)
    if setting is None:
        assert read_csv_shape(tmp_path / "a.csv", source).columns == tuple(text.partition("\n")[0].split(","))
        return
    with pytest.raises(UnreadableFile) as found:
        read_csv_shape(tmp_path / "a.csv", source)
    assert setting in found.value.hint
