"""A project deployed to the emulated AWS: its buckets, its artifact, its state machine with real jobs."""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import deployed
import emulated_aws

import lakesmith
from lakesmith.deploy.artifact.artifact import Part, project_of
from lakesmith.deploy.artifact.upload import upload
from lakesmith.deploy.machine import machine
from lakesmith.deploy.policies import machine_arn, secrets_path

JOB: Final = "a real job"
_RUNNER: Final = Path(__file__).with_name("emulated_job.py")


class Shop:
    """A deployed project. ``packages``: its packages; without them jobs run with those of this machine.

    ``environ``: further variables of its jobs.
    """

    def __init__(
        self,
        aws: emulated_aws.Aws,
        root: Path,
        packages: Part | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.aws, self.root, self.stack, self.more = aws, root, deployed.stack(root), dict(environ or {})
        s3, place = aws.client("s3"), {"LocationConstraint": emulated_aws.REGION}
        artifacts = self.stack.bucket_named("artifacts")
        for bucket in (*(each.name for each in self.stack.owned), artifacts):
            with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
                s3.create_bucket(Bucket=bucket, CreateBucketConfiguration=place)
        self._packages = "packages/here"
        if packages is not None:
            self._packages = packages.prefix
            upload(packages, artifacts, s3)
        else:
            script = Path(lakesmith.__file__).with_name("submit.py")
            s3.upload_file(str(script), artifacts, f"{self._packages}/submit.py")
        aws.client("sns").create_topic(Name=self.stack.named("alerts"))
        self.deploy()

    def deploy(self) -> None:
        """Deploys the project as it is now."""
        self.stack = deployed.stack(self.root)
        project = project_of(self.stack)
        upload(project, self.stack.bucket_named("artifacts"), self.aws.client("s3"))
        text = json.dumps(machine(self.stack)).replace("${application}", "app")
        text = text.replace("${artifact}", self._packages).replace("${project}", project.prefix)
        states, arn = self.aws.client("stepfunctions"), machine_arn(self.stack)
        try:
            states.update_state_machine(stateMachineArn=arn, definition=text)
        except states.exceptions.StateMachineDoesNotExist:
            role = "arn:aws:iam::123456789012:role/machine"
            states.create_state_machine(name=arn.rpartition(":")[2], definition=text, roleArn=role)

    @property
    def environ(self) -> dict[str, str]:
        """Credentials and region, of jobs and of whoever calls commands."""
        return {
            "AWS_ENDPOINT_URL": self.aws.endpoint,
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": emulated_aws.REGION, "AWS_DEFAULT_REGION": emulated_aws.REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip

    def ends(self, *outcomes: Any) -> None:
        """Says how the next jobs end; ``JOB``: as a real one does."""
        environ = {**self.environ, "EMULATED_LOGS": f"/lakesmith/{self.stack.base}/jobs", **self.more}
        run = [
            "/usr/bin/env",
            *(f"{key}={value}" for key, value in environ.items()),
            sys.executable,
            str(_RUNNER),
        ]
        self.aws.jobs.write_text(json.dumps([{"run": run} if each == JOB else each for each in outcomes]))

    def lands(self, file: Path, name: str | None = None) -> None:
        """Puts a file, or one of that name, where the project's first source reads it."""
        bucket, prefix = self.stack.landing[0]
        self.aws.client("s3").upload_file(str(file), bucket, f"{prefix}{name or file.name}")

    def keeps(self, variable: str, value: str) -> None:
        """Keeps the value of an environment variable for jobs."""
        name = f"{secrets_path(self.stack)}/{variable}"
        self.aws.client("ssm").put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)
