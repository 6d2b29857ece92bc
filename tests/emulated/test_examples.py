"""The examples on AWS as played here: the folder as it is, and the tables as on this machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.release


@pytest.mark.parametrize(("example", "tables"), [("customer-orders", 4), ("invoices", 4)])
def test_an_example_has_the_same_tables_on_aws_as_here(example: str, tables: int, tmp_path: Path) -> None:
    script = [sys.executable, ROOT / "scripts" / "emulated.py", ROOT / "examples" / example, tmp_path]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        script, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.count("rows, the same as the local table's") == tables
    assert ": 0 rows" not in done.stdout
