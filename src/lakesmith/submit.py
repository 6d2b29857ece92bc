"""The script that ``spark-submit``, EMR Serverless or a Glue job calls: commands of lakesmith on its Spark.

    spark-submit .../lakesmith/submit.py --project s3://bucket/shop.zip --target prod run silver.customers

The project is a folder, a zip, or either of them in S3. Anything but a writable folder is copied first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

# Called as a script, Python looks for modules beside it first: ours have names that others' have.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesmith.errors import LakesmithError
    from lakesmith.spark.start.session import SessionSettings

_STATE: Final = ".lakesmith"
_PROJECT_FILE: Final = "lakesmith.yaml"
_S3: Final = "s3://"


def main() -> None:
    """Runs the command; ends the process with its exit code."""
    from lakesmith.cli.guard import guarded

    code = guarded(lambda: _submitted(sys.argv[1:]), sys.argv[1:])
    _end_session()
    sys.stdout.flush()
    sys.exit(code)


def _submitted(arguments: Sequence[str]) -> object:
    from lakesmith.cli.main import app
    from lakesmith.spark.open import offer

    project, target, command = split(arguments)
    with at_hand(project) as folder:
        if folder.resolve() != Path(project).resolve():
            _require_shared(folder, target)
        offer(_session)
        places = ["--project", str(folder), *(["--target", target] if target else [])]
        # Behind the command's own name: it is where its options stand.
        return app([*command[:1], *places, *command[1:]], prog_name="lakesmith", standalone_mode=False)


def split(arguments: Sequence[str]) -> tuple[str, str | None, list[str]]:
    """Where the project is, the target, and the command with what is left of its words.

    >>> split(["--project", "s3://b/shop.zip", "--target=prod", "run", "silver.*", "--json"])
    ('s3://b/shop.zip', 'prod', ['run', 'silver.*', '--json'])
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--project", default=".")
    parser.add_argument("--target")
    known, command = parser.parse_known_args(list(arguments))
    return known.project, known.target, command


@contextmanager
def at_hand(project: str) -> Iterator[Path]:
    """The project as a folder that can be written, for as long as the context lasts.

    Raises EnvironmentProblem LS335 for what is neither a folder nor a zip, or has no project in it.
    """
    place = Path(project)
    if not project.startswith(_S3) and place.is_dir() and os.access(place, os.W_OK):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="lakesmith-project-", ignore_cleanup_errors=True) as work:
        found = Path(work, "project")
        _bring(project, Path(work), found)
        yield _inside(found, project)


def _bring(project: str, work: Path, folder: Path) -> None:
    if project.startswith(_S3):
        _download(project, work, folder)
    elif zipfile.is_zipfile(project):
        _unzip(Path(project), folder)
    elif Path(project).is_dir():
        shutil.copytree(project, folder, ignore=shutil.ignore_patterns(_STATE))
    else:
        raise _no_project(project, "nothing there that can be read")


def _download(project: str, work: Path, folder: Path) -> None:
    from lakesmith.project.definitions import ObjectStore
    from lakesmith.sources.objects import bucket_and_key, client_of

    client, (bucket, key) = client_of(ObjectStore()), bucket_and_key(project)
    if key.endswith(".zip"):
        client.download_file(bucket, key, str(work / "project.zip"))
        _unzip(work / "project.zip", folder)
        return
    start = f"{key.rstrip('/')}/" if key else ""
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=start):
        for item in page.get("Contents", ()):
            _keep(client, bucket, item["Key"], folder, item["Key"].removeprefix(start))


def _keep(client: Any, bucket: str, key: str, folder: Path, name: str) -> None:
    parts = name.split("/")
    if not parts[-1] or ".." in parts or _STATE in parts:
        return
    file = folder.joinpath(*parts)
    file.parent.mkdir(parents=True, exist_ok=True)
    client.download_file(bucket, key, str(file))


def _unzip(file: Path, folder: Path) -> None:
    with zipfile.ZipFile(file) as packed:
        packed.extractall(folder)


def _inside(folder: Path, project: str) -> Path:
    """The folder with the project's file: a zip often has one folder that has all the rest."""
    for place in (folder, *sorted(folder.glob("*/"))):
        if (place / _PROJECT_FILE).is_file():
            return place
    raise _no_project(project, f"no {_PROJECT_FILE} in it")


def _no_project(project: str, found: str) -> LakesmithError:
    from lakesmith.errors import EnvironmentProblem

    expected = f"a folder with {_PROJECT_FILE}, a zip of one, or either of them in S3"
    return EnvironmentProblem.of("LS335", f"{project} is not a project", None, expected, found)


def _require_shared(folder: Path, target: str | None) -> None:
    """A lake in a folder that goes away would be gone with the command."""
    from lakesmith.errors import EnvironmentProblem
    from lakesmith.execute.opened import read_project

    opened = read_project(folder, target).project.target
    if opened.is_local:
        what = f"the tables of target {opened.name!r} would be in a temporary folder, and gone when this ends"
        expected = "--target with a catalog of its own: glue, s3tables, rest or jdbc"
        raise EnvironmentProblem.of("LS336", what, opened.place, expected, "the embedded catalog")


_started: list[SparkSession] = []


def _session(settings: SessionSettings) -> SparkSession:
    """The session of this Spark: started now, with what can be set only now, or there already."""
    from lakesmith.spark.start.given import started_with

    session, is_new = started_with(settings)
    if is_new:
        _started[:] = [session]
    return session


def _end_session() -> None:
    for session in _started:
        session.stop()


if __name__ == "__main__":
    main()
