"""The rule behind a refresh by keys, for every shape of query, on temporary views: no table is written.

A query relaxed over the changed rows of one input gives every key whose rows are others than before (see
``catalyst.key_columns``). Which are, DuckDB says, which runs the query over the rows before and after the
change.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import duckdb
import pytest
from harness import INTERPRETED
from history_rows import COLUMNS, KEYS, Row, row_of
from pyspark.sql import DataFrame, SparkSession
from shape import BY_KEYS, Shape
from shapes import SHAPES
from soaking import seeds

from lakesmith.execute.engine import NeverIncremental
from lakesmith.project.definitions import TableName
from lakesmith.spark.catalyst.key_columns import Keys, key_columns, relaxed
from lakesmith.spark.catalyst.tree import Occurrence
from lakesmith.spark.start.session import SessionHandle
from lakesmith.sql.analysis import analyse
from lakesmith.sql.splice import splice

pytestmark = pytest.mark.in_turn("file", of=3)

LOG = {"id": "int", "customer": "int", "item": "string", "doubled": "decimal(12,2)", "sold": "timestamp"}
TABLES = {**COLUMNS, "log": LOG}
QUERIES = tuple(
    shape
    for shape in SHAPES
    if shape.kinds & BY_KEYS and not shape.python and shape.inputs <= {f"silver.{name}" for name in TABLES}
)

Rows = Counter[Row]
State = Mapping[str, Rows]
"""The rows of each silver table."""


@dataclass(frozen=True)
class Change:
    """The rows of one table are others afterwards."""

    table: str
    before: State
    after: State

    @property
    def rows(self) -> Rows:
        old, new = self.before[self.table], self.after[self.table]
        return (old - new) + (new - old)


def _rows(table: str, versions: Mapping[Any, int]) -> Rows:
    """The rows of a silver table that holds these versions (seq by key); every fifth is a delete."""
    if table != "log":
        return Counter(row_of(table, key, seq) for key, seq in versions.items() if seq % 5 != 4)
    orders = (row_of("orders", key, seq) for key, seq in versions.items() if seq % 5 != 4)
    return Counter(
        (key, customer, item, None if amount is None else amount * 2, sold)
        for key, _, _, customer, item, amount, sold in orders
    )


def _changes(dice: random.Random) -> Iterator[Change]:
    """One table changes after the other: rows come, go, and are others."""
    keys = {**KEYS, "log": KEYS["orders"]}
    versions = {name: {key: dice.randrange(30) for key in keys[name]} for name in TABLES}
    for table in TABLES:
        before = {name: _rows(name, held) for name, held in versions.items()}
        for key in dice.sample(keys[table], max(2, len(keys[table]) // 4)):
            versions[table][key] = dice.randrange(30)
        yield Change(table, before, {name: _rows(name, held) for name, held in versions.items()})


# What DuckDB says


def _results(state: State, shapes: Sequence[Shape]) -> dict[str, Rows]:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA silver")
    for name, columns in TABLES.items():
        connection.execute(f"CREATE TABLE silver.{name} ({_typed(columns)})")
        if state[name]:
            places = ", ".join("?" * len(columns))
            connection.executemany(
                f"INSERT INTO silver.{name} VALUES ({places})", list(state[name].elements())
            )
    # What a table with a key keeps of its query's rows is no matter of the rule.
    texts = {shape.name: shape.query if shape.settings else shape.expected for shape in shapes}
    return {name: Counter(connection.execute(text).fetchall()) for name, text in texts.items()}


def _typed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _differing(before: Rows, after: Rows, positions: Sequence[int]) -> set[Row]:
    rows = (before - after) + (after - before)
    return {tuple(row[position] for position in positions) for row in rows}


# What Spark finds


class Views:
    """Rows as temporary frames: each as the constants of a query."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frames: dict[tuple[str, frozenset[tuple[Row, int]]], DataFrame] = {}

    def of(self, table: str, rows: Rows) -> DataFrame:
        known = (table, frozenset(rows.items()))
        if known not in self._frames:
            names, kinds = TABLES[table].keys(), TABLES[table].values()
            lines = [
                ", ".join(_literal(*pair) for pair in zip(row, kinds, strict=True)) for row in rows.elements()
            ]
            values = ", ".join(f"({line})" for line in lines) or f"({', '.join('NULL' for _ in names)})"
            self._frames[known] = self._spark.sql(
                "SELECT"
                f" {', '.join(f'CAST({name} AS {kind}) AS {name}' for name, kind in TABLES[table].items())}"
                f" FROM VALUES {values} AS t({', '.join(names)}) {'' if lines else 'WHERE false'}"
            )
        return self._frames[known]

    def query(self, shape: Shape, given: Mapping[Occurrence, DataFrame]) -> DataFrame:
        """The query over these rows, of which each occurrence is known by its alias."""
        names: dict[str, tuple[str, ...]] = {}
        for occurrence, frame in given.items():
            frame.alias(_alias(occurrence)).createOrReplaceTempView(_alias(occurrence))
            table = str(occurrence.table)
            names[table] = (*names.get(table, ()), _alias(occurrence))
        return self._spark.sql(splice(shape.query, analyse(shape.query), names))


def _literal(value: Any, kind: str) -> str:
    return "NULL" if value is None else f"CAST('{value}' AS {kind})"


def _alias(occurrence: Occurrence) -> str:
    return f"given_{occurrence.table.name}_{occurrence.number}"


def _occurrences(shape: Shape) -> list[Occurrence]:
    named = [reference.name.lower() for reference in analyse(shape.query).references]
    return [
        Occurrence(TableName.parse(table), number)
        for table in dict.fromkeys(named)
        for number in range(named.count(table))
    ]


def _keys(views: Views, shape: Shape, change: Change) -> Keys | None:
    """The columns that tell its changes; None where it is not decided that there are any, and none are."""
    given = {each: views.of(each.table.name, change.after[each.table.name]) for each in _occurrences(shape)}
    try:
        return key_columns(views.query(shape, given), {_alias(each): each for each in given}, False)
    except NeverIncremental:
        if shape.kinds <= BY_KEYS:
            raise
        return None


def _touched(views: Views, shape: Shape, change: Change, keys: Keys) -> set[Row]:
    """Returns the keys that the relaxed query gives over the changed rows, per occurrence or for all."""
    occurrences = _occurrences(shape)
    changed = [each for each in occurrences if each.table.name == change.table]
    turns = [[each] for each in changed] if TableName("silver", change.table) in keys.alone else [changed]
    found, moved_on = [], set[Occurrence]()
    for turn in turns:
        states = {each: change.after if each in moved_on else change.before for each in occurrences}
        given = {
            each: views.of(each.table.name, change.rows if each in turn else state[each.table.name])
            for each, state in states.items()
        }
        rows = views.query(shape, given)
        reached = relaxed(rows, {_alias(each): each for each in given}, frozenset(turn))
        if reached is not None:
            found.append(reached.select(*(rows.columns[position] for position in keys.positions)))
        moved_on.update(turn)
    return {tuple(row) for row in reduce(lambda one, other: one.union(other), found).collect()}


@pytest.mark.parametrize("seed", seeds(11))
def test_a_relaxed_query_gives_every_key_that_a_change_reaches(session: SessionHandle, seed: int) -> None:
    spark = session.spark.newSession()
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    views = Views(spark)
    reached: Counter[str] = Counter()
    wrong = []
    for change in _changes(random.Random(seed)):
        shapes = [shape for shape in QUERIES if f"silver.{change.table}" in shape.inputs]
        before, after = _results(change.before, shapes), _results(change.after, shapes)
        for shape in shapes:
            if (keys := _keys(views, shape, change)) is None:
                continue
            differing = _differing(before[shape.name], after[shape.name], keys.positions)
            reached[shape.name] += len(differing)
            if missing := differing - _touched(views, shape, change, keys):
                wrong.append(f"{shape.name} after a change of {change.table}: {missing}")
    assert wrong == [], f"seed {seed}"
    assert len(reached) >= len([shape for shape in QUERIES if shape.kinds <= BY_KEYS])
    assert sum(1 for count in reached.values() if count) > len(QUERIES) * 0.8, "changes that change little"
