"""The script that ``spark-submit``, EMR Serverless or a Glue job calls: commands of lakesmith on its Spark.

    spark-submit .../lakesmith/submit.py --project s3://bucket/shop.zip --target prod run silver.customers

The project is a folder, a zip, or either of them in S3. Anything but a writable folder is copied first.

A deployed job (`lakesmith deploy`) has more options. ``--environment /path`` takes variables from parameters
of that path in SSM. ``--select '["silver.*"]'`` means ``run --json`` of these tables, of all if it is empty;
``--command maintain`` is another command for them. With ``--result s3://bucket/key.json``, the exit code and
each failed table are written there, and the process ends with 0: services do not pass on exit codes. What it
prints is in ``key.jsonl`` beside it, while it goes on. ``--metrics project/target`` adds its row balance to
the result, as CloudWatch takes it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
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
_SECONDS_BETWEEN: Final = 3
"""How long what was printed waits to be sent."""


def main() -> None:
    """Runs the command; ends the process with its exit code."""
    from lakesmith.cli.guard import guarded

    job, words = job_of(sys.argv[1:])
    if job.environment:
        os.environ.update(parameters(job.environment))
    code = _reported(job, words) if job.result else guarded(lambda: _submitted(words), words)
    _end_session()
    sys.stdout.flush()
    sys.exit(code)


def job_of(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Returns the options of a deployed job, and the other words.

    >>> job_of(["--JOB_NAME", "x", "--target", "prod", "--result", "s3://b/k", "--select", '["silver.*"]'])[1]
    ['--project', '.', '--target', 'prod', 'run', 'silver.*', '--json']
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--result", "--select", "--environment", "--metrics"):
        parser.add_argument(option)
    parser.add_argument("--command", default="run")
    job, words = parser.parse_known_args(list(arguments))
    if job.select is None:
        return job, words
    # Glue adds options of its own: --JOB_NAME ..., --job-bookmark-option ...
    project, target, _ = split(words)
    return job, [*_places(project, target), job.command, *json.loads(job.select), "--json"]


def parameters(path: str) -> dict[str, str]:
    """Returns the values of the parameters below a path of SSM, by the last parts of their names.

    Empty if SSM cannot be reached, as from EMR Serverless without a VPC: a variable that is needed is missed
    by the target that names it.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import ConnectionError as NoConnection
    from botocore.exceptions import HTTPClientError

    quick = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 2})
    asked = boto3.client("ssm", config=quick).get_paginator("get_parameters_by_path")
    try:
        pages = list(asked.paginate(Path=path, WithDecryption=True))
    except (NoConnection, HTTPClientError) as error:
        print(f"no environment variables were taken from {path}: {error}", file=sys.stderr)
        return {}
    return {each["Name"].rpartition("/")[2]: each["Value"] for page in pages for each in page["Parameters"]}


def _reported(job: argparse.Namespace, words: Sequence[str]) -> int:
    """Runs the command, sends its metrics, writes its report to ``job.result`` and returns 0."""
    from lakesmith.cli.guard import guarded
    from lakesmith.project.definitions import ObjectStore
    from lakesmith.sources.objects import bucket_and_key, client_of

    client, (bucket, key) = client_of(ObjectStore()), bucket_and_key(job.result)
    said = _Said(lambda text: client.put_object(Bucket=bucket, Key=f"{key}l", Body=text.encode()))
    said.write(json.dumps({"event": "job_started", "project": split(words)[0]}) + "\n")
    with contextlib.redirect_stdout(said), said.sending():
        code = guarded(lambda: _submitted(words), words)
    print(said.getvalue(), end="", flush=True)
    report = report_of(code, said.getvalue())
    if job.metrics:
        report["metrics"] = _metric_data(job.metrics, said.getvalue())
    client.put_object(Bucket=bucket, Key=key, Body=json.dumps(report).encode())
    return 0


class _Said(io.StringIO):
    """What a command prints; sent every few seconds while it goes on, and at its end."""

    def __init__(self, send: Callable[[str], object]) -> None:
        super().__init__()
        self._send, self._sent, self._ended = send, 0, threading.Event()

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Sends what is printed meanwhile to whoever follows the job, which does not depend on it."""
        thread = threading.Thread(target=self._keep_sending, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            self._send_new()

    def _keep_sending(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN):
            self._send_new()

    def _send_new(self) -> None:
        text = self.getvalue()
        whole = text[: text.rfind("\n") + 1]
        if len(whole) == self._sent:
            return
        try:
            self._send(whole)
            self._sent = len(whole)
        except Exception as error:  # noqa: BLE001 - boto3 raises many; the next time is near
            print(f"the progress was not sent: {error}", file=sys.stderr)


def documents_in(said: str) -> list[dict[str, Any]]:
    """Returns the JSON objects that a command printed, one a line or over several lines.

    >>> documents_in('{"event": "a"}\\nno JSON\\n{\\n "b": 1\\n}\\n')
    [{'event': 'a'}, {'b': 1}]
    """
    found, decoder, at = [], json.JSONDecoder(), 0
    while (at := said.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(said, at)
        except ValueError:
            at = said.find("\n", at) if "\n" in said[at:] else len(said)
            continue
        found.append(value)
    return found


def report_of(code: int, said: str) -> dict[str, Any]:
    """Returns the exit code and each failed table with its first problem, from what ``--json`` printed.

    >>> report_of(2, '{"problems": [{"code": "LS120", "what": "there is no target"}]}')
    {'exit_code': 2, 'failed': [{'table': 'the whole run', 'problem': 'LS120 there is no target'}]}
    """
    found = documents_in(said)
    every = [*found, *(each for one in found for each in one.get("maintained", ()))]
    failed = {each["table"]: each["problems"] for each in every if each.get("table") and each.get("problems")}
    if code and not failed:
        whole = (each["problems"] for each in found if each.get("problems"))
        failed = {"the whole run": next(whole, [{"code": "LS900", "what": "see the job's logs"}])}
    problems = [
        {"table": table, "problem": f"{problems[0]['code']} {problems[0]['what']}"}
        for table, problems in failed.items()
    ]
    return {"exit_code": code, "failed": problems if code else []}


def _metric_data(of: str, said: str) -> list[dict[str, Any]]:
    """The metrics of a run of ``project/target``, as CloudWatch's PutMetricData takes them."""
    names = zip(("project", "target"), of.split("/"), strict=True)
    dimensions = [{"Name": name, "Value": value} for name, value in names]
    return [
        {"MetricName": name, "Value": value, "Unit": "Count", "Dimensions": dimensions}
        for name, value in metrics_of(said).items()
    ]


def metrics_of(said: str) -> dict[str, int]:
    """Returns the sums of the row balances that ``run --json`` printed, and how many tables it refreshed.

    >>> metrics_of('{"event": "table_published", "record": {"account": {"read": 3, "inserted": 2}}}')
    {'RowsRead': 3, 'RowsInserted': 2, 'RowsQuarantined': 0, 'TablesPublished': 1, 'TablesFailed': 0}
    """
    found = documents_in(said)
    rows = [each["record"]["account"] for each in found if each.get("event") == "table_published"]
    sums = {
        f"Rows{name.capitalize()}": sum(each.get(name, 0) for each in rows)
        for name in ("read", "inserted", "quarantined")
    }
    failed = sum(each.get("event") == "table_failed" for each in found)
    return {**sums, "TablesPublished": len(rows), "TablesFailed": failed}


def _submitted(arguments: Sequence[str]) -> object:
    from lakesmith.cli.main import app
    from lakesmith.spark.open import offer

    project, target, command = split(arguments)
    with at_hand(project) as folder:
        if folder.resolve() != Path(project).resolve():
            _require_shared(folder, target)
        offer(_session)
        # Behind the command's own name: it is where its options stand.
        return app(
            [*command[:1], *_places(str(folder), target), *command[1:]],
            prog_name="lakesmith",
            standalone_mode=False,
        )


def _places(project: str, target: str | None) -> list[str]:
    return ["--project", project, *(["--target", target] if target else [])]


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
