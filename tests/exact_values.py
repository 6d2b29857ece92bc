"""The rules of exactness, case by case: a type, a JSON text, and whether it is exactly a value of the type.

One table for the two that judge events: the intake, in Python, and the batch, in Spark.
"""

import json
from functools import partial
from pathlib import Path
from random import Random

from lakesmith.project.spark_types import SqlType


def _values(title: str) -> dict[str, list[str]]:
    """Returns the values below ``title`` in ``exact_values.txt``, by their types."""
    sections = Path(__file__).with_suffix(".txt").read_text().split("\n== ")[1:]
    parts = [section.partition("\n") for section in sections]
    of_title = [
        (head.removeprefix(f"{title}: "), text) for head, _, text in parts if head.startswith(f"{title}: ")
    ]
    return {type_: text.splitlines() for type_, text in of_title}


EXACT, NOT_EXACT = _values("exact"), _values("not exact")


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
