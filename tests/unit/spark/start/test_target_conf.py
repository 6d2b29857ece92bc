"""How Spark's readers of landing files are told to reach S3."""

import pytest

from lakesmith.project.definitions import ObjectStore
from lakesmith.spark.start.target_conf import objects_conf

PROVIDER = "spark.hadoop.fs.s3a.aws.credentials.provider"


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)


def test_credentials_are_found_as_the_listing_finds_them() -> None:
    found = objects_conf(ObjectStore())
    # Hadoop by itself knows no profiles: a listing worked, and Spark then had no credentials.
    assert found[PROVIDER].endswith(".DefaultCredentialsProvider")
    assert set(found) == {PROVIDER, "spark.hadoop.fs.s3.impl"}


def test_credentials_of_the_target_are_used_and_no_others() -> None:
    found = objects_conf(ObjectStore("http://127.0.0.1:9000", "eu-north-1", "id", "secret", "token"))
    assert PROVIDER not in found
    assert found["spark.hadoop.fs.s3a.access.key"] == "id"
    assert found["spark.hadoop.fs.s3a.path.style.access"] == "true"
