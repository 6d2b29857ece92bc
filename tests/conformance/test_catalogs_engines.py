"""On every shared catalog, other engines read both examples' tables by what ``lakesmith connect`` prints."""

import re
from pathlib import Path

import pytest
from other_engines import Rows, by_duckdb, by_pyiceberg, by_spark, in_order, told
from places import GLUE, JDBC, Place
from shared_project import Make, SharedProject

from lakesmith.spark.start.versions import POSTGRES_JARS, installed_pair, local_jars

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
JARS = (*local_jars(), *installed_pair().aws_jars, *POSTGRES_JARS)


@pytest.fixture(params=["customer-orders", "invoices"])
def example(request: pytest.FixtureRequest) -> Path:
    return EXAMPLES / str(request.param)


@pytest.fixture(params=[2, 3])
def shop(request: pytest.FixtureRequest, make: Make, place: Place, example: Path) -> SharedProject:
    """The example, its files landed one by one, so that rows change and go; tables in one format."""
    if not place.is_remote:
        pytest.skip("test_connect has the embedded catalog")
    kept = [path for folder in ("tables", "schemas") for path in sorted((example / folder).rglob("*.*"))]
    files = {path.relative_to(example).as_posix(): path.read_text() for path in kept}
    shop = make({**files, "tables/_defaults.yaml": f"format_version: {request.param}\n"})
    (folder,) = (path.name for path in (example / "landing").iterdir() if path.is_dir())
    waiting = [*sorted((example / "landing").rglob("[!.]*.*sv")), *sorted((example / "arrivals").iterdir())]
    for path in waiting:
        shop.take(f"{folder}/{path.name}", path.read_bytes())
    assert {shop.state(str(name)).format_version for name in shop._names()} == {request.param}
    return shop


def text_for(shop: SharedProject, engine: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns what ``connect`` prints; the variables that it names in place of secrets are set."""
    text = shop.must("connect", engine).out
    secrets = {
        f"local_{key}": value for key, value in shop.place.catalog.items() if re.search(r"key|password", key)
    }
    for key, value in secrets.items():
        name = re.sub(r"\W", "_", key).upper()
        assert value not in text
        monkeypatch.setenv(name, value)
        text = text.replace(f"${{{name}}}", value) if engine == "duckdb" else text
    return text


def test_other_engines_read_the_same_rows(
    shop: SharedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {str(name): ".".join(shop.load()[0].target.naming.physical(name)) for name in shop._names()}
    expected: dict[str, Rows] = {
        there: in_order(shop.must("query", f"SELECT * FROM {name}", "--json", "--limit", "0").data)
        for name, there in names.items()
    }
    assert all(expected.values())
    is_three = shop.state(str(shop._names()[0])).format_version == 3
    assert ("format 3" in shop.must("connect", "trino").out) == is_three
    found = {
        "pyiceberg": by_pyiceberg(text_for(shop, "pyiceberg", monkeypatch)),
        "spark": by_spark(text_for(shop, "spark", monkeypatch), expected, tmp_path, JARS),
    }
    if shop.place.kind != GLUE:  # DuckDB knows no Glue but Amazon's own.
        catalog = "" if shop.place.kind == JDBC else "lake."
        found["duckdb"] = by_duckdb(text_for(shop, "duckdb", monkeypatch), expected, catalog)
    for engine, tables in found.items():
        assert {name: told(rows) for name, rows in tables.items()} == expected, engine
