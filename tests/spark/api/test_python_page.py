"""The examples of docs/python.md, one after the other, in a process of their own with its own Spark."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from alerts_server import hook_server

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.in_turn


def test_the_examples_run_as_they_stand(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "python.md").read_text())
    assert len(blocks) >= 5
    example = ROOT / "examples" / "customer-orders"
    shutil.copytree(example, tmp_path / "shop", ignore=shutil.ignore_patterns(".lakesmith"))
    for file in sorted((example / "arrivals").rglob("*.csv"))[:1]:
        shutil.copy(file, tmp_path / "shop" / "landing" / "orders")
    (tmp_path / "page.py").write_text("\n".join(blocks))
    with hook_server() as hook, (tmp_path / "shop" / "lakesmith.yaml").open("a") as settings:
        settings.write("\nalerts:\n  channels:\n    team: TEAM_URL\n")
        settings.flush()
        done = subprocess.run(
            [sys.executable, "page.py"],
            cwd=tmp_path, env={**os.environ, "TEAM_URL": hook.url},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(hook.calls) == 1, "the example that tries a channel"
    planned, published = done.stdout.splitlines()[:4], done.stdout.splitlines()[4:8]
    assert planned == [
        "bronze.orders", "silver.customer_history", "silver.customers", "gold.customers_by_city_month",
    ]  # fmt: skip
    assert sorted(line.split()[0] for line in published) == sorted(planned)
    assert all(int(line.split()[1]) > 0 for line in published)
