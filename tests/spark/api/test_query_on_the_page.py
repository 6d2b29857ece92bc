"""Queries of the web page on real Spark: equal results, files, hostile values, attacks, and their end."""

import csv
import io
import re
import threading
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from made_lake import HOSTILE, MadeLake
from page_server import Served, served

pytestmark = [pytest.mark.in_turn("file", of=3), pytest.mark.processes]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    found = MadeLake(tmp_path_factory.mktemp("asked"), 7)
    found.publish()
    return found


@pytest.fixture(scope="module")
def page(lake: MadeLake) -> Iterator[Served]:
    with served(lake.root) as found:
        yield found


def asked(page: Served, sql: str, **more: str) -> str:
    return page.post("/query", sql=sql, **more).text


def cells(html: str) -> list[list[str]]:
    """The rows as the page shows them."""
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [[unescape(re.sub(r"<[^>]+>", "", each)) for each in row] for row in found]


def code(html: str) -> str:
    found = re.search(r'class="code">(LS\d+)', html)
    return found[1] if found else ""


def test_rows_types_null_and_empty_are_told_apart(page: Served) -> None:
    html = asked(
        page, "SELECT id, id % 2 = 0 AS even, nullif(id, 1) AS n, '' AS t FROM silver.part_0 ORDER BY id"
    )
    assert cells(html) == [
        [str(at), "true" if at % 2 == 0 else "false", "NULL" if at == 1 else str(at), "empty"]
        for at in range(5)
    ]
    said = unescape(re.sub(r"<[^>]+>", "", html.partition("<thead>")[2].partition("</thead>")[0]))
    assert said == "id biginteven booleann bigintt string"
    assert "5 rows" in html and "LS" not in html.partition('id="answer"')[2].replace("class", "")


def test_values_of_every_kind_are_exact(page: Served) -> None:
    html = asked(
        page,
        """
        SELECT CAST(1.50 AS decimal(10, 2)) AS d, timestamp'2026-01-31 12:30:00.000001Z' AS t,
            date'0999-12-31' AS d, timestamp_ntz'2026-01-31 12:30:00' AS l, X'ff00' AS b,
            array(1, NULL) AS a, map('k', named_struct('x', 1.5)) AS m, 9007199254740993 AS big,
            double('NaN') AS nan, interval '2' hour AS i, CAST(NULL AS array<int>) AS nothing
        """,
    )
    assert cells(html)[0][:-2] == [
        *("1.50", "2026-01-31T12:30:00.000001Z", "0999-12-31", "2026-01-31T12:30:00", "/wA="),
        *("[1, null]", '{"k": {"x": "1.5"}}', "9007199254740993", "nan"),
    ]
    assert "timestamp UTC" in html and cells(html)[0][-1] == "NULL"


def test_hostile_values_and_names_are_text(page: Served) -> None:
    quoted = HOSTILE.replace("\\", "\\\\").replace("'", "\\'")
    html = asked(
        page,
        f"SELECT '{quoted}' AS `<script>x</script>`, '\u202eevil' AS `\u202e`, repeat('x', 1048576) AS long",
    )
    assert "<script>x" not in html and HOSTILE not in html and "<img" not in html.partition("<body")[2]
    row = cells(html)[0]
    assert row[0] == HOSTILE and row[1] == "\u202eevil"
    assert "more than 1,000 characters" in row[2] and len(row[2]) < 3000


def test_only_the_first_rows_are_shown(page: Served) -> None:
    html = asked(page, "SELECT id FROM range(5000) ORDER BY id")
    assert len(cells(html)) == 1000 and "(the first of more)" in html
    assert cells(asked(page, "SELECT * FROM silver.part_0 WHERE id > 99")) == []


def test_the_past_is_asked(lake: MadeLake, page: Served) -> None:
    before = time.time()
    time.sleep(1.1)
    lake.publish("bronze.source_1", rows=3)
    sql = "SELECT count(*) AS n FROM bronze.source_1"
    assert cells(asked(page, sql)) == [["8"]]
    then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before + 1))
    assert cells(asked(page, sql, as_of=then)) == [["5"]]
    assert code(asked(page, sql, as_of="nothing")) == "LS230"


def test_files_have_the_whole_result(page: Served) -> None:
    sql = "SELECT id, IF(id % 3 = 0, NULL, concat('a,\"', id)) AS t, '' AS e FROM range(20000) ORDER BY id"
    given = page.post("/query/result.csv", sql=sql)
    assert given.status == 200
    assert given.headers["content-disposition"] == 'attachment; filename="query.csv"'
    lines = given.text.splitlines()
    assert lines[:3] == ["id,t,e", '0,,""', '1,"a,""1",""']
    found = list(csv.reader(io.StringIO(given.text)))
    assert [row[0] for row in found[1:]] == list(map(str, range(20000)))
    assert given.headers["x-is-cut"] == "false"
    given = page.post("/query/result.parquet", sql=sql.replace("AS e", "AS t"), name="mine")
    assert given.headers["content-disposition"] == 'attachment; filename="mine.parquet"'
    table = parquet.read_table(pa.BufferReader(given.body))
    assert table.column_names == ["id", "t", "t_2"] and table["id"].to_pylist() == list(range(20000))
    assert table["t"].to_pylist()[:2] == [None, 'a,"1'] and set(table["t_2"].to_pylist()) == {""}
    assert page.post("/query/result.csv", sql="SELECT nothing").status == 422


def test_a_result_is_drawn_by_its_columns(page: Served) -> None:
    number = "0123456789abcdef" * 2
    asked(page, "SELECT concat('c', id) AS name, id, id * id AS square FROM range(4)", number=number)
    html = page.get(f"/query?result={number}&view=chart").text
    assert html.count("<rect") == 4 and "c3: 3" in html
    html = page.get(f"/query?result={number}&view=chart&kind=scatter&x=1&y=2").text
    assert html.count("<circle") == 4 and "3: 9" in html
    assert "not kept any more" in page.get("/query?result=" + "0" * 32).text


def test_what_is_wrong_is_said_with_its_line(page: Served) -> None:
    html = asked(page, "SELECT id,\n  nme\nFROM silver.part_0")
    assert code(html) == "LS244" and "nme" in html
    assert code(asked(page, "SELECT * FROM silver.prt_0")) == "LS240"
    assert code(asked(page, "SELECT 1 / id FROM range(2)")).startswith("LS6")


def test_a_query_is_cancelled_and_the_engine_is_free(page: Served) -> None:
    number, found = "f" * 32, list[str]()
    sql = "SELECT count(*) FROM range(100000000000) a JOIN range(1000000) b ON a.id % 7 = b.id % 11"
    thread = threading.Thread(target=lambda: found.append(asked(page, sql, number=number)))
    thread.start()
    time.sleep(3)
    assert "is running" in page.get("/query").text and code(asked(page, "SELECT 1")) == "LS246"
    begun = time.monotonic()
    assert page.post("/query/cancel", number=number).text == "cancelled"
    thread.join(20)
    assert time.monotonic() - begun < 6 and code(found[0]) == "LS248"
    assert cells(asked(page, "SELECT 7")) == [["7"]]


HOME = "('java.lang.System', 'getProperty', 'user.home')"
ATTACKS = [
    f"SELECT reflect{HOME}",
    f"SELECT `java_method`{HOME}",
    f"SELECT try_reflect{HOME}",
    f"SELECT id FROM silver.part_0 ORDER BY reflect{HOME}",
    f"SELECT * FROM silver.part_0 TIMESTAMP AS OF reflect{HOME}",
    f"SELECT count(*) FROM silver.part_0 HAVING max(reflect{HOME}) = 'x'",
    f"SELECT * FROM silver.part_0 PIVOT (max(reflect{HOME}) FOR id IN (1, 2))",
    f"SELECT id FROM silver.part_0 |> EXTEND reflect{HOME} AS x",
    f"SELECT sum(id) FILTER (WHERE reflect{HOME} = 'x') FROM silver.part_0",
    f"SELECT /*+ REPARTITION(reflect{HOME}) */ id FROM silver.part_0",
    "SELECT TRANSFORM(id) USING 'tee {out}' AS (x) FROM silver.part_0",
    "FROM silver.part_0 MAP id USING 'tee {out}' AS x",
    "FROM silver.part_0 INSERT OVERWRITE DIRECTORY '{out}' USING csv SELECT *",
    "WITH x AS (SELECT 1 AS a) INSERT INTO silver.part_0 SELECT * FROM x",
    "INSERT INTO silver.part_0 VALUES (7)",
    "CREATE TABLE silver.x AS SELECT 1",
    "CREATE TEMPORARY FUNCTION f AS 'java.lang.System'",
    "DELETE FROM silver.part_0",
    "SET spark.sql.runSQLOnFiles=true",
    "ADD JAR '{secret}'",
    "CACHE TABLE x AS SELECT 1",
    "CALL lake.system.remove_orphan_files('silver.part_0')",
    "EXPLAIN SELECT 1",
    "DESCRIBE silver.part_0",
    "BEGIN SELECT 1; END",
    "EXECUTE IMMEDIATE 'DROP TABLE silver.part_0'",
    "SELECT 1; DROP TABLE silver.part_0",
    "SELECT 1 /* */; DROP TABLE silver.part_0 --",
    "SELECT * FROM text.`{secret}`",
    "SELECT * FROM csv.`{secret}` WITH (header = true)",
    "SELECT * FROM binaryFile.`{secret}`",
    "SELECT * FROM iceberg.`{warehouse}/silver/part_0`",
    "SELECT * FROM `{warehouse}/silver/part_0`",
    "SELECT * FROM lake.`{warehouse}/silver/part_0`",
    "SELECT * FROM lake.`../../outside`.t",
    "SELECT * FROM IDENTIFIER('text.`{secret}`')",
    "SELECT * FROM jdbc.`jdbc:sqlite:{secret}`",
    "SELECT (SELECT max(value) FROM text.`{secret}`)",
    "SELECT from_xml('<a>1</a>', 'a INT', map('rowValidationXSDPath', '{secret}'))",
    "SELECT from_avro(X'00', '\"int\"', map('avroSchemaUrl', 'file://{secret}'))",
    "SELECT from_protobuf(X'00', 'M', '{secret}')",
]


def test_a_query_reads_tables_and_nothing_else(lake: MadeLake, page: Served, tmp_path: Path) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("value\nthe secret\n")
    warehouse = lake.root / ".lakesmith/warehouse"
    before = {each: each.stat().st_mtime_ns for each in warehouse.rglob("*") if each.is_file()}
    passed = []
    for sql in ATTACKS:
        html = asked(page, sql.format(secret=secret, out=out, warehouse=warehouse))
        answer = html.partition('id="answer"')[2]
        assert "the secret" not in answer and str(Path.home()) not in answer.replace(str(lake.root), ""), sql
        if code(html) not in ("LS240", "LS241", "LS243", "LS244", "LS245"):
            passed.append((sql, code(html), cells(html)))
    assert passed == [] and not out.exists()
    assert {each: each.stat().st_mtime_ns for each in warehouse.rglob("*") if each.is_file()} == before
    assert sorted(each.name for each in lake.root.iterdir()) == [
        ".lakesmith",
        "lakesmith.yaml",
        "landing",
        "tables",
    ]
    assert cells(asked(page, "SELECT count(*) FROM silver.part_0")) == [["5"]]
