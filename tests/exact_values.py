"""The rules of exactness, case by case: a type, a JSON text, and whether it is exactly a value of the type.

One table for the two that judge events: the intake, in Python, and the batch, in Spark.
"""

import json
from functools import partial
from random import Random

from lakesmith.project.spark_types import SqlType

_LONG = "1" * 40

EXACT: dict[str, list[str]] = {
    "int": ["0", "-0", "7", "1.0", "-7.000", "2147483647", "-2147483648", "null"],
    "bigint": ["9223372036854775807", "-9223372036854775808", "9223372036854775807.0", "0.0"],
    "double": ["1", "1.5", "1e308", "-1e-300", "0", "-0.0", "0.0e-400", "4.9e-324", "0.12345678901234567890",
        "1E5", _LONG],
    "float": ["1", "3.4e38", "0.1", "16777217", "1e-45", "123456789.123"],
    "decimal(10,2)": [
        "1", "1.5", "99999999.99", "-99999999.99", "1.50000", "1e2", "12E-1", "0", "-0.00", "0e5",
        f"1.{'0' * 50}", '"12.50"', '"-3"', '"+1.5"', '"1."', '".5"', '"1e2"', '"007"',
    ],
    "decimal(38,0)": ["9" * 38, "1.0", "1e37"],
    "decimal(38,38)": [f"0.{'9' * 38}", "1e-38"],
    "boolean": ["true", "false"],
    "string": [
        '"a"', '""', '"\\u00e9"', '"\\ud83d\\ude00"', "5", "-0", "1.5", "1.50", "true",
        "12345678901234567890", "1e5", '{"a":1}', "[1,null]", '{"a":[1.5,"x"]}', '"12345678901234567890.123"',
        '"Infinity"', "0.0", "0e7", "1e6", "0.001", '{"a":{"b":"1e999"}}', '"1.5"', "[]",
    ],
    "binary": ['"QUI="', '"QQ=="', '""', '"QUJD"', '"QQ==QQ=="', '" QUJD"'],
    "date": [
        '"2024-02-29"', '"2024-2-9"', '" 2024-02-29 "', '"2024-02-29 00:00"', '"2024-02-29T00:00:00"',
        '"2024-02-29 00:00:00.000"', '"0001-01-01"', '"9999-12-31"', '"2024-02-29T0:00"',
    ],
    "timestamp": [
        '"2024-02-29"', '"2024-02-29 "', '"2024-02-29T10:15:00Z"', '"2024-02-29 10:15:00.123456"',
        '"2024-02-29T10:15:00+02:00"', '"2024-02-29T10:15:00.1234560-0530"', '"2024-02-29T10:15"',
        '"2024-2-9 1:2:3"', '"2024-02-29 10:15:00 UTC"', '"2024-02-29T10"', '"2024-02-29T10:15:00.Z"',
        '"2024-02-29T23:59:59.999999+18:00"',
    ],
    "timestamp_ntz": ['"2024-02-29"', '"2024-02-29T10:15:00"', '"2024-02-29 10:15:00.123456"',
        '"2024-02-29T10:15"', '"2024-02-29 1"'],
    "array<int>": ["[]", "[1,2.0,null]"],
    "array<string>": ['["a",1,null,{"b":1}]'],
    "array<array<decimal(5,1)>>": ['[[1.5,"2.5"],[],null]'],
    "map<string,int>": ["{}", '{"a":1,"":null,"A":2.00}'],
    "map<string,timestamp>": ['{"a":"2024-02-29T10:15:00Z"}'],
    "map<string,double>": ['{"a":1e-3,"b":0}'],
    "struct<a:int,b:string>": ["{}", '{"a":1}', '{"b":"x","a":2.0}', '{"a":null,"b":5}', '{"b":{"c":1}}'],
    "struct<p:array<struct<q:decimal(5,1)>>>": ['{"p":[{"q":1.5},{},null,{"q":"1.5"}]}'],
}  # fmt: skip
"""Exactly values of the type."""

NOT_EXACT: dict[str, list[str]] = {
    "int": [
        "1.5", "1e2", "1.0e0", "10e-1", "2147483648", "-2147483649", '"1"', '""', '"1.0"', "true", "[]",
        "[1]", "{}", "1.0000001", "2147483648.0", _LONG, f"1.{'0' * 30}1",
    ],
    "bigint": ["9223372036854775808", "9223372036854775808.0", "9223372036854775807.5", '"x"', "false",
        _LONG],
    "double": ["1e309", "-1e309", "1e-400", '"1.5"', '"NaN"', '"Infinity"', "true", '""', "[1.5]",
        f"0.{'0' * 400}1"],
    "float": ["1e308", "3.5e38", "1e-60", '"1"', "-1e39"],
    "decimal(10,2)": [
        "100000000", "1.239", "1.001", "99999999.999", "1e8", "1e-3", "1e400", "1e-400", '"1,50"', '",5"',
        '"5,"', '"a"', '""', '" 1"', '"1 "', "true",
        '"1.239"', '"NaN"', '"1e"', '"0x1"', '"1.5.1"', "[1]", "{}", f"1.{'0' * 40}1", '"--1"', '"1d"',
    ],
    "decimal(38,0)": ["1" + "0" * 38, "0.5", "1e38"],
    "decimal(38,38)": ["1", "1e-39", f"0.{'9' * 39}"],
    "boolean": ["0", "1", '"true"', '""', "[true]", '"t"'],
    "string": [
        "1e22", "1e7", "0.0001", "[1e-5]", "1e999", "1e-400", "0.1000000000000000000000001",
        "12345678901234567890.123", "[1e999]", "[1.00000000000000000001]", '{"a":{"b":[0.5,1e-400]}}',
        '{"a":1,"a":2}', '[{"a":1,"a":1}]', '{"a":"x","b":12345678901234567890.5}',
    ],
    "binary": ['"QQ"', '"QQ="', '"="', '"a"', '"Q-J_"', "5", "true", '"QUI=="', "[]"],
    "date": [
        '"2024-02-30"', '"2024"', '"2024-02"', '"2024-02-29x"', '"2024-02-29 10:00:00"', '"20240229"',
        "20240229", '""', '"20240-1-02"', '"2024-02-29T00:00:00Z"', '"2024-02-29 00:00:00.001"',
        '"+2024-1-02"', "true", "{}", '"2024-02-29T"', '"24-02-29"', '"0000-01-01"',
    ],
    "timestamp": [
        '"yesterday"', '"12:30"', '"202401"', '"20240229T101500Z"', "1704067200", '"2024-02-29T24:00:00"',
        '"2024-02-29T10:60:00"', '"2024-02-29 10:15:00.1234567"', '"2024-02-29T10:15Z"',
        '"2024-02-29T10:15:60Z"', '"2024-02-29T10:15:00+19:00"', '""', '"2024-02-29T"',
        '"2024-02-30T10:15:00Z"', '"2024-02-29T10:15:00 Nowhere/Land"', '"2024-02-29T10:15:00,5Z"',
        '"2024-W09-4"', "[]", "true", '"2024-02-29T10:15:00Zx"', '"2024-02-29T10:15:00 BST"',
        '"2024-02-29T10:15:00 Europe/Paris"', '"2024-02-29T10:15:00+2"', '"2024-02-29T10:15:00+02:60"',
        '"2024-02-29T10:15:00-18:01"', '"0000-01-01T00:00:00Z"', '"0001-01-01T00:00:00+05:00"',
        '"9999-12-31T23:59:59-05:00"', '"2024-02-29T10:15:00z"',
    ],
    "timestamp_ntz": ['"2024-02-29T10:15:00Z"', '"0000-01-01T00:00:00"', '"2024-02-29T10:15:00+02:00"',
        '"2024-02-29 10:15:00.1234567"', '"12:30"', "5", '""'],
    "array<int>": ['["1"]', "[1.5]", "[1e2]", "{}", "5", '"[1]"', "[[1]]", "[2147483648]", "[true]",
        '[1,""]'],
    "array<string>": ['"a"', "[[1.00000000000000000001]]", "{}", "[1e999]"],
    "array<array<decimal(5,1)>>": ["[[1.55]]", '[["1,5"]]', "[1.5]", "[[10000]]", '[["x"]]'],
    "map<string,int>": ['{"a":"1"}', '{"a":1.5}', "[]", '{"a":1,"a":1}', '{"a":1,"\\u0061":2}', "5",
        '{"a":[]}'],
    "map<string,timestamp>": ['{"a":"2024-02-29T25:00:00Z"}', '{"a":5}'],
    "map<string,double>": ['{"a":1e999}', '{"a":1e-400}', '{"a":"1"}'],
    "struct<a:int,b:string>": [
        '{"c":1}', '{"a":1,"c":null}', "[]", "5", '"x"', '{"A":1}', '{"a":1,"a":1}', '{"a":"1"}',
        '{"b":1e999}', '[{"a":1}]',
    ],
    "struct<p:array<struct<q:decimal(5,1)>>>": ['{"p":[{"r":1}]}', '{"p":[{"q":1.55}]}',
        '{"p":[{"q":"1,5"}]}', '{"p":{"q":1}}', '{"p":[{"q":1,"q":1}]}'],
}  # fmt: skip
"""No values of the type, or with digits that it does not hold."""

CASES = [
    (type_, text, table is EXACT)
    for table in (EXACT, NOT_EXACT)
    for type_, texts in table.items()
    for text in texts
]


# Values made at random, of types made at random: mostly of the type, or nearly.

LEAVES = ("int", "bigint", "double", "float", "decimal(10,2)", "decimal(38,10)", "decimal(5,5)", "boolean",
          "string", "binary",
          "date", "timestamp", "timestamp_ntz")  # fmt: skip
NUMBERS = (
    "0", "-0", "1", "-7", "1.0", "1.50", "-3.000", "0.5", "1e2", "1E-2", "2147483647", "2147483648",
    "9223372036854775807", "9223372036854775808", "99999999.99", "100000000", "1.239", "1e308", "1e309",
    "1e-400", "3.4e38", "3.5e38", "16777217", "0.1", "12345678901234567890.123", "0.30000000000000004",
    "1e-45", "5e-46", "0.00001", "123456789012345678", "4.35", "1.0e0", "0.0000000000000000000001", "1e22",
    "1e23", "9007199254740993", "0.000", "-0.0", "1e-10", "1e-11",
)  # fmt: skip
TEXTS = ("", "a", "1", "1.0", " 1", "1,5", "+1", "1e2", ".5", "5.", "true", "NaN", "Infinity", "QUI=", "QQ==",
         "QQ", "2024-02-29",
         "2024-02-30", "2024-2-9", "2024-02-29T00:00:00", "2024-02-29 10:15:00", "2024-02-29T10:15:00Z",
         "2024-02-29T10:15:00.123456+02:00",
         "2024-02-29T10:15:00.1234567Z", "2024-02-29T10:15", "2024-02-29T10:15Z", "2024-02-29T24:00:00",
         "0001-01-01", "9999-12-31T23:59:59Z",
         "10:15", "20240229", "2024-02-29 ", "2024-02-29T", "null", "é", "2024-02-29T10:15:00 UTC",
         "2024-02-29T10:15:00-0330",
         "2024-02-29\n", "a.b", "{}", "2024-02-29 00:00:00.000", "1d", "0x1", "2024-02-29T10:15:00 BST",
         "2024-02-29T10:15:00 Asia/Kolkata", "2024-02-29T10:15:00+2", "2024-02-29T10:15:00GMT")  # fmt: skip


def random_type(random: Random, depth: int = 0) -> str:
    """A type of Spark SQL."""
    kind = random.choice(("leaf", "leaf", "array", "map", "struct")) if depth < 3 else "leaf"
    part = partial(random_type, random, depth + 1)
    match kind:
        case "array":
            return f"array<{part()}>"
        case "map":
            return f"map<string,{part()}>"
        case "struct":
            names = random.sample("abcd", random.randint(1, 3))
            return f"struct<{','.join(f'{name}:{part()}' for name in names)}>"
    return random.choice(LEAVES)


def random_value(random: Random, kind: SqlType) -> str:
    """A JSON text for a type."""
    if random.random() < 0.05:
        return "null"
    if random.random() < 0.03:
        return random.choice(("{}", "[]", '{"a":1}', '{"a":1,"a":2}', "[1]", '["x"]', "[1.0,{}]", *NUMBERS))
    several = range(random.randint(0, 3))
    match kind.outer:
        case "array":
            return f"[{','.join(random_value(random, kind.parts[0][1]) for _ in several)}]"
        case "map":
            names = (random.choice(("a", "b", "", "é", "A", "k")) for _ in several)
            return _object(random, [(name, kind.parts[1][1]) for name in names])
        case "struct":
            fields = [part for part in kind.parts if random.random() < 0.8]
            odd = [(random.choice("aAz"), kind.parts[0][1])] if random.random() < 0.05 else []
            return _object(random, [*fields, *odd])
    return _leaf(random, kind.text)


def _object(random: Random, fields: list[tuple[str, SqlType]]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {random_value(random, kind)}' for name, kind in fields)}}}"


def _leaf(random: Random, type_: str) -> str:
    fitting = [text for text in EXACT.get(type_, ()) if text != "null"]
    pool = random.random()
    if pool < 0.6 and fitting:
        return random.choice(fitting)
    if pool < 0.75:
        return random.choice(NUMBERS)
    if pool < 0.85:
        whole = random.randint(-(10 ** random.randint(1, 20)), 10 ** random.randint(1, 20))
        return f"{whole}{random.choice(('', '', '.0', '.25', 'e3'))}"
    return json.dumps(random.choice(TEXTS)) if pool < 0.97 else random.choice(("true", "false"))
