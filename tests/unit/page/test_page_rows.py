"""The page of rows: what it shows is what is in the table, and it reads no more than it needs."""

import html
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa
import pytest

from lakesmith.catalog.local import LocalCatalog
from made_lake import HOSTILE
from page_server import Served, served

pytestmark = pytest.mark.processes
DAY = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("price", pa.decimal128(9, 2)),
        ("name", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("ok", pa.bool_()),
        ("more", pa.struct([("a", pa.int64())])),
    ]
)
ROWS = [
    {
        "id": number,
        "price": Decimal(number * 7 % 50) / 4,
        "name": None if number % 10 == 3 else f"Name {number % 7}",
        "day": date(2026, 1, 1) + timedelta(days=number % 5),
        "at": DAY + timedelta(hours=number),
        "ok": number % 2 == 0,
        "more": {"a": number},
    }
    for number in range(250)
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 250 rows in three files, without a batch of lakesmith's."""
    root = tmp_path_factory.mktemp("rows")
    (root / "tables/bronze").mkdir(parents=True)
    (root / "lakesmith.yaml").write_text("name: made\n")
    (root / "tables/bronze/things.yaml").write_text(
        "source: {files: {path: landing/, format: csv}}\ncolumns: {id: bigint}\n"
    )
    writer = _writer(root)
    writer.create_namespace("bronze")
    table = writer.create_table("bronze.things", SCHEMA)
    for begin in range(0, 250, 100):
        table.append(pa.Table.from_pylist(ROWS[begin : begin + 100], SCHEMA))
    return root


@pytest.fixture(scope="module")
def rows(lake: Path) -> Any:
    with served(lake) as page:
        yield page


def _writer(root: Path) -> Any:
    return LocalCatalog(root / ".lakesmith/catalog.db", root / ".lakesmith/warehouse").writer()


def _cells(text: str) -> list[list[str]]:
    body = text.partition('id="rows-scroll"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    found = [re.findall(r"<td[^>]*><bdi>(.*?)</bdi>", row, re.S) for row in body.split("</tr>")]
    return [[html.unescape(cell) for cell in row] for row in found if row]


def _ids(page: Served, **query: Any) -> list[int]:
    """The ids on all pages of what is asked."""
    found: list[int] = []
    for number in range(1, 9):
        answer = page.get(f"/t/bronze.things/rows?{urlencode({**query, 'page': number})}")
        assert answer.status == 200, answer.text
        cells = [int(row[0]) for row in _cells(answer.text)]
        found += cells
        if 'rel="next"' not in answer.text:
            break
        assert len(cells) == 100
    return found


@pytest.mark.parametrize(
    ("column", "operator", "value", "holds"),
    [
        ("id", "eq", "17", lambda row: row["id"] == 17),
        ("id", "ge", "99999999999", lambda row: False),
        ("id", "ne", "3", lambda row: row["id"] != 3),
        ("price", "lt", "3.5", lambda row: row["price"] < Decimal("3.5")),
        ("price", "eq", "1.750", lambda row: row["price"] == Decimal("1.75")),
        ("name", "has", "NAME 3", lambda row: row["name"] == "Name 3"),
        ("name", "gt", "Name 4", lambda row: row["name"] is not None and row["name"] > "Name 4"),
        ("name", "null", "", lambda row: row["name"] is None),
        ("more", "some", "", lambda row: True),
        ("day", "le", "2026-01-02", lambda row: row["day"] <= date(2026, 1, 2)),
        ("at", "ge", "2026-01-02T01:00:00+01:00", lambda row: row["at"] >= DAY + timedelta(days=1)),
        ("ok", "eq", "True", lambda row: row["ok"]),
    ],
)
def test_a_condition_shows_the_rows_for_which_it_holds(
    rows: Served, column: str, operator: str, value: str, holds: Any
) -> None:
    shown = (
        _ids(rows, column=column, value=value)
        if operator == "eq"
        else _ids(rows, **{"column": column, "is": operator, "value": value})
    )
    assert sorted(shown) == [row["id"] for row in ROWS if holds(row)]


def test_conditions_hold_together_and_rows_are_sorted_over_all_pages(rows: Served) -> None:
    query = "column=ok&is=eq&value=true&column=id&is=lt&value=240&sort=-price"
    text = rows.get(f"/t/bronze.things/rows?{query}").text
    expected = sorted((row["price"] for row in ROWS if row["ok"] and row["id"] < 240), reverse=True)
    assert [Decimal(row[1]) for row in _cells(text)] == expected[:100]
    assert "100 of 120 that match" in " ".join(text.split())
    names = [row[2] for number in (1, 2, 3) for row in _cells(
        rows.get(f"/t/bronze.things/rows?sort=name&page={number}").text)]  # fmt: skip
    present = sorted(row["name"] for row in ROWS if row["name"])
    assert names == present + ["NULL"] * (250 - len(present))


def test_pages_have_each_row_once(rows: Served) -> None:
    assert sorted(_ids(rows)) == list(range(250))
    assert "No more rows" in rows.get("/t/bronze.things/rows?page=77").text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("column=id&is=eq&value=x", "no bigint"),
        ("column=id&is=eq&value=1e400", "no bigint"),
        ("column=price&is=eq&value=NaN", "no decimal"),
        ("column=more&is=eq&value=1", "empty or not empty"),
        ("column=id&is=has&value=1", "for text"),
        ("column=gone&is=eq&value=1", "no column"),
        ("column=id&is=drop&value=1", "no comparison"),
        ("sort=gone", "cannot be sorted"),
        ("as_of=1999-01-01", "LS231"),
        ("as_of=%00%ff", "LS230"),
    ],
)
def test_a_question_that_does_not_fit_is_refused_in_words(rows: Served, query: str, said: str) -> None:
    found = rows.get(f"/t/bronze.things/rows?{query}")
    assert found.status == 400 and said in found.text and _cells(found.text) == []


def test_a_first_page_opens_no_file_that_it_does_not_need(lake: Path, rows: Served) -> None:
    data = sorted((lake / ".lakesmith/warehouse/bronze/things/data").glob("*.parquet"), key=_age)
    hidden = data[0].rename(data[0].with_suffix(".hidden"))
    try:
        # The newest file comes first: 50 rows, then a page more.
        assert rows.get("/t/bronze.things/rows").status == 200
        pruned = rows.get("/t/bronze.things/rows?column=id&is=ge&value=200")
        assert pruned.status == 200 and len(_cells(pruned.text)) == 50
        broken = rows.get("/t/bronze.things/rows?sort=id")
        assert broken.status == 400 and "LS533" in broken.text and "lakesmith query" in broken.text
    finally:
        hidden.rename(data[0])


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def test_a_large_table_is_read_to_a_bound_which_is_said(
    rows: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakesmith.limits.PAGE_ROWS_LOOKED_AT", 120)
    said = " ".join(re.sub(r"<[^>]+>", " ", rows.get("/t/bronze.things/rows?sort=id").text).split())
    assert "Only the first 120 rows in the order of the files were looked at, of 250" in said
    assert "ORDER BY id NULLS LAST LIMIT 100" in said
    assert "Only the first" not in rows.get("/t/bronze.things/rows?page=3").text
    monkeypatch.setattr("lakesmith.limits.PAGE_BYTES_LOOKED_AT", 1)
    assert "Only the first 50 rows" in rows.get("/t/bronze.things/rows?sort=id").text


def test_the_past_has_its_own_columns_and_rows(tmp_path: Path) -> None:
    root = tmp_path
    (root / "tables/bronze").mkdir(parents=True)
    (root / "lakesmith.yaml").write_text("name: made\n")
    (root / "tables/bronze/things.yaml").write_text(
        "source: {files: {path: landing/, format: csv}}\ncolumns: {id: bigint}\n"
    )
    writer = _writer(root)
    writer.create_namespace("bronze")
    table = writer.create_table("bronze.things", pa.schema([("<b>id", pa.int32()), ("text", pa.string())]))
    table.append(pa.table({"<b>id": pa.array([1, 2], pa.int32()), "text": [HOSTILE, "x" * 1_000_000]}))
    first = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.update_column("<b>id", _long()).rename_column("<b>id", "number")
    table.append(pa.table({"number": pa.array([3], pa.int64()), "text": ["new"]}))
    with served(root) as page:
        now = page.get("/t/bronze.things/rows?column=number&is=le&value=2&sort=number")
        assert [row[0] for row in _cells(now.text)] == ["1", "2"]
        then = page.get(f"/t/bronze.things/rows?as_of={first}&column={quote('<b>id')}&is=ge&value=2")
        assert [row[0] for row in _cells(then.text)] == ["2"] and "1,000,000 characters" in then.text
        assert len(then.text) < 100_000 and "<b>id" not in then.text and "--as-of" in then.text
        assert page.get(f"/t/bronze.things/rows?as_of={first}&column=number&is=ge&value=2").status == 400
        hostile = page.get("/t/bronze.things/rows").text
        assert "<script>document" not in hostile and "<img" not in hostile


def _long() -> Any:
    from pyiceberg.types import LongType

    return LongType()
