"""Runs the conformance suite, and the core of the tests on Spark, with other versions of PySpark and the
Iceberg that belongs to each.

    python scripts/versions.py 4.0.2 4.1.1
    python scripts/versions.py 4.0.2 -- -k embedded tests/conformance

Without versions: with all older ones. What follows ``--`` goes to pytest in place of the usual folders,
of whose long tail one part is run (tests/turns.py). Each version has an environment of its own in
``build/spark-VERSION``, which is kept; ends at the first version that fails, with pytest's exit code.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from lakesmith.spark.start.versions import PAIRS

ROOT = Path(__file__).parents[1]
OLDER = tuple(pair.spark for pair in PAIRS[:-1])
FOLDERS = "iceberg kinds write refresh batch validation query read verify start"
CALLS = (
    ("tests/conformance",),
    # Not as names of files, of which all cases would be run: they take hours.
    ("-o", "testpaths=" + " ".join(f"tests/spark/{folder}" for folder in FOLDERS.split())),
)
"""What pytest is called with."""


def environment(spark: str) -> Path:
    """The Python of the environment with this PySpark, made where it is missing or older than what it is made
    from.
    """
    folder = ROOT / "build" / f"spark-{spark}"
    python, made = folder / "bin" / "python", folder / "installed"
    sources = [ROOT / "pyproject.toml", ROOT / "constraints.txt"]
    if made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return python
    venv.create(folder, with_pip=True)
    pins = folder / "constraints.txt"
    pins.write_text(re.sub(r"(?m)^pyspark==.*$", f"pyspark=={spark}", sources[1].read_text()))
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(pins), "--editable", ".[dev]"], cwd=ROOT, check=True)
    made.touch()
    return python


def run(spark: str, calls: Sequence[Sequence[str]] = CALLS) -> int:
    """Pytest's exit code: the first that is not 0."""
    python = environment(spark)
    path = os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])
    for arguments in calls:
        print(f"PySpark {spark}: {' '.join(arguments)}", flush=True)
        command = [str(python), "-m", "pytest", "-q", *arguments]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, check=False)
        if done.returncode:
            return done.returncode
    return 0


def main() -> int:
    """Version by version."""
    parser = argparse.ArgumentParser(description="Runs the conformance suite with other versions of PySpark.")
    parser.add_argument("versions", nargs="*")
    own = sys.argv[1:]
    place = own.index("--") if "--" in own else len(own)
    versions = parser.parse_args(own[:place]).versions or OLDER
    calls = [own[place + 1 :]] if place < len(own) else CALLS
    return next((code for spark in versions if (code := run(spark, calls))), 0)


if __name__ == "__main__":
    sys.exit(main())
