"""A session that stays reads files by the plan of the batch before: with the same result as by a new one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import Harness, MakeShop

from lakesmith.execute import faults
from lakesmith.spark.catalyst.kept import KeptPlan
from lakesmith.spark.read import kept_plans
from lakesmith.spark.read.sessions import ReadingSessions
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn("file", of=3)

_COLUMNS = "columns: {id: bigint, price: 'decimal(10,2)', at: timestamp}\n"
FORMATS = {
    "csv": ("format: csv", "id,price,at\n{0},1.50,2024-05-01 10:00:00\nx,1,\n{1},,\n"),
    "json": (
        "format: json",
        '{{"id": {0}, "price": 1.5, "at": "2024-05-01 10:00:00"}}\n[\n{{"id": {1}}}\n{{"id": "x"}}\n',
    ),
}
ALL = ("id", "price", "at", "_source_file", "_source_position", "_source_modified_at", "_batch")


@pytest.fixture
def uses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files were read by each use of a kept plan."""
    found: list[int] = []
    over = kept_plans._Kept.over

    def counted(self: Any, spark: Any, request: Any, files: Any) -> Any:
        found.append(len(files))
        return over(self, spark, request, files)

    monkeypatch.setattr(kept_plans._Kept, "over", counted)
    return found


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_the_next_batch_is_read_by_the_plan_of_the_last(
    tmp_path: Path, session: SessionHandle, uses: list[int], kind: str, compiled: bool
) -> None:
    options, content = FORMATS[kind]
    files = {"tables/bronze/a.yaml": f"source:\n  files: {{path: landing/a/, {options}}}\n{_COLUMNS}"}
    stays, fresh = (
        Harness(tmp_path / name, session, files, compiled=compiled) for name in ("stays", "fresh")
    )
    stays.clones = ReadingSessions(stays.spark)
    for number in range(4):
        # Two files at once, then one, and names as others write them.
        for part in range(1 + number % 2):
            name = f"landing/a/{number} {part}.csv" if number == 3 else f"landing/a/{number}-{part}.csv"
            for shop in (stays, fresh):
                shop.land(name, content.format(10 * number + part, 100 * number), 10**18 + number)
        for shop in (stays, fresh):
            shop.must_run()
    assert len(uses) >= 2, uses
    assert stays.rows("bronze.a", *ALL) == fresh.rows("bronze.a", *ALL)
    bad = [
        [
            (row["source_file"], row["source_position"], row["raw"], row["reasons"], row["batch"])
            for row in found
        ]
        for found in (stays.quarantine("bronze.a"), fresh.quarantine("bronze.a"))
    ]
    assert bad[0] == bad[1]
    stays.clones.close()


@pytest.mark.parametrize("meanwhile", [False, True], ids=["between runs", "during a run"])
def test_a_file_that_changed_is_read_as_it_is_now(
    make_shop: MakeShop, uses: list[int], meanwhile: bool
) -> None:
    """To Spark two reads of one path are equal, so a kept plan had the length of before: a row was cut."""
    source = "source:\n  files: {path: landing/a/, format: csv, on_changed_file: replace}\n"
    shop = make_shop({"tables/bronze/a.yaml": f"{source}columns: {{id: bigint, v: string}}\n"})
    shop.clones = ReadingSessions(shop.spark)
    shop.land("landing/a/1.csv", "id,v\n1,Oslo\n2,Rome\n")
    if meanwhile:
        left = ["id,v\n1,Oslo\n2,Reykjavik\n"]
        faults.arrange("after-data", lambda: left and shop.land("landing/a/1.csv", left.pop()), "bronze.a")
        shop.must_run()
    else:
        shop.must_run()
        shop.take("landing/a/1.csv", "id,v\n1,Oslo\n2,Reykjavik\n")
    assert shop.rows("bronze.a", "id", "v") == [(1, "Oslo"), (2, "Reykjavik")]
    assert uses, "no plan was used again"


def test_a_declaration_that_changed_has_another_plan(make_shop: MakeShop, uses: list[int]) -> None:
    source = "source:\n  files: {path: landing/a/, format: json}\n"
    shop = make_shop({"tables/bronze/a.yaml": f"{source}columns: {{id: bigint, v: string}}\n"})
    shop.clones = ReadingSessions(shop.spark)
    line: Callable[[int], str] = '{{"id": {}, "v": "x"}}\n'.format
    for number in range(3):
        if number == 2:
            shop.write({"tables/bronze/a.yaml": f"{source}columns: {{id: bigint, v: string, w: int}}\n"})
        shop.take(f"landing/a/{number}.json", line(number))
    assert uses == [1]
    assert shop.rows("bronze.a") == [(0, "x", None), (1, "x", None), (2, "x", None)]
    shop.clones.close()


def test_a_query_is_planned_once_and_chance_each_time(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    over = KeptPlan.over
    monkeypatch.setattr(
        KeptPlan, "over", lambda self, spark, leaves: found.append(len(leaves)) or over(self, spark, leaves)
    )
    source = "source:\n  files: {{path: landing/{0}/, format: csv}}\ncolumns: {{id: bigint, v: string}}\n"
    shop = make_shop(
        {
            **{f"tables/bronze/{name}.yaml": source.format(name) for name in "ab"},
            "tables/silver/a.sql": "SELECT id, upper(v) AS v, _batch AS batch FROM bronze.a WHERE id > 0",
            "tables/silver/u.sql": "SELECT id, uuid() AS u FROM bronze.a",
            "tables/gold/g.sql": "SELECT c.v, n, b.id FROM (SELECT v, count(*) AS n FROM silver.a GROUP BY v)"
            " AS c LEFT JOIN bronze.b AS b ON b.v = c.v",
        }
    )
    shop.land("landing/b/1.csv", "id,v\n7,X\n")
    for number in range(1, 4):
        shop.take(f"landing/a/{number}.csv", f"id,v\n{number},x\n-1,x\n{number},y{number}\n")
    assert found.count(1) >= 2, "the row-wise query"
    assert found.count(2) >= 1, "the join"
    assert shop.rows("silver.a") == sorted((n, v, n) for n in range(1, 4) for v in ("X", f"Y{n}"))
    assert shop.rows("gold.g") == [("X", 3, 7), ("Y1", 1, None), ("Y2", 1, None), ("Y3", 1, None)]
    assert len(set(shop.rows("silver.u", "u"))) == 9
