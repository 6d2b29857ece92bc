"""Files each of which is the whole table: what each changed, compared with plain Python, in any order."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from harness import Harness, in_order

Exports = Mapping[int, Mapping[int, str]]
"""By the day of May 2024 the names by their ids."""

PATH = "snapshot: {path: 'c_(\\d{8})\\.csv$', format: yyyyMMdd}"
FILES = {
    "tables/bronze/c.yaml": f"""
        source: {{files: {{path: landing/c/, pattern: "*.csv", {PATH}}}}}
        columns: {{id: int, name: string, day: date}}
        """,
    "tables/bronze/by_column.yaml": """
        source: {files: {path: landing/c/, pattern: "*.csv", snapshot: {column: day, max_deletes: 100%}}}
        columns: {id: int, name: string, day: date}
        """,
    "tables/bronze/as_they_come.yaml": """
        source: {files: {path: landing/c/, pattern: "*.csv", snapshot: {max_deletes: 100%}}}
        columns: {id: int, name: string, day: date}
        """,
    "tables/silver/now.yaml": "from: bronze.c\nkey: [id]\n",
    "tables/silver/past.yaml": "from: bronze.c\nkey: [id]\nhistory: type2\ntrack: [name]\n",
    "tables/silver/by_column.yaml": "from: bronze.by_column\nkey: [id]\nhistory: type2\ntrack: [name]\n",
    "tables/silver/as_they_come.yaml": "from: bronze.as_they_come\nkey: [id]\n",
    "tables/gold/names.sql": "SELECT name, count(*) AS n FROM silver.now GROUP BY name\n",
}


def at(day: int) -> datetime:
    return datetime(2024, 5, day, tzinfo=UTC).replace(tzinfo=None)


def past_of(exports: Exports) -> Iterator[tuple[Any, ...]]:
    """Id, name, from when, until when, whether it is current."""
    for key in {key for names in exports.values() for key in names}:
        now: tuple[str, datetime] | None = None
        for day in sorted(exports):
            name = exports[day].get(key)
            if now is not None and name == now[0]:
                continue
            if now is not None:
                yield key, *now, at(day), False
            now = None if name is None else (name, at(day))
        if now is not None:
            yield key, *now, None, True


def check(shop: Harness, exports: Exports) -> None:
    newest = in_order(exports[max(exports)].items())
    assert shop.rows("silver.now", "id", "name") == newest
    columns = ("id", "name", "valid_from", "valid_to", "is_current")
    for table in ("silver.past", "silver.by_column"):
        assert shop.rows(table, *columns) == in_order(past_of(exports)), table
    counted = {name: list(exports[max(exports)].values()).count(name) for _, name in newest}
    assert shop.rows("gold.names") == in_order(counted.items())


def land(shop: Harness, day: int, names: Mapping[int, str]) -> None:
    lines = [f"{key},{name},2024-05-{day:02}" for key, name in names.items()]
    shop.land(f"landing/c/c_202405{day:02}.csv", "\n".join(["id,name,day", *lines, ""]))


@pytest.mark.in_turn
def test_what_each_export_changed(shop: Harness) -> None:
    exports: dict[int, dict[int, str]] = {1: {1: "a", 2: "b", 3: "c", 5: "e"}, 2: {1: "a", 2: "B", 5: "e"}}
    for day, names in exports.items():
        land(shop, day, names)
    shop.must_run()
    check(shop, exports)
    assert shop.rows("silver.as_they_come", "id", "name") == [(1, "a"), (2, "B"), (5, "e")]

    exports[6] = {1: "a", 2: "B", 4: "d"}
    land(shop, 6, exports[6])
    shop.must_run()
    check(shop, exports)
    # It comes late, and back-dated: 2 and 5 were not there then, and 3 was.
    exports[4] = {1: "x", 3: "c"}
    land(shop, 4, exports[4])
    shop.must_run()
    check(shop, exports)
    assert shop.rows("silver.as_they_come", "id", "name") == [(1, "x"), (3, "c")]

    shop.forget("bronze.c", "landing/c/c_20240506.csv")
    shop.forget("bronze.by_column", "landing/c/c_20240506.csv")
    (shop.root / "landing/c/c_20240506.csv").unlink()
    del exports[6]
    shop.must_run(approve=["silver.now", "silver.past"])
    check(shop, exports)


@pytest.mark.in_turn
def test_an_export_that_is_empty_cut_short_or_bad_deletes_nothing_by_itself(shop: Harness) -> None:
    exports: dict[int, dict[int, str]] = {1: {1: "a", 2: "b", 3: "c"}}
    land(shop, 1, exports[1])
    shop.must_run()
    land(shop, 2, {})
    shop.must_run()
    check(shop, exports)
    notes = shop.record("bronze.c").notes
    assert any("c_20240502.csv has no rows" in note for note in notes), notes

    land(shop, 3, {1: "a"})
    result = shop.run()
    assert {problem.code for problem in result.problems} == {"LS524"}
    assert "would delete 2 of its 3 keys" in str(result.problems[0])
    assert shop.rows("silver.now", "id", "name") == [(1, "a"), (2, "b"), (3, "c")]
    shop.must_run(approve=["silver.now", "silver.past"])
    exports[3] = {1: "a"}
    check(shop, exports)

    shop.land("landing/c/c_20240504.csv", "id,name,day\n1,a,2024-05-04\nx,b,2024-05-04\n")
    assert {problem.code for problem in shop.run("bronze.c").problems} == {"LS801"}
    assert shop.quarantine("bronze.c") == []
    check(shop, exports)
