"""``plan``: what is to be done, what it reads and replaces, and what follows from it."""

from dataclasses import replace
from pathlib import Path

import pytest
from shop import Cli, Shop

from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.cli.render import plan_text
from lakesmith.cli.render.plan_text import plan_lines
from lakesmith.errors import Place, Problem
from lakesmith.execute.forecast import Forecast
from lakesmith.graph.graph import load
from lakesmith.plan.cost import UNKNOWN, Amount, Cost
from lakesmith.plan.fingerprint import definition_parts
from lakesmith.plan.outlook import Outlook
from lakesmith.plan.steps import Base, FileIntake, Refused, Strategy, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import FileSource, TableDefinition, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileAction, FileIdentity

PLACE = Place("tables/x.yaml", 1)
RECORD = Record("a", None, 1, "full", 0, "old", Account())
FILE = FileIntake(
    FileSource("files", "landing/", FileFormat.CSV, PLACE), take=(FileIdentity("1.csv", 1200, 0),)
)


def table(name: str) -> TableDefinition:
    return TableDefinition(TableName.parse(name), PLACE)


def step(
    name: str,
    strategy: Strategy,
    why: str,
    cost: Cost,
    intakes: tuple[FileIntake, ...] = (),
    fingerprint: str = "old",
) -> Forecast:
    base = Base("u", 1, RECORD)
    return Forecast(TableStep(table(name), strategy, why, base, fingerprint, intakes=intakes), cost)


FILES = step("bronze.orders", Strategy.FILES, "1 new file", Cost(1, Amount(None, 1200)), (FILE,))
REBUILT = step(
    "silver.customers_of_all_shops",
    Strategy.FULL,
    "its query and its key have changed",
    Cost(reads=Amount(12_400_000, 1_200_000_000), replaces=Amount(999_999, 45_600_000)),
    fingerprint="new",
)
KEYS = step(
    "gold.a",
    Strategy.KEYS,
    "rows of silver.b changed",
    Cost(reads=Amount(12, 900), at_most=Amount(5_000, 60_000)),
)
CURRENT = Forecast(UpToDate(table("bronze.b"), "its inputs have not changed"))
FOLLOWS = Forecast(
    Waiting(table("gold.c"), (TableName("silver", "customers_of_all_shops"),)),
    outlook=Outlook(Strategy.FULL, "all rows of it are replaced", Amount(1_000, 10_000), Amount(1, 800)),
)
OPEN = Forecast(
    Waiting(table("gold.d"), (TableName("gold", "c"),)),
    outlook=Outlook(None, "decided once gold.c is up to date"),
)


PLAN = Path(__file__).with_name("plan.txt").read_text().rstrip()


def test_a_plan_as_a_person_sees_it() -> None:
    assert "\n".join(plan_lines([FILES, CURRENT, REBUILT, KEYS, FOLLOWS, OPEN])) == PLAN


def test_columns_that_nothing_is_in_are_left_out() -> None:
    assert plan_lines([CURRENT]) == ["bronze.b  up to date  its inputs have not changed", "nothing to do"]
    assert plan_lines([FILES, CURRENT]) == [
        "table          how          reads          why",
        "bronze.orders  files       1 file  1.2 KB  1 new file",
        "bronze.b       up to date                  its inputs have not changed",
        "",
        "1 table to refresh: 1 file, 1.2 KB to read",
    ]


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ([REBUILT], "1 table to refresh: 12,400,000 rows, 1.2 GB to read; 1 is rebuilt"),
        ([REBUILT, REBUILT], "2 tables to refresh: 24,800,000 rows, 2.4 GB to read; 2 are rebuilt"),
        ([REBUILT, FILES], "2 tables to refresh: 1 file, 12,400,000 rows, 1.2 GB to read; 1 is rebuilt"),
        ([KEYS], "1 table to refresh: up to 5,000 rows, 60.0 KB to read"),
        ([FILES, FOLLOWS], "2 tables to refresh: 1 file, about 1,000 rows, 11.2 KB to read"),
        ([FILES, OPEN], "2 tables to refresh: 1 file, at least 1.2 KB to read"),
        ([step("gold.e", Strategy.ADVANCE, "", Cost())], "1 table to refresh: 0 rows, 0 B to read"),
        (
            [step("gold.e", Strategy.FULL, "", Cost(reads=UNKNOWN))],
            "1 table to refresh: at least 0 rows, 0 B to read",
        ),
    ],
)
def test_the_sums(plan: list[Forecast], words: str) -> None:
    assert plan_lines(plan)[-1] == words


def test_what_waits_for_what_cannot_be_built_has_no_sums() -> None:
    waiting = Forecast(Waiting(table("silver.a"), (TableName("bronze", "b"),)))
    assert plan_lines([waiting]) == [
        "silver.a  waits  there is no batch yet of bronze.b",
        "nothing to do yet",
    ]
    refused = Forecast(Refused(table("silver.a"), Problem("LS501", "no record", hint="rebuild it")))
    assert plan_lines([refused]) == [
        "silver.a  refused  no record", "  LS501 no record", "      to do: rebuild it",
    ]  # fmt: skip


def test_a_narrow_terminal_gets_a_paragraph_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_text, "terminal_width", lambda: 90)
    assert plan_lines([REBUILT, KEYS, FOLLOWS, CURRENT])[:-2] == [
        "silver.customers_of_all_shops: full, its query and its key have changed",
        "  reads 12,400,000 rows, 1.2 GB; replaces 999,999 rows, 45.6 MB",
        "gold.a: incremental by key or aggregate, rows of silver.b changed",
        "  reads 12 to 5,000 rows, 900 B to 60.0 KB",
        "gold.c: follows (full), all rows of it are replaced",
        "  reads about 1,000 rows, 10.0 KB; replaces 1 row, 800 B",
        "bronze.b: up to date, its inputs have not changed",
    ]


def built(shop: Shop) -> None:
    """Bronze has 20 rows of one file, silver 18 made of them by another definition; gold is not there."""
    counts = {"total_records": 20, "total_data_files": 1, "total_files_size": 2000}
    pin = shop.ledger("bronze.orders", (shop.land("1.csv"), FileAction.TAKEN, 1))
    shop.commit("bronze.orders", added_records=20, **counts)
    bronze = shop.commit(
        "bronze.orders", record=replace(RECORD, kind="files", sidecars={"files": pin}), **counts
    )
    counts = {"total_records": 18, "total_data_files": 1, "total_files_size": 1800}
    shop.commit("silver.customers", added_records=18, **counts)
    inputs = {"bronze.orders": Pin("uuid-of-bronze.orders", bronze)}
    now = definition_parts(load(shop.root, None, {})[0].table(TableName("silver", "customers")))
    made = replace(RECORD, inputs=inputs, definition=now | {"query": "0123456789ab"})
    shop.commit("silver.customers", record=made, **counts)


def test_of_a_project_whose_query_was_edited(cli: Cli, shop: Shop) -> None:
    built(shop)
    said = cli("plan", "--project", shop.root)
    lines = [line for line in said.out.splitlines() if "note:" not in line]
    assert said.code == 0
    assert lines == [
        "table                         how                     reads          replaces          why",
        "bronze.orders                 up to date                                               "
        "the only file was ingested already",
        "silver.customers              full                  20 rows  2.0 KB   18 rows  1.8 KB  its query "
        "has changed",
        "gold.customers_by_city_month  follows (full)  about 18 rows  1.8 KB                    "
        "the table is built for the first time",
        "",
        "2 tables to refresh: about 38 rows, 3.8 KB to read; 1 is rebuilt",
    ]


def test_as_data(cli: Cli, shop: Shop) -> None:
    built(shop)
    shop.land("2.csv", "customer_id\n1\n22\n")
    bronze, silver, gold = cli("plan", "--project", shop.root, "--json").data["tables"]
    assert bronze["cost"] == {
        "files": 1, "reads": {"rows": None, "bytes": 17}, "at_most": None, "replaces": None,
    }  # fmt: skip
    assert silver["decision"] == gold["decision"] == "follows"
    assert silver["expected"] == {
        "strategy": "full", "reason": "its query has changed", "reads": {"rows": 20, "bytes": 2000},
        "replaces": {"rows": 18, "bytes": 1800}, "rebuilds": True,
    }  # fmt: skip
    assert (gold["expected"]["strategy"], gold["expected"]["replaces"]) == ("full", None)
    silver_alone = cli("plan", "silver.*", "--project", shop.root, "--json").data["tables"][0]
    assert silver_alone["cost"]["reads"] == {"rows": 20, "bytes": 2000}
