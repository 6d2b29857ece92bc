"""A local lake needs no optional package: buckets, brokers and mail are asked only where they are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.release

EXTRAS = (
    "boto3", "botocore", "s3transfer", "psycopg", "confluent_kafka", "ua_parser", "apprise", "starlette",
    "uvicorn", "httptools", "watchfiles",
)  # fmt: skip
"""The packages of `pyproject.toml`'s extras, but for those of `dev`."""

FILES = {
    "lakesmith.yaml": "name: shop\ntargets: {local: {}}\n",
    "tables/bronze/orders.yaml": "source: {files: {path: landing/, format: csv, on_erase: rewrite}}\n"
    "columns: {id: bigint, name: string}\nexport: {format: csv}\n",
    "tables/silver/orders.yaml": "from: bronze.orders\nkey: [id]\nexport: {format: parquet, to: out/}\n",
    "landing/1.csv": "id,name\n1,Ann\n2,Bob\nx,Bad\n",
}
CALLS = (
    ["doctor"],
    ["plan"],
    ["run"],
    ["status"],
    ["run"],
    ["explain", "silver.orders"],
    ["history", "silver.orders"],
    ["files", "bronze.orders"],
    ["query", "SELECT * FROM silver.orders"],
    ["connect", "duckdb"],
    ["check"],
    ["verify"],
    ["tag", "monday"],
    ["diff", "bronze.orders", "monday"],
    ["untag", "monday"],
    ["quarantine", "show", "bronze.orders"],
    ["quarantine", "replay", "bronze.orders"],
    ["maintain"],
    ["rewrite", "silver.orders"],
    ["alerts"],
    ["rename", "silver.orders", "silver.sales", "--yes"],
    ["erase", "silver.sales", "--where", "id = 1", "--yes"],
    ["run"],
    ["drop", "silver.sales", "--yes"],
    ["run"],
    ["stop"],
)
SCRIPT = f"""
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
for name in {EXTRAS!r}:
    sys.modules[name] = None
from lakesmith.cli.main import main
calls, root = json.loads(sys.argv[1]), sys.argv[2]
for words in calls:
    sys.argv[1:] = [*words, "--project", root]
    out, code = io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(out):
        try:
            main()
        except SystemExit as error:
            code = error.code or 0
    print(json.dumps([words, code, out.getvalue()]))
"""


def test_every_command_of_a_local_lake_works_without_the_optional_packages(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    script = [sys.executable, "-c", SCRIPT, json.dumps(CALLS), str(tmp_path)]
    environ = {**os.environ, "LAKESMITH_KEEP_WARM": "0"}
    done = subprocess.run(script, capture_output=True, text=True, check=False, env=environ, timeout=600)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    assert len(told) == len(CALLS), done.stderr
    failed = [each for each in told if each[1] != 0]
    assert not failed, json.dumps(failed, indent=1)
    assert not [each for each in told if "LS330" in each[2]]
