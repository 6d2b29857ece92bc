"""The ways out of quarantine: back through the present definition, exactly once, or away for good."""

from decimal import Decimal
from pathlib import Path

import pytest
from harness import Harness, MakeShop, fail
from nested import notes
from out_of_quarantine import drop, out_of_quarantine, replay

from lakesmith.execute import faults
from lakesmith.plan.steps import BadRows, Strategy
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

SOURCE = "source:\n  files: {path: landing/orders/, pattern: '*.csv', format: csv}\n"
STRICT = (
    SOURCE
    + "columns: {id: bigint, price: 'decimal(10,2)'}\nrules: |\n  Rules = [ ColumnValues \"price\" > 0 ]\n"
)
LENIENT = (
    SOURCE
    + "columns: {id: bigint, price: 'decimal(10,2)'}\nrules: |\n  Rules = [ ColumnValues \"price\" > -10 ]\n"
)
COPY = "SELECT id, price FROM bronze.orders"
FILE = "id,price\n1,1.50\nx,2.00\n3,-1.00\n4,-20.00\n5,1.2345\n"
FILES = {"tables/bronze/orders.yaml": STRICT, "tables/silver/orders.sql": COPY}
TAKEN = {"landing/orders/1.csv": FILE}


def positions(shop: Harness, table: str = "bronze.orders") -> list[int]:
    return [row["source_position"] for row in shop.quarantine(table)]


def test_a_corrected_rule_lets_its_rows_in_once(shop: Harness) -> None:
    assert positions(shop) == [2, 3, 4, 5]
    modified = shop.rows("bronze.orders", "_source_modified_at")
    shop.write({"tables/bronze/orders.yaml": LENIENT})
    record = replay(shop).published["bronze.orders"]
    assert (record.kind, record.batch, record.files) == ("replay", 2, 0)
    account = record.account
    assert (account.read, account.inserted, account.quarantined) == (4, 1, 3)
    assert (account.rows_before, account.rows_after) == (1, 2)
    rows = shop.rows("bronze.orders", "id", "_source_file", "_source_position", "_batch")
    assert rows == [(1, "landing/orders/1.csv", 1, 1), (3, "landing/orders/1.csv", 3, 1)]
    assert shop.rows("bronze.orders", "_source_modified_at") == modified * 2
    reasons = {row["source_position"]: row["reasons"] for row in shop.quarantine("bronze.orders")}
    assert reasons == {
        2: ["id: not a bigint: 'x'"],
        4: ['ColumnValues "price" > -10'],
        5: ["price: not a decimal(10,2): '1.2345' (it has more than 2 digits after the point)"],
    }
    assert {row["batch"] for row in shop.quarantine("bronze.orders")} == {1}
    assert record.checks == {'ColumnValues "price" > -10': 1}
    # Replayed again: nothing changes, and nothing is in twice.
    again = replay(shop).published["bronze.orders"].account
    assert (again.read, again.inserted, again.quarantined) == (3, 0, 3)
    assert shop.count("bronze.orders") == 2
    # Downstream sees an appended row.
    below = shop.must_run("silver.orders").published["silver.orders"]
    assert (below.kind, below.account.read, below.account.inserted) == ("append", 1, 1)
    assert [row[0] for row in shop.rows("silver.orders", "id")] == [1, 3]
    # The next file is taken as ever.
    shop.take("landing/orders/2.csv", "id,price\n6,6\n")
    assert [row[0] for row in shop.rows("silver.orders", "id")] == [1, 3, 6]


def test_a_replayed_row_keeps_its_arrival_in_ties(make_shop: MakeShop) -> None:
    """The oracle is a table whose rows were never in quarantine, as the rule is on silver."""
    silver = {
        "tables/silver/prices.yaml": "key: [id]\nlatest_by: [at]\n",
        "tables/silver/prices.sql": "SELECT id, at, price FROM bronze.orders",
    }
    source = SOURCE + "columns: {id: bigint, at: bigint, price: int}\n"
    rule = 'rules: |\n  Rules = [ ColumnValues "price" < %s ]\n'
    shop = make_shop({"tables/bronze/orders.yaml": source + rule % 200, **silver})
    # Of key 1 the earlier version was bad, of key 2 the later one; key 3 has two of them in one file.
    shop.take("landing/orders/1.csv", "id,at,price\n1,1,250\n2,1,20\n3,1,300\n3,1,30\n")
    shop.take("landing/orders/2.csv", "id,at,price\n1,1,99\n2,1,400\n")
    began = dict(shop.rows("bronze.orders", "_batch", "_ingested_at"))
    shop.write({"tables/bronze/orders.yaml": source + rule % 1000})
    replay(shop)
    shop.must_run()
    assert shop.rows("silver.prices", "id", "price") == [(1, 99), (2, 400), (3, 30)]
    shop.must_verify("silver.prices")
    arrived = shop.rows("bronze.orders", "price", "_batch", "_ingested_at")
    assert [(price, batch) for price, batch, _ in arrived] == [
        (20, 1), (30, 1), (99, 2), (250, 1), (300, 1), (400, 2)
    ]  # fmt: skip
    assert {at for _, batch, at in arrived if batch == 1} == {began[1]}


def test_a_corrected_type_lets_texts_be_parsed_again(shop: Harness) -> None:
    shop.write({"tables/bronze/orders.yaml": STRICT.replace("decimal(10,2)", "decimal(12,2)")})
    account = replay(shop).published["bronze.orders"].account
    assert (account.read, account.inserted, account.quarantined) == (4, 0, 4)


def test_only_the_rows_that_are_meant(shop: Harness) -> None:
    shop.take("landing/orders/2.csv", "id,price\n7,-2\n")
    shop.write({"tables/bronze/orders.yaml": LENIENT})
    account = replay(shop, BadRows(batch=2)).published["bronze.orders"].account
    assert (account.read, account.inserted) == (1, 1)
    account = replay(shop, BadRows(file="1.csv", reason='PRICE" >')).published["bronze.orders"].account
    assert (account.read, account.inserted, account.quarantined) == (2, 1, 1)
    result = out_of_quarantine(shop, "bronze.orders", Strategy.REPLAY, BadRows(file="3.csv"))
    assert (result.code, [problem.code for problem in result.problems]) == (2, ["LS225"])


def test_dropped_rows_are_gone_and_on_record(shop: Harness) -> None:
    before = shop.rows("bronze.orders", "id", "_batch")
    record = drop(shop, BadRows(reason="decimal")).published["bronze.orders"]
    assert (record.kind, record.account.read, record.account.rows_after) == ("drop", 0, 1)
    assert record.notes == ("1 row was dropped from quarantine (reason 'decimal')",)
    assert positions(shop) == [2, 3, 4]
    assert shop.rows("bronze.orders", "id", "_batch") == before
    assert drop(shop).published["bronze.orders"].notes == ("3 rows were dropped from quarantine (all rows)",)
    assert positions(shop) == []
    events = out_of_quarantine(shop, "bronze.orders", Strategy.DROP).events
    assert [getattr(event, "reason", "") for event in events][1] == "nothing is in its quarantine"
    # The record still says what was taken, so nothing is read again.
    assert shop.must_run("bronze.orders").published == {}


def test_a_drop_does_not_pass_for_a_changed_definition(shop: Harness) -> None:
    shop.redefine({"tables/silver/orders.yaml": "rules: 'Rules = [ ColumnValues \"id\" > 1 ]'\n"})
    assert shop.rows("silver.orders", "id") == []
    shop.write({"tables/silver/orders.yaml": "rules: 'Rules = [ ColumnValues \"id\" > 0 ]'\n"})
    drop(shop, table="silver.orders")
    assert shop.must_run("silver.orders").published["silver.orders"].kind == "full"
    assert shop.rows("silver.orders", "id") == [(1,)]


def test_what_another_engine_did_is_not_hidden_by_a_drop(shop: Harness) -> None:
    """The record of a drop would stand behind the foreign change, which no run would see any more."""
    shop.write({"tables/silver/orders.yaml": "rules: 'Rules = [ ColumnValues \"id\" > 1 ]'\n"})
    shop.take("landing/orders/2.csv", "id,price\n7,1.00\n")
    shop.spark.sql("UPDATE lake.silver.orders SET price = 9 WHERE id = 7")
    (problem,) = out_of_quarantine(shop, "silver.orders", Strategy.DROP).problems
    assert problem.code == "LS509"
    full = shop.must_run().published["silver.orders"]
    dropped = drop(shop, table="silver.orders").published["silver.orders"]
    assert (full.kind, dropped.kind) == ("full", "drop")
    assert dropped.inputs == full.inputs, "nothing was read of them"
    assert shop.rows("silver.orders", "id", "price") == [(7, Decimal("1.00"))]


# What is replayed is what would have been taken, had the definition been right from the start.

RULE = "rules: 'Rules = [ ColumnValues \"id\" < 5000000000 ]'\n"
NESTED = "array<struct<at: timestamp, sums: map<int, decimal(9,3)>>>"


def source(format_: str, columns: str, more: str = "", rules: str = "") -> str:
    files = f"{{path: landing/orders/, format: {format_}{more}}}"
    return f"source:\n  files: {files}\ncolumns: {{{columns}}}\n{rules}"


TEXTS = {
    "a type too narrow": (
        "1.csv",
        "id,amount,note\n1,1.5,ok\n3000000000,2.5,'x'\n7,123456.78,\n8,9.999,\n",
        source("csv", 'id: int, amount: "decimal(5,2)", note: string'),
        source("csv", 'id: bigint, amount: "decimal(8,2)", note: string'),
    ),
    "columns in another order, one not declared": (
        "1.csv",
        "note,id,amount\nan extra,x,1\nfine,2,y\n,3,NA\n",
        source("csv", "id: bigint, amount: bigint", ", on_new_column: ignore"),
        source("csv", "id: bigint, amount: bigint", ", on_new_column: ignore, null_value: NA"),
    ),
    "dates as they are written": (
        "1.tsv",
        'id\tat\n1\t31.12.2024 23:59\n2\t"01.02.2025 00:00"\n3\t32.02.2025 00:00\n',
        source("tsv", "id: bigint, at: timestamp"),
        source("tsv", "id: bigint, at: timestamp", ', timestamp_format: "dd.MM.yyyy HH:mm"'),
    ),
    "line breaks and quotes": (
        "1.csv",
        'id,note\n3000000000,"two\nlines, ""quoted"""\n2,"open\n',
        source("csv", "id: int, note: string", ", multiline: true"),
        source("csv", "id: bigint, note: string", ", multiline: true"),
    ),
    "JSON lines": (
        "1.json",
        '{"id": 3000000000, "n": {"a": [1.10, null]}}\n{"id": "x"}\n{"id": 4, "n": {"a": [1.1234]}}\n'
        "nothing\n",
        source("json", 'id: int, n: "struct<a: array<decimal(5,2)>>"'),
        source("json", 'id: bigint, n: "struct<a: array<decimal(5,2)>>"'),
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_texts_are_read_as_at_intake(tmp_path: Path, session: SessionHandle, case: str) -> None:
    file, text, wrong, right = TEXTS[case]
    replayed = Harness(tmp_path / "shop", session, {"tables/bronze/orders.yaml": wrong})
    replayed.take(f"landing/orders/{file}", text)
    assert replayed.quarantine("bronze.orders")
    direct = replayed.copy(tmp_path / "direct")
    require_same(replayed, direct, right)


def test_rows_with_types_come_back_exactly(tmp_path: Path, session: SessionHandle) -> None:
    """A Parquet file: rows that break a rule, and rows with a number that its column does not hold."""
    columns = (
        'id: {id}, d: double, price: "decimal(20,5)", at: timestamp, local: timestamp_ntz, day: date,'
        f' bytes: binary, name: string, nested: "{NESTED}", flag: boolean, f: float'
    )
    wrong = source("parquet", columns.format(id="int"), rules=RULE.replace("5000000000", "1"))
    right = source("parquet", columns.format(id="bigint"), rules=RULE)
    replayed = Harness(tmp_path / "shop", session, {"tables/bronze/orders.yaml": wrong})
    write_parquet(replayed)
    replayed.must_run()
    kept = [row["raw"] is not None for row in replayed.quarantine("bronze.orders")]
    assert (sum(kept), len(kept)) == (2, 4)
    direct = replayed.copy(tmp_path / "direct")
    require_same(replayed, direct, right)
    assert replayed.count("bronze.orders") == 4


def write_parquet(shop: Harness) -> None:
    nested = (
        "array(named_struct('at', timestamp'2024-01-02 03:04:05.000001', 'sums', map(7, 1.234BD, 8,"
        " NULL)), NULL)"
    )
    values = [
        f"{number} AS id, {double} AS d, 123456789012345.12345BD AS price, timestamp'{at}' AS at,"
        f" timestamp_ntz'{at}' AS local, date'1582-10-10' AS day, X'00FF' AS bytes, {name} AS name,"
        f" cast({nested} AS {NESTED}) AS nested, cast(NULL AS boolean) AS flag, 0.1f AS f"
        for number, double, at, name in (
            ("0L", "0.1d", "2024-01-02 03:04:05.123456", "'plain'"),
            ("2L", "double('NaN')", "1899-12-31 23:59:59.999999", "'q\"\\n\\u0000é😀'"),
            ("3L", "double('-Infinity')", "9999-12-31 00:00:00.1", "''"),
            ("3000000000L", "4.9E-324d", "2024-01-02 03:04:05", "NULL"),
            ("6000000000L", "-0.0d", "2024-01-02 03:04:05", "'too large'"),
        )
    ]
    frame = shop.spark.sql(" UNION ALL ".join(f"SELECT {value}" for value in values)).coalesce(1)
    frame.write.parquet(str(shop.root / "written"))
    (file,) = (shop.root / "written").glob("*.parquet")
    shop.land("landing/orders/1.parquet", file.read_bytes())


def require_same(replayed: Harness, direct: Harness, right: str) -> None:
    """``replayed`` took its files as they were declared before; ``direct`` has taken none of them yet."""
    for shop in (replayed, direct):
        shop.write({"tables/bronze/orders.yaml": right})
    account = replay(replayed).published["bronze.orders"].account
    assert account.inserted > 0
    direct.must_run()
    names = [name for name in direct.frame("bronze.orders").columns if name not in ("_batch", "_ingested_at")]
    assert repr(replayed.rows("bronze.orders", *names)) == repr(direct.rows("bronze.orders", *names))
    assert still_bad(replayed) == still_bad(direct)


def still_bad(shop: Harness) -> list[tuple[int, list[str]]]:
    return [(row["source_position"], row["reasons"]) for row in shop.quarantine("bronze.orders")]


def test_bytes_that_were_no_text_stay(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": STRICT})
    shop.take("landing/orders/1.csv", b"id,price\n1,1\n2\xff,2\n")
    shop.write({"tables/bronze/orders.yaml": STRICT.replace("csv}", "csv, encoding: ISO-8859-1}")})
    record = replay(shop).published["bronze.orders"]
    assert (record.account.read, record.account.quarantined) == (1, 1)
    assert record.notes == (
        "1 row stays, because it cannot be read from quarantine: its bytes were no valid text, or its source"
        " is gone",
    )
    assert shop.quarantine("bronze.orders")[0]["reasons"] == ["not valid UTF-8"]


def test_rows_of_two_sources_are_read_by_their_own(make_shop: MakeShop) -> None:
    def table(price: str) -> str:
        return (
            "source:\n"
            "  shop: {files: {path: landing/shop/, format: csv, delimiter: ';'}}\n"
            "  web: {files: {path: landing/web/, format: json}}\n"
            f"columns: {{id: {price}, name: string}}\n"
        )

    shop = make_shop({"tables/bronze/orders.yaml": table("int")})
    shop.land("landing/shop/1.csv", "name;id\nann;3000000000\nbob;x\n")
    shop.take("landing/web/1.json", '{"ID": 3000000001, "name": "cid"}\n')
    shop.write({"tables/bronze/orders.yaml": table("bigint")})
    account = replay(shop).published["bronze.orders"].account
    assert (account.read, account.inserted, account.quarantined) == (3, 2, 1)
    assert shop.rows("bronze.orders", "id", "name", "_source_file", "_source_position") == [
        (3000000000, "ann", "landing/shop/1.csv", 1),
        (3000000001, "cid", "landing/web/1.json", 1),
    ]


def test_a_renamed_column_is_said(shop: Harness) -> None:
    shop.write({"tables/bronze/orders.yaml": STRICT.replace("price", "cost")})
    record = replay(shop).published["bronze.orders"]
    assert "not in the files, null in their rows: cost" in record.notes


@pytest.mark.parametrize(
    "point", ["after-delete", "after-data", "after-quarantine", "before-publish", "after-publish"]
)
def test_a_replay_that_fails_is_made_again_once(shop: Harness, point: str) -> None:
    shop.write({"tables/bronze/orders.yaml": LENIENT})

    faults.arrange(point, fail)
    assert out_of_quarantine(shop, "bronze.orders", Strategy.REPLAY).code == 1
    faults.clear()
    was_published = point == "after-publish"
    assert positions(shop) == ([2, 4, 5] if was_published else [2, 3, 4, 5])
    assert replay(shop).published["bronze.orders"].account.inserted == (0 if was_published else 1)
    assert shop.rows("bronze.orders", "id") == [(1,), (3,)]
    assert positions(shop) == [2, 4, 5]


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "America/New_York"])
def test_moments_from_before_zones_were_whole_minutes_apart_come_back(shop: Harness, zone: str) -> None:
    times = "source:\n  files: {path: landing/times/, format: csv}\ncolumns: {id: int, born: timestamp}\n"
    rules = 'rules: |\n  Rules = [ ColumnValues "id" > %d ]\n'
    shop.write({"tables/bronze/times.yaml": times + rules % 5})
    shop.land(
        "landing/times/1.csv",
        "id,born\n1,0001-01-02 00:00:00\n2,1850-06-01 12:00:00\n9,1850-06-01 12:00:00\n",
    )
    before = shop.spark.conf.get("spark.sql.session.timeZone")
    shop.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        shop.must_run("bronze.times")
        shop.write({"tables/bronze/times.yaml": times + rules % 0})
        replay(shop, table="bronze.times")
        texts = shop.frame("bronze.times").selectExpr("id", "CAST(born AS string) AS born").collect()
    finally:
        shop.spark.conf.set("spark.sql.session.timeZone", before)
    assert sorted(map(tuple, texts)) == [
        (1, "0001-01-02 00:00:00"),
        (2, "1850-06-01 12:00:00"),
        (9, "1850-06-01 12:00:00"),
    ]


def test_rounded_values_are_counted_and_said_and_so_are_those_of_a_replay(make_shop: MakeShop) -> None:
    table = """
        source:
          files:
            {path: landing/, format: json, on_inexact: POLICY,
             timestamp_format: "dd.MM.yyyy HH:mm:ss.SSSSSSSSS"}
        columns: {id: int, price: "decimal(10,2)", at: timestamp, n: "struct<d:double>"}
        """
    shop = make_shop({"tables/bronze/t.yaml": table.replace("POLICY", "quarantine")})
    late = '{"id": 4, "price": 1.005, "at": "03.01.2024 10:00:00.1234567"}\n'
    first = shop.take("landing/1.json", late)
    assert not any("rounded" in note for note in notes(first, "bronze.t"))
    assert [row["reasons"] for row in shop.quarantine("bronze.t")] == [
        [
            "price: not a decimal(10,2): '1.005' (it has more than 2 digits after the point)",
            "at: not a timestamp: '03.01.2024 10:00:00.1234567' (it has more than six digits of a second)",
        ]
    ]
    shop.write({"tables/bronze/t.yaml": table.replace("POLICY", "round")})
    more = (
        '{"id": 1, "price": 1.5, "at": "01.01.2024 10:00:00.1"}\n'
        '{"id": 2, "price": 2.999, "n": {"d": 1e-400}}\n{"id": "x", "price": 2.999}\n'
    )
    result = shop.take("landing/2.json", more)
    assert "rounded (on_inexact: round): price in 1 row, n in 1 row" in notes(result, "bronze.t")
    account = shop.record("bronze.t").account
    assert (account.read, account.inserted, account.quarantined, account.rounded) == (3, 2, 1, 1)
    replay(shop, BadRows(reason="digits"), "bronze.t")
    assert "rounded (on_inexact: round): price in 1 row, at in 1 row" in shop.record("bronze.t").notes
    found = [
        (id_, str(price), at and at.microsecond)
        for id_, price, at in shop.rows("bronze.t", "id", "price", "at")
    ]
    assert found == [(1, "1.50", 100000), (2, "3.00", None), (4, "1.01", 123456)]
