"""The example ``customer-orders`` through the command line, in this process: what each command says."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from harness import Harness, Said, fail
from rewinding import rewinding

from lakesmith.catalog.metadata import local_path
from lakesmith.catalog.state import TableState
from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.execute.faults import arrange, clear
from lakesmith.spark import open as spark_open
from lakesmith.spark.engine import SparkEngine
from lakesmith.spark.start.session import SessionHandle

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "customer-orders"
Stages = dict[str, Callable[[], Harness]]
BAD_ROW = "customer_id,name,email,city,processed_time\nx,A,a@b.c,Oslo,\n2,B,,,\n"


@dataclass
class Shop:
    """The project, and the command line called on it."""

    harness: Harness
    call: Callable[..., Said]

    @property
    def root(self) -> Path:
        return self.harness.root

    def arrive(self, hour: str) -> None:
        arrive(self.harness, hour)

    def must(self, *words: str) -> Said:
        said = self.call(*words)
        assert (said.code, said.err) == (0, ""), said
        return said

    def rows(self, sql: str, *words: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.must("query", sql, "--json", *words).data
        return rows


def arrive(harness: Harness, hour: str) -> None:
    shutil.copy(EXAMPLE / "arrivals" / f"orders_{hour}.csv", harness.root / "landing" / "orders")


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Stages:
    """A copy of the example after its first runs, which are done once.

    One table of each layer is enough: that with the history is left out.
    """
    root = tmp_path_factory.mktemp("example") / "shop"
    left_out = shutil.ignore_patterns(".mypy_cache", ".lakesmith", "customer_history.*")
    shutil.copytree(EXAMPLE, root, ignore=left_out)
    harness = Harness(root, session, {"lakesmith.yaml": (root / "lakesmith.yaml").read_text()})

    def after(hour: str, *tables: str) -> Callable[[], Harness]:
        arrive(harness, hour)
        harness.must_run(*tables)
        return rewinding(harness)

    found = {"nothing": rewinding(harness), "bronze": after("20240531_22", "bronze.orders")}
    found["bronze twice"] = after("20240531_23", "bronze.orders")
    found["bronze"]()
    found["all"] = after("20240531_22")
    found["all twice"] = after("20240531_23")
    found["nothing"]()
    harness.take("landing/orders/1.csv", BAD_ROW, "bronze.orders")
    return {**found, "a bad row": rewinding(harness)}


@pytest.fixture
def after(
    stages: Stages, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Shop]:
    """Gives the example at a stage; its commands use the shared JVM instead of starting their own."""

    def at(stage: str) -> Shop:
        harness = stages[stage]()
        monkeypatch.setattr(spark_open, "open_engine", lambda lake, *_: SparkEngine(harness.handle, lake))
        monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: harness.handle)

        def call(*words: str) -> Said:
            arguments = [*words, "--project", str(harness.root)]
            capsys.readouterr()
            code = guarded(lambda: app(arguments, prog_name="lakesmith", standalone_mode=False), arguments)
            return Said(code, *capsys.readouterr())

        return Shop(harness, call)

    return at


@pytest.fixture
def shop(after: Callable[[str], Shop]) -> Shop:
    return after("nothing")


def test_the_walk_through_the_example(shop: Shop) -> None:
    shop.arrive("20240531_22")
    lines = shop.must("run").out.splitlines()
    assert lines[-1].startswith("3 tables published in ")
    header = next(line for line in lines if line.startswith("table"))
    assert header.split() == ["table", "how", "read", "inserted", "superseded", "rows", "now", "time"]
    assert "silver.customers" in lines[-4] and lines[-4].split()[1:6] == ["full", "10", "9", "1", "9"]

    idle = shop.must("run").out.splitlines()
    assert idle[-1].startswith("nothing to do: 3 tables up to date")
    before_rename = datetime.now(UTC).isoformat()

    shop.arrive("20240601_00")
    status = {table["table"]: table for table in shop.must("status", "--json").data["tables"]}
    assert status["bronze.orders"]["why"] == "1 new file waiting"
    assert status["silver.customers"]["why"] == "bronze.orders is behind"
    plan = shop.must("plan").out
    assert "1 new file" in plan and "follows (upsert)" in plan and "once bronze.orders is up to date" in plan
    assert plan.splitlines()[-1].startswith("3 tables to refresh: 1 file, at least ")

    events = [json.loads(line) for line in shop.must("run", "--json").out.splitlines()]
    assert [event["event"] for event in events if event["event"].startswith("run_")] == [
        "run_started",
        "run_finished",
    ]
    silver = next(e for e in events if e["event"] == "table_published" and e["table"] == "silver.customers")
    assert silver["record"]["kind"] == "upsert"
    assert (silver["record"]["account"]["updated"], silver["record"]["account"]["inserted"]) == (1, 1)
    assert shop.must("status").out.splitlines()[-1] == "everything is up to date"

    names = "SELECT name FROM silver.customers WHERE customer_id = 1001"
    assert shop.rows(names) == [{"name": "Johnny"}]
    assert shop.rows(names, "--as-of", before_rename) == [{"name": "John"}]
    points = shop.must("history", "silver.customers", "--json").data
    assert [point["batch"] for point in points] == [2, 1]
    assert shop.rows(names, "--as-of", str(points[1]["snapshot"])) == [{"name": "John"}]
    assert shop.rows(names, "--as-of", "lakesmith_record") == [{"name": "Johnny"}]

    explained = shop.must("explain", "silver.customers", "--json").data
    assert explained["status"] == "up_to_date"
    assert explained["refresh"]["strategy"] == "upsert"
    assert explained["inputs"][0]["recorded_batch"] == 2
    assert [column["name"] for column in explained["columns"]][:2] == ["customer_id", "name"]
    assert explained["last_batch_in_words"].startswith("read 2: 1 inserted, 1 updated")


def test_queries(after: Callable[[str], Shop]) -> None:
    shop = after("all")
    # One time for every table of a query, joined and named in full.
    joined = (
        "SELECT count(*) AS n, max(bronze.orders.processed_time) AS newest FROM bronze.orders"
        " JOIN silver.customers c ON bronze.orders.customer_id = c.customer_id"
    )
    (now,) = shop.rows(joined)
    (past,) = shop.rows(joined, "--as-of", "0 seconds ago")
    assert now == past and now["newest"].endswith("Z")

    values = (
        "SELECT CAST(1.10 AS decimal(10,2)) AS amount, timestamp'2024-03-31 02:30:00.000001' AS at,"
        " timestamp_ntz'2024-03-31 02:30:00' AS local, date'0999-12-31' AS day, double('nan') AS nothing,"
        " 9007199254740993 AS big, named_struct('t', timestamp'2024-01-01', 'l', array(1.5bd)) AS nested,"
        " map(1, x'ff') AS bytes, CAST(NULL AS int) AS none"
    )
    assert shop.rows(values) == [
        {
            "amount": "1.10",
            "at": "2024-03-31T02:30:00.000001Z",
            "local": "2024-03-31T02:30:00",
            "day": "0999-12-31",
            "nothing": "nan",
            "big": 9007199254740993,
            "nested": {"t": "2024-01-01T00:00:00Z", "l": ["1.5"]},
            "bytes": {"1": "/w=="},
            "none": None,
        }
    ]
    text = shop.must("query", "SELECT 'a,b' AS x, NULL AS y", "--format", "csv").out
    assert list(csv.reader(io.StringIO(text))) == [["x", "y"], ["a,b", ""]]

    table = shop.must("query", "SELECT id FROM range(500) ORDER BY id", "--limit", "2").out.splitlines()
    assert table == ["id", "--", " 0", " 1", "(2 rows shown, there are more: --limit 0 shows all)"]
    every = shop.must("query", "SELECT id FROM range(500)", "--limit", "0").out.splitlines()
    assert len(every) == 502
    assert len(shop.must("query", "SELECT id FROM range(500)").out.splitlines()) == 103
    # Metadata tables are Spark's own.
    assert shop.rows("SELECT count(*) AS n FROM bronze.orders.files") == [{"n": 1}]


@pytest.mark.parametrize(
    ("sql", "words", "code", "said"),
    [
        ("SELECT * FROM silver.costumers", [], "LS240", "did you mean silver.customers?"),
        ("SELECT * FROM silver.customers", [], "LS240", "silver.customers has not been built yet"),
        ("DROP TABLE bronze.orders", [], "LS241", "only a SELECT can be run"),
        ("", [], "LS241", "the query is empty"),
        ("WITH a AS (SELECT 1 AS x) INSERT INTO bronze.orders SELECT * FROM a", [], "LS24", ""),
        ("SELECT nothing_here FROM bronze.orders", [], "LS244", "nothing_here"),
        ("SELECT count(* FROM bronze.orders", [], "LS244", "line 1"),
        (
            "SELECT 1 FROM bronze.orders VERSION AS OF 5",
            ["--as-of", "main"],
            "LS243",
            "names a point in time",
        ),
        ("SELECT 1 FROM bronze.orders", ["--as-of", "once"], "LS230", "neither a branch, a tag nor a moment"),
        ("SELECT 1 FROM bronze.orders", ["--as-of", "2001-01-01"], "LS231", "before anything"),
    ],
)
def test_queries_that_are_not_right(
    after: Callable[[str], Shop], sql: str, words: list[str], code: str, said: str
) -> None:
    shop = after("bronze")
    rows = shop.harness.count("bronze.orders")
    answer = shop.call("query", sql, *words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(code)
    assert said in answer.err
    assert "Traceback" not in answer.err and len(answer.err) < 1000
    assert shop.harness.count("bronze.orders") == rows


def test_a_query_that_fails_while_it_runs(shop: Shop) -> None:
    shop.must("status")
    answer = shop.call("query", "SELECT CAST(concat('x', id) AS int) FROM range(3)")
    assert answer.code == 1
    assert answer.err.startswith("LS601 Spark failed: ")
    assert "CAST_INVALID_INPUT" in answer.err and "Spark's log: " in answer.err


def test_verify_names_the_rows_that_differ(after: Callable[[str], Shop]) -> None:
    shop = after("all")
    same = shop.must("verify").out.splitlines()
    assert [line.split()[1] for line in same[-5:-2]] == ["skipped", "same", "same"]
    assert same[-1] == "2 tables as their inputs make them"
    shop.harness.spark.sql("DELETE FROM lake.silver.customers WHERE customer_id = 1002").collect()
    shop.harness.spark.sql(
        "INSERT INTO lake.silver.customers SELECT * FROM lake.silver.customers WHERE customer_id = 1001"
    ).collect()
    said = shop.call("verify", "silver.*")
    assert said.code == 1
    assert "differs" in said.out and "1 row missing, 1 too many" in said.out
    rows = [line for line in said.out.splitlines() if line.startswith("  {")]
    assert sorted(("1002" in row, row.partition("}: ")[2]) for row in rows) == [
        (False, "expected 1 times, found 2"),
        (True, "expected 1 times, found 0"),
    ]
    (table,) = shop.call("verify", "silver.*", "--json").data["tables"]
    assert (table["verdict"], table["missing"], table["unexpected"]) == ("differs", 1, 1)
    assert shop.must("run", "--full-refresh", "silver.customers")
    assert shop.must("verify").out


def test_forgetting_a_file_deletes_its_rows_and_takes_it_again(after: Callable[[str], Shop]) -> None:
    shop = after("all twice")
    before = {name: shop.harness.rows(name) for name in ("bronze.orders", "silver.customers")}
    kept = shop.rows("SELECT count(*) AS n FROM bronze.orders WHERE _source_file LIKE '%_23.csv'")[0]["n"]
    assert kept == 10

    said = shop.must("files", "bronze.orders", "--forget", "orders_20240531_23.csv").out
    assert "published batch 3" in said
    assert "10 rows of forgotten files deleted" in said and "the next run takes them again" in said
    assert shop.harness.count("bronze.orders") == 10
    record = shop.harness.record("bronze.orders")
    assert (record.kind, record.account.deleted, record.account.rows_after) == ("ledger", 10, 10)
    files = {
        Path(file["path"]).stem: file for file in shop.must("files", "bronze.orders", "--json").data["files"]
    }
    assert files["orders_20240531_23"]["state"] == "waiting"
    assert files["orders_20240531_22"]["state"] == "taken"

    shop.must("run")
    assert {name: shop.harness.rows(name) for name in before} == before
    assert shop.harness.record("bronze.orders").batch == 4
    assert shop.must("run").out.splitlines()[-1].startswith("nothing to do")


def test_forgetting_takes_a_files_bad_rows_out_of_quarantine(shop: Shop) -> None:
    shop.harness.land(
        "landing/orders/bad.csv", "customer_id,name,email,city,processed_time\nx,A,a@b.c,Oslo,\n"
    )
    shop.arrive("20240531_22")
    shop.must("run", "bronze.orders")
    assert len(shop.harness.quarantine("bronze.orders")) == 1
    shop.must("files", "bronze.orders", "--forget", "bad.csv")
    assert shop.harness.quarantine("bronze.orders") == []
    assert shop.harness.count("bronze.orders") == 10
    shop.must("run", "bronze.orders")
    assert len(shop.harness.quarantine("bronze.orders")) == 1


@pytest.mark.parametrize("point", ["after-intent", "after-delete", "after-quarantine", "before-publish"])
def test_forgetting_that_fails_halfway_changes_nothing(after: Callable[[str], Shop], point: str) -> None:
    shop = after("a bad row")
    before = shop.harness.rows("bronze.orders")

    arrange(point, fail)
    failed = shop.call("files", "bronze.orders", "--forget", "1.csv")
    clear()
    assert (failed.code, failed.out.strip().splitlines()[-1:]) == (
        1,
        ["bronze.orders: entering files in the ledger"],
    )
    assert "arranged by a test" in failed.err
    assert shop.harness.rows("bronze.orders") == before
    assert len(shop.harness.quarantine("bronze.orders")) == 1
    assert shop.must("run", "bronze.orders").out.splitlines()[-1].startswith("nothing to do")
    assert "1 row of forgotten files deleted" in shop.must("files", "bronze.orders", "--forget", "1.csv").out
    assert (shop.harness.count("bronze.orders"), shop.harness.quarantine("bronze.orders")) == (0, [])


def test_skipping_a_file_that_cannot_be_read(shop: Shop) -> None:
    """Before anything was ever taken: the first run has to get past it."""
    shop.arrive("20240531_22")
    shop.harness.land("landing/orders/poison.csv", "not,the,columns,of,it,all\n1,2,3,4,5,6\n")
    failed = shop.call("run", "bronze.orders")
    assert failed.code == 1
    said = shop.must("files", "bronze.orders", "--skip", "landing/orders/poison.csv").out
    assert "landing/orders/poison.csv is skipped from now on" in said
    assert shop.must("status", "bronze.orders", "--json").data["tables"][0]["files_waiting"] == 1
    shop.must("run", "bronze.orders")
    assert shop.harness.count("bronze.orders") == 10
    lines = shop.must("files", "bronze.orders").out.splitlines()
    assert lines[-1] == "1 taken, 1 skipped"
    # And back again: then it is in the way once more.
    shop.must("files", "bronze.orders", "--forget", "poison.csv")
    assert shop.call("run", "bronze.orders").code == 1


POISON = "not,the,columns,of,it,all\n1,2,3,4,5,6\n"


@pytest.fixture
def past(after: Callable[[str], Shop], monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A table with two batches, and a file in its way. Only ``run`` and ``query`` may start a JVM."""
    shop = after("bronze twice")
    shop.harness.land("landing/orders/poison.csv", POISON)

    def no_jvm(*_: object) -> SparkEngine:
        raise AssertionError("a JVM was started")

    start = spark_open.open_engine
    call = shop.call

    def without(*words: str) -> Said:
        monkeypatch.setattr(spark_open, "open_engine", start if words[0] == "run" else no_jvm)
        return call(*words)

    return Shop(shop.harness, without)


def test_a_file_that_was_never_taken_is_skipped_and_forgotten_without_a_jvm(past: Shop) -> None:
    before, table = past.harness.rows("bronze.orders"), "lake.bronze.orders"
    state = past.harness.state("bronze.orders")
    said = past.must("files", "bronze.orders", "--skip", "poison.csv").out
    assert "published batch 3" in said
    record, after = past.harness.record("bronze.orders"), past.harness.state("bronze.orders")
    assert (record.batch, record.kind, record.account.rows_after) == (3, "ledger", 20)
    assert record.parent == state.head.record.attempt  # type: ignore[union-attr]
    assert (after.columns, after.uuid, after.properties) == (state.columns, state.uuid, state.properties)
    assert set(after.refs) == {"main", "lakesmith_record"}
    # What Iceberg itself makes of it: the rows, by whatever way, the history, and the ids that rows have for
    # good.
    spark = past.harness.spark
    assert past.harness.rows("bronze.orders") == before
    assert past.harness.frame("bronze.orders", as_of=after.refs["main"]).count() == 20
    assert [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {table}.history").collect()] == [
        number for number, _ in after.published
    ]
    assert spark.sql(f"SELECT * FROM {table}.metadata_log_entries").count() > 1
    ids = [row[0] for row in spark.sql(f"SELECT _row_id FROM {table}").collect()]
    assert past.must("run", "bronze.orders").out.splitlines()[-1].startswith("nothing to do")
    assert "forgotten" in past.must("files", "bronze.orders", "--forget", "poison.csv").out
    (past.root / "landing/orders/poison.csv").unlink()
    past.arrive("20240601_00")
    past.must("run", "bronze.orders")
    rows = spark.sql(f"SELECT _row_id FROM {table}").collect()
    assert len({row[0] for row in rows}) == len(rows) == past.harness.count("bronze.orders") > 20
    assert set(ids) <= {row[0] for row in rows}
    spark.sql(
        "CALL lake.system.expire_snapshots(table => 'bronze.orders', older_than => TIMESTAMP '2999-01-01',"
        " retain_last => 1)"
    ).collect()
    assert past.harness.count("bronze.orders") == past.harness.frame("bronze.orders").count() == len(rows)
    past.must("run", "bronze.orders")


def test_rows_that_have_to_go_are_deleted_by_spark(past: Shop) -> None:
    taken = "orders_20240531_23.csv"
    assert (
        "rows that were taken from skipped files stay"
        in past.must("files", "bronze.orders", "--skip", taken).out
    )
    # It is skipped now, and there are rows of it all the same.
    failed = past.call("files", "bronze.orders", "--forget", taken)
    assert (failed.code, "a JVM was started" in failed.err) == (1, True)


@pytest.mark.parametrize("point", ["after-intent", "before-swap", "after-publish"])
def test_a_skip_without_a_jvm_that_is_cut_off(past: Shop, point: str) -> None:
    before = past.harness.state("bronze.orders")

    arrange(point, fail)
    assert past.call("files", "bronze.orders", "--skip", "poison.csv").code == 1
    clear()
    done = point == "after-publish"
    assert (past.harness.state("bronze.orders") == before) is not done
    assert past.call("run", "bronze.orders").code == (0 if done else 1)
    past.must("files", "bronze.orders", "--skip", "poison.csv")
    past.must("run", "bronze.orders")
    assert past.harness.count("bronze.orders") == 20
    assert past.must("files", "bronze.orders", "--json").data["files"][-1]["state"] == "skipped"


def test_a_skip_without_a_jvm_gives_way_to_other_writers(past: Shop) -> None:
    spark, done = past.harness.spark, []

    def interfere() -> None:
        # First something that leaves main where it is, then something that moves it: the batch goes on from
        # both.
        done.append(len(done))
        if len(done) == 1:
            spark.sql("ALTER TABLE lake.bronze.orders SET TBLPROPERTIES ('theirs' = 'kept')").collect()
        if len(done) == 2:
            spark.sql("INSERT INTO lake.bronze.orders SELECT * FROM lake.bronze.orders LIMIT 1").collect()

    arrange("before-swap", interfere)
    past.must("files", "bronze.orders", "--skip", "poison.csv")
    clear()
    assert len(done) == 3
    state = past.harness.state("bronze.orders")
    assert state.properties["theirs"] == "kept"
    assert past.harness.count("bronze.orders") == past.harness.frame("bronze.orders").count() == 21
    # Of the tries that lost, nothing is left.
    folder = past.root / ".lakesmith/warehouse/bronze/orders/metadata"
    assert not [path for path in folder.glob("*.metadata.json") if str(path) not in _named(state, folder)]
    past.must("run", "bronze.orders")


def _named(state: TableState, folder: Path) -> set[str]:
    data = json.loads(local_path(state.metadata_location).read_text())
    locations = [state.metadata_location, *(entry["metadata-file"] for entry in data["metadata-log"])]
    return {str(local_path(location)) for location in locations}


def test_exit_codes_of_a_run(after: Callable[[str], Shop]) -> None:
    shop = after("all")
    customers = shop.root / "tables/silver/customers.yaml"
    customers.write_text(customers.read_text().replace("on_bad_row: quarantine", "on_bad_row: fail"))
    shop.must("run")
    shop.arrive("20240531_23")
    stopped = shop.call("run")
    assert stopped.code == 3
    assert "silver.customers: FAILED" in stopped.out and "LS801" in stopped.out
    assert "gold.customers_by_city_month: not tried, because silver.customers failed" in stopped.out

    (shop.root / "tables/silver/customers.sql").write_text("SELECT nowhere FROM bronze.orders")
    wrong = shop.call("run", "--json")
    assert (wrong.code, wrong.data["exit_code"]) == (2, 2)
