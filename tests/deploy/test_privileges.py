"""Least privilege: roles do their whole work with the policies as they are deployed, and need each action."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from botocore.exceptions import ClientError
from pyiceberg.catalog import load_catalog

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed
import emulated_aws
from asked_actions import Asked
from enforced_policies import permits, unneeded
from test_machine_runs import FAILED, FINE, Machine

from lakesmith import gate
from lakesmith.deploy import policies
from lakesmith.deploy.facts import MAINTAIN, Stack
from lakesmith.errors import LakesmithError
from lakesmith.sources import objects
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars, spark_home
from lakesmith.spark.start.versions import installed_pair
from server_process import started

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(900),
    pytest.mark.deploys,
    pytest.mark.xdist_group("privileges"),
]

OF_SERVICES: Final = "the service itself asks for it with the role, as AWS's documentation says"
NOT_ASKED: Final = {
    "job": {
        "logs:*": OF_SERVICES,
        "s3:AbortMultipartUpload": "asked only after an upload of more than 32 MB that failed",
    },
    "erasure": {
        "logs:*": OF_SERVICES,
        "s3:AbortMultipartUpload": "asked only after an upload of more than 32 MB that failed",
        "s3:DeleteObject": "of landing files, with `on_erase: remove`",
        "s3:GetLifecycleConfiguration": "asked where an old version stays, to say until when",
    },
    "gate": {
        "logs:*": OF_SERVICES,
        "sqs:ReceiveMessage": OF_SERVICES,
        "sqs:DeleteMessage": OF_SERVICES,
        "sqs:GetQueueAttributes": OF_SERVICES,
    },
    "reader": {"s3:ListBucket": "Athena asks for it; without it a missing file is said to be forbidden"},
    "machine": {
        "logs:*": OF_SERVICES,
        "emr-serverless:*": OF_SERVICES,
        "events:*": OF_SERVICES,
        "iam:PassRole": OF_SERVICES,
    },
}
"""Granted actions that no test asks for, each with the reason why it is granted."""

ELSEWHERE: Final = {
    "* s3tables:*": "moto has no tables of S3 Tables",
    "* kms:*": "S3 asks KMS with the role; moto does not",
    "machine glue:*": OF_SERVICES,
    "reader athena:*": "moto runs no queries",
    "*reader lakeformation:*": "engines ask Lake Formation for keys of files, and moto gives none",
    "pii_reader *": "what reader has: grants in Lake Formation alone tell them apart",
    "access s3:*": "Lake Formation reads files with it, and moto does not",
    "reader s3:*": "Athena keeps results with the role of who asks",
    "replication s3:*": "S3 copies, and moto does not",
}
"""What is granted with other settings, by the role, and why nothing here asks for it."""


def spark_submit() -> list[str]:
    """The command that services begin a job with, with the jars that they bring."""
    pair = installed_pair()
    jars = [*ensure_jars(find_java(), pair.local_jars), *ensure_jars(find_java(), pair.aws_jars)]
    conf = {
        "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-Duser.language=en -Duser.country=US",
    }  # fmt: skip
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    submit = str(Path(gate.__file__).with_name("submit.py"))
    home = str(spark_home() / "bin" / "spark-submit")
    return [home, "--master", "local[2]", "--jars", ",".join(map(str, jars)), *options, submit]


@dataclass
class Account:
    """An account with the example customer-orders, its roles and its files."""

    aws: emulated_aws.Aws
    root: Path
    stack: Stack

    def policy(self, role: str) -> dict[str, Any]:
        """The policy of a role, as it is deployed."""
        text = json.dumps(policies.documents(self.stack)[role])
        found: dict[str, Any] = json.loads(
            text.replace("${application}", "arn:aws:emr-serverless:::/applications/1")
        )
        return found

    @property
    def project(self) -> str:
        """Where jobs and the gate find the project."""
        return f"s3://{self.stack.bucket_named('artifacts')}/projects/test.zip"

    @property
    def queue(self) -> str:
        """The queue of the gate."""
        return str(self.aws.client("sqs").get_queue_url(QueueName=self.name("gate"))["QueueUrl"])

    def name(self, role: str) -> str:
        """The name of a role."""
        return self.stack.named(role)

    def give(self, role: str, *, without: str = "") -> None:
        """Gives a role its policy, without one action."""
        policy = self.policy(role)
        for each in policy["Statement"]:
            each["Action"] = [action for action in each["Action"] if action != without] or ["s3:Nothing"]
        self.aws.make_role(self.name(role), policy)

    def job(self, command: str, number: int, role: str = "job", *more: str) -> dict[str, Any]:
        """Runs a command as the deployed job does, as its role; returns the report."""
        key = f"runs/{command}-{number}.json"
        work = self.stack.bucket_named("work")
        words = ["--project", self.project, "--target", "prod", "--metrics", "customer_orders/prod"]
        words += ["--environment", policies.secrets_path(self.stack), "--result", f"s3://{work}/{key}"]
        words += more or ["--select", "[]", "--command", command]
        done = subprocess.run(
            [*spark_submit(), *words],
            env={**os.environ, **self.aws.environ_of(self.name(role)), "PYSPARK_PYTHON": sys.executable},
            capture_output=True, text=True, timeout=400, check=False, cwd=self.root.parent,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        body = self.aws.client("s3").get_object(Bucket=work, Key=key)["Body"].read()
        report: dict[str, Any] = json.loads(body)
        print(done.stdout[-2000:], done.stderr[-2000:])
        return report

    def land(self, *files: Path) -> None:
        """Puts files where they arrive."""
        for file in files:
            self.aws.client("s3").upload_file(
                str(file), self.stack.landing[0][0], f"{self.stack.landing[0][1]}{file.name}"
            )


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """The account, with all that Terraform would make before the first run."""
    root = tmp_path_factory.mktemp("prod") / "customer-orders"
    shutil.copytree(deployed.EXAMPLES / root.name, root, ignore=shutil.ignore_patterns(".lakesmith"))
    orders = root / "tables" / "bronze" / "orders.yaml"
    orders.write_text(orders.read_text().replace("format: csv}", "format: csv, on_erase: rewrite}"))
    with started(emulated_aws.Aws) as aws:
        found = Account(aws, root, deployed.stack(root))
        place = {"LocationConstraint": emulated_aws.REGION}
        for name in (*(each.name for each in found.stack.owned), found.stack.bucket_named("artifacts")):
            aws.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration=place)
            kept = {"Status": "Enabled"}
            aws.client("s3").put_bucket_versioning(Bucket=name, VersioningConfiguration=kept)
        for each in found.stack.databases:
            aws.client("glue").create_database(DatabaseInput={"Name": each.name})
        packed = shutil.make_archive(str(root.parent / "project"), "zip", root)
        bucket, _, key = found.project.removeprefix("s3://").partition("/")
        aws.client("s3").upload_file(packed, bucket, key)
        aws.client("sqs").create_queue(QueueName=found.name("gate"))
        wait = {"StartAt": "Work", "States": {"Work": {"Type": "Wait", "Seconds": 300, "End": True}}}
        aws.client("stepfunctions").create_state_machine(
            name=found.name("run"), definition=json.dumps(wait), roleArn="arn:aws:iam::123456789012:role/any"
        )
        for role in policies.roles(found.stack):
            found.give(role)
        yield found


def be(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    """Makes this process a role: by variables, and nothing that remembers others, or their AWS."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    objects._client.cache_clear()


def called(account: Account, monkeypatch: pytest.MonkeyPatch, *calls: dict[str, Any]) -> str | None:
    """Calls the gate as its role."""
    given = account.aws.environ_of(account.name("gate")) | {
        "LAKESMITH_MACHINE": policies.machine_arn(account.stack), "LAKESMITH_TARGET": "prod",
        "LAKESMITH_QUEUE": account.queue,
        "LAKESMITH_ENVIRONMENT": policies.secrets_path(account.stack), "LAKESMITH_PROJECT": account.project,
    }  # fmt: skip
    be(monkeypatch, given)
    started: str | None = gate.handle({"Records": [{"body": json.dumps(call)} for call in calls]})["started"]
    return started


def test_before_the_first_run_the_gate_finds_no_work(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert called(account, monkeypatch, {"why": MAINTAIN}) is None


@pytest.fixture(scope="module")
def worked(account: Account) -> Account:
    """The account after two runs and maintenance by the job's role."""
    first, *others = sorted((account.root / "arrivals").iterdir())
    for number, files in enumerate(((first,), others)):
        account.land(*files)
        report = account.job("run", number)
        assert next(each["Value"] for each in report.pop("metrics") if each["MetricName"] == "RowsRead") > 0
        assert report == {"exit_code": 0, "failed": []}
    assert account.job("maintain", 1)["exit_code"] == 0
    return account


def another(account: Account, folder: Path, day: int) -> Path:
    """A file that lands after the runs."""
    file = folder / f"orders_2024070{day}_00.csv"
    file.write_text(sorted((account.root / "arrivals").iterdir())[0].read_text())
    account.land(file)
    return file


def of(account: Account, role: str) -> list[Asked]:
    """What a role asked for."""
    asked = account.aws.asked(account.name(role))
    return [Asked(each["action"], tuple(each["resources"]), each["context"]) for each in asked]


def check(account: Account, role: str) -> None:
    """A role was refused nothing, and needs each action of its policy, or the list says why it has it."""
    asked = of(account, role)
    refused = [each for each in asked if not permits(account.policy(role), each)]
    assert not refused
    listed = NOT_ASKED.get(role, {})
    found = unneeded(account.policy(role), asked)
    assert not {each for each in found if not any(fnmatchcase(each, name) for name in listed)}
    for name in listed:
        assert any(fnmatchcase(each, name) for each in found), f"{name} has a reason, and is needed"


def test_the_job_needs_its_policy(worked: Account) -> None:
    check(worked, "job")


def test_the_gate_needs_its_policy(worked: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bucket, prefix = worked.stack.landing[0]
    file = another(worked, tmp_path, 1)
    arrived = {"detail": {"bucket": {"name": bucket}, "object": {"key": f"{prefix}{file.name}"}}}
    assert called(worked, monkeypatch, arrived, {"why": MAINTAIN}) is not None
    # While the run is at work, a call is put off.
    assert called(worked, monkeypatch, arrived) is None
    check(worked, "gate")
    states = worked.aws.client("stepfunctions")
    # What cannot be listed counts as work: the job says why.
    counted_as_work = {"s3:ListBucket", "glue:GetTables"}
    for action in sorted(
        {each.action for each in of(worked, "gate")} - counted_as_work - {"sqs:SendMessage"}
    ):
        machine = policies.machine_arn(worked.stack)
        for each in states.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]:
            states.stop_execution(executionArn=each["executionArn"])
        worked.give("gate", without=action)
        with pytest.raises((LakesmithError, ClientError)):
            called(worked, monkeypatch, arrived, {"why": MAINTAIN})
    worked.give("gate")
    called(worked, monkeypatch, arrived)
    worked.give("gate", without="sqs:SendMessage")
    with pytest.raises(ClientError, match="sqs:SendMessage"):
        called(worked, monkeypatch, arrived)
    worked.give("gate")


def test_readers_need_their_policy(worked: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    be(monkeypatch, worked.aws.environ_of(worked.name("reader")))
    given = {"warehouse": f"s3://{'/'.join(worked.stack.warehouse)}", "s3.endpoint": worked.aws.endpoint}
    catalog = load_catalog("readers", type="glue", **given)
    databases = {each.name for each in worked.stack.databases}
    assert {name for (name,) in catalog.list_namespaces()} >= databases
    assert len(catalog.list_tables("customer_orders_gold")) == 1
    assert catalog.namespace_exists("customer_orders_gold")
    assert catalog.load_table("customer_orders_gold.customers_by_city_month").scan().to_arrow().num_rows > 0
    check(worked, "reader")
    with pytest.raises(ClientError, match="AccessDenied"):
        catalog.drop_table("customer_orders_gold.customers_by_city_month")


def test_the_trigger_needs_its_policy(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    be(monkeypatch, account.aws.environ_of(account.name("trigger")))
    boto3.client("sqs").send_message(QueueUrl=account.queue, MessageBody='{"why": "maintain"}')
    check(account, "trigger")


def test_the_machine_needs_its_policy(account: Account) -> None:
    run = Machine(account.aws, account.root, account.name("machine"))
    metrics = [{"MetricName": "RowsRead", "Value": 8.0, "Unit": "Count"}]
    assert run.run(FAILED, FAILED, FAILED | {"metrics": metrics}).status == "FAILED"
    check(account, "machine")
    account.give("machine", without="s3:GetObject")
    (alert,) = run.run(FINE).alerts
    assert alert.startswith("project: ") and "AccessDenied" in alert
    account.give("machine")


def test_a_job_that_may_not_change_tables_fails(worked: Account, tmp_path: Path) -> None:
    another(worked, tmp_path, 2)
    worked.give("job", without="glue:UpdateTable")
    report = worked.job("run", 9)
    worked.give("job")
    assert report["exit_code"] == 2


def test_the_erasure_needs_its_policy(worked: Account) -> None:
    words = ("erase", "silver.customers", "--where", "email = 'aisha.rahman@example.com'", "--yes", "--json")
    assert worked.job("erase", 1, "erasure", *words)["exit_code"] == 0
    check(worked, "erasure")


def test_what_other_settings_grant_is_granted_for_a_reason(account: Account) -> None:
    """The actions of all golden deployments that customer-orders' roles do not have."""
    every = {*policies.ROLES, "replication", "access", "pii_reader"}
    found = set()
    for case in deployed.CASES:
        for name, text in deployed.texts(case).items():
            role = Path(name).stem
            if name.startswith("policies/") and role in every:
                own = policies.documents(account.stack).get(role, {"Statement": ()})["Statement"]
                had = {action for each in own for action in each["Action"]}
                granted = {action for each in json.loads(text)["Statement"] for action in each["Action"]}
                found |= {f"{role} {action}" for action in granted - had}
    assert not {each for each in found if not any(fnmatchcase(each, name) for name in ELSEWHERE)}
    assert all(any(fnmatchcase(each, name) for each in found) for name in ELSEWHERE)
