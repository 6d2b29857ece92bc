"""The printed snippets, run: other engines read the same rows of the examples as ``lakesmith query``, deletion vectors included."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import ProjectHarness

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.cli.render.query_output import exact
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.versions import local_jars

pytestmark = [pytest.mark.spark, pytest.mark.in_turn]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
LANDING = {"customer-orders": "landing/orders", "invoices": "landing/invoices"}
PLAIN_SPARK = """
import sys
import pyarrow.parquet
for name in {names}:
    pyarrow.parquet.write_table(spark.table("lake." + name).toArrow(), sys.argv[1] + "/" + name + ".parquet")
assert not [name for name in sys.modules if name.partition(".")[0] == "lakesmith"]
spark.stop()
"""

Rows = list[str]


@dataclass(frozen=True)
class Lake:
    """An example after real runs, and the command line called on it."""

    harness: ProjectHarness
    call: Callable[..., str]

    @property
    def tables(self) -> list[str]:
        """All tables of the project."""
        return [str(table.name) for table in self.harness.load()[0].tables]

    def asked(self, table: str) -> Rows:
        """The table's rows as ``lakesmith query --json`` has them."""
        return in_order(json.loads(self.call("query", f"SELECT * FROM {table}", "--json", "--limit", "0")))


def in_order(rows: list[dict[str, Any]]) -> Rows:
    """The rows as comparable texts, sorted."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def told(table: pa.Table) -> Rows:
    """Another engine's rows in the words of ``lakesmith query --json``."""
    return in_order([{key: exact(_utc(value)) for key, value in row.items()} for row in table.to_pylist()])


def _utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


@pytest.fixture(params=list(LANDING))
def lake(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    session: SessionHandle,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Lake]:
    """The example, its files taken one after the other, so that rows are updated and deleted."""
    root = tmp_path / "project"
    shutil.copytree(
        EXAMPLES / request.param, root, ignore=shutil.ignore_patterns(".lakesmith", ".mypy_cache")
    )
    files = {"lakesmith.yaml": (root / "lakesmith.yaml").read_text()}
    harness = ProjectHarness(root, session, files)
    landing = root / LANDING[request.param]
    waiting = [*sorted(landing.glob("[!.]*.*sv")), *sorted((root / "arrivals").iterdir())]
    arrivals = [(path.name, path.read_bytes(), path.unlink()) for path in waiting]
    for name, content, _ in arrivals:
        harness.land(f"{LANDING[request.param]}/{name}", content)
        harness.must_run()
    monkeypatch.setattr("lakesmith.spark.open.open_session", lambda *_, **__: harness.handle)

    def call(*words: str) -> str:
        arguments = [*words, "--project", str(root)]
        capsys.readouterr()
        code = guarded(lambda: app(arguments, prog_name="lakesmith", standalone_mode=False), arguments)
        said = capsys.readouterr()
        assert (code, said.err) == (0, ""), said
        return said.out

    yield Lake(harness, call)


def test_other_engines_read_the_same_rows(lake: Lake, tmp_path: Path) -> None:
    expected = {table: lake.asked(table) for table in lake.tables}
    assert all(expected.values())
    assert {lake.harness.state(table).format_version for table in lake.tables} == {3}
    assert any(_vectors(lake, table) for table in lake.tables)
    assert {table: told(rows) for table, rows in _by_duckdb(lake).items()} == expected
    assert {table: told(rows) for table, rows in _by_pyiceberg(lake).items()} == expected
    assert {table: told(rows) for table, rows in _by_spark(lake, tmp_path).items()} == expected


def _vectors(lake: Lake, table: str) -> int:
    """How many deletion vectors readers of the table have to apply."""
    head = lake.harness.state(table).head
    return head.count("total-delete-files") if head else 0


def _by_duckdb(lake: Lake) -> dict[str, pa.Table]:
    """The text itself; extensions are loaded from their packages, as there is no network here to install them from."""
    text = lake.call("connect", "duckdb")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute("SET TimeZone = 'UTC'")
    for name in ("avro", "iceberg"):
        package = resources.files(f"duckdb_extension_{name}") / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{package / f'{name}.duckdb_extension'}'")
    assert text.count("INSTALL") == 1
    connection.execute(text.replace("INSTALL iceberg;\n", ""))
    return {table: connection.execute(f"SELECT * FROM {table}").to_arrow_table() for table in lake.tables}


def _by_pyiceberg(lake: Lake) -> dict[str, pa.Table]:
    names: dict[str, Any] = {}
    exec(lake.call("connect", "pyiceberg"), names)
    return {name: table.scan().to_arrow() for name, table in names["tables"].items()}


def _by_spark(lake: Lake, folder: Path) -> dict[str, pa.Table]:
    """A process that knows nothing of lakesmith; its jars are those that the text names, from where they were fetched already."""
    text = lake.call("connect", "spark")
    packages = re.search(r'"spark.jars.packages": "(.*)"', text)
    assert packages is not None
    assert set(packages[1].split(",")) <= set(local_jars())
    java = find_java()
    jars = ",".join(map(str, ensure_jars(java, local_jars())))
    script = folder / "plain_spark.py"
    head = text.replace(packages[0], f'"spark.jars": "{jars}",\n    "spark.driver.bindAddress": "127.0.0.1"')
    script.write_text(head + PLAIN_SPARK.format(names=lake.tables))
    environment = {**os.environ, "JAVA_HOME": str(java.home), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {table: pq.read_table(folder / f"{table}.parquet") for table in lake.tables}
