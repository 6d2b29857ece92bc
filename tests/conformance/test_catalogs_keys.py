"""Objects whose keys Hadoop takes for patterns or other names: read as they are, and named by each row."""

from shared_project import Make
from small_shop import ORDERS, Order, csv

ODD = (
    "a b.csv",
    "a+b.csv",
    "a%20b.csv",
    "100%.csv",
    "a#b?c=d.csv",
    "12:30.csv",
    "[x]{y}*.csv",
    "[x]12:30.csv",
    "ü漢😀.csv",
    "A.csv",
    "a.csv",
    "dt=1/n.csv",
    "back\\slash.csv",
)


def test_files_with_names_of_any_kind_are_read(make: Make) -> None:
    shop = make(ORDERS)
    for number, name in enumerate(ODD):
        shop.land(f"orders/{name}", csv(Order(number, name, 1, 1)))
    shop.must_run()
    said = shop.must("query", "SELECT order_id, customer, _source_file FROM bronze.orders", "--json").data
    found = {row["order_id"]: (row["customer"], row["_source_file"].partition("orders/")[2]) for row in said}
    assert found == {number: (name, name) for number, name in enumerate(ODD)}
    assert shop.must_run().published == {}
