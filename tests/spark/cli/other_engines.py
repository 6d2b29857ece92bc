"""Runs the texts of ``lakesmith connect`` by engines without lakesmith, with local packages for downloads."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from lakesmith.api.frames import exact
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars

PLAIN_SPARK = """
import sys
import pyarrow.parquet
for name in {names}:
    pyarrow.parquet.write_table(spark.table("lake." + name).toArrow(), sys.argv[1] + "/" + name + ".parquet")
assert not [name for name in sys.modules if name.partition(".")[0] == "lakesmith"]
spark.stop()
"""

Rows = list[str]


def in_order(rows: list[dict[str, Any]]) -> Rows:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def told(table: pa.Table) -> Rows:
    """Another engine's rows in the words of ``lakesmith query --json``."""
    return in_order([{key: exact(_utc(value)) for key, value in row.items()} for row in table.to_pylist()])


def _utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def by_duckdb(text: str, names: Iterable[str], catalog: str = "") -> dict[str, pa.Table]:
    """The text itself, but that extensions are loaded from their packages: there is no network here."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute("SET TimeZone = 'UTC'")
    for name in ("avro", "httpfs", "iceberg"):
        package = resources.files(f"duckdb_extension_{name}") / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{package / f'{name}.duckdb_extension'}'")
    assert "INSTALL iceberg;\nLOAD iceberg;" in text
    connection.execute(re.sub(r"(INSTALL|LOAD) \w+;\n", "", text))
    return {name: connection.execute(f"SELECT * FROM {catalog}{name}").to_arrow_table() for name in names}


def by_pyiceberg(text: str) -> dict[str, pa.Table]:
    """The text itself."""
    names: dict[str, Any] = {}
    exec(text, names)
    return {name: table.scan().to_arrow() for name, table in names["tables"].items()}


def by_spark(text: str, names: Iterable[str], folder: Path, jars: Sequence[str]) -> dict[str, pa.Table]:
    """Runs a process without lakesmith. The jars that the text names come from where they were fetched."""
    names = list(names)
    packages = re.search(r'"spark.jars.packages": "(.*)"', text)
    assert packages is not None
    assert set(packages[1].split(",")) <= set(jars)
    java = find_java()
    files = ",".join(map(str, ensure_jars(java, tuple(jars))))
    script = folder / "plain_spark.py"
    head = text.replace(packages[0], f'"spark.jars": "{files}",\n    "spark.driver.bindAddress": "127.0.0.1"')
    script.write_text(head + PLAIN_SPARK.format(names=names))
    environment = {**os.environ, "JAVA_HOME": str(java.home), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(script), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: pq.read_table(folder / f"{name}.parquet") for name in names}
