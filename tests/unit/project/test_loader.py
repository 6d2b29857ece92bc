"""Right projects: what the files say is what the definitions say."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import (
    Column,
    CsvOptions,
    FileSource,
    History,
    Naming,
    ObjectStore,
    OnBadRow,
    OnChangedFile,
    OnInexact,
    OnNewColumn,
    OnTypeChange,
    PostgresSource,
    Project,
    PythonQuery,
    QuotedEmpty,
    Schedule,
    SqlQuery,
    TableDefinition,
    TableName,
)
from lakesmith.project.files import FolderFiles
from lakesmith.project.formats import FileFormat
from lakesmith.project.loader import parse_project
from lakesmith.sql.analysis import analyse
from memory_files import MemoryFiles

ORDERS = "source: {files: {path: landing/orders/, format: csv}}\n"


def loaded(
    files: Mapping[str, str], target: str | None = None, environ: Mapping[str, str] | None = None
) -> Project:
    found = parse_project(MemoryFiles({"lakesmith.yaml": "name: shop\n", **files}), target, environ or {})
    assert found.problems == ()
    return found.project


def table(text: str, **others: str) -> TableDefinition:
    files = {"tables/bronze/orders.yaml": text, **{f"tables/{name}": body for name, body in others.items()}}
    return loaded(files).table(TableName("bronze", "orders"))


def test_a_sourced_table_with_every_option() -> None:
    found = table("""\
description: Orders as they came
owner: shop team
tags: [orders, raw]
source:
  files:
    path: landing/orders/
    pattern: "*.csv.gz"
    format: csv
    header: false
    delimiter: ";"
    quote: "'"
    escape: "\\\\"
    encoding: ISO-8859-1
    null_value: \\N
    quoted_empty: null
    multiline: true
    timestamp_format: dd.MM.yyyy HH:mm
    date_format: dd.MM.yyyy
    min_age: 5 minutes
    on_new_column: ignore
    on_changed_file: replace
    on_inexact: round
    on_type_change: fail
columns:
  order_id: LONG
  price: {type: "decimal(10, 2)", doc: in euros, required: true}
on_bad_row: fail
partition_by: [days(day), "bucket(4,order_id)", "`a b`"]
history: type1
""")

    file = "tables/bronze/orders.yaml"
    csv = CsvOptions(
        header=False,
        delimiter=";",
        quote="'",
        escape="\\",
        encoding="ISO-8859-1",
        null_value="\\N",
        quoted_empty=QuotedEmpty.NULL,
        multiline=True,
        timestamp_format="dd.MM.yyyy HH:mm",
        date_format="dd.MM.yyyy",
    )
    assert found.sources == (
        FileSource(
            name="files",
            path="landing/orders/",
            format=FileFormat.CSV,
            place=Place(file, 5),
            pattern="*.csv.gz",
            csv=csv,
            min_age_seconds=300.0,
            on_new_column=OnNewColumn.IGNORE,
            on_changed_file=OnChangedFile.REPLACE,
            on_inexact=OnInexact.ROUND,
            on_type_change=OnTypeChange.FAIL,
        ),
    )
    assert found.columns == (
        Column("order_id", "bigint", place=Place(file, 25)),
        Column("price", "decimal(10,2)", "in euros", True, Place(file, 26)),
    )
    assert (found.on_bad_row, found.history) == (OnBadRow.FAIL, History.TYPE1)
    assert found.partition_by == ("days(day)", "bucket(4, order_id)", "`a b`")
    assert (found.description, found.owner, found.tags) == (
        "Orders as they came", "shop team", ("orders", "raw"),
    )  # fmt: skip
    assert (found.place, found.query, found.is_sourced) == (Place(file, 1), None, True)


@pytest.mark.parametrize(("written", "overlap"), [("5", "5"), ("0.5", "0.5"), ("10 minutes", "10 minutes")])
def test_an_overlap_is_a_number_or_an_interval(written: str, overlap: str) -> None:
    settings = f"{{connection: SHOP, table: t, key: [id], growing: id, overlap: {written}}}"
    (source,) = table(f"source: {{postgres: {settings}}}\ncolumns: {{id: int}}\n").sources_of(PostgresSource)
    assert source.overlap == overlap


EXPORTS = "source: {{files: {{path: landing/orders/, format: csv, snapshot: {}}}}}\n"


def test_a_keyed_copy_of_full_exports_has_a_query_that_finds_deletes() -> None:
    files = {
        "tables/bronze/orders.yaml": EXPORTS.format("{column: day, max_deletes: 20%}"),
        "tables/silver/now.yaml": "from: bronze.orders\nkey: [id]\n",
        "tables/silver/log.yaml": "from: bronze.orders\n",
    }
    project = loaded(files)
    now, log = (project.table(TableName("silver", name)) for name in ("now", "log"))
    assert (now.latest_by, now.delete_when) == (("_exported_at",), "_change = 'delete'")
    assert now.exports == project.table(TableName("bronze", "orders")).sources[0].snapshot
    assert str(now.exports) == "by day, at most 20% deleted"
    assert isinstance(now.query, SqlQuery)
    assert not analyse(now.query.text).nondeterministic and log.exports is None


@pytest.mark.parametrize(
    ("bronze", "silver", "said"),
    [
        ("{column: day, path: (x)}", "", "in a column, or in its path"),
        ("{format: yyyy}", "", "format is for a time in the path"),
        ("{path: 'a.csv'}", "", "does not match a time"),
        ("true, on_new_column: ignore}}\non_bad_row: quarantine #", "", "would count as deleted"),
        ("true", "latest_by: [at]\n", "full exports determine it"),
    ],
)
def test_what_does_not_go_with_full_exports(bronze: str, silver: str, said: str) -> None:
    files = {
        "lakesmith.yaml": "name: shop\n",
        "tables/bronze/orders.yaml": EXPORTS.format(bronze),
        "tables/silver/now.yaml": f"from: bronze.orders\nkey: [id]\n{silver}",
    }
    problems = parse_project(MemoryFiles(files), None, {}).problems
    assert [said in problem.what for problem in problems] == [True], problems


def test_several_sources_each_with_its_name() -> None:
    found = table("""\
source:
  web: {files: {path: landing/web/, pattern: "*.jsonl"}}
  shop:
    files: {path: landing/shop/, format: tsv}
""")

    assert [(s.name, s.path, s.format, s.place.line) for s in found.sources] == [
        ("web", "landing/web/", FileFormat.JSON, 2),
        ("shop", "landing/shop/", FileFormat.TSV, 4),
    ]


def test_a_source_among_several_may_be_called_files() -> None:
    found = table("source: {files: {files: {path: a/, format: csv}}, b: {files: {path: b/, format: csv}}}")

    assert [source.name for source in found.sources] == ["files", "b"]


@pytest.mark.parametrize(
    ("written", "delimiter"),
    [
        ("format: csv", ","),
        ("format: tsv", "\t"),
        ('format: csv, delimiter: "\\t"', "\t"),
        ("format: csv, delimiter: \\t", "\t"),
    ],
)
def test_the_delimiter(written: str, delimiter: str) -> None:
    assert table(f"source: {{files: {{path: a/, {written}}}}}").sources[0].csv.delimiter == delimiter


@pytest.mark.parametrize(
    ("columns", "new", "changed"),
    [
        ("columns: {a: int}", OnNewColumn.FAIL, OnTypeChange.QUARANTINE),
        ("", OnNewColumn.EVOLVE, OnTypeChange.WIDEN),
    ],
)
def test_columns_change_by_files_only_where_they_are_not_declared(
    columns: str, new: OnNewColumn, changed: OnTypeChange
) -> None:
    source = table(f"{ORDERS}{columns}").sources[0]
    assert (source.on_new_column, source.on_type_change) == (new, changed)


def test_column_names_are_text_whatever_yaml_makes_of_them_elsewhere() -> None:
    found = table(f"{ORDERS}columns: {{on: boolean, null: int, 2024: string, true: date}}")

    assert [column.name for column in found.columns] == ["on", "null", "2024", "true"]


def test_queries_beside_inline_and_alone() -> None:
    project = loaded(
        {
            "tables/silver/a.yaml": "key: [id]\n",
            "tables/silver/a.sql": "SELECT id\nFROM bronze.x\n",
            "tables/silver/b.yaml": "\nquery: |\n  SELECT id\n  FROM bronze.x\n",
            "tables/gold/deep/er/c.sql": "SELECT 1 AS one",
        }
    )

    queries = {str(table.name): table.query for table in project.tables}
    assert queries == {
        "gold.c": SqlQuery("SELECT 1 AS one", Place("tables/gold/deep/er/c.sql", 1)),
        "silver.a": SqlQuery("SELECT id\nFROM bronze.x\n", Place("tables/silver/a.sql", 1)),
        "silver.b": SqlQuery("SELECT id\nFROM bronze.x\n", Place("tables/silver/b.yaml", 3)),
    }
    assert project.table(TableName("silver", "a")).key == ("id",)


def test_a_copy_leaves_out_what_lakesmith_adds_to_a_sourced_table_and_nothing_else() -> None:
    project = loaded(
        {
            "tables/bronze/orders.yaml": ORDERS,
            "tables/silver/orders.yaml": "from: bronze.orders",
            "tables/gold/orders.yaml": "from: silver.orders",
        }
    )

    texts = [t.query.text for t in project.tables if isinstance(t.query, SqlQuery)]
    assert texts == [
        "SELECT * FROM `silver`.`orders`",
        "SELECT * EXCEPT (_source_file, _source_position, _source_modified_at, _ingested_at, _batch) "
        "FROM `bronze`.`orders`",
    ]


def test_a_python_query_is_read_and_never_run() -> None:
    source = 'raise SystemExit\n\n\ndef make(orders, gold__cities, *, silver__a__b):\n    "never"\n'
    settings = "function: make\ninputs: {orders: bronze.orders}\ndeterministic: true\n"
    project = loaded({"tables/silver/x.py": source, "tables/silver/x.yaml": settings})

    query = project.tables[0].query
    assert query == PythonQuery(
        Path("tables/silver/x.py"),
        "make",
        source,
        Place("tables/silver/x.py", 4),
        (
            ("orders", TableName("bronze", "orders")),
            ("gold__cities", TableName("gold", "cities")),
            ("silver__a__b", TableName("silver", "a__b")),
        ),
        True,
    )


def test_the_nearest_defaults_win_and_are_named() -> None:
    project = loaded(
        {
            "lakesmith.yaml": "name: shop\ndefaults:\n  owner: everyone\n  tags: [a]\n  on_bad_row: fail\n",
            "tables/_defaults.yaml": "tags: [b]\n",
            "tables/bronze/_defaults.yaml": "source: {files: {format: json, min_age: 1 hour}}\nowner: "
            "ingest\n",
            "tables/bronze/web/_defaults.yaml": "source:\n  files:\n    min_age: 2 hours\n",
            "tables/bronze/web/orders.yaml": "source: {files: {path: a/}}\non_bad_row: quarantine\n",
        }
    )

    found = project.tables[0]
    assert (found.owner, found.tags, found.on_bad_row) == ("ingest", ("b",), OnBadRow.QUARANTINE)
    assert (found.sources[0].format, found.sources[0].min_age_seconds) == (FileFormat.JSON, 7200.0)
    assert dict(found.settings_from) == {
        "source.files.path": Place("tables/bronze/web/orders.yaml", 1),
        "source.files.format": Place("tables/bronze/_defaults.yaml", 1),
        "source.files.min_age": Place("tables/bronze/web/_defaults.yaml", 3),
        "on_bad_row": Place("tables/bronze/web/orders.yaml", 2),
        "owner": Place("tables/bronze/_defaults.yaml", 2),
        "tags": Place("tables/_defaults.yaml", 1),
    }


def test_nothing_takes_back_a_default() -> None:
    project = loaded(
        {
            "tables/_defaults.yaml": "owner: everyone\n", "tables/bronze/_defaults.yaml": "owner:\n",
            "tables/bronze/orders.yaml": ORDERS, "tables/silver/orders.yaml": "from: bronze.orders",
        }
    )  # fmt: skip

    assert [t.owner for t in project.tables] == [None, "everyone"]


def test_defaults_of_keyed_tables_do_not_concern_the_others() -> None:
    project = loaded(
        {
            "tables/_defaults.yaml": "key: [id]\nlatest_by: [at]\n",
            "tables/bronze/orders.yaml": ORDERS,
            "tables/silver/all.yaml": "key:\nfrom: bronze.orders",
            "tables/silver/newest.yaml": "from: bronze.orders",
        }
    )

    assert [(str(t.name), t.key, t.latest_by) for t in project.tables] == [
        ("bronze.orders", (), ()), ("silver.all", (), ()), ("silver.newest", ("id",), ("at",)),
    ]  # fmt: skip
    assert [[name for name, _ in t.settings_from if name == "latest_by"] for t in project.tables] == [
        [], [], ["latest_by"],
    ]  # fmt: skip


def test_defaults_of_tables_that_keep_versions_do_not_concern_the_others() -> None:
    project = loaded(
        {
            "tables/_defaults.yaml": "key: [id]\nlatest_by: [at]\nhistory: type2\ntrack: [city]\n",
            "tables/bronze/orders.yaml": ORDERS,
            "tables/silver/all.yaml": "key:\nfrom: bronze.orders",
            "tables/silver/newest.yaml": "from: bronze.orders\nhistory: type1",
            "tables/silver/versions.yaml": "from: bronze.orders",
        }
    )

    assert [(str(t.name), t.history, t.track) for t in project.tables] == [
        ("bronze.orders", History.TYPE1, ()), ("silver.all", History.TYPE1, ()),
        ("silver.newest", History.TYPE1, ()), ("silver.versions", History.TYPE2, ("city",)),
    ]  # fmt: skip
    shown = [[name for name, _ in t.settings_from if name in {"history", "track"}] for t in project.tables]
    assert shown == [[], [], ["history"], ["history", "track"]]


def test_rules_know_their_lines() -> None:
    found = table(f'{ORDERS}rules: |\n  Rules = [\n    IsComplete "a",\n\n    ColumnValues "b" > 0\n  ]\n')

    assert [(rule.text, rule.place.line) for rule in found.rules] == [
        ('IsComplete "a"', 4),
        ('ColumnValues "b" > 0', 6),
    ]


def test_variables_are_filled_in_everywhere() -> None:
    project = loaded(
        {
            "lakesmith.yaml": "name: shop\nvars: {day: 2024-01-01, n: 5, live: true}\n",
            "tables/bronze/orders.yaml": "source: {files: {path: 'in/${vars.day}/', format: csv}}",
            "tables/silver/a.sql": "SELECT '${vars.day}' AS d, ${ vars.n } AS n, ${vars.live} AS l, "
            "'$${vars.n}' AS t",
        }
    )

    orders, a = project.tables
    assert orders.sources[0].path == "in/2024-01-01/"
    assert isinstance(a.query, SqlQuery)
    assert a.query.text == "SELECT '2024-01-01' AS d, 5 AS n, true AS l, '${vars.n}' AS t"
    assert project.variables == (("day", "2024-01-01"), ("live", "true"), ("n", "5"))


TARGETS = """\
name: shop
default_target: local
targets:
  local:
  prod:
    catalog: {type: rest, uri: "https://${HOST}/", token: "${TOKEN}", ssl: true, warehouse: "${vars.lake}"}
    spark: {spark.sql.shuffle.partitions: 8, spark.driver.memory: 4g}
vars: {lake: shop}
"""


def test_the_environment_is_asked_only_for_the_chosen_target() -> None:
    project = loaded({"lakesmith.yaml": TARGETS})

    assert (project.target.name, project.target.type, project.secrets) == ("local", "local", ())


def test_a_target_with_its_environment() -> None:
    environ = {"HOST": "lake", "TOKEN": "hunter2", "OTHER": "x"}
    project = loaded({"lakesmith.yaml": TARGETS}, "prod", environ)

    assert project.target.type == "rest"
    assert dict(project.target.catalog) == {
        "uri": "https://lake/", "token": "hunter2", "ssl": "true", "warehouse": "shop",
    }  # fmt: skip
    assert dict(project.target.spark) == {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
    assert project.secrets == ("hunter2", "lake")
    assert "hunter2" not in repr(project.secrets and Project(Path(), "", project.target, ()).secrets)


def test_the_only_target_is_the_default_one() -> None:
    text = "name: shop\ntargets:\n  prod: {catalog: {type: glue}}\n"

    assert loaded({"lakesmith.yaml": text}).target.name == "prod"


LANDING = """\
name: shop
vars: {place: shop, landing: in}
targets:
  local:
  prod:
    catalog:
      {type: glue, s3.endpoint: "http://here", client.region: eu-west-1, s3.secret-access-key: "${SECRET}"}
    vars: {landing: "s3://${vars.place}-${STAGE}/in"}
    namespaces: {prefix: shop_, layers: {bronze: raw}}
default_target: local
"""


@pytest.mark.parametrize(("target", "path"), [("local", "in"), ("prod", "s3://shop-eu/in")])
def test_a_target_has_variables_of_its_own(target: str, path: str) -> None:
    files = {
        "lakesmith.yaml": LANDING,
        "tables/bronze/orders.yaml": ORDERS.replace("landing/orders/", '"${vars.landing}"'),
    }
    project = loaded(files, target, {"STAGE": "eu", "SECRET": "hunter2"})

    (source,) = project.table(TableName("bronze", "orders")).sources
    assert source.path == path
    assert source.is_in_store == path.startswith("s3://")
    assert (source.store is not None) == source.is_in_store
    assert project.has_objects == source.is_in_store


def test_names_of_places_are_no_secrets_though_they_come_from_the_environment() -> None:
    text = LANDING.replace("type: glue", 'type: glue, warehouse: "s3://${LAKE}/w"')
    project = loaded({"lakesmith.yaml": text}, "prod", {"STAGE": "eu", "SECRET": "hunter2", "LAKE": "lake"})

    assert dict(project.target.catalog)["warehouse"] == "s3://lake/w"
    assert project.secrets == ("hunter2",)


def test_objects_are_reached_as_the_catalog_s_files_are() -> None:
    project = loaded({"lakesmith.yaml": LANDING}, "prod", {"STAGE": "eu", "SECRET": "hunter2"})

    assert project.target.store == ObjectStore("http://here", "eu-west-1", None, "hunter2", None)
    assert "hunter2" not in repr(project)


def test_the_names_that_tables_have_in_a_shared_catalog() -> None:
    naming = loaded({"lakesmith.yaml": LANDING}, "prod", {"STAGE": "eu", "SECRET": "x"}).target.naming
    one = Naming(single="shop")

    assert naming.physical(TableName("bronze", "orders")) == ("shop_raw", "orders")
    assert naming.physical(TableName("gold", "sums")) == ("shop_gold", "sums")
    assert one.physical(TableName("gold", "sums")) == ("shop", "gold__sums")
    assert [one.logical("gold", name) for name in ("gold__sums", "silver__a")] == ["sums", None]


def test_a_target_that_does_not_exist() -> None:
    found = parse_project(MemoryFiles({"lakesmith.yaml": TARGETS}), "prd", {})

    assert [problem.lines() for problem in found.problems] == [
        [
            "LS120 lakesmith.yaml:3: there is no target 'prd'",
            "    expected: one of local, prod",
            "    to do: did you mean prod?",
        ]
    ]


def test_a_folder_on_disk(tmp_path: Path) -> None:
    for path, text in {
        "lakesmith.yaml": "name: shop\n",
        "tables/bronze/orders.yaml": f"\ufeff{ORDERS}avro_schema: schemas/orders.avsc\n",
        "schemas/orders.avsc": '{"type": "record", "name": "o", "fields": [{"name": "a", "type": "long"}]}',
        "tables/bronze/.hidden.sql": "not SQL",
        "tables/bronze/__pycache__/x.py": "not Python",
        "tables/README.md": "# tables",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")

    found = parse_project(FolderFiles(tmp_path), environ={})

    assert found.problems == ()
    assert [str(t.name) for t in found.project.tables] == ["bronze.orders"]
    assert found.project.tables[0].columns == (Column("a", "bigint", place=Place("schemas/orders.avsc", 1)),)
    assert found.project.root == tmp_path


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "tables/silver").mkdir(parents=True)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    (tmp_path / "tables/silver/a.sql").write_bytes(b"SELECT 'gr\xfc\xdfe' AS a")

    (problem,) = parse_project(FolderFiles(tmp_path), environ={}).problems

    assert problem.lines() == [
        "LS101 tables/silver/a.sql: tables/silver/a.sql cannot be read",
        "    expected: UTF-8 text",
        "    found: byte 10 is no UTF-8",
    ]


def _on_disk(root: Path, *names: str) -> None:
    for path in (root / name for name in ("lakesmith.yaml", *names)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("name: shop\n" if path.suffix == ".yaml" else "SELECT 1 AS a")


def test_links_are_followed_and_never_in_a_circle(tmp_path: Path) -> None:
    _on_disk(tmp_path, "tables/gold/a.sql", "shared/b.sql", "shared/deep/c.sql")
    (tmp_path / "tables/silver").symlink_to(tmp_path / "shared")
    (tmp_path / "tables/gold/more").symlink_to(tmp_path / "shared/deep")
    (tmp_path / "shared/deep/again").symlink_to(tmp_path / "shared")
    (tmp_path / "tables/gold/d.sql").symlink_to(tmp_path / "shared/b.sql")

    found = parse_project(FolderFiles(tmp_path), environ={})

    names = ["gold.a", "gold.b", "gold.c", "gold.d", "silver.b", "silver.c"]
    assert (found.problems, [str(table.name) for table in found.project.tables]) == ((), names)


def test_a_link_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    _on_disk(tmp_path, "tables/gold/a.sql")
    (tmp_path / "tables/gold/b.sql").symlink_to(tmp_path / "gone.sql")

    (problem,) = parse_project(FolderFiles(tmp_path), environ={}).problems

    assert (problem.code, problem.place, problem.found) == (
        "LS101", Place("tables/gold/b.sql"), "No such file or directory",
    )  # fmt: skip


def test_tables_that_are_no_folder_are_said(tmp_path: Path) -> None:
    _on_disk(tmp_path, "tables")

    (problem,) = parse_project(FolderFiles(tmp_path), environ={}).problems

    assert (problem.code, problem.expected, problem.found) == (
        "LS101", "a folder that can be listed", "Not a directory",
    )  # fmt: skip


@pytest.mark.parametrize("example", ["customer-orders", "dim-customers", "invoices"])
def test_the_examples_are_right(example: str) -> None:
    found = parse_project(FolderFiles(Path(__file__).parents[3] / "examples" / example), environ={})

    assert found.problems == ()
    assert {t.name.layer for t in found.project.tables} == {"bronze", "silver", "gold"}


@pytest.mark.parametrize(
    ("written", "schedule"),
    [
        ('"0 */6 * * *"', Schedule("0 */6 * * *")),
        ("{cron: 0  6 * * MON, time_zone: Europe/Amsterdam}", Schedule("0 6 * * MON", "Europe/Amsterdam")),
        ("{every: 30s}", Schedule(every=30)),
        ("{every: 1.5 hours}", Schedule(every=5400)),
        ("On  arrival", None),
        ("", None),
    ],
)
def test_schedules(written: str, schedule: Schedule | None) -> None:
    assert table(f"{ORDERS}schedule: {written}\n").schedule == schedule


def test_the_nearest_schedule_wins_and_on_arrival_takes_it_back() -> None:
    project = loaded(
        {
            "lakesmith.yaml": "name: shop\ndefaults:\n  schedule: {every: 1 h}\n",
            "tables/gold/_defaults.yaml": "schedule: 0 6 * * *\n",
            "tables/bronze/orders.yaml": ORDERS,
            "tables/gold/a.sql": "SELECT 1 AS a",
            "tables/gold/b.yaml": "query: SELECT 1 AS a\nschedule: on arrival\n",
        }
    )

    found = {str(each.name): (each.schedule, dict(each.settings_from)["schedule"]) for each in project.tables}
    assert found == {
        "bronze.orders": (Schedule(every=3600), Place("lakesmith.yaml", 3)),
        "gold.a": (Schedule("0 6 * * *"), Place("tables/gold/_defaults.yaml", 1)),
        "gold.b": (None, Place("tables/gold/b.yaml", 2)),
    }


def test_live_windows_are_what_a_query_gives() -> None:
    query = "query: SELECT 1 AS n\n"
    live = table(query + "emit: live\n")
    assert (live.emit, live.query) == (None, table(query).query)
