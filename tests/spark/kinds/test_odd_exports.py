"""Exports of tables that are empty, of odd names and values, and into folders that are full."""

import errno
import json
from pathlib import Path
from subprocess import run
from typing import Any

import duckdb
import pytest
from harness import Harness, MakeShop
from test_exports import exported, files_of, manifest

from lakesmith.execute import faults
from lakesmith.execute.events import ExportFailed

pytestmark = pytest.mark.in_turn("file", of=3)

VALUES = [
    "a b", " a", "a ", "a/b", "a\\b", "a=b", "50%", "%41", "A", "a", ".", "..", "_x", "größe", "日本 🙂", "a.b",
    "a'b\"c", "tab\there", "line\nbreak", "a#b?c&d", "{x}[y]^*:", "__HIVE_DEFAULT_PARTITION__", "null",
    "", None, "x" * 200, "\x7f",
]  # fmt: skip
NAMES = ["a b", "a.b", "a/b", "a=b", "50%", "größe", "_x", "x-y", "A'b", "from", "a`b"]


def lines(values: list[Any], name: str = "kind") -> str:
    return "".join(json.dumps({"id": at, name: value}) + "\n" for at, value in enumerate(values))


def orders(export: str, name: str = "kind", where: str = "") -> dict[str, str]:
    return {
        "tables/bronze/orders.yaml": "source: {files: {path: landing/orders/, format: json}}\n"
        f"columns: {{id: bigint, {json.dumps(name)}: string}}\n",
        "tables/silver/orders.sql": f"SELECT id, `{name.replace('`', '``')}` FROM bronze.orders{where}\n",
        "tables/silver/orders.yaml": f"key: [id]\nexport: {export}\n",
    }


def take(shop: Harness, number: int, text: str) -> list[Any]:
    """Lands and runs; returns what was exported."""
    shop.land(f"landing/orders/{number}.json", text)
    result = shop.run()
    failed = [
        line
        for each in result.events
        if isinstance(each, ExportFailed)
        for p in each.problems
        for line in p.lines()
    ]
    assert (result.code, failed) == (0, []), "\n".join(failed)
    return exported(result)


def read(out: Path) -> list[tuple[Any, ...]]:
    """The rows of the files that the manifest names, with the values of its partitions."""
    found: list[tuple[Any, ...]] = []
    for each in manifest(out)["files"]:
        rows = duckdb.execute(
            "SELECT * FROM read_parquet($1, hive_partitioning = false)", [[str(out / each["path"])]]
        ).fetchall()
        found += [(*row, *each["partition"].values()) for row in rows]
    return sorted(found)


def test_values_of_any_text_are_partitions_of_their_own(make_shop: MakeShop) -> None:
    shop = make_shop(orders("{format: parquet, partition_by: [kind]}"))
    out = shop.root / "exports/silver/orders"
    take(shop, 1, lines(VALUES))
    nulls = {"", None, "__HIVE_DEFAULT_PARTITION__"}
    rows = [(at, None if value in nulls else value) for at, value in enumerate(VALUES)]
    assert read(out) == rows
    later = [(1000 + at, value) for at, value in rows[::3]]
    (event,) = take(shop, 2, "".join(json.dumps({"id": at, "kind": value}) + "\n" for at, value in later))
    different = {value for _, value in rows}
    changed = {value for _, value in later}
    assert (event.report.files, event.report.carried) == (len(changed), len(different - changed))
    assert read(out) == rows + later


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_any_name(make_shop: MakeShop, name: str) -> None:
    shop = make_shop(orders(f"{{format: parquet, partition_by: [{json.dumps(name)}]}}", name))
    out = shop.root / "exports/silver/orders"
    take(shop, 1, lines(["x", "y", None], name))
    assert read(out) == [(0, "x"), (1, "y"), (2, None)]
    (event,) = take(shop, 2, lines(["z"], name).replace('"id": 0', '"id": 9'))
    assert event.report.carried == 3


EMPTIED = {
    "tables/bronze/orders.yaml": """
        source: {files: {path: landing/orders/, format: json}}
        columns: {id: bigint, city: string, op: string}
        """,
    "tables/silver/orders.sql": "SELECT * FROM bronze.orders",
}


@pytest.mark.in_turn
@pytest.mark.parametrize("more", ["", "partition_by: [city]", "single_file: all.EXT"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_table_that_was_emptied_is_exported_without_rows(make_shop: MakeShop, kind: str, more: str) -> None:
    export = f"{{format: {kind}, columns: [id, city], {more.replace('EXT', kind)}}}"
    settings = f"key: [id]\ndelete_when: op = 'D'\nexport: {export}\n"
    shop = make_shop({**EMPTIED, "tables/silver/orders.yaml": settings})
    out = shop.root / "exports/silver/orders"
    for number, op in enumerate("DIDI"):
        take(shop, number, json.dumps({"id": 1, "city": "Oslo", "op": op}) + "\n")
        found = manifest(out)
        assert found["rows"] == (op == "I")
        files = [str(out / each["path"]) for each in found["files"]]
        if "single" in more:
            assert (out / f"all.{kind}").read_bytes() == Path(files[0]).read_bytes()
        if kind == "csv":
            assert not files or Path(files[0]).read_text().startswith("id")
        if kind == "parquet" and files:
            duckdb.execute("SELECT * FROM read_parquet($1, hive_partitioning = false)", [files])
            names = [column[0] for column in duckdb.description() or ()]
            assert names == (["id"] if "partition" in more else ["id", "city"])
        assert "single" not in more or files


def test_a_value_that_no_folder_can_be_called_by_is_said(make_shop: MakeShop) -> None:
    shop = make_shop(orders("{format: parquet, partition_by: [kind]}"))
    out = shop.root / "exports/silver/orders"
    take(shop, 1, lines(["a"]))
    for number, value in enumerate(("x" * 300, "a\0b")):
        shop.land(f"landing/orders/odd{number}.json", json.dumps({"id": 9, "kind": value}) + "\n")
        result = shop.run()
        (event,) = [each for each in result.events if isinstance(each, ExportFailed)]
        assert (result.code, event.problems[0].code) == (1, "LS651")
        assert "a name that a folder can have" in (event.problems[0].hint or ""), event.problems[0].found
        assert [row[0] for row in read(out)] == [0] and len(list(out.glob("v=*"))) == 1


def test_a_full_disk_leaves_the_version_in_place_and_no_other(make_shop: MakeShop) -> None:
    shop = make_shop(orders("{format: json}"))
    out = shop.root / "exports/silver/orders"
    out.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(out)]
    if run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system of its own can be mounted here")
    try:
        take(shop, 1, lines(["a"]))
        before = manifest(out)
        shop.land("landing/orders/2.json", lines(["x" * 1000] * 2000))
        for _ in range(2):
            result = shop.run()
            (event,) = [each for each in result.events if isinstance(each, ExportFailed)]
            assert (result.code, event.problems[0].code) == (1, "LS651")
            assert "No space left on device" in (event.problems[0].found or "")
            assert manifest(out) == before and len(list(out.glob("v=*"))) == 1
        run(["mount", "-o", "remount,size=20m", str(out)], check=True)
        shop.must_run()
        assert manifest(out)["rows"] == 2000 and len(files_of(out)) == 1
    finally:
        run(["umount", "--lazy", str(out)], check=True)


@pytest.mark.parametrize("export", ["{format: json}", "{format: json, single_file: all.json}"])
def test_a_manifest_that_cannot_be_written_leaves_no_other_files(make_shop: MakeShop, export: str) -> None:
    shop = make_shop(orders(export))
    out = shop.root / "exports/silver/orders"
    take(shop, 1, lines(["a"]))
    before = manifest(out)

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    faults.arrange("export-manifest", full)
    shop.land("landing/orders/2.json", lines(["b"]).replace("0", "1", 1))
    assert shop.run().code == 1
    assert manifest(out) == before and len(list(out.glob("v=*"))) == 1
    faults.clear()
    shop.must_run()
    assert manifest(out)["rows"] == 2
