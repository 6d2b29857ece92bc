"""Packed landing files as tapes, mainframes and tools for logs write them: members, and zeros between."""

import bz2
import csv
import gzip
import json
from collections.abc import Callable

import pytest
from tests.spark.harness import Harness

MakeShop = Callable[..., Harness]

FIRST, SECOND = "id,name\n1,größe\n\n2,b\n", "3,c\n4,d"
ROWS = [(int(id_), name) for id_, name in csv.reader(["1,größe", "2,b", "3,c", "4,d"])]
PADDINGS = (1, 2, 3, 4, 7, 8, 9, 10, 512, 70_000)


def _table(path: str = "landing/", format_: str = "csv", more: str = "") -> str:
    return f"""
        source: {{files: {{path: {path}, pattern: "*", format: {format_}{more}}}}}
        columns: {{id: bigint, name: string}}
    """


ORDERS = {"tables/bronze/orders.yaml": _table()}


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("gz", lambda content: gzip.compress(content)), ("bz2", bz2.compress)],
    ids=["gz", "bz2"],
)
def test_zeros_and_empty_members_are_no_rows_and_no_fault(
    ending: str, pack: Callable[[bytes], bytes], make_shop: MakeShop
) -> None:
    shop = make_shop(ORDERS)
    first, second, nothing = pack(FIRST.encode()), pack(SECOND.encode()), pack(b"")
    whole = {f"zeros{zeros}": first + second + bytes(zeros) for zeros in PADDINGS}
    whole |= {
        "members": first + second,
        "between": first + bytes(512) + second,
        "between_and_after": first + bytes(3) + second + bytes(3),
        "empty_first": nothing + first + second,
        "empty_between": first + nothing + second,
        "empty_last": first + second + nothing,
        "empty_and_zeros": first + second + nothing + bytes(512),
    }
    for name, content in whole.items():
        shop.land(f"landing/{name}.csv.{ending}", content)
    shop.land(f"landing/nothing.csv.{ending}", b"")
    shop.land(f"landing/an_empty_member.csv.{ending}", nothing)
    shop.must_run()
    by_file = shop.rows("bronze.orders", "_source_file", "_source_position", "id", "name")
    expected = [
        (f"landing/{name}.csv.{ending}", at, *row) for name in whole for at, row in enumerate(ROWS, 1)
    ]
    assert by_file == sorted(expected)


def test_records_of_every_layout_are_found_in_a_padded_file(make_shop: MakeShop) -> None:
    rows = [{"id": 1, "name": "größe"}, {"id": 2, "name": "b"}]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows)
    texts = {
        "lines": ("json", "", "\ufeff" + lines, "utf-8"),
        "values": ("json", "", json.dumps(rows, indent=1, ensure_ascii=False), "utf-8"),
        "multiline": ("csv", ", multiline: true", 'id,name\n1,"größe"\n2,"b"\n', "utf-8"),
        "latin": ("csv", ", encoding: latin-1", "id,name\n1,größe\n2,b\n", "latin-1"),
        "wide": ("csv", ", encoding: UTF-16", "id,name\n1,größe\n2,b\n", "utf-16"),
    }
    files = {
        f"tables/bronze/{name}.yaml": _table(f"landing/{name}/", kind, more)
        for name, (kind, more, *_) in texts.items()
    }
    shop = make_shop(files)
    for name, (kind, _, text, encoding) in texts.items():
        shop.land(f"landing/{name}/a.{kind}.gz", gzip.compress(text.encode(encoding)) + bytes(1024))
    shop.must_run()
    for name in texts:
        assert shop.rows(f"bronze.{name}", "id", "name") == [(1, "größe"), (2, "b")], name


def test_a_bad_row_of_a_padded_file_is_in_quarantine(make_shop: MakeShop) -> None:
    shop = make_shop(ORDERS)
    shop.land("landing/a.csv.gz", gzip.compress(b"id,name\none,a\n2,b\xff\n3,c\n") + bytes(512))
    shop.must_run()
    assert shop.rows("bronze.orders", "id", "name") == [(3, "c")]
    assert sorted(row["raw"][:3] for row in shop.quarantine("bronze.orders")) == ["2,b", "one"]


@pytest.mark.parametrize(("ending", "name"), [("gz", "gzip"), ("bz2", "bzip2")])
def test_bytes_after_the_end_are_named_and_no_row_is_left_out_silently(
    ending: str, name: str, make_shop: MakeShop
) -> None:
    pack = gzip.compress if ending == "gz" else bz2.compress
    # Of the second file only reading all of it finds what follows.
    small, large = pack(b"id,name\n1,a\n2,b\n"), pack(b"id,name\n" + b"3,c\n" * 20_000)
    shop = make_shop(ORDERS)
    for content, rows in ((small, 2), (large, 20_002)):
        path = f"landing/{rows}.csv.{ending}"
        for after, count in ((b"seventeen bytes!\n", "17 bytes"), (bytes(512) + b"x", "513 bytes")):
            shop.land(path, content + after)
            (problem,) = shop.run().problems
            found = f"complete, followed by {count} that are no {name}"
            assert (problem.code, problem.found) == ("LS422", found)
            assert path in problem.what
        shop.take(path, content)
        assert shop.count("bronze.orders") == rows
