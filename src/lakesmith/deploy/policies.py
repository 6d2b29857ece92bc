"""The policies of a deployment, as JSON documents.

Names of resources are known, so ARNs are written out. Two are not: ``${application}`` of EMR Serverless and
``${key}`` of KMS, which Terraform fills in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lakesmith.deploy.facts import Stack

Statement = dict[str, Any]
Document = dict[str, Any]

ROLES: Final = ("job", "gate", "machine", "trigger", "reader", "erasure")
METRICS: Final = "Lakesmith"
"""The namespace of metrics in CloudWatch."""

_READ_CATALOG: Final = ("glue:GetTable", "glue:GetTables")
_FIND_TABLES: Final = (
    "s3tables:GetNamespace", "s3tables:GetTableBucket", "s3tables:ListNamespaces", "s3tables:ListTables",
)  # fmt: skip
_READ_TABLES: Final = ("s3tables:GetTable", "s3tables:GetTableData", "s3tables:GetTableMetadataLocation")
_WRITE_TABLES: Final = (
    "s3tables:DeleteTable", "s3tables:PutTableData", "s3tables:UpdateTableMetadataLocation",
)  # fmt: skip
_READ_KEY: Final = ("kms:Decrypt", "kms:DescribeKey")


def roles(stack: Stack) -> tuple[str, ...]:
    """Returns the roles of a deployment."""
    more = ("access", "pii_reader") if stack.deploy.lake_formation else ()
    return (*ROLES, *more, *(("replication",) if stack.deploy.replica_region else ()))


def placeholders(stack: Stack) -> dict[str, dict[str, str]]:
    """Returns for each role what Terraform fills into its policy."""
    key = {"key": "aws_kms_key.lake.arn"} if stack.deploy.encryption == "kms" else {}
    emr = {"application": "aws_emrserverless_application.jobs.arn"} if stack.deploy.compute == "emr" else {}
    both = {**key, "replica_key": "aws_kms_key.replica.arn"} if key else {}
    found = {"job": key, "gate": key, "machine": {**emr, **key}, "trigger": {}, "reader": key, "erasure": key}
    found |= {"access": key, "pii_reader": key}
    return {**found, "replication": both, **({"erasure": both} if stack.deploy.replica_region else {})}


def documents(stack: Stack) -> dict[str, Document]:
    """Returns each policy by the name of its file."""
    account = f"arn:{stack.partition}:iam::{stack.deploy.account}:root"
    compute = "emr-serverless" if stack.deploy.compute == "emr" else "glue"
    found = {
        "bucket_tls": document([_tls_only()]),
        "queue": document(list(_queue(stack))),
        "topic": document(list(_topic(stack))),
        "job": document(list(_job(stack))),
        # Whether Glue, S3 and Lambda name the account for which they take a role is on no page of AWS.
        "job_trust": _trust(stack, compute, checks_source=compute != "glue"),
        "gate": document(list(_gate(stack))),
        "gate_trust": _trust(stack, "lambda", checks_source=False),
        "machine": document(list(_machine(stack))),
        "machine_trust": _trust(stack, "states"),
        "trigger": document([allow("Calls the gate", ["sqs:SendMessage"], [_queue_arn(stack)])]),
        "trigger_trust": _trust(stack, "scheduler"),
        "reader": document(list(_reader(stack))),
        "reader_trust": document([{**allow("Roles of this account", ["sts:AssumeRole"]),
                                    "Principal": {"AWS": account}}]),
    }  # fmt: skip
    principals = {"Service": f"{compute}.amazonaws.com", "AWS": account}
    found["erasure"] = document(list(_erasure(stack)))
    found["erasure_trust"] = document(
        [{**allow("Erasing jobs and people", ["sts:AssumeRole"]), "Principal": principals}]
    )
    if stack.deploy.lake_formation:
        # What tells the two kinds of readers apart is granted in Lake Formation.
        found |= {f"pii_reader{end}": found[f"reader{end}"] for end in ("", "_trust")}
        found["access"] = document([*_reads_files(stack), *_key(stack)])
        found["access_trust"] = _trust(stack, "lakeformation", checks_source=False)
    if stack.deploy.replica_region:
        found["replication"] = document(list(_replication(stack)))
        found["replication_trust"] = _trust(stack, "s3", checks_source=False)
    if stack.deploy.encryption == "kms":
        everything = allow("Policies of this account decide", ["kms:*"], ["*"])
        found["key"] = document([{**everything, "Principal": {"AWS": account}}])
    return found


def document(statements: Sequence[Statement]) -> Document:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def allow(
    title: str,
    actions: Sequence[str],
    resources: Sequence[str] = (),
    condition: Mapping[str, Any] | None = None,
) -> Statement:
    found: Statement = {"Sid": "".join(word.capitalize() for word in title.split()), "Effect": "Allow"}
    found["Action"] = sorted(actions)
    if resources:
        found["Resource"] = list(resources)
    if condition:
        found["Condition"] = dict(condition)
    return found


def _trust(stack: Stack, service: str, *, checks_source: bool = True) -> Document:
    """Returns who may take a role: a service, for resources of this account alone."""
    source = {"StringEquals": {"aws:SourceAccount": stack.deploy.account}} if checks_source else None
    principal = {"Service": f"{service}.amazonaws.com"}
    title = "The service that works with it"
    return document([{**allow(title, ["sts:AssumeRole"], condition=source), "Principal": principal}])


def _tls_only() -> Statement:
    return {
        "Sid": "EncryptedConnectionsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": ["${bucket}", "${bucket}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }


def logs_of_jobs(stack: Stack) -> str:
    """Returns what the names of log groups of jobs begin with."""
    return f"/lakesmith/{stack.base}/jobs"


def log_groups(stack: Stack) -> dict[str, str]:
    """Returns the log groups of jobs, by what Terraform calls them. Glue ends their names itself."""
    if stack.deploy.compute == "emr":
        return {"jobs": logs_of_jobs(stack)}
    return {f"jobs_{end}": f"{logs_of_jobs(stack)}/{end}" for end in ("error", "output")}


def _queue_arn(stack: Stack) -> str:
    return stack.arn("sqs", stack.named("gate"))


def machine_arn(stack: Stack) -> str:
    """Returns the ARN of the state machine."""
    return stack.arn("states", f"stateMachine:{stack.named('run')}")


def topic_arn(stack: Stack) -> str:
    """Returns the ARN of the topic for alerts."""
    return stack.arn("sns", stack.named("alerts"))


def role_arn(stack: Stack, role: str) -> str:
    """Returns the ARN of a role."""
    return stack.arn("iam", f"role/{stack.named(role.replace('_', '-'))}", is_global=True)


def _queue(stack: Stack) -> Iterator[Statement]:
    """Who may call the gate: the rules of this deployment. The trigger's role says so itself."""
    rules = [stack.arn("events", f"rule/{stack.named(f'arrived-{each.key}')}") for each in stack.sending]
    queue = [_queue_arn(stack)]
    if rules:
        sources = {"ArnEquals": {"aws:SourceArn": rules}}
        sends = allow("Files that arrived", ["sqs:SendMessage"], queue, sources)
        yield {**sends, "Principal": {"Service": "events.amazonaws.com"}}
    yield {
        "Sid": "EncryptedConnectionsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": queue,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }


def _topic(stack: Stack) -> Iterator[Statement]:
    same = {"StringEquals": {"aws:SourceAccount": stack.deploy.account}}
    for title, service in (("Alarms", "cloudwatch"), ("The budget", "budgets")):
        sends = allow(title, ["sns:Publish"], [topic_arn(stack)], same)
        yield {**sends, "Principal": {"Service": f"{service}.amazonaws.com"}}


def s3_arn(stack: Stack, bucket: str, key: str = "") -> str:
    return f"arn:{stack.partition}:s3:::{bucket}{f'/{key}' if key else ''}"


def _lists(stack: Stack, title: str, bucket: str, prefixes: Sequence[str]) -> Statement:
    """Listing below some prefixes alone."""
    of = None if "" in prefixes else {"StringLike": {"s3:prefix": [f"{each}*" for each in prefixes]}}
    return allow(title, ["s3:ListBucket"], [s3_arn(stack, bucket)], of)


def _reads_lake(stack: Stack) -> Iterator[Statement]:
    if stack.table_bucket is not None:
        yield allow("Finds the table bucket", _FIND_TABLES, [_table_bucket(stack)])
        yield allow("Reads tables", _READ_TABLES, _tables_of(stack))
        return
    yield from _reads_files(stack)
    yield allow("Reads the catalog", _READ_CATALOG, _catalog(stack))


def _reads_files(stack: Stack) -> Iterator[Statement]:
    bucket, prefix = stack.warehouse
    yield _lists(stack, "Lists the lake", bucket, [prefix])
    yield allow("Reads the lake", ["s3:GetObject"], [s3_arn(stack, bucket, f"{prefix}*")])


def _catalog(stack: Stack) -> list[str]:
    names = [each.name for each in stack.databases]
    databases = [stack.arn("glue", f"database/{name}") for name in names]
    return [
        stack.arn("glue", "catalog"),
        *databases,
        *(stack.arn("glue", f"table/{name}/*") for name in names),
    ]


def _reads_landing(stack: Stack, *, objects: bool) -> Iterator[Statement]:
    for bucket in stack.sending:
        yield _lists(stack, f"Lists {bucket.key.replace('_', ' ')} files", bucket.name, bucket.reads)
        if objects:
            places = [s3_arn(stack, bucket.name, f"{prefix}*") for prefix in bucket.reads]
            yield allow(f"Reads {bucket.key.replace('_', ' ')} files", ["s3:GetObject"], places)


def _key(stack: Stack, *actions: str) -> Iterator[Statement]:
    if stack.deploy.encryption == "kms":
        yield allow("The key of the files", [*_READ_KEY, *actions], ["${key}"])


def _job(stack: Stack) -> Iterator[Statement]:
    yield from _reads_lake(stack)
    yield from _writes_lake(stack)
    yield from _reads_landing(stack, objects=True)
    for each in stack.buckets:
        if each.writes:
            places = [s3_arn(stack, each.name, f"{prefix}*") for prefix in each.writes]
            yield _lists(stack, f"Lists exports in {each.key.replace('_', ' ')}", each.name, each.writes)
            writes = ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")
            yield allow(f"Writes exports in {each.key.replace('_', ' ')}", writes, places)
    artifacts = [s3_arn(stack, stack.bucket_named("artifacts"), "*")]
    yield allow("Reads its packages and the project", ["s3:GetObject"], artifacts)
    runs = [s3_arn(stack, stack.bucket_named("work"), "runs/*")]
    yield allow("Leaves its result", ["s3:PutObject"], runs)
    groups = [stack.arn("logs", f"log-group:{name}:*") for name in log_groups(stack).values()]
    yield allow(
        "Writes logs", ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"], groups
    )
    # It takes no resource.
    yield allow("Finds its log group", ["logs:DescribeLogGroups"], ["*"])
    yield _secrets(stack)
    yield from _key(stack, "kms:GenerateDataKey")


def _writes_lake(stack: Stack) -> Iterator[Statement]:
    if stack.table_bucket is not None:
        yield allow("Creates tables", ["s3tables:CreateTable"], [_table_bucket(stack), *_tables_of(stack)])
        yield allow("Writes tables", _WRITE_TABLES, _tables_of(stack))
        return
    bucket, prefix = stack.warehouse
    # It deletes files of branches that were dropped, and what `maintain` removes.
    lake = [s3_arn(stack, bucket, f"{prefix}*")]
    yield allow("Writes the lake", ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"], lake)
    # No job drops a table: a person does.
    yield allow(
        "Changes tables", ("glue:CreateTable", "glue:GetDatabase", "glue:UpdateTable"), _catalog(stack)
    )


def _table_bucket(stack: Stack) -> str:
    return stack.arn("s3tables", f"bucket/{stack.table_bucket}")


def _tables_of(stack: Stack) -> list[str]:
    return [f"{_table_bucket(stack)}/table/*"]


def secrets_path(stack: Stack) -> str:
    """Returns the path of parameters with the values of environment variables."""
    return f"/lakesmith/{stack.base}"


def _secrets(stack: Stack) -> Statement:
    path = stack.arn("ssm", f"parameter{secrets_path(stack)}")
    return allow("Reads secrets", ["ssm:GetParametersByPath"], [path, f"{path}/*"])


def _gate(stack: Stack) -> Iterator[Statement]:
    yield from _reads_lake(stack)
    yield from _reads_landing(stack, objects=False)
    takes = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage")
    yield allow("Takes calls and puts them off", takes, [_queue_arn(stack)])
    starts = ("states:StartExecution", "states:ListExecutions")
    yield allow("Starts the machine", starts, [machine_arn(stack)])
    projects = [s3_arn(stack, stack.bucket_named("artifacts"), "projects/*")]
    yield allow("Reads the project", ["s3:GetObject"], projects)
    group = stack.arn("logs", f"log-group:/aws/lambda/{stack.named('gate')}:*")
    yield allow("Writes logs", ["logs:CreateLogStream", "logs:PutLogEvents"], [group])
    yield _secrets(stack)
    yield from _key(stack)


def _machine(stack: Stack) -> Iterator[Statement]:
    if stack.deploy.compute == "emr":
        yield allow("Starts jobs", ["emr-serverless:StartJobRun"], ["${application}"])
        follows = ("emr-serverless:GetJobRun", "emr-serverless:CancelJobRun")
        yield allow("Follows jobs", follows, ["${application}/jobruns/*"])
        to = {"StringEquals": {"iam:PassedToService": "emr-serverless.amazonaws.com"}}
        yield allow("Gives jobs their role", ["iam:PassRole"], [role_arn(stack, "job")], to)
        # Step Functions waits for a job by this rule, which AWS names.
        rule = stack.arn("events", "rule/StepFunctionsGetEventsForEMRServerlessJobRule")
        yield allow("Waits for jobs", ["events:PutTargets", "events:PutRule", "events:DescribeRule"], [rule])
    else:
        jobs = [stack.arn("glue", f"job/{stack.named(unit.key)}") for unit in stack.units]
        does = ("glue:StartJobRun", "glue:GetJobRun", "glue:GetJobRuns", "glue:BatchStopJobRun")
        yield allow("Starts and follows jobs", does, jobs)
    results = [s3_arn(stack, stack.bucket_named("work"), "runs/*")]
    yield allow("Reads results", ["s3:GetObject"], results)
    yield from _key(stack)
    yield allow("Sends alerts", ["sns:Publish"], [topic_arn(stack)])
    # It takes no resource.
    of = {"StringEquals": {"cloudwatch:namespace": METRICS}}
    yield allow("Reports rows", ["cloudwatch:PutMetricData"], ["*"], of)
    # Of these AWS accepts no resource.
    deliveries = [f"logs:{each}LogDelivery" for each in ("Create", "Get", "Update", "Delete")]
    others = ("ListLogDeliveries", "PutResourcePolicy", "DescribeResourcePolicies", "DescribeLogGroups")
    yield allow("Writes logs", [*deliveries, *(f"logs:{each}" for each in others)], ["*"])


def _erasure(stack: Stack) -> Iterator[Statement]:
    """What `lakesmith erase` needs besides a job's rights: landing files, and old versions of files."""
    yield from _job(stack)
    bucket, prefix = stack.warehouse
    places = [(each.name, part) for each in stack.sending if each.is_owned for part in each.reads]
    writes = ("s3:PutObject", "s3:DeleteObject")
    if places:
        yield allow("Erases in landing files", writes, [s3_arn(stack, *place) for place in _below(places)])
    places += [(bucket, prefix)] if bucket else []
    places += [each for each in stack.exports if each not in places]
    if places:
        if stack.deploy.replica_region:
            copied = {each.name: stack.replica_of(each) for each in stack.copied}
            places += [(copied[name], part) for name, part in places if name in copied]
        names = sorted({s3_arn(stack, name) for name, _ in places})
        finds = ("s3:ListBucketVersions", "s3:GetReplicationConfiguration", "s3:GetLifecycleConfiguration")
        yield allow("Finds old versions and copies", finds, names)
        versions = ("s3:DeleteObjectVersion", "s3:GetObjectVersion")
        yield allow("Erases old versions", versions, [s3_arn(stack, *place) for place in _below(places)])
    if stack.deploy.encryption == "kms" and stack.deploy.replica_region:
        yield allow("Decrypts copies", ["kms:Decrypt"], ["${replica_key}"])


def _below(places: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(bucket, f"{prefix}*") for bucket, prefix in places]


def _replication(stack: Stack) -> Iterator[Statement]:
    sources = [s3_arn(stack, each.name) for each in stack.copied]
    copies = [s3_arn(stack, stack.replica_of(each)) for each in stack.copied]
    yield allow("Knows what to copy", ["s3:GetReplicationConfiguration", "s3:ListBucket"], sources)
    reads = ("s3:GetObjectVersionForReplication", "s3:GetObjectVersionAcl", "s3:GetObjectVersionTagging")
    yield allow("Reads versions", reads, [f"{each}/*" for each in sources])
    writes = ("s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags")
    yield allow("Writes copies", writes, [f"{each}/*" for each in copies])
    if stack.deploy.encryption == "kms":
        yield allow("Decrypts with the key here", ["kms:Decrypt"], ["${key}"])
        yield allow("Encrypts with the key there", ["kms:Encrypt"], ["${replica_key}"])


def _reader(stack: Stack) -> Iterator[Statement]:
    """What another engine needs to read the tables."""
    if stack.deploy.lake_formation:
        # Rights in S3 of its own would lead around Lake Formation. The action takes no resource.
        here = {"StringEquals": {"aws:RequestedRegion": stack.deploy.region}}
        yield allow("Reads what it was granted", ["lakeformation:GetDataAccess"], ["*"], here)
        yield allow("Reads the catalog", _READ_CATALOG, _catalog(stack))
    else:
        yield from _reads_lake(stack)
    if stack.table_bucket is None:
        databases = _catalog(stack)[: 1 + len(stack.databases)]
        yield allow("Finds databases", ["glue:GetDatabase", "glue:GetDatabases"], databases)
    if stack.deploy.athena:
        group = stack.arn("athena", f"workgroup/{stack.named('readers')}")
        asks = (
            "StartQueryExecution",
            "GetQueryExecution",
            "GetQueryResults",
            "StopQueryExecution",
            "GetWorkGroup",
        )
        yield allow("Asks Athena", [f"athena:{each}" for each in asks], [group])
        work = stack.bucket_named("work")
        yield _lists(stack, "Lists results", work, ["athena/"])
        places = [s3_arn(stack, work, "athena/*")]
        yield allow("Keeps results", ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"], places)
        yield allow("Finds the place of results", ["s3:GetBucketLocation"], [s3_arn(stack, work)])
    # Athena encrypts results as whoever asks.
    yield from _key(stack, *(("kms:GenerateDataKey",) if stack.deploy.athena else ()))
