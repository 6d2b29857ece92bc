"""The progress record as JSON: what is written is read again, and what earlier versions wrote too."""

import json
from dataclasses import replace

import pytest

from lakesmith.catalog.record import SUMMARY_KEY, Account, Gate, Pin, Record, Versions

RECORD = Record(
    attempt="a-2",
    parent="a-1",
    batch=2,
    kind="full",
    started_ms=5,
    fingerprint="f",
    account=Account(read=3, inserted=3, rows_after=3),
    inputs={"bronze.orders": Pin("u", 7)},
    sidecars={"quarantine": Pin("v", None)},
    checks={"IsComplete id": 0},
    notes=("seen",),
    definition={"query": "0123456789ab", "key": "ba9876543210"},
)


def without(name: str) -> dict[str, str]:
    """The summary of a version that did not keep ``name`` yet."""
    data = json.loads(RECORD.to_summary()[SUMMARY_KEY])
    del data[name]
    return {SUMMARY_KEY: json.dumps(data)}


def test_what_is_written_is_read_again() -> None:
    assert Record.from_summary(RECORD.to_summary()) == RECORD


def test_a_snapshot_of_others_has_none() -> None:
    assert Record.from_summary({"operation": "append"}) is None


def test_a_record_from_before_the_parts_of_the_definition_were_kept() -> None:
    assert Record.from_summary(without("definition")) == replace(RECORD, definition={})


def test_what_versions_did_is_read_again() -> None:
    account = Account(read=6, inserted=2, updated=1, superseded=1, versions=Versions(2, 1, 1), rows_after=2)
    record = replace(RECORD, account=account)
    assert Record.from_summary(record.to_summary()) == record


def test_a_record_from_before_tables_kept_versions() -> None:
    data = json.loads(RECORD.to_summary()[SUMMARY_KEY])
    del data["account"]["versions"]
    assert Record.from_summary({SUMMARY_KEY: json.dumps(data)}) == RECORD


def test_rules_of_older_records_have_no_expected_text() -> None:
    record = replace(
        RECORD, gates={"RowCount > 9": Gate("failed", 3.0, "> 9"), "IsUnique a": Gate("passed", None)}
    )
    assert Record.from_summary(record.to_summary()) == record
    data = json.loads(record.to_summary()[SUMMARY_KEY])
    data["gates"] = {"RowCount > 9": ["failed", 3.0]}
    found = Record.from_summary({SUMMARY_KEY: json.dumps(data)})
    assert found is not None and found.gates == {"RowCount > 9": Gate("failed", 3.0)}


def test_versions_are_placed_where_they_went_and_not_by_the_rows_they_made() -> None:
    rows = Account(
        inserted=7, updated=5, deleted=3, superseded=1, filtered=1, quarantined=1, absent_deletes=1
    )
    assert rows.placed == 19
    assert replace(rows, versions=Versions(opened=4, continued=2, closed=1)).placed == 11


def test_a_record_of_a_newer_format_is_refused() -> None:
    text = RECORD.to_summary()[SUMMARY_KEY].replace('"format":1', '"format":2')
    with pytest.raises(ValueError, match="format 2; this lakesmith reads format 1"):
        Record.from_summary({SUMMARY_KEY: text})
