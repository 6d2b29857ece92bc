"""``lakesmith rewrite``: old files into today's partitions and order, by pieces; no row is read again."""

from collections.abc import Callable

import pytest
from harness import Harness, MakeShop
from rewinding import rewinding

from lakesmith import limits
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Orders
from lakesmith.project.definitions import TableName
from lakesmith.spark.maintenance.maintainer import Maintainer
from lakesmith.spark.maintenance.rewriting import Brought, rewrite

BRONZE = "tables/bronze/events.yaml"
DECLARED = """
    source: {files: {path: landing/, pattern: "*.csv"}}
    columns: {id: bigint, at: timestamp, kind: string}
    """
FILES = {BRONZE: DECLARED, "tables/silver/events.sql": "SELECT id, at, kind FROM bronze.events\n"}
DAYS = ("2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04")


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Callable[[], Harness]:
    shop = make_lake(FILES)
    for number, day in enumerate(DAYS):
        rows = "".join(f"{number * 10 + hour},{day} 0{hour}:00:00,k{hour % 2}\n" for hour in range(4))
        null = f"{number * 10 + 9},,k\n" if number == 2 else ""
        shop.take(f"landing/{number}.csv", f"id,at,kind\n{rows}{null}")
    return rewinding(shop)


@pytest.fixture
def shop(taken: Callable[[], Harness]) -> Harness:
    return taken()


def rewritten(shop: Harness, everything: bool = False) -> Brought:
    lake = shop.lake()
    maintainer = Maintainer(shop.handle, lake, Turns(lake, "rewrite"), Orders())
    return rewrite(maintainer, TableName.parse("bronze.events"), everything)


def specs(shop: Harness) -> set[int]:
    rows = shop.spark.sql("SELECT spec_id FROM lake.bronze.events.data_files").collect()
    return {row[0] for row in rows}


@pytest.mark.parametrize("fields", ["days(at)", "bucket(2, id)", "kind"])
def test_files_of_an_earlier_partitioning(
    shop: Harness, monkeypatch: pytest.MonkeyPatch, fields: str
) -> None:
    monkeypatch.setattr(limits, "PIECE_BYTES", 1)
    before = shop.rows("bronze.events")
    assert rewritten(shop).pieces == 0
    shop.write({BRONZE: f"{DECLARED.rstrip(' ')}    partition_by: ['{fields}']\n"})
    done = rewritten(shop)
    assert done.pieces > 1
    assert shop.rows("bronze.events") == before
    assert specs(shop) == {max(specs(shop))}
    assert max(specs(shop)) > 0
    assert rewritten(shop).pieces == 0
    assert {record.kind for record in shop.must_run().published.values()} <= {"advance"}
    published = shop.take("landing/more.csv", f"id,at,kind\n99,{DAYS[1]} 08:00:00,k\n").published
    assert published["silver.events"].account.read == 1
    assert len(specs(shop)) == 1


def test_all_files_in_another_order(shop: Harness) -> None:
    before = shop.rows("bronze.events")
    shop.write({BRONZE: f"{DECLARED.rstrip(' ')}    maintain: {{strategy: sort, columns: [kind]}}\n"})
    done = rewritten(shop, everything=True)
    assert (done.done.files, done.done.into, done.pieces) == (4, 1, 1)
    assert shop.rows("bronze.events") == before
    kinds = [row[0] for row in shop.spark.sql("SELECT kind FROM lake.bronze.events").collect()]
    assert kinds == sorted(kinds)


def test_what_was_stopped_goes_on(shop: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PIECE_BYTES", 1)
    before = shop.rows("bronze.events")
    shop.write({BRONZE: f"{DECLARED.rstrip(' ')}    partition_by: ['days(at)']\n"})
    first = iter((True,))

    def stop_once(point: str, _table: str) -> None:
        if point == "rewrite-piece" and next(first, False):
            raise RuntimeError("stopped here")

    with monkeypatch.context() as patch:
        patch.setattr("lakesmith.spark.maintenance.rewriting.reach", stop_once)
        with pytest.raises(RuntimeError, match="stopped here"):
            rewritten(shop)
    assert len(specs(shop)) == 2
    assert shop.rows("bronze.events") == before
    done = rewritten(shop)
    assert done.done.files < 5
    assert shop.rows("bronze.events") == before
    assert len(specs(shop)) == 1
