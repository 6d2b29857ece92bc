"""An erasure reaches the old versions of objects and the replicas of buckets."""

import gzip
import json
from typing import Any

import places
import pytest
from botocore.client import BaseClient
from harness import fail
from shared_project import Make, SharedProject
from small_shop import NEWEST, ORDERS, Order, csv

import s3_server
from alerts_server import hook_server
from buckets import holding, keep_versions, make_replica, replicate, versions
from lakesmith.execute import faults
from lakesmith.sources.objects import bucket_and_key

ADA = "Ada Lovelace-Byron"
FIRST = (Order(1, ADA, 5, 1), Order(2, "Bo", 7, 1))
SECOND = (Order(3, ADA, 8, 2), Order(4, "Cy", 13, 1))
BAD = f"7,{ADA},many,1\n8,Bo,many,1\n"
WHERE = ("--where", f"customer = '{ADA}'", "--yes", "--json")
REWRITING = {
    **(ORDERS | NEWEST),
    "tables/bronze/orders.yaml": (ORDERS | NEWEST)["tables/bronze/orders.yaml"].replace(
        "on_changed_file: replace", "on_erase: rewrite"
    ),
}


@pytest.fixture(params=[places.GLUE])
def place(known_s3: s3_server.Server) -> places.Place:
    place = places.in_glue(known_s3)
    keep_versions(known_s3.client(), bucket_of(place))
    return place


def bucket_of(place: places.Place) -> str:
    return bucket_and_key(place.landing)[0]


@pytest.fixture
def s3_client(known_s3: s3_server.Server) -> Any:
    return known_s3.client()


def lived(make: Make, client: Any, place: places.Place) -> tuple[SharedProject, str, str]:
    """A project whose bucket is copied, with a file that came and went, and one that was replaced."""
    bucket = bucket_of(place)
    replica = make_replica(client, bucket)
    shop = make(REWRITING)
    shop.take("orders/0.csv", csv(*FIRST) + BAD)
    shop.land("orders/gone.csv", csv(*FIRST))
    shop.land("orders/others.csv", csv(Order(9, "Di", 1, 1)))
    replicate(client, bucket, replica)
    shop.unland("orders/gone.csv")
    shop.land("orders/others.csv", csv(Order(9, "Di", 2, 1)))
    shop.land("orders/old.csv.gz", gzip.compress(csv(*FIRST).encode()))
    shop.unland("orders/old.csv.gz")
    shop.take("orders/1.csv", csv(*SECOND))
    replicate(client, bucket, replica)
    return shop, bucket, replica


@pytest.mark.release
def test_no_version_of_any_object_has_them(make: Make, s3_client: Any, place: places.Place) -> None:
    shop, bucket, replica = lived(make, s3_client, place)
    assert len(holding(s3_client, bucket, ADA)) > 5
    assert len(holding(s3_client, replica, ADA)) > 5
    others = [each for each in versions(s3_client, bucket) if each[0].endswith("others.csv")]
    said = shop.must("erase", "bronze.orders", *WHERE).data
    assert said["done"], said
    assert said["old_versions"]["buckets"] == sorted([bucket, replica])
    assert said["old_versions"]["deleted"] > 10
    assert holding(s3_client, bucket, ADA) == []
    assert holding(s3_client, replica, ADA) == []
    assert len(others) == 2
    assert set(others) <= set(versions(s3_client, bucket)), "what is not theirs can still be restored"
    replicate(s3_client, bucket, replica)
    shop.must("verify")
    assert shop.must_run().published == {}


@pytest.mark.release
def test_an_erasure_that_was_stopped_among_versions_continues(
    make: Make, s3_client: Any, place: places.Place
) -> None:
    shop, bucket, replica = lived(make, s3_client, place)
    faults.arrange("erase-versions", fail, "")
    assert shop.call("erase", "bronze.orders", *WHERE).code == 1
    faults.clear()
    assert holding(s3_client, replica, ADA) != []
    assert "begun and not ended" in shop.must("status").out
    assert shop.must("erase", "bronze.orders", *WHERE).data["done"]
    assert holding(s3_client, bucket, ADA) + holding(s3_client, replica, ADA) == []
    assert "begun and not ended" not in shop.must("status").out


@pytest.mark.release
def test_the_receipt_and_an_alert_say_until_when_versions_last(
    make: Make, s3_client: Any, place: places.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, bucket, replica = lived(make, s3_client, place)
    project = json.loads((shop.root / "lakesmith.yaml").read_text())
    shop.write({"lakesmith.yaml": json.dumps({**project, "alerts": {"channels": {"hook": "HOOK_URL"}}})})
    expiry = {
        "ID": "old-versions",
        "Status": "Enabled",
        "Filter": {},
        "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
    }
    s3_client.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [expiry]})
    asked = BaseClient._make_api_call  # type: ignore[attr-defined]

    def refused(client: Any, operation: str, given: dict[str, Any]) -> Any:
        objects = given.get("Delete", {}).get("Objects", [])
        if operation == "DeleteObjects" and any("VersionId" in each for each in objects):
            return {"Errors": [{"Key": each["Key"], "Code": "AccessDenied"} for each in objects]}
        return asked(client, operation, given)

    with hook_server() as hook:
        monkeypatch.setenv("HOOK_URL", hook.url)
        with monkeypatch.context() as without_rights:
            without_rights.setattr(BaseClient, "_make_api_call", refused)
            said = shop.call("erase", "bronze.orders", *WHERE)
        assert said.code == 1
        assert len(hook.calls) == 1
        assert "NOT ERASED" in hook.calls[0]["message"]
        assert "they last until 20" in hook.calls[0]["message"]
        assert shop.must("erase", "bronze.orders", *WHERE).data["done"]
        assert len(hook.calls) == 2, "it is over"
    assert ADA not in str(hook.calls)
    assert holding(s3_client, bucket, ADA) + holding(s3_client, replica, ADA) == []
    left = [line for line in said.data["proof"]["left"] if "old versions" in line]
    assert any("they last until 20" in line and "at the latest" in line for line in left), left
    assert any("-replica/" in line and "no lifecycle ends them" in line for line in left), left
    assert said.data["done"] is False
    assert ADA not in str(said.data)


@pytest.mark.release
def test_a_replica_that_the_deployment_declares(make: Make, s3_client: Any, place: places.Place) -> None:
    shop, bucket, replica = lived(make, s3_client, place)
    s3_client.delete_bucket_replication(Bucket=bucket)
    deploy = {"account": "123456789012", "region": "us-east-1", "replica_region": "eu-west-1"}
    shop.write({"lakesmith.yaml": places.project_file(shop.root.name, place, {"deploy": deploy})})
    assert shop.must("erase", "bronze.orders", *WHERE).data["done"]
    assert holding(s3_client, bucket, ADA) + holding(s3_client, replica, ADA) == []
