"""The hash of a batch's lines, as its record keeps it."""

from collections.abc import Callable

from lakesmith.project.definitions import TableName
from lakesmith.sources.ledger import hash_entries
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

Entry = Callable[..., LedgerEntry]
ORDERS = TableName("bronze", "orders")


def lines(number: int, batch: int = 1) -> list[LedgerEntry]:
    return [
        LedgerEntry(
            FileIdentity(f"in/{batch}/{i}.csv", i, 1_700_000_000_000_000_000 + i, 2**40 + i, i, f"{i:032x}"),
            "orders",
            FileAction.TAKEN,
            f"attempt-{batch}",
            batch,
            batch,
        )
        for i in range(number)
    ]


def test_the_hash_is_of_the_lines_and_not_of_their_order() -> None:
    written = lines(5)
    assert hash_entries(written) == hash_entries(written[::-1])
    assert len(hash_entries(written)) == 32
    hashes = {hash_entries(written[:n]) for n in range(6)}
    assert len(hashes) == 6


def test_the_hash_is_the_same_in_every_version(entry: Entry) -> None:
    # Written into records: if this fails, records of before cannot be verified any more.
    assert hash_entries([entry("in/a.csv", etag="x"), entry("ž\n", 2)]) == "5ec5fa2cb5250d3930e3f32bc4ea0b74"


def test_every_field_is_in_the_hash(entry: Entry) -> None:
    variants = [
        entry("a"),
        entry("b"),
        entry("a", 2),
        entry("a", 1, FileAction.SKIPPED),
        *(entry("a", **{name: 5}) for name in ("size", "modified_ns", "inode", "changed_ns")),
        entry("a", etag="5"),
        entry("a\x1forders"),
    ]
    assert len({hash_entries([variant]) for variant in variants}) == len(variants)
