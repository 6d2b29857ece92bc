"""Queries that Spark refuses: reported at their line in the project; and what `query` refuses itself."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from harness import Harness

from lakesmith.errors import UsageError
from lakesmith.spark.ask import run_query
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, pattern: "*.csv", format: csv}
        columns: {id: bigint, city: string}
        """,
    # Of a keyed table, whose query is given more columns to carry along.
    "tables/silver/misnamed.yaml": "key: [id]\nquery: |\n  SELECT id,\n    ctiy AS city\n "
    " FROM bronze.orders\n",
    "tables/silver/misordered.sql": "SELECT city\nFROM bronze.orders\nGROUP BY city\nWHERE city = 'Oslo'\n",
    "tables/silver/mistyped.sql": "SELECT id\nFROM bronze.orders\nWHERE array(id) > 5\n",
}


def test_each_is_told_at_its_line(shop: Harness) -> None:
    shop.land("landing/orders/1.csv", "id,city\n1,Oslo\n")
    found = {str(problem.place): problem for problem in shop.run().problems}
    assert sorted(found) == [
        "tables/silver/misnamed.yaml:4",
        "tables/silver/misordered.sql:4",
        "tables/silver/mistyped.sql:3",
    ]
    assert {problem.code for problem in found.values()} == {"LS614"}
    said = [found[place].found or "" for place in sorted(found)]
    assert "`ctiy` cannot be resolved" in said[0]
    assert "Syntax error at or near 'WHERE'" in said[1]
    assert "DATATYPE_MISMATCH" in said[2]
    # Nothing of what stands in for the tables in the text that Spark got.
    assert [text for text in said if "lakesmith" in text or "pos " in text] == []


HOME = "('java.lang.System', 'getenv', 'HOME')"
READING = "SELECT max(value) FROM text.`{file}`"
HOSTILE = {
    "LS241": [
        "FROM VALUES (1) t(a) INSERT OVERWRITE DIRECTORY '{out}' USING csv SELECT *",
        "FROM VALUES (1) t(a) INSERT OVERWRITE LOCAL DIRECTORY '{out}' USING csv SELECT * WHERE a = 1",
        "WITH x AS (SELECT 1 AS a) INSERT OVERWRITE DIRECTORY '{out}' USING csv SELECT * FROM x",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN SELECT 1; END",
        "CREATE TABLE x AS SELECT 1",
    ],
    "LS245": [
        f"SELECT reflect{HOME}",
        f"SELECT system.builtin.`Reflect`/* */{HOME}",
        f"SELECT java_method{HOME}",
        f"SELECT try_reflect{HOME}",
        f"FROM VALUES (1) t(a) |> SELECT reflect{HOME}",
        f"SELECT * FROM VALUES (1) t(a) LATERAL VIEW explode(array(reflect{HOME})) x AS y",
        f"SELECT * FROM explode(array(reflect{HOME}))",
        f"SELECT (SELECT max(reflect{HOME}))",
        f"SELECT count(*) OVER w FROM VALUES (1) t(a) WINDOW w AS (PARTITION BY reflect{HOME})",
        f"SELECT transform(array(1), x -> reflect{HOME})",
        f"VALUES (reflect{HOME})",
        f"SELECT IDENTIFIER('reflect'){HOME}",
        "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM VALUES (1) t(a)",
        "SELECT * FROM csv.`{file}`",
        "SELECT * FROM `CSV`.`{file}`",
        "SELECT * FROM parquet.`{file}`",
        "SELECT * FROM binaryFile.`{file}`",
        "SELECT * FROM org.apache.spark.sql.execution.datasources.text.`{file}`",
        "SELECT * FROM `org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`{file}`",
        "SELECT * FROM `{file}`",
        "SELECT * FROM lake.`{file}`",
        "SELECT * FROM lake.`../other`.t",
        f"SELECT * FROM VALUES (1) t(a) PIVOT (max(reflect{HOME}) FOR a IN (1, 2))",
        f"SELECT sum(a) FILTER (WHERE reflect{HOME} = 'x') FROM VALUES (1) t(a)",
        f"SELECT /*+ REPARTITION(reflect{HOME}) */ a FROM VALUES (1) t(a)",
        f"SELECT a FROM VALUES (1) t(a) ORDER BY reflect{HOME}",
        f"SELECT a FROM VALUES (1) t(a) LIMIT length(reflect{HOME})",
        f"SELECT * FROM x.y TIMESTAMP AS OF reflect{HOME}",
        f"SELECT * FROM explode(TABLE(SELECT reflect{HOME}))",
        "SELECT from_xml('<a>1</a>', 'a INT', map('rowValidationXSDPath', '{file}'))",
        "SELECT from_xml('<a>1</a>', 'a INT', map(concat('rowValidation', 'XSDPath'), '{file}'))",
        "SELECT schema_of_xml('<a>1</a>', map('RowValidationXsdPath', '{file}'))",
        "SELECT from_avro(X'00', '\"int\"', map('avroSchemaUrl', '{file}'))",
        "TABLE text.`{file}`",
        "SELECT * FROM IDENTIFIER('text.`{file}`')",
        "SELECT * FROM text.`{file}` VERSION AS OF 1",
        f"WITH x AS ({READING}) SELECT 1",
        f"SELECT ({READING})",
        f"SELECT 1 WHERE EXISTS ({READING})",
        f"SELECT count(*) OVER w FROM VALUES (1) t(a) WINDOW w AS (PARTITION BY ({READING}))",
        f"SELECT * FROM VALUES (1) t(a), LATERAL ({READING})",
    ],
}  # fmt: skip
HARMLESS = [
    "SELECT * FROM range(3)",
    "VALUES (1), (2)",
    "FROM VALUES (1) t(a) |> WHERE a > 0 |> SELECT a",
    "SELECT 'reflect(1)' AS reflect, `java_method` FROM VALUES (1) t(java_method)",
    "WITH csv AS (SELECT 1 AS a) SELECT csv.a FROM csv",
    "SELECT sum(a) OVER w FROM VALUES (1) t(a) WINDOW w AS (ORDER BY a)",
    "SELECT * FROM VALUES (1) t(a) LATERAL VIEW OUTER explode(array(1, 2)) x AS y",
    "SELECT xpath_string('<a>1</a>', 'a'), input_file_name()",
    "SELECT from_xml('<p><a>1</a></p>', 'a INT', map('mode', 'FAILFAST')), schema_of_xml('<p><a>1</a></p>')",
]


def test_a_query_reads_tables_and_computes_and_that_is_all(tmp_path: Path, session: SessionHandle) -> None:
    """No code is called, no file read by its path or written, wherever in the text it stands."""
    file, out = tmp_path / "secret.txt", tmp_path / "out"
    file.write_text("secret\n")
    for code, texts in HOSTILE.items():
        for text in texts:
            with pytest.raises(UsageError) as caught, run_query(session, text.format(file=file, out=out)):
                pass
            said = str(caught.value)
            assert said.startswith(code), (text, said)
            assert "/root" not in said
    assert not out.exists()
    for text in HARMLESS:
        with run_query(session, text) as result:
            assert list(result.rows), text


def test_years_that_python_has_not_are_shown_as_texts(session: SessionHandle) -> None:
    """Alone, in lists, maps and structs, beside others; a table may have them by its SQL."""
    late, old = "DATE '0001-01-01' + 4000000", "DATE '0001-01-01' - 1"
    sql = f"""
        SELECT {late} AS a, {old} AS b, DATE '2024-05-01' AS b, CAST(NULL AS DATE) AS c,
            timestamp_micros(-62167219200000000) AS d,
            timestamp_micros(-62167219200000000)::timestamp_ntz AS e,
            array({late}, DATE '2024-05-01', NULL) AS f, map({old}, timestamp_micros(0)) AS g,
            named_struct('x', {old}, 'y', 1) AS h, CAST(NULL AS struct<x: date>) AS i, 'text' AS j
        """
    with run_query(session, sql) as result:
        assert result.types[:3] == ("date", "date", "date") and result.columns[:3] == ("a", "b", "b")
        (row,) = result.rows
    day = date(2024, 5, 1)
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    assert row == (
        *("+10952-08-18", "0000-12-31", day, None, "0000-01-01 00:00:00", "0000-01-01 00:00:00"),
        *(["+10952-08-18", day, None], {"0000-12-31": moment}, {"x": "0000-12-31", "y": 1}, None, "text"),
    )
