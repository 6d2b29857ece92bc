"""``doctor --target``: what a run on AWS would meet is told before anything runs, with the way out of it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from shop import Cli

from lakesmith.api import doctor as checks_module
from lakesmith.catalog.lease import Waiting, held
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.execute.opened import read_project
from lakesmith.sources import objects
from s3_server import Server

SHOP = {
    "lakesmith.yaml": """\
name: shop
targets:
  aws:
    catalog: {type: glue, warehouse: "s3://${LAKE_BUCKET}/lake"}
    vars: {landing: "s3://${LAKE_BUCKET}/in"}
""",
    "tables/bronze/orders.yaml": 'source: {files: {path: "${vars.landing}/orders/", format: csv}}\n'
    "columns: {id: bigint}\n",
}
Found = dict[str, dict[str, str]]


@pytest.fixture
def doctor(
    cli: Cli, s3: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], tuple[int, Found]]:
    """The doctor for a project with an empty lake on AWS, as played here."""
    for path, text in SHOP.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    bucket = s3.make_bucket().removeprefix("s3://")
    for name, value in {**s3.environ, "AWS_ENDPOINT_URL": s3.endpoint, "LAKE_BUCKET": bucket}.items():
        monkeypatch.setenv(name, value)

    def call() -> tuple[int, Found]:
        # A process has one environment all its life, and keeps its clients; this one has several.
        objects._client.cache_clear()
        said = cli("doctor", "--project", tmp_path, "--json")
        return said.code, {check["name"]: check for check in said.data["checks"]}

    return call


def test_a_target_that_is_well(doctor: Callable[[], tuple[int, Found]], s3: Server) -> None:
    code, found = doctor()

    names = ("catalog", "aws credentials", "warehouse", "clock", "lease", "bronze.orders files")
    assert [(name, found[name]["verdict"]) for name in names] == [(name, "ok") for name in names]
    assert code == 0
    assert found["warehouse"]["text"].endswith("can be listed, written and deleted")
    buckets = s3.client().list_buckets()["Buckets"]
    left = [s3.client().list_objects_v2(Bucket=bucket["Name"])["KeyCount"] for bucket in buckets[-1:]]
    assert left == [0], "what was put there to try it is taken away again"


@pytest.mark.parametrize(
    ("changed", "check", "said"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "", "AWS_ACCESS_KEY_ID": ""}, "aws credentials", "there are none"),
        ({"LAKE_BUCKET": "no-such-bucket-here"}, "warehouse", "NoSuchBucket"),
        ({"LAKE_BUCKET": "no-such-bucket-here"}, "bronze.orders files", "LS401"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "catalog", "LS325"),
        ({"AWS_REGION": "", "AWS_DEFAULT_REGION": ""}, "catalog", "LS325"),
    ],
)
def test_what_is_wrong_has_a_way_out(
    doctor: Callable[[], tuple[int, Found]],
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str],
    check: str,
    said: str,
) -> None:
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    code, found = doctor()
    assert (code, found[check]["verdict"]) == (2, "problem")
    assert said in found[check]["text"]
    assert found[check]["hint"]
    assert "secret-of-the-tests" not in str(found)


def test_a_clock_that_is_off(
    doctor: Callable[[], tuple[int, Found]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks_module, "SKEW_SECONDS", -1.0)
    code, found = doctor()
    assert (code, found["clock"]["verdict"]) == (2, "problem")
    assert "the server's" in found["clock"]["text"]


def test_who_is_at_work_on_the_target(doctor: Callable[[], tuple[int, Found]], tmp_path: Path) -> None:
    doctor()
    catalog = read_project(tmp_path, None).lake.catalog
    assert isinstance(catalog, RemoteCatalog)
    with held(catalog.lease_table("shop"), "run", Waiting()):
        code, found = doctor()
    assert (code, found["lease"]["verdict"]) == (0, "note")
    assert "held by 'run' on" in found["lease"]["text"]
    assert doctor()[1]["lease"]["verdict"] == "ok"
