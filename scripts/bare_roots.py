"""Runs examples as deployed jobs do: in a root that has the service's Python, Spark and Iceberg, and no more.

    python scripts/bare_roots.py                              # all, with Python 3.11
    python scripts/bare_roots.py --suite trixie invoices      # with Python 3.13

debootstrap makes a Debian in ``build/roots``, into which Spark 4.1.1 and Iceberg 1.11.0 are put where EMR has
them. Packages come from the artifact alone. Each delivery is a run on AWS as emulated by moto, by the state
machine, and one on this machine; tables must be equal. Says so and ends with 0 where it cannot be done.

What is not on AWS is not in the root either: the PostgreSQL of retail-sales listens on loopback, and a
parameter in SSM says where. Its sales are accepted by an intake on this machine, which ingests them into the
lake on AWS, as `lakesmith up --target prod` would; the job does the rest.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib import request

ROOT: Final = Path(__file__).resolve().parents[1]
PLACES: Final = ("tests", "tests/deploy", "tests/unit/deploy", "tests/unit/serve", "scripts")
sys.path[:0] = [str(ROOT / each) for each in PLACES]

import deployed  # noqa: E402
import emulated_aws  # noqa: E402
import intake_process  # noqa: E402
from deployed_shop import JOB, Shop  # noqa: E402

import emulated  # noqa: E402 - it is beside this
import lakesmith  # noqa: E402
import postgres_server  # noqa: E402 - these are beside the tests
from lakesmith.deploy.artifact import artifact  # noqa: E402
from lakesmith.project.files import FolderFiles  # noqa: E402
from lakesmith.project.loader import parse_project  # noqa: E402
from lakesmith.spark.start.find_java import find_java  # noqa: E402
from lakesmith.spark.start.jars import ensure_jars  # noqa: E402
from lakesmith.spark.start.versions import PAIRS  # noqa: E402
from server_process import started  # noqa: E402

SERVICE: Final = next(pair for pair in PAIRS if pair.spark == "4.1.1")
SUITES: Final = {
    "bookworm": ("3.11", "openjdk-17-jre-headless"),
    "trixie": ("3.13", "openjdk-21-jre-headless"),
}
ICEBERG: Final = "usr/share/aws/iceberg/lib/iceberg-spark3-runtime.jar"
"""Where EMR has it, and the state machine expects it."""
LAKESMITH: Final = (sys.executable, "-m", "lakesmith.cli.main")


def main() -> int:
    """Runs the examples; 1 if tables differ."""
    parser = argparse.ArgumentParser(description="Runs examples in a bare root.")
    parser.add_argument("--suite", choices=SUITES, default="bookworm")
    every = sorted(path.parent.name for path in (ROOT / "examples").glob("*/lakesmith.yaml"))
    parser.add_argument("examples", nargs="*", default=every)
    given = parser.parse_args()
    if missing := _missing():
        print(f"SKIPPED: {missing}")
        return 0
    begun = time.monotonic()
    root = _root(given.suite)
    print(f"root {given.suite}: {time.monotonic() - begun:.0f} s", flush=True)
    differ = 0
    for example in given.examples:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, started(emulated_aws.Aws) as aws:
            runs, differs = _example(example, Path(folder), root, given.suite, aws)
        differ += differs
        print(f"{example} on {given.suite}: {runs} runs, {time.monotonic() - begun:.0f} s", flush=True)
    return min(1, differ)


def _missing() -> str | None:
    if shutil.which("debootstrap") is None:
        return "debootstrap is not installed: apt-get install debootstrap"
    return None if os.geteuid() == 0 else "debootstrap and chroot need root"


def _root(suite: str) -> Path:
    """The root, made where it is missing. Its last file says that it is whole."""
    folder = ROOT / "build" / "roots" / suite
    made = folder / "made"
    if made.exists():
        # Spark asks for the address of this machine's name.
        (folder / "etc/hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        return folder
    if not (folder / "usr" / "bin" / f"python{SUITES[suite][0]}").exists():
        packages = f"python3,ca-certificates,procps,{SUITES[suite][1]}"
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={packages}", suite, folder], check=True
        )
    _put_spark(folder)
    made.touch()
    return _root(suite)


def _put_spark(folder: Path) -> None:
    """Puts the service's Spark, Iceberg and readers of S3 into the root."""
    home = folder / "usr/lib/spark"
    with tempfile.TemporaryDirectory() as work:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work]
        subprocess.run([*pip, f"pyspark=={SERVICE.spark}"], check=True)
        with tarfile.open(next(Path(work).glob("pyspark-*"))) as packed:
            packed.extractall(work, filter="data")
        (made,) = (path for path in Path(work).iterdir() if path.is_dir())
        for of, to in (("deps/jars", "jars"), ("deps/bin", "bin"), ("lib", "python/lib")):
            shutil.copytree(made / of, home / to, dirs_exist_ok=True)
    (home / "conf").mkdir(exist_ok=True)
    # EMR reads s3:// with a reader of its own.
    (home / "conf/spark-defaults.conf").write_text(
        "spark.hadoop.fs.s3.impl org.apache.hadoop.fs.s3a.S3AFileSystem\n"
    )
    for jar in ensure_jars(find_java(), (SERVICE.runtime, *SERVICE.aws_jars)):
        to = folder / ICEBERG if "iceberg-spark-runtime" in jar.name else home / "jars" / jar.name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(jar, to)


class Example:
    """An example that runs in a root and on this machine."""

    def __init__(self, folder: Path, root: Path, suite: str, aws: Any) -> None:
        self.folder, self.runs = folder, 0
        self.till = folder.with_name("till") / folder.name
        """The machine that accepts events for the lake on AWS."""
        _copy(ROOT / "examples" / folder.name, folder)
        # The state machine names EMR's Python; this root may have another.
        python = SUITES[suite][0]
        artifact.EMR_PYTHON = python  # type: ignore[misc]
        packages = artifact.packages_of(deployed.stack(folder))
        emulated_root = {"EMULATED_ROOT": str(root), "EMULATED_PYTHON": f"python{python}"}
        self.shop = Shop(aws, folder, packages, emulated_root)

    def lands(self, *files: Path, name: str | None = None) -> None:
        """Puts files into the landing folder of either target."""
        tables = parse_project(FolderFiles(self.folder), "local").project.tables
        (place,) = (self.folder / source.path for table in tables for source in table.sources if source.path)
        place.mkdir(parents=True, exist_ok=True)
        for file in files:
            self.shop.lands(file, name)
            if file.parent != place:
                shutil.copy(file, place / (name or file.name))

    def accepts(self, file: Path) -> None:
        """Posts events to an intake for either target; those for AWS are ingested from there."""
        _copy(self.folder, self.till)
        for root in (self.folder, self.till):
            intake = intake_process.Server(root)
            intake.start()
            request.urlopen(f"{intake.url}/sales", file.read_bytes()).close()
            intake.stop()
        self.calls(self.till, "--target", "prod", "bronze.sales_raw")

    def refreshes(self, lake: lakesmith.Lakehouse, *approved: str) -> None:
        """Refreshes all tables by a job in the root, and on this machine."""
        self.runs += 1
        self.shop.ends(JOB)
        words = [word for table in approved for word in ("--approve", table)]
        try:
            self.calls(self.folder, "--target", "prod", "--submit", *words)
        except subprocess.CalledProcessError:
            self.calls(self.folder, "--target", "prod", command="logs")
            raise
        published = lake.run(approve=approved).published
        print(f"and on this machine: {len(published)} tables published", flush=True)

    def calls(self, folder: Path, *words: str, command: str = "run") -> None:
        """Calls a command for the lake on AWS."""
        print(f"\n$ lakesmith {command} {' '.join(words)}", flush=True)
        environ = {**os.environ, **self.shop.environ}
        subprocess.run([*LAKESMITH, command, *words], cwd=folder, env=environ, check=True)


def _example(name: str, folder: Path, root: Path, suite: str, aws: Any) -> tuple[int, int]:
    """Returns how many runs there were, and 1 if tables differ."""
    example = Example(folder / name, root, suite, aws)
    with lakesmith.open(example.folder, "local") as lake:
        for approved in DELIVERIES.get(name, _arrivals)(example):
            example.refreshes(lake, *approved)
    emulated.TARGETS = ("prod", "local")
    return example.runs, emulated._compare(example.folder, example.shop.environ)


def _copy(project: Path, to: Path) -> None:
    ignored = shutil.ignore_patterns(".lakesmith", "deploy")
    shutil.copytree(project, to, ignore=ignored, dirs_exist_ok=True)


Deliveries = Iterator[Sequence[str]]
"""After each, tables are refreshed; the names are those of tables whose changes are approved."""


def _arrivals(example: Example) -> Deliveries:
    """What the example comes with, and then each of its arrivals."""
    there = [path for path in sorted((example.folder / "landing").glob("*/*.*")) if path.stem]
    if there:
        example.lands(*there)
        yield ()
    for file in sorted((example.folder / "arrivals").iterdir()):
        example.lands(file)
        yield ()


def _cdn_logs(example: Example) -> Deliveries:
    """Two days; the second has late records of the first, and a field more."""
    example.shop.keeps("ALERTS_TEAM_URL", "json://127.0.0.1:9")
    for day in ("2024-06-03", "2024-06-04"):
        out = example.folder.with_name("days") / day
        generator = example.folder / "generate.py"
        subprocess.run([sys.executable, generator, day, "--out", out], check=True)
        example.lands(*sorted(out.iterdir()))
        yield ()


def _dim_customers(example: Example) -> Deliveries:
    """Its months, the third as it was corrected; then another version of the project is deployed."""
    first, second, corrected, third, fourth = sorted((example.folder / "arrivals").iterdir())
    example.lands(first, second)
    yield ()
    example.lands(corrected, name=third.name)
    yield ()
    _copy(example.folder / "changes", example.folder / "tables")
    example.shop.deploy()
    example.lands(fourth)
    yield ("silver.customers",)


def _retail_sales(example: Example) -> Deliveries:
    """Sales of the morning; then a product moves, and more sales come."""
    with postgres_server.listening() as server:
        database = server.make_database()
        products = runpy.run_path(str(example.folder / "database.py"))["PRODUCTS"]
        rows = ", ".join(f"({number}, '{name}', '{category}')" for number, name, category in products)
        columns = "product_id bigint PRIMARY KEY, name text, category text"
        postgres_server.do(
            database.url, f"CREATE TABLE products ({columns})", f"INSERT INTO products VALUES {rows}"
        )
        os.environ["SHOP_DATABASE"] = database.url
        example.shop.keeps("SHOP_DATABASE", database.url)
        example.accepts(example.folder / "arrivals/morning.jsonl")
        yield ()
        postgres_server.do(database.url, "UPDATE products SET category = 'specials' WHERE product_id = 4")
        example.accepts(example.folder / "arrivals/later.jsonl")
        yield ()


DELIVERIES: Final = {"cdn-logs": _cdn_logs, "dim-customers": _dim_customers, "retail-sales": _retail_sales}


if __name__ == "__main__":
    sys.exit(main())
