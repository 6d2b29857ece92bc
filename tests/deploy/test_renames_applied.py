"""A project changes after it was applied: Terraform deletes nothing that holds data (`make deploy-tests`)."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed
import emulated_aws
from test_apply import changed, put_gate

from lakesmith.api.access import Access
from lakesmith.api.deploying.work import check_deployment, deploy
from lakesmith.deploy.plan_guard import losses_in
from server_process import started
from terraform_here import needs_provider

pytestmark = [needs_provider, pytest.mark.processes, pytest.mark.timeout(1500), pytest.mark.deploys]

SETTINGS = f"{deployed.USUAL}, encryption: kms, replica_region: eu-west-1, github: {{repository: acme/lake}}"
RULES = 'rules: |\n  Rules = [ IsComplete "city" ]\n'


@pytest.fixture(scope="module")
def aws() -> Iterator[emulated_aws.Aws]:
    """An empty account."""
    with started(emulated_aws.Aws) as found:
        yield found


def with_second_region(folder: Path) -> None:
    """Sends the provider of the second region here, too."""
    first = (folder / "emulated_override.tf").read_text()
    second = first[first.index("provider") :].replace('"aws" {', '"aws" {\n  alias = "replica"')
    (folder / "second_override.tf").write_text(second)


OTHER_NAMES = {
    "HeadBucket": "ListBucket", "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration", "GetBucketReplication":
    "GetReplicationConfiguration", "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock", "GetObjectLockConfiguration":
    "GetBucketObjectLockConfiguration", "GetBucketNotificationConfiguration": "GetBucketNotification",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration", "PutBucketReplication":
    "PutReplicationConfiguration", "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "PutBucketNotificationConfiguration": "PutBucketNotification", "DescribeBudget": "ViewBudget",
    "CreateBudget": "ModifyBudget", "CreateNotification": "ModifyBudget",
    "DescribeSubscribersForNotification": "ViewBudget", "DescribeNotificationsForBudget": "ViewBudget",
    "GetBucketCors": "GetBucketCORS",
}  # fmt: skip
"""Operations whose actions have another name."""

PREFIXES = {
    "eventbridge": "events", "sfn": "states", "cloudwatch logs": "logs", "emr serverless": "emr-serverless",
}  # fmt: skip


def asked(log: Path) -> set[str]:
    """The actions that Terraform's provider needed, by its log."""
    found = set()
    # A request with a body takes several lines.
    for record in re.split(r"^\d{4}-\d\d-\d\dT", log.read_text(), flags=re.MULTILINE):
        if "HTTP Request Sent" in record:
            method = re.search(r"rpc\.method=(\w+)", record)
            service = re.search(r'rpc\.service=(?:"([^"]+)"|(\S+))', record)
            if method and service:
                name = (service[1] or service[2]).lower()
                prefix = PREFIXES.get(name, name.replace(" ", ""))
                found.add(f"{prefix}:{OTHER_NAMES.get(method[1], method[1])}")
    # Of its own account it asks without any right, or, of the tests' credentials, in another way.
    return found - {"sts:GetCallerIdentity", "iam:GetUser"}


def granted(root: Path, *names: str) -> set[str]:
    """The actions of some policies."""
    texts = [(root / f"deploy/prod/policies/{name}.json").read_text() for name in names]
    return {action for text in texts for each in json.loads(text)["Statement"] for action in each["Action"]}


def actions(plan: dict[str, Any]) -> dict[str, list[str]]:
    """What a plan does with resources."""
    found = {each["address"]: each["change"]["actions"] for each in plan["resource_changes"]}
    return {address: words for address, words in found.items() if words != ["no-op"]}


def test_renamed_tables_layers_and_buckets_lose_nothing(tmp_path: Path, aws: emulated_aws.Aws) -> None:
    root = deployed.project(tmp_path / "shop", deployed.SMALL | {"tables/gold/cities.yaml": RULES}, SETTINGS)
    lake, folder = Access(root, "prod"), root / "deploy/prod"
    deploy(lake)
    stack = deployed.stack(root)
    log = tmp_path / "terraform.log"
    environ = {"TF_LOG_PROVIDER": "DEBUG", "TF_LOG_PATH": str(log)}
    terraform, bootstrap = (
        emulated_aws.Terraform(folder, environ),
        emulated_aws.Terraform(folder / "bootstrap"),
    )
    for each in (bootstrap, terraform):
        aws.override(each.folder)
        each.init()
        if each is terraform:
            put_gate(aws, stack.bucket_named("artifacts"))
            with_second_region(each.folder)
        each("apply", "-auto-approve", "-input=false", "-no-color")
    roles = {each["RoleName"] for each in aws.client("iam").list_roles()["Roles"]}
    assert {"shop-prod-ci-plan", "shop-prod-ci-apply"} < roles

    # The roles of the workflow may do all that Terraform did, and the one that plans all of a plan.
    assert asked(log) <= granted(root, "ci_plan", "ci_apply_data", "ci_apply_runs")
    log.unlink()
    terraform("plan", "-input=false", "-no-color")
    assert len(asked(log)) > 30
    assert asked(log) <= granted(root, "ci_plan")

    # The table gets another name and layer, the landing files another bucket, and nothing is copied.
    gold, marts = root / "tables/gold", root / "tables/marts"
    gold.rename(marts)
    for each in marts.iterdir():
        each.rename(each.with_stem("towns"))
    orders = deployed.SMALL["tables/bronze/orders.yaml"].replace("shop-landing", "shop-arrivals")
    one_region = SETTINGS.replace(", replica_region: eu-west-1", "")
    deployed.project(root, {"tables/bronze/orders.yaml": orders}, one_region)
    deploy(lake)
    plan = terraform.planned()
    assert not check_deployment(lake, folder / "plan.json").losses
    assert not losses_in(folder / "plan.json")
    found = actions(plan)
    assert found["aws_glue_catalog_database.gold"] == found["aws_s3_bucket.landing"] == ["forget"]
    assert found["aws_s3_bucket.lake_replica"] == ["forget"]
    # AWS cannot rename rules: they are written again.
    assert found["aws_glue_data_quality_ruleset.gold__cities"] == ["delete"]
    terraform("apply", "-auto-approve", "-input=false", "-no-color")
    databases = {each["Name"] for each in aws.client("glue").get_databases()["DatabaseList"]}
    assert {"gold", "marts"} < databases
    buckets = {each["Name"] for each in aws.client("s3").list_buckets()["Buckets"]}
    assert {"shop-landing", "shop-arrivals", "shop-lake-replica"} < buckets
    assert aws.client("s3").get_bucket_versioning(Bucket="shop-landing")["Status"] == "Enabled"
    assert changed(terraform.planned()) == {}
