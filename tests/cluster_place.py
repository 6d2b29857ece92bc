"""A cluster, S3 and a REST catalog for tests, and projects on them.

Drivers are processes of their own: pytest's may have a Spark already, and there is one in a process.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rest_server
import s3_server
import spark_cluster_server

EXAMPLES = Path(__file__).parents[1] / "examples"
DRIVER_SECONDS = 600
LAKESMITH = [sys.executable, "-c", "from lakesmith.cli.main import main; main()"]


@dataclass(frozen=True)
class Place:
    """Where the projects of a test live: a cluster, a catalog, a bucket for landing files and projects."""

    cluster: spark_cluster_server.Cluster
    rest: rest_server.Server
    s3: s3_server.Server
    bucket: str

    def target(self, name: str, spark: Mapping[str, str]) -> str:
        """A target of ``lakesmith.yaml``, as JSON, which YAML can read."""
        catalog = {**self.s3.files, **self.s3.file_io, **self.rest.catalog}
        return json.dumps({"catalog": catalog, "spark": spark, "namespaces": {"prefix": f"{name}_"}})

    def example(self, name: str, root: Path, on_cluster: bool = True) -> Path:
        """An example of the repository with a target ``prod`` besides its own, whose files land in S3."""
        shutil.copytree(EXAMPLES / name, root, ignore=shutil.ignore_patterns(".lakesmith"))
        for landed in root.glob("landing/*/*.*"):
            landed.rename(root / "arrivals" / landed.name)
        spark = self.cluster.conf if on_cluster else {}
        target = self.target(root.name, spark)
        declared = (root / "lakesmith.yaml").read_text()
        (root / "lakesmith.yaml").write_text(f"{declared}  prod: {target}\n")
        return root

    def in_s3(self, root: Path, table: str, folder: str) -> None:
        """Has a table's files land in S3 on ``prod``, and in the project's folder on its own target."""
        file = root / "tables" / f"{table}.yaml"
        below = folder.removeprefix("landing/")
        declared = file.read_text().replace(f'"${{vars.landing}}/{below}"', '"${vars.landing}/"')
        assert declared != file.read_text()
        file.write_text(declared)
        declared = (root / "lakesmith.yaml").read_text()
        there = json.dumps(f"{self.bucket}/{root.name}")
        declared = declared.replace("local: {}", f"local: {{vars: {{landing: {folder.rstrip('/')}}}}}")
        (root / "lakesmith.yaml").write_text(
            declared.replace("prod: {", f'prod: {{"vars": {{"landing": {there}}}, ')
        )

    def put(self, key: str, content: bytes) -> str:
        """Puts an object into the bucket; its URL."""
        self.s3.client().put_object(Bucket=self.bucket.removeprefix("s3://"), Key=key, Body=content)
        return f"{self.bucket}/{key}"

    @property
    def environ(self) -> dict[str, str]:
        """A driver's environment. Executors are not given it."""
        return {
            **os.environ,
            **self.s3.environ,
            "AWS_ENDPOINT_URL_S3": self.s3.endpoint,
            "PYSPARK_PYTHON": sys.executable,
        }

    def python(self, program: str, *arguments: str | Path) -> Any:
        """Runs a program; what it prints last, read as JSON."""
        return json.loads(self.called([sys.executable, "-c", program, *map(str, arguments)]).splitlines()[-1])

    def called(self, command: list[str], code: int = 0) -> str:
        """Runs a command, which has to end with the exit code; what it prints."""
        done = subprocess.run(
            command, capture_output=True, text=True, env=self.environ, timeout=DRIVER_SECONDS, check=False
        )
        said = f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}\n{self.cluster.said()[-3000:]}"
        assert done.returncode == code, said
        return done.stdout
