"""Bad rows are written in the pass of the good ones; many or long ones have their files read again."""

from collections.abc import Collection

import pytest
from harness import MakeShop
from pyspark.sql import DataFrame

from lakesmith import limits
from lakesmith.spark.kinds.intake import Intake

pytestmark = pytest.mark.in_turn

ORDERS = """
source:
  files: {path: landing/, pattern: "*.csv", format: csv}
columns: {id: bigint, price: "decimal(10,2)", name: string, at: timestamp}
rules: |
  Rules = [ ColumnValues "price" > 0 ]
"""
HEADER = "id,price,name,at\n"
GOOD = "".join(f"{n},1.50,n{n},2024-05-31 22:00:0{n}\n" for n in range(1, 4))
BAD = [
    ("not a bigint", "x,1.50,ü,2024-05-31 22:00:00", ["id: not a bigint: 'x'"]),
    ("a broken rule", '8,-1.50,it\'s "8",1600-01-01 00:00:00.123456', ['ColumnValues "price" > 0']),
    ("too few fields", "9,2.50", ["row has 2 fields, the header has 4"]),
    ("a text longer than what comes along", f"10,y,{'long' * 500},2024-05-31 22:00:00", None),
]


@pytest.mark.parametrize(
    ("most", "contents", "again"),
    [
        (limits.BAD_ROWS_CARRIED_BYTES, BAD[:3], []),
        (limits.BAD_ROWS_CARRIED_BYTES, BAD, [{"landing/2.csv"}]),
        (0, BAD[:3], [{"landing/2.csv"}]),
    ],
    ids=["few and short: along", "one is long: its file again", "too many: their files again"],
)
def test_bad_rows_are_kept_alike_whichever_way_they_come(
    make_shop: MakeShop,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    contents: list[tuple[str, str, list[str] | None]],
    again: list[set[str]],
) -> None:
    read_again: list[Collection[str]] = []
    only = Intake.only

    def watched(self: Intake, paths: Collection[str]) -> DataFrame:
        read_again.append(set(paths))
        return only(self, paths)

    monkeypatch.setattr(Intake, "only", watched)
    monkeypatch.setattr(limits, "BAD_ROWS_CARRIED_BYTES", most)
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS}, compiled=True)
    shop.land("landing/1.csv", HEADER + GOOD)
    shop.land("landing/2.csv", HEADER + GOOD + "".join(text + "\n" for _, text, _ in contents))
    record = shop.must_run().published["bronze.orders"]
    assert read_again == again
    assert (record.account.read, record.account.inserted) == (6 + len(contents), 6)
    assert record.account.quarantined == len(contents)
    kept = shop.quarantine("bronze.orders")
    for number, (row, (title, text, reasons)) in enumerate(zip(kept, contents, strict=True)):
        assert (row["source_file"], row["source_position"]) == ("landing/2.csv", 4 + number), title
        assert reasons is None or row["reasons"] == reasons, title
        if title == "a broken rule":
            assert row["raw"] is None, title
            assert '"at":"1600-01-01T00:00:00.123456Z"' in row["row"], row["row"]
            assert row["row_types"] == "id BIGINT,price DECIMAL(10,2),name STRING,at TIMESTAMP"
        else:
            assert (row["raw"], row["raw_columns"]) == (text, ["id", "price", "name", "at"]), title


@pytest.mark.parametrize("declared", [True, False])
def test_wide_files_are_planned_in_time_that_grows_with_the_columns(
    make_shop: MakeShop, declared: bool
) -> None:
    """With 300 columns and a bad row Spark never finished planning; the suite's time limit would tell."""
    kinds = ("bigint", "double", "timestamp", "string", "decimal(10,2)")
    texts = ("7", "1.5", "2024-05-31 22:00:00", "a", "2.25")
    names = [f"c{n}" for n in range(300)]
    columns = (
        "columns: {" + ", ".join(f'{n}: "{kinds[i % 5]}"' for i, n in enumerate(names)) + "}"
        if declared
        else ""
    )
    shop = make_shop({"tables/bronze/wide.yaml": ORDERS.split("columns")[0].strip() + f"\n{columns}\n"})
    good = ",".join(texts[i % 5] for i in range(300)) + "\n"
    bad = good.replace("7,", "x,", 1) if declared else good.removesuffix(",2.25\n") + "\n"
    shop.land("landing/1.csv", ",".join(names) + "\n" + good * 5 + bad)
    account = shop.must_run().published["bronze.wide"].account
    assert (account.read, account.inserted, account.quarantined) == (6, 5, 1)
