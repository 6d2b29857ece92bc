"""Policies of roles, enforced in front of moto.

Moto's own enforcement knows few resources and no conditions. Here a request with credentials of AssumeRole is
read as AWS does (asked_actions.py), and refused if the policies of its role do not allow it. Other
credentials may do all. Each request of a role is written down: what was never asked need not be granted.
"""

import io
import json
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from asked_actions import Asked, Request, asked_of
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.s3.exceptions import HeadOnDeleteMarker
from moto.s3.models import s3_backends
from moto.sts.models import sts_backends

_CREDENTIAL = re.compile(r"Credential=([^/]+)/[^/]+/([^/]+)/([^/]+)/")


def permits(policy: Mapping[str, Any], asked: Asked) -> bool:
    """Whether a policy allows an action on each of its resources."""
    return all(_allows(policy, asked, resource) for resource in asked.resources)


def _allows(policy: Mapping[str, Any], asked: Asked, resource: str) -> bool:
    found = {each["Effect"] for each in policy["Statement"] if covers(each, asked, resource)}
    return found == {"Allow"}


def covers(statement: Mapping[str, Any], asked: Asked, resource: str) -> bool:
    """Whether a statement is about an action on a resource."""
    return (
        any(fnmatchcase(asked.action.lower(), each.lower()) for each in _listed(statement["Action"]))
        and any(fnmatchcase(resource, each) for each in _listed(statement["Resource"]))
        and all(
            key in asked.context and any(fnmatchcase(asked.context[key], each) for each in _listed(wanted))
            for wanteds in statement.get("Condition", {}).values()
            for key, wanted in wanteds.items()
        )
    )


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def unneeded(policy: Mapping[str, Any], asked: Sequence[Asked]) -> set[str]:
    """The granted actions without which all that was asked would be allowed as well."""
    found = set()
    for statement in policy["Statement"]:
        for action in statement["Action"]:
            less = {**statement, "Action": [each for each in statement["Action"] if each != action]}
            without = {"Statement": [less if each is statement else each for each in policy["Statement"]]}
            if all(permits(without, each) for each in asked):
                found.add(action)
    return found


class Enforcing(DomainDispatcherApplication):
    """The server's application, which asks the policies first. ``file``: what was asked, a line each."""

    def __init__(self, create_app: Any, file: Path) -> None:
        super().__init__(create_app)
        self._file = file

    def __call__(self, environ: Any, start_response: Any) -> Any:
        try:
            return self._call(environ, start_response)
        except Exception:
            # The server answers with nothing but 500.
            traceback.print_exc()
            raise

    def _call(self, environ: Any, start_response: Any) -> Any:
        found = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
        role = _role_of(found[1]) if found else None
        if found is None or role is None:
            return super().__call__(environ, start_response)
        service = found[3]
        request = _request(environ, role, found[2], service)
        policy = {"Statement": list(_statements(role))}
        refused = self._refused(role, policy, asked_of(request))
        if refused is None and service == "s3" and _is_missing_to(policy, request):
            # Who may not list a bucket is not told whether an object is there.
            refused = Asked("s3:ListBucket", (request.path,))
        if refused is not None:
            return _refusal(service, request, refused, start_response)
        return super().__call__(environ, start_response)

    def _refused(self, role: str, policy: Mapping[str, Any], every: Iterable[Asked]) -> Asked | None:
        refused = None
        for asked in every:
            allowed = permits(policy, asked)
            with self._file.open("a") as file:
                said = {"role": role.rpartition("/")[2], "allowed": allowed, **asdict(asked)}
                file.write(json.dumps(said) + "\n")
            refused = refused or (None if allowed else asked)
        return refused


def _request(environ: Any, role: str, region: str, service: str) -> Request:
    body = b""
    # Objects are long, and are not looked at.
    if service != "s3" or environ["REQUEST_METHOD"] == "POST" or "replication" in environ["QUERY_STRING"]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
    path = environ["PATH_INFO"].encode("latin-1").decode()
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    place = f"{region}:{role.split(':')[4]}"
    return Request(service, environ["REQUEST_METHOD"], path, query, environ, body, place)


def _role_of(key: str) -> str | None:
    for account in list(sts_backends.values()):
        for backend in list(account.values()):
            if found := backend.get_assumed_role_from_access_key(key):
                return str(found.role_arn)
    return None


def _statements(role: str) -> Iterator[Mapping[str, Any]]:
    backend, name = iam_backends[role.split(":")[4]]["aws"], role.rpartition("/")[2]
    for policy in backend.list_role_policies(name):
        yield from json.loads(backend.get_role_policy(name, policy)[1])["Statement"]
    for policy in backend.list_attached_role_policies(name)[0]:
        (document,) = [each.document for each in policy.versions if each.is_default_version]
        yield from json.loads(document)["Statement"]


def _is_missing_to(policy: Mapping[str, Any], request: Request) -> bool:
    """Whether an object is not there, and the role may not know."""
    bucket, _, key = request.path.removeprefix("/").partition("/")
    if not key or request.method not in ("GET", "HEAD") or "uploadId" in request.query:
        return False
    backend = s3_backends[request.place.partition(":")[2]]["aws"]
    version = request.query.get("versionId", [None])[0]
    try:
        there = bucket in backend.buckets and backend.head_object(bucket, unquote(key), version) is not None
    except HeadOnDeleteMarker:
        there = False
    # The key counts as the prefix then, as https://github.com/ceph/ceph/pull/68577 found.
    listing = Asked("s3:ListBucket", (f"arn:aws:s3:::{bucket}",), {"s3:prefix": unquote(key)})
    return not there and not permits(policy, listing)


def _refusal(service: str, request: Request, refused: Asked, start_response: Any) -> list[bytes]:
    what = f"not authorized to perform {refused.action} on {', '.join(refused.resources)}"
    kind, text = "application/json", json.dumps({"__type": "AccessDeniedException", "message": what})
    if service in ("s3", "sns", "iam"):
        kind, text = ("application/xml", f"<Error><Code>AccessDenied</Code><Message>{what}</Message></Error>")
        text = text if service == "s3" else f"<ErrorResponse>{text}</ErrorResponse>"
    headers = {"Content-Type": kind, "x-amzn-errortype": "AccessDeniedException"}
    numbers = {"x-amz-request-id": "1", "x-amzn-requestid": "1"}
    start_response("403 FORBIDDEN", [*headers.items(), *numbers.items()])
    return [b"" if request.method == "HEAD" else text.encode()]
