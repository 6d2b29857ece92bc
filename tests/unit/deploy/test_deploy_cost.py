"""The estimate agrees with figures that were worked out by hand from AWS's prices."""

import re
from pathlib import Path

import deployed
import pytest

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.deploy.cost import Cost, cost_of, minute_of, price
from lakesmith.deploy.render import rendered

FIVE_EXAMPLES_SCHEDULES = 'schedule: "0 */6 * * *"\n'


def cost(tmp_path: Path, files: dict[str, str], deploy: str = deployed.USUAL) -> Cost:
    """The estimate for a project."""
    return cost_of(deployed.stack(deployed.project(tmp_path, deployed.SMALL | files, deploy)))


@pytest.mark.parametrize(
    ("compute", "vcpus", "minutes", "dollars"),
    [
        # An hour: 2 DPU, 8 and 4 vCPUs with 4 GB each.
        ("glue", 8, 60, 0.88),
        ("emr", 8, 60, 0.6064),
        ("emr", 4, 60, 0.3032),
        # Hourly for 30 days, a minute each: one job, and one for each of three layers.
        ("glue", 8, 720, 10.56),
        ("glue", 8, 2160, 31.68),
        ("emr", 4, 720, 3.64),
        ("emr", 4, 2160, 10.91),
        # Twelve runs an hour of two minutes: files that arrive all the time.
        ("glue", 8, 12 * 720 * 2, 253.44),
        ("emr", 4, 12 * 720 * 2, 87.32),
        # Kept ready all month.
        ("emr", 4, 730 * 60, 221.3),
    ],
)
def test_minutes_cost_what_the_price_list_says(
    compute: str, vcpus: int, minutes: int, dollars: float
) -> None:
    assert minute_of(compute, vcpus) * minutes == pytest.approx(dollars, abs=0.04)


def test_an_idle_project_costs_less_than_a_dollar(tmp_path: Path) -> None:
    files = {"tables/silver/a.yaml": f"from: bronze.orders\n{FIVE_EXAMPLES_SCHEDULES}"}
    found = cost(tmp_path, files)
    assert found.calls == 120 + 30
    # A GB of packages in S3.
    assert found.idle == pytest.approx(0.023, abs=0.001)
    assert sum(line.dollars for line in found.lines) == pytest.approx(found.idle)


def test_a_key_of_ones_own_costs_a_dollar(tmp_path: Path) -> None:
    found = cost(tmp_path, {}, f"{deployed.USUAL}, encryption: kms")
    assert found.idle == pytest.approx(1.023, abs=0.001)
    twice = cost(tmp_path, {}, f"{deployed.USUAL}, encryption: kms, replica_region: eu-west-1")
    assert twice.idle == pytest.approx(2.023, abs=0.001)


def test_each_minute_stays_within_what_is_free(tmp_path: Path) -> None:
    found = cost(tmp_path, {"tables/silver/a.yaml": "from: bronze.orders\nschedule: {every: 1 minute}\n"})
    assert found.calls == 43_200 + 30
    # 43,200 calls x 5 s x 0.5 GB = 108,000 of 400,000 GB-seconds.
    assert found.idle == pytest.approx(0.023, abs=0.001)
    logs = (43_230 * 0.005 - 5) * 0.5
    states = (43_200 * 6 - 4000) * 0.000025
    assert found.busy == pytest.approx(43_200 * 2 * 0.0101 + states + logs, rel=0.01)


def test_sources_that_are_asked_cost_a_run_each(tmp_path: Path) -> None:
    product = "source: {postgres: {connection: DB, table: p, key: [id]}}\ncolumns: {id: bigint}\n"
    found = cost(tmp_path, {"tables/bronze/products.yaml": product}, f"{deployed.USUAL}, poll: 1 hour")
    assert found.calls == 720 + 30
    assert found.idle == pytest.approx(720 * 2 * 0.6064 / 60, rel=0.01)


def test_a_layer_each_pays_for_each_start(tmp_path: Path) -> None:
    whole, layers = (
        cost(tmp_path / unit, {}, f"{deployed.USUAL}, unit: {unit}") for unit in ("project", "layer")
    )
    assert layers.run == pytest.approx(2 * whole.run)


def test_a_gigabyte_costs_its_month(tmp_path: Path) -> None:
    found = cost(tmp_path, {}, f"{deployed.USUAL}, keep_versions: 90 days")
    assert [round(line.dollars, 4) for line in found.per_gb] == [0.023, 0.069]
    assert price("athena_tb", 0.001) == 0.005


def test_a_second_region_costs_a_month_and_the_transfer(tmp_path: Path) -> None:
    found = cost(tmp_path, {}, f"{deployed.USUAL}, replica_region: eu-west-1")
    assert {line.title: round(line.dollars, 3) for line in found.per_gb}[
        "copied to the second region"
    ] == 0.043


def test_the_assumptions_are_said(tmp_path: Path) -> None:
    text = " ".join(cost(tmp_path, {}).assumptions)
    for word in ("November 2026", "us-east-1", "not read live", "free", "2 minutes"):
        assert word in text


def test_a_table_bucket_has_prices_of_its_own(tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.SMALL, catalog=deployed.TABLE_BUCKET)
    found = {line.title: line.dollars for line in cost_of(deployed.stack(root)).per_gb}
    assert (found["in the tables"], found["that AWS compacts"]) == (0.0265, 0.005)
    assert found["of landing files"] == 0.023


FIGURES = {
    "s3_gb_month": 0.023, "s3_tables_gb_month": 0.0265, "glue_dpu_hour": 0.44, "emr_vcpu_hour": 0.0526,
    "emr_gb_hour": 0.0058, "athena_tb": 5, "kms_key_month": 1, "log_gb": 0.5, "alarm_month": 0.1,
    "dashboard_month": 3,
}  # fmt: skip
IN_THE_ESTIMATE = {
    "lambda_function": "the gate", "sqs_queue": "the queue", "scheduler_schedule": "schedules",
    "kms_key": "keys of your own", "cloudwatch_metric_alarm": "alarms, dashboard",
    "cloudwatch_dashboard": "alarms, dashboard", "emrserverless_application": "a run", "glue_job": "a run",
    "sfn_state_machine": "a run", "cloudwatch_log_group": "a run",
    "s3_bucket": "in the lake, or landing",
    "s3_bucket_replication_configuration": "copied to the second region",
    "athena_workgroup": "read by a query of Athena", "s3tables_table_bucket": "in the tables",
}  # fmt: skip
FREE = {
    "athena_named_query", "budgets_budget", "cloudwatch_event_rule", "cloudwatch_event_target",
    "glue_catalog_database", "glue_data_quality_ruleset", "iam_role", "iam_role_policy", "kms_alias",
    "lakeformation_lf_tag", "lakeformation_opt_in", "lakeformation_permissions", "lakeformation_resource",
    "lakeformation_resource_lf_tags",
    "lambda_event_source_mapping", "s3_bucket_lifecycle_configuration", "s3_bucket_notification",
    "s3_bucket_policy", "s3_bucket_public_access_block", "s3_bucket_server_side_encryption_configuration",
    "s3_bucket_versioning", "s3tables_namespace", "scheduler_schedule_group", "sns_topic", "sns_topic_policy",
    "sns_topic_subscription", "sqs_queue_policy",
}  # fmt: skip


def test_prices_are_those_that_were_collected() -> None:
    assert {name: price(name) for name in FIGURES} == FIGURES
    assert price("states_transition", 1000) == pytest.approx(0.025)
    assert price("s3_put", 1000) == pytest.approx(0.005)
    assert price("s3_get", 1000) == pytest.approx(0.0004)


def test_each_resource_is_in_the_estimate_or_free(tmp_path: Path) -> None:
    for at, (settings, catalog) in enumerate(
        ((deployed.EVERY_SETTING, deployed.PROD), (deployed.USUAL, deployed.TABLE_BUCKET))
    ):
        stack = deployed.stack(deployed.project(tmp_path / str(at), deployed.EVERYTHING, settings, catalog))
        found = cost_of(stack)
        said = {"a run", *(line.title for line in (*found.lines, *found.per_gb))}
        kinds = {kind for name, text in rendered(stack).items() if name.endswith(".tf") and "/" not in name
                 for kind in re.findall(r'^resource "aws_(\w+)"', text, re.MULTILINE)}  # fmt: skip
        for kind in kinds - FREE - ({"s3_bucket"} if at else set()):
            assert IN_THE_ESTIMATE[kind] in said, kind


def test_the_documentation_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/deploy.md").read_text()
    (shown,) = re.findall(r"\$ lakesmith deploy --target prod --cost\n(.*?)```", page, re.DOTALL)
    words = ["deploy", "--project", str(deployed.EXAMPLES / "customer-orders"), "--target", "prod", "--cost"]
    assert guarded(lambda: app(words, prog_name="lakesmith", standalone_mode=False), words) == 0
    assert shown == capsys.readouterr().out
