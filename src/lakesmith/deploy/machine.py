"""The state machine of a run, in Amazon States Language, and the dashboard.

For each unit: the job, then its result, which the job leaves in the bucket ``work``, since services do not
pass on exit codes. Only exit code 1 is tried again: wrong files (2) and failed rules (3) stay wrong. Each
failed table is announced; so is a job that left no result.
"""

from __future__ import annotations

import json
from typing import Any, Final

from lakesmith.deploy.facts import Stack, Unit
from lakesmith.deploy.policies import METRICS, log_groups, machine_arn, role_arn, secrets_path, topic_arn

State = dict[str, Any]

_WAIT_SECONDS: Final = 60
_RESULT: Final = "States.Format('runs/{}/{}-{}.json', $$.Execution.Name, $.unit, $.attempt)"
_THROTTLED: Final = {"IntervalSeconds": 10, "MaxAttempts": 6, "BackoffRate": 2.0, "JitterStrategy": "FULL"}
_DRIVER_CORES: Final = 4


def machine(stack: Stack) -> State:
    """Returns the definition."""
    states: State = {}
    units = stack.units
    for number, unit in enumerate(units):
        after = f"Begin {units[number + 1].key}" if number + 1 < len(units) else "Done"
        states |= _unit(stack, unit, after)
    states |= {
        "Done": {"Type": "Succeed"},
        "Alert each failed table": _each_failed(stack),
        "Alert that the job broke": _broke(stack),
        "Failed": {"Type": "Fail", "Error": "Lakesmith.RunFailed", "Cause": "see the alerts and the logs"},
    }
    longest = (stack.deploy.retries + 1) * (int(stack.deploy.timeout) + 900) * len(units)
    return {
        "Comment": f"Refreshes the tables of {stack.name}, target {stack.target}",
        "StartAt": f"Begin {units[0].key}",
        "TimeoutSeconds": longest,
        "States": states,
    }


def _unit(stack: Stack, unit: Unit, after: str) -> State:
    """The states of one job with its retries."""
    key = unit.key
    selection = {"select": [unit.select]} if unit.select else {"select.$": "$.select"}
    asked = {"command.$": "$.command", "tries_used.$": "$.tries_used"}
    begin = {**selection, **asked, "asked.$": "$.select", "unit": key, "attempt.$": "$.tries_used"}
    carried = {**asked, "select.$": "$.asked"}
    return {
        f"Begin {key}": {"Type": "Pass", "Parameters": begin, "Next": f"Run {key}"},
        f"Run {key}": _job(stack, unit),
        f"Read result of {key}": {
            "Type": "Task",
            "Resource": f"arn:{stack.partition}:states:::aws-sdk:s3:getObject",
            "Parameters": {"Bucket": stack.bucket_named("work"), "Key.$": _RESULT},
            "ResultSelector": {"found.$": "States.StringToJson($.Body)"},
            "ResultPath": "$.result",
            "Catch": [_caught()],
            "Next": f"Rows of {key}",
        },
        # Packages of an earlier version leave no metrics.
        f"Rows of {key}": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.result.found.metrics", "IsPresent": True, "Next": f"Report rows of {key}"}
            ],
            "Default": f"How {key} ended",
        },
        # Jobs on EMR Serverless do not reach CloudWatch. What was refreshed counts without it, too.
        f"Report rows of {key}": {
            "Type": "Task",
            "Resource": f"arn:{stack.partition}:states:::aws-sdk:cloudwatch:putMetricData",
            "Parameters": {"Namespace": METRICS, "MetricData.$": "$.result.found.metrics"},
            "ResultPath": None,
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": f"How {key} ended"}],
            "Next": f"How {key} ended",
        },
        f"How {key} ended": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.result.found.exit_code", "NumericEquals": 0, "Next": f"End {key}"},
                {
                    "And": [
                        {"Variable": "$.result.found.exit_code", "NumericEquals": 1},
                        {"Variable": "$.attempt", "NumericLessThan": stack.deploy.retries},
                    ],
                    "Next": f"Wait for {key}",
                },
            ],
            "Default": "Alert each failed table",
        },
        f"Wait for {key}": {"Type": "Wait", "Seconds": _WAIT_SECONDS, "Next": f"Count a try of {key}"},
        f"Count a try of {key}": {
            "Type": "Pass",
            "Parameters": {
                "select.$": "$.select",
                "asked.$": "$.asked",
                **asked,
                "unit": key,
                "attempt.$": "States.MathAdd($.attempt, 1)",
            },
            "Next": f"Run {key}",
        },
        f"End {key}": {"Type": "Pass", "Parameters": carried, "Next": after},
    }


def _job(stack: Stack, unit: Unit) -> State:
    result = f"States.Format('s3://{stack.bucket_named('work')}/{{}}', {_RESULT})"
    emr = stack.deploy.compute == "emr"
    service = "emr-serverless" if emr else "glue"
    errors = ["EMRServerless.ThrottlingException", "EMRServerless.InternalServerException"] if emr else [
        "Glue.ConcurrentRunsExceededException", "Glue.ThrottlingException", "Glue.InternalServiceException"
    ]  # fmt: skip
    return {
        "Type": "Task",
        "Resource": f"arn:{stack.partition}:states:::{service}:startJobRun.sync",
        "Parameters": _emr(stack, result) if emr else _glue(stack, unit, result),
        "ResultPath": None,
        "Retry": [{"ErrorEquals": errors, **_THROTTLED}],
        "Catch": [_caught()],
        "Next": f"Read result of {unit.key}",
    }


def _emr(stack: Stack, result: str) -> State:
    bucket = f"s3://{stack.bucket_named('artifacts')}"
    artifacts = f"{bucket}/${{artifact}}"
    options = {
        "--project": f"{bucket}/${{project}}/project.zip",
        "--target": stack.target,
        "--metrics": f"{stack.name}/{stack.target}",
        "--environment": secrets_path(stack),
    }
    words = [f"'{word}'" for pair in options.items() for word in pair]
    words += ["'--result'", result, "'--select'", "States.JsonToString($.select)", "'--command'", "$.command"]
    packages = "./packages"
    conf = {
        "spark.archives": f"{artifacts}/packages.tar.gz#packages",
        "spark.emr-serverless.driverEnv.PYTHONPATH": packages,
        # Spark starts some Python workers in a folder of their session, within that of the archives.
        "spark.executorEnv.PYTHONPATH": f"{packages}:../packages",
        "spark.emr-serverless.driverEnv.AWS_DEFAULT_REGION": stack.deploy.region,
        "spark.emr-serverless.driverEnv.PYSPARK_PYTHON": "python3.11",
        "spark.executorEnv.PYSPARK_PYTHON": "python3.11",
        "spark.jars": "/usr/share/aws/iceberg/lib/iceberg-spark3-runtime.jar",
        "spark.driver.cores": str(_DRIVER_CORES),
        "spark.driver.memory": "14g",
        "spark.executor.cores": "4",
        "spark.executor.memory": "14g",
        # EMR Serverless begins with three otherwise, and refuses a job that may not have so many.
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": str(max(1, stack.deploy.vcpus // 4 - 1)),
    }
    return {
        "ApplicationId": "${application}",
        "ExecutionRoleArn": role_arn(stack, "job"),
        "Name.$": "States.Format('{}-{}', $.unit, $.attempt)",
        "ExecutionTimeoutMinutes": int(stack.deploy.timeout // 60),
        "JobDriver": {
            "SparkSubmit": {
                "EntryPoint": f"{artifacts}/submit.py",
                "EntryPointArguments.$": f"States.Array({', '.join(words)})",
                "SparkSubmitParameters": " ".join(f"--conf {name}={value}" for name, value in conf.items()),
            }
        },
        "ConfigurationOverrides": {
            "MonitoringConfiguration": {
                "CloudWatchLoggingConfiguration": {"Enabled": True, "LogGroupName": log_groups(stack)["jobs"]}
            }
        },
    }


def _glue(stack: Stack, unit: Unit, result: str) -> State:
    arguments = {
        "--result.$": result,
        "--select.$": "States.JsonToString($.select)",
        "--command.$": "$.command",
    }
    return {"JobName": stack.named(unit.key), "Arguments": arguments}


def _caught() -> State:
    return {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Alert that the job broke"}


def _each_failed(stack: Stack) -> State:
    """One message for each failed table; of a run that failed before its tables, one."""
    subject = f"{stack.name}: a table failed"[:99]
    text = "States.Format('{}: {} (run {})', $.table, $.problem, $.run)"
    return {
        "Type": "Map",
        "ItemsPath": "$.result.found.failed",
        "ItemSelector": {
            "table.$": "$$.Map.Item.Value.table",
            "problem.$": "$$.Map.Item.Value.problem",
            "run.$": "$$.Execution.Name",
        },
        "MaxConcurrency": 5,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "INLINE"},
            "StartAt": "Alert",
            "States": {
                "Alert": {
                    "Type": "Task",
                    "Resource": f"arn:{stack.partition}:states:::sns:publish",
                    "Parameters": {"TopicArn": topic_arn(stack), "Subject": subject, "Message.$": text},
                    "End": True,
                }
            },
        },
        "ResultPath": None,
        "Next": "Failed",
    }


def _broke(stack: Stack) -> State:
    return {
        "Type": "Task",
        "Resource": f"arn:{stack.partition}:states:::sns:publish",
        "Parameters": {
            "TopicArn": topic_arn(stack),
            "Subject": f"{stack.name}: a job broke"[:99],
            # The error in full: some have no cause.
            "Message.$": (
                "States.Format('{}: {} (run {})', $.unit, States.JsonToString($.error), $$.Execution.Name)"
            ),
        },
        "ResultPath": None,
        "Next": "Failed",
    }


def arrivals(stack: Stack) -> dict[str, State]:
    """Returns the pattern of EventBridge for the landing files of each bucket."""
    found = {}
    for bucket in stack.sending:
        detail: State = {"bucket": {"name": [bucket.name]}}
        if "" not in bucket.reads:
            detail["object"] = {"key": [{"prefix": prefix} for prefix in bucket.reads]}
        found[bucket.key] = {"source": ["aws.s3"], "detail-type": ["Object Created"], "detail": detail}
    return found


def dashboard(stack: Stack) -> State:
    """Returns the dashboard: runs, their time, rows, and calls that the gate failed on."""
    machine, region = machine_arn(stack), stack.deploy.region
    of_machine = ["StateMachineArn", machine]
    mine = ["project", stack.name, "target", stack.target]
    widgets = [
        ("Runs", "Sum", [["AWS/States", f"Executions{each}", *of_machine]
                         for each in ("Started", "Succeeded", "Failed", "TimedOut")]),
        ("Time of a run (ms)", "Maximum", [["AWS/States", "ExecutionTime", *of_machine]]),
        ("Rows", "Sum",
         [["Lakesmith", f"Rows{each}", *mine] for each in ("Read", "Inserted", "Quarantined")]),
        ("Calls the gate failed on", "Maximum",
         [["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", stack.named("gate-failed")]]),
    ]  # fmt: skip
    return {
        "widgets": [
            {
                "type": "metric",
                "x": 12 * (number % 2),
                "y": 6 * (number // 2),
                "width": 12,
                "height": 6,
                "properties": {
                    "title": title, "stat": stat, "period": 300, "region": region, "view": "timeSeries",
                    "metrics": metrics,
                },
            }
            for number, (title, stat, metrics) in enumerate(widgets)
        ]
    }  # fmt: skip


def as_json(document: object) -> str:
    """Returns a document as the text of its file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
