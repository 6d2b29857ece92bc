"""Columns that only a run finds and that no table can have: refused by name, before anything is made."""

from harness import MakeShop

PYTHON = """
def orders(orders):
    return orders.selectExpr("id", "id AS _pos")
"""


def test_a_python_table_and_files_whose_columns_are_not_declared(make_shop: MakeShop) -> None:
    source = "source:\n  files: {path: landing/NAME/, pattern: '*.csv', format: csv}\n"
    shop = make_shop(
        {
            "tables/bronze/orders.yaml": source.replace("NAME", "orders") + "columns: {id: bigint}\n",
            "tables/bronze/found.yaml": source.replace("NAME", "found"),
            "tables/bronze/added.yaml": source.replace("NAME", "added"),
            "tables/silver/orders.yaml": "inputs: {orders: bronze.orders}\n",
            "tables/silver/orders.py": PYTHON,
        }
    )
    shop.land("landing/orders/1.csv", "id\n1\n")
    shop.land("landing/found/1.csv", "id,_File\n1,x\n")
    shop.land("landing/added/1.csv", "id,_batch\n1,x\n")
    result = shop.run()
    assert list(result.published) == ["bronze.orders"]
    assert {problem.code for problem in result.problems} == {"LS624"}
    assert sorted(
        (str(problem.place and problem.place.file), problem.found) for problem in result.problems
    ) == [
        ("tables/bronze/added.yaml", "_batch"),
        ("tables/bronze/found.yaml", "_File"),
        ("tables/silver/orders.py", "_pos"),
    ]
