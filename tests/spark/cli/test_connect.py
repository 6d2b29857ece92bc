"""The printed snippets, run: other engines read the same rows as ``lakesmith query``, deletes included."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import Harness
from other_engines import Rows, by_duckdb, by_pyiceberg, by_spark, in_order, told

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.versions import local_jars

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
LANDING = {"customer-orders": "landing/orders", "invoices": "landing/invoices"}


@dataclass(frozen=True)
class Lake:
    """An example after real runs, and the command line called on it."""

    harness: Harness
    call: Callable[..., str]

    @property
    def tables(self) -> list[str]:
        return [str(table.name) for table in self.harness.load()[0].tables]

    def asked(self, table: str) -> Rows:
        return in_order(json.loads(self.call("query", f"SELECT * FROM {table}", "--json", "--limit", "0")))


@pytest.fixture(params=list(LANDING))
def lake(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    session: SessionHandle,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Lake]:
    """The example after two batches, the second of which updates and deletes rows."""
    root = tmp_path / "project"
    shutil.copytree(
        EXAMPLES / request.param, root, ignore=shutil.ignore_patterns(".lakesmith", ".mypy_cache")
    )
    files = {"lakesmith.yaml": (root / "lakesmith.yaml").read_text()}
    harness = Harness(root, session, files)
    landing = root / LANDING[request.param]
    waiting = [*sorted(landing.glob("[!.]*.*sv")), *sorted((root / "arrivals").iterdir())]
    arrivals = [(path.name, path.read_bytes(), path.unlink()) for path in waiting]
    for batch in (arrivals[:-1], arrivals[-1:]):
        for name, content, _ in batch:
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
    found = {
        "duckdb": by_duckdb(lake.call("connect", "duckdb"), lake.tables),
        "pyiceberg": by_pyiceberg(lake.call("connect", "pyiceberg")),
        "spark": by_spark(lake.call("connect", "spark"), lake.tables, tmp_path, local_jars()),
    }
    for engine, tables in found.items():
        assert {table: told(rows) for table, rows in tables.items()} == expected, engine


def _vectors(lake: Lake, table: str) -> int:
    """How many deletion vectors readers of the table have to apply."""
    head = lake.harness.state(table).head
    return head.count("total-delete-files") if head else 0
