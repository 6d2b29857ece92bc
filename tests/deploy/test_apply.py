"""Terraform applies a deployment: on moto, which plays AWS on loopback. Run by `make deploy-tests`."""

import io
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed
import emulated_aws

from lakesmith.api.access import Access
from lakesmith.api.deploying.work import check_deployment
from lakesmith.deploy.facts import Stack
from lakesmith.deploy.folder import write
from lakesmith.deploy.render import rendered
from lakesmith.errors import UsageError
from server_process import started
from terraform_here import needs_provider

pytestmark = [needs_provider, pytest.mark.processes, pytest.mark.timeout(1500), pytest.mark.deploys]

DRIFTS: dict[str, set[str]] = {}
"""Types of resources that a second plan changes on moto, with the attributes that moto answers otherwise."""


@pytest.fixture(scope="module")
def aws() -> Iterator[emulated_aws.Aws]:
    """An empty account."""
    with started(emulated_aws.Aws) as found:
        yield found


OTHERS = ("cdn-logs", "invoices", "retail-sales")


def development(root: Path, example: str = "customer-orders") -> Path:
    """An example in mode development."""
    ignored = shutil.ignore_patterns("landing", "arrivals", ".lakesmith")
    shutil.copytree(deployed.EXAMPLES / example, root, ignore=ignored)
    file = root / "lakesmith.yaml"
    file.write_text(
        file.read_text().replace("region: eu-central-1", "region: eu-central-1, mode: development")
    )
    return root


def package_of_gate() -> bytes:
    """A package of the gate."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("lakesmith/gate.py", "def handle(event, context): ...")
    return packed.getvalue()


def put_gate(aws: emulated_aws.Aws, bucket: str) -> None:
    """Puts a package of the gate where Terraform expects it."""
    aws.client("s3").put_object(Bucket=bucket, Key="test/gate.zip", Body=package_of_gate())


def changed(plan: dict[str, Any]) -> dict[str, set[str]]:
    """The types of resources that a plan changes, with the attributes that differ."""
    found: dict[str, set[str]] = {}
    for each in plan.get("resource_changes", ()):
        change = each["change"]
        if each["mode"] == "managed" and change["actions"] != ["no-op"]:
            before, after = change["before"] or {}, change["after"] or {}
            found[each["type"]] = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    return found


def left(aws: emulated_aws.Aws) -> dict[str, list[str]]:
    """What is left in the account."""
    client = aws.client
    return {
        "buckets": [each["Name"] for each in client("s3").list_buckets()["Buckets"]],
        "databases": [each["Name"] for each in client("glue").get_databases()["DatabaseList"]],
        "roles": [each["RoleName"] for each in client("iam").list_roles()["Roles"]],
        "queues": client("sqs").list_queues().get("QueueUrls", []),
        "machines": [each["name"] for each in client("stepfunctions").list_state_machines()["stateMachines"]],
        "functions": [each["FunctionName"] for each in client("lambda").list_functions()["Functions"]],
        "topics": [each["TopicArn"] for each in client("sns").list_topics()["Topics"]],
        "alarms": [each["AlarmName"] for each in client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "logs": [each["logGroupName"] for each in client("logs").describe_log_groups()["logGroups"]],
    }


def written(root: Path) -> Stack:
    """Writes the files of a deployment."""
    stack = deployed.stack(root)
    write(stack, rendered(stack))
    return stack


def applied(
    aws: emulated_aws.Aws, root: Path, *, is_cut_off: bool = False
) -> tuple[emulated_aws.Terraform, emulated_aws.Terraform]:
    """Applies a deployment that was never there; ``is_cut_off``: half of it, before."""
    stack, folder = written(root), root / "deploy" / "prod"
    terraform, bootstrap = emulated_aws.Terraform(folder), emulated_aws.Terraform(folder / "bootstrap")
    for each in (terraform, bootstrap):
        aws.override(each.folder)
    apply = ("apply", "-auto-approve", "-input=false", "-no-color")
    bootstrap.init()
    bootstrap(*apply)
    terraform.init()
    if is_cut_off:
        terraform(*apply, "-target=aws_sfn_state_machine.run")
    put_gate(aws, stack.bucket_named("artifacts"))
    terraform(*apply)
    return terraform, bootstrap


def destroy(aws: emulated_aws.Aws, *roots: emulated_aws.Terraform) -> None:
    """Destroys what was applied; the account is empty then."""
    for terraform in roots:
        terraform("destroy", "-auto-approve", "-input=false", "-no-color")
    assert not any(left(aws).values()), left(aws)


@pytest.mark.parametrize("example", OTHERS)
def test_each_example_is_applied_and_destroyed(tmp_path: Path, aws: emulated_aws.Aws, example: str) -> None:
    roots = applied(aws, development(tmp_path / "shop", example))
    assert changed(roots[0].planned()) == DRIFTS
    destroy(aws, *roots)


def test_readers_get_what_their_tags_grant(tmp_path: Path, aws: emulated_aws.Aws) -> None:
    people = {"tables/silver/people.yaml": "from: bronze.orders\nkey: [id]\ntags: [pii]\n"}
    settings = f"{deployed.USUAL}, mode: development, lake_formation: true"
    root = deployed.project(tmp_path / "shop", deployed.SMALL | people, settings)
    roots = applied(aws, root)
    assert changed(roots[0].planned()) == DRIFTS
    assert {role: visible(aws, f"shop-prod-{role}") for role in ("reader", "pii-reader", "gate")} == {
        "reader": {"bronze", "gold"},
        "pii-reader": {"bronze", "gold", "silver"},
        "gate": {"bronze", "gold", "silver", "lakesmith"},
    }
    formation = aws.client("lakeformation")
    opted = formation.list_lake_formation_opt_ins()["LakeFormationOptInsInfoList"]
    names = [each["Principal"]["DataLakePrincipalIdentifier"].rpartition("/")[2] for each in opted]
    assert {name: names.count(name) for name in names} == {"shop-prod-reader": 8, "shop-prod-pii-reader": 8}
    destroy(aws, *roots)
    assert not formation.list_lf_tags()["LFTags"]
    assert not formation.list_resources()["ResourceInfoList"]
    assert not formation.list_permissions()["PrincipalResourcePermissions"]
    assert not formation.list_lake_formation_opt_ins()["LakeFormationOptInsInfoList"]


def visible(aws: emulated_aws.Aws, role: str) -> set[str]:
    """The databases whose tables a role may select from by their tags: Lake Formation's rule."""
    formation, found = aws.client("lakeformation"), set()
    grants = [
        {each["TagKey"]: {*each["TagValues"]} for each in grant["Resource"]["LFTagPolicy"]["Expression"]}
        for grant in formation.list_permissions()["PrincipalResourcePermissions"]
        if grant["Principal"]["DataLakePrincipalIdentifier"].endswith(f"/{role}")
        and grant["Resource"].get("LFTagPolicy", {}).get("ResourceType") == "TABLE"
        and "SELECT" in grant["Permissions"]
    ]
    for database in aws.client("glue").get_databases()["DatabaseList"]:
        of = {"Database": {"Name": database["Name"]}}
        tags = formation.get_resource_lf_tags(Resource=of)["LFTagOnDatabase"]
        has = {each["TagKey"]: each["TagValues"][0] for each in tags}
        if any(all(has.get(key) in values for key, values in grant.items()) for grant in grants):
            found.add(database["Name"])
    return found


def test_half_an_apply_is_finished_by_the_next(tmp_path: Path, aws: emulated_aws.Aws) -> None:
    roots = applied(aws, development(tmp_path / "shop", "dim-customers"), is_cut_off=True)
    assert changed(roots[0].planned()) == DRIFTS
    destroy(aws, *roots)


@pytest.mark.parametrize(
    ("account", "environ", "says"),
    [
        ("999999999999", {}, "AWS account ID not allowed"),
        ("123456789012", {"AWS_EC2_METADATA_DISABLED": "true"}, "No valid credential sources found"),
    ],
)
def test_another_account_and_no_credentials_stop_before_anything_is_made(
    tmp_path: Path, aws: emulated_aws.Aws, account: str, environ: dict[str, str], says: str
) -> None:
    root = development(tmp_path / "shop")
    header = root / "lakesmith.yaml"
    header.write_text(header.read_text().replace('account: "123456789012"', f'account: "{account}"'))
    written(root)
    bootstrap = emulated_aws.Terraform(root / "deploy" / "prod" / "bootstrap", environ)
    aws.override(bootstrap.folder, has_keys=not environ)
    bootstrap.init()
    said = bootstrap("apply", "-auto-approve", "-input=false", "-no-color", codes=(1,))
    assert says in said
    assert not any(left(aws).values()), left(aws)


def test_an_example_is_applied_and_planned_again_and_destroyed(tmp_path: Path, aws: emulated_aws.Aws) -> None:
    root = development(tmp_path / "shop")
    terraform, bootstrap = applied(aws, root)
    stack, folder = deployed.stack(root), terraform.folder
    there = left(aws)
    assert {bucket.name for bucket in stack.owned} < {*there["buckets"]}
    assert {database.name for database in stack.databases} == {*there["databases"]}
    assert (len(there["roles"]), len(there["queues"]), len(there["machines"])) == (6, 2, 1)
    assert aws.client("s3").get_bucket_versioning(Bucket=stack.warehouse[0])["Status"] == "Enabled"

    assert changed(terraform.planned()) == DRIFTS
    # Files of its own, such as the override and the state, do not make a deployment stale.
    assert not check_deployment(Access(root, "prod"), folder / "plan.json").is_stale

    renamed = root / "lakesmith.yaml"
    renamed.write_text(renamed.read_text().replace("prefix: customer_orders_", "prefix: orders_"))
    stack = written(root)
    terraform.planned()
    losses = check_deployment(Access(root, "prod"), folder / "plan.json").losses
    assert len([loss for loss in losses if loss.startswith("database")]) == len(stack.databases)
    renamed.write_text(renamed.read_text().replace("mode: development", "mode: production"))
    written(root)
    with pytest.raises(UsageError, match="LS282"):
        check_deployment(Access(root, "prod"), folder / "plan.json")

    renamed.write_text(renamed.read_text().replace("mode: production", "mode: development"))
    written(root)
    destroy(aws, terraform, bootstrap)
