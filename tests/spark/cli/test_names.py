"""Whatever a YAML file can name works on real tables: words of SQL and YAML, blanks, dots, alphabets."""

import pytest
from harness import MakeShop

pytestmark = pytest.mark.in_turn

ODD = (
    *(
        "select",
        "from",
        "group",
        "null",
        "true",
        "no",
        "values",
        "current_date",
        "lateral",
        "key",
        "value",
        "gone_x",
    ),
    *(
        "order date",
        "a.b",
        "a-b",
        "1st",
        "Größe",
        "UPPER",
        "x__y",
        "a`b",
        "it's",
        'quo"te',
        "back\\slash",
        "a/b",
        "#",
    ),
    *(
        "l" * 200,
        "at",
        "element",
        "end",
        "count",
        "record",
        "name,x",
        "new",
        "old",
        "日本",
        "%41",
        "{x}",
        "${",
        " pad",
    ),
)

SOURCE = """
source:
  null: {{files: {{path: landing/null/, format: csv}}}}
  select: {{files: {{path: landing/select/, format: csv}}}}
columns: {{{columns}}}
partition_by: ["bucket(2, `a.b`)", "`it's`"]
"""

KEYED = """
query: SELECT `select`, `from`, `null`, `order date`, `a.b`, `1st`, `Größe`, `it's`, `lateral`, `#`
  FROM `values`.`select`
key: ["a.b"]
latest_by: ["order date"]
delete_when: "`from` = 'gone'"
rules: |
  Rules = [ ColumnLength "select" < 100, IsComplete "null", ColumnValues "order date" > 0 ]
partition_by: ["Größe"]
"""

GROUPED = """
SELECT `values`.`it's` AS `select`, count(*) AS `count(*)`, max(`a.b`) AS `from`, min(`Größe`) AS `a.b`
FROM silver.`values` GROUP BY `it's`
"""


def _yaml(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _line(cells: list[str]) -> str:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"


def _row(number: int, **others: str) -> str:
    given = {"a.b": f"key {number % 3}", "order date": str(number), "it's": f"g {number % 2}", **others}
    return _line([given.get(name, f"v{number}") for name in ODD])


def test_names_that_a_yaml_file_may_have(make_shop: MakeShop, by_keys: None) -> None:
    columns = ", ".join(f"{_yaml(name)}: {'int' if name == 'order date' else 'string'}" for name in ODD)
    shop = make_shop(
        {
            "tables/values/select.yaml": SOURCE.format(columns=columns),
            "tables/silver/values.yaml": KEYED,
            "tables/silver/history.yaml": KEYED + "history: type2\n",
            "tables/silver/lateral.yaml": "from: values.select\n",
            "tables/gold/with.sql": GROUPED,
            "tables/gold/true.yaml": "inputs: {data: silver.values}\n",
            "tables/gold/true.py": "def true(data):\n    return data.select('`a.b`', '`null`')\n",
        },
        compiled=True,
    )
    shop.land("landing/null/1.csv", _line(list(ODD)) + _row(1) + _row(2) + _row(0, null=""))
    shop.take("landing/select/1.csv", _line(list(ODD)) + _row(3))
    assert shop.rows("silver.values", "`a.b`", "`order date`", "`#`") == [
        ("key 0", 3, "v3"),
        ("key 1", 1, "v1"),
        ("key 2", 2, "v2"),
    ]

    shop.take(
        "landing/select/2.csv",
        _line(list(ODD)) + _row(4, select="x" * 200) + _row(7) + _row(8, **{"from": "gone"}),
    )

    assert shop.rows("silver.values", "`a.b`", "`order date`") == [("key 0", 3), ("key 1", 7)]
    assert shop.count("silver.lateral") == 7
    assert len(shop.rows("silver.history", "`a.b`")) == 4
    assert shop.rows("gold.with", "`select`", "`count(*)`", "`from`", "`a.b`") == [("g 1", 2, "key 1", "v3")]
    assert shop.rows("gold.true", "`a.b`", "`null`") == [("key 0", "v3"), ("key 1", "v7")]
    assert [row["reasons"] for row in shop.quarantine("silver.values")]
    row = shop.frame("values.select").where("`order date` = 7").first()
    assert row is not None
    assert {name: row[name] for name in ODD} == {
        **dict.fromkeys(ODD, "v7"),
        "a.b": "key 1",
        "order date": 7,
        "it's": "g 1",
    }
