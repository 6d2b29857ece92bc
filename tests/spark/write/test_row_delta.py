"""Rows replaced by their places: what Iceberg and other engines see of it.

The cases are batches of one table; ``silver.merged`` gets the first of them by a merge.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from harness import Harness, MakeShop
from pyroaring import BitMap64

from lakesmith import limits
from lakesmith.catalog.record import Record
from lakesmith.spark.iceberg.deletes import from_bytes, to_bytes
from lakesmith.spark.start.session import SessionHandle

KEYED = "from: bronze.people\nkey: [id]\nlatest_by: [at]\ndelete_when: op = 'D'\npartition_by: [city]\n"
FILES = {
    "tables/bronze/people.yaml": """
        source:
          files: {path: landing/people/, format: csv, on_new_column: evolve}
        columns: {id: int, at: int, op: string, city: string, name: string}
        """,
    "tables/silver/people.yaml": KEYED,
    "tables/silver/merged.yaml": KEYED,
}
HEADER = "id,at,op,city,name"
FIRST = [f"{number},1,I,{'Oslo' if number % 2 else 'Rome'},n{number}" for number in range(40)]
CHANGES = {
    "changed": ("1,2,U,Oslo,one", "2,2,U,Oslo,moved", "3,2,D,,", "99,1,I,Rome,new", "4,1,I,Rome,n4",
                "5,0,U,Oslo,late"),
    "new": ("50,1,I,Oslo,a", "51,1,I,Rome,b", "52,1,I,Oslo,c"),
    "deleted": ("50,2,D,,", "7,2,D,,", "8,2,D,,"),
    "deleted again": ("9,2,D,,", "10,3,D,,"),
}  # fmt: skip
Lineage = dict[int, tuple[str, int, int]]
Rows = list[tuple[Any, ...]]


@dataclass
class Batches:
    """By batch: its records by table, the lineage after it, and what its two snapshots did, newest first.

    ``merged``, ``by_place``: the rows of both tables after the first changes. ``delete_files``, ``counted``
    and ``ids``: the files, the rows that they delete, and those that are left after all deletes.
    """

    shop: Harness
    records: dict[str, dict[str, Record]] = field(default_factory=dict)
    lineage: dict[str, Lineage] = field(default_factory=dict)
    operations: dict[str, list[str]] = field(default_factory=dict)
    merged: Rows = field(default_factory=list)
    by_place: Rows = field(default_factory=list)
    delete_files: Rows = field(default_factory=list)
    counted: int = 0
    ids: set[int] = field(default_factory=set)

    def take(self, name: str, content: str, *tables: str) -> None:
        self.shop.land(f"landing/people/{name}.csv", content)
        self.records[name] = self.shop.must_run("bronze.people", *tables).published
        frame = self.shop.frame("silver.people")
        rows = frame.select("id", "name", "_row_id", "_last_updated_sequence_number").collect()
        self.lineage[name] = {row[0]: (row[1], row[2], row[3]) for row in rows}
        state = self.shop.state("silver.people")
        newest = list(state.ancestors(state.refs["main"]))[:2]
        self.operations[name] = [snapshot.operation for snapshot in newest]


def _csv(*rows: str) -> str:
    return "\n".join((HEADER, *rows, ""))


@pytest.fixture(scope="module")
def batches(make_lake: MakeShop) -> Batches:
    shop, people = make_lake(FILES), "silver.people"
    batches = Batches(shop)
    batches.take("first", _csv(*FIRST), people, "silver.merged")
    batches.take("changed", _csv(*CHANGES["changed"]), people)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 0)
        batches.records["changed"] |= shop.must_run("silver.merged").published
    batches.merged, batches.by_place = shop.rows("silver.merged"), shop.rows(people)
    for name in ("new", "deleted", "deleted again"):
        batches.take(name, _csv(*CHANGES[name]), people)
    deletes = shop.spark.sql(
        "SELECT referenced_data_file, content, file_format, record_count FROM lake.silver.people.delete_files"
    )
    batches.delete_files = [tuple(row) for row in deletes.collect()]
    batches.counted = shop.head(people).count("total-position-deletes")
    batches.ids = {row[0] for row in shop.rows(people)}
    batches.take("wider", f"{HEADER},town\n11,4,U,Oslo,eleven,Bergen\n60,1,I,Rome,Dee,Ostia\n", people)
    return batches


def test_a_row_keeps_its_id_through_updates_and_a_new_one_gets_one_of_its_own(batches: Batches) -> None:
    before, after = batches.lineage["first"], batches.lineage["changed"]
    account = batches.records["changed"]["silver.people"].account
    assert (account.updated, account.deleted, account.inserted) == (2, 1, 1)
    assert {key: after[key][:2] for key in (1, 2)} == {1: ("one", before[1][1]), 2: ("moved", before[2][1])}
    assert after[1][2] == after[2][2] > before[1][2]
    assert after[99][1] not in {row_id for _, row_id, _ in before.values()}
    assert {key: row for key, row in after.items() if key not in (1, 2, 99)} == {
        key: row for key, row in before.items() if key not in (1, 2, 3)
    }


def test_a_data_file_has_one_deletion_vector_with_all_that_was_ever_deleted(batches: Batches) -> None:
    rows = batches.delete_files
    # Of Oslo's first rows 1, 3, 7 and 9, of Rome's 2, 8 and 10; of Oslo's new rows 50.
    assert len({row[0] for row in rows}) == len(rows) == 3
    assert sorted(row[1:] for row in rows) == [(1, "PUFFIN", count) for count in (1, 3, 4)]
    assert batches.ids == {*range(40), 51, 52, 99} - {3, 7, 8, 9, 10}
    assert batches.counted == 8


def test_new_keys_alone_are_an_append_and_deletes_alone_write_no_rows(batches: Batches) -> None:
    assert batches.operations["new"] == ["append", "append"]
    assert batches.operations["deleted"] == ["append", "delete"]


def test_what_is_too_much_for_the_driver_is_merged_to_the_same_rows(batches: Batches) -> None:
    assert batches.merged == batches.by_place
    records = batches.records["changed"]
    account = records["silver.merged"].account
    assert account == records["silver.people"].account
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


def test_rows_of_before_a_column_came_are_replaced_too(batches: Batches) -> None:
    """The key scan reads a snapshot in the columns of now then, and the places of its rows with them."""
    record = batches.records["wider"]["silver.people"]
    assert (record.kind, record.account.updated, record.account.inserted) == ("upsert", 1, 1)
    found = batches.shop.rows("silver.people", "id", "name", "town")
    assert [row for row in found if row[0] in (11, 12, 60)] == [
        (11, "eleven", "Bergen"), (12, "n12", None), (60, "Dee", "Ostia"),
    ]  # fmt: skip
    assert batches.lineage["wider"][11][1] == batches.lineage["deleted again"][11][1]
