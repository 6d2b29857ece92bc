"""What a workflow on GitHub needs of AWS: a role that plans and changes nothing, and one that applies.

GitHub's tokens take the place of keys: a role trusts one environment of one repository. Neither role reads
the data of tables, deletes a bucket, a key or a database, or changes itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lakesmith import __version__
from lakesmith.deploy.facts import Stack
from lakesmith.deploy.policies import ROLES, Document, allow, document, logs_of_jobs, role_arn, s3_arn

ISSUER: Final = "token.actions.githubusercontent.com"
PLAN: Final = "ci_plan"
APPLY: Final = "ci_apply"

ACTIONS: Final = {
    "checkout": "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2",
    "python": "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0",
    "upload": "actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f # v6.0.0",
    "download": "actions/download-artifact@37930b1c2abaa49bbe596cd826c3c89aef350131 # v7.0.0",
    "aws": "aws-actions/configure-aws-credentials@8df5847569e6427dd6c4fb1cf565c83acfa8afa7 # v6.0.0",
    "terraform": "hashicorp/setup-terraform@5e8dbf3c6d9deaf4193ca7a8fb23f2ac83bb6c85 # v4.0.0",
}
"""Actions by the commits of their versions: a tag could be moved to other code."""

_CHANGES: Final = (f"{APPLY}_data", f"{APPLY}_runs")
_SERVICES: Final = ("glue", "lakeformation", "lambda", "scheduler", "s3", "states")
"""The services that are given roles."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rights on some resources: what a plan reads, and what applying it changes."""

    title: str
    service: str
    reads: str
    changes: str
    resources: Sequence[str]
    condition: dict[str, Any] | None = field(default=None)

    def statements(self, names: str) -> Iterator[dict[str, Any]]:
        """Allows the actions that ``names`` lists, if any."""
        if actions := [f"{self.service}:{name}" for name in names.split()]:
            yield allow(self.title, actions, self.resources, self.condition)


def environment(stack: Stack, *, applies: bool) -> str:
    """Returns the environment on GitHub in which a role can be taken; the one that applies has reviewers."""
    return stack.base if applies else f"{stack.base}-plan"


def documents(stack: Stack) -> dict[str, Document]:
    """Returns the policies of both roles by the names of their files; none without a repository.

    Both roles read. What one of them changes is in two policies, since AWS limits the length of each.
    """
    if stack.deploy.github is None:
        return {}
    data = [*_storage(stack), *_catalog(stack), *_state(stack)]
    runs = [*_runs(stack), *_around(stack)]
    return {
        PLAN: document([each for piece in (*data, *runs) for each in piece.statements(piece.reads)]),
        f"{PLAN}_trust": document([_trust(stack, applies=False)]),
        f"{APPLY}_data": document([each for piece in data for each in piece.statements(piece.changes)]),
        f"{APPLY}_runs": document([each for piece in runs for each in piece.statements(piece.changes)]),
        f"{APPLY}_trust": document([_trust(stack, applies=True)]),
    }


def rights_in(folder: str) -> str:
    """Returns Terraform's expression for the rights of both roles: each action, resource and condition."""
    names = ", ".join(f'"{name}"' for name in (PLAN, *_CHANGES))
    return f"""toset(flatten([
    for name in [{names}] : [
      for each in jsondecode(file("{folder}/${{name}}.json")).Statement : [
        for pair in setproduct(each.Action, each.Resource) :
        jsonencode([pair[0], pair[1], try(each.Condition, {{}})])
      ]
    ]
  ]))"""


def _trust(stack: Stack, *, applies: bool) -> dict[str, Any]:
    assert stack.deploy.github is not None
    subject = f"repo:{stack.deploy.github.repository}:environment:{environment(stack, applies=applies)}"
    equals = {f"{ISSUER}:aud": "sts.amazonaws.com", f"{ISSUER}:sub": subject}
    provider = f"arn:{stack.partition}:iam::{stack.deploy.account}:oidc-provider/{ISSUER}"
    taken = allow("Jobs of one environment", ["sts:AssumeRoleWithWebIdentity"], (), {"StringEquals": equals})
    return {**taken, "Principal": {"Federated": provider}}


def _state(stack: Stack) -> Iterator[Piece]:
    """The state of Terraform, and the packages that a plan names."""
    state, artifacts = (s3_arn(stack, stack.bucket_named(what)) for what in ("state", "artifacts"))
    key = f"{state}/{stack.base}.tfstate"
    yield Piece("Finds the state", "s3", "ListBucket", "", [state])
    yield Piece("The state", "s3", "GetObject", "PutObject", [key])
    rights = [f"{state}/{stack.base}.rights"]
    yield Piece("Which rights were given", "s3", "GetObject GetObjectTagging GetObjectVersion", "", rights)
    yield Piece("The lock of the state", "s3", "", "DeleteObject GetObject PutObject", [f"{key}.tflock"])
    yield Piece("Finds packages", "s3", "", "ListBucket", [artifacts])
    yield Piece("Packages", "s3", "", "GetObject PutObject", [f"{artifacts}/*"])


def _storage(stack: Stack) -> Iterator[Piece]:
    names = [each.name for each in stack.owned]
    names += [stack.replica_of(each) for each in stack.copied] if stack.deploy.replica_region else []
    yield Piece(
        "Buckets", "s3",
        "GetAccelerateConfiguration GetBucketAcl GetBucketCORS GetBucketLocation GetBucketLogging "
        "GetBucketNotification GetBucketObjectLockConfiguration GetBucketPolicy GetBucketPublicAccessBlock "
        "GetBucketRequestPayment GetBucketTagging GetBucketVersioning GetBucketWebsite "
        "GetEncryptionConfiguration GetLifecycleConfiguration GetReplicationConfiguration ListBucket",
        "CreateBucket DeleteBucketPolicy PutBucketNotification PutBucketPolicy PutBucketPublicAccessBlock "
        "PutBucketTagging PutBucketVersioning PutEncryptionConfiguration PutLifecycleConfiguration "
        "PutReplicationConfiguration",
        [s3_arn(stack, name) for name in names],
    )  # fmt: skip
    if stack.deploy.encryption == "kms":
        account = f"arn:{stack.partition}:kms:*:{stack.deploy.account}"
        keys = [f"{account}:key/*"]
        yield Piece(
            "Keys", "kms", "DescribeKey GetKeyPolicy GetKeyRotationStatus ListResourceTags",
            "EnableKeyRotation PutKeyPolicy UpdateKeyDescription",
            keys, {"StringEquals": {"aws:ResourceTag/project": stack.name}},
        )  # fmt: skip
        alias = f"{account}:alias/{stack.named('lake')}"
        yield Piece("The alias of the key", "kms", "", "CreateAlias UpdateAlias", [alias, *keys])
        yield Piece("Finds aliases", "kms", "ListAliases", "", ["*"], _in_regions(stack))
        new = {"StringEquals": {"aws:RequestTag/project": stack.name}}
        yield Piece("Creates keys", "kms", "", "CreateKey", ["*"], new)
        yield Piece("Tags keys", "kms", "", "TagResource", keys, new)


def _catalog(stack: Stack) -> Iterator[Piece]:
    if stack.table_bucket is not None:
        yield Piece(
            "The table bucket", "s3tables",
            "GetNamespace GetTableBucket GetTableBucketEncryption GetTableBucketMaintenanceConfiguration",
            "CreateNamespace CreateTableBucket PutTableBucketEncryption "
            "PutTableBucketMaintenanceConfiguration",
            [stack.arn("s3tables", f"bucket/{stack.table_bucket}")],
        )  # fmt: skip
    else:
        databases = [stack.arn("glue", f"database/{each.name}") for each in stack.databases]
        yield Piece(
            "Databases", "glue", "GetDatabase GetTags", "CreateDatabase TagResource UpdateDatabase",
            [stack.arn("glue", "catalog"), *databases],
        )  # fmt: skip
    if any(table.rules for table in stack.tables):
        yield Piece(
            "Rules", "glue", "GetDataQualityRuleset GetTags",
            "DeleteDataQualityRuleset TagResource UpdateDataQualityRuleset",
            [stack.arn("glue", "dataQualityRuleset/*")],
        )  # fmt: skip
        yield Piece("Creates rules", "glue", "", "CreateDataQualityRuleset", ["*"], _in_regions(stack))
    if stack.deploy.lake_formation:
        # Of these AWS accepts no resource.
        yield Piece(
            "Grants", "lakeformation",
            "DescribeResource GetLFTag GetResourceLFTags ListLakeFormationOptIns ListPermissions",
            "AddLFTagsToResource CreateLFTag CreateLakeFormationOptIn DeleteLFTag DeleteLakeFormationOptIn "
            "DeregisterResource GrantPermissions RegisterResource RemoveLFTagsFromResource RevokePermissions "
            "UpdateLFTag UpdateResource",
            ["*"], _in_regions(stack),
        )  # fmt: skip
    if stack.deploy.athena:
        yield Piece(
            "Athena", "athena", "GetNamedQuery GetWorkGroup ListTagsForResource",
            "CreateNamedQuery CreateWorkGroup DeleteNamedQuery DeleteWorkGroup TagResource UpdateNamedQuery "
            "UpdateWorkGroup",
            [stack.arn("athena", f"workgroup/{stack.named('readers')}")],
        )  # fmt: skip


def _runs(stack: Stack) -> Iterator[Piece]:
    if stack.deploy.compute == "emr":
        yield Piece(
            "The application of jobs", "emr-serverless", "GetApplication ListTagsForResource",
            "DeleteApplication StopApplication TagResource UpdateApplication",
            [stack.arn("emr-serverless", "/applications/*")],
        )  # fmt: skip
        here = _in_regions(stack)
        yield Piece("Creates the application", "emr-serverless", "", "CreateApplication", ["*"], here)
        emr = "ops.emr-serverless.amazonaws.com"
        linked = [stack.arn("iam", f"role/aws-service-role/{emr}/*", is_global=True)]
        once = {"StringEquals": {"iam:AWSServiceName": emr}}
        yield Piece("Once in an account", "iam", "", "CreateServiceLinkedRole", linked, once)
    else:
        jobs = [stack.arn("glue", f"job/{stack.base}-*")]
        yield Piece("Jobs", "glue", "GetJob GetTags", "CreateJob DeleteJob TagResource UpdateJob", jobs)
    yield Piece(
        "The machine", "states", "DescribeStateMachine ListStateMachineVersions ListTagsForResource",
        "CreateStateMachine DeleteStateMachine TagResource UntagResource UpdateStateMachine",
        [stack.arn("states", f"stateMachine:{stack.named('run')}")],
    )  # fmt: skip
    yield Piece(
        "Validates machines", "states", "ValidateStateMachineDefinition", "", ["*"], _in_regions(stack)
    )  # fmt: skip
    gate = stack.arn("lambda", f"function:{stack.named('gate')}")
    yield Piece(
        "The gate", "lambda",
        "GetFunction GetFunctionCodeSigningConfig GetFunctionConfiguration ListTags ListVersionsByFunction",
        "CreateFunction DeleteFunction TagResource UntagResource UpdateFunctionCode "
        "UpdateFunctionConfiguration",
        [gate],
    )  # fmt: skip
    of_gate = {"ArnLike": {"lambda:FunctionArn": gate}}
    mappings = [stack.arn("lambda", "event-source-mapping:*")]
    yield Piece("Lets a queue call the gate", "lambda", "", "CreateEventSourceMapping", ["*"], of_gate)
    changes = "DeleteEventSourceMapping UpdateEventSourceMapping"
    yield Piece("Changes what calls the gate", "lambda", "", changes, mappings, of_gate)
    # One that was just deleted has no function any more, and is asked for.
    reads = "GetEventSourceMapping ListTags"
    yield Piece("What calls the gate", "lambda", reads, "TagResource", mappings)
    queues = [stack.arn("sqs", stack.named(name)) for name in ("gate", "gate-failed")]
    yield Piece(
        "Queues", "sqs", "GetQueueAttributes ListQueueTags",
        "CreateQueue DeleteQueue SetQueueAttributes TagQueue UntagQueue", queues,
    )  # fmt: skip
    group = stack.named("tables")
    yield Piece(
        "Schedules", "scheduler", "GetSchedule GetScheduleGroup ListTagsForResource",
        "CreateSchedule CreateScheduleGroup DeleteSchedule DeleteScheduleGroup TagResource UpdateSchedule",
        [stack.arn("scheduler", f"schedule-group/{group}"), stack.arn("scheduler", f"schedule/{group}/*")],
    )  # fmt: skip
    if stack.sending:
        yield Piece(
            "Rules for files", "events", "DescribeRule ListTagsForResource ListTargetsByRule",
            "DeleteRule PutRule PutTargets RemoveTargets TagResource UntagResource",
            [stack.arn("events", f"rule/{stack.base}-arrived-*")],
        )  # fmt: skip


def _around(stack: Stack) -> Iterator[Piece]:
    # Also those that a setting had made before it was changed.
    every = [role_arn(stack, role) for role in (*ROLES, "access", "pii_reader", "replication")]
    yield Piece(
        "Roles", "iam", "GetRole GetRolePolicy ListAttachedRolePolicies ListRolePolicies",
        "CreateRole DeleteRole DeleteRolePolicy ListInstanceProfilesForRole PutRolePolicy TagRole UntagRole "
        "UpdateAssumeRolePolicy UpdateRole",
        every,
    )  # fmt: skip
    services = [f"{each}.amazonaws.com" for each in _SERVICES]
    to = {"StringEquals": {"iam:PassedToService": services}}
    yield Piece("Gives services their roles", "iam", "", "PassRole", every, to)
    groups = (f"{logs_of_jobs(stack)}*", f"/aws/lambda/{stack.named('gate')}",
              f"/aws/vendedlogs/states/{stack.named('run')}")  # fmt: skip
    yield Piece(
        "Logs", "logs", "ListTagsForResource",
        "CreateLogGroup DeleteLogGroup PutRetentionPolicy TagResource UntagResource",
        [stack.arn("logs", f"log-group:{name}{end}") for name in groups for end in ("", ":*")],
    )  # fmt: skip
    yield Piece("Finds logs", "logs", "DescribeLogGroups", "", ["*"])
    topic = stack.arn("sns", stack.named("alerts"))
    yield Piece(
        "The topic of alerts", "sns", "GetTopicAttributes ListTagsForResource",
        "CreateTopic DeleteTopic SetTopicAttributes Subscribe TagResource", [topic],
    )  # fmt: skip
    # Of these AWS accepts no resource.
    here = _in_regions(stack)
    yield Piece("Who gets mail", "sns", "GetSubscriptionAttributes", "Unsubscribe", ["*"], here)
    yield Piece(
        "Alarms", "cloudwatch", "ListTagsForResource",
        "DeleteAlarms PutMetricAlarm TagResource UntagResource",
        [stack.arn("cloudwatch", f"alarm:{stack.base}-*")],
    )  # fmt: skip
    # AWS asks for the right to read all, also for one of them.
    yield Piece("Finds alarms", "cloudwatch", "DescribeAlarms", "", [stack.arn("cloudwatch", "alarm:*")])
    board = [stack.arn("cloudwatch", f"dashboard/{stack.named('runs')}", is_global=True)]
    yield Piece("The dashboard", "cloudwatch", "GetDashboard", "DeleteDashboards PutDashboard", board)
    budget = [stack.arn("budgets", f"budget/{stack.named('month')}", is_global=True)]
    yield Piece("The budget", "budgets", "ListTagsForResource ViewBudget", "ModifyBudget TagResource", budget)


def _in_regions(stack: Stack) -> dict[str, Any]:
    """Limits actions that AWS grants on no resource to the regions of the deployment."""
    regions = [stack.deploy.region, *filter(None, [stack.deploy.replica_region])]
    return {"StringEquals": {"aws:RequestedRegion": regions}}


def workflow_path(stack: Stack) -> str | None:
    """Returns the path of the workflow from the deployment's folder; None if it is not written."""
    github = stack.deploy.github
    if github is None or not github.workflow:
        return None
    parts = github.folder.count("/") + 1 if github.folder else 0
    return f"{'../' * (parts + 2)}.github/workflows/lakesmith-{stack.base}.yml"


def facts(stack: Stack) -> dict[str, object]:
    """Returns what the workflow's template is made of."""
    github = stack.deploy.github
    assert github is not None
    folder = f"{github.folder}/" if github.folder else ""
    return {
        "version": __version__,
        "branch": github.branch,
        "folder": github.folder,
        "deployment": f"{folder}deploy/{stack.target}",
        "plan_environment": environment(stack, applies=False),
        "apply_environment": environment(stack, applies=True),
        "plan_role": role_arn(stack, PLAN),
        "apply_role": role_arn(stack, APPLY),
        "actions": ACTIONS,
    }
