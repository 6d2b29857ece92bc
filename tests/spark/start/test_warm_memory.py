"""Memory of a JVM that stays, after many small runs; for the long course: ``bench.py --soak 100``."""

from pathlib import Path

import pytest
from harness import Harness

from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn("file", of=3)

FILES = {
    "tables/bronze/a.yaml": "source:\n  files: {path: landing/a/, format: csv}\n"
    "columns: {id: int, at: int, v: string}\n",
    "tables/silver/t.yaml": "key: [id]\nlatest_by: [at]\n",
    "tables/silver/t.sql": "SELECT id, at, v FROM bronze.a",
    "tables/gold/g.sql": "SELECT v, count(*) AS n FROM silver.t GROUP BY v",
}


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20


def test_small_runs_do_not_fill_a_warm_jvm(shop: Harness, session: SessionHandle) -> None:
    """With pages of 64 MB each change took 350 MB more."""
    sizes = []
    for number in range(6):
        rows = "".join(f"{id_},{number},v{id_ % 7}\n" for id_ in range(50))
        shop.take(f"landing/a/{number}.csv", f"id,at,v\n{rows}")
        sizes.append(resident_mb(session.jvm_pid))
    assert sizes[-1] - sizes[0] < 600, sizes
    assert len(shop.rows("silver.t")) == 50
