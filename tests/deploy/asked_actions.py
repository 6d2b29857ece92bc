"""What a request asks for: actions, ARNs, keys of conditions, by AWS's service authorization reference.

Not asked here, as services ask it of each other: keys of KMS for S3, delivery of logs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs, unquote
from xml.etree import ElementTree

import botocore.session
from moto.athena.models import athena_backends
from moto.awslambda_simple.models import lambda_simple_backends
from moto.kms.models import kms_backends


@dataclass(frozen=True)
class Asked:
    """An action on resources. ``context``: keys of conditions."""

    action: str
    resources: tuple[str, ...]
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A request as it came. ``place``: what ARNs of its region and account begin with, behind the service."""

    service: str
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    place: str

    @property
    def account(self) -> str:
        """The account's number."""
        return self.place.partition(":")[2]

    @property
    def data(self) -> dict[str, Any]:
        """The body of JSON, or of a form, and what the address says."""
        if self.service == "s3":
            return {}
        if self.body.startswith(b"{"):
            found: dict[str, Any] = json.loads(self.body)
        else:
            form = parse_qs(self.body.decode(errors="replace"))
            found = {name: values[0] for name, values in form.items()}
        _, of_address = _rest(self.service, self.method, self.path)
        return found | {name: values[0] for name, values in self.query.items()} | of_address

    @property
    def operation(self) -> str:
        """The name of the operation."""
        target = self.headers.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        of_path = re.search(r"/operation/(\w+)", self.path)
        named = of_path[1] if of_path else target or str(self.data.get("Action", ""))
        return named or _rest(self.service, self.method, self.path)[0]

    def arn(self, service: str, resource: str, *, is_global: bool = False) -> str:
        """An ARN of the request's region and account."""
        return f"arn:aws:{service}:{f':{self.account}' if is_global else self.place}:{resource}"


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def _rest(service: str, method: str, path: str) -> tuple[str, dict[str, str]]:
    """The operation that an address names, and the parameters in it; none for services that name it else."""
    if service not in ("emr-serverless", "lakeformation", "lambda", "s3tables", "scheduler"):
        return "", {}
    found: list[tuple[str, dict[str, str]]] = []
    for name in _model(service).operation_names:
        http = _model(service).operation_model(name).http
        pattern = re.sub(r"\\{(\w+)(\\\+)?\\}", r"(?P<\1>[^/]+)", re.escape(http["requestUri"].split("?")[0]))
        pattern = pattern.replace("(?P<ResourceArn>[^/]+)", "(?P<ResourceArn>.+)")
        pattern = pattern.replace("(?P<resourceArn>[^/]+)", "(?P<resourceArn>.+)")
        match = re.fullmatch(pattern.rstrip("/"), path.rstrip("/"))
        if match and http["method"] == method:
            found.append((name, {key: unquote(value) for key, value in match.groupdict().items()}))
    return min(found, key=lambda each: len(each[1]), default=("", {}))


NAMED: Final = {
    "athena": (("WorkGroup", "workgroup/{}"), ("Name", "workgroup/{}")),
    "budgets": (("BudgetName", "budget/{}"),),
    "cloudwatch": (
        ("DashboardName", "dashboard/{}"),
        ("DashboardNames.member.1", "dashboard/{}"),
        ("AlarmName", "alarm:{}"),
        ("AlarmNames.member.1", "alarm:{}"),
    ),
    "emr-serverless": (("applicationId", "/applications/{}"),),
    "events": (("Rule", "rule/{}"), ("Name", "rule/{}")),
    "iam": (("RoleName", "role/{}"),),
    "lambda": (("FunctionName", "function:{}"), ("UUID", "event-source-mapping:{}")),
    "logs": (("logGroupName", "log-group:{}"),),
    "scheduler": (("GroupName", "schedule/{GroupName}/{Name}"), ("groupName", "schedule/{groupName}/{Name}"),
                  ("Name", "schedule-group/{}")),
    "sns": (("Name", "{}"),),
    "sqs": (("QueueName", "{}"), ("QueueUrl", "{}")),
    "ssm": (("Path", "parameter{}"),),
    "states": (("name", "stateMachine:{}"),),
}  # fmt: skip
"""By service, the parameter that names a resource, and how its ARN ends."""

GLOBAL: Final = ("budgets", "iam")
OF_ALL: Final = {
    "emr-serverless:CreateApplication", "glue:CreateDataQualityRuleset", "kms:CreateKey", "kms:ListAliases",
    "lambda:CreateEventSourceMapping", "logs:DescribeLogGroups", "sns:GetSubscriptionAttributes",
    "sns:Unsubscribe", "states:ValidateStateMachineDefinition",
}  # fmt: skip
"""Actions without a resource."""

OTHER_NAMES: Final = {
    "budgets:CreateBudget": "budgets:ModifyBudget",
    "budgets:CreateNotification": "budgets:ModifyBudget",
    "budgets:DeleteBudget": "budgets:ModifyBudget",
    "budgets:DescribeBudget": "budgets:ViewBudget",
    "budgets:DescribeNotificationsForBudget": "budgets:ViewBudget",
    "budgets:DescribeSubscribersForNotification": "budgets:ViewBudget",
    "budgets:UpdateBudget": "budgets:ModifyBudget",
}
"""Operations whose actions have another name."""


def asked_of(request: Request) -> Iterator[Asked]:
    """What a request asks for."""
    region = {"aws:RequestedRegion": request.place.partition(":")[0]}
    for each in _of_s3(request) if request.service == "s3" else _of_service(request):
        yield Asked(each.action, each.resources, {**region, **each.context})


def _of_service(request: Request) -> Iterator[Asked]:
    service = {"monitoring": "cloudwatch"}.get(request.service, request.service)
    data, operation = request.data, request.operation
    if service == "sts":
        # Who one is may be asked without any right.
        return
    action = OTHER_NAMES.get(f"{service}:{operation}", f"{service}:{operation}")
    resources, context = _resources(service, action, request, data), _context(service, request, data)
    yield Asked(action, resources, context)
    if _tags(data) and not operation.startswith(("Tag", "Untag")):
        tag = {"sqs": "TagQueue", "iam": "TagRole"}.get(service, "TagResource")
        new = ("*",) if service == "lakeformation" else _new(service, resources, request)
        yield Asked(f"{service}:{tag}", new, context)
    for role in _roles(data) if not operation.startswith("StartJobRun") else ():
        yield Asked("iam:PassRole", (role,), {"iam:PassedToService": f"{service}.amazonaws.com"})
    if service == "lambda" and data.get("S3Bucket", data.get("Code", {}).get("S3Bucket")):
        code = data.get("Code", data)
        yield Asked("s3:GetObject", (f"arn:aws:s3:::{code['S3Bucket']}/{code['S3Key']}",))


def _new(service: str, resources: tuple[str, ...], request: Request) -> tuple[str, ...]:
    """What is tagged when it is made, if it has no name before."""
    ends = {"kms": "key/new", "emr-serverless": "/applications/new", "glue": "dataQualityRuleset/new",
            "lambda": "event-source-mapping:new"}  # fmt: skip
    return (request.arn(service, ends[service]),) if resources == ("*",) else resources


def _tags(data: Mapping[str, Any]) -> dict[str, str]:
    """The tags that a request gives."""
    found = data.get("Tags") or data.get("tags") or data.get("ResourceTags") or {}
    if isinstance(found, list):
        return {str(next(iter(each.values()))): str([*each.values()][-1]) for each in found}
    return dict(found) or {name: str(value) for name, value in data.items() if re.match(r"Tags?\.", name)}


def _roles(data: Any) -> Iterator[str]:
    """The roles that a request hands on."""
    for name, value in data.items() if isinstance(data, dict) else ():
        if name in ("RoleArn", "roleArn", "Role") and str(value).startswith("arn:"):
            yield str(value)
        yield from _roles(value)


def _context(service: str, request: Request, data: Mapping[str, Any]) -> dict[str, str]:
    if service == "cloudwatch" and (name := re.search(rb"Lakesmith", request.body)):
        return {"cloudwatch:namespace": name[0].decode()}
    if service == "iam" and "AWSServiceName" in data:
        return {"iam:AWSServiceName": data["AWSServiceName"]}
    if service == "lambda" and "event-source-mappings" in request.path:
        backend = lambda_simple_backends[request.account][request.place.partition(":")[0]]
        known = backend.get_event_source_mapping(data["UUID"]) if "UUID" in data else None
        function = known.function_arn if known else data.get("FunctionName", "")
        # One that is not there has no function.
        name = request.arn("lambda", f"function:{function.rpartition(':')[2]}")
        return {"lambda:FunctionArn": name} if function else {}
    if service == "kms":
        given = {f"aws:RequestTag/{key}": value for key, value in _tags(data).items()}
        backend = kms_backends[request.account][request.place.partition(":")[0]]
        key = str(data.get("KeyId", "")).rpartition("/")[2]
        has = backend.list_resource_tags(key)["Tags"] if key in backend.keys else []
        return given | {f"aws:ResourceTag/{each['TagKey']}": each["TagValue"] for each in has}
    return {}


def _resources(service: str, action: str, request: Request, data: Mapping[str, Any]) -> tuple[str, ...]:
    if action in OF_ALL or service == "lakeformation":
        return ("*",)
    if action == "cloudwatch:DescribeAlarms":
        return (request.arn(service, "alarm:*"),)
    named = ("ResourceARN", "ResourceArn", "resourceArn", "Resource", "TopicArn", "stateMachineArn",
             "executionArn", "tableBucketARN")  # fmt: skip
    arn = next((str(data[each]) for each in named if str(data.get(each, "")).startswith("arn:")), None)
    if arn is not None:
        return (arn,)
    if service == "glue":
        return _of_glue(request, data)
    if service == "kms":
        key = request.arn("kms", f"key/{str(data.get('KeyId', data.get('TargetKeyId'))).rpartition('/')[2]}")
        alias = [request.arn("kms", data["AliasName"])] if "AliasName" in data else []
        return (*alias, request.arn("kms", f"key/{data['TargetKeyId']}")) if alias else (key,)
    if service == "iam" and "AWSServiceName" in data:
        return (request.arn("iam", f"role/aws-service-role/{data['AWSServiceName']}/new", is_global=True),)
    if "NamedQueryId" in data:
        queries = athena_backends[request.account][request.place.partition(":")[0]].named_queries
        return (request.arn("athena", f"workgroup/{queries[data['NamedQueryId']].workgroup.name}"),)
    data = {**data, "BudgetName": data.get("Budget", {}).get("BudgetName")} if "Budget" in data else data
    for name, end in NAMED.get(service, ()):
        if name in data:
            last = re.split(r"[:/]", str(data[name]))[-1] if service in ("lambda", "sqs") else data[name]
            is_global = service in GLOBAL or end.startswith("dashboard")
            return (request.arn(service, end.format(last, **data), is_global=is_global),)
    return ("*",)


def _of_glue(request: Request, data: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = {"Job": "job", "DataQualityRuleset": "dataQualityRuleset"}
    kind = next((arn for name, arn in kinds.items() if request.operation.endswith(name)), None)
    if kind is not None:
        return (request.arn("glue", f"{kind}/{data.get('JobName') or data['Name']}"),)
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


SETTINGS: Final = {
    "accelerate": "AccelerateConfiguration", "acl": "BucketAcl", "cors": "BucketCORS",
    "encryption": "EncryptionConfiguration", "lifecycle": "LifecycleConfiguration",
    "location": "BucketLocation", "logging": "BucketLogging", "notification": "BucketNotification",
    "object-lock": "BucketObjectLockConfiguration", "policy": "BucketPolicy",
    "publicAccessBlock": "BucketPublicAccessBlock", "replication": "ReplicationConfiguration",
    "requestPayment": "BucketRequestPayment", "tagging": "BucketTagging", "versioning": "BucketVersioning",
    "website": "BucketWebsite",
}  # fmt: skip
"""The word in an address of a bucket, and how the action that reads or writes it ends."""


def _of_bucket(request: Request, bucket: str) -> Iterator[Asked]:
    query, method = request.query, request.method
    if method == "POST" and "delete" in query:
        for each in ElementTree.fromstring(request.body).iter():
            if each.tag.rpartition("}")[2] == "Object":
                told = {child.tag.rpartition("}")[2]: child.text for child in each}
                version = "Version" if told.get("VersionId") else ""
                yield Asked(f"s3:DeleteObject{version}", (f"{bucket}/{told['Key']}",))
        return
    if setting := next((name for word, name in SETTINGS.items() if word in query), None):
        # Only a policy has a right to delete it of its own.
        verbs = {"GET": "Get", "DELETE": "Delete" if setting == "BucketPolicy" else "Put"}
        yield Asked(f"s3:{verbs.get(method, 'Put')}{setting}", (bucket,))
        for role in re.findall(rb"<Role>([^<]+)</Role>", request.body):
            yield Asked("iam:PassRole", (role.decode(),), {"iam:PassedToService": "s3.amazonaws.com"})
        return
    lists = {"versions": "ListBucketVersions", "uploads": "ListBucketMultipartUploads"}
    action = next((name for word, name in lists.items() if word in query), "ListBucket")
    action = {"PUT": "CreateBucket", "DELETE": "DeleteBucket"}.get(method, action)
    prefix = {"s3:prefix": query["prefix"][0]} if "prefix" in query else {}
    yield Asked(f"s3:{action}", (bucket,), prefix)
