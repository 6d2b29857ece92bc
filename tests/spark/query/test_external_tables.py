"""External tables as inputs, of another project or by a metadata file: read as planned, never written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Harness

from lakesmith.api.frames import ask
from lakesmith.execute.opened import read_project
from lakesmith.spark.ask import run_query
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn("file", of=3)

SHOP = {
    "tables/bronze/sales.yaml": """
        source: {files: {path: landing/, format: csv}}
        columns: {id: int, city: string}
        """
}
REPORTS = {
    "tables/shop/sales.yaml": "external: {project: ../shop, table: bronze.sales}\n",
    "tables/silver/sales.sql": "SELECT id, upper(city) AS city FROM shop.sales\n",
    "tables/gold/cities.sql": "SELECT city, count(*) AS sales FROM shop.sales GROUP BY city\n",
}


class Two:
    """A shop, and the reports that are made of its sales."""

    def __init__(self, folder: Path, session: SessionHandle) -> None:
        self.shop = Harness(folder / "shop", session, SHOP)
        self.reports = Harness(folder / "reports", session, REPORTS)

    def sell(self, *sales: tuple[int, str]) -> int:
        """Lands sales in the shop and takes them; the snapshot that has them."""
        number = len(list(self.shop.root.glob("landing/*")))
        lines = "".join(f"{id},{city}\n" for id, city in sales)
        self.shop.land(f"landing/{number}.csv", "id,city\n" + lines)
        self.shop.must_run()
        head = self.shop.head("bronze.sales")
        return head.snapshot_id

    def kinds(self) -> dict[str, str]:
        """Runs the reports; how each table was brought up to date."""
        return {name: record.kind for name, record in self.reports.must_run().published.items()}

    def asked(self, sql: str) -> list[tuple[Any, ...]]:
        question = ask(read_project(self.reports.root, None), sql, None)
        with run_query(self.reports.handle, sql, question.as_of, others=question.others) as result:
            return list(result.rows)


@pytest.fixture
def two(tmp_path: Path, session: SessionHandle) -> Iterator[Two]:
    yield Two(tmp_path, session)


def test_another_projects_bronze_is_read_as_any_input(two: Two) -> None:
    two.sell((1, "oslo"), (2, "bonn"))
    before = catalog_and_metadata(two.shop)
    assert two.kinds() == {"silver.sales": "full", "gold.cities": "full"}
    assert catalog_and_metadata(two.shop) == before
    two.sell((3, "oslo"))
    assert two.kinds() == {"silver.sales": "append", "gold.cities": "full"}
    assert two.kinds() == {}
    assert two.reports.rows("silver.sales") == [(1, "OSLO"), (2, "BONN"), (3, "OSLO")]
    assert two.reports.rows("gold.cities") == [("bonn", 1), ("oslo", 2)]
    two.reports.must_verify("silver.sales", "gold.cities")
    sql = "SELECT count(*) FROM shop.sales s JOIN gold.cities c ON c.city = s.city"
    assert two.asked(sql) == [(3,)]


def test_what_changed_in_it_is_read_from_its_files(two: Two, by_keys: None) -> None:
    two.sell((1, "oslo"), (2, "bonn"), (3, "oslo"))
    two.kinds()
    two.sell((4, "oslo"))
    assert two.kinds() == {"silver.sales": "append", "gold.cities": "sums"}
    two.shop.spark.sql(
        "ALTER TABLE lake.bronze.sales SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    )
    two.shop.spark.sql("DELETE FROM lake.bronze.sales WHERE id = 1")
    before = catalog_and_metadata(two.shop)
    two.kinds()
    assert catalog_and_metadata(two.shop) == before
    assert two.reports.rows("gold.cities") == [("bonn", 1), ("oslo", 2)]
    assert two.reports.rows("silver.sales") == [(2, "BONN"), (3, "OSLO"), (4, "OSLO")]
    two.reports.must_verify("silver.sales", "gold.cities")


def test_rows_from_a_snapshot_on(two: Two) -> None:
    two.sell((1, "oslo"))
    begin = two.sell((2, "bonn"))
    two.reports.write(
        {"tables/shop/sales.yaml": external(project="../shop", table="bronze.sales", start=begin)}
    )
    assert two.kinds() == {"silver.sales": "full", "gold.cities": "full"}
    assert two.reports.rows("silver.sales") == []
    two.sell((3, "oslo"))
    assert two.kinds() == {"silver.sales": "append", "gold.cities": "full"}
    two.sell((4, "bonn"))
    two.kinds()
    assert two.reports.rows("silver.sales") == [(3, "OSLO"), (4, "BONN")]
    assert two.reports.rows("gold.cities") == [("bonn", 1), ("oslo", 1)]
    two.reports.must_verify("silver.sales", "gold.cities")
    two.reports.must_run(full=["silver.sales"])
    assert two.reports.rows("silver.sales") == [(3, "OSLO"), (4, "BONN")]
    # Another point is another definition.
    two.reports.write({"tables/shop/sales.yaml": REPORTS["tables/shop/sales.yaml"]})
    assert two.kinds() == {"silver.sales": "full", "gold.cities": "full"}
    assert two.reports.count("silver.sales") == 4


def test_rows_that_changed_since_then_cannot_be_told_from_new_ones(two: Two) -> None:
    begin = two.sell((1, "oslo"))
    two.sell((2, "bonn"))
    two.reports.write(
        {"tables/shop/sales.yaml": external(project="../shop", table="bronze.sales", start=begin)}
    )
    two.kinds()
    two.shop.spark.sql("DELETE FROM lake.bronze.sales WHERE id = 2")
    result = two.reports.run()
    assert {problem.code for problem in result.problems} == {"LS515"}
    assert two.reports.rows("silver.sales") == [(2, "BONN")]
    # Without it, what went goes here too.
    two.reports.write({"tables/shop/sales.yaml": REPORTS["tables/shop/sales.yaml"]})
    two.kinds()
    assert two.reports.rows("silver.sales") == [(1, "OSLO")]


def test_a_table_by_its_metadata_file_and_one_that_is_not_there(two: Two) -> None:
    two.sell((1, "oslo"))
    place = two.shop.state("bronze.sales").metadata_location
    two.sell((2, "bonn"))
    two.reports.write(
        {"tables/shop/sales.yaml": f"external: {{metadata: '{place.removeprefix('file:')}'}}\n"}
    )
    two.kinds()
    assert two.reports.rows("silver.sales") == [(1, "OSLO")]
    two.reports.write({"tables/shop/sales.yaml": external(project="../shop", table="bronze.sold")})
    result = two.reports.run()
    assert [problem.code for problem in result.problems] == ["LS514"]
    assert two.reports.rows("silver.sales") == [(1, "OSLO")]


def test_what_another_tool_made_in_the_catalog_of_the_project(two: Two) -> None:
    two.reports.spark.sql("CREATE TABLE lake.raw.sales USING iceberg AS SELECT 1 AS id, 'oslo' AS city")
    two.reports.write({"tables/shop/sales.yaml": external(table="raw.sales")})
    two.kinds()
    two.reports.spark.sql("INSERT INTO lake.raw.sales VALUES (2, 'bonn')")
    assert two.kinds() == {"silver.sales": "append", "gold.cities": "full"}
    two.reports.spark.sql("UPDATE lake.raw.sales SET city = 'rome' WHERE id = 1")
    two.kinds()
    assert two.reports.rows("silver.sales") == [(1, "ROME"), (2, "BONN")]
    two.reports.must_verify("silver.sales", "gold.cities")
    # Another table of the same name is another one, and says so.
    two.reports.spark.sql("DROP TABLE lake.raw.sales")
    two.reports.spark.sql("CREATE TABLE lake.raw.sales USING iceberg AS SELECT 7 AS id, 'york' AS city")
    assert two.kinds() == {"silver.sales": "full", "gold.cities": "full"}
    assert two.reports.rows("silver.sales") == [(7, "YORK")]


def external(start: int | None = None, **settings: str) -> str:
    return json.dumps({"external": {**settings, **({"from": start} if start else {})}})


def catalog_and_metadata(project: Harness) -> tuple[str, list[str]]:
    """Where the table's metadata is, and the files of its table."""
    state = project.state("bronze.sales")
    folder = project.root / ".lakesmith" / "warehouse"
    return state.metadata_location, sorted(str(path) for path in folder.rglob("*"))
