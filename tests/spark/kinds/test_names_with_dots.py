"""Names with dots beside objects, as logs of Elastic and OpenTelemetry have: to Iceberg ``log.level`` and the
field ``level`` of ``log`` have one name."""

from typing import Any

import pytest
from harness import Harness, MakeShop
from nested import json_lines, land_parquet, types

INFERRED = "source:\n  files: {path: landing/t/, format: FORMAT}\n"
RENAMED = """
    source:
      files: {path: landing/t/, format: FORMAT, on_new_column: evolve}
    columns:
      log_level: {type: string, renamed_from: log.level}
    """
ROWS: list[dict[str, Any]] = [
    {"id": 1, "log.level": "info", "log": {"level": "INFO", "origin": "a.py"}, "host.name": "h"},
    {"id": 2, "log.level": "warn", "log": {"level": None, "origin": "b.py"}, "host.name": None},
]


def land(shop: Harness, format_: str, number: int, rows: list[dict[str, Any]]) -> None:
    if format_ == "parquet":
        land_parquet(shop, f"t/{number}", rows)
    else:
        shop.land(f"landing/t/{number}.json", json_lines(*rows))


@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_a_dotted_name_beside_an_object_is_refused_with_the_setting_that_renames_it(
    make_shop: MakeShop, format_: str
) -> None:
    shop = make_shop({"tables/bronze/t.yaml": INFERRED.replace("FORMAT", format_)})
    land(shop, format_, 1, ROWS)
    (problem,) = shop.run().problems
    assert problem.code == "LS624"
    assert problem.what == (
        "bronze.t cannot have both the column `log.level` and the part level of the column log:"
        " to Iceberg they have one name"
    ) or problem.what == (
        "bronze.t cannot have both the part level of the column log and the column `log.level`:"
        " to Iceberg they have one name"
    )
    assert problem.hint == (
        "give one another name, as `columns: {log_level: {type: 'string', renamed_from: 'log.level'}}` does;"
        " `on_new_column: evolve` adds the other columns"
    )
    shop.write({"tables/bronze/t.yaml": RENAMED.replace("FORMAT", format_)})
    assert shop.run().code == 0
    assert shop.rows("bronze.t", "id", "log_level", "log.level", "log.origin", "`host.name`") == [
        (1, "info", "INFO", "a.py", "h"),
        (2, "warn", None, "b.py", None),
    ]


@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_a_later_file_may_bring_the_object_or_the_field(make_shop: MakeShop, format_: str) -> None:
    shop = make_shop({"tables/bronze/t.yaml": INFERRED.replace("FORMAT", format_)})
    land(shop, format_, 1, [{"id": 1, "log.level": "info", "log": {"origin": "a"}}])
    assert shop.run().code == 0
    land(shop, format_, 2, [{"id": 2, "log.level": "info", "log": {"origin": "a", "level": "x"}}])
    (problem,) = shop.run().problems
    assert problem.code == "LS624"
    shop.write({"tables/bronze/t.yaml": RENAMED.replace("FORMAT", format_)})
    assert shop.run().code == 0
    assert shop.rows("bronze.t", "id", "log_level", "log.level", "log.origin") == [
        (1, "info", None, "a"),
        (2, "info", "x", "a"),
    ]


def test_fields_and_elements_clash_as_columns_do(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/t.yaml": INFERRED.replace("FORMAT", "json")})
    shop.land("landing/t/1.json", json_lines({"o": {"a.b": 1, "a": {"b": 2}}}))
    (problem,) = shop.run().problems
    assert (problem.code, problem.hint) == (
        "LS624",
        "declare the column o as string, and take it apart in a query (from_json)",
    )
    shop.land("landing/t/1.json", json_lines({"tags": ["x"], "Tags.Element": 1}))
    (problem,) = shop.run().problems
    assert "the column `Tags.Element`" in problem.what
    assert "the part element of the column tags" in problem.what


def test_names_with_dots_work_wherever_a_column_is_named(make_shop: MakeShop) -> None:
    shop = make_shop({
        "tables/bronze/t.yaml": """
            source:
              files: {path: landing/t/, format: json}
            columns:
              event.id: {type: bigint, required: true}
              event.time: timestamp
              log.level: string
              log: "struct<`a.b`:int,`c`:struct<`d.e`:string>>"
            rules: |
              Rules = [ ColumnLength "log.level" < 6 ]
            """,
        "tables/silver/t.yaml": """
            key: [event.id]
            latest_by: [event.time]
            history: type2
            rules: |
              Rules = [ IsPrimaryKey "event.id" "event.time" ]
            """,
        "tables/silver/t.sql": "SELECT `event.id`, `event.time`, `log.level`, log FROM bronze.t",
        "tables/gold/n.yaml": "key: [log.level]",
        "tables/gold/n.sql": "SELECT `log.level`, count(*) AS `n.n` FROM silver.t"
        " WHERE is_current GROUP BY 1",
    })  # fmt: skip
    first = [
        {"event.id": 1, "event.time": "2024-01-01T00:00:00Z", "log.level": "info", "log": {"a.b": 1}},
        {"event.id": 2, "event.time": "2024-01-01T00:00:00Z", "log.level": "toolong", "log": {"a.b": 1}},
        {"event.id": 3, "event.time": "2024-01-01T00:00:00Z", "log.level": "warn", "log": {"a.b": "x"}},
    ]
    shop.take("landing/t/1.json", json_lines(*first))
    shop.take(
        "landing/t/2.json",
        json_lines(
            {"event.id": 1, "event.time": "2024-01-02T00:00:00Z", "log.level": "warn",
             "log": {"a.b": 2, "c": {"d.e": "f"}}},
            {"event.id": 4, "event.time": "2024-01-02T00:00:00Z", "log.level": "info", "log": None},
        ),
    )  # fmt: skip
    assert len(shop.quarantine("bronze.t")) == 2
    assert shop.rows("silver.t", "`event.id`", "`log.level`", "log.`a.b`", "log.c.`d.e`", "is_current") == [
        (1, "info", 1, None, False),
        (1, "warn", 2, "f", True),
        (4, "info", None, None, True),
    ]
    assert shop.rows("gold.n", "`log.level`", "`n.n`") == [("info", 1), ("warn", 1)]
    assert types(shop, "bronze.t")["log"] == "struct<`a.b`:int,c:struct<`d.e`:string>>"
