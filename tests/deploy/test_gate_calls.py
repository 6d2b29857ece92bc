"""The gate beside S3, Glue, a queue and a state machine on moto: it starts a run only where there is work."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed
import emulated_aws

from lakesmith import gate, submit
from lakesmith.deploy.machine import arrivals
from lakesmith.submit import job_of
from server_process import started

pytestmark = pytest.mark.processes
ARRIVED = {"detail": {"bucket": {"name": "shop-landing"}, "object": {"key": "orders/a.csv"}}}


@pytest.fixture(scope="module")
def aws() -> Iterator[emulated_aws.Aws]:
    """An account."""
    with started(emulated_aws.Aws) as found:
        yield found


class Gate:
    """The gate of a small project, called as the queue calls it."""

    def __init__(self, aws: emulated_aws.Aws, machine: str, queue: str) -> None:
        self.aws, self.machine, self.queue = aws, machine, queue

    def __call__(self, *calls: dict[str, Any]) -> str | None:
        records = [{"body": json.dumps(call)} for call in calls]
        started: str | None = gate.handle({"Records": records})["started"]
        return started

    def executions(self) -> list[dict[str, Any]]:
        """The executions of the machine."""
        found = self.aws.client("stepfunctions").list_executions(stateMachineArn=self.machine)["executions"]
        return list(found)

    def put_off(self) -> list[Any]:
        """The calls that were put off, with the seconds that each waits."""
        sqs = self.aws.client("sqs")
        waiting = sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["All"])["Attributes"]
        return [int(waiting["ApproximateNumberOfMessagesDelayed"])]


@pytest.fixture
def call(aws: emulated_aws.Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """The gate of a project with one landing file."""
    deployed.project(tmp_path / "project", deployed.SMALL)
    given = {
        "AWS_ENDPOINT_URL": aws.endpoint, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": emulated_aws.REGION, "AWS_DEFAULT_REGION": emulated_aws.REGION,
        "AWS_EC2_METADATA_DISABLED": "true", "LAKESMITH_PROJECT": str(tmp_path / "project"),
        "LAKESMITH_TARGET": "prod",
    }  # fmt: skip
    s3 = aws.client("s3")
    for bucket in ("shop-lake", "shop-landing"):
        place = {"LocationConstraint": emulated_aws.REGION}
        with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration=place)
    s3.put_object(Bucket="shop-landing", Key="orders/a.csv", Body=b"id,city\n1,Oslo\n")
    wait = {"StartAt": "Work", "States": {"Work": {"Type": "Wait", "Seconds": 8, "End": True}}}
    machine = aws.client("stepfunctions").create_state_machine(
        name=tmp_path.name[-40:], definition=json.dumps(wait), roleArn="arn:aws:iam::123456789012:role/m"
    )["stateMachineArn"]
    queue = aws.client("sqs").create_queue(QueueName=tmp_path.name[-40:])["QueueUrl"]
    ssm = aws.client("ssm")
    ssm.put_parameter(Name=f"/{tmp_path.name}/FROM_SSM", Value="known", Type="SecureString", Overwrite=True)
    given |= {
        "LAKESMITH_MACHINE": machine, "LAKESMITH_QUEUE": queue, "LAKESMITH_ENVIRONMENT": f"/{tmp_path.name}",
        "FROM_SSM": "",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return Gate(aws, machine, queue)


def test_a_file_that_arrived_starts_a_run_of_its_tables(call: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    name = call(ARRIVED)
    (execution,) = call.executions()
    assert execution["name"] == name
    states = call.aws.client("stepfunctions")
    given = json.loads(states.describe_execution(executionArn=execution["executionArn"])["input"])
    # Both of the project's tables: that is everything.
    assert given == {"select": [], "command": "run", "tries_used": 0}


def test_a_call_about_nothing_starts_nothing(call: Gate) -> None:
    assert call({"why": "0 6 * * * UTC"}) is None
    assert call({"detail": {"bucket": {"name": "shop-landing"}, "object": {"key": "other/a.csv"}}}) is None
    assert (call.executions(), call.put_off()) == ([], [0])


def test_maintenance_that_no_table_needs_starts_nothing(call: Gate) -> None:
    assert call({"why": "maintain"}) is None
    assert (call.executions(), call.put_off()) == ([], [0])


def test_while_a_run_is_at_work_calls_are_put_off(call: Gate) -> None:
    assert call(ARRIVED) is not None
    assert call(ARRIVED) is None
    assert (len(call.executions()), call.put_off()) == (1, [1])


def test_of_two_gates_at_once_one_starts_a_run(call: Gate) -> None:
    ready, started = threading.Barrier(2), list[str | None]()

    def start(table: str) -> None:
        ready.wait()
        started.append(gate._start("run", (table,), {"tables": [table]}))

    both = [threading.Thread(target=start, args=(name,)) for name in ("bronze.orders", "gold.cities")]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert (started.count(None), len(call.executions()), call.put_off()) == (1, 1, [1])


def test_an_object_below_a_landing_prefix_reaches_the_gate(call: Gate, tmp_path: Path) -> None:
    """From S3 by the rule's pattern, as it is deployed, to the queue."""
    events, sqs, s3 = map(call.aws.client, ("events", "sqs", "s3"))
    pattern = arrivals(deployed.stack(tmp_path / "project"))["landing"]
    queue = sqs.get_queue_attributes(QueueUrl=call.queue, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    rule = tmp_path.name[-40:]
    events.put_rule(Name=rule, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=rule, Targets=[{"Id": "gate", "Arn": queue}])
    sends = {"EventBridgeConfiguration": {}}
    s3.put_bucket_notification_configuration(Bucket="shop-landing", NotificationConfiguration=sends)
    s3.put_object(Bucket="shop-landing", Key="others/b.csv", Body=b"")
    s3.put_object(Bucket="shop-landing", Key="orders/b.csv", Body=b"id,city\n2,Rome\n")
    messages = sqs.receive_message(QueueUrl=call.queue, MaxNumberOfMessages=10).get("Messages", [])
    arrived = [json.loads(each["Body"]) for each in messages]
    assert [each["detail"]["object"]["key"] for each in arrived] == ["orders/b.csv"]
    assert call(*arrived) is not None


def test_the_values_of_variables_come_from_parameters(call: Gate) -> None:
    call({"why": "nothing"})
    assert os.environ["FROM_SSM"] == "known"


def test_a_job_leaves_its_report_and_its_metrics(call: Gate) -> None:
    s3 = call.aws.client("s3")
    place = ["--project", "nowhere", "--target", "prod", "--metrics", "shop/prod"]
    job, words = job_of([*place, "--result", "s3://shop-lake/runs/1.json", "--select", "[]"])
    assert submit._reported(job, words) == 0
    report = json.loads(s3.get_object(Bucket="shop-lake", Key="runs/1.json")["Body"].read())
    assert (report["exit_code"], report["failed"][0]["table"]) == (2, "the whole run")
    assert "nowhere is not a project" in report["failed"][0]["problem"]
    assert {each["MetricName"] for each in report["metrics"]} >= {"RowsRead", "TablesFailed"}
    of = [{"Name": "project", "Value": "shop"}, {"Name": "target", "Value": "prod"}]
    assert all(each["Dimensions"] == of for each in report["metrics"])
