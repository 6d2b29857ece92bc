"""``lakesmith check`` as a process: killed, and beside a run and ``up``."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import RunProcess, is_gone, must, run, wait_until
from test_beside_up import kept

TABLE = """
source: {files: {path: landing/, format: csv}}
columns: {id: bigint}
rules: |
  Rules = [ RowCount > 0, IsUnique "id" ]
"""


def made(root: Path) -> Path:
    (root / "tables/bronze").mkdir(parents=True)
    (root / "landing").mkdir()
    (root / "lakesmith.yaml").write_text("name: shop\ntargets: {local: {}}\n")
    (root / "tables/bronze/orders.yaml").write_text(TABLE)
    (root / "landing/1.csv").write_text("id\n1\n2\n")
    must(root)
    return root


def results(root: Path) -> dict[str, int]:
    sql = "SELECT source, count(*) AS n FROM lakesmith.checks GROUP BY source"
    return {row["source"]: row["n"] for row in json.loads(must(root, "query", sql, "--json"))}


@pytest.mark.release
def test_a_check_that_is_killed_leaves_no_jvm_no_lock_and_no_results(tmp_path: Path) -> None:
    root = made(tmp_path / "shop")
    with RunProcess.start(root, command=("check",)) as check:
        wait_until(lambda: bool(children(check.pid)), "the check has a JVM")
        (jvm,) = children(check.pid)
        check.process.kill()
        check.process.communicate()
    wait_until(lambda: is_gone(jvm), "the JVM of the check ends", patience=30)
    assert "2 rules passed" in must(root, "check")
    assert results(root) == {"batch": 2, "check": 2}


@pytest.mark.release
def test_checks_beside_up_see_whole_batches_and_disturb_none(tmp_path: Path) -> None:
    root, seen = made(tmp_path / "shop"), []
    with kept(Shop(root)):  # type: ignore[arg-type]
        for number in range(2, 6):
            (root / f"landing/{number}.csv").write_text(f"id\n{number * 10}\n{number * 10 + 1}\n")
            ended = run(root, command=("check", "--json"))
            assert ended.code == 0, ended.output
            (table,) = json.loads(ended.output)["tables"]
            count = next(each["metric"] for each in table["results"] if each["rule"] == "RowCount > 0")
            seen.append((table["batch"], count))
        wait_until(lambda: count_of(root) == 10, "up has taken all files", 120)
    assert seen == sorted(seen) and all(count % 2 == 0 for _, count in seen)
    assert "failed" not in (root / "up.log").read_text()
    assert results(root)["check"] == 8


def count_of(root: Path) -> int:
    (row,) = json.loads(must(root, "query", "SELECT count(*) AS n FROM bronze.orders", "--json"))
    return int(row["n"])


@dataclass
class Shop:
    """What ``kept`` needs of a project."""

    root: Path


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid), "java"], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]
