"""``quarantine list`` and ``show`` on a real Iceberg table, and what ``replay`` and ``drop`` refuse."""

import gzip
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from shop import T0, Cli, Shop

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.record import Pin
from lakesmith.execute.events import RunResult
from lakesmith.execute.quarantine import QuarantineDecider, fits
from lakesmith.plan.steps import BadRows

STRING, LONG = pa.string(), pa.int64()
SCHEMA = pa.schema(
    [
        ("attempt", STRING), ("batch", LONG), ("reasons", pa.list_(STRING)), ("source_file", STRING),
        ("source_position", LONG), ("source_modified_at", pa.timestamp("us", "UTC")), ("raw", STRING),
        ("row", STRING), ("quarantined_at", pa.timestamp("us", "UTC")),
    ]
)  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bad(batch: int, file: str, position: int, *reasons: str, **kept: str) -> dict[str, Any]:
    """A row in quarantine; ``kept`` is its ``raw`` or its ``row``."""
    return {
        "batch": batch,
        "reasons": list(reasons),
        "source_file": f"landing/orders/{file}",
        "source_position": position,
        "quarantined_at": EPOCH + timedelta(milliseconds=T0 + 3_600_000 * batch),
        **kept,
    }


ROWS = [
    bad(2, "2.csv", 7, "customer_id: not a bigint: 'y'", raw="y,\x07" + "z" * 300),
    bad(1, "1.csv", 3, "customer_id: not a bigint: 'x'", raw="x,Ann"),
    bad(1, "1.csv", 9, 'IsComplete "name"', "row has 2 fields", row='{"customer_id":4}'),
]


@pytest.fixture
def filled(shop: Shop) -> Shop:
    """Three bad rows of bronze.orders, and one that no record pins."""
    fill(shop, ROWS, 1)
    table = quarantine(shop)
    table.append(pa.Table.from_pylist([bad(3, "3.csv", 1, "of an attempt that failed")], SCHEMA))
    return shop


def quarantine(shop: Shop) -> Table:
    """The quarantine of bronze.orders, a real table."""
    state_dir = shop.root / ".lakesmith"
    catalog = LocalCatalog(state_dir / "catalog.db", state_dir / "warehouse").writer()
    catalog.create_namespace_if_not_exists("lakesmith")
    return catalog.create_table_if_not_exists("lakesmith.bronze__orders__quarantine", SCHEMA)


def fill(shop: Shop, rows: list[dict[str, Any]], batch: int, **sidecars: Pin) -> None:
    """Publishes a batch of bronze.orders with just these bad rows in quarantine."""
    table = quarantine(shop)
    write = table.overwrite if table.current_snapshot() else table.append
    write(pa.Table.from_pylist(rows, SCHEMA))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    pin = Pin(str(table.metadata.table_uuid), snapshot.snapshot_id)
    shop.batch("bronze.orders", batch, 10, files=1, sidecars={"quarantine": pin, **sidecars})


def test_nothing_in_quarantine(cli: Cli, shop: Shop) -> None:
    assert cli("quarantine", "list", "--project", shop.root).out == "no row is in quarantine\n"
    assert cli("quarantine", "list", "--project", shop.root, "--json").data == []
    said = cli("quarantine", "show", "bronze.orders", "--project", shop.root)
    assert (said.code, said.out) == (0, "no row of bronze.orders is in quarantine\n")


def test_list_counts_by_reason(cli: Cli, filled: Shop) -> None:
    assert cli("quarantine", "list", "--project", filled.root).out.splitlines() == [
        "bronze.orders: 3 bad rows, found 2026-05-28 21:26:40 UTC to 2026-05-28 22:26:40 UTC",
        "  2  customer_id: not a bigint", '  1  IsComplete "name"', "  1  row has 2 fields",
    ]  # fmt: skip
    (found,) = cli("quarantine", "list", "--project", filled.root, "--json").data
    assert (found["table"], found["rows"], found["oldest"]) == (
        "bronze.orders", 3, "2026-05-28T21:26:40+00:00",
    )  # fmt: skip
    assert found["reasons"][0] == {"reason": "customer_id: not a bigint", "rows": 2}


def test_show_tells_of_each_row_everything(cli: Cli, filled: Shop) -> None:
    said = cli("quarantine", "show", "bronze.orders", "--project", filled.root)
    assert said.out.splitlines() == [
        "landing/orders/1.csv, row 3 (batch 1, 2026-05-28 21:26:40 UTC)", "  customer_id: not a bigint: 'x'",
        "    x,Ann", "landing/orders/1.csv, row 9 (batch 1, 2026-05-28 21:26:40 UTC)", '  IsComplete "name"',
        "  row has 2 fields", '    {"customer_id":4}',
        "landing/orders/2.csv, row 7 (batch 2, 2026-05-28 22:26:40 UTC)", "  customer_id: not a bigint: 'y'",
        f"    y,\\x07{'z' * 194}… (303 characters)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "positions"),
    [
        (("--batch", "1"), [3, 9]),
        (("--reason", "COMPLETE"), [9]),
        (("--file", "2.csv"), [7]),
        (("--file", "landing/orders/1.csv", "--reason", "bigint"), [3]),
        (("--file", "csv"), []),
        (("--limit", "0"), [3, 9, 7]),
    ],
)
def test_show_only_what_is_asked_for(
    cli: Cli, filled: Shop, options: tuple[str, ...], positions: list[int]
) -> None:
    said = cli("quarantine", "show", "bronze.orders", *options, "--project", filled.root, "--json")
    assert [row["position"] for row in said.data] == positions
    assert all(isinstance(row["row"], dict) for row in said.data if row["raw"] is None)


def test_show_tells_the_line_of_a_file_that_is_as_it_was_taken(cli: Cli, filled: Shop) -> None:
    modified = EPOCH + timedelta(milliseconds=T0)
    rows = [
        {**bad(1, file, position, "bad", raw="x"), "source_modified_at": modified}
        for file in ("same.csv", "touched.csv", "gone.csv", "zip.csv.gz")
        for position in (1, 2, 3)
    ]
    text = "customer_id\r\n\r\n1\r\n   \r\n2\r\n\t\r\n"
    for name in ("same.csv", "touched.csv", "zip.csv.gz"):
        path = filled.land(name)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        seconds = T0 / 1000 + (name == "touched.csv")
        os.utime(path, (seconds, seconds))
    fill(filled, rows, 2)
    said = cli("quarantine", "show", "bronze.orders", "--project", filled.root, "--json")
    lines = [(row["file"].rpartition("/")[2], row["line"]) for row in said.data]
    assert lines == [
        *[("gone.csv", None)] * 3, *[("same.csv", 3), ("same.csv", 5), ("same.csv", 6)],
        *[("touched.csv", None)] * 3, *[("zip.csv.gz", 3), ("zip.csv.gz", 5), ("zip.csv.gz", 6)],
    ]  # fmt: skip
    assert (
        "same.csv, line 3 (batch 1"
        in cli("quarantine", "show", "bronze.orders", "--project", filled.root).out
    )


def test_show_says_when_there_is_more(cli: Cli, filled: Shop) -> None:
    said = cli("quarantine", "show", "bronze.orders", "--limit", "2", "--project", filled.root)
    assert said.out.splitlines()[-1] == "only the first 2 rows are shown: --limit 0 shows all"


def test_a_quarantine_that_is_gone_is_said(cli: Cli, filled: Shop) -> None:
    pin = Pin("another table's", 1)
    filled.batch("bronze.orders", 2, 10, files=1, sidecars={"quarantine": pin})
    said = cli("quarantine", "show", "bronze.orders", "--project", filled.root)
    assert (said.code, said.err.split()[0]) == (1, "LS508")


def test_drop_needs_somebody_who_can_be_asked(cli: Cli, filled: Shop) -> None:
    said = cli("quarantine", "drop", "bronze.orders", "--batch", "1", "--project", filled.root)
    assert said.code == 2
    assert said.err.startswith("LS227 drop 2 bad rows of bronze.orders (batch 1) for good?")
    assert "--yes" in said.err


@pytest.mark.parametrize("said_yes", [False, True])
def test_drop_asks_on_a_terminal(
    cli: Cli, filled: Shop, monkeypatch: pytest.MonkeyPatch, said_yes: bool
) -> None:
    asked: list[str] = []
    done: list[BadRows] = []

    def answer(question: str) -> bool:
        asked.append(question)
        return said_yes

    def run(
        _access: object, _opened: object, what: tuple[object, QuarantineDecider], *_: object
    ) -> RunResult:
        done.append(what[1].bad_rows)
        return RunResult({}, {}, {}, (), 0.0, 0)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", answer)
    monkeypatch.setattr("lakesmith.api.quarantine.run_decided", run)
    said = cli("quarantine", "drop", "bronze.orders", "--project", filled.root)
    assert asked == ["drop 3 bad rows of bronze.orders (all rows) for good?"]
    assert (said.code, "nothing was dropped" in said.out, done) == (0, not said_yes, [BadRows()] * said_yes)


def test_a_derived_table_is_replayed_as_a_whole(cli: Cli, filled: Shop) -> None:
    said = cli("quarantine", "replay", "silver.customers", "--batch", "1", "--project", filled.root)
    assert (said.code, said.err.split()[0]) == (2, "LS226")


def test_an_empty_quarantine_starts_no_engine(cli: Cli, shop: Shop) -> None:
    said = cli("quarantine", "replay", "bronze.orders", "--project", shop.root)
    assert said.code == 0
    assert "nothing is in its quarantine" in said.out


def test_unknown_tables_are_refused(cli: Cli, shop: Shop) -> None:
    assert cli("quarantine", "show", "bronze.order", "--project", shop.root).code == 2


def test_a_row_without_a_file_fits_no_file() -> None:
    row = {"batch": 1, "reasons": ["a"], "source_file": None}
    assert fits(row, BadRows())
    assert not fits(row, BadRows(file="1.csv"))
