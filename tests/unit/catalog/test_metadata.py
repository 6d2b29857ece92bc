"""Table metadata -> TableState. What PyIceberg reads from the same files is the oracle."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from lakesmith.catalog.metadata import load_metadata, local_path, parse_metadata, spark_type
from lakesmith.catalog.state import ColumnState
from lakesmith.errors import StateError
from lakesmith.project.spark_types import normal_type
from lakesmith.project.table_parts import partition_field

EVERY_TYPE = {
    "id": "bigint", "flag": "boolean", "small": "int", "real": "float", "precise": "double",
    "price": "decimal(9,2)", "day": "date", "clock": "time", "local_time": "timestamp_ntz",
    "instant": "timestamp", "text": "string", "uid": "string", "hash": "binary", "raw": "binary",
    "address": "struct<City:string,`post code`:string,at:struct<lat:double>>", "tags": "array<string>",
    "prices": "map<string,decimal(38,10)>",
}  # fmt: skip


def test_every_type_that_pyiceberg_writes(data: Callable[[str], Path]) -> None:
    state = load_metadata("bronze.types", str(data("types.metadata.json")))
    assert {column.name: column.type for column in state.columns} == EVERY_TYPE
    assert state.columns[0] == ColumnState(1, "id", "bigint", required=True, doc="the key")
    assert [column.name for column in state.columns if column.required] == ["id"]
    assert state.head is None
    assert (state.snapshots, state.refs, state.published) == ({}, {}, ())


@pytest.mark.parametrize("name", ["types", "busy"])
def test_gzipped_metadata_says_the_same(name: str, data: Callable[[str], Path]) -> None:
    plain = load_metadata("t.t", str(data(f"{name}.metadata.json")))
    zipped = load_metadata("t.t", f"file://{data(f'{name}.gz.metadata.json')}")
    assert zipped.metadata_location.endswith(".gz.metadata.json")
    assert (zipped.uuid, zipped.snapshots, zipped.refs) == (plain.uuid, plain.snapshots, plain.refs)
    assert (zipped.columns, zipped.published) == (plain.columns, plain.published)


def test_snapshots_and_refs_are_what_pyiceberg_reads(data: Callable[[str], Path]) -> None:
    oracle = TableMetadataUtil.parse_raw(data("busy.metadata.json").read_text())
    state = load_metadata("bronze.busy", str(data("busy.metadata.json")))
    assert (state.uuid, state.location, state.format_version) == (str(oracle.table_uuid), oracle.location, 2)
    assert state.refs == {name: ref.snapshot_id for name, ref in oracle.refs.items()}
    assert state.tags == {"start"}
    assert state.published == tuple((entry.snapshot_id, entry.timestamp_ms) for entry in oracle.snapshot_log)
    assert len(state.snapshots) == len(oracle.snapshots) == 5
    for expected in oracle.snapshots:
        found = state.snapshots[expected.snapshot_id]
        assert expected.summary is not None
        assert (found.parent_id, found.sequence_number) == (
            expected.parent_snapshot_id,
            expected.sequence_number,
        )
        assert (found.committed_ms, found.manifest_list) == (expected.timestamp_ms, expected.manifest_list)
        assert found.operation == expected.summary.operation.value
        assert found.count("total-records") == int(expected.summary["total-records"] or 0)
    assert state.head is not None
    assert state.head.snapshot_id == oracle.current_snapshot_id
    assert state.properties["owner"] == "shop"


def test_columns_are_the_current_schema_s(data: Callable[[str], Path]) -> None:
    state = load_metadata("bronze.busy", str(data("busy.metadata.json")))
    assert [(column.field_id, column.name, column.doc) for column in state.columns] == [
        (1, "id", None), (2, "full_name", None), (3, "city", "where"),
    ]  # fmt: skip


def version_1(**more: Any) -> dict[str, Any]:
    """The least that format version 1 requires."""
    schema = {"type": "struct", "fields": [{"id": 1, "name": "a", "required": False, "type": "int"}]}
    return {"format-version": 1, "location": "/lake/t", "last-updated-ms": 1, "schema": schema, **more}


def test_the_least_of_format_1() -> None:
    state = parse_metadata("x.t", "/lake/t/1.json", version_1(**{"current-snapshot-id": -1}))
    assert state.head is None
    assert [(column.name, column.type) for column in state.columns] == [("a", "int")]
    assert (state.uuid, state.properties, state.published) == ("", {}, ())


@pytest.mark.parametrize("missing", ["snapshot-id", "timestamp-ms"])
def test_a_snapshot_without_what_is_required_is_refused_at_once(missing: str) -> None:
    whole = {"snapshot-id": 7, "timestamp-ms": 0}
    assert parse_metadata("x.t", "/", version_1(snapshots=[whole])).snapshots[7].committed_ms == 0
    damaged = {name: value for name, value in whole.items() if name != missing}
    with pytest.raises(StateError, match=missing):
        parse_metadata("x.t", "/", version_1(snapshots=[damaged]))


def test_partition_fields_are_spelt_as_spark_does() -> None:
    transforms = ["identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour", "void"]
    fields = [{"source-id": 1, "name": f"p{i}", "transform": text} for i, text in enumerate(transforms)]
    old = [{"source-id": 1, "name": "old", "transform": "identity"}]
    specs = [{"spec-id": 0, "fields": old}, {"spec-id": 3, "fields": fields}]
    data = version_1(**{"partition-specs": specs, "default-spec-id": 3, "partition-spec": old})
    spelt = ("a", "bucket(16, a)", "truncate(4, a)", "years(a)", "months(a)", "days(a)", "hours(a)")
    assert parse_metadata("x.t", "/lake/t/1.json", data).partitioning == spelt


@pytest.mark.parametrize("name", ["größe", "order city", "a`b", "_x1"])
def test_partition_fields_are_spelt_as_a_project_spells_them(name: str) -> None:
    data = version_1(**{"partition-spec": [{"source-id": 1, "name": "p", "transform": "day"}]})
    data["schema"]["fields"][0]["name"] = name
    declared = partition_field("days(`" + name.replace("`", "``") + "`)")[0]
    assert parse_metadata("x.t", "/", data).partitioning == (declared,)


@pytest.mark.parametrize("written", ["`größe`", "`order city`", "`a``b`", "_x1", "`1st`"])
def test_fields_of_structs_are_spelt_as_a_project_spells_them(written: str) -> None:
    name = written.strip("`").replace("``", "`")
    iceberg = {"type": "struct", "fields": [{"id": 1, "name": name, "required": False, "type": "long"}]}
    assert spark_type(iceberg) == normal_type(f"struct<{written}: long>")


def test_format_1_may_carry_only_the_fields_of_its_partition_spec() -> None:
    fields = [{"source-id": 1, "name": "a", "transform": "identity"}]
    assert parse_metadata("x.t", "/", version_1(**{"partition-spec": fields})).partitioning == ("a",)


def test_a_snapshot_of_format_1_has_no_sequence_and_no_refs() -> None:
    snapshot = {
        "snapshot-id": 7, "timestamp-ms": 5, "parent-snapshot-id": -1, "manifests": ["/lake/t/m.avro"],
    }  # fmt: skip
    data = version_1(**{"current-snapshot-id": 7, "snapshots": [snapshot]})
    state = parse_metadata("x.t", "/lake/t/1.json", data)
    assert state.head is not None
    assert (state.head.sequence_number, state.head.parent_id, state.head.operation) == (0, None, "unknown")
    assert state.published == ((7, 5),)
    assert state.refs == {"main": 7}


@pytest.mark.parametrize(
    ("iceberg", "spark"),
    [
        ("variant", "variant"),
        ("unknown", "void"),
        ("timestamp_ns", "timestamp_ns"),
        ("decimal(9, 2)", "decimal(9,2)"),
        ("fixed[3]", "binary"),
        (
            {"type": "list", "element-id": 3, "element": "timestamptz", "element-required": True},
            "array<timestamp>",
        ),
        (
            {"type": "struct", "fields": [{"id": 1, "name": "a`b", "required": False, "type": "long"}]},
            "struct<`a``b`:bigint>",
        ),
    ],
)
def test_types_pyiceberg_does_not_write(iceberg: Any, spark: str) -> None:
    assert spark_type(iceberg) == spark


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"{", "EOF while parsing an object"),
        (b"\x1f\x8b\x08", "ended"),
        (b"[]", "list indices"),
        (b"{}", "format-version"),
        (json.dumps(version_1() | {"format-version": 4}).encode(), "table format 4"),
        (json.dumps({"format-version": 2, "location": "/t"}).encode(), "schema"),
    ],
)
def test_what_is_not_metadata_is_an_error_that_says_so(content: bytes, found: str, tmp_path: Path) -> None:
    file = tmp_path / "1.metadata.json"
    file.write_bytes(content)
    with pytest.raises(StateError) as error:
        load_metadata("bronze.orders", str(file))
    (problem,) = error.value.problems
    assert problem.code == "LS504"
    assert "bronze.orders" in problem.what
    assert found in (problem.found or "")


def test_a_missing_file_stays_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_metadata("bronze.orders", str(tmp_path / "gone.metadata.json"))


@pytest.mark.parametrize(
    "location", ["/a/b c%20d", "file:/a/b c%20d", "file:///a/b c%20d"], ids=["path", "hadoop", "uri"]
)
def test_locations_are_not_percent_decoded(location: str) -> None:
    assert local_path(location) == Path("/a/b c%20d")


def test_a_location_elsewhere_is_refused() -> None:
    with pytest.raises(StateError, match="s3"):
        local_path("s3://bucket/a")
