"""A copied or moved project never writes to the original's tables; `relocate` makes its files its own."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import fastavro
import pytest
from harness import Harness, fail, in_order

import lakesmith
from lakesmith.errors import LakesmithError
from lakesmith.execute.faults import arrange, clear
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn("file", of=3)

Cli = Callable[..., tuple[int, str, str]]

FILES = {
    "lakesmith.yaml": "name: shop\n",
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv}
        columns: {id: bigint, at: int, op: string}
        rules: |
          Rules = [ ColumnValues "at" > 0 ]
        """,
    "tables/silver/vectors.yaml": "from: bronze.orders\nkey: [id]\nlatest_by: [at]\n"
    "delete_when: \"op = 'D'\"\n",
    "tables/silver/positions.yaml": "from: bronze.orders\nkey: [id]\nlatest_by: [at]\nformat_version: 2\n"
    "partition_by: [op]\n",
    "tables/gold/number.sql": "SELECT count(*) AS n, max(at) AS at FROM silver.vectors\n",
}
TABLES = ("bronze.orders", "silver.vectors", "silver.positions", "gold.number")


def files_of(root: Path) -> dict[str, bytes]:
    """All files of the lake, but for locks, caches and logs."""
    paths = (path for path in sorted((root / ".lakesmith").rglob("*")) if path.is_file())
    kept = (path for path in paths if path.relative_to(root).parts[1] in ("warehouse", "catalog.db"))
    return {str(path.relative_to(root)): path.read_bytes() for path in kept}


def texts_in(root: Path) -> Iterator[str]:
    """What the lake's files say, as far as it may be paths."""
    for path in (root / ".lakesmith/warehouse").rglob("*"):
        if path.suffix == ".avro":
            with path.open("rb") as file:
                yield str(list(fastavro.reader(file)))
        elif path.is_file() and path.suffix != ".crc":
            yield path.read_bytes().decode("latin-1")


def rows_of(shop: Harness) -> dict[str, list[tuple[object, ...]]]:
    return {table: shop.rows(table) for table in TABLES}


def rows_by_pyiceberg(shop: Harness, table: str) -> list[tuple[object, ...]]:
    """By another reader, which finds deletion vectors by the paths that are in them."""
    found = shop.lake().catalog.reader().load_table(table).scan().to_arrow()  # type: ignore[attr-defined]
    return in_order(tuple(row.values()) for row in found.to_pylist())


WRITES = (
    ("run",), ("erase", "silver.vectors", "--where", "id = 2", "--yes"), ("maintain",),
    ("rollback", "gold.number", "--to", "1 second ago", "--yes"), ("release", "gold.number"),
    ("drop", "gold.number", "--purge", "--yes"), ("rename", "gold.number", "gold.others", "--yes"),
    ("tag", "now"), ("untag", "now"), ("register", "--yes"), ("quarantine", "replay", "bronze.orders"),
    ("quarantine", "drop", "bronze.orders", "--yes"), ("files", "bronze.orders", "--forget", "1.csv"),
    ("files", "bronze.orders", "--skip", "1.csv"), ("up",),
)  # fmt: skip


def test_a_copied_project_leaves_the_original_alone(tmp_path: Path, session: SessionHandle, cli: Cli) -> None:
    shop = Harness(tmp_path / "shop", session, FILES)
    shop.take("landing/orders/1.csv", "id,at,op\n1,1,I\n2,1,I\n3,0,I\n4,1,I\n5,1,I\n")
    shop.take("landing/orders/2.csv", "id,at,op\n1,2,D\n2,2,I\n")
    before, expected = files_of(shop.root), rows_of(shop)
    assert any(name.endswith("-deletes.parquet") for name in before), "version 2 has files of positions"
    assert any(name.endswith(".puffin") for name in before), "version 3 has vectors"

    copy = tmp_path / "a copy"
    shutil.copytree(shop.root, copy)
    for words in WRITES:
        code, out, said = cli(*words, "--project", copy)
        assert code == 1 and "LS525 this project was copied" in out + said, (words, out, said)
    code, out, _ = cli("plan", "--project", copy)
    assert "LS525" in out and f"in {shop.root}/.lakesmith/warehouse" in out

    for point, table in (("relocate-table", "silver.positions"), ("relocate-entries", "")):
        arrange(point, fail, table)
        assert cli("relocate", "--yes", "--project", copy)[0] == 1
        clear()
        assert "LS525" in cli("run", "--project", copy)[2], "until it is done, nothing is written"
    prepared = lakesmith.open(copy).relocate()
    code, out, said = cli("relocate", "--yes", "--project", copy, "--json")
    assert (code, said) == (0, "")
    with pytest.raises(LakesmithError, match="LS511"):
        prepared.apply()
    assert "silver.vectors" in json.loads(out)["tables"]
    assert cli("relocate", "--project", copy)[1].startswith("every table is in")

    # The original is as it was, and nothing in the copy speaks of it.
    assert files_of(shop.root) == before
    assert not [text for text in texts_in(copy) if str(shop.root) in text]
    shop.root.rename(tmp_path / "put away")
    other = Harness(copy, session, {"lakesmith.yaml": FILES["lakesmith.yaml"]})
    assert rows_of(other) == expected
    for table in ("silver.vectors", "silver.positions"):
        assert rows_by_pyiceberg(other, table) == [
            tuple(row) for row in in_order(other.frame(table).collect())
        ]
    assert not other.must_run().published
    other.land("landing/orders/3.csv", "id,at,op\n1,3,I\n4,3,D\n6,1,I\n")
    assert set(other.must_run().published) == set(TABLES)
    assert other.rows("silver.vectors", "id", "at") == [(1, 3), (2, 2), (5, 1), (6, 1)]
    assert other.rows("silver.positions", "id", "at") == [(1, 3), (2, 2), (4, 3), (5, 1), (6, 1)]
    assert [row["source_file"] for row in other.quarantine("bronze.orders")] == ["landing/orders/1.csv"]

    # A moved project: the old place is gone.
    moved = tmp_path / "put away"
    code, out, _ = cli("plan", "--project", moved)
    assert code == 1 and "LS525 this project was moved" in out and "lakesmith relocate" in out
    assert "LS525 this project was moved" in cli("run", "--project", moved)[2]
    assert cli("relocate", "--yes", "--project", moved)[0] == 0
    again = Harness(moved, session, {"lakesmith.yaml": FILES["lakesmith.yaml"]})
    assert rows_of(again) == expected
    again.take("landing/orders/3.csv", "id,at,op\n2,9,D\n")
    assert again.rows("silver.vectors", "id") == [(4,), (5,)]


def test_a_torn_copy_is_not_relocated(tmp_path: Path, session: SessionHandle, cli: Cli) -> None:
    shop = Harness(tmp_path / "shop", session, FILES)
    shop.take("landing/orders/1.csv", "id,at,op\n1,1,I\n", "bronze.orders")
    copy = tmp_path / "copy"
    shutil.copytree(shop.root, copy)
    data = next((copy / ".lakesmith/warehouse/bronze/orders").rglob("*.parquet"))
    data.unlink()
    code, _, said = cli("relocate", "--yes", "--project", copy)
    assert code == 1 and "LS526" in said and str(data) in said
    assert "LS525" in cli("run", "--project", copy)[2]
