"""Settings that change on an existing table: comments and partitioning, in metadata alone, never silently."""

from dataclasses import dataclass
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult

from lakesmith.catalog.state import TableState
from lakesmith.execute.events import TablePublished
from lakesmith.plan.steps import TableStep, UpToDate
from lakesmith.project.definitions import TableName

BRONZE = """
    description: Orders as they came
    owner: shop
    tags: [raw]
    source:
      files: {path: landing/, pattern: "*.csv", format: csv}
    columns:
      id: bigint
      city: {type: string, doc: where it goes}
      at: timestamp
    partition_by: [days(at)]
"""
CHANGED = """
    description: Orders of the shop
    tags: [raw, orders]
    source:
      files: {path: landing/, pattern: "*.csv", format: csv}
    columns:
      id: {type: bigint, doc: the order}
      city: string
      at: timestamp
    partition_by: ["bucket(4, id)", city]
"""
KEYED = "key: [id]\nlatest_by: [at]\n"
NAME = TableName("bronze", "orders")


@dataclass(frozen=True)
class Settings:
    """A table's state and what a plan says of it, before and after the batch that changes its settings."""

    shop: Harness
    first: tuple[TableState, str]
    ahead: str
    result: RunResult
    then: tuple[TableState, str]
    derived: RunResult


@pytest.fixture(scope="module")
def settings(make_lake: MakeShop) -> Settings:
    query = "SELECT id, city, at FROM bronze.orders"
    files = {"tables/silver/orders.yaml": KEYED, "tables/silver/orders.sql": query}
    shop = make_lake({"tables/bronze/orders.yaml": BRONZE, **files})
    shop.take("landing/1.csv", "id,city,at\n1,Oslo,2024-05-01 10:00:00\n2,Oslo,2024-05-01 10:00:00\n")
    first = shop.state("bronze.orders"), notes_of(shop)
    shop.write({"tables/bronze/orders.yaml": CHANGED})
    ahead = notes_of(shop)
    shop.land("landing/2.csv", "id,city,at\n2,Bergen,2024-05-02 10:00:00\n3,Alta,2024-05-02 10:00:00\n")
    result = shop.must_run("bronze.orders")
    then = shop.state("bronze.orders"), notes_of(shop)
    shop.write({"tables/silver/orders.yaml": KEYED + 'partition_by: ["truncate(2, city)"]\n'})
    return Settings(shop, first, ahead, result, then, shop.must_run())


def notes_of(project: Harness) -> str:
    from lakesmith.execute.decide import Decider

    _, graph = project.load()
    decision = Decider(graph, project.lake()).decide(NAME)
    assert isinstance(decision, UpToDate | TableStep)
    return "\n".join(decision.notes)


def warnings_of(result: RunResult) -> tuple[str, ...]:
    """What a run says of the one batch that it published."""
    (published,) = (event for event in result.events if isinstance(event, TablePublished))
    return published.report.warnings


def test_a_table_is_made_with_all_of_its_settings(settings: Settings) -> None:
    state, notes = settings.first
    assert state.partitioning == ("days(at)",)
    texts = {key: state.properties[key] for key in ("comment", "lakesmith.owner", "lakesmith.tags")}
    assert texts == {"comment": "Orders as they came", "lakesmith.owner": "shop", "lakesmith.tags": "raw"}
    assert [column.doc for column in state.columns[:3]] == [None, "where it goes", None]
    assert notes == ""


def test_an_idle_plan_says_what_the_next_batch_will_change(settings: Settings) -> None:
    assert settings.ahead.splitlines() == [
        "with its next batch, description 'Orders as they came' becomes 'Orders of the shop'",
        "with its next batch, owner 'shop' becomes (none)",
        "with its next batch, tags 'raw' becomes 'raw,orders'",
        "with its next batch, doc of column id (none) becomes 'the order'",
        "with its next batch, doc of column city 'where it goes' becomes (none)",
        "with its next batch, partition_by [days(at)] becomes [bucket(4, id), city], for rows written from"
        " then on"
        " (`lakesmith rewrite` rewrites the others)",
    ]


def test_the_next_batch_changes_them_and_says_so(settings: Settings) -> None:
    record, said = settings.result.published["bronze.orders"], warnings_of(settings.result)
    assert "description 'Orders as they came' becomes 'Orders of the shop'" in record.notes
    assert said == record.notes, "each once, and none as what is still ahead"
    state, notes = settings.then
    assert state.partitioning == ("bucket(4, id)", "city")
    assert state.properties["comment"] == "Orders of the shop"
    assert "lakesmith.owner" not in state.properties
    assert state.properties["lakesmith.tags"] == "raw,orders"
    assert [column.doc or None for column in state.columns[:3]] == ["the order", None, None]
    rows = sorted(settings.shop.rows("bronze.orders", "id", "city"))
    assert rows == [(1, "Oslo"), (2, "Bergen"), (2, "Oslo"), (3, "Alta")]
    assert notes == ""


def test_only_new_rows_follow_a_new_partitioning(settings: Settings) -> None:
    files: list[Any] = settings.shop.spark.sql(
        "SELECT spec_id, partition.city FROM lake.bronze.orders.files"
    ).collect()
    found = sorted((row.spec_id > 0, row.city) for row in files)
    assert found == [(False, None), (True, "Alta"), (True, "Bergen")]


def test_a_derived_table_may_change_its_partitioning_between_merges(settings: Settings) -> None:
    shop = settings.shop
    assert settings.derived.published["silver.orders"].kind == "upsert"
    assert shop.state("silver.orders").partitioning == ("truncate(2, city)",)
    rows = shop.rows("silver.orders", "id", "city")
    assert sorted(rows) == [(1, "Oslo"), (2, "Bergen"), (3, "Alta")]
