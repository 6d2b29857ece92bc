"""The page of queries without Spark: what it shows and refuses by itself."""

import random
import re
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from made_lake import MadeLake
from page_server import Served, served

pytestmark = pytest.mark.processes


def _said(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_an_address_shows_a_query_and_does_not_run_it(page: Served) -> None:
    text = page.get(f"/query?sql={quote('SELECT 1 </textarea><script>')}&as_of=closing").text
    assert "SELECT 1 &lt;/textarea&gt;&lt;script&gt;" in text and 'value="closing"' in text
    assert "rows-scroll" not in text and text.count("<script") == 2


def test_tables_and_columns_are_listed(page: Served) -> None:
    said = _said(page.get("/query").text)
    assert "silver. part_0 id bigint" in said
    assert "/query?sql=SELECT+%2A%0AFROM+silver.part_0%0ALIMIT+100" in page.get("/t/silver.part_0").text


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("", "the query is empty"),
        ("DROP TABLE bronze.x", "this is no SELECT but DROP"),
        ("SELECT 1; SELECT 2", "there is a second statement, at line 1"),
        ("SELECT 1,\n  reflect('java.lang.System', 'exit')", "reflect calls code"),
        ("SELECT (1", "line 1"),
    ],
)
def test_what_is_no_query_is_said_before_spark_starts(page: Served, sql: str, why: str) -> None:
    found = page.post("/query", sql=sql)
    assert found.status == 200 and why in _said(found.text) and "LS24" in found.text


def test_a_query_cannot_be_saved_by_a_page_for_reading(page: Served) -> None:
    assert page.post("/query/save", sql="SELECT 1", name="x").status in (404, 405)
    assert "/query/save" not in page.get("/query").text


def test_a_page_that_may_change_keeps_queries_in_the_project(tmp_path: Path) -> None:
    MadeLake(tmp_path, 1)
    with served(tmp_path, may_change=True) as page:
        assert "/query/save" in page.get("/query").text
        found = page.post("/query/save", sql="SELECT 1\r\nAS a", name="one")
        assert (found.status, found.headers["location"]) == (303, "/query?saved=one")
        assert (tmp_path / "queries/one.sql").read_text() == "SELECT 1\nAS a"
        assert "SELECT 1\nAS a</textarea>" in page.get("/query?saved=one").text
        for name, sql in (("../one", "SELECT 2"), ("one", "SELECT 2"), ("two", "DROP TABLE x")):
            assert "LS24" in page.post("/query/save", sql=sql, name=name).text
        assert [each.name for each in (tmp_path / "queries").iterdir()] == ["one.sql"]
        form = {"sql": "SELECT 3", "name": "one"}
        other = {"Authorization": f"Bearer {page.token}", "Sec-Fetch-Site": "cross-site"}
        assert page.ask("/query/save", other, "POST", urlencode({**form, "replace": "on"})).status == 403
        assert page.post("/query/save", **form, replace="on").status == 303
        assert page.get("/query/save").status in (404, 405)


def test_a_page_of_a_broken_project_says_so_and_runs_nothing(tmp_path: Path) -> None:
    MadeLake(tmp_path, 1)
    with served(tmp_path) as page:
        (tmp_path / "lakesmith.yaml").write_text("name: made\nno: 1\n")
        found = page.get("/query")
        assert found.status == 200 and "lakesmith.yaml:2" in found.text


def test_no_form_is_an_error_of_the_server(made: MadeLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that would run what looks like a query ends at once."""
    monkeypatch.setattr("lakesmith.page.query.engine._COMMAND", (sys.executable, "-c", ""))
    chosen = random.Random(3)
    parts = [
        "SELECT ",
        "id ",
        "FROM ",
        "silver.part_0 ",
        "(",
        ")",
        "'",
        '"',
        "`",
        "/*",
        "--",
        "\n",
        "\0",
        "\ud83d",
    ]
    parts += [
        "\u202e",
        "é",
        ";",
        "$",
        "${x}",
        "{{ 7 }}",
        "<script>",
        "%",
        "\\",
        ", ",
        "|> ",
        "1",
        "0" * 300,
        "WITH ",
    ]
    paths = ["/query", "/query/result.csv", "/query/result.parquet", "/query/cancel", "/query/save"]
    names = ["sql", "as_of", "name", "number", "view", "x", "y", "kind"]
    with served(made.root, may_change=True) as page:
        for _ in range(150):
            texts = ("".join(chosen.choices(parts, k=chosen.randrange(6))) for _ in names)
            fields = {
                name: text.encode("utf-8", "replace").decode()
                for name, text in zip(names, texts, strict=True)
            }
            path = chosen.choice(paths)
            assert page.post(path, **fields).status < 500, (path, fields)
            query = urlencode({**fields, "result": fields["number"]})
            assert page.get(f"/query?{query}").status < 500, fields
    assert not (made.root / "queries").exists() or list((made.root / "queries").iterdir()) == []


def test_a_form_that_is_too_large_is_refused(page: Served) -> None:
    assert page.post("/query", sql="x" * 2_000_000).status == 413
    assert "too long" in page.post("/query", sql="SELECT " + "1, " * 60_000 + "1").text
