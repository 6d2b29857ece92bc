"""On every catalog: people's rows leave every table, file and snapshot, and do not come back."""

import json

import places
import pytest
from harness import fail
from left_behind import mentions
from shared_project import Make, SharedProject
from small_shop import LINES, NEWEST, ORDERS, SUMS, VERSIONS, Order, csv, newest
from soaking import chosen

from lakesmith.execute import faults

pytestmark = pytest.mark.parametrize("place", chosen(places.KINDS, places.EMBEDDED), indirect=True)

ADA = "Ada Lovelace-Byron"
FIRST = (Order(1, ADA, 5, 1), Order(2, "Bo", 7, 1), Order(3, ADA, 11, 1))
SECOND = (Order(2, "Bo", 8, 2), Order(4, "Cy", 13, 1), Order(5, ADA, 1, 2))
OTHERS = tuple(order for order in FIRST + SECOND if order.customer != ADA)
BAD = f"7,{ADA},many,1\n8,Bo,many,1\n"
WHERE = ("--where", f"customer = '{ADA}'", "--yes")


def removing(files: dict[str, str]) -> dict[str, str]:
    """The project, whose landing files go with the people in them."""
    bronze = "tables/bronze/orders.yaml"
    return {**files, bronze: files[bronze].replace("on_changed_file: replace", "on_erase: remove")}


def grown(make: Make, files: dict[str, str]) -> SharedProject:
    shop = make(removing(files))
    shop.take("orders/0.csv", csv(*FIRST) + BAD)
    shop.take("orders/1.csv", csv(*SECOND))
    return shop


def test_nothing_is_left_of_them(make: Make) -> None:
    shop = grown(make, ORDERS | LINES | NEWEST | SUMS | VERSIONS)
    shop.must("tag", "before")
    assert shop.place.is_remote or len(mentions(shop.root, [ADA[:12]])) > 5
    said = shop.must("erase", "bronze.orders", *WHERE, "--json").data
    assert said["done"], said
    bronze = next(each for each in said["tables"] if each["table"] == "bronze.orders")
    assert (bronze["rows"], bronze["bad_rows"]) == (3, 1)
    assert {each["choice"] for each in said["landing"]} == {"remove"}
    shop.require(OTHERS, "bronze.orders", "silver.lines", "silver.newest", "gold.sums")
    assert len(shop.quarantine("bronze.orders")) == 1
    for table in ("bronze.orders", "silver.lines", "silver.newest", "gold.sums"):
        assert set(shop.state(table).snapshots) == set(shop.state(table).refs.values()), table
    shop.must("verify")
    assert shop.must_run().published == {}
    assert ADA not in json.dumps(said)
    assert shop.place.is_remote or mentions(shop.root, [ADA[:12]]) == []


def left_behind(shop: SharedProject, table: str, path: str, name: str) -> str:
    """Writes a second file of the same bytes, as a killed writer leaves one. Returns its path."""
    files = shop.outside(table).io
    there = f"{path.rpartition('/')[0]}/{name}"
    with files.new_input(path).open() as found, files.new_output(there).create() as made:
        made.write(found.read())
    return there


def test_what_killed_writers_left_is_looked_into(make: Make) -> None:
    shop = grown(make, ORDERS | NEWEST | LINES)
    shop.take("orders/2.csv", csv(Order(6, "Di", 2, 1)))
    bronze, silver, nameless = "bronze.orders", "silver.newest", "silver.lines"
    of_lines = dict(shop.sql("SELECT order_id, _file FROM {silver.lines}"))
    files = dict(shop.sql("SELECT order_id, _file FROM {bronze.orders}"))
    manifest, manifest_list = shop.sql(
        "SELECT path, snapshots.manifest_list FROM {bronze.orders}.all_manifests"
        " JOIN {bronze.orders}.snapshots"
        " ON reference_snapshot_id = snapshot_id ORDER BY committed_at LIMIT 1"
    )[0]
    of_silver = shop.sql("SELECT file_path FROM {silver.newest}.all_data_files")[0][0]
    lost = {
        left_behind(shop, bronze, files[FIRST[0].order_id], "lost.parquet"): "has 2 rows of theirs",
        left_behind(shop, silver, of_silver, "lost.orc"): "is not looked into",
        left_behind(shop, nameless, of_lines[1], "of-hers.parquet"): "that the table does not have",
    }
    left_behind(shop, nameless, of_lines[6], "clean.parquet")
    left_behind(shop, bronze, files[6], "clean.parquet")
    # Those of a commit that was never made: they name files that an erasure takes away.
    commit = [
        left_behind(shop, bronze, manifest, "lost.avro"),
        left_behind(shop, bronze, manifest_list, "snap-lost.avro"),
    ]
    ended = shop.call("erase", bronze, *WHERE, "--json")
    assert ended.data.get("done") is False, ended
    said = ended.data["proof"]["left"]
    assert len(said) == len(lost), said
    for path, why in lost.items():
        about = next(line for line in said if path.rpartition("/")[2] in line)
        assert why in about
        assert "lakesmith maintain --remove-orphans" in about
    there = shop.outside(bronze).io
    assert [there.new_input(path).exists() for path in commit] == [False, False]
    for path in lost:
        there.delete(path)
    proof = shop.must("erase", bronze, *WHERE, "--json").data["proof"]
    # On a REST catalog there are others, which are clean as well.
    assert proof["unnamed_files"] >= len(("clean.parquet", "clean.parquet"))
    assert proof["left"] == []


def test_landing_files_are_rewritten_without_them(make: Make) -> None:
    bronze = "tables/bronze/orders.yaml"
    files = removing(ORDERS | NEWEST)
    shop = make({**files, bronze: files[bronze].replace("on_erase: remove", "on_erase: rewrite")})
    texts = {"orders/0.csv": csv(*FIRST) + BAD, "orders/1.csv": csv(*SECOND)}
    for name, text in texts.items():
        shop.take(name, text)
    said = shop.must("erase", "bronze.orders", *WHERE, "--json").data
    assert said["done"], said
    assert {each["choice"] for each in said["landing"]} == {"rewrite"}
    assert shop.rows("bronze.orders") == sorted(OTHERS)
    assert shop.place.is_remote or mentions(shop.root, [ADA[:12]]) == []
    for name, text in texts.items():
        kept = [line for line in text.splitlines(keepends=True) if ADA not in line]
        assert shop.landing_text(name) == "".join(kept)
    assert shop.must_run().published == {}
    shop.must("verify")
    shop.take("orders/2.csv", csv(Order(9, "Di", 1, 1)))
    assert len(shop.rows("bronze.orders")) == len(OTHERS) + 1


def test_one_that_is_killed_after_it_rewrote_a_landing_file_knows_it_again(make: Make) -> None:
    bronze = "tables/bronze/orders.yaml"
    files = removing(ORDERS)
    shop = make({**files, bronze: files[bronze].replace("on_erase: remove", "on_erase: rewrite")})
    shop.take("orders/0.csv", csv(*FIRST))

    faults.arrange("after-delete", fail, "bronze.orders")
    assert shop.call("erase", "bronze.orders", *WHERE).code == 1
    faults.clear()
    assert ADA not in shop.landing_text("orders/0.csv")
    assert [problem.code for problem in shop.run().problems] == ["LS410"], (
        "until it is ended, the file is another one"
    )
    said = shop.must("erase", "bronze.orders", *WHERE, "--json").data
    assert said["done"], said
    assert shop.must_run().published == {}
    assert [row[0] for row in shop.rows("bronze.orders", "customer")] == ["Bo"]


def test_a_landing_file_that_was_changed_since_is_rewritten_as_it_is_now(make: Make) -> None:
    bronze = "tables/bronze/orders.yaml"
    files = removing(ORDERS)
    shop = make({**files, bronze: files[bronze].replace("on_erase: remove", "on_erase: rewrite")})
    shop.take("orders/0.csv", csv(*FIRST))
    shop.land("orders/0.csv", csv(*FIRST) + "somebody's note\n")
    shop.must("erase", "bronze.orders", *WHERE, "--json")
    assert shop.landing_text("orders/0.csv") == csv(FIRST[1]) + "somebody's note\n"
    assert [problem.code for problem in shop.run().problems] == ["LS410"], "it is not what was taken"


def test_a_file_that_was_not_taken_yet_keeps_the_rows_of_others(make: Make) -> None:
    shop = grown(make, ORDERS | NEWEST)
    shop.land("orders/2.csv", csv(Order(6, "Di", 2, 1), Order(7, ADA, 1, 1)))
    said = shop.must("erase", "silver.newest", *WHERE, "--json").data
    removed = {each["file"].rpartition("/")[2]: each["removed"] for each in said["landing"]}
    assert removed == {"0.csv": True, "1.csv": True, "2.csv": False}
    assert shop.landing_text("orders/2.csv") == csv(Order(6, "Di", 2, 1))
    shop.must_run()
    assert shop.rows("bronze.orders") == sorted((*OTHERS, Order(6, "Di", 2, 1)))


def test_an_old_file_that_comes_again_does_not_bring_them_back(make: Make) -> None:
    shop = grown(make, ORDERS | NEWEST)
    shop.must("erase", "silver.newest", *WHERE)
    shop.take("orders/again.csv", csv(*FIRST))
    assert shop.record("bronze.orders").account.filtered == 2
    assert shop.rows("bronze.orders") == sorted((*OTHERS, FIRST[1]))
    assert shop.rows("silver.newest") == newest(OTHERS)
    shop.must("verify")


def test_what_was_partitioned_otherwise_is_left_of_nothing_either(make: Make) -> None:
    bronze = "tables/bronze/orders.yaml"
    shop = make(removing(ORDERS | NEWEST))
    for number, orders in enumerate((FIRST, SECOND)):
        shop.take(f"orders/{number}.csv", csv(*orders))
        fields = ["bucket(2, order_id)", "customer"][number]
        by = f"partition_by: ['{fields}']\n        columns:"
        shop.write({bronze: removing(ORDERS)[bronze].replace("columns:", by)})
    shop.take("orders/2.csv", csv(Order(9, ADA, 1, 1), Order(10, "Di", 1, 1)))
    said = shop.must("erase", "bronze.orders", *WHERE, "--json").data
    assert said["done"], said
    assert shop.place.is_remote or mentions(shop.root, [ADA[:12]]) == []
    shop.must("verify")


def test_people_who_come_back_are_let_in_again(make: Make) -> None:
    shop = make(removing(ORDERS | NEWEST))
    shop.take("orders/0.csv", csv(*FIRST))
    unknown = shop.call("erase", "bronze.orders", *WHERE, "--readmit")
    assert (unknown.code, "LS623" in unknown.err) == (1, True)
    shop.must("erase", "bronze.orders", *WHERE)
    shop.must("erase", "bronze.orders", "--where", "customer = 'Bo'", "--yes")
    shop.must("erase", "bronze.orders", *WHERE, "--readmit")
    again = (Order(7, ADA, 3, 4), Order(8, "Bo", 3, 4))
    shop.take("orders/1.csv", csv(*again))
    assert [row[0] for row in shop.rows("bronze.orders", "customer")] == [ADA]
    assert shop.rows("silver.newest") == newest(again[:1])
    shop.must("verify")


def test_a_column_that_was_renamed_since_does_not_bring_them_back(make: Make) -> None:
    bronze = "tables/bronze/orders.yaml"
    shop = make(removing(ORDERS))
    shop.take("orders/0.csv", csv(*FIRST))
    shop.must("erase", "bronze.orders", *WHERE)
    text = removing(ORDERS)[bronze]
    shop.write({bronze: text.replace("customer: string", "buyer: {type: string, renamed_from: customer}")})
    shop.take("orders/again.csv", csv(*FIRST))
    assert [row[0] for row in shop.rows("bronze.orders", "buyer")] == ["Bo", "Bo"]
    shop.write({bronze: text.replace("customer: string", "buyer: string")})
    shop.take("orders/more.csv", csv(*FIRST).replace("customer", "buyer"))
    assert [row[0] for row in shop.rows("bronze.orders", "buyer")] == ["Bo", "Bo", "Bo"]


@pytest.mark.parametrize(
    "point", chosen(["after-delete", "after-publish", "erase-rewritten", "erase-past"], "after-publish")
)
@pytest.mark.parametrize("table", ["bronze.orders", "silver.newest"])
def test_one_that_is_killed_goes_on_when_it_is_called_again(make: Make, point: str, table: str) -> None:
    shop = grown(make, ORDERS | NEWEST)

    faults.arrange(point, fail, table)
    died = shop.call("erase", "bronze.orders", *WHERE)
    faults.clear()
    if died.code == 0:
        pytest.skip(f"{table} does not come by {point}")
    assert "1 erasure begun and not ended" in shop.must("status").out
    said = shop.must("erase", "bronze.orders", *WHERE, "--json").data
    assert said["done"], said
    assert {each["file"].rpartition("/")[2] for each in said["landing"]} == {"0.csv", "1.csv"}
    assert shop.rows("silver.newest") == newest(OTHERS)
    shop.must("verify")


def test_what_becomes_of_landing_files_has_to_be_said(make: Make) -> None:
    shop = make(ORDERS | NEWEST)
    shop.take("orders/0.csv", csv(*FIRST))
    said = shop.call("erase", "bronze.orders", *WHERE)
    assert (said.code, "LS260" in said.err) == (2, True)
    assert shop.rows("bronze.orders") == sorted(FIRST)


@pytest.mark.parametrize(
    "where", ["amount > 5", "customer LIKE 'A%'", "customer = 'a' OR amount = 1", "nonsense ="]
)
def test_whose_rows_are_meant_is_said_by_values(make: Make, where: str) -> None:
    shop = make(ORDERS)
    said = shop.call("erase", "bronze.orders", "--where", where, "--yes")
    assert (said.code, "LS258" in said.err) == (2, True)
