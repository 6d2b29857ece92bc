"""What is said of an event before Spark starts."""

from pathlib import Path

import pytest

import lakesmith

FILES = {
    "lakesmith.yaml": (
        "name: shop\ntargets:\n  local: {}\n  far: {catalog: {type: rest, uri: 'http://127.0.0.1:9'}}\n"
    ),
    "tables/bronze/sales.yaml": (
        "source: {http: {path: /sales, event_id: [id]}}\n"
        "columns: {id: bigint, price: {type: 'decimal(10,2)', required: true}}\n"
    ),
    "tables/silver/sales.sql": "SELECT id FROM bronze.sales",
    "tables/bronze/two.yaml": (
        "source:\n  a: {files: {path: landing/a, format: csv}}\n"
        "  b: {files: {path: landing/b, format: csv}}\n"
        "columns: {id: bigint}\n"
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ('{"id": 1}', "price: required, and not there"),
        ('{"id": 1, "price": "x"}', "price: "),
        ('{"id": 1, "price": 1, "more": 2}', "more: unknown"),
        ("{", "not JSON"),
    ],
)
def test_what_the_endpoint_refuses_is_refused(root: Path, event: str, reason: str) -> None:
    with lakesmith.open(root) as shop:
        (stop,) = shop.trace("bronze.sales", event).stops
    assert stop.outcomes == {"refused": 1} and "/sales answers 400" in stop.why
    assert stop.bad[0].reasons[0].startswith(reason)
    assert stop.to_dict()["table"] == "bronze.sales"


@pytest.mark.parametrize(
    ("table", "event", "why"),
    [
        ("silver.sales", "{}", "LS215"),
        ("bronze.none", "{}", "LS201"),
        ("bronze.two", "id", "one of a, b"),
        ("bronze.sales", " \n", "this is no event"),
        ("bronze.sales", "x" * 1_000_001, "1,000,001"),
    ],
)
def test_what_cannot_be_followed_is_said(root: Path, table: str, event: str, why: str) -> None:
    with lakesmith.open(root) as shop, pytest.raises(lakesmith.LakesmithError) as error:
        shop.trace(table, event)
    assert why in "\n".join(error.value.problems[0].lines())


def test_a_lake_in_a_shared_catalog_is_refused_before_anything_is_asked(root: Path) -> None:
    with lakesmith.open(root, "far") as shop, pytest.raises(lakesmith.LakesmithError, match="embedded"):
        shop.trace("bronze.sales", '{"id": 1, "price": 1}')


def test_samples_of_a_source_are_kept_ones_records_and_a_made_one(root: Path) -> None:
    (root / "landing/b").mkdir(parents=True)
    (root / "landing/b/1.csv").write_text("id\n5\n6\n")
    with lakesmith.open(root) as shop:
        path = shop.keep_event("bronze.two", "six", "id\n6\n", source="b")
        found = shop.samples("bronze.two", source="b", record=("landing/b/1.csv", 2)).samples
    assert path == "events/bronze.two/six.csv"
    assert [(each.name, each.origin) for each in found] == [
        ("six", "kept"),
        ("1.csv:2", "landing/b/1.csv"),
        ("1.csv", "landing/b/1.csv"),
        ("made", "made"),
    ]
    assert [each.text for each in found[:3]] == ["id\n6\n", "id\n6\n", "id\n5\n"]
