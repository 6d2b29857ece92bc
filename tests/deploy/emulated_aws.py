"""AWS for Terraform on loopback: the server, and Terraform that knows no other AWS."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import boto3

from server_process import ServerProcess, free_port
from terraform_here import config_of

REGION: Final = "eu-central-1"
_LAUNCHER: Final = Path(__file__).with_name("moto_for_terraform.py")
_SERVICES: Final = (
    "athena", "budgets", "cloudwatch", "events", "emrserverless", "glue", "iam", "kms", "lakeformation",
    "lambda", "logs", "s3", "s3tables", "scheduler", "sfn", "sns", "sqs", "ssm", "sts",
)  # fmt: skip
_OVERRIDE: Final = """
provider "aws" {{
{keys}
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  s3_use_path_style           = true
  max_retries                 = 2

  endpoints {{
{endpoints}
  }}
}}
"""


_BACKEND: Final = """
{keys}
endpoints                   = {{ s3 = "{endpoint}", sts = "{endpoint}", iam = "{endpoint}" }}
use_path_style              = true
skip_credentials_validation = true
skip_metadata_api_check     = true
"""
"""Besides ``backend.hcl``, which has the bucket of the state."""


class Aws:
    """An account on loopback, whose log is in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.process = ServerProcess(folder)
        self.jobs = folder / "jobs.json"
        self.endpoint = ""

    def start(self) -> None:
        """Starts it empty."""
        port = self.process.folder / "port"
        self.process.start([sys.executable, _LAUNCHER, str(free_port()), port, self.jobs], os.environ)
        found = self.process.wait_for(lambda: port.read_text() if port.exists() else None)
        self.endpoint = f"http://127.0.0.1:{found}"

    def end(self) -> None:
        """Ends it, with all that is in it. Prints what went wrong inside it."""
        self.process.end()
        log = (self.process.folder / "log").read_text()
        print(log[log.find("Traceback") :][:5000] if "Traceback" in log else "")

    def client(self, service: str) -> Any:
        """A client of one service, which may do everything."""
        keys = {"aws_access_key_id": "key-of-the-tests", "aws_secret_access_key": "secret-of-the-tests"}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=REGION, **keys)

    def make_role(self, name: str, policy: Mapping[str, Any]) -> None:
        """Makes a role, or gives it another policy."""
        iam = self.client("iam")
        with suppress(iam.exceptions.EntityAlreadyExistsException):
            iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
        iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=json.dumps(policy))

    def environ_of(self, role: str) -> dict[str, str]:
        """Variables with which a process is a role, here."""
        arn = f"arn:aws:iam::123456789012:role/{role}"
        keys = self.client("sts").assume_role(RoleArn=arn, RoleSessionName="tests")["Credentials"]
        return {
            "AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"], "AWS_SESSION_TOKEN": keys["SessionToken"],
            "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip

    def asked(self, role: str) -> list[dict[str, Any]]:
        """What a role asked for, and whether it was allowed."""
        file = self.process.folder / "asked"
        lines = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
        return [each for each in lines if each["role"] == role]

    def override(self, folder: Path, *, has_keys: bool = True) -> None:
        """Writes a file of a person's own that sends Terraform here."""
        endpoints = "\n".join(f'    {service} = "{self.endpoint}"' for service in _SERVICES)
        keys = 'access_key = "key-of-the-tests"\nsecret_key = "secret-of-the-tests"' if has_keys else ""
        (folder / "emulated_override.tf").write_text(_OVERRIDE.format(endpoints=endpoints, keys=keys))
        (folder / "emulated.hcl").write_text(_BACKEND.format(endpoint=self.endpoint, keys=keys))


class Terraform:
    """Terraform in a folder. Each call gives its output; a failure fails the test with it."""

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self.folder, self.environ = folder, environ or {}

    def __call__(self, *words: str, codes: tuple[int, ...] = (0,)) -> str:
        """Runs a command; ``codes``: its accepted exit codes."""
        variables = {"TF_VAR_artifact": "test", "TF_VAR_project": "test"}
        environ = {**os.environ, **config_of(self.folder), **variables, **self.environ}
        done = subprocess.run(
            ["terraform", *words],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode in codes, (
            f"terraform {' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        )
        return done.stdout + done.stderr

    def init(self) -> None:
        """Begins in the folder. Its state is in S3 if it has a backend."""
        files = ("backend.hcl", "emulated.hcl") if (self.folder / "backend.hcl").exists() else ()
        self("init", "-input=false", "-no-color", *(f"-backend-config={file}" for file in files))

    def planned(self, *words: str) -> dict[str, Any]:
        """A plan as JSON."""
        self("plan", "-input=false", "-no-color", "-out=test.tfplan", *words)
        found: dict[str, Any] = json.loads(self("show", "-json", "test.tfplan"))
        (self.folder / "plan.json").write_text(json.dumps(found))
        return found
