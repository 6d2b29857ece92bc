"""``lakesmith deploy``: what it writes, what it refuses to overwrite, what it finds in Terraform's plans."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deployed
import pytest

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.deploy.plan_guard import HOLDS_DATA, losses_in

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small project."""
    return deployed.project(tmp_path, deployed.SMALL)


@pytest.fixture
def deploy(shop: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the command: its exit code, what it printed, and its errors."""

    def call(*options: object) -> tuple[int, str, str]:
        words = ["deploy", "--project", str(shop), "--target", "prod", *map(str, options)]
        capsys.readouterr()
        code = guarded(lambda: app(words, prog_name="lakesmith", standalone_mode=False), words)
        return (code, *capsys.readouterr())

    return call


def test_a_second_deploy_changes_nothing(shop: Path, deploy: Call) -> None:
    code, out, _ = deploy()
    assert code == 0
    assert "wrote: storage.tf" in out
    before = {path: path.stat().st_mtime_ns for path in (shop / "deploy").rglob("*.tf")}
    code, out, _ = deploy()
    assert (code, out.strip().endswith("all as they should be")) == (0, True)
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert deploy("--check")[0] == 0


def test_check_says_what_is_stale_and_writes_nothing(shop: Path, deploy: Call) -> None:
    assert deploy("--check")[0] == 1
    assert not (shop / "deploy").exists()
    deploy()
    table = shop / "tables/gold/cities.yaml"
    table.write_text('schedule: "0 6 * * *"\nrules: |\n  Rules = [ IsComplete "city" ]\n')
    code, out, _ = deploy("--check")
    assert code == 1
    assert "missing: quality.tf" in out
    assert "missing: quality/gold__cities.dqdl" in out
    assert not (shop / "deploy/prod/quality.tf").exists()
    deploy()
    table.unlink()
    assert "not needed: quality.tf" in deploy("--check")[1]
    deploy()
    assert not (shop / "deploy/prod/quality.tf").exists()


def test_edited_files_are_refused_and_named_and_nothing_is_written(shop: Path, deploy: Call) -> None:
    deploy()
    folder = shop / "deploy/prod"
    (folder / "storage.tf").write_text("# mine\n")
    (folder / "policies/job.json").write_text("{}")
    (folder / "iam.tf").unlink()
    code, out, err = deploy()
    assert (code, out) == (2, "")
    assert "LS281 deploy/prod/storage.tf" in err
    assert "LS281 deploy/prod/policies/job.json" in err
    assert (folder / "storage.tf").read_text() == "# mine\n"
    assert not (folder / "iam.tf").exists()
    code, out, _ = deploy("--check")
    assert (code, "edited: storage.tf" in out) == (1, True)
    (folder / "storage.tf").unlink()
    (folder / "policies/job.json").unlink()
    assert deploy()[0] == 0
    assert deploy("--check")[0] == 0


def test_files_of_a_person_are_never_touched(shop: Path, deploy: Call) -> None:
    folder = shop / "deploy/prod"
    folder.mkdir(parents=True)
    (folder / "storage_override.tf").write_text("# mine\n")
    (folder / "vpc.tf").write_text("# mine, too\n")
    assert deploy()[0] == deploy()[0] == 0
    assert (folder / "storage_override.tf").read_text() == "# mine\n"
    assert (folder / "vpc.tf").read_text() == "# mine, too\n"


def test_a_file_that_was_there_before_is_not_overwritten(shop: Path, deploy: Call) -> None:
    (shop / "deploy/prod").mkdir(parents=True)
    (shop / "deploy/prod/storage.tf").write_text("# another stack\n")
    assert deploy()[0] == 2
    assert [path.name for path in (shop / "deploy/prod").iterdir()] == ["storage.tf"]


def plan(*changes: tuple[str, str, list[str]]) -> dict[str, Any]:
    """A plan as ``terraform show -json`` prints it."""
    return {
        "format_version": "1.2",
        "resource_changes": [
            {"address": f"{kind}.{name}", "mode": "managed", "type": kind, "change": {"actions": actions}}
            for kind, name, actions in changes
        ],
    }


def test_a_plan_that_loses_data_is_refused(tmp_path: Path, deploy: Call) -> None:
    deploy()
    file = tmp_path / "plan.json"
    file.write_text(
        json.dumps(
            plan(
                ("aws_s3_bucket", "lake", ["delete", "create"]),
                ("aws_glue_catalog_database", "bronze", ["delete"]),
                ("aws_iam_role", "old", ["delete"]),
                ("aws_s3_bucket", "landing", ["update"]),
                ("aws_kms_key", "lake", ["no-op"]),
            )
        )
    )
    code, _, err = deploy("--check", "--plan", file)
    assert code == 2
    assert "bucket aws_s3_bucket.lake would be replaced" in err
    assert "database aws_glue_catalog_database.bronze would be deleted" in err
    assert err.count("LS282") == 2


@pytest.mark.parametrize("actions", [["delete"], ["delete", "create"], ["create", "delete"]])
@pytest.mark.parametrize(("kind", "word"), HOLDS_DATA.items())
def test_no_resource_that_holds_data_is_deleted_or_replaced(
    tmp_path: Path, kind: str, word: str, actions: list[str]
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan((kind, "lake", actions), (kind, "kept", ["forget"]))))
    (loss,) = losses_in(file)
    end = "replaced" if "create" in actions else "deleted"
    assert str(loss) == f"{word} {kind}.lake would be {end}"


def test_a_plan_that_loses_nothing_is_fine(tmp_path: Path, deploy: Call) -> None:
    deploy()
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan(("aws_s3_bucket", "lake", ["create"]))))
    assert deploy("--plan", file)[0] == 0


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format_version": "1.0", "values": {}}', "PK\x03\x04"])
def test_another_file_is_no_plan(tmp_path: Path, deploy: Call, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    code, _, err = deploy("--check", "--plan", tmp_path / "plan.json")
    assert (code, "LS283" in err) == (2, True)


def test_in_development_a_loss_is_said(shop: Path, tmp_path: Path, deploy: Call) -> None:
    deployed.project(shop, {}, f"{deployed.USUAL}, mode: development")
    deploy()
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan(("aws_s3_bucket", "lake", ["delete"]))))
    code, out, _ = deploy("--check", "--plan", file)
    assert (code, "aws_s3_bucket.lake would be deleted" in out) == (0, True)


def test_the_state_of_alerts_can_be_written_by_jobs(shop: Path, deploy: Call) -> None:
    header = shop / "lakesmith.yaml"
    alerts = "alerts:\n  channels: {team: TEAM_URL}\n"
    header.write_text(header.read_text() + alerts)
    assert "note: alerts have no state in S3" in deploy()[1]
    header.write_text(header.read_text() + "  state: s3://shop-lake/alerts/\n")
    assert "note: " not in deploy()[1]
    assert "arn:aws:s3:::shop-lake/alerts/*" in (shop / "deploy/prod/policies/job.json").read_text()


def test_a_target_without_deploy_settings_says_what_to_declare(shop: Path, deploy: Call) -> None:
    (shop / "lakesmith.yaml").write_text("name: shop\ntargets: {prod: {}}\n")
    code, _, err = deploy()
    assert (code, "LS140 lakesmith.yaml:2" in err) == (2, True)
