"""Whole numbers beside decimals keep their digits in JSON, at every depth, as in Python's ``json``."""

import json
from decimal import Decimal
from typing import Any

from harness import Harness, MakeShop
from nested import reasons, source, types

BIGINT, ODD, LARGE = 9223372036854775807, 9007199254740993, 12345678901234567890123
INFERRED = {"tables/bronze/t.yaml": "source:\n  files: {path: landing/t/, format: json}\n"}


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def landed(text: str) -> dict[int, Any]:
    """Rows as Python reads them: ``id`` -> the row, numbers as decimals."""
    rows = [json.loads(line, parse_float=Decimal, parse_int=Decimal) for line in text.splitlines()]
    return {int(row.pop("id")): row for row in rows}


def stored(shop: Harness) -> dict[int, Any]:
    """The table's rows in the same way; numbers in texts are numbers."""
    names = ["id", *types(shop, "bronze.t")]
    rows = [row.asDict(recursive=True) for row in shop.frame("bronze.t").select(*names).collect()]
    return {row.pop("id"): _plain(row) for row in rows}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: each for name, it in value.items() if (each := _plain(it)) is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return Decimal(repr(value)) if isinstance(value, float) else value and Decimal(value)


FIRST = lines(
    '{"id":1,"top":1.5,"l":[1.5],"o":{"ref":1.5,"in":[{"r":0.5}]},"m":[[1],[2.5]],"plain":[0.25,1e22]}',
    f'{{"id":2,"top":{BIGINT},"l":[{BIGINT},{ODD}],"o":{{"ref":{LARGE},"in":[{{}},{{"r":{ODD}}}]}},'
    f'"m":[[],[{LARGE}]],"plain":[7,9007199254740994]}}',
)


def test_whole_numbers_beside_decimals_keep_their_digits_at_every_depth(make_shop: MakeShop) -> None:
    shop = make_shop(INFERRED)
    shop.take("landing/t/1.json", FIRST)
    assert types(shop, "bronze.t") == {
        "top": "string",
        "l": "array<string>",
        "o": "struct<in:array<struct<r:string>>,ref:string>",
        "m": "array<array<string>>",
        "plain": "array<double>",
    }
    assert stored(shop) == landed(FIRST)


def test_columns_and_fields_that_later_files_bring_keep_them_as_well(make_shop: MakeShop) -> None:
    shop = make_shop(INFERRED)
    shop.take("landing/t/1.json", lines('{"id":1,"o":{"a":1},"p":[{"a":1}]}'))
    later = lines(
        f'{{"id":2,"n":[1.5],"o":{{"x":1.5}},"p":[{{"x":[1.5]}}],"q":{{"r":{ODD}}},"plain":{{"x":1.5}}}}',
        f'{{"id":3,"n":[{BIGINT}],"o":{{"x":{LARGE}}},"p":[{{"x":[{ODD}]}}],"q":{{"r":1.5}}}}',
    )
    shop.take("landing/t/2.json", later)
    assert types(shop, "bronze.t") == {
        "o": "struct<a:bigint,x:string>",
        "p": "array<struct<a:bigint,x:array<string>>>",
        "n": "array<string>",
        "q": "struct<r:string>",
        "plain": "struct<x:double>",
    }
    found = stored(shop)
    assert {id_: found[id_] for id_ in (2, 3)} == landed(later)


def test_a_whole_number_that_an_inferred_double_would_change_is_set_aside(make_shop: MakeShop) -> None:
    """The type was a guess from other files; a declared double is what its user asked for."""
    shop = make_shop(INFERRED)
    shop.take("landing/t/1.json", lines('{"id":1,"top":1.5,"l":[1.5],"o":{"ref":1.5,"in":[{"r":0.5}]}}'))
    later = lines(
        # Their digits are those of their doubles.
        '{"id":2,"top":9007199254740992,"l":[123456789012345680000,-3],"o":{"ref":1e300}}',
        f'{{"id":3,"top":{ODD}}}',
        f'{{"id":4,"l":[2.5,{BIGINT}]}}',
        f'{{"id":5,"o":{{"ref":{LARGE}}}}}',
        f'{{"id":6,"o":{{"in":[{{"r":-{ODD}}}]}}}}',
    )
    shop.take("landing/t/2.json", later)
    held = {id_: row for id_, row in landed(later).items() if id_ == 2}
    assert {id_: row for id_, row in stored(shop).items() if id_ > 1} == held
    assert reasons(shop, "bronze.t") == {
        3: [f"top: not a double: '{ODD}' (it has digits that a double does not hold)"],
        4: [f"l: not an array<double>: '[2.5,{BIGINT}]' (a number has digits that its type does not hold)"],
        5: [
            f"o: not a struct<in:array<struct<r:double>>,ref:double>: '{{\"ref\":{LARGE}}}'"
            " (a number has digits that its type does not hold)"
        ],
        6: [
            f'o: not a struct<in:array<struct<r:double>>,ref:double>: \'{{"in":[{{"r":-{ODD}}}]}}\''
            " (a number has digits that its type does not hold)"
        ],
    }


def test_a_declared_double_takes_the_nearest_number(make_shop: MakeShop) -> None:
    shop = make_shop(source("t", "json", "evolve", {"top": "double", "l": "map<string,double>"}))
    shop.take("landing/t/1.json", lines(f'{{"id":1,"top":{ODD},"l":{{"a":{BIGINT}}}}}'))
    assert shop.rows("bronze.t", "top", "l") == [(float(ODD), {"a": float(BIGINT)})]


def test_an_inferred_column_of_csv_keeps_the_same_rule(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/t.yaml": "source:\n  files: {path: landing/t/, format: csv}\n"})
    shop.take("landing/t/1.csv", f"id,a,b\n1,1.5,1.5\n2,{ODD},9007199254740992\n")
    assert types(shop, "bronze.t") == {"a": "string", "b": "double"}
    shop.take("landing/t/2.csv", f"id,a,b\n3,{LARGE},{ODD}\n4,{LARGE},123456789012345680000\n")
    assert shop.rows("bronze.t", "id", "a", "b") == [
        (1, "1.5", 1.5),
        (2, str(ODD), 9007199254740992.0),
        (4, str(LARGE), 1.2345678901234568e20),
    ]
    (bad,) = shop.quarantine("bronze.t")
    assert bad["reasons"] == [f"b: not a double: '{ODD}' (it has digits that a double does not hold)"]
