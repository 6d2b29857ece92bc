"""Runs examples as deployed jobs do: in a root that has the service's Python, Spark and Iceberg, and no more.

    python scripts/bare_roots.py                              # customer-orders with Python 3.11
    python scripts/bare_roots.py --suite trixie invoices      # with Python 3.13

debootstrap makes a Debian in ``build/roots``, into which Spark 4.1.1 and Iceberg 1.11.0 are put where EMR has
them. Packages come from the artifact alone. Each delivery is a run on AWS as emulated by moto, by the state
machine, and one on this machine; tables must be equal. Says so and ends with 0 where it cannot be done.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / each) for each in ("tests", "tests/deploy", "tests/unit/deploy", "scripts")]

import deployed  # noqa: E402
import emulated_aws  # noqa: E402 - these three are beside the tests
from deployed_shop import JOB, Shop  # noqa: E402

import emulated  # noqa: E402 - it is beside this
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
    parser.add_argument("examples", nargs="*", default=["customer-orders"])
    given = parser.parse_args()
    if missing := _missing():
        print(f"SKIPPED: {missing}")
        return 0
    begun = time.monotonic()
    root = _root(given.suite)
    print(f"root {given.suite}: {time.monotonic() - begun:.0f} s", flush=True)
    differ = 0
    for example in given.examples or ["customer-orders"]:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, started(emulated_aws.Aws) as aws:
            differ += _example(example, Path(folder, example), root, given.suite, aws)
        print(f"{example} on {given.suite}: {time.monotonic() - begun:.0f} s", flush=True)
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


def _example(name: str, folder: Path, root: Path, suite: str, aws: Any) -> int:
    ignored = shutil.ignore_patterns(".lakesmith", "deploy")
    shutil.copytree(ROOT / "examples" / name, folder, ignore=ignored)
    deliveries = list(_deliveries(folder))
    # The state machine names EMR's Python; this root may have another.
    python = SUITES[suite][0]
    artifact.EMR_PYTHON = python  # type: ignore[misc]
    packages = artifact.packages_of(deployed.stack(folder))
    shop = Shop(aws, folder, packages, {"EMULATED_ROOT": str(root), "EMULATED_PYTHON": f"python{python}"})
    (local,) = {source.path for table in _tables(folder) for source in table.sources if source.path}
    environ = {**os.environ, **shop.environ}
    for files in deliveries:
        for file in files:
            shop.lands(file)
            (folder / local).mkdir(parents=True, exist_ok=True)
            if file.parent != folder / local:
                shutil.copy(file, folder / local)
        shop.ends(JOB)
        for words in (("--target", "prod", "--submit"), ("--target", "local")):
            print(f"\n$ lakesmith run {' '.join(words)}", flush=True)
            done = subprocess.run([*LAKESMITH, "run", *words], cwd=folder, env=environ, check=False)
            if done.returncode:
                subprocess.run([*LAKESMITH, "logs", "--target", "prod"], cwd=folder, env=environ, check=False)
                return 1
    emulated.TARGETS = ("prod", "local")
    return emulated._compare(folder, environ)


def _tables(folder: Path) -> Any:
    return parse_project(FolderFiles(folder), "local").project.tables


def _deliveries(folder: Path) -> Iterator[list[Path]]:
    """Files that come together, one list after the other."""
    generator = folder / "generate.py"
    arrivals = folder / "arrivals"
    if arrivals.is_dir():
        there = [path for path in sorted((folder / "landing").rglob("*")) if path.suffix and path.is_file()]
        yield from ([there] if there else [])
        yield from ([path] for path in sorted(arrivals.iterdir()))
    else:
        for day in ("2024-06-03", "2024-06-04"):
            subprocess.run([sys.executable, generator, day, "--out", folder / "of" / day], check=True)
            yield sorted((folder / "of" / day).iterdir())


if __name__ == "__main__":
    sys.exit(main())
