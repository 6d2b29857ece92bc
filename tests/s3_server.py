"""S3 and Glue for tests: moto as a process of its own on loopback, which keeps everything in its memory.

Its Glue refuses an update of another version than the table has, as AWS's does
(moto_server_with_glue_versions.py).
"""

import functools
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import boto3
import botocore.loaders
import botocore.session
from botocore.config import Config

from server_process import ServerProcess, started

REGION = "us-east-1"
KEY_ID, SECRET = "key-of-the-tests", "secret-of-the-tests"
# Each catalog and client has a session of its own, which reads the megabytes of what AWS is anew.
botocore.session.create_loader = functools.cache(botocore.loaders.create_loader)
_LAUNCHER = Path(__file__).with_name("moto_server_with_glue_versions.py")


class Server:
    """A server whose log is in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.process = ServerProcess(folder)
        self._port: int | None = None
        self._requests = folder / "requests"

    def start(self) -> None:
        """Starts it on a free port, with nothing in it, and waits until it answers."""
        port_file = self.process.folder / "port"
        port_file.unlink(missing_ok=True)
        self.process.start([sys.executable, _LAUNCHER, port_file, self._requests], os.environ)
        self._port = self.process.wait_for(lambda: int(port_file.read_text()) if port_file.exists() else None)

    def end(self) -> None:
        self.process.end()

    @property
    def endpoint(self) -> str:
        """The URL at which it plays each service."""
        assert self._port is not None, "it was not started"
        return f"http://127.0.0.1:{self._port}"

    @property
    def environ(self) -> dict[str, str]:
        """Variables of credentials and region; the endpoint is given to each client by its settings."""
        return {
            "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip

    def client(self, service: str = "s3") -> Any:
        """A boto3 client of one service that tries nothing again by itself."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
            config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        )

    def make_bucket(self, name: str | None = None) -> str:
        """Makes a bucket, of a new name if none is given; its URL, ``s3://name``."""
        name = name or f"lake-{uuid.uuid4().hex[:12]}"
        self.client().create_bucket(Bucket=name)
        return f"s3://{name}"

    @contextmanager
    def asked(self, word: str = "") -> Iterator[list[str]]:
        """Lists the block's requests once it ended, as ``GET /bucket/key? bytes=0-99``; ``word``: filter."""
        before, lines = self._written_down(), list[str]()
        yield lines
        lines += [line for line in self._written_down()[len(before) :] if word in line]

    def _written_down(self) -> list[str]:
        return self._requests.read_text().splitlines() if self._requests.exists() else []

    @property
    def files(self) -> dict[str, str]:
        """PyIceberg's properties for files here."""
        return {
            "s3.endpoint": self.endpoint, "s3.access-key-id": KEY_ID, "s3.secret-access-key": SECRET,
            "s3.region": REGION, "s3.force-virtual-addressing": "false",
        }  # fmt: skip

    @property
    def file_io(self) -> dict[str, str]:
        """Properties of Iceberg's own S3FileIO for files here; credentials come from the environment."""
        return {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint": self.endpoint,
            "s3.path-style-access": "true",
            "client.region": REGION,
        }

    def glue(self, warehouse: str) -> dict[str, str]:
        """PyIceberg's properties of the Glue catalog here, with its tables below ``warehouse``."""
        return {
            "type": "glue",
            "warehouse": warehouse,
            "glue.endpoint": self.endpoint,
            "glue.region": REGION,
            "glue.access-key-id": KEY_ID,
            "glue.secret-access-key": SECRET,
            **self.files,
        }


def running() -> AbstractContextManager[Server]:
    return started(Server)
