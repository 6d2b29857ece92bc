"""Names, values and secrets that would do harm if the page took them for markup, and requests by chance."""

import json
import os
import random
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa
import pytest
from starlette.routing import Route
from typer.testing import CliRunner

import lakesmith
from lakesmith.cli.main import app as command_line
from lakesmith.page.app import Pages
from lakesmith.page.live import Watch
from made_lake import HOSTILE, MadeLake
from page_server import Served, served

pytestmark = pytest.mark.processes
REQUESTS = 10_000 if os.environ.get("LAKESMITH_SOAK") else 1_000
NAME = "silver.part_0"
OVERRIDE = "\u202e"
"""The mark after which text runs from right to left, until something isolates it."""
EVIL = f"""{OVERRIDE}lia"'><b hx-get=/do/run onclick=x>{HOSTILE}"""


def _words(text: str) -> list[str]:
    return text.split()


QUIET = {"a", "b", "bdi", "code", "label", "p", "pre", "select", "span", "td", "textarea", "th", "title"}
"""Elements whose text has an order of its own: blocks, by HTML, or by page.css."""
MARKUP = set(
    _words(
        """a article aside b bdi body button circle code datalist dd details div dl dt footer form g h1 h2 h3
    head header html i input kbd label li link main meta nav ol option p path pre rect script section
    select span summary svg table tbody td text textarea th thead time title tr tspan ul"""
    )
)


class Read(HTMLParser):
    """What a browser makes of a page: its elements, attributes, and the elements around each override."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.scripts = list[str](), 0
        self.elements, self.attributes, self.loose = set[str](), set[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.scripts += tag == "script"
        if tag not in ("input", "meta", "link", "option", "circle", "rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if OVERRIDE in data and not QUIET & set(self.open):
            self.loose.append(f"{self.open[-1]}: {data}")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A lake whose columns, values, bad rows, descriptions and texts are markup, and of which one is 1 MB."""
    lake = MadeLake(tmp_path_factory.mktemp("hostile"), 3)
    (lake.root / "tables/silver/part_0.yaml").write_text(f"key: [id]\ndescription: {json.dumps(EVIL)}\n")
    (lake.root / "landing/0" / "<img src=x>.csv").write_text("id\n1\n")
    lake.publish()
    lake.publish(NAME, rows=3, bad=2, raw=EVIL + "y" * 1_000_000)
    table = lake.catalog.writer().load_table(NAME)
    with table.update_schema() as update:
        update.add_column(EVIL.replace(".", "_"), _string(), doc=EVIL)
    column = EVIL.replace(".", "_")
    values = [EVIL, "x" * 1_000_000, "", None]
    table.append(pa.table({"id": pa.array(range(90, 94), pa.int64()), column: pa.array(values, pa.string())}))
    with served(lake.root, may_change=True) as found:
        yield found


def _string() -> Any:
    from pyiceberg.types import StringType

    return StringType()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        f"/t/{NAME}",
        f"/t/{NAME}/rows",
        f"/t/{NAME}/rows?column={quote(EVIL)}&is=eq&value={quote(EVIL)}&sort={quote(EVIL)}",
        f"/t/{NAME}/diff",
        f"/t/{quote(EVIL, safe='')}",
        f"/?show={quote(EVIL)}&as_of={quote(EVIL)}&focus={quote(EVIL)}",
        f"/query?sql={quote(EVIL)}&as_of={quote(EVIL)}",
        f"/event?table={quote(EVIL)}",
        "/event?table=bronze.source_0",
        f"/activity?table={quote(EVIL)}&kind={quote(EVIL)}",
        f"/do/tag?name={quote(EVIL)}",
        f"/do/run?table={quote(EVIL)}",
    ],
)
def test_what_comes_from_data_is_text(hostile: Served, path: str) -> None:
    answer = hostile.get(path)
    read = Read(answer.text)
    assert answer.status < 500
    assert read.elements <= MARKUP and read.scripts <= 2, read.elements - MARKUP
    assert not [name for name in read.attributes if name.startswith(("on", "hx-", "style", "src"))
                and name != "src"]  # fmt: skip
    assert read.loose == [] and len(answer.text) < 250_000


def test_hostile_names_and_values_are_shown_as_they_are(hostile: Served) -> None:
    text = hostile.get(f"/t/{NAME}/rows").text
    assert "hx-get=/do/run" in text and "<b hx-get" not in text and OVERRIDE in text
    assert "1,000,000 characters" in text and ">NULL<" in text and ">empty<" in text


def test_a_page_for_reading_has_no_route_that_changes(tmp_path: Path) -> None:
    lake = lakesmith.open(MadeLake(tmp_path, 3).root)
    ui = lake.ui(port=0)

    def posts(may_change: bool) -> set[str]:
        watch = Watch(lake.folder, lake.access.opened)
        pages = Pages(lake, watch, {}, lambda: None, lambda: False, may_change)
        routes = [each for each in pages.app().routes if isinstance(each, Route)]
        return {each.path for each in routes if "POST" in (each.methods or ())}

    harmless = {"/query", "/query/cancel", "/query/result.csv", "/query/result.parquet", "/event",
                "/event/cancel", "/t/{name}/diff", "/jobs/{key}/cancel"}  # fmt: skip
    assert not ui.may_change and posts(may_change=False) <= harmless
    assert posts(may_change=True) >= {"/query/save", "/event/keep"}


def test_up_read_only_serves_a_page_for_reading(tmp_path: Path) -> None:
    MadeLake(tmp_path, 1)
    for options, is_there in (([], False), (["--read-only"], True)):
        made = CliRunner().invoke(command_line, ["up", "--systemd", "--project", str(tmp_path), *options])
        assert made.exit_code == 0 and ("--read-only" in made.output) is is_there


def test_secrets_are_in_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2<&secret"
    monkeypatch.setenv("PASS_OF_SHOP", secret)
    lake = MadeLake(tmp_path, 3)
    settings = "name: made\ntargets: {local: {spark: {spark.my.password: '${PASS_OF_SHOP}'}}}\n"
    (tmp_path / "lakesmith.yaml").write_text(settings)
    lake.publish()
    sql = f"-- {secret}\nSELECT id FROM bronze.source_0 WHERE '{secret}' <> 'x'\n"
    (tmp_path / "tables/silver/part_0.sql").write_text(sql)
    (tmp_path / "tables/silver/part_0.yaml").write_text(f"key: [id]\ndescription: with {secret}\n")
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries/one.sql").write_text(f"SELECT '{secret}'")
    table = lake.catalog.writer().load_table(NAME)
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "good").commit()
    paths = ["/", f"/t/{NAME}", "/query", "/query?saved=one", "/event", "/activity", f"/t/{NAME}/rows",
             f"/?show={quote(secret)}", f"/t/{quote(secret, safe='')}", "/do/run", "/nothing"]  # fmt: skip
    with served(tmp_path, may_change=True) as page:
        text = page.get(f"/t/{NAME}").text
        assert "WHERE &#39;***&#39;" in text and "with ***" in text
        assert [path for path in paths if "hunter2" in page.get(path).text] == []
        answer = page.post("/query", sql=f"SELECT {secret} FROM")
        assert answer.status < 500 and "hunter2" not in answer.text
        (tmp_path / "lakesmith.yaml").write_text(settings + f"{json.dumps(secret)}: 1\n")
        assert [path for path in paths if "hunter2" in page.get(path).text] == []


def test_no_request_is_an_error_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods, paths, forms and headers by chance. What a form would start ends at once."""
    quiet = (sys.executable, "-c", "")
    monkeypatch.setattr("lakesmith.page.jobs.COMMAND", quiet)
    monkeypatch.setattr("lakesmith.page.query.engine._COMMAND", quiet)
    lake, chosen = MadeLake(tmp_path, 4), random.Random(11)
    lake.publish()
    tables = f"/t/{NAME} /t/{NAME}/rows /t/{NAME}/diff /query /query/cancel /query/save /query/result.csv"
    actions = "/do/run /do/pause /do/tag /do/rollback /do/retry /do/maintain /jobs/1 /jobs/1/cancel"
    paths = f"/ {tables} {actions} /event /event/keep /activity /static/ /..".split()
    names = _words("table name sql as_of to heads key show focus rows column is value sort page begin")
    names += _words("end number text file position sample kind with part whole view x y")
    values = f"{NAME} 1 -1 {'0' * 400} ../../lakesmith.yaml % {{ [] 2026-13-41 silver.* + good eq nan".split()
    values += ["", "\0", EVIL, '{"a": 1}', "\udcff", "1e999"]
    headers = [{}, {"Range": "bytes=0-"}, {"Accept-Language": "\xff"}, {"Cookie": ";;=;"}]
    headers += [{"Content-Length": "x"}, {"Last-Event-ID": "<b>"}, {"Content-Type": "multipart/form-data"}]
    with served(tmp_path, may_change=True) as page:
        for number in range(REQUESTS):
            fields = [(chosen.choice(names), chosen.choice(values)) for _ in range(chosen.randrange(5))]
            form = urlencode(fields, errors="surrogateescape")
            path, method = chosen.choice(paths), chosen.choice(["GET", "GET", "POST", "HEAD", "PUT"])
            given = {"Authorization": f"Bearer {page.token}", **chosen.choice(headers)}
            if method == "POST":
                given.setdefault("Content-Type", "application/x-www-form-urlencoded")
            else:
                path += f"?{form}"
            answer = page.ask(path, given, method, form if method == "POST" else None)
            assert answer.status < 500, (number, method, path, form, given)
