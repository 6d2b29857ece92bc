"""Queries, values and texts that once brought a refresh by keys to a wrong result, a failure or a standstill.

What each table has to hold is what Spark makes of its query over all of its inputs.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import Harness
from pyspark.sql import SparkSession
from titled import golds

pytestmark = [pytest.mark.in_turn, pytest.mark.usefixtures("by_keys")]

COLUMNS = "id: int, k: string, n: int, txt: string, hex: string, at: timestamp, day: string"
BRONZE = f"source:\n  files: {{{{path: landing/{{name}}/, format: csv}}}}\ncolumns: {{{{{COLUMNS}}}}}\n"

QUERIES, KINDS = golds(Path(__file__).with_name("odd_queries.sql"))
FILES = {f"tables/bronze/{name}.yaml": BRONZE.format(name=name) for name in "ab"}


def test_odd_queries_and_values(shop: Harness) -> None:
    shop.define(QUERIES)
    shop.land_rows(
        "a",
        1,
        "1,${env:HOME},1,7,ff,2024-06-03 10:10:00,-0044-03-15",
        "2,plain,2,8,fe,2024-06-03 10:20:00,+12345-01-01",
        "3,${spark.app.name},0,9,41,2024-06-04 00:30:00,2024-06-03",
    )
    shop.take_rows("b", 1, "1,plain,1,x,,2024-06-03 10:10:00,2024-06-03")
    shop.land_rows(
        "a",
        2,
        "4,${env:HOME},1,7,ff,2024-06-03 10:40:00,-0044-03-15",
        "5,plain,5,word,fe,2024-06-03 10:50:00,+12345-01-01",
        "6,${spark.app.name},9,9,41,2024-06-04 00:40:00,2024-06-03",
    )
    published = shop.take_rows("b", 2, "2,plain,2,word,,2024-06-03 10:10:00,2024-06-03").published
    assert shop.differing(QUERIES) == []
    found = {name: published[name].kind for name in QUERIES if name in published}
    assert {name: kind for name, kind in found.items() if kind not in (KINDS[name], "advance")} == {}
    assert {name for name, kind in KINDS.items() if kind != "full"} <= found.keys()


def test_a_column_that_is_only_spelled_otherwise(shop: Harness) -> None:
    """The table keeps its own spelling."""
    queries = {
        "gold.counted": "SELECT k, count(*) AS total FROM bronze.a GROUP BY k",
        "gold.averaged": "SELECT k, avg(n) AS total FROM bronze.a GROUP BY k",
    }
    shop.define(queries)
    shop.take_rows("a", 1, "1,x,1,,,2024-06-03 10:10:00,", run=("bronze.a", "gold.*"))
    upper = {name: query.replace("SELECT k", "SELECT K") for name, query in queries.items()}
    shop.define({name: query.replace("total", "TOTAL") for name, query in upper.items()})
    shop.must_run("bronze.a", "gold.*")
    published = shop.take_rows("a", 2, "2,x,5,,,2024-06-03 10:10:00,", run=("bronze.a", "gold.*")).published
    kinds = {name: published[name].kind for name in queries}
    assert kinds == {"gold.counted": "sums", "gold.averaged": "keys"}
    assert shop.differing(queries) == []


PYTHON = {
    "unused": (
        "def unused(a, b):\n    return a.groupBy('k').avg('n').withColumnRenamed('avg(n)', 'mean')\n",
        "keys",
    ),
    "alike": ("def alike(a, b):\n    return a.select('k').distinct()\n", "keys"),
    "pivoted": ("def pivoted(a, b):\n    return a.groupBy('k').pivot('n').count().fillna(0)\n", "full"),
    "newest": (
        "def newest(a, b):\n    most = max(getattr(a.select('n'), 'col' 'lect')())\n"
        "    return a.select('id', 'n').where(a.n == most[0])\n",
        "full",
    ),
    "dated": (
        "from datetime import datetime\nfrom pyspark.sql import functions as F\n\n"
        "def dated(a, b):\n    return a.select('id', F.lit(datetime.now()).alias('d'))\n",
        "full",
    ),
    "sealed": (
        "from pyspark.sql import functions as F\n\n"
        "def sealed(a, b):\n    return a.select('id', F.aes_encrypt('k',"
        " F.lit('0123456789abcdef')).alias('x'))\n",
        "full",
    ),
    "owned": (
        "from pyspark.sql import functions as F\n\n"
        "def owned(a, b):\n    return a.select('id', F.current_user().alias('x'))\n",
        "full",
    ),
    "typed": (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n"
        "@dataclass\nclass Limit:\n    n: int = 1\n\n"
        "def typed(a, b):\n    return a.select('id', 'n').where(a.n > Limit().n)\n",
        "keys",
    ),
}


def test_python_tables_that_act_or_leave_an_input_unread(shop: Harness) -> None:
    for name, (source, _) in PYTHON.items():
        shop.write(
            {
                f"tables/gold/{name}.py": source,
                f"tables/gold/{name}.yaml": "inputs: {a: bronze.a, b: bronze.b}\n"
                f"deterministic: {'false' if name == 'dated' else 'true'}\n",
            }
        )
    shop.land_rows("a", 1, "1,x,1,,,2024-06-03 10:10:00,", "2,y,9,,,2024-06-03 10:10:00,")
    shop.take_rows("b", 1, "1,x,1,,,2024-06-03 10:10:00,")
    shop.take_rows("b", 2, "2,x,1,,,2024-06-03 10:10:00,", run=("bronze.*", "gold.unused"))
    published = shop.take_rows("a", 2, "3,x,4,,,2024-06-03 10:10:00,").published
    assert {name: published[f"gold.{name}"].kind for name in PYTHON} == {
        name: kind for name, (_, kind) in PYTHON.items()
    }
    assert shop.rows("gold.unused") == [("x", 2.5), ("y", 9.0)]
    assert shop.rows("gold.alike") == [("x",), ("y",)]
    assert shop.rows("gold.pivoted") == [("x", 1, 1, 0), ("y", 0, 0, 1)]  # columns k, 1, 4, which came, and 9
    assert shop.rows("gold.newest") == [(2, 9)]
    assert shop.rows("gold.typed") == [(2, 9), (3, 4)]
    assert shop.frame("gold.dated").select("d").distinct().count() == 1


def test_a_python_table_of_nothing_finds_the_session_and_one_may_go_by_a_view(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A run has one session, and this process one for each project.
    monkeypatch.setattr(SparkSession, "_activeSession", shop.spark)
    shop.write(
        {
            "tables/gold/numbers.py": "from pyspark.sql import SparkSession\n\n"
            "def numbers():\n    return SparkSession.getActiveSession().range(3)\n",
            "tables/gold/viewed.py": "def viewed(bronze__a):\n    bronze__a.createOrReplaceTempView('seen')\n"
            "    return bronze__a.sparkSession.sql('SELECT k, avg(n) AS mean FROM seen GROUP BY k')\n",
        }
    )
    shop.take_rows("a", 1, "1,x,1,,,2024-06-03 10:10:00,", run=("bronze.a", "gold.*"))
    assert (shop.rows("gold.numbers"), shop.rows("gold.viewed")) == ([(0,), (1,), (2,)], [("x", 1.0)])
    shop.take_rows("a", 2, "2,y,2,,,2024-06-03 10:10:00,", run=("bronze.a", "gold.*"))
    assert (shop.record("gold.viewed").kind, shop.rows("gold.viewed")) == ("full", [("x", 1.0), ("y", 2.0)])


@pytest.mark.parametrize(
    ("body", "code", "found"),
    [
        ("    return {}['x']\n", "LS617", "KeyError: 'x'"),
        ("    raise SystemExit(0)\n", "LS617", "SystemExit: 0"),
        ("    import asyncio; raise asyncio.CancelledError\n", "LS617", "CancelledError"),
        ("    return a.select(a.idd)\n", "LS617", "idd"),
        ("    return a.where('idd > 0')\n", "LS617", "idd"),
        (
            "    b = a.sparkSession.table('lake.bronze.b').where('n > 0')\n"
            "    return a.where(a.n > len(b.collect()))\n",
            "LS616",
            "lake.bronze.b",
        ),
        (
            "    b = a.sparkSession.table('lake.bronze.b')\n    return a.where(a.n > b.count())\n",
            "LS616",
            "lake.bronze.b",
        ),
        (
            "    a.sparkSession.conf.set('spark.sql.session.timeZone', 'Asia/Tokyo')\n"
            "    return a.select('id')\n",
            "LS618",
            "spark.sql.session.timeZone",
        ),
        ("    return a.where('n > (SELECT max(n) FROM lake.bronze.b)')\n", "LS616", "bronze.b"),
        ("    return a.crossJoin(a.sparkSession.read.text(__file__))\n", "LS616", "text"),
        ("    return a.where(a.n > a.sparkSession.read.text(__file__).count())\n", "LS616", "text"),
    ],
)
def test_a_python_table_that_fails_leaves_the_others_alone(
    shop: Harness, body: str, code: str, found: str
) -> None:
    shop.write(
        {
            "tables/gold/bad.py": f"def bad(a):\n{body}",
            "tables/gold/bad.yaml": "inputs: {a: bronze.a}\n",
            "tables/gold/good.sql": "SELECT k, count(*) AS c FROM bronze.a GROUP BY k",
        }
    )
    shop.land_rows("a", 1, "1,x,1,,,2024-06-03 10:10:00,")
    shop.land_rows("b", 1, "1,x,1,,,2024-06-03 10:10:00,")
    result = shop.run()
    (problem,) = result.problems
    assert (result.code, problem.code) == (1, code)
    assert found in str(problem.found)
    assert shop.spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert str(problem.place).endswith("bad.py:2") or code != "LS617"
    assert shop.rows("gold.good") == [("x", 1)]


def test_a_python_table_is_the_text_that_is_there_and_not_what_was_compiled_of_one_like_it(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same size and time, as from tools that keep no times: Python would take what it has compiled."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    own = (
        "from lib.k import K\nfrom lib import *\n\ndef kept(bronze__a):\n"
        "    return bronze__a.selectExpr('id', f'{K} AS k', f'{M} AS m', '%d AS o')\n"
    )
    shop.land_rows("a", 1, "1,x,1,,,2024-06-03 10:10:00,")
    for number in (1, 2):
        shop.write(
            {
                "lib/__init__.py": "__all__ = ['m', 'M']\nfrom lib.m import M\n",
                "lib/k.py": f"K = {number}\n",
                "lib/m.py": f"M = {number}\n",
                "tables/gold/kept.py": own % number,
            }
        )
        for name in ("lib/k.py", "lib/m.py", "tables/gold/kept.py"):
            os.utime(shop.root / name, ns=(10**18, 10**18))
        shop.must_run("bronze.a", "gold.kept")
        assert shop.rows("gold.kept") == [(1, number, number, number)]


@pytest.mark.parametrize(
    ("package", "imported"),
    [
        ("__all__ = ['k']\n", "from lib import *\n"),
        ("__all__: list[str] = ['k']\n", "from lib import *\n"),
        ("__all__ = []\n__all__ += ['k']\n", "from lib import *\n"),
        ("", "import importlib\nk = importlib.import_module('lib.k')\n"),
    ],
)
def test_a_module_that_is_imported_by_a_text_belongs_to_the_table(
    shop: Harness, package: str, imported: str
) -> None:
    own = f"{imported}\n\ndef kept(bronze__a):\n    return bronze__a.selectExpr('id', f'{{k.K}} AS k')\n"
    shop.write({"lib/__init__.py": package, "tables/gold/kept.py": own})
    shop.land_rows("a", 1, "1,x,1,,,2024-06-03 10:10:00,")
    for number in (1, 2):
        shop.redefine({"lib/k.py": f"K = {number}\n"}, "bronze.a", "gold.kept")
        assert shop.rows("gold.kept") == [(1, number)]


def test_a_python_table_joins_one_that_it_takes_twice_by_its_columns(shop: Harness) -> None:
    joined = "def pairs(one, two):\n    return one.join(two, one.n == two.id).select(one.id, two.k)\n"
    shop.write(
        {
            "tables/gold/pairs.py": joined,
            "tables/gold/pairs.yaml": "inputs: {one: bronze.a, two: bronze.a}\ndeterministic: true\n",
        }
    )
    shop.land_rows("a", 1, "1,x,2,,,2024-06-03 10:10:00,", "2,y,1,,,2024-06-03 10:10:00,")
    shop.must_run("bronze.a", "gold.pairs")
    shop.land_rows("a", 2, "3,z,1,,,2024-06-03 10:10:00,")
    assert shop.must_run("bronze.a", "gold.pairs").published["gold.pairs"].kind == "keys"
    assert shop.rows("gold.pairs") == [(1, "y"), (2, "x"), (3, "x")]


def test_keys_with_quotes_and_backslashes(shop: Harness) -> None:
    counted = "SELECT k, avg(n) AS mean, count(*) AS c FROM bronze.a GROUP BY k"
    shop.write({"tables/gold/counted.sql": counted})
    for number in (1, 2):
        shop.land_rows("a", number, "1,a\\b,1,,,2024-06-03 10:10:00,", "2,it's,1,,,2024-06-03 10:10:00,")
        record = shop.must_run("bronze.a", "gold.counted").published["gold.counted"]
    assert record.kind == "keys"
    assert shop.rows("gold.counted", "k", "c") == [("a\\b", 2), ("it's", 2)]


def test_an_input_that_failed_when_it_was_first_built_is_waited_for(shop: Harness) -> None:
    shop.write(
        {
            "tables/gold/broken.sql": "SELECT raise_error('no') AS never, id FROM bronze.a",
            "tables/gold/of_it.sql": "SELECT id FROM gold.broken",
        }
    )
    shop.land_rows("a", 1, "1,x,2,,,2024-06-03 10:10:00,")
    assert shop.run("bronze.a", "gold.broken").code == 1
    assert shop.must_run("gold.of_it").published == {}


def test_a_zero_changes_its_sign(shop: Harness) -> None:
    signs = "SELECT k, 0.0D * (1 - max(n)) AS z FROM bronze.a GROUP BY k"
    shop.write({"tables/gold/signs.sql": signs})
    for number in (1, 2):
        shop.land_rows(
            "a", number, f"{number},x,{number},,,2024-06-03 10:10:00,", "9,y,1,,,2024-06-03 10:10:00,"
        )
        shop.must_run("bronze.a", "gold.signs")
        assert shop.differing({"gold.signs": signs}) == []
    assert shop.record("gold.signs").kind == "keys"
    assert shop.record("gold.signs").account.updated == 1


def test_names_with_dots_and_backticks(shop: Harness) -> None:
    columns = "columns: {id: int, 'a.b': string, 'c`d': int}\n"
    keyed = (
        "from: bronze.dotted\nkey: ['a.b']\nlatest_by: ['c`d']\nrules: |\n"
        '  Rules = [ ColumnValues "c`d" > 0 ]\n'
    )
    shop.write(
        {
            "tables/bronze/dotted.yaml": "source:\n  files: {path: landing/dotted/, format: json}\n"
            f"{columns}",
            "tables/gold/means.sql": "SELECT `a.b`, `c``d`, avg(id) AS mean FROM bronze.dotted GROUP BY ALL",
            "tables/gold/sums.sql": "SELECT `a.b`, `c``d`, sum(id) AS sum, count(*) AS c FROM bronze.dotted"
            " GROUP BY ALL",
            "tables/gold/now.yaml": keyed,
            "tables/gold/past.yaml": f"{keyed}history: type2\n",
        }
    )
    rows = ((1, "x", 5), (2, "x", 7), (3, "x", 6), (4, "y", 0), (5, "x", 6))
    kinds = []
    for number, (key, name, place) in enumerate(rows):
        row = json.dumps({"id": key, "a.b": name, "c`d": place})
        shop.land(f"landing/dotted/{number}.json", f"{row}\n")
        kinds.append({record.kind for record in shop.must_run("bronze.dotted", "gold.*").published.values()})
    shop.spark.sql("UPDATE lake.bronze.dotted SET id = id + 10 WHERE id IN (1, 4)").collect()
    kinds.append({record.kind for record in shop.must_run("gold.*").published.values()})
    assert kinds[2:] == [{"files", "keys", "sums", "upsert"}] * 3 + [{"keys", "sums"}]
    found = {name: positional(shop, f"gold.{name}") for name in ("means", "sums", "now", "past")}
    assert found["means"] == [("x", 5, 11.0), ("x", 6, 4.0), ("x", 7, 2.0), ("y", 0, 14.0)]
    assert found["sums"] == [("x", 5, 11, 1), ("x", 6, 8, 2), ("x", 7, 2, 1), ("y", 0, 14, 1)]
    assert found["now"] == [(2, "x", 7)]
    assert found["past"] == [(2, "x", 7, 7, None, True), (5, "x", 6, 6, 7, False), (11, "x", 5, 5, 6, False)]


def positional(shop: Harness, table: str) -> list[tuple[Any, ...]]:
    """All rows, without the columns that sourced tables add, in order."""
    frame = shop.frame(table)
    return sorted(tuple(row) for row in frame.toDF(*(f"c{at}" for at in range(len(frame.columns)))).collect())


def test_columns_that_differ_in_case_only_are_refused(shop: Harness) -> None:
    shop.write({"tables/gold/cased.sql": "SELECT id AS v, k AS V FROM bronze.a"})
    shop.land_rows("a", 1, "1,x,2,,,2024-06-03 10:10:00,")
    shop.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        (problem,) = shop.run("bronze.a", "gold.cased").problems
    finally:
        shop.spark.conf.unset("spark.sql.caseSensitive")
    assert (problem.code, "v and V" in problem.what) == ("LS624", True)


HOURLY = "SELECT date_trunc('hour', at) AS h, avg(n) AS mean FROM bronze.a GROUP BY date_trunc('hour', at)"
DAILY = "SELECT CAST(at AS date) AS d, avg(n) AS mean FROM bronze.a GROUP BY CAST(at AS date)"
MONTHLY = "SELECT date_trunc('month', at) AS m, avg(n) AS mean FROM bronze.a GROUP BY date_trunc('month', at)"


@pytest.mark.parametrize(
    ("zone", "first", "then"),
    [
        # Set over from 02:45 to 03:45: the hour of 03:47 would begin in the gap.
        (
            "Pacific/Chatham",
            ("2024-09-28T13:30:00Z", "2024-09-28T14:02:00Z", "2024-09-28T14:30:00Z"),
            "2024-09-28T14:08:00Z",
        ),
        # Set back from 00:01 to 23:01 of the day before.
        (
            "America/St_Johns",
            ("2009-11-01T01:00:00Z", "2009-11-01T02:40:00Z", "2009-11-01T05:00:00Z"),
            "2009-10-31T13:00:00Z",
        ),
        # Came to the other side of the date line: the day before came twice.
        (
            "America/Juneau",
            ("1867-10-18T00:00:00Z", "1867-10-18T14:00:00Z", "1867-10-19T02:00:00Z"),
            "1867-10-17T14:00:00Z",
        ),
    ],
)
def test_times_truncated_where_a_clock_is_set_over_or_back(
    shop: Harness, zone: str, first: tuple[str, ...], then: str
) -> None:
    queries = {"gold.hourly": HOURLY, "gold.daily": DAILY, "gold.monthly": MONTHLY}
    shop.define(queries)
    shop.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        shop.land_rows("a", 1, *(f"{at},x,{at},,,{time}," for at, time in enumerate(first)))
        shop.must_run("bronze.a", "gold.*")
        published = shop.take_rows("a", 2, f"9,x,9,,,{then},", run=("bronze.a", "gold.*")).published
        assert shop.differing(queries) == []
    finally:
        shop.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert {published[name].kind for name in queries} == {"keys"}
