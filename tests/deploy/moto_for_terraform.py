"""Runs moto as AWS for Terraform until its input ends. Arguments: PORT PORT_FILE [JOBS_FILE].

The provider asks for some things that moto does not have, or gets answers that differ from what it declared.
Each function below is one of them; AWS's API reference says what the answer is.

With JOBS_FILE, state machines run. It has how the next jobs of EMR Serverless end, as a JSON list of reports,
null for a job that breaks without one, the seconds that one takes, or {"run": command} for a real process,
which gets a file with what it was started with and its id. What each was started with is appended to a file
beside it.
"""

import json
import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import moto.athena.responses as athena
import moto.budgets.responses as budgets
import moto.emrserverless.models as emr_models
import moto.emrserverless.responses as emr
import moto.glue.responses as glue
import moto.lakeformation.models as formation_models
import moto.lakeformation.responses as formation
import moto.lakeformation.urls as formation_urls
import moto.s3.models as s3_models
import moto.s3.responses as s3
import moto.sqs.models as sqs
import moto.stepfunctions.responses as states
from botocore.credentials import Credentials
from moto.core.config import default_user_config
from moto.core.responses import ActionResult, EmptyResult
from moto.glue.exceptions import EntityNotFoundException
from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.iam.models import iam_backends
from moto.lakeformation.exceptions import InvalidInput
from moto.moto_server import threaded_moto_server
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

sys.path.append(str(Path(__file__).parents[1]))

from enforced_policies import Enforcing

from lakesmith.whole_file import write_whole
from moto_server_with_glue_versions import update_table


def validate_definition(call: Any) -> ActionResult:
    """Step Functions: ``ValidateStateMachineDefinition``."""
    try:
        AmazonStateLanguageParser.parse(call._get_param("definition"))
        found = []
    except Exception as error:  # noqa: BLE001 - the parser raises many
        found = [{"severity": "ERROR", "code": "SCHEMA_VALIDATION_FAILED", "message": str(error)[:500]}]
    return ActionResult({"result": "FAIL" if found else "OK", "diagnostics": found})


def patch_states() -> None:
    """Step Functions: what the provider asks at creation and at reading."""
    states.StepFunctionResponse.validate_state_machine_definition = validate_definition
    none = lambda call: ActionResult({"stateMachineVersions": []})  # noqa: E731
    states.StepFunctionResponse.list_state_machine_versions = none


def run_process(command: list[str], jobs: Path, parameters: Any, env: Any) -> tuple[str, int]:
    """Runs a job to its end, or until its execution is stopped. Returns its id and its exit code."""
    name = uuid.uuid4().hex[:12]
    file = jobs.with_name(f"{name}.json")
    file.write_text(json.dumps(parameters, default=str))
    process = subprocess.Popen([*command, str(file), name])
    while process.poll() is None:
        if not env.is_running():
            process.terminate()
        time.sleep(0.1)
    return name, process.returncode


def run_machines(jobs: Path) -> None:
    """Step Functions: executions run, and a job ends as the file says."""
    import boto3
    from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
    from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
        FailureEvent,
        FailureEventException,
    )
    from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
    from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import (
        StatesErrorNameType,
    )
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
        state_task_service_aws_sdk as sdk,
    )
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
        state_task_service_sns as sns,
    )
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
        state_task_service_unsupported as other,
    )
    from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

    default_user_config["stepfunctions"]["execute_state_machine"] = True
    kind = StatesErrorNameType.StatesTaskFailed
    other._SUPPORTED_INTEGRATION_PATTERNS.add(other.ResourceCondition.Sync)

    def start_and_wait(_task: Any, env: Any, **given: Any) -> None:
        parameters, region = given["normalised_parameters"], given["resource_runtime_part"].region
        report, *rest = json.loads(jobs.read_text())
        jobs.write_text(json.dumps(rest))
        with jobs.with_suffix(".started").open("a") as started:
            started.write(json.dumps(parameters, default=str) + "\n")
        if isinstance(report, int):
            time.sleep(report)
        cause = "Job failed, see its logs"
        if isinstance(report, dict) and "run" in report:
            name, code = run_process(report["run"], jobs, parameters, env)
            if code == 0:
                env.stack.append({"applicationId": parameters["ApplicationId"], "jobRunId": name})
                return
            cause, report = json.dumps({"jobRunId": name, "stateDetails": cause}), None
        if report is None:
            details = TaskFailedEventDetails(error=kind.to_name(), cause=cause)
            event = EventDetails(taskFailedEventDetails=details)
            name = StatesErrorName(typ=kind)
            raise FailureEventException(FailureEvent(env, name, HistoryEventType.TaskFailed, event))
        words = parameters["JobDriver"]["SparkSubmit"]["EntryPointArguments"]
        bucket, _, key = words[words.index("--result") + 1].removeprefix("s3://").partition("/")
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        s3_here = boto3.client(
            "s3", endpoint_url=f"http://localhost:{os.environ['MOTO_PORT']}", region_name=region, **keys
        )
        s3_here.put_object(Bucket=bucket, Key=key, Body=json.dumps(report).encode())
        env.stack.append({"applicationId": parameters["ApplicationId"], "jobRunId": "1"})

    # A task of the SDK gives the body of an object as text.
    call = sdk.StateTaskServiceAwsSdk._eval_service_task

    def call_sdk(task: Any, env: Any, **given: Any) -> None:
        call(task, env, **given)
        found = env.stack[-1]
        if hasattr(found.get("Body"), "read"):
            found["Body"] = found["Body"].read().decode()

    # A machine works with its role, if there is one of that name.
    plain = sdk.boto_client_for

    def as_role(region: str, service: str, state_credentials: Any = None) -> Any:
        client, name = plain(region, service), state_credentials.role_arn.rpartition("/")[2]
        if name not in {each.name for each in iam_backends["123456789012"]["aws"].roles.values()}:
            return client
        keys = plain(region, "sts").assume_role(RoleArn=state_credentials.role_arn, RoleSessionName="states")
        given = keys["Credentials"]
        words = (given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
        named = dict(zip(("access_key", "secret_key", "token"), words, strict=True))
        client._request_signer._credentials = Credentials(**named)
        return client

    sdk.boto_client_for = sns.boto_client_for = as_role
    sdk.StateTaskServiceAwsSdk._eval_service_task = call_sdk
    other.StateTaskServiceUnsupported._eval_service_task = start_and_wait
    other.StateTaskServiceUnsupported._eval_integration_pattern = lambda *_given, **_named: None


def patch_emr() -> None:
    """EMR Serverless: labels of Spark, an application that is created at once, its architecture."""
    emr_models.APPLICATION_STATUS = "CREATED"
    real = emr_models.re

    class Labels:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def match(self, pattern: str, value: str, *more: Any) -> Any:
            return (
                value.startswith("emr-") if pattern.startswith("emr-") else real.match(pattern, value, *more)
            )

    emr_models.re = Labels()
    get = emr.EMRServerlessResponse.get_application

    def get_application(call: Any) -> Any:
        found = call.emrserverless_backend.get_application(application_id=call._get_param("applicationId"))
        found.architecture = "X86_64"
        return get(call)

    emr.EMRServerlessResponse.get_application = get_application


def patch_s3() -> None:
    """S3: notifications to EventBridge are read back; a policy that demands TLS lets loopback in; the last
    version of an object that is deleted may be a mark of its deletion."""
    s3_models.FakeDeleteMarker.dispose = lambda marker: None
    get = s3.S3Response.get_bucket_notification

    def get_bucket_notification(call: Any) -> Any:
        found = get(call)
        configured = call.backend.get_bucket_notification_configuration(call.bucket_name)
        if configured is None or getattr(configured, "event_bridge", None) is None:
            return found
        status, headers, body = found
        text = body.decode() if isinstance(body, bytes) else body
        text = re.sub(r"(<NotificationConfiguration[^>]*?)/>", r"\1></NotificationConfiguration>", text)
        mark = "</NotificationConfiguration>"
        return status, headers, text.replace(mark, f"<EventBridgeConfiguration/>{mark}")

    s3.S3Response.get_bucket_notification = get_bucket_notification
    allowed = s3_models.FakeBucket.get_permission

    def get_permission(bucket: Any, action: str, resource: str) -> Any:
        if not bucket.policy:
            return allowed(bucket, action, resource)
        policy = json.loads(bucket.policy)
        rest = [each for each in policy["Statement"] if "SecureTransport" not in json.dumps(each)]
        if not rest:
            return PermissionResult.NEUTRAL
        return IAMPolicy(json.dumps({**policy, "Statement": rest})).is_action_permitted(action, resource)

    s3_models.FakeBucket.get_permission = get_permission


def patch_sqs() -> None:
    """SQS: a redrive policy without blanks, as AWS writes it."""
    attributes = sqs.Queue.attributes

    def compact(queue: Any) -> Any:
        found = attributes.fget(queue)
        if found.get("RedrivePolicy"):
            found["RedrivePolicy"] = json.dumps(json.loads(found["RedrivePolicy"]), separators=(",", ":"))
        return found

    sqs.Queue.attributes = property(compact)


def patch_glue() -> None:
    """Glue: rulesets of Data Quality."""
    rulesets: dict[str, dict[str, Any]] = {}

    def create(call: Any) -> ActionResult:
        given = call.parameters
        now = {"CreatedOn": time.time(), "LastModifiedOn": time.time()}
        rulesets[given["Name"]] = {**{key: given[key] for key in ("Name", "Ruleset", "Description")}, **now}
        arn = f"arn:aws:glue:{call.region}:{call.current_account}:dataQualityRuleset/{given['Name']}"
        call.glue_backend.tag_resource(arn, given.get("Tags") or {})
        return ActionResult({"Name": given["Name"]})

    def get(call: Any) -> ActionResult:
        if call.parameters["Name"] not in rulesets:
            raise EntityNotFoundException("no such ruleset")
        return ActionResult(rulesets[call.parameters["Name"]])

    def update(call: Any) -> ActionResult:
        rulesets[call.parameters["Name"]] |= {"Ruleset": call.parameters["Ruleset"]}
        return ActionResult({"Name": call.parameters["Name"]})

    def delete(call: Any) -> EmptyResult:
        rulesets.pop(call.parameters["Name"], None)
        return EmptyResult()

    glue.GlueResponse.create_data_quality_ruleset = create
    glue.GlueResponse.get_data_quality_ruleset = get
    glue.GlueResponse.update_data_quality_ruleset = update
    glue.GlueResponse.delete_data_quality_ruleset = delete


def patch_budgets() -> None:
    """Budgets: subscribers of a notification, and tags."""
    tags: dict[str, Any] = {}
    create = budgets.BudgetsResponse.create_budget

    def create_budget(call: Any) -> Any:
        tags[call._get_param("Budget")["BudgetName"]] = call._get_param("ResourceTags") or []
        return create(call)

    def subscribers(call: Any) -> str:
        budget = call.backend.budgets[call._get_param("AccountId")][call._get_param("BudgetName")]
        asked = call._get_param("Notification")
        same = (
            each.subscribers
            for each in budget.notifications
            if each.details["NotificationType"] == asked["NotificationType"]
            and float(each.details["Threshold"]) == float(asked["Threshold"])
        )
        return json.dumps({"Subscribers": next(same, [])})

    def list_tags(call: Any) -> str:
        return json.dumps({"ResourceTags": tags.get(call._get_param("ResourceARN").split("/")[-1], [])})

    budgets.BudgetsResponse.create_budget = create_budget
    budgets.BudgetsResponse.describe_subscribers_for_notification = subscribers
    budgets.BudgetsResponse.list_tags_for_resource = list_tags


def patch_athena() -> None:
    """Athena: ``DeleteNamedQuery``."""

    def delete(call: Any) -> str:
        call.athena_backend.named_queries.pop(call._get_param("NamedQueryId"), None)
        return "{}"

    athena.AthenaResponse.delete_named_query = delete


def unordered(found: Any) -> Any:
    """A value of JSON whose lists have no order, and without the catalog, which is the account's."""
    if isinstance(found, dict):
        return {key: unordered(value) for key, value in found.items() if key != "CatalogId"}
    return sorted(map(unordered, found), key=repr) if isinstance(found, list) else found


def patch_lake_formation() -> None:
    """Lake Formation: places in hybrid mode, grants by tags, and principals that opt in."""
    opted: list[dict[str, Any]] = []
    response = formation.LakeFormationResponse
    lists, revokes = response.list_permissions, response.revoke_permissions

    def list_permissions(call: Any) -> Any:
        policy = (call._get_param("Resource") or {}).get("LFTagPolicy")
        if policy is None:
            return lists(call)
        every = call.lakeformation_backend.list_permissions(
            call.current_account, call._get_param("Principal")
        )
        kinds = ((each["Resource"].get("LFTagPolicy", {}).get("ResourceType"), each) for each in every)
        found = [each for kind, each in kinds if kind == policy["ResourceType"]]
        return json.dumps({"PrincipalResourcePermissions": found})

    def revoke_permissions(call: Any) -> Any:
        every = call.lakeformation_backend.list_permissions
        before = every(call.current_account)
        said = revokes(call)
        if every(call.current_account) == before:
            # The provider asks until it is told so.
            raise InvalidInput("No permissions revoked. Grantee does not have them")
        return said

    def given(call: Any) -> dict[str, Any]:
        return {name: call._get_param(name) for name in ("Principal", "Resource") if call._get_param(name)}

    def opt_in(call: Any) -> str:
        opted.append({**given(call), "LastModified": time.time(), "LastUpdatedBy": "tests"})
        return "{}"

    def opt_out(call: Any) -> str:
        opted[:] = [each for each in opted if not given(call).items() <= each.items()]
        return "{}"

    def list_opted(call: Any) -> str:
        found = [each for each in opted if given(call).items() <= each.items()]
        return json.dumps({"LakeFormationOptInsInfoList": found})

    response.list_permissions, response.revoke_permissions = list_permissions, revoke_permissions
    response.create_lake_formation_opt_in = opt_in
    response.delete_lake_formation_opt_in = opt_out
    response.list_lake_formation_opt_ins = list_opted
    for action in ("CreateLakeFormationOptIn", "DeleteLakeFormationOptIn", "ListLakeFormationOptIns"):
        formation_urls.url_paths[f"{{0}}/{action}$"] = formation_urls.response.dispatch
    formation_models.Permission.equal_principal_and_resouce = lambda one, other: (
        one.principal == other.principal and unordered(one.resource) == unordered(other.resource)
    )
    plain = formation_models.Resource.to_dict
    formation_models.Resource.to_dict = lambda each: {**plain(each), "HybridAccessEnabled": True}


def main(port: int, port_file: Path, jobs: Path | None = None) -> None:
    """Serves on a port of loopback, which it writes to a file when it answers."""
    patches = (patch_states, patch_emr, patch_s3, patch_sqs, patch_glue, patch_budgets, patch_athena)
    for patch in (*patches, patch_lake_formation):
        patch()
    if jobs is not None:
        run_machines(jobs)
    default_user_config["lambda"]["use_docker"] = False
    glue.GlueResponse.update_table = update_table
    asked = port_file.with_name("asked")
    enforcing: Any = lambda create_app: Enforcing(create_app, asked)  # noqa: E731
    threaded_moto_server.DomainDispatcherApplication = enforcing
    # State machines call other services at this port.
    os.environ["MOTO_PORT"] = str(port)
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    write_whole(port_file, str(port))
    sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(Path, sys.argv[2:]))
