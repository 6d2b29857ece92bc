"""Tombstones of a full refresh: collected by the pass that writes the rows, or computed again."""

import pytest
from harness import Harness

from lakesmith import limits

COLUMNS = 'id: int, at: timestamp, price: "decimal(9,2)", Day: date, op: string'
HEADER = "id,at,price,Day,op"
ROWS = (
    "1,0001-01-01 00:00:00.000001,1.50,1582-10-10,I",
    "1,9999-12-31 23:59:59.999999,1.50,1582-10-10,D",
    "2,2024-01-01 00:00:00,2.00,2024-02-29,I",
    "3,1582-10-12 00:00:00,3.00,0001-01-01,D",
    "4,2024-01-01 00:00:00,4.00,2024-01-01,D",
)
FILES = {
    "tables/bronze/a.yaml": f"source:\n  files: {{path: landing/, format: csv}}\ncolumns: {{{COLUMNS}}}\n",
    "tables/silver/t.yaml": "key: [id, day]\nlatest_by: [at]\ndelete_when: op = 'D'\n",
    "tables/silver/t.sql": "SELECT id, at, price, Day, op FROM bronze.a",
}


@pytest.mark.parametrize("carried", [50_000, 8, 0])
def test_deletes_of_a_full_refresh_stay_deleted(
    shop: Harness, carried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TOMBSTONES_CARRIED", carried)
    shop.land("landing/1.csv", "\n".join((HEADER, *ROWS)) + "\n")
    account = shop.must_run().published["silver.t"].account
    assert (account.inserted, account.absent_deletes, account.superseded) == (1, 3, 1)
    stored = shop.spark.sql(
        "SELECT id, cast(day AS string), cast(at AS string) FROM lake.lakesmith.silver__t__tombstones"
        f" VERSION AS OF {shop.record('silver.t').sidecars['tombstones'].snapshot}"
    )
    assert sorted(map(tuple, stored.collect())) == [
        (1, "1582-10-10", "9999-12-31 23:59:59.999999"),
        (3, "0001-01-01", "1582-10-12 00:00:00"),
        (4, "2024-01-01", "2024-01-01 00:00:00"),
    ]
    late = ("1,2024-01-01 00:00:00,1.00,1582-10-10,I", "4,2024-01-02 00:00:00,5.00,2024-01-01,I")
    shop.land("landing/2.csv", "\n".join((HEADER, *late)) + "\n")
    shop.must_run()
    assert sorted(shop.rows("silver.t", "id")) == [(2,), (4,)]
