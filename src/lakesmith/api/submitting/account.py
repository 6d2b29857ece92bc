"""The account that a target is deployed to, as runs need it: the state machine, results, logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lakesmith.deploy.facts import Stack
from lakesmith.deploy.policies import machine_arn
from lakesmith.errors import EnvironmentProblem
from lakesmith.sources.objects import boto3_for

_NOT_THERE = ("StateMachineDoesNotExist", "ExecutionDoesNotExist", "ResourceNotFoundException")
_NO_OBJECT = ("NoSuchKey", "404", "InvalidRange", "416")


@dataclass(frozen=True, slots=True)
class Account:
    """The account of a deployed target. Its calls raise EnvironmentProblem LS345 and LS346."""

    stack: Stack
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def machine(self) -> str:
        """The ARN of the state machine."""
        return machine_arn(self.stack)

    def execution(self, run: str) -> str:
        """Returns the ARN of a run."""
        return f"{self.machine.replace(':stateMachine:', ':execution:')}:{run}"

    def __call__(self, service: str, operation: str, **given: Any) -> Any:
        """Calls an operation of a service."""
        with self._refusals(f"{service}:{operation}"):
            return getattr(self._client(service), operation)(**given)

    def text_of(self, key: str, start: int = 0) -> bytes:
        """Returns an object of the bucket ``work`` from an offset on; nothing if it is not there yet."""
        from botocore.exceptions import ClientError

        place = {"Bucket": self.stack.bucket_named("work"), "Key": key, "Range": f"bytes={start}-"}
        with self._refusals("s3:get_object"):
            try:
                found: bytes = self._client("s3").get_object(**place)["Body"].read()
            except ClientError as error:
                if error.response["Error"]["Code"] not in _NO_OBJECT:
                    raise
                return b""
            return found

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            region = self.stack.deploy.region
            self._clients[service] = boto3_for("calls AWS").Session().client(service, region_name=region)
        return self._clients[service]

    @contextmanager
    def _refusals(self, call: str) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            if error.response["Error"]["Code"] in _NOT_THERE:
                raise self._not_deployed(error) from None
            raise self._refused(call, error) from None
        except BotoCoreError as error:
            raise self._refused(call, error) from None

    def _not_deployed(self, error: Exception) -> EnvironmentProblem:
        what = f"target {self.stack.target!r} is not deployed to account {self.stack.deploy.account}"
        hint = f"cd deploy/{self.stack.target} && terraform apply"
        return EnvironmentProblem.of("LS346", what, self.stack.deploy.place, self.machine, str(error), hint)

    def _refused(self, call: str, error: Exception) -> EnvironmentProblem:
        what = f"AWS did not answer {call}"
        expected = f"credentials of account {self.stack.deploy.account} that may do this"
        hint = "log in, for example by aws sso login, or set AWS_PROFILE"
        return EnvironmentProblem.of("LS345", what, None, expected, str(error), hint)
