"""Silent losses at intake: columns spelt otherwise than declared, and files without a header."""

from harness import Harness, MakeShop


def project(make_shop: MakeShop, files: str) -> Harness:
    table = f"source:\n  files: {{path: landing/orders/, {files}}}\ncolumns: {{id: int, name: string}}\n"
    return make_shop({"tables/bronze/orders.yaml": table})


def test_a_file_without_a_header_has_the_declared_columns(make_shop: MakeShop) -> None:
    shop = project(make_shop, "format: csv, header: false")
    shop.take("landing/orders/1.csv", "1,a\n3000000000,b\n")
    assert shop.rows("bronze.orders") == [(1, "a")]
    assert [row["raw"] for row in shop.quarantine("bronze.orders")] == ["3000000000,b"]


def test_json_keys_match_whatever_their_case(make_shop: MakeShop) -> None:
    shop = project(make_shop, "format: json")
    shop.take("landing/orders/1.json", '{"ID": 1, "Name": "a"}\n')
    assert shop.rows("bronze.orders") == [(1, "a")]


def test_parquet_columns_match_whatever_their_case(make_shop: MakeShop) -> None:
    shop = project(make_shop, "format: parquet")
    shop.spark.sql("SELECT 1 AS ID, 'a' AS Name").coalesce(1).write.parquet(str(shop.root / "written"))
    (file,) = (shop.root / "written").glob("*.parquet")
    shop.take("landing/orders/1.parquet", file.read_bytes())
    assert shop.rows("bronze.orders") == [(1, "a")]
