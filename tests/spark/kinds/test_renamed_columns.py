"""Columns that are renamed in their declaration: in metadata alone, with their values and their past."""

import pytest
from harness import MakeShop

BEFORE = """
    source: {files: {path: landing/, pattern: "*.csv"}}
    columns: {id: bigint, mail: string, at: date}
    partition_by: [months(at)]
    rules: |
      Rules = [ IsComplete "mail" ]
    on_bad_row: quarantine
    """
AFTER = """
    source: {files: {path: landing/, pattern: "*.csv"}}
    columns:
      id: bigint
      email: {type: string, renamed_from: mail}
      day: {type: date, renamed_from: at}
    partition_by: [months(day)]
    rules: |
      Rules = [ IsComplete "email" ]
    on_bad_row: quarantine
    """
BRONZE, SILVER = "tables/bronze/people.yaml", "tables/silver/people.sql"


def test_a_column_keeps_its_values_its_id_and_its_partitions(make_shop: MakeShop) -> None:
    people = make_shop({BRONZE: BEFORE, SILVER: "SELECT id, mail FROM bronze.people\n"})
    people.take("landing/1.csv", "id,mail,at\n1,a@b.c,2026-01-05\n2,,2026-01-06\n")
    ids = {column.name: column.field_id for column in people.state("bronze.people").columns}
    files = people.spark.sql("SELECT file_path FROM lake.bronze.people.files").collect()

    people.write({BRONZE: AFTER, SILVER: "SELECT id, email FROM bronze.people\n"})
    people.land("landing/2.csv", "id,mail,at\n3,old@b.c,2026-02-05\n")
    people.land("landing/3.csv", "id,email,day\n4,new@b.c,2026-02-06\n")
    record = people.must_run(approve=["silver.people"]).published["bronze.people"]

    assert "column mail becomes email, in metadata alone" in record.notes
    state = people.state("bronze.people")
    now = {column.name: column.field_id for column in state.columns}
    assert (now["email"], now["day"]) == (ids["mail"], ids["at"])
    assert {"mail", "at"}.isdisjoint(now)
    assert state.partitioning == ("months(day)",)
    kept = people.spark.sql("SELECT file_path FROM lake.bronze.people.files").collect()
    assert set(files) < set(kept)
    assert people.rows("bronze.people", "id", "email") == [(1, "a@b.c"), (3, "old@b.c"), (4, "new@b.c")]
    assert people.rows("silver.people") == [(1, "a@b.c"), (3, "old@b.c"), (4, "new@b.c")]
    assert len(people.quarantine("bronze.people")) == 1


@pytest.mark.in_turn
def test_nothing_happens_to_a_table_that_has_the_new_name_already(make_shop: MakeShop) -> None:
    people = make_shop({BRONZE: AFTER})
    people.take("landing/1.csv", "id,email,day\n1,a@b.c,2026-01-05\n")
    people.take("landing/2.csv", "id,mail,at\n2,d@e.f,2026-01-05\n")
    assert people.rows("bronze.people", "id", "email") == [(1, "a@b.c"), (2, "d@e.f")]
    assert people.must_run().published == {}


def test_a_derived_table_keeps_the_column_too(make_shop: MakeShop) -> None:
    silver = "tables/silver/people.yaml"
    people = make_shop({BRONZE: BEFORE, silver: "query: SELECT id, mail AS address FROM bronze.people\n"})
    people.take("landing/1.csv", "id,mail,at\n1,a@b.c,2026-01-05\n")
    ids = {column.name: column.field_id for column in people.state("silver.people").columns}
    people.redefine(
        {
            silver: """
            query: SELECT id, mail AS email FROM bronze.people
            columns: {email: {renamed_from: address}}
            """
        }
    )
    now = {column.name: column.field_id for column in people.state("silver.people").columns}
    assert now == {"id": ids["id"], "email": ids["address"]}
    assert people.rows("silver.people") == [(1, "a@b.c")]
