"""Whatever stands in a project's files: problems with places, never a crash."""

import json
import random
from typing import Any

import pytest

from lakesmith.errors import Place, Problem
from lakesmith.project.loader import parse_project
from lakesmith.project.yaml_reader import read_yaml
from memory_files import MemoryFiles

FILES = {
    "lakesmith.yaml": """\
name: shop
default_target: local
targets:
  local: {}
  prod: {catalog: {type: rest, uri: "${HOST}"}, spark: {spark.x: 1}}
vars: {a: 1}
defaults: {owner: x, source: {files: {format: csv}}}
""",
    "tables/bronze/orders.yaml": """\
description: orders
source:
  web: {files: {path: web/, pattern: "*.csv", min_age: 5 minutes}}
  shop: {files: {path: shop/, delimiter: ";", on_new_column: ignore}}
columns: {a: int, b: {type: "decimal(10,2)", doc: price, required: true}}
rules: |
  Rules = [ IsComplete "a", ColumnValues "b" > 0 ]
tags: [a, b]
partition_by: [days(a), "bucket(4, b)"]
""",
    "tables/bronze/returns.yaml": "source: {files: {path: x/}}\navro_schema: schemas/r.avsc\n",
    "schemas/r.avsc": """\
{"type": "record", "name": "r", "fields": [
  {"name": "a", "type": ["null", "int"]},
  {"name": "b", "type": {"type": "array", "items": {"type": "record", "name": "q", "fields": [
    {"name": "z", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}}]}}}
]}""",
    "tables/silver/orders.yaml": """\
from: bronze.orders
key: [a]
latest_by: [b]
delete_when: a > ${vars.a}
history: type1
on_bad_row: fail
""",
    "tables/silver/py.yaml": "inputs: {x: bronze.orders}\nfunction: made\n",
    "tables/silver/py.py": "def made(x, bronze__returns):\n    return x\n",
    "tables/gold/_defaults.yaml": "tags: [gold]\n",
    "tables/gold/number.sql": "SELECT count(*) AS n FROM silver.orders\n",
}
BITS = [
    *" \n\t:{}[],'\"|>&*!#%@`-?~0a_.\\$é\x00",
    "null",
    "- ",
    "key: ",
    "&x ",
    "*x ",
    "!!int ",
    "${",
    "}",
    "---\n",
    "files: ",
]
VALUES = [
    None, True, 0, -1.5, float("inf"), "", " ", "a\nb", "${vars.a}", "bronze.orders", [], [[]], [None], {},
    {"a": None}, {"files": {}},
]  # fmt: skip


def misplaced(files: dict[str, str]) -> list[Problem]:
    """The problems of a project of these files that name no place in one of them."""
    problems = parse_project(MemoryFiles(files), None, {}).problems
    return [problem for problem in problems if not is_in(problem.place, files)]


def is_in(place: Place | None, files: dict[str, str]) -> bool:
    if place is None or place.line is None:
        return place is not None
    return 1 <= place.line <= files[place.file].count("\n") + 2


def test_the_files_are_right_to_begin_with() -> None:
    assert parse_project(MemoryFiles(FILES), None, {}).problems == ()


@pytest.mark.parametrize("seed", range(5))
def test_broken_text(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(30):
        path = dice.choice(list(FILES))
        text = FILES[path]
        for _ in range(dice.randint(1, 4)):
            start = dice.randrange(len(text) + 1)
            text = text[:start] + dice.choice([*BITS, ""]) + text[start + dice.choice([0, 0, 1, 2, 9]) :]
        assert misplaced({**FILES, path: text}) == [], text


def changed(value: Any, dice: random.Random) -> Any:
    """The value with some part of it replaced, taken out or renamed."""
    if not isinstance(value, (dict, list)) or not value or dice.random() < 0.2:
        return dice.choice(VALUES)
    if isinstance(value, list):
        index = dice.randrange(len(value))
        return [*value[:index], changed(value[index], dice), *value[index + 1 :]]
    key = dice.choice(list(value))
    if dice.random() < 0.3:
        return {name + "x" * (name == key): item for name, item in value.items()}
    return {**value, key: changed(value[key], dice)}


@pytest.mark.parametrize("seed", range(5))
def test_wrong_values(seed: int) -> None:
    """Any JSON is YAML, so that whole trees can be written without a YAML writer."""
    dice = random.Random(seed)
    for _ in range(40):
        path = dice.choice([name for name in FILES if name.endswith((".yaml", ".avsc"))])
        value = json.loads(FILES[path]) if path.endswith(".avsc") else read_yaml(FILES[path], path).value
        text = json.dumps(changed(value, dice)).replace("Infinity", ".inf")
        assert misplaced({**FILES, path: text}) == [], text
