"""Change capture on a standalone cluster of two workers of one core, with tables and files in S3, played on
this machine.

    python benchmarks/cluster.py                    1,000,000 rows, then a batch of 10,000 changes
    python benchmarks/cluster.py --rows 5000000     so many
    python benchmarks/cluster.py --memory 512m      with so small a heap in the drivers
    python benchmarks/cluster.py --alone            the memory alone, without the run on this machine

Prints the seconds, the driver's memory and whether the rows equal those of a run on this machine's own lake.
Of the memory it says the most that the JVM's heap held when it was asked each second to collect what nobody
uses, and the most that its JVM and its Python ever took of the machine. S3 is moto, which keeps all files in
its memory: 5 million rows are some 2 GB of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from cdc import PROJECT
from cdc_data import Changes, write_first

import rest_server
import s3_server
import spark_cluster_server
from cluster_place import Place

TABLES = ("bronze.orders", "silver.orders", "gold.sales_by_region_category", "gold.orders_by_day")
DRIVER = """
import json, re, resource, sys, threading, time
from pathlib import Path
import lakesmith

root, target = sys.argv[1:3]
heap, ended = [0], threading.Event()

def look(project):
    while not ended.wait(1):
        handle = project.access._handle
        if handle is not None:
            memory = handle.spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
            memory.gc()
            heap.append(memory.getHeapMemoryUsage().getUsed())

with lakesmith.open(root, target) as project:
    looking = threading.Thread(target=look, args=(project,))
    looking.start()
    began = time.monotonic()
    try:
        project.run()
    finally:
        ended.set()
        looking.join()
    seconds = time.monotonic() - began
    jvm = project.access._handle.jvm_pid
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path(f"/proc/{jvm}/status").read_text())[1])
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {}
    for table in sys.argv[3:]:
        names = [name for name in project.table(table).spark().columns if not name.startswith("_")]
        columns = ", ".join(f"`{name}`" for name in names)
        digest = f"sum(CAST(xxhash64({columns}) AS DECIMAL(38, 0)))"
        row = project.query(f"SELECT count(*) AS n, {digest} AS h FROM {table}")
        found[table] = [str(value) for value in row.arrow().to_pylist()[0].values()]
print(json.dumps({
    "seconds": round(seconds, 1), "heap_mb": max(heap) >> 20, "jvm_mb": peak // 1024,
    "python_mb": own // 1024, "rows": found,
}))
"""
"""A run, with what the driver took; on this machine it has the tasks' memory in it."""


def main() -> None:
    """Measures; ends with 1 where rows differ."""
    options = _options()
    with (
        s3_server.running() as s3,
        rest_server.running(s3) as rest,
        spark_cluster_server.running() as cluster,
        tempfile.TemporaryDirectory(prefix="lakesmith-bench-") as work,
    ):
        equal = measure(Place(cluster, rest, s3, s3.make_bucket()), Path(work), options)
    sys.exit(0 if equal else 1)


def measure(place: Place, work: Path, options: argparse.Namespace) -> bool:
    """A first load and a batch of changes, on both targets; whether all rows that were compared are equal."""
    root, changes = prepared(place, work / "shop", options.memory), Changes(options.rows, options.seed, 0.01)
    equal = True
    deliveries = (
        (f"first load of {options.rows:,} rows", lambda: write_first(work / "first", options.rows)),
        (
            f"batch of {options.changes:,} changes",
            lambda: changes.write_batch(work / "changes", options.changes),
        ),
    )
    for what, written in deliveries:
        for file in written():
            deliver(place, root, file)
        there = driven(place, root, "prod")
        here = None if options.alone else driven(place, root, "local")
        equal = equal and (here is None or there["rows"] == here["rows"])
        show(what, there, here)
    return equal


def prepared(place: Place, root: Path, memory: str) -> Path:
    """The project of the change-capture benchmark, with a target on the cluster."""
    for name, text in PROJECT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.replace("path: landing/", 'path: "${vars.landing}/"'))
    heap = {"spark.driver.memory": memory}
    there = json.loads(place.target("cdc", {**place.cluster.conf, **heap}))
    targets = {
        "local": {"vars": {"landing": "landing"}, "spark": heap},
        "prod": {"vars": {"landing": f"{place.bucket}/{root.name}"}, **there},
    }
    # JSON is YAML.
    (root / "lakesmith.yaml").write_text(json.dumps({"name": "cdc", "targets": targets}))
    return root


def deliver(place: Place, root: Path, file: Path) -> None:
    """Gives both targets the file."""
    (root / "landing").mkdir(exist_ok=True)
    place.put(f"{root.name}/{file.name}", file.read_bytes())
    file.rename(root / "landing" / file.name)


def driven(place: Place, root: Path, target: str) -> Any:
    """One run in a process of its own, and what it took."""
    command = [sys.executable, "-c", DRIVER, str(root), target, *TABLES]
    done = subprocess.run(
        command, env={**os.environ, **place.environ}, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def show(what: str, there: Any, here: Any) -> None:
    """Lines for one delivery."""
    print(f"{what}: {_compared(there['rows'], here and here['rows'])}")
    for where, it in (("cluster", there), ("this machine", here)):
        if it is None:
            continue
        print(
            f"  {where:12}  {it['seconds']:7.1f} s   heap {it['heap_mb']:,} MB, JVM {it['jvm_mb']:,} MB, "
            f"Python {it['python_mb']:,} MB",
            flush=True,
        )


def _compared(there: Any, here: Any) -> str:
    if here is None:
        return f"rows are not compared: {there}"
    return "rows are equal" if there == here else f"rows differ: {there} {here}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="change capture on a cluster of two workers")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--alone", action="store_true", help="no run on this machine to compare rows with")
    parser.add_argument("--memory", default="2g", help="the largest heap of the drivers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
