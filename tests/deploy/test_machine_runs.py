"""The state machine as moto runs it: jobs that end well, fail, break, and are tried again."""

import json
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "deploy"))

import deployed
import emulated_aws

from lakesmith.deploy.machine import machine
from server_process import started

pytestmark = pytest.mark.processes

FINE = {"exit_code": 0, "failed": []}
FAILED = {"exit_code": 1, "failed": [{"table": "gold.cities", "problem": "LS601 it broke"}]}
WRONG = {"exit_code": 2, "failed": [{"table": "the whole run", "problem": "LS120 no such target"}]}
RULES = {
    "exit_code": 3,
    "failed": [{"table": name, "problem": "LS805 a rule failed"} for name in ("silver.a", "silver.b")],
}


@dataclass
class Ended:
    """How an execution ended: its status, the jobs it started, and what was announced."""

    status: str
    jobs: list[dict[str, Any]]
    alerts: list[str]

    def words(self, number: int) -> list[str]:
        """The arguments of a job."""
        found: list[str] = self.jobs[number]["JobDriver"]["SparkSubmit"]["EntryPointArguments"]
        return found


@pytest.fixture(scope="module")
def aws() -> Iterator[emulated_aws.Aws]:
    """An account in which state machines run."""
    with started(emulated_aws.Aws) as found:
        yield found


class Machine:
    """A project's state machine. ``run`` starts it, with how its jobs will end."""

    def __init__(self, aws: emulated_aws.Aws, root: Path, role: str = "machine", longest: int = 0) -> None:
        self.aws, stack = aws, deployed.stack(root)
        definition = machine(stack)
        definition["TimeoutSeconds"] = longest or definition["TimeoutSeconds"]
        for state in definition["States"].values():
            if state["Type"] == "Wait":
                state["Seconds"] = 1
        text = (
            json.dumps(definition)
            .replace("${application}", "app")
            .replace("${artifact}", "test")
            .replace("${project}", "files")
        )
        sns, sqs = aws.client("sns"), aws.client("sqs")
        topic = sns.create_topic(Name=stack.named("alerts"))["TopicArn"]
        self.mail = sqs.create_queue(QueueName=f"mail-{root.name[-8:].replace('_', '-')}")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=self.mail, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
        place = {"LocationConstraint": emulated_aws.REGION}
        s3 = aws.client("s3")
        with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket=stack.bucket_named("work"), CreateBucketConfiguration=place)
        made = aws.client("stepfunctions").create_state_machine(
            name=f"run-{root.name[-8:]}", definition=text, roleArn=f"arn:aws:iam::123456789012:role/{role}"
        )
        self.arn = made["stateMachineArn"]

    def run(self, *outcomes: Any, select: tuple[str, ...] = (), tries_used: int = 0) -> Ended:
        """Runs it to its end."""
        self.aws.jobs.write_text(json.dumps(outcomes))
        file = self.aws.jobs.with_suffix(".started")
        file.write_text("")
        states = self.aws.client("stepfunctions")
        given = json.dumps({"select": list(select), "command": "run", "tries_used": tries_used})
        execution = states.start_execution(stateMachineArn=self.arn, name=uuid.uuid4().hex, input=given)[
            "executionArn"
        ]
        until = time.monotonic() + 60
        while (status := states.describe_execution(executionArn=execution)["status"]) == "RUNNING":
            assert time.monotonic() < until, states.get_execution_history(executionArn=execution)["events"][
                -3:
            ]
            time.sleep(0.2)
        return Ended(status, [json.loads(line) for line in file.read_text().splitlines()], self._alerts())

    def _alerts(self) -> list[str]:
        sqs, found = self.aws.client("sqs"), []
        while messages := sqs.receive_message(QueueUrl=self.mail, MaxNumberOfMessages=10).get("Messages"):
            found += [each["Body"] for each in messages]
            for each in messages:
                sqs.delete_message(QueueUrl=self.mail, ReceiptHandle=each["ReceiptHandle"])
        return sorted(found)


@pytest.fixture(scope="module")
def run(aws: emulated_aws.Aws, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The machine of a small project."""
    return Machine(
        aws,
        deployed.project(tmp_path_factory.mktemp("one-job"), deployed.SMALL, f"{deployed.USUAL}, retries: 2"),
    )


def test_a_run_that_ends_well_starts_one_job_and_announces_nothing(run: Machine) -> None:
    ended = run.run(FINE, select=("gold.cities",))
    assert (ended.status, len(ended.jobs), ended.alerts) == ("SUCCEEDED", 1, [])
    words = ended.words(0)
    assert words[words.index("--select") + 1] == '["gold.cities"]'
    assert words[words.index("--target") + 1] == "prod"
    assert words[words.index("--command") + 1] == "run"
    assert words[words.index("--project") + 1].endswith("/files/project.zip")


@pytest.mark.parametrize(("sent", "value"), [(True, 8.0), (False, "no number")])
def test_metrics_are_sent_and_no_run_depends_on_them(run: Machine, sent: bool, value: object) -> None:
    name = f"RowsRead{sent}"
    metrics = [{"MetricName": name, "Value": value, "Unit": "Count"}]
    assert run.run({**FINE, "metrics": metrics}).status == "SUCCEEDED"
    found = run.aws.client("cloudwatch").list_metrics(Namespace="Lakesmith")["Metrics"]
    assert (name in {each["MetricName"] for each in found}) == sent


def test_a_run_of_everything_selects_nothing(run: Machine) -> None:
    words = run.run(FINE).words(0)
    assert words[words.index("--select") + 1] == "[]"


def test_a_failed_table_is_tried_again(run: Machine) -> None:
    ended = run.run(FAILED, FINE, select=("gold.cities",))
    assert (ended.status, len(ended.jobs), ended.alerts) == ("SUCCEEDED", 2, [])
    first, second = ended.words(0), ended.words(1)
    assert first[first.index("--select") + 1] == second[second.index("--select") + 1]
    assert first[first.index("--result") + 1] != second[second.index("--result") + 1]


def test_a_table_that_keeps_failing_is_announced_once(run: Machine) -> None:
    ended = run.run(FAILED, FAILED, FAILED, FINE)
    assert (ended.status, len(ended.jobs)) == ("FAILED", 3)
    assert [alert.partition(": ")[0] for alert in ended.alerts] == ["gold.cities"]
    assert "LS601 it broke" in ended.alerts[0]


@pytest.mark.parametrize(
    ("report", "tables"), [(WRONG, ["the whole run"]), (RULES, ["silver.a", "silver.b"])]
)
def test_a_wrong_project_and_failed_rules_are_not_tried_again(
    run: Machine, report: Any, tables: list[str]
) -> None:
    ended = run.run(report, FINE)
    assert (ended.status, len(ended.jobs)) == ("FAILED", 1)
    assert [alert.partition(": ")[0] for alert in ended.alerts] == tables


def test_a_job_that_breaks_is_announced(run: Machine) -> None:
    ended = run.run(None, FINE)
    assert (ended.status, len(ended.jobs)) == ("FAILED", 1)
    assert "Job failed, see its logs" in ended.alerts[0]


def test_a_run_that_takes_too_long_is_ended(aws: emulated_aws.Aws, tmp_path: Path) -> None:
    root = deployed.project(tmp_path / "too-long", deployed.SMALL)
    run = Machine(aws, root, longest=3)
    # The job takes longer. The alarm runs-timed-out tells of it.
    assert run.run(20).status == "TIMED_OUT"


def test_layers_run_one_after_the_other_and_stop_at_a_failure(aws: emulated_aws.Aws, tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.SMALL, f"{deployed.USUAL}, unit: layer, retries: 0")
    run = Machine(aws, root)
    ended = run.run(FINE, FINE)
    chosen = [words[words.index("--select") + 1] for words in map(ended.words, range(2))]
    assert (ended.status, chosen) == ("SUCCEEDED", ['["bronze.*"]', '["gold.*"]'])
    ended = run.run(FAILED, FINE)
    assert (ended.status, len(ended.jobs)) == ("FAILED", 1)
