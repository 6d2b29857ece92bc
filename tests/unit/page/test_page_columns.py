"""The columns of a table's page: where they come from, and how they came to be as they are."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from lakesmith.catalog.local import LocalCatalog
from page_server import Served, served

pytestmark = pytest.mark.processes


def _rows(page: Served, path: str) -> dict[str, str]:
    """By column, the rest of its row."""
    part = page.get(path).text.partition('id="columns-scroll"')[2].partition("</section>")[0]
    rows = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in part.split("<tr>")[2:]]
    return {row.split()[0]: row for row in rows}


def test_columns_say_what_they_are_made_from_and_what_happened_to_them(tmp_path: Path) -> None:
    files = {
        "lakesmith.yaml": "name: made\n",
        "tables/bronze/things.yaml": "source: {files: {path: landing/, format: csv}}\n"
        "columns: {id: {type: bigint, doc: The <b>thing</b>}}\n",
        "tables/silver/named.sql": "SELECT number, upper(text) AS title, count(*) AS n\n"
        "FROM bronze.things GROUP BY ALL\n",
        "tables/silver/made.yaml": "inputs: {things: bronze.things}\ncolumns: {id: {doc: x}}\n",
        "tables/silver/made.py": "def made(things):\n    return things\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    writer = LocalCatalog(tmp_path / ".lakesmith/catalog.db", tmp_path / ".lakesmith/warehouse").writer()
    writer.create_namespace("bronze")
    table = writer.create_table("bronze.things", pa.schema([("id", pa.int32()), ("old", pa.string())]))
    table.append(pa.table({"id": pa.array([1], pa.int32()), "old": ["a"]}))
    from pyiceberg.types import LongType, StringType

    with table.update_schema() as update:
        update.update_column("id", LongType()).add_column("text", StringType()).delete_column("old")
    with table.update_schema() as update:
        update.rename_column("id", "number")
    table.append(pa.table({"number": pa.array([2], pa.int64()), "text": ["b"]}))
    with table.update_schema() as update:
        update.add_column("late", StringType())
    with served(tmp_path) as page:
        things = _rows(page, "/t/bronze.things")
        assert things["number"].endswith("renamed from id, was int just now")
        assert things["text"].endswith("added just now") and "added Dropped: old string" in things["late"]
        assert "its source" in things["number"]
        named = _rows(page, "/t/silver.named")
        assert "things .number" in named["number"] and "things .text" in named["title"]
        assert "no column: computed" in named["n"]
        assert "Python, which reads bronze.things" in page.get("/t/silver.made").text
