"""The roles of the workflow on GitHub plan and apply, with their policies enforced (`make deploy-tests`).

A project changes after it was applied: Terraform deletes nothing that holds data.
"""

import json
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import boto3
import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed
import emulated_aws
from asked_actions import Asked
from enforced_policies import permits, unneeded
from test_apply import changed, package_of_gate

from lakesmith.api.access import Access
from lakesmith.api.deploying.work import check_deployment, deploy
from lakesmith.deploy.plan_guard import losses_in
from server_process import started
from terraform_here import needs_provider

pytestmark = [
    needs_provider,
    pytest.mark.processes,
    pytest.mark.timeout(1500),
    pytest.mark.deploys,
    pytest.mark.xdist_group("workflow-roles"),
]

SETTINGS: Final = (
    f"{deployed.USUAL}, encryption: kms, replica_region: eu-west-1, github: {{repository: acme/lake}}"
)
EVERY_SETTING: Final = deployed.EVERY_SETTING.replace("mode: development, ", "")
RULES: Final = 'rules: |\n  Rules = [ IsComplete "city" ]\n'
DRIFTS: Final = {"aws_s3_bucket_replication_configuration": {"rule"}}
"""Types of resources that a second plan changes, with the attributes that moto answers otherwise."""

POLICIES: Final = {"ci-plan": ("ci_plan",), "ci-apply": ("ci_apply_data", "ci_apply_runs")}
LATER: Final = "asked where a later version, or a person's override, writes this otherwise"
NOT_ASKED: Final = {
    "ci-plan": {
        "*:ListTags*": "asked where AWS answers without tags",
        "lambda:GetFunctionConfiguration": "asked while a function is not ready; moto's is at once",
        "s3:GetBucketLocation": "asked where S3 does not say the region by itself",
    },
    "ci-apply": {
        "*:Untag*": "asked where a tag is taken away, such as one of a person's override",
        "athena:Update*": LATER,
        "emr-serverless:StopApplication": "asked where an application that goes is at work",
        "glue:DeleteJob": "asked where a layer goes, with `unit: layer`",
        "glue:UpdateDatabase": LATER,
        "glue:UpdateJob": "moto has no UpdateJob",
        "iam:CreateServiceLinkedRole": "AWS asks for it at the first application in an account",
        "iam:Update*": LATER,
        "kms:PutKeyPolicy": "AWS asks for it as a key is created with its policy",
        "kms:Update*": LATER,
        "lakeformation:Update*": LATER,
        "lambda:UpdateEventSourceMapping": LATER,
        "s3:DeleteBucketPolicy": LATER,
        "s3:GetObject": "of the lock of the state: asked where another one holds it",
        "scheduler:UpdateSchedule": LATER,
    },
}
"""Granted actions that no test asks for, each with the reason why it is granted."""

GRANTED: Final[dict[str, dict[str, bool]]] = {role: {} for role in POLICIES}
"""The actions that the tests of this file granted to each role, and whether one of them needed it."""


class Workflow:
    """A project in an account of its own, applied as the workflow does it."""

    def __init__(self, aws: emulated_aws.Aws, root: Path) -> None:
        self.aws, self.root, self.folder = aws, root, root / "deploy" / "prod"
        self.artifact = "one"
        deploy(Access(root, "prod"))
        self.bootstrap = emulated_aws.Terraform(self.folder / "bootstrap")
        aws.override(self.bootstrap.folder)
        self.bootstrap.init()
        self.give_rights()
        self.upload(self.artifact)

    def give_rights(self) -> None:
        """What a person does."""
        self.bootstrap("apply", "-auto-approve", "-input=false", "-no-color")

    def upload(self, artifact: str) -> None:
        """Uploads packages, as `aws s3 sync` does it with the role that applies."""
        keys = self.aws.environ_of("shop-prod-ci-apply")
        given = {
            name.lower(): keys[name.upper()]
            for name in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        }
        s3 = boto3.client("s3", endpoint_url=self.aws.endpoint, region_name=emulated_aws.REGION, **given)
        bucket = deployed.stack(self.root).bucket_named("artifacts")
        s3.list_objects_v2(Bucket=bucket)
        s3.put_object(Bucket=bucket, Key=f"{artifact}/gate.zip", Body=package_of_gate())

    def as_role(self, role: str) -> emulated_aws.Terraform:
        """Terraform as a role."""
        self.aws.override(self.folder, has_keys=False)
        with_second_region(self.folder)
        versions = {"TF_VAR_artifact": self.artifact, "TF_VAR_project": self.artifact}
        terraform = emulated_aws.Terraform(self.folder, self.aws.environ_of(f"shop-prod-{role}") | versions)
        if not (self.folder / ".terraform").exists():
            terraform.init()
        return terraform

    def planned(self, *words: str) -> dict[str, Any]:
        """Plans with the role that reads."""
        return self.as_role("ci-plan").planned("-lock=false", *words)

    def apply(self) -> None:
        """Applies what was planned, with the role that may."""
        self.as_role("ci-apply")("apply", "-input=false", "-no-color", "test.tfplan")

    def asked(self, role: str) -> list[Asked]:
        """What a role asked for; nothing was refused."""
        # Terraform asks for its user first, which a role is not, and then for its own identity.
        every = [each for each in self.aws.asked(f"shop-prod-{role}") if each["action"] != "iam:GetUser"]
        assert every
        assert not [each for each in every if not each["allowed"]]
        return [Asked(each["action"], tuple(each["resources"]), each["context"]) for each in every]

    def count(self, role: str) -> None:
        """Notes what a role was granted, and what of it was needed, by the policies in the folder."""
        texts = {
            name: (self.folder / f"policies/{name}.json").read_text() for name in ("ci_plan", *POLICIES[role])
        }
        every = {name: json.loads(text)["Statement"] for name, text in texts.items()}
        policy = {"Statement": [each for statements in every.values() for each in statements]}
        without = unneeded(policy, [each for each in self.asked(role) if permits(policy, each)])
        for action in {each for name in POLICIES[role] for one in every[name] for each in one["Action"]}:
            GRANTED[role][action] = GRANTED[role].get(action, False) or action not in without


def with_second_region(folder: Path) -> None:
    """Sends the provider of the second region here, too."""
    first = (folder / "emulated_override.tf").read_text()
    second = first[first.index("provider") :].replace('"aws" {', '"aws" {\n  alias = "replica"')
    (folder / "second_override.tf").write_text(second)


@pytest.fixture
def aws() -> Iterator[emulated_aws.Aws]:
    """An empty account."""
    with started(emulated_aws.Aws) as found:
        yield found


def actions(plan: dict[str, Any]) -> dict[str, list[str]]:
    """What a plan does with resources."""
    found = {each["address"]: each["change"]["actions"] for each in plan["resource_changes"]}
    return {address: words for address, words in found.items() if words != ["no-op"]}


def test_renamed_tables_layers_and_buckets_lose_nothing(tmp_path: Path, aws: emulated_aws.Aws) -> None:
    root = deployed.project(tmp_path / "shop", deployed.SMALL | {"tables/gold/cities.yaml": RULES}, SETTINGS)
    workflow = Workflow(aws, root)
    workflow.planned()
    workflow.apply()
    for role in POLICIES:
        workflow.count(role)
    roles = {each["RoleName"] for each in aws.client("iam").list_roles()["Roles"]}
    assert {"shop-prod-ci-plan", "shop-prod-ci-apply"} < roles

    # The table gets another name and layer, the landing files another bucket, and nothing is copied.
    gold, marts = root / "tables/gold", root / "tables/marts"
    gold.rename(marts)
    for each in marts.iterdir():
        each.rename(each.with_stem("towns"))
    orders = deployed.SMALL["tables/bronze/orders.yaml"].replace("shop-landing", "shop-arrivals")
    one_region = SETTINGS.replace(", replica_region: eu-west-1", ", vcpus: 16, timeout: 3 hours")
    workflow.artifact = "two"
    workflow.upload("two")
    deployed.project(root, {"tables/bronze/orders.yaml": orders}, one_region)
    lake, folder = Access(root, "prod"), workflow.folder
    deploy(lake)
    planner = workflow.as_role("ci-plan")
    assert "more rights: first apply bootstrap" in planner(
        "plan", "-input=false", "-lock=false", "-no-color", codes=(1,)
    )
    workflow.give_rights()
    plan = workflow.planned()
    assert not check_deployment(lake, folder / "plan.json").losses
    assert not losses_in(folder / "plan.json")
    found = actions(plan)
    assert found["aws_glue_catalog_database.gold"] == found["aws_s3_bucket.landing"] == ["forget"]
    assert found["aws_s3_bucket.lake_replica"] == ["forget"]
    # AWS cannot rename rules: they are written again.
    assert found["aws_glue_data_quality_ruleset.gold__cities"] == ["delete"]
    workflow.apply()
    databases = {each["Name"] for each in aws.client("glue").get_databases()["DatabaseList"]}
    assert {"gold", "marts"} < databases
    buckets = {each["Name"] for each in aws.client("s3").list_buckets()["Buckets"]}
    assert {"shop-landing", "shop-arrivals", "shop-lake-replica"} < buckets
    assert aws.client("s3").get_bucket_versioning(Bucket="shop-landing")["Status"] == "Enabled"
    assert changed(workflow.planned()) == {}

    terraform = workflow.as_role("ci-apply")
    # What holds no data could go.
    kept = ("aws_s3", "aws_kms", "aws_glue_catalog", "data.")
    names = [each for each in terraform("state", "list").split() if not each.startswith(kept)]
    terraform("destroy", "-auto-approve", "-input=false", "-no-color", *(f"-target={each}" for each in names))
    for role in POLICIES:
        workflow.count(role)


def test_every_setting_is_applied_by_the_roles(tmp_path: Path, aws: emulated_aws.Aws) -> None:
    workflow = Workflow(aws, deployed.project(tmp_path / "shop", deployed.EVERYTHING, EVERY_SETTING))
    workflow.planned()
    workflow.apply()
    assert changed(workflow.planned()) == DRIFTS

    # Settings are switched off, tables go and change: the roles take away what they made.
    less = EVERY_SETTING.replace("athena: true, ", "").replace("lake_formation: true, ", "")
    less = less.replace("data@", "people@")
    (tmp_path / "shop/tables/silver/ticks.yaml").unlink()
    orders = deployed.EVERYTHING["tables/silver/orders.yaml"].replace("30 2", "30 3").replace("> 0", "> 1")
    deployed.project(tmp_path / "shop", {"tables/silver/orders.yaml": orders}, less)
    deploy(Access(workflow.root, "prod"))
    workflow.planned()
    workflow.apply()
    assert changed(workflow.planned()) == DRIFTS
    # The policies are those of the first files, which had all settings.
    deployed.project(tmp_path / "shop", deployed.EVERYTHING, EVERY_SETTING)
    deploy(Access(workflow.root, "prod"))
    for role in POLICIES:
        workflow.count(role)


def test_each_right_is_needed_or_has_a_reason() -> None:
    unneeded = {role: {each for each in found if not found[each]} for role, found in GRANTED.items()}
    print({role: sorted(found) for role, found in unneeded.items()})
    for role, reasons in NOT_ASKED.items():
        assert not {each for each in unneeded[role] if not any(fnmatchcase(each, name) for name in reasons)}
        for name in reasons:
            assert any(fnmatchcase(each, name) for each in unneeded[role]), f"{name} is needed"
