"""What holds data keeps its address in Terraform, and is never deleted for not being declared any more."""

import re
from collections.abc import Iterable
from pathlib import Path

import deployed
import pytest

from lakesmith.api.access import Access
from lakesmith.api.deploying.work import check_deployment, deploy
from lakesmith.deploy.plan_guard import HOLDS_DATA
from lakesmith.deploy.render import holding_data, rendered
from lakesmith.errors import UsageError

LANDING = "source: {files: {path: s3://%s/in/, format: csv}}\ncolumns: {id: bigint}\n"


def addresses(root: Path) -> dict[str, str]:
    """The names of buckets by their addresses."""
    text = rendered(deployed.stack(root))["storage.tf"]
    return dict(re.findall(r'resource "aws_s3_bucket" "(\w+)" \{\n  bucket += "([^"]+)"', text))


def removed(root: Path) -> list[str]:
    """What Terraform forgets."""
    deploy(Access(root, "prod"))
    assert not check_deployment(Access(root, "prod"), None).is_stale
    file = root / "deploy/prod/removed.tf"
    return re.findall(r"from = (\S+)", file.read_text()) if file.exists() else []


@pytest.mark.parametrize("more", [("a",), ("z", "a-0"), ("shop-a-123456789012-eu-central-1", "3d")])
def test_one_more_bucket_leaves_the_others_at_their_addresses(tmp_path: Path, more: Iterable[str]) -> None:
    root = deployed.project(tmp_path, deployed.SMALL)
    before = addresses(root)
    assert before["landing"] == "shop-landing"
    for at, bucket in enumerate(more):
        deployed.project(root, {f"tables/bronze/t{at}.yaml": LANDING % f"{bucket}-bucket"})
    after = addresses(root)
    assert before.items() < after.items()
    assert len(after) == len({*after.values()}) == len(before) + len([*more])


def test_a_database_without_tables_is_forgotten_and_not_deleted(tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.SMALL)
    assert removed(root) == []
    gold = root / "tables/gold/cities.sql"
    (root / "tables/silver").mkdir()
    gold.rename(root / "tables/silver/cities.sql")
    assert removed(root) == ["aws_glue_catalog_database.gold"]
    assert "destroy = false" in (root / "deploy/prod/removed.tf").read_text()
    assert removed(root) == ["aws_glue_catalog_database.gold"]
    (root / "tables/silver/cities.sql").rename(gold)
    assert removed(root) == ["aws_glue_catalog_database.silver"]


def test_a_manifest_that_a_merge_broke_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.SMALL)
    removed(root)
    manifest = root / "deploy/prod/lakesmith.json"
    whole = manifest.read_text()
    manifest.write_text(f"<<<<<<< HEAD\n{whole}")
    (root / "tables/gold/cities.sql").unlink()
    with pytest.raises(UsageError, match=r"LS281 .*manifest"):
        removed(root)
    manifest.write_text(whole)
    assert removed(root) == ["aws_glue_catalog_database.gold"]


def test_a_bucket_goes_with_what_protects_it(tmp_path: Path) -> None:
    settings = f"{deployed.USUAL}, encryption: kms, replica_region: eu-west-1"
    root = deployed.project(tmp_path, deployed.SMALL, settings)
    removed(root)
    deployed.project(root, {"tables/bronze/orders.yaml": LANDING % "shop-lake"}, settings)
    found = removed(root)
    assert {
        "aws_s3_bucket.landing", "aws_s3_bucket_versioning.landing", "aws_s3_bucket_policy.landing",
        "aws_s3_bucket_public_access_block.landing", "aws_s3_bucket.landing_replica",
        "aws_s3_bucket_notification.landing", "aws_s3_bucket_replication_configuration.landing",
    } <= {*found}  # fmt: skip
    assert "aws_s3_bucket_replication_configuration.lake" not in found
    assert "aws_kms_key.lake" not in found
    deployed.project(root, {}, f"{deployed.USUAL}, replica_region: eu-west-1")
    assert "aws_kms_key.lake" in removed(root)
    deployed.project(root, {})
    # What copies a bucket that stays is taken away: its role is.
    assert "aws_s3_bucket_replication_configuration.lake" not in removed(root)
    assert 'region              = "eu-west-1"' in (root / "deploy/prod/removed.tf").read_text()


def test_development_forgets_nothing_and_removes_it(tmp_path: Path) -> None:
    root = deployed.project(tmp_path, deployed.SMALL, f"{deployed.USUAL}, mode: development")
    removed(root)
    (root / "tables/gold/cities.sql").unlink()
    assert removed(root) == []
    deployed.project(root, {})
    assert removed(root) == ["aws_glue_catalog_database.gold"]


def test_the_guard_of_plans_and_the_memory_mean_the_same_resources(tmp_path: Path) -> None:
    settings = f"{deployed.USUAL}, encryption: kms"
    stacks = [
        deployed.stack(deployed.project(tmp_path / str(at), deployed.SMALL, settings, catalog))
        for at, catalog in enumerate((deployed.PROD, deployed.TABLE_BUCKET))
    ]
    found = {each.partition(".")[0] for stack in stacks for each in holding_data(stack, rendered(stack))}
    assert {*HOLDS_DATA} <= found
