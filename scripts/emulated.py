"""Runs an example on its ``aws`` target, with S3 and Glue played on this machine, beside its local one, and
compares the tables.

    python scripts/emulated.py examples/customer-orders build/emulated

The folder is the example as it is: what is not Amazon's is in the environment alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from lakesmith.catalog.open import open_catalog
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import s3_server  # noqa: E402 - it is beside the tests

TARGETS = ("aws", "local")


def main(example: Path, build: Path) -> int:
    """Brings what the example comes with, and then each of its arrivals; 1 if the tables of the targets
    differ.
    """
    folder = build / example.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(example, folder, ignore=shutil.ignore_patterns(".lakesmith"))
    with s3_server.running() as server:
        bucket = server.make_bucket().removeprefix("s3://")
        environ = {**os.environ, **server.environ, "AWS_ENDPOINT_URL": server.endpoint, "LAKE_BUCKET": bucket}
        for files in _deliveries(folder):
            for file, landing in files:
                server.client().upload_file(str(file), bucket, f"{example.name}/{landing}")
                _land_here(file, folder / landing)
            for target in TARGETS:
                _show(folder, environ, "lakesmith", "run", "--target", target)
        return _compare(folder, environ)


def _deliveries(folder: Path) -> Iterator[list[tuple[Path, str]]]:
    """Files that come together, each with its place: what lies in ``landing`` first, then one arrival after
    the other.
    """
    (place,) = (path for path in (folder / "landing").iterdir() if path.is_dir())
    there = [file for file in sorted(place.iterdir()) if file.suffix]
    if there:
        yield [(file, file.relative_to(folder).as_posix()) for file in there]
    for file in sorted((folder / "arrivals").iterdir()):
        yield [(file, f"landing/{place.name}/{file.name}")]


def _land_here(file: Path, place: Path) -> None:
    if file != place:
        shutil.copyfile(file, place)


def _show(folder: Path, environ: Mapping[str, str], *command: str) -> None:
    print(f"\n$ {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=folder, env=dict(environ), check=True)


def _compare(folder: Path, environ: Mapping[str, str]) -> int:
    os.environ.update(environ)
    differ = 0
    print()
    for name in (table.name for table in parse_project(FolderFiles(folder), "local").project.tables):
        aws, local = (_rows(folder, target, (name.layer, name.name)) for target in TARGETS)
        differ += aws != local or not local
        print(
            f"{name}: {aws.total()} rows, {'the same as' if aws == local else 'NOT those of'} the local "
            f"table's"
        )
    return min(1, differ)


def _rows(folder: Path, target: str, name: tuple[str, str]) -> Counter[str]:
    """The rows as PyIceberg reads them, without the columns that tell where and when they came from."""
    catalog = open_catalog(parse_project(FolderFiles(folder), target).project)
    table = catalog.reader().load_table(name).scan().to_arrow()
    kept = [column for column in table.column_names if not column.startswith("_")]
    return Counter(map(repr, table.select(kept).to_pylist()))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
