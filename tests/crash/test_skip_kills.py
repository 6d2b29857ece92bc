"""Files skipped without a JVM by a process that is killed: skipped on record or not, nothing in between."""

import json
from pathlib import Path
from typing import Any

import pytest
from processes import must, run
from read_elsewhere import catalog_of
from soaking import chosen

TABLE = "source:\n  files: {path: landing/, format: csv}\ncolumns: {id: bigint}\n"
POINTS = {"after-intent": False, "before-swap": False, "after-publish": True}
"""Where the process is killed, and whether the file is skipped then."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that has taken a file, and one in its way for each point."""
    root = tmp_path_factory.mktemp("skip") / "shop"
    (root / "tables" / "bronze").mkdir(parents=True)
    (root / "landing").mkdir()
    (root / "lakesmith.yaml").write_text("name: shop\ntargets: {local: {}}\n")
    (root / "tables/bronze/orders.yaml").write_text(TABLE)
    (root / "landing/good.csv").write_text("id\n1\n2\n")
    must(root)
    for point in POINTS:
        (root / f"landing/{point}.csv").write_text("other\n1\n")
    return root


def head(root: Path) -> Any:
    return catalog_of(root).load_table(("bronze", "orders")).current_snapshot()


def states(root: Path) -> dict[str, str]:
    ended = run(root, command=("files", "bronze.orders", "--json"))
    return {Path(file["path"]).stem: file["state"] for file in json.loads(ended.output)["files"]}


@pytest.mark.parametrize("point", chosen(POINTS, "before-swap"))
def test_a_killed_skip_is_whole_or_nothing(root: Path, point: str) -> None:
    before, skip = head(root), ("files", "bronze.orders", "--skip", f"{point}.csv")
    killed = run(root, f"{point}:kill", skip)
    assert killed.code == -9, killed.output
    done = POINTS[point]
    assert (head(root).snapshot_id != before.snapshot_id) is done
    assert states(root)[point] == ("skipped" if done else "waiting")
    again = must(root, *skip)
    after = head(root)
    assert after.sequence_number == before.sequence_number + (2 if done else 1)
    assert after.summary["total-records"] == before.summary["total-records"] == "2"
    assert states(root)[point] == "skipped"
    assert "Spark is ready" not in again
