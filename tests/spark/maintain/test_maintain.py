"""``lakesmith maintain``: the same rows in fewer files and snapshots; every consumer goes on."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from harness import Harness, MakeShop, in_order, refresh_by_keys
from maintained_shop import DERIVED, FILES, After, grown, land, require_readable, require_rows
from maintaining import data_files, found_in, maintained, must_maintain, soon
from read_elsewhere import by_duckdb, by_pyiceberg, names_of
from rewinding import rewinding

from lakesmith import limits
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import Lake
from lakesmith.execute.maintenance import NotMaintained
from lakesmith.execute.publish import takes_spark
from lakesmith.plan.maintenance import Care, Task
from lakesmith.project.definitions import TableName

QUARANTINE = "lakesmith.bronze__sales__quarantine"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    refresh_by_keys(monkeypatch)
    # Four files make a piece: five take two.
    monkeypatch.setattr(limits, "PIECE_FILES", 1)
    with soon():
        yield


@pytest.mark.parametrize("version", [3, 2])
def test_tables_of_many_batches(
    make_shop: MakeShop, after: After, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {"tables/_defaults.yaml": f"format_version: {version}\n"}
    shop = after(5) if version == 3 else make_shop(FILES)
    shop.write(declared)
    for batch in range(5 if version == 2 else 0):
        land(shop, batch)
        # The tables below have two batches: the second deletes rows of the first.
        shop.must_run(*(["bronze.*"] if batch in (1, 2, 3) else []))

    done = must_maintain(shop)

    bronze, newest = done["bronze.sales"], done["silver.newest"]
    assert (bronze.before.data_files, bronze.after.data_files) == (5, 1)
    assert bronze.done[Task.COMPACT] == ("6 data files were rewritten as 2, and 6 of its sidecars as 2"), (
        "in two pieces each"
    )
    assert bronze.after.snapshots < bronze.before.snapshots
    assert newest.before.deleted_rows > 0 and newest.after.deleted_rows == 0
    assert data_files(shop, QUARANTINE) == 1
    require_rows(shop, range(5))
    require_readable(shop)
    for table in ("bronze.sales", *DERIVED):
        assert by_pyiceberg(shop, table) == by_duckdb(shop, table) == shop.rows(table)

    # Consumers take what is new, and nothing else, through the files that were put together.
    grown(shop, 5)
    kinds = {name: shop.record(name).kind for name in DERIVED}
    assert kinds == {"silver.newest": "upsert", "silver.lines": "append", "gold.by_product": "sums"}
    require_rows(shop, range(6))
    assert len(shop.quarantine("bronze.sales")) == 6
    assert data_files(shop, QUARANTINE) == 2, "the next batch goes on from what was put together"
    shop.must_verify(*DERIVED)

    # What is left after it needs nothing.
    must_maintain(shop)
    must_maintain(shop)
    found = found_in(shop)
    assert [each for each in found.values() if not isinstance(each, Care) or each.todo] == []
    bronze_now = found["bronze.sales"]
    assert isinstance(bronze_now, Care)
    assert bronze_now.left[Task.COMPACT] == "1 data file, not enough small ones"
    project, graph = shop.load()
    decider = Decider(graph, Lake.open(project))
    names = [TableName.parse(name) for name in ("bronze.sales", *DERIVED)]
    assert not takes_spark(decider.lake, decider.decide_all(names)), "positions move without it"
    with monkeypatch.context() as patch:
        patch.setattr("lakesmith.spark.engine.SparkEngine.run_step", None)
        result = shop.must_run()
        assert shop.must_run().published == {}
    assert {record.kind for record in result.published.values()} == {"advance"}
    for name, record in result.published.items():
        heads = {table: shop.state(table).refs["main"] for table in record.inputs}
        assert {table: pin.snapshot for table, pin in record.inputs.items()} == heads, name
    require_rows(shop, range(6))

    # What they stand on now is theirs: they go on from there after another round.
    must_maintain(shop)
    grown(shop, 6)
    assert {name: shop.record(name).kind for name in DERIVED} == kinds
    require_rows(shop, range(7))
    shop.must_verify(*DERIVED)


SORTED = {
    "tables/bronze/sales.yaml": """
        source: {files: {path: landing/sales/, format: csv}}
        columns: {sale: bigint, product: bigint, price: "decimal(10,2)"}
        partition_by: ["bucket(2, product)"]
        maintain: {target_file_size: 64 MB, strategy: sort, columns: [price, sale]}
        """,
    "tables/silver/lines.yaml": "maintain: {strategy: z-order, columns: [sale, TWICE]}\n",
    "tables/silver/lines.sql": "SELECT sale, CAST(price AS DOUBLE) AS twice FROM bronze.sales\n",
}


@pytest.fixture(scope="module")
def of_sorted(make_lake: MakeShop) -> Callable[[], Harness]:
    """Tables whose files are to be sorted, after three batches."""
    with pytest.MonkeyPatch.context() as patch, soon():
        refresh_by_keys(patch)
        return rewinding(grown(make_lake(SORTED), *range(3)))


def test_rows_are_sorted_and_keep_their_ids(of_sorted: Callable[[], Harness]) -> None:
    shop = of_sorted()
    before = ids(shop, "bronze.sales"), ids(shop, "silver.lines")
    must_maintain(shop)
    assert (ids(shop, "bronze.sales"), ids(shop, "silver.lines")) == before
    rows = shop.frame("bronze.sales").selectExpr("_file", "_pos", "price", "sale").collect()
    places = sorted((row._file, row._pos, row.price, row.sale) for row in rows)
    for file in {place[0] for place in places}:
        inside = [place[2:] for place in places if place[0] == file]
        assert inside == sorted(inside)
    grown(shop, 3)
    assert shop.record("silver.lines").kind == "append"


def ids(shop: Harness, table: str) -> list[tuple[Any, ...]]:
    """Each row with its id and the sequence number of its last change."""
    columns = ", ".join([*names_of(shop, table), "_row_id", "_last_updated_sequence_number"])
    found = shop.spark.sql(f"SELECT {columns} FROM lake.{table}").collect()
    return in_order(tuple(row) for row in found)


def test_a_column_that_is_not_there_is_told_and_the_other_tables_are_maintained(
    of_sorted: Callable[[], Harness],
) -> None:
    shop = of_sorted()
    shop.write({"tables/silver/lines.yaml": "maintain: {strategy: sort, columns: [cost]}\n"})
    done = maintained(shop)
    failed = done["silver.lines"]
    assert isinstance(failed, NotMaintained)
    assert failed.problems[0].code == "LS630"
    assert failed.problems[0].expected == "maintain.columns among sale, twice"
    assert not isinstance(done["bronze.sales"], NotMaintained)
