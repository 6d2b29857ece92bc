"""boto3's client of a store: bounded in how long it waits, and quick with the answers to listings."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, Final
from xml.etree import ElementTree

from lakesmith import limits
from lakesmith.errors import EnvironmentProblem, Problem
from lakesmith.project.aws import as_here
from lakesmith.project.definitions import ObjectStore
from lakesmith.redaction import secrets_in

_CONNECT_SECONDS: Final = 5
_READ_SECONDS: Final = 20
_ATTEMPTS: Final = 5
"""Tries in all, with growing pauses. An unreachable server is abandoned after about half a minute; one
that accepts the connection and does not answer, after two."""


def client_of(store: ObjectStore) -> Any:
    """Makes a client for the store, which threads may share.

    Raises EnvironmentProblem LS330 without boto3, LS339 for an endpoint that is not a URL.
    """
    here = as_here(store)
    if here.endpoint and not (here.endpoint.startswith("http") and secrets_in(here.endpoint) == ()):
        expected = "a URL such as http://127.0.0.1:9000, without a user or password"
        hint = "correct s3.endpoint of the target's catalog, or AWS_ENDPOINT_URL"
        raise EnvironmentProblem(
            Problem("LS339", "the endpoint of S3 cannot be used", None, expected, hint=hint)
        )
    return _client(here)


@lru_cache(maxsize=8)
def _client(store: ObjectStore) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise EnvironmentProblem(
            Problem(
                "LS330",
                "the package that reads S3 is not installed",
                expected="boto3",
                hint="pip install 'lakesmith[aws]'",
            )
        ) from error
    config = Config(
        max_pool_connections=limits.OBJECT_THREADS,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
    )
    client = boto3.Session().client(
        "s3",
        endpoint_url=store.endpoint,
        region_name=store.region,
        aws_access_key_id=store.key_id,
        aws_secret_access_key=store.secret,
        aws_session_token=store.token,
        config=config,
    )
    client.meta.events.register_first("before-parse.s3.ListObjectsV2", _read_contents)
    return client


def _read_contents(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Reads the objects in a listing's answer itself; botocore, which reads the rest, takes four times as
    long."""
    body = response_dict["body"]
    if response_dict["status_code"] != 200 or b"<Contents>" not in body:
        return
    root = ElementTree.fromstring(body)
    space = root.tag.rpartition("}")[0] + "}" if "}" in root.tag else ""
    contents = f"{space}Contents"
    customized_response_dict["Contents"] = [_entry(each, space) for each in root.iterfind(contents)]
    root[:] = [each for each in root if each.tag != contents]
    response_dict["body"] = ElementTree.tostring(root)


def _entry(element: ElementTree.Element, space: str) -> dict[str, Any]:
    found = {name: element.findtext(space + name, "") for name in ("Key", "ETag", "Size", "LastModified")}
    return {
        **found,
        "Size": int(found["Size"]),
        "LastModified": datetime.fromisoformat(found["LastModified"]),
    }
