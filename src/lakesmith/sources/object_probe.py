"""Tests whether a place in S3 can be used: by listing it, and by writing and deleting an empty object."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from lakesmith.project.definitions import ObjectStore
from lakesmith.sources.objects import bucket_and_key, client_of

PROBE = "_lakesmith_doctor_"
"""How the name of the empty object begins."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What a place answered. ``refused``: what failed and why, None if all succeeded. ``skew_seconds``:
    how far this machine's clock is ahead of the server's; None if unknown."""

    refused: str | None = None
    skew_seconds: float | None = None


def probe(place: str, store: ObjectStore) -> Probe:
    """Tries what a run does there: list, write, delete. Raises EnvironmentProblem LS330 without boto3."""
    client = client_of(store)
    bucket, prefix = bucket_and_key(place)
    key = f"{prefix.rstrip('/')}/{PROBE}{uuid.uuid4().hex}".lstrip("/")
    steps: dict[str, Callable[[], Any]] = {
        "list": lambda: client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1),
        "write": lambda: client.put_object(Bucket=bucket, Key=key, Body=b""),
        "delete": lambda: client.delete_object(Bucket=bucket, Key=key),
    }
    skew = None
    for what, step in steps.items():
        try:
            answer = step()
        except Exception as error:  # noqa: BLE001 - any error is the place's answer
            return Probe(f"{what}: {_first_line(error)}", skew)
        skew = _skew(answer)
    return Probe(None, skew)


def who_am_i(store: ObjectStore) -> str | None:
    """The credentials in use, in words; None if there are none."""
    credentials = client_of(store)._request_signer._credentials
    if credentials is None:
        return None
    return f"{credentials.access_key[:4]}… from {credentials.method}"


def _skew(answer: dict[str, Any]) -> float | None:
    said = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    return None if said is None else (datetime.now(UTC) - parsedate_to_datetime(said)).total_seconds()


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
