"""Settings that change on an existing table: comments and partitioning, in metadata alone, never silently."""

from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult

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
NAME = TableName("bronze", "orders")


@pytest.fixture
def project(make_shop: MakeShop) -> Harness:
    """A table with every setting and one batch, whose file then says otherwise."""
    made = make_shop({"tables/bronze/orders.yaml": BRONZE})
    made.take("landing/1.csv", "id,city,at\n1,Oslo,2024-05-01 10:00:00\n")
    made.write({"tables/bronze/orders.yaml": CHANGED})
    return made


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


def test_a_table_is_made_with_all_of_its_settings(make_shop: MakeShop) -> None:
    made = make_shop({"tables/bronze/orders.yaml": BRONZE})
    made.take("landing/1.csv", "id,city,at\n1,Oslo,2024-05-01 10:00:00\n")
    state = made.state("bronze.orders")
    assert state.partitioning == ("days(at)",)
    texts = {key: state.properties[key] for key in ("comment", "lakesmith.owner", "lakesmith.tags")}
    assert texts == {"comment": "Orders as they came", "lakesmith.owner": "shop", "lakesmith.tags": "raw"}
    assert [column.doc for column in state.columns[:3]] == [None, "where it goes", None]
    assert notes_of(made) == ""


def test_an_idle_plan_says_what_the_next_batch_will_change(project: Harness) -> None:
    assert notes_of(project).splitlines() == [
        "with its next batch, description 'Orders as they came' becomes 'Orders of the shop'",
        "with its next batch, owner 'shop' becomes (none)",
        "with its next batch, tags 'raw' becomes 'raw,orders'",
        "with its next batch, doc of column id (none) becomes 'the order'",
        "with its next batch, doc of column city 'where it goes' becomes (none)",
        "with its next batch, partition_by [days(at)] becomes [bucket(4, id), city], for rows written from"
        " then on"
        " (`lakesmith rewrite` rewrites the others)",
    ]


def test_the_next_batch_changes_them_and_says_so(project: Harness) -> None:
    result = project.take("landing/2.csv", "id,city,at\n2,Bergen,2024-05-02 10:00:00\n")
    record, said = result.published["bronze.orders"], warnings_of(result)
    assert "description 'Orders as they came' becomes 'Orders of the shop'" in record.notes
    assert said == record.notes, "each once, and none as what is still ahead"
    state = project.state("bronze.orders")
    assert state.partitioning == ("bucket(4, id)", "city")
    assert state.properties["comment"] == "Orders of the shop"
    assert "lakesmith.owner" not in state.properties
    assert state.properties["lakesmith.tags"] == "raw,orders"
    assert [column.doc or None for column in state.columns[:3]] == ["the order", None, None]
    assert sorted(project.rows("bronze.orders", "id", "city")) == [(1, "Oslo"), (2, "Bergen")]
    assert notes_of(project) == ""


def test_only_new_rows_follow_a_new_partitioning(project: Harness) -> None:
    project.take("landing/2.csv", "id,city,at\n2,Bergen,2024-05-02 10:00:00\n")
    files: list[Any] = project.spark.sql(
        "SELECT spec_id, partition.city FROM lake.bronze.orders.files"
    ).collect()
    assert sorted((row.spec_id > 0, row.city) for row in files) == [(False, None), (True, "Bergen")]


def test_a_derived_table_may_change_its_partitioning_between_merges(make_shop: MakeShop) -> None:
    keyed = "key: [id]\nlatest_by: [at]\n"
    query = "SELECT id, city, at FROM bronze.orders"
    files = {
        "tables/bronze/orders.yaml": BRONZE,
        "tables/silver/orders.yaml": keyed,
        "tables/silver/orders.sql": query,
    }
    project = make_shop(files)
    project.take("landing/1.csv", "id,city,at\n1,Oslo,2024-05-01 10:00:00\n2,Oslo,2024-05-01 10:00:00\n")
    project.write({"tables/silver/orders.yaml": keyed + 'partition_by: ["truncate(2, city)"]\n'})
    project.land("landing/2.csv", "id,city,at\n2,Bergen,2024-05-02 10:00:00\n3,Alta,2024-05-02 10:00:00\n")
    assert project.must_run().published["silver.orders"].kind == "upsert"
    assert project.state("silver.orders").partitioning == ("truncate(2, city)",)
    rows = project.rows("silver.orders", "id", "city")
    assert sorted(rows) == [(1, "Oslo"), (2, "Bergen"), (3, "Alta")]
