"""Policies of roles, enforced in front of moto: what a request asks for, and whether its role may.

Moto's own enforcement knows few resources and no conditions. Here a request with credentials of AssumeRole is
read as AWS does, by its protocol: action, ARNs, and keys of conditions. Other credentials may do all. Each
request of a role is written down: what was never asked need not be granted.

Not asked here, as services ask it of each other: keys of KMS for S3, PassRole, delivery of logs.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote
from xml.etree import ElementTree

from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.s3.exceptions import HeadOnDeleteMarker
from moto.s3.models import s3_backends
from moto.sts.models import sts_backends

_CREDENTIAL = re.compile(r"Credential=([^/]+)/[^/]+/([^/]+)/([^/]+)/")


@dataclass(frozen=True)
class Asked:
    """An action on resources. ``context``: keys of conditions."""

    action: str
    resources: tuple[str, ...]
    context: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Request:
    """A request as it came. ``place``: what ARNs of its region and account begin with, behind the service."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    place: str

    @property
    def data(self) -> dict[str, Any]:
        """The body of JSON, or of a form."""
        if self.body.startswith(b"{"):
            found: dict[str, Any] = json.loads(self.body)
            return found
        return {name: values[0] for name, values in parse_qs(self.body.decode(errors="replace")).items()}

    @property
    def operation(self) -> str:
        """The name of the operation, of a service that names it."""
        target = self.headers.get("HTTP_X_AMZ_TARGET", "")
        of_path = re.search(r"/operation/(\w+)", self.path)
        return of_path[1] if of_path else target.rpartition(".")[2] or str(self.data.get("Action", ""))

    def arn(self, service: str, resource: str) -> str:
        """An ARN of the request's region and account."""
        return f"arn:aws:{service}:{self.place}:{resource}"


def asked_of(service: str, request: Request) -> Iterator[Asked]:
    """What a request asks for."""
    if service == "s3":
        yield from _of_s3(request)
        return
    data, operation = request.data if service != "emr-serverless" else {}, request.operation
    if service == "glue":
        yield Asked(f"glue:{operation}", _of_glue(request, data))
    elif service == "sqs":
        yield Asked(f"sqs:{operation}", (request.arn("sqs", data["QueueUrl"].rpartition("/")[2]),))
    elif service == "states":
        yield Asked(f"states:{operation}", (data.get("stateMachineArn") or data["executionArn"],))
    elif service == "ssm":
        yield Asked(f"ssm:{operation}", (request.arn("ssm", f"parameter{data['Path']}"),))
    elif service == "sns":
        yield Asked(f"sns:{operation}", (data["TopicArn"],))
    elif service == "monitoring":
        name = re.search(rb"Lakesmith", request.body)
        yield Asked(
            f"cloudwatch:{operation}", ("*",), {"cloudwatch:namespace": name[0].decode()} if name else {}
        )
    elif service == "emr-serverless":
        kind = "StartJobRun" if request.method == "POST" else "GetJobRun"
        application = request.arn(
            "emr-serverless", request.path.replace("/jobruns", "", kind == "StartJobRun")
        )
        yield Asked(f"emr-serverless:{kind}", (application,))
    else:
        yield Asked(f"{service}:{operation}", ("*",))


def _of_glue(request: Request, data: Mapping[str, Any]) -> tuple[str, ...]:
    table = data.get("TableInput", {}).get("Name") or (data.get("DatabaseName") and data.get("Name"))
    database = data.get("DatabaseName") or data.get("DatabaseInput", {}).get("Name") or data.get("Name")
    found = [request.arn("glue", "catalog")]
    found += [request.arn("glue", f"database/{database}")] if database else []
    if table or request.operation == "GetTables":
        found.append(request.arn("glue", f"table/{database}/{table or '*'}"))
    return tuple(found)


def _of_s3(request: Request) -> Iterator[Asked]:
    bucket, _, key = request.path.removeprefix("/").partition("/")
    query = request.query
    if not key:
        yield from _of_bucket(request, f"arn:aws:s3:::{bucket}")
        return
    place = (f"arn:aws:s3:::{bucket}/{unquote(key)}",)
    version = "Version" if "versionId" in query else ""
    if source := request.headers.get("HTTP_X_AMZ_COPY_SOURCE"):
        path, _, of = unquote(source).removeprefix("/").partition("?")
        yield Asked(f"s3:GetObject{'Version' if of else ''}", (f"arn:aws:s3:::{path}",))
    if request.method in ("GET", "HEAD"):
        parts = "s3:ListMultipartUploadParts" if "uploadId" in query else f"s3:GetObject{version}"
        yield Asked("s3:GetObjectTagging" if "tagging" in query else parts, place)
    elif request.method == "DELETE":
        yield Asked("s3:AbortMultipartUpload" if "uploadId" in query else f"s3:DeleteObject{version}", place)
    else:
        yield Asked("s3:PutObjectTagging" if "tagging" in query else "s3:PutObject", place)


def _of_bucket(request: Request, bucket: str) -> Iterator[Asked]:
    query, method = request.query, request.method
    if method == "POST" and "delete" in query:
        for each in ElementTree.fromstring(request.body).iter():
            if each.tag.rpartition("}")[2] == "Object":
                told = {child.tag.rpartition("}")[2]: child.text for child in each}
                version = "Version" if told.get("VersionId") else ""
                yield Asked(f"s3:DeleteObject{version}", (f"{bucket}/{told['Key']}",))
        return
    reads = {
        "versions": "ListBucketVersions",
        "location": "GetBucketLocation",
        "lifecycle": "GetLifecycleConfiguration",
        "uploads": "ListBucketMultipartUploads",
        "replication": "GetReplicationConfiguration",
        "versioning": "GetBucketVersioning",
    }
    # Other settings, and changes of any: no policy has such an action.
    others = [f"{method} of {word}" for word in ("acl", "policy", "tagging") if word in query]
    action = next((name for word, name in reads.items() if word in query), *others[:1] or ["ListBucket"])
    action = action if method in ("GET", "HEAD") else f"{method} of {action}"
    prefix = {"s3:prefix": query["prefix"][0]} if "prefix" in query else {}
    yield Asked(f"s3:{action}", (bucket,), prefix)


class Enforcing(DomainDispatcherApplication):
    """The server's application, which asks the policies first. ``file``: what was asked, a line each."""

    def __init__(self, create_app: Any, file: Path) -> None:
        super().__init__(create_app)
        self._file = file

    def __call__(self, environ: Any, start_response: Any) -> Any:
        found = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
        role = _role_of(found[1]) if found else None
        if found is None or role is None:
            return super().__call__(environ, start_response)
        service = found[3]
        request = _request(environ, role, found[2], service)
        policy = {"Statement": list(_statements(role))}
        refused = self._refused(role, policy, asked_of(service, request))
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
    if service != "s3" or environ["REQUEST_METHOD"] == "POST":
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
    path = environ["PATH_INFO"].encode("latin-1").decode()
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    return Request(environ["REQUEST_METHOD"], path, query, environ, body, f"{region}:{role.split(':')[4]}")


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
    if service in ("s3", "sns"):
        kind, text = ("application/xml", f"<Error><Code>AccessDenied</Code><Message>{what}</Message></Error>")
        text = text if service == "s3" else f"<ErrorResponse>{text}</ErrorResponse>"
    headers = {"Content-Type": kind, "x-amzn-errortype": "AccessDeniedException"}
    numbers = {"x-amz-request-id": "1", "x-amzn-requestid": "1"}
    start_response("403 FORBIDDEN", [*headers.items(), *numbers.items()])
    return [b"" if request.method == "HEAD" else text.encode()]
