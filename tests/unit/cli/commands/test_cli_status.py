"""``status``, ``explain`` and ``history`` on a lake of metadata files: they say what is there."""

import dataclasses
import json
import shutil

import pytest
from shop import T0, Cli, Shop

from lakesmith.api.words import ago, duration, moment, size
from lakesmith.catalog.record import Account, Pin
from lakesmith.graph.graph import load
from lakesmith.plan.facts import as_recorded
from lakesmith.plan.fingerprint import definition_fingerprint
from lakesmith.project.definitions import TableName
from lakesmith.serve.state import Board, this_process
from lakesmith.sources.model import FileAction


def fingerprint(shop: Shop, table: str) -> str:
    """The fingerprint of a table's definition as it is now."""
    project, _ = load(shop.root)
    return definition_fingerprint(project.table(TableName.parse(table)))


def built(shop: Shop) -> tuple[int, int]:
    """Two batches of bronze, of which silver has read both. Returns the heads of the two."""
    files = [shop.land("1.csv"), shop.land("2.csv")]
    shop.batch("bronze.orders", 1, 10, files=1)
    pin = shop.ledger("bronze.orders", (files[0], FileAction.TAKEN, 1), (files[1], FileAction.TAKEN, 2))
    bronze = shop.batch("bronze.orders", 2, 10, files=1, sidecars={"files": pin})
    silver = shop.batch(
        "silver.customers",
        1,
        18,
        kind="full",
        fingerprint=fingerprint(shop, "silver.customers"),
        inputs={"bronze.orders": Pin("uuid-of-bronze.orders", bronze)},
        checks={'IsComplete "name"': 2},
        account=Account(read=20, inserted=18, superseded=1, quarantined=1, rows_after=18),
        sidecars={"quarantine": Pin("uuid-of-lakesmith.silver__customers__quarantine", 3001)},
    )
    shop.commit("lakesmith.silver__customers__quarantine", total_records=1, added_records=1)
    return bronze, silver


def test_nothing_run_yet(cli: Cli, shop: Shop) -> None:
    said = cli("status", "--project", shop.root, "--json")
    assert said.code == 0
    assert [(t["table"], t["status"]) for t in said.data["tables"]] == [
        ("bronze.orders", "up_to_date"),
        ("silver.customers", "behind"),
        ("gold.customers_by_city_month", "behind"),
    ]
    assert said.data["tables"][0]["why"] == "no file has arrived yet"
    assert said.data["tables"][0]["batch"] is None


def test_up_to_date_and_why(cli: Cli, shop: Shop) -> None:
    built(shop)
    said = cli("status", "bronze.*", "silver.*", "--project", shop.root)
    lines = said.out.splitlines()
    assert said.code == 0
    assert lines[0].split() == ["table", "state", "batch", "published", "rows", "quarantined", "why"]
    assert lines[1].startswith("bronze.orders     up to date")
    assert lines[1].split()[4] == "2"
    assert lines[1].endswith("20            0  all 2 files were ingested already")
    assert lines[2].endswith("18            1  its inputs have not changed")
    assert lines[-1] == "everything is up to date"


def test_a_file_that_was_skipped_was_not_taken(cli: Cli, shop: Shop) -> None:
    files = [shop.land("1.csv"), shop.land("poison.csv")]
    pin = shop.ledger("bronze.orders", (files[0], FileAction.TAKEN, 1), (files[1], FileAction.SKIPPED, 1))
    shop.batch("bronze.orders", 1, 10, files=1, sidecars={"files": pin})
    (bronze,) = cli("status", "bronze.*", "--project", shop.root, "--json").data["tables"]
    assert bronze["status"] == "up_to_date"
    assert bronze["why"] == "1 file was ingested already, 1 skipped"


def test_a_waiting_file_makes_everything_below_it_behind(cli: Cli, shop: Shop) -> None:
    built(shop)
    shop.land("3.csv")
    shop.land("4.csv")
    tables = cli("status", "--project", shop.root, "--json").data["tables"]
    assert tables[0]["why"] == "2 new files waiting"
    assert tables[0]["files_waiting"] == 2
    assert tables[1]["why"] == "bronze.orders is behind"
    assert {table["status"] for table in tables} == {"behind"}
    # A table is behind, too, when only it was asked for.
    (only,) = cli("status", "silver.customers", "--project", shop.root, "--json").data["tables"]
    assert (only["status"], only["why"]) == ("behind", "bronze.orders is behind")


def test_rows_new_in_an_input(cli: Cli, shop: Shop) -> None:
    bronze, _ = built(shop)
    head = shop.batch("bronze.orders", 3, 7)
    (silver,) = cli("status", "silver.customers", "--project", shop.root, "--json").data["tables"]
    assert silver["why"] == "7 new rows in bronze.orders"
    (position,) = silver["inputs"]
    assert position["table"] == "bronze.orders"
    assert (position["recorded"], position["recorded_batch"]) == (bronze, 2)
    assert (position["head"], position["head_batch"]) == (head, 3)
    assert (position["change"], position["new_rows"]) == ("appended", 7)


def test_an_edit_is_told_before_the_rows_that_are_new_as_well(cli: Cli, shop: Shop) -> None:
    built(shop)
    shop.batch("bronze.orders", 3, 7)
    file = shop.root / "tables/silver/customers.sql"
    file.write_text(file.read_text() + "\nWHERE customer_id > 0\n")
    (silver,) = cli("status", "silver.customers", "--project", shop.root, "--json").data["tables"]
    assert silver["why"] == "its definition has changed; 7 new rows in bronze.orders"


def test_rows_that_another_tool_changed(cli: Cli, shop: Shop) -> None:
    built(shop)
    foreign = shop.commit(
        "bronze.orders", "delete", total_records=15, deleted_data_files=1, total_data_files=1
    )
    bronze, silver = cli("status", "bronze.*", "silver.*", "--project", shop.root, "--json").data["tables"]
    assert f"another tool changed its rows: snapshot {foreign} (delete)" in bronze["notes"]
    assert bronze["rows"] == 15
    assert silver["status"] == "behind"
    assert silver["inputs"][0]["change"] == "changed"


def test_a_batch_that_did_not_end(cli: Cli, shop: Shop) -> None:
    built(shop)
    shop.refer("bronze.orders", "lakesmith_work_0123456789abcdef", 1001)
    (bronze,) = cli("status", "bronze.orders", "--project", shop.root, "--json").data["tables"]
    assert [note for note in bronze["notes"] if "1 unpublished batch under way or left behind" in note]
    assert bronze["status"] == "up_to_date"


def test_a_table_whose_record_is_gone_is_refused(cli: Cli, shop: Shop) -> None:
    shop.commit("bronze.orders", total_records=3)
    said = cli("status", "bronze.orders", "--project", shop.root)
    assert said.code == 1
    assert "refused" in said.out
    assert "LS501" in said.out
    assert said.out.splitlines()[-1] == "1 table refused"


def test_a_table_that_cannot_be_read_does_not_hide_the_others(cli: Cli, shop: Shop) -> None:
    built(shop)
    for file in (shop.root / ".lakesmith/warehouse").glob("silver.customers-*"):
        file.write_text("{broken")
    said = cli("status", "--project", shop.root, "--json")
    tables = {table["table"]: table for table in said.data["tables"]}
    assert said.code == 1
    assert tables["bronze.orders"]["status"] == "up_to_date"
    assert tables["silver.customers"]["problem"]["code"] == "LS504"
    assert tables["gold.customers_by_city_month"]["status"] == "refused"


def test_explain_says_how_and_why_not_better(cli: Cli, shop: Shop) -> None:
    bronze, _ = built(shop)
    said = cli("explain", "silver.customers", "--project", shop.root)
    assert said.code == 0
    for line in (
        "upsert: the query runs over the rows that are new in bronze.orders;"
        " of each key the newest version wins",
        "up to date: its inputs have not changed",
        "18 rows, 1 in quarantine",
        f"bronze.orders  read up to batch 2, snapshot {bronze}  nothing new",
        "read 20: 18 inserted, 1 superseded, 1 quarantined; 18 rows now",
        'IsComplete "name"  (2 rows broke it in the last batch)',
    ):
        assert line in said.out
    assert "key          customer_id, email" in said.out
    assert "tables/silver/customers.yaml:2" in said.out
    assert "why not less" not in said.out


def test_explain_what_is_recomputed(cli: Cli, shop: Shop) -> None:
    said = cli("explain", "gold.customers_by_city_month", "--project", shop.root, "--json").data
    assert said["refresh"]["strategy"] == "keys"
    assert said["refresh"]["why"].startswith("GROUP BY city")
    assert [column["name"] for column in said["columns"]] == ["city", "month", "customers"]
    (shop.root / "tables/gold/all.sql").write_text("SELECT count(*) AS customers FROM silver.customers")
    refresh = cli("explain", "gold.all", "--project", shop.root, "--json").data["refresh"]
    assert refresh["strategy"] == "full"
    assert (
        refresh["why"]
        == "the aggregate count at line 1; not incremental by key: one row for all rows of the input"
    )
    assert refresh["better"]


@pytest.mark.parametrize(
    ("query", "against", "better"),
    [
        ("SELECT max(name) AS name FROM silver.customers", "one row for all rows", "group by something"),
        ("SELECT city FROM silver.customers ORDER BY name LIMIT 3", "LIMIT", "rank by key instead"),
        (
            "SELECT city, rank() OVER (ORDER BY name) AS nth FROM silver.customers",
            "a window function without PARTITION BY",
            "a PARTITION BY",
        ),
        (
            "SELECT city FROM silver.customers WHERE name = (SELECT max(name) FROM bronze.orders)",
            "a subquery in an expression",
            "a join (LEFT SEMI JOIN for EXISTS and IN)",
        ),
        (
            "SELECT a.city FROM silver.customers a FULL JOIN bronze.orders b ON a.email = b.email",
            "FULL JOIN",
            "a query that groups, joins, ranks by key",
        ),
        ("SELECT city, count(*) AS n, now() AS at FROM silver.customers GROUP BY city", "now", "leave out"),
    ],
    ids=["no groups", "limit", "no partition", "subquery", "full join", "clock"],
)
def test_explain_says_what_would_allow_a_better_way(
    cli: Cli, shop: Shop, query: str, against: str, better: str
) -> None:
    (shop.root / "tables/gold/asked.sql").write_text(query)
    refresh = cli("explain", "gold.asked", "--project", shop.root, "--json").data["refresh"]
    assert refresh["strategy"] == "full"
    assert against in refresh["why"]
    assert refresh["better"].startswith(better)


def test_explain_says_what_the_last_batch_found_out(cli: Cli, shop: Shop) -> None:
    """What only Spark's plan shows is kept with the table, and not tried again."""
    (shop.root / "tables/gold/counts.sql").write_text(
        "SELECT count(*) AS n FROM silver.customers GROUP BY city"
    )
    refused = as_recorded({"keys": "no column of its result tells which rows a change reaches"})
    shop.batch("gold.counts", 1, 3, fingerprint=fingerprint(shop, "gold.counts"), refused=refused)
    refresh = cli("explain", "gold.counts", "--project", shop.root, "--json").data["refresh"]
    assert refresh["strategy"] == "full"
    assert refresh["why"].endswith(
        "not incremental by key: no column of its result tells which rows a change reaches"
    )
    assert refresh["better"] == "the columns that it groups by, or is joined by, in its result"


def test_explain_a_row_wise_query_over_a_table_that_changes(cli: Cli, shop: Shop) -> None:
    (shop.root / "tables/gold/names.sql").write_text("SELECT customer_id, name FROM silver.customers")
    refresh = cli("explain", "gold.names", "--project", shop.root, "--json").data["refresh"]
    assert refresh["strategy"] == "keys"
    assert "rows of silver.customers are updated" in refresh["why"]
    (shop.root / "tables/gold/cities.sql").write_text("SELECT city FROM bronze.orders")
    refresh = cli("explain", "gold.cities", "--project", shop.root, "--json").data["refresh"]
    assert (refresh["strategy"], refresh["why"]) == ("append", None)


def test_explain_a_table_that_keeps_versions(cli: Cli, shop: Shop) -> None:
    (shop.root / "tables/gold/past.yaml").write_text(
        "query: SELECT customer_id, city, processed_time FROM bronze.orders\n"
        "key: [customer_id]\nlatest_by: [processed_time]\nhistory: type2\ntrack: [city]\n"
    )
    said = cli("explain", "gold.past", "--project", shop.root, "--json").data
    assert said["refresh"]["strategy"] == "upsert"
    assert "a key to which a late one comes is computed from all of bronze.orders" in said["refresh"]["how"]
    assert [column["name"] for column in said["columns"]][3:] == ["valid_from", "valid_to", "is_current"]
    settings = {setting["name"]: setting["value"] for setting in said["settings"]}
    assert (settings["history"], settings["track"]) == ("type2", "city")


def test_explain_what_differs_from_run_to_run(cli: Cli, shop: Shop) -> None:
    (shop.root / "tables/gold/seen.sql").write_text("SELECT city,\n  now() AS seen FROM bronze.orders")
    said = cli("explain", "gold.seen", "--project", shop.root)
    assert "now at line 2 differs from run to run" in said.out.lower()


def test_explain_a_python_table(cli: Cli, shop: Shop) -> None:
    (shop.root / "tables/gold/names.py").write_text(
        "def build(orders):\n    return orders.select('customer_id')\n"
    )
    (shop.root / "tables/gold/names.yaml").write_text(
        "inputs: {orders: bronze.orders}\nfunction: build\ndeterministic: true\n"
    )
    said = cli("explain", "gold.names", "--project", shop.root).out
    assert "append: the query runs over the rows that are new in bronze.orders" in said
    assert "not certain: it is Python" in said
    assert "inputs         orders: bronze.orders" in said
    assert "function       build in tables/gold/names.py" in said
    assert "not built yet" in said


def test_explain_a_python_table_that_declares_nothing(cli: Cli, shop: Shop) -> None:
    (shop.root / "tables/gold/names.py").write_text("def names(bronze__orders):\n    return bronze__orders\n")
    refresh = cli("explain", "gold.names", "--project", shop.root, "--json").data["refresh"]
    assert refresh["strategy"] == "full"
    assert refresh["why"].endswith("it does not declare deterministic: true")
    assert refresh["better"] == "deterministic: true, if its rows depend on its inputs alone"


def test_explain_shows_where_settings_come_from(cli: Cli, shop: Shop) -> None:
    (shop.root / "tables/bronze/_defaults.yaml").write_text("owner: shop team\n")
    settings = cli("explain", "bronze.orders", "--project", shop.root, "--json").data["settings"]
    assert {"name": "owner", "value": "shop team", "place": "tables/bronze/_defaults.yaml:1"} in settings
    assert {
        "name": "source.files.pattern", "value": "*.csv", "place": "tables/bronze/orders.yaml:3",
    } in settings  # fmt: skip


def test_history_newest_first_with_what_was_read(cli: Cli, shop: Shop) -> None:
    bronze, silver = built(shop)
    said = cli("history", "silver.customers", "--project", shop.root)
    assert f"{silver}  batch 1 (full): read 20: 18 inserted" in said.out
    assert f"read bronze.orders in full, at snapshot {bronze}" in said.out

    head = shop.batch("bronze.orders", 3, 7)
    new = shop.batch(
        "silver.customers", 2, 7, kind="upsert", inputs={"bronze.orders": Pin("uuid-of-bronze.orders", head)}
    )
    points = cli("history", "silver.customers", "--project", shop.root, "--json").data
    assert [point["snapshot"] for point in points] == [new, silver]
    assert [point["is_head"] for point in points] == [True, False]
    assert points[0]["read"] == [f"read bronze.orders after snapshot {bronze}, up to {head}"]
    assert points[0]["record"]["batch"] == 2


@pytest.mark.parametrize(
    ("kind", "what"),
    [("keys", "the rows of its keys"), ("sums", "the groups of which that does not tell all")],
)
def test_what_a_refresh_by_keys_or_sums_read(cli: Cli, shop: Shop, kind: str, what: str) -> None:
    bronze, _ = built(shop)
    head = shop.batch("bronze.orders", 3, 7)
    inputs = {"bronze.orders": Pin("uuid-of-bronze.orders", head)}
    shop.batch("silver.customers", 2, 7, kind=kind, inputs=inputs)
    (point, _) = cli("history", "silver.customers", "--project", shop.root, "--json").data
    assert point["record"]["kind"] == kind
    assert point["what"].startswith(f"batch 2 ({kind}): ")
    assert point["read"] == [f"read bronze.orders at snapshot {head}, what changed since {bronze} and {what}"]
    (status,) = cli("status", "silver.customers", "--project", shop.root, "--json").data["tables"]
    assert status["batch"] == 2


def test_explain_a_table_whose_input_cannot_be_read(cli: Cli, shop: Shop) -> None:
    built(shop)
    for file in (shop.root / ".lakesmith/warehouse").glob("silver.customers-*.metadata.json"):
        file.unlink()
    said = cli("explain", "gold.customers_by_city_month", "--project", shop.root)
    assert "incremental by key or aggregate: the rows that changed in silver.customers" in said.out


def test_history_of_what_was_never_written(cli: Cli, shop: Shop) -> None:
    said = cli("history", "silver.customers", "--project", shop.root)
    assert (said.code, said.out) == (0, "silver.customers has never been written\n")


def test_history_shows_so_many(cli: Cli, shop: Shop) -> None:
    for number in range(1, 26):
        shop.batch("bronze.orders", number, 1)
    assert (
        "(5 earlier points: --limit 0 shows all)"
        in cli("history", "bronze.orders", "--project", shop.root).out
    )
    every = cli("history", "bronze.orders", "--project", shop.root, "--limit", "0", "--json").data
    assert [point["batch"] for point in every] == list(range(25, 0, -1))


def test_words_for_numbers() -> None:
    assert [ago(0, s * 1000) for s in (0, 11, 61, 3600, 86_400 * 30)] == [
        "just now", "11 s ago", "1 min ago", "1 h ago", "30 d ago",
    ]  # fmt: skip
    assert moment(T0) == "2026-05-28 20:26:40 UTC"
    assert [size(n) for n in (0, 999, 1500, 3_200_000_000)] == ["0 B", "999 B", "1.5 KB", "3.2 GB"]
    assert duration(125) == "2 min 05 s"


def test_accounts_have_no_field_that_history_leaves_out() -> None:
    known = {"read", "inserted", "updated", "deleted", "unchanged", "superseded", "filtered", "quarantined"}
    fields = {field.name for field in dataclasses.fields(Account)}
    assert fields == known | {"absent_deletes", "rounded", "rows_before", "rows_after", "versions"}


CRM = """source:
  postgres: {connection: CRM_URL, table: public.customers, key: [id]}
columns: {id: bigint, name: string}
"""


def only(shop: Shop, name: str, text: str) -> None:
    """The project has this table alone."""
    shutil.rmtree(shop.root / "tables")
    (shop.root / f"tables/{name}").parent.mkdir(parents=True)
    (shop.root / f"tables/{name}").write_text(text)


def test_a_table_in_postgresql_is_not_called_up_to_date_before_it_is_read(
    cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(shop, "bronze/crm.yaml", CRM)
    monkeypatch.setenv("CRM_URL", "postgresql://lake@127.0.0.1:1/shop")
    said = "a run reads public.customers in PostgreSQL first; what changed there is not known before"
    for command in ("plan", "status"):
        found = cli(command, "--project", shop.root)
        assert f"note: bronze.crm: {said}" in found.out
        assert found.out.splitlines()[-1] == {
            "plan": "nothing else to do: what there is to read in PostgreSQL, a run finds out",
            "status": "nothing is behind that is known here:"
            " what there is to read in PostgreSQL, a run finds out",
        }[command]  # fmt: skip
        (table,) = cli(command, "--project", shop.root, "--json").data["tables"]
        assert said in table["notes"]
    assert said in cli("explain", "bronze.crm", "--project", shop.root).out
    monkeypatch.delenv("CRM_URL")
    assert f"{said}. CRM_URL is not set, so that will fail" in cli("plan", "--project", shop.root).out
    # Read a moment ago: a run would not read it either.
    folder = shop.root / ".lakesmith/intake/bronze.crm/postgres"
    folder.mkdir(parents=True)
    (folder / ".position.json").write_text("{}")
    assert cli("plan", "--project", shop.root).out.splitlines()[-1] == "nothing to do"


def test_tables_that_up_brings_up_to_date_ask_for_no_run(cli: Cli, shop: Shop) -> None:
    assert cli("status", "--project", shop.root).out.splitlines()[-1] == (
        "2 tables behind: lakesmith run refreshes them"
    )
    with Board(shop.root / ".lakesmith", this_process(), dict):
        assert "2 tables behind: lakesmith up refreshes them" in cli("status", "--project", shop.root).out
    killed = dataclasses.replace(this_process(), born="1", written=this_process().since)
    (shop.root / ".lakesmith/up.json").write_text(json.dumps(dataclasses.asdict(killed)))
    assert "2 tables behind: lakesmith run refreshes them" in cli("status", "--project", shop.root).out
