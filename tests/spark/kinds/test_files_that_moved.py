"""Landing files that an archiver moves after they were ingested, in runs, replays and erasures."""

from pathlib import Path
from typing import Any

import pytest
from harness import Harness, MakeShop

import lakesmith
from lakesmith.execute.events import TableStarted

pytestmark = pytest.mark.in_turn

SOURCE = """
    source:
      files: {path: landing/orders/, pattern: "*.csv", format: csvMORE}
    columns: {id: bigint, city: string}
    """


def orders(more: str = "") -> dict[str, str]:
    return {"tables/bronze/orders.yaml": SOURCE.replace("MORE", more)}


def archive(shop: Harness, *names: str) -> Path:
    done = shop.root / "landing/orders/done"
    done.mkdir(exist_ok=True)
    for name in names:
        (shop.root / "landing/orders" / name).rename(done / name)
    return done


def erased(shop: Harness) -> list[str]:
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        left: list[str] = (
            lake.erase("bronze.orders", "city = 'Ada Lovelace'").apply().content["proof"]["left"]
        )
    return [line for line in left if "landing" in line]


def notes(result: Any) -> str:
    return " ".join(
        note for each in result.events if isinstance(each, TableStarted) for note in each.step.notes
    )


def test_a_moved_file_is_ingested_twice_with_a_note_and_once_if_it_is_the_same(make_shop: MakeShop) -> None:
    shop = make_shop(orders())
    shop.take_rows("orders", 1, "1,Oslo", "2,Bergen", "x,Bad")
    archive(shop, "1.csv")
    told = notes(shop.must_run())
    assert all(
        word in told for word in ("LS413", "landing/orders/done/1.csv", "landing/orders/1.csv", "same")
    )
    assert shop.count("bronze.orders") == 4 and len(shop.quarantine("bronze.orders")) == 2

    # What the code's entry says: the second rows go, and do not come back.
    shop.write(orders(", on_moved_file: same"))
    shop.forget("bronze.orders", "landing/orders/done/1.csv")
    shop.must_run()
    shop.take_rows("orders", 2, "3,Oslo")
    archive(shop, "2.csv")
    shop.must_run()
    assert [row[0] for row in shop.rows("bronze.orders", "id")] == [1, 2, 3]
    assert len(shop.quarantine("bronze.orders")) == 1


@pytest.mark.parametrize("choice", ["remove", "rewrite"])
def test_an_erasure_knows_that_a_moved_file_was_ingested(make_shop: MakeShop, choice: str) -> None:
    shop = make_shop(orders(f", on_moved_file: same, on_erase: {choice}"))
    shop.take_rows("orders", 1, "1,Ada Lovelace", "2,Oslo")
    moved = archive(shop, "1.csv") / "1.csv"
    shop.must_run()
    left = erased(shop)
    if choice == "remove":
        assert not left and not moved.exists()
    else:
        # Its rows have the path that it was ingested from: nothing else may count as ingested there.
        (line,) = left
        assert "was ingested as landing/orders/1.csv" in line and moved.exists()
    shop.must_run()
    assert [row[0] for row in shop.rows("bronze.orders", "id")] == [2]
    if choice == "rewrite":
        moved.rename(shop.root / "landing/orders/1.csv")
        assert not erased(shop) and "Lovelace" not in (shop.root / "landing/orders/1.csv").read_text()
        shop.must_run()
        assert [row[0] for row in shop.rows("bronze.orders", "id")] == [2]
