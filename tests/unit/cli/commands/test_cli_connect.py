"""``lakesmith connect`` on a project's folder: what it asks, what it shows, and what it never shows."""

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from lake import FILES, IcebergLake
from pyiceberg.catalog.sql import SqlCatalog
from shop import Cli

from lakesmith.catalog.protocol import Catalog
from lakesmith.connect.read import read_lake
from lakesmith.connect.registry import ALL, engine_named
from lakesmith.connect.render import snippet
from lakesmith.errors import EnvironmentProblem, Problem
from postgres_server import running

TARGETS = """\
name: shop
default_target: local
targets:
  local: {}
  glue:
    catalog: {type: glue, warehouse: "s3://${BUCKET}/w", client.access-key-id: "${KEY_ID}",
              client.secret-access-key: "${KEY}"}
  tables: {catalog: {type: s3tables, warehouse: "${TABLE_BUCKET}"}}
  rest:
    catalog: {type: rest, uri: "https://${HOST}/api", credential: "${LOGIN}", header.X-Api-Key: in-the-file}
  token: {catalog: {type: rest, uri: "https://me:in-the-file@example.com/api", token: in-the-file}}
  database:
    catalog: {type: jdbc, uri: "jdbc:postgresql://127.0.0.1:1/lake?user=u&password=in-the-file",
              jdbc.password: "${PASSWORD}"}
  file: {catalog: {type: jdbc, uri: "jdbc:sqlite:${LAKE}/catalog.db", warehouse: "${LAKE}/warehouse"}}
"""
SECRETS = {
    "BUCKET": "s3cr3t-bucket", "KEY_ID": "s3cr3t-id", "KEY": "s3cr3t'key",
    "TABLE_BUCKET": "arn:aws:s3tables:eu-central-1:123456789012:bucket/s3cr3t", "HOST": "s3cr3t.example.com",
    "LOGIN": "s3cr3t:login", "PASSWORD": "s3cr3t/password",
}  # fmt: skip
NAMES = ("local", "glue", "tables", "rest", "token", "database", "file")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> IcebergLake:
    """A project with bronze.orders and silver.orders built, gold.number not."""
    made = IcebergLake(tmp_path_factory.mktemp("made") / "s3cr3t-folder")
    made.write("bronze.orders")
    made.write("silver.orders")
    return made


@pytest.fixture
def lake(made: IcebergLake) -> IcebergLake:
    """The project with its files as they were: what is in the lake no case changes."""
    shutil.rmtree(made.root / "tables/raw", ignore_errors=True)
    for name, text in {**FILES, "lakesmith.yaml": TARGETS}.items():
        (made.root / name).write_text(text)
    return made


@pytest.mark.parametrize("target", NAMES)
def test_nothing_of_the_environment_and_no_secret_is_shown(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    for name, value in {**SECRETS, "LAKE": str(lake.root / ".lakesmith")}.items():
        monkeypatch.setenv(name, value)
    for engine in ALL:
        said = cli("connect", engine.name, "--project", lake.root, "--target", target)
        assert said.code in (0, 2)
        assert bool(said.out) == (said.code == 0)
        assert "in-the-file" not in said.out + said.err, engine.name
        assert target == "local" or "s3cr3t" not in said.out + said.err, engine.name


@pytest.mark.parametrize("target", [name for name in NAMES if name not in ("database", "file")])
def test_no_variable_has_to_be_set_where_no_catalog_is_asked(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    for name in SECRETS:
        monkeypatch.delenv(name, raising=False)
    said = cli("connect", "duckdb", "--project", lake.root, "--target", target)
    assert (said.code, said.err) == (0, "")


def test_a_variable_that_is_needed_to_ask_the_catalog_is_said(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAKE", raising=False)
    said = cli("connect", "duckdb", "--project", lake.root, "--target", "file")
    assert (said.code, said.out) == (2, "")
    assert "LS107" in said.err
    assert "the environment variable LAKE is not set" in said.err


def test_the_catalog_is_asked_for_metadata_files(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE", str(lake.root / ".lakesmith"))
    said = cli("connect", "duckdb", "--project", lake.root, "--target", "file")
    file = lake.entries()["silver.orders"].removeprefix(str(lake.root / ".lakesmith"))
    assert f"iceberg_scan('file://${{LAKE}}{file}')" in said.out
    assert "not built yet, and left out: gold.number" in said.out
    assert "environment variables: LAKE" in said.out


def text_for_trino(lake: IcebergLake, opened: Callable[[], Catalog]) -> str:
    engine = engine_named("trino")
    return snippet(engine, read_lake(engine, lake.root, "rest", (), opened))


def test_tables_of_a_shared_catalog_have_the_formats_that_they_declare(lake: IcebergLake) -> None:
    def refuses() -> Catalog:
        raise EnvironmentProblem(Problem("LS325", "the rest catalog does not answer"))

    assert "format 3" not in text_for_trino(lake, refuses)
    (lake.root / "tables/_defaults.yaml").write_text("format_version: 3\n")
    assert "format 3 (bronze.orders, gold.number, silver.orders):" in text_for_trino(lake, refuses)


def test_the_snippet_as_data(cli: Cli, lake: IcebergLake) -> None:
    words = ("--project", lake.root, "--target", "local", "--json")
    data = json.loads(cli("connect", "pyiceberg", *words).out)
    assert set(data) == {"engine", "target", "text", "runs_here"}
    assert (data["engine"], data["target"], data["runs_here"]) == ("pyiceberg", "local", True)
    assert data["text"] == cli("connect", "pyiceberg", *words[:-1]).out.rstrip("\n")
    assert json.loads(cli("connect", "redshift", *words[:3], "tables", "--json").out)["runs_here"] is False


@pytest.mark.parametrize(
    ("chosen", "there"),
    [
        (("silver.orders",), ["silver.orders"]),
        (("bronze.*",), ["bronze.orders"]),
        (("bronze.orders", "silver.orders"), ["bronze.orders", "silver.orders"]),
    ],
)
def test_tables_can_be_chosen(cli: Cli, lake: IcebergLake, chosen: tuple[str, ...], there: list[str]) -> None:
    options = [word for name in chosen for word in ("--table", name)]
    out = cli("connect", "pyiceberg", "--project", lake.root, *options).out
    assert [
        name
        for name in ("bronze.orders", "silver.orders")
        if str(tuple(name.split("."))).replace("'", '"') in out
    ] == there


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("duckdb", "--table", "silver.customer"), "LS201", "silver.customer"),
        (("duckdb", "--table", "gold.number"), "LS253", "gold.number: not built yet"),
        (("athena",), "LS252", "Athena cannot read the tables of target 'local'"),
        (("starrocks", "--target", "file"), "LS252", "it reads no SQLite file"),
        (("abacus",), "LS254", "one of duckdb, pyiceberg, spark, trino"),
    ],
)
def test_what_cannot_be_shown_is_said(
    cli: Cli, lake: IcebergLake, words: tuple[str, ...], code: str, text: str
) -> None:
    said = cli("connect", *words, "--project", lake.root)
    assert (said.code, said.out) == (2, "")
    assert code in said.err
    assert text in said.err
    data = json.loads(cli("connect", *words, "--project", lake.root, "--json").out)
    assert (data["problems"][0]["code"], data["exit_code"]) == (code, 2)


def test_tables_of_others_are_left_out(cli: Cli, lake: IcebergLake) -> None:
    (lake.root / "tables/raw").mkdir()
    (lake.root / "tables/raw/sales.yaml").write_text("external: {table: bronze.orders}\n")
    assert "raw" not in cli("connect", "duckdb", "--project", lake.root).out.split("INSTALL")[1]


def test_the_text_for_pyiceberg_reads_a_catalog_in_postgresql(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running() as url:
        monkeypatch.setenv("PASSWORD", "p@ss/word")
        host, folder = url.partition("host=")[2], f"{lake.root}/.lakesmith/warehouse"
        settings = f'uri: "jdbc:postgresql:///postgres?host={host}", warehouse: {folder}'
        catalog = f'{{type: jdbc, jdbc.user: postgres, jdbc.password: "${{PASSWORD}}", {settings}}}'
        (lake.root / "lakesmith.yaml").write_text(
            f"name: shop\ntargets: {{shared: {{catalog: {catalog}}}}}\n"
        )
        made = SqlCatalog("lake", uri=url.replace(":@", "@"))
        for table, location in lake.entries().items():
            made.create_namespace_if_not_exists(table.partition(".")[0])
            made.register_table(table, location)
        text = cli("connect", "pyiceberg", "--project", lake.root).out.partition("print(")[0]
        names: dict[str, Any] = {}
        exec(text, names)
        rows = {name: table.scan().to_arrow().to_pylist() for name, table in names["tables"].items()}
    # gold.number is declared and not built: nobody asked the catalog, the text does.
    assert "p@ss" not in text
    assert rows == {"bronze.orders": [{"id": 1}], "silver.orders": [{"id": 1}]}
