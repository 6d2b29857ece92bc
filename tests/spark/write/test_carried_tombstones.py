"""Tombstones of a full refresh: collected by the pass that writes the rows, or computed again."""

from dataclasses import dataclass

import pytest
from harness import Harness, MakeShop

from lakesmith import limits
from lakesmith.catalog.record import Record

COLUMNS = 'id: int, at: timestamp, price: "decimal(9,2)", Day: date, op: string'
HEADER = "id,at,price,Day,op"
ROWS = (
    "1,0001-01-01 00:00:00.000001,1.50,1582-10-10,I",
    "1,9999-12-31 23:59:59.999999,1.50,1582-10-10,D",
    "2,2024-01-01 00:00:00,2.00,2024-02-29,I",
    "3,1582-10-12 00:00:00,3.00,0001-01-01,D",
    "4,2024-01-01 00:00:00,4.00,2024-01-01,D",
)
LATE = ("1,2024-01-01 00:00:00,1.00,1582-10-10,I", "4,2024-01-02 00:00:00,5.00,2024-01-01,I")
CARRIED = (50_000, 8, 0)
SETTINGS = "key: [id, day]\nlatest_by: [at]\ndelete_when: op = 'D'\n"
QUERY = "query: SELECT id, at, price, Day, op FROM bronze.a\n"
FILES = {
    "tables/bronze/a.yaml": f"source:\n  files: {{path: landing/, format: csv}}\ncolumns: {{{COLUMNS}}}\n",
    **{f"tables/silver/t{carried}.yaml": QUERY + SETTINGS for carried in CARRIED},
}


@dataclass(frozen=True)
class Refreshed:
    """A table for each limit: ``records`` of its full refresh, and the table after the next batch."""

    shop: Harness
    records: dict[int, Record]


@pytest.fixture(scope="module")
def refreshed(make_lake: MakeShop) -> Refreshed:
    shop, records = make_lake(FILES), {}
    shop.land("landing/1.csv", "\n".join((HEADER, *ROWS)) + "\n")
    shop.must_run("bronze.a")
    with pytest.MonkeyPatch.context() as patch:
        for carried in CARRIED:
            patch.setattr(limits, "TOMBSTONES_CARRIED", carried)
            records[carried] = shop.must_run(f"silver.t{carried}").published[f"silver.t{carried}"]
    shop.take("landing/2.csv", "\n".join((HEADER, *LATE)) + "\n")
    return Refreshed(shop, records)


@pytest.mark.parametrize("carried", CARRIED)
def test_deletes_of_a_full_refresh_stay_deleted(refreshed: Refreshed, carried: int) -> None:
    shop, record = refreshed.shop, refreshed.records[carried]
    account = record.account
    assert (account.inserted, account.absent_deletes, account.superseded) == (1, 3, 1)
    stored = shop.spark.sql(
        "SELECT id, cast(day AS string), cast(at AS string)"
        f" FROM lake.lakesmith.silver__t{carried}__tombstones"
        f" VERSION AS OF {record.sidecars['tombstones'].snapshot}"
    )
    assert sorted(map(tuple, stored.collect())) == [
        (1, "1582-10-10", "9999-12-31 23:59:59.999999"),
        (3, "0001-01-01", "1582-10-12 00:00:00"),
        (4, "2024-01-01", "2024-01-01 00:00:00"),
    ]
    assert sorted(shop.rows(f"silver.t{carried}", "id")) == [(2,), (4,)]
