"""``doctor`` on a lake that an earlier version read names what may be wrong until that is read again."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import Harness, MakeShop

import lakesmith
import odd_parquet
from lakesmith.api.doctor_machine import Check, Verdict
from lakesmith.sources.formats import registry
from lakesmith.spark.batch import context

FILES = {
    "tables/bronze/events.yaml": "source: {files: {path: landing/events/, format: json}}\n",
    "tables/bronze/lines.yaml": "source: {files: {path: landing/lines/, format: parquet}}\n",
    "tables/bronze/pages.yaml": "source: {files: {path: landing/pages/, format: parquet}}\n",
    "tables/silver/zeros.sql": "SELECT id, x FROM bronze.events WHERE x >= 0",
    "tables/silver/totals.sql": "SELECT id, sum(x) AS x FROM bronze.events WHERE id > 0 GROUP BY id",
}
NAMED = ("bronze.events", "bronze.lines", "bronze.pages", "silver.zeros", "silver.totals")


@pytest.fixture
def old_lake(make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> Harness:
    shop = make_shop(FILES, approves=True)
    shop.land("landing/events/1.json", '{"id": 1, "x": 0.5, "v": [1.5]}\n')
    path = shop.land("landing/lines/1.parquet", b"")
    pq.write_table(pa.table({"id": [1], "_metadata": ["a"]}), path)
    shop.land("landing/pages/1.parquet", odd_parquet.parquet({"x": [[0]]}))
    shop.land("landing/pages/2.parquet", odd_parquet.starts_within_a_record())
    with monkeypatch.context() as patch:
        patch.setattr(context, "READER", 0)
        patch.setattr(registry, "read_parquet_pages", lambda path: False)
        shop.must_run()
        # The column is an array<double> by now.
        shop.take("landing/events/2.json", '{"id": 2, "x": 1.5, "v": [2.0, 9007199254740993]}\n')
    # A file that the present version reads is none of an earlier one's.
    shop.take("landing/events/3.json", '{"id": 3, "x": 2.5, "v": [2.5, 9007199254740995]}\n')
    return shop


def _found(root: Path, files: bool = True) -> list[Check]:
    with lakesmith.open(root) as lake:
        return [each for each in lake.doctor(files=files).checks if each.name in NAMED]


def test_doctor_names_tables_and_files_until_they_are_read_again(old_lake: Harness) -> None:
    shop = old_lake
    again = "lakesmith drop bronze.lines, then lakesmith run (files that left their folder do not come back)"
    columns = "rows of files with a column _metadata lack their file and their position in it"
    filters = (
        "was computed by a version whose filters lost rows with -0.0 and NaN; by: x\n"
        "verify says whether rows are missing"
    )
    verify = "lakesmith verify silver.zeros, and if it differs: lakesmith run --full-refresh silver.zeros"
    read, look = (
        "files read by a version that may have read them wrongly",
        "lakesmith doctor --files reads them",
    )
    assert _found(shop.root, files=False) == [
        Check("bronze.events", Verdict.NOTE, f"2 {read}", f"{look} and names those"),
        Check("bronze.lines", Verdict.PROBLEM, columns, again),
        Check("bronze.lines", Verdict.NOTE, f"1 {read}".replace("files", "file"), f"{look} and names those"),
        Check("bronze.pages", Verdict.NOTE, f"2 {read}", f"{look} and names those"),
        Check("silver.zeros", Verdict.NOTE, filters, verify),
    ]
    reason = "landing/events/2.json: whole numbers in it lose digits as double"
    wrong = f"files that were read wrongly: 1 of 2\n{reason}"
    forget = "lakesmith files bronze.events --forget landing/events/2.json, then lakesmith run"
    rightly = "files that an earlier version read, rightly: 1"
    broken = "The repetition level at the start of a record must be 0 but got 1"
    damaged = f"files that were read wrongly: 1 of 2\nlanding/pages/2.parquet: {broken}"
    forget_page = "lakesmith files bronze.pages --forget landing/pages/2.parquet"
    assert _found(shop.root) == [
        Check("bronze.events", Verdict.PROBLEM, wrong, forget),
        Check("bronze.lines", Verdict.PROBLEM, columns, again),
        Check("bronze.lines", Verdict.OK, rightly),
        Check("bronze.pages", Verdict.PROBLEM, damaged, f"{forget_page}, then lakesmith run"),
        Check("silver.zeros", Verdict.NOTE, filters, verify),
    ]
    # The damaged file does not come back as it is.
    shop.land("landing/pages/2.parquet", odd_parquet.parquet({"x": [[1]]}))
    shop.forget("bronze.pages", "landing/pages/2.parquet")
    # What a hint says ends its check.
    shop.forget("bronze.events", "landing/events/2.json")
    shop.must_run(full=["silver.zeros"])
    assert _found(shop.root) == [
        Check("bronze.events", Verdict.OK, rightly),
        Check("bronze.lines", Verdict.PROBLEM, columns, again),
        Check("bronze.lines", Verdict.OK, rightly),
        Check("bronze.pages", Verdict.OK, rightly),
    ]
