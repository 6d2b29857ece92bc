"""Very many small files in one run: each is taken once, and its rows say which file they came from."""

import pytest
from harness import MakeShop

pytestmark = pytest.mark.in_turn

FILES = 10_000
BRONZE = """
    source:
      files: {path: landing/, pattern: "*.csv", format: csv}
    columns: {id: bigint, city: string}
"""


def test_ten_thousand_files_in_one_run(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": BRONZE})
    for number in range(FILES):
        shop.land(f"landing/{number % 100:02}/{number}.csv", f"id,city\n{number},Oslo\n{number},Bergen\n")
    record = shop.must_run().published["bronze.orders"]
    assert (record.files, record.account.read, record.account.inserted) == (FILES, 2 * FILES, 2 * FILES)
    (found,) = shop.spark.sql(
        "SELECT count(DISTINCT _source_file) AS files, count(DISTINCT id) AS ids, sum(id) AS total,"
        " count_if(_source_file <> concat('landing/', lpad(id % 100, 2, '0'), '/', id, '.csv')) AS strange,"
        " count_if(_source_position <> IF(city = 'Oslo', 1, 2)) AS misplaced FROM lake.bronze.orders"
    ).collect()
    assert found.asDict() == {
        "files": FILES, "ids": FILES, "total": FILES * (FILES - 1), "strange": 0, "misplaced": 0,
    }  # fmt: skip
    assert shop.must_run().published == {}
    shop.land("landing/late.csv", "id,city\n1,Alta\n", modified_ns=10**18)
    assert shop.must_run().published["bronze.orders"].files == 1
    assert shop.count("bronze.orders") == 2 * FILES + 1
