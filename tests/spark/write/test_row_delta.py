"""Rows replaced by their places: what Iceberg and other engines see of it."""

from typing import Any

import pytest
from harness import Harness, MakeShop
from pyroaring import BitMap64

from lakesmith import limits
from lakesmith.spark.iceberg.deletes import from_bytes, to_bytes
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

FILES = {
    "tables/bronze/people.yaml": """
        source:
          files: {path: landing/people/, format: csv}
        columns: {id: int, at: int, op: string, city: string, name: string}
        """,
    "tables/silver/people.yaml": """
        query: SELECT id, at, op, city, name FROM bronze.people
        key: [id]
        latest_by: [at]
        delete_when: op = 'D'
        partition_by: [city]
        """,
}
HEADER = "id,at,op,city,name\n"


@pytest.fixture
def shop(make_shop: MakeShop) -> Harness:
    project = make_shop(FILES)
    rows = "".join(f"{number},1,I,{'Oslo' if number % 2 else 'Rome'},n{number}\n" for number in range(40))
    project.take("landing/people/0.csv", HEADER + rows)
    return project


def _lineage(shop: Harness) -> dict[int, tuple[str, int, int]]:
    """Name, row id and sequence number of its last change, by id."""
    frame = shop.frame("silver.people").select("id", "name", "_row_id", "_last_updated_sequence_number")
    return {row[0]: (row[1], row[2], row[3]) for row in frame.collect()}


def test_a_row_keeps_its_id_through_updates_and_a_new_one_gets_one_of_its_own(shop: Harness) -> None:
    before = _lineage(shop)
    shop.land("landing/people/1.csv", HEADER + "1,2,U,Oslo,one\n2,2,U,Oslo,moved\n3,2,D,,\n99,1,I,Rome,new\n")
    account = shop.must_run().published["silver.people"].account
    after = _lineage(shop)
    assert (account.updated, account.deleted, account.inserted) == (2, 1, 1)
    assert {key: after[key][:2] for key in (1, 2)} == {1: ("one", before[1][1]), 2: ("moved", before[2][1])}
    assert after[1][2] == after[2][2] > before[1][2]
    assert after[99][1] not in {row_id for _, row_id, _ in before.values()}
    assert {key: row for key, row in after.items() if key not in (1, 2, 99)} == {
        key: row for key, row in before.items() if key not in (1, 2, 3)
    }


def test_a_data_file_has_one_deletion_vector_with_all_that_was_ever_deleted(shop: Harness) -> None:
    for batch, key in enumerate((1, 3, 5), start=1):
        shop.take(f"landing/people/{batch}.csv", HEADER + f"{key},2,D,,\n{key + 1},{batch + 1},D,,\n")
    rows = shop.spark.sql(
        "SELECT referenced_data_file, content, file_format, record_count FROM lake.silver.people.delete_files"
    ).collect()
    assert len({row[0] for row in rows}) == len(rows) == 2
    assert [(row[1], row[2], row[3]) for row in rows] == [(1, "PUFFIN", 3)] * 2
    assert {row[0] for row in shop.rows("silver.people", "id")} == {0, *range(7, 40)}
    head = shop.head("silver.people")
    assert head.count("total-position-deletes") == 6


def test_new_keys_alone_are_an_append_and_deletes_alone_write_no_rows(shop: Harness) -> None:
    shop.take("landing/people/1.csv", HEADER + "50,1,I,Oslo,a\n51,1,I,Rome,b\n")
    kinds = [snapshot.operation for snapshot in _written(shop)]
    assert kinds == ["append", "append"]
    shop.take("landing/people/2.csv", HEADER + "50,2,D,,\n")
    kinds = [snapshot.operation for snapshot in _written(shop)]
    assert kinds == ["append", "delete"]


def _written(shop: Harness) -> list[Any]:
    """The newest two snapshots: the batch's record, and what it wrote."""
    state = shop.state("silver.people")
    return list(state.ancestors(state.refs["main"]))[:2]


def test_what_is_too_much_for_the_driver_is_merged_to_the_same_rows(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = (
        HEADER
        + "1,2,U,Oslo,one\n2,2,U,Oslo,moved\n3,2,D,,\n99,1,I,Rome,new\n4,1,I,Rome,n4\n5,0,U,Oslo,late\n"
    )
    shop.take("landing/people/1.csv", changes)
    monkeypatch.setattr(limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 0)
    other = Harness(shop.root.parent / "other", shop.session, FILES)
    other.take("landing/people/0.csv", (shop.root / "landing/people/0.csv").read_bytes())
    account = other.take("landing/people/1.csv", changes).published["silver.people"].account
    assert other.rows("silver.people") == shop.rows("silver.people")
    assert account == shop.record("silver.people").account
    assert (account.unchanged, account.superseded, account.updated) == (1, 1, 2)


def test_a_deletion_vector_is_what_iceberg_reads(session: SessionHandle) -> None:
    positions = [0, 1, 2, 3, 65_535, 65_536, 2**31, 2**32 - 1, 2**33 + 5]
    content = to_bytes(BitMap64(positions))
    jvm: Any = session.spark._jvm
    described = (
        jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(
            jvm.org.apache.iceberg.PartitionSpec.unpartitioned()
        )
        .ofPositionDeletes()
        .withFormat("puffin")
        .withPath("x")
        .withReferencedDataFile("y")
        .withFileSizeInBytes(len(content))
        .withContentOffset(0)
        .withContentSizeInBytes(len(content))
        .withRecordCount(len(positions))
        .build()
    )
    index = jvm.org.apache.iceberg.deletes.PositionDeleteIndex.deserialize(content, described)
    assert index.cardinality() == len(positions)
    assert all(index.isDeleted(position) for position in positions)
    assert not index.isDeleted(4)
    assert from_bytes(bytes(index.serialize().array())) == BitMap64(positions)


def test_rows_of_before_a_column_came_are_replaced_too(make_shop: MakeShop) -> None:
    """The key scan reads a snapshot in the columns of now then, and the places of its rows with them."""
    files = {
        "tables/bronze/people.yaml": "source:\n  files: {path: landing/people/, format: csv, on_new_column:"
        " evolve}\ncolumns: {id: int, name: string}\n",
        "tables/silver/people.yaml": "from: bronze.people\nkey: [id]\n",
    }
    shop = make_shop(files)
    shop.take("landing/people/1.csv", "id,name\n1,Ann\n2,Bob\n3,Cid\n")
    before = _lineage(shop)
    shop.land("landing/people/2.csv", "id,name,town\n2,Bo,Oslo\n4,Dee,Rome\n")
    published = shop.must_run().published["silver.people"]
    assert (published.kind, published.account.updated, published.account.inserted) == ("upsert", 1, 1)
    assert shop.rows("silver.people", "id", "name", "town") == [
        (1, "Ann", None), (2, "Bo", "Oslo"), (3, "Cid", None), (4, "Dee", "Rome"),
    ]  # fmt: skip
    assert _lineage(shop)[2][1] == before[2][1]
