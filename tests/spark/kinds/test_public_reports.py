"""Losses that users of other tools reported in public, rebuilt in small: each has to come out right.

One project holds a table for each report and runs it through its batches; the expected rows are written out
by hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from harness import MakeShop, in_order

NOON = datetime(2024, 5, 1, 12)


@dataclass(frozen=True)
class Report:
    """A reported loss: where it was reported, its tables, its files by batch, and the rows that are right."""

    source: str
    tables: Mapping[str, str]
    batches: tuple[Mapping[str, str], ...]
    rows: Mapping[str, list[tuple[Any, ...]]]
    reasons: Mapping[str, list[str]] = field(default_factory=dict)


def bronze(name: str, form: str, columns: str = "") -> dict[str, str]:
    """The definition of a table that reads ``landing/NAME/``."""
    text = f"source:\n  files: {{path: landing/{name}/, format: {form}}}\n"
    return {f"bronze/{name}.yaml": text + (f"columns: {{{columns}}}\n" if columns else "")}


def lines(*values: str) -> str:
    return "\n".join([*values, ""])


CHANGES = "id: int, city: string, op: string, at: timestamp_ntz"
KEYED = "from: bronze.{}\nkey: [id]\nlatest_by: [at]\ndelete_when: op = 'D'\n"

REPORTS = {
    "zeros_far_behind": Report(
        "ClickHouse 120634: a quoted JSON text behind the sampled rows became a number, and '007' became 7",
        bronze("zeros_far_behind", "json"),
        ({"a.json": lines(*['{"a": 1}'] * 12_000, '{"a": "007"}')},),
        {"zeros_far_behind": [(1,)] * 12_000},
        {"zeros_far_behind": ["a: not a bigint: '007'"]},
    ),
    "versions_far_behind": Report(
        "apple-health-mcp 23: a number for the first rows, then 11.0.1: two thirds of the rows were gone",
        bronze("versions_far_behind", "csv"),
        ({"a.csv": lines("v", *["10.5"] * 12_000, "11.0.1", "10.50")},),
        {"versions_far_behind": [(10.5,)] * 12_001},
        {"versions_far_behind": ["v: not a double: '11.0.1'"]},
    ),
    "phones": Report(
        "DuckDB 1014: phone numbers with a plus sign behind ones without",
        bronze("phones", "csv"),
        ({"a.csv": lines("phone", "99999999", "0088888888", "+55(85)99999")},),
        {"phones": [("+55(85)99999",), ("0088888888",), ("99999999",)]},
    ),
    "types_by_batch": Report(
        "texera 6279: whole rows vanished where one cell did not fit the type of the first rows",
        bronze("types_by_batch", "csv"),
        ({"a.csv": lines("id,age", "1,40", "2,")}, {"b.csv": lines("id,age", "3,forty", "4,41")}),
        {"types_by_batch": [(1, 40), (2, None), (4, 41)]},
        {"types_by_batch": ["age: not a bigint: 'forty'"]},
    ),
    "days_first": Report(
        "duckle 3: days before months were read as months, although a text was declared",
        bronze("days_first", "csv", "day: string"),
        ({"a.csv": lines("day", "03/04/24", "31/12/24")},),
        {"days_first": [("03/04/24",), ("31/12/24",)]},
    ),
    "same_again": Report(
        "dlt 971: an unchanged, unsorted extract added rows again at each load",
        bronze("same_again", "csv", "id: int, at: timestamp_ntz"),
        (
            {"a.csv": lines("id,at", "2,2024-05-02", "1,2024-05-01", "3,2024-05-02")},
            {},
            {"a.csv": lines("id,at", "2,2024-05-02", "1,2024-05-01", "3,2024-05-02")},
        ),
        {"same_again": [(at, datetime(2024, 5, day)) for at, day in ((1, 1), (2, 2), (3, 2))]},
    ),
    "behind_the_cursor": Report(
        "dlt 2479: a change whose time lies before the newest time seen was never applied",
        {**bronze("behind_the_cursor", "csv", CHANGES),
            "silver/behind_the_cursor.yaml": KEYED.format("behind_the_cursor")},
        (
            {"a.csv": lines("id,city,op,at", "1,Oslo,U,2024-05-01 00:00", "2,Rome,U,2024-05-09 00:00")},
            {"b.csv": lines("id,city,op,at", "1,Bergen,U,2024-05-02 00:00")},
        ),
        {"silver.behind_the_cursor": [(1, "Bergen", "U", datetime(2024, 5, 2)),
            (2, "Rome", "U", datetime(2024, 5, 9))]},
    ),
    "null_in_key": Report(
        "dbt-core 7873, PostHog 75601: NULL in one column of a key made a new row at every load",
        {**bronze("null_in_key", "csv", "a: int, b: int, n: int"),
            "silver/null_in_key.yaml": "from: bronze.null_in_key\nkey: [a, b]\n"},
        ({"a.csv": lines("a,b,n", "1,,1", "1,2,1")}, {"b.csv": lines("a,b,n", "1,,2", "1,2,2")}),
        {"silver.null_in_key": [(1, 2, 2)]},
        {"silver.null_in_key": ["key column b is null"] * 2},
    ),
    "null_stays_null": Report(
        "Iceberg 9555: a merge turned the NULL time of rows it did not match into 1970-01-01",
        {**bronze("null_stays_null", "csv", "id: int, at: timestamp_ntz"),
            "silver/null_stays_null.yaml": "from: bronze.null_stays_null\nkey: [id]\n"},
        ({"a.csv": lines("id,at", "1,2024-05-01 12:00", "6,")},
            {"b.csv": lines("id,at", "1,2024-05-01 13:00")}),
        {"silver.null_stays_null": [(1, datetime(2024, 5, 1, 13)), (6, None)]},
    ),
    "deleted_and_back": Report(
        "dbt-core 11949, 5867: a deleted row that came back left rows of NULLs and ended before it began",
        {**bronze("deleted_and_back", "csv", CHANGES),
            "silver/deleted_and_back.yaml": KEYED.format("deleted_and_back")
            + "history: type2\ntrack: [city]\n"},
        (
            {"a.csv": lines("id,city,op,at", "1,Oslo,U,2024-05-01 12:00", "2,Rome,U,2024-05-01 12:00")},
            {"b.csv": lines("id,city,op,at", "1,,D,2024-05-02 12:00")},
            {"c.csv": lines("id,city,op,at", "1,Oslo,U,2024-05-03 12:00", "2,,D,2024-05-01 06:00")},
        ),
        {"silver.deleted_and_back(id,city,valid_from,valid_to,is_current)": [
            (1, "Oslo", NOON, datetime(2024, 5, 2, 12), False),
            (1, "Oslo", datetime(2024, 5, 3, 12), None, True),
            (2, "Rome", NOON, None, True),
        ]},
    ),
    "unchanged_stays_current": Report(
        "dbt-databricks 1281: rows that did not change were closed when others were deleted",
        {
            "bronze/unchanged_stays_current.yaml": "source:\n  files: {path:"
                                                   " landing/unchanged_stays_current/, format: csv,"
                                                   " snapshot: {column: day}}\n"
            "columns: {id: int, name: string, day: date}\n",
            "silver/unchanged_stays_current.yaml": "from: bronze.unchanged_stays_current\nkey: [id]\n"
                                                   "history: type2\ntrack: [name]\n",
        },
        (
            {"a.csv": lines("id,name,day", *(f"{at},n{at},2024-05-01" for at in range(1, 6)))},
            {"b.csv": lines("id,name,day", *(f"{at},n{at},2024-05-02" for at in (1, 2, 5)))},
        ),
        {"silver.unchanged_stays_current(id,is_current)": [
            (1, True), (2, True), (3, False), (4, False), (5, True)]},
    ),
}  # fmt: skip


@pytest.mark.in_turn
def test_reported_losses_of_other_tools(make_shop: MakeShop) -> None:
    tables = {f"tables/{name}": text for report in REPORTS.values() for name, text in report.tables.items()}
    shop = make_shop(tables, approves=True)
    for batch in range(max(len(report.batches) for report in REPORTS.values())):
        for name, report in REPORTS.items():
            for file, content in (report.batches[batch] if batch < len(report.batches) else {}).items():
                shop.land(f"landing/{name}/{file}", content)
        shop.must_run()

    for report in REPORTS.values():
        for table, expected in report.rows.items():
            name, _, columns = table.rstrip(")").partition("(")
            name = name if "." in name else f"bronze.{name}"
            found = shop.rows(name, *filter(None, columns.split(",")))
            assert found == in_order(expected), report.source
            reasons = [why for row in shop.quarantine(name) for why in row["reasons"]]
            assert reasons == report.reasons.get(table, []), report.source
