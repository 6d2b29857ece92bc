"""Runs a job as EMR Serverless does: what it was started with, by ``spark-submit``, its log in CloudWatch.

Arguments: a file with the parameters of StartJobRun, the id of the job run. The environment has
``AWS_ENDPOINT_URL``. With ``EMULATED_ROOT`` the job runs in that root, which has the service's Spark, Iceberg
and Python, and nothing else but the packages of the artifact. Without it, it runs on this machine's.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import boto3

SPARK_HOME: Final = "/usr/lib/spark"
"""Where the root has Spark."""
PASSED_ON: Final = "AWS_"
_DRIVER: Final = "spark.emr-serverless.driverEnv."


def main(file: Path, name: str) -> int:
    """Runs the job; returns its exit code."""
    given = json.loads(file.read_text())["JobDriver"]["SparkSubmit"]
    conf = dict(_conf(given["SparkSubmitParameters"].split()))
    root = Path(os.environ.get("EMULATED_ROOT", "/"))
    with tempfile.TemporaryDirectory(prefix="job-", dir=root / "tmp") as folder:
        work = Path(folder)
        _download(given["EntryPoint"], work / "submit.py")
        archive = conf.pop("spark.archives")
        if root != Path("/"):
            conf["spark.archives"] = _unpack(archive, work, root)
        environ = {
            each.removeprefix(_DRIVER): value for each, value in conf.items() if each.startswith(_DRIVER)
        }
        here = Path("/", work.relative_to(root))
        command = [*_command(root, here, conf, environ), f"{here}/submit.py", *given["EntryPointArguments"]]
        log = work / "log"
        with log.open("wb") as out:
            done = subprocess.run(
                command, cwd=work, stdout=out, stderr=out, env=_environ(root, environ), check=False
            )
        _keep(log.read_text(errors="replace"), name)
    return done.returncode


def _conf(words: list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        key, is_setting, value = word.partition("=")
        if is_setting:
            yield key, value


def _command(root: Path, here: Path, conf: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    # One small machine stands for the application.
    own = {"spark.driver.memory": "2g", "spark.master": "local[2]", "spark.ui.enabled": "false"}
    in_root = root != Path("/")
    if not in_root:
        # This machine's Spark has its own jars, and this Python its own packages.
        from lakesmith.spark.start.find_java import find_java
        from lakesmith.spark.start.jars import ensure_jars, spark_home
        from lakesmith.spark.start.versions import installed_pair

        pair = installed_pair()
        jars = [*ensure_jars(find_java(), pair.local_jars), *ensure_jars(find_java(), pair.aws_jars)]
        own |= {"spark.jars": ",".join(map(str, jars)), "spark.driver.host": "127.0.0.1"}
        submit = [str(spark_home() / "bin" / "spark-submit")]
    else:
        python = {"PYSPARK_PYTHON": os.environ.get("EMULATED_PYTHON", environ["PYSPARK_PYTHON"])}
        pairs = [f"{key}={value}" for key, value in {**environ, **python}.items()]
        passed = [f"{key}={value}" for key, value in os.environ.items() if key.startswith(PASSED_ON)]
        image = [
            "PATH=/usr/bin:/bin", "HOME=/tmp", f"SPARK_HOME={SPARK_HOME}", "SPARK_LOCAL_IP=127.0.0.1",
            "LANG=C.UTF-8",
        ]  # fmt: skip
        # The working folder of the job is where its archives are.
        inside = ["/bin/sh", "-c", f'cd {here} && exec "$@"', "sh"]
        # Its own mounts end with it. Bash and Java need /proc.
        mounted = ["unshare", "--mount", "sh", "-c", f'mount -t proc proc {root}/proc && exec "$@"', "sh"]
        submit = [*mounted, "chroot", str(root), "/usr/bin/env", "-i", *image, *pairs, *passed, *inside]
        submit.append(f"{SPARK_HOME}/bin/spark-submit")
    settings = {key: value for key, value in {**conf, **own}.items() if not key.startswith(_DRIVER)}
    return [*submit, *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}"))]


def _environ(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    if root != Path("/"):
        return dict(os.environ)
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **{key: environ[key] for key in environ if not key.startswith("PY")}, **own}


def _download(uri: str, to: Path) -> None:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    boto3.client("s3").download_file(bucket, key, str(to))


def _unpack(archive: str, work: Path, root: Path) -> str:
    """Links the unpacked archive into the driver's folder. Its prefix is the hash of its content: it is kept.
    Returns where it is for Spark, which unpacks it for executors."""
    uri, _, name = archive.partition("#")
    kept = work.with_name(uri.split("/")[-2])
    packed = kept.with_name(f"{kept.name}.tar.gz")
    if not packed.is_file():
        _download(uri, work / packed.name)
        with tarfile.open(work / packed.name) as file:
            file.extractall(kept, filter="data")
        (work / packed.name).rename(packed)
    (work / name).symlink_to(f"../{kept.name}")
    return f"/{packed.relative_to(root)}#{name}"


def _keep(said: str, name: str) -> None:
    """Puts the log where the service puts it."""
    logs: Any = boto3.client("logs", region_name=os.environ["AWS_REGION"])
    group, stream = os.environ["EMULATED_LOGS"], f"applications/app/jobs/{name}/SPARK_DRIVER/stderr"
    with suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    now = int(time.time() * 1000)
    events = [{"timestamp": now, "message": line} for line in said.splitlines()[-2000:] if line]
    if events:
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
