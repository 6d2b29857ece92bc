"""Compiles the Java classes that Spark's driver uses into their jar: python scripts/java_classes.py.

The jar is in the repository, with its sources in it: whoever installs lakesmith needs no compiler. Run this
after a change of a ``.java`` file, with a JDK of 17 or newer on the path.
"""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyspark

from lakesmith.spark.start.jars import jars_folder
from lakesmith.spark.start.versions import local_jars

FOLDER = Path(__file__).resolve().parents[1] / "src/lakesmith/spark/start/java"
JAR = FOLDER / "lakesmith.jar"
_RELEASE = "17"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Compiles, and writes the jar: the same bytes from the same compiler."""
    spark = Path(pyspark.__file__).parent / "jars" / "*"
    iceberg = jars_folder(local_jars()) / "*"
    sources = sorted(FOLDER.glob("*.java"))
    with tempfile.TemporaryDirectory() as work:
        javac = [
            "javac",
            "--release",
            _RELEASE,
            "-g:none",
            "-cp",
            f"{spark}:{iceberg}",
            "-d",
            work,
            *map(str, sources),
        ]
        subprocess.run(javac, check=True)
        classes = sorted(Path(work).rglob("*.class"))
        with zipfile.ZipFile(JAR, "w", zipfile.ZIP_DEFLATED) as jar:
            for name, path in (
                *((str(each.relative_to(work)), each) for each in classes),
                *((f"lakesmith/{source.name}", source) for source in sources),
            ):
                jar.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
