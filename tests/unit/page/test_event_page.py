"""The page of events without Spark: samples, events that are kept, and what is refused."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from made_lake import HOSTILE, MadeLake
from page_server import Served, served

pytestmark = pytest.mark.processes


@pytest.fixture
def made(tmp_path: Path) -> MadeLake:
    return MadeLake(tmp_path, 3)


@pytest.fixture
def changing(made: MadeLake) -> Iterator[Served]:
    with served(made.root, may_change=True) as found:
        yield found


@pytest.fixture
def reading(made: MadeLake) -> Iterator[Served]:
    with served(made.root) as found:
        yield found


def _event(html: str) -> str:
    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", html, re.DOTALL)
    assert found, html
    return unescape(found[1])


def _said(html: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", html).split()))


def test_the_first_table_is_shown_with_a_record_of_its_newest_file(made: MadeLake, reading: Served) -> None:
    folder = made.root / "landing/0"
    (folder / "a.csv").write_text(f'id,note\n1,"</textarea>{HOSTILE}"\n2,b\n')
    text = reading.get("/event").text
    assert _event(text).startswith("id,note\n1,") and "2,b" not in _event(text)
    assert "</textarea><script>" not in text and text.count("<script") == 2
    assert "a.csv" in text and "a made one" in text
    assert "<option selected>bronze.source_0</option>" in text and "silver.part_0</option>" not in text


def test_any_record_of_a_landing_file_is_taken_and_of_no_other_file(made: MadeLake, reading: Served) -> None:
    (made.root / "landing/0/a.csv").write_text("id\n1\n2\n3\n")
    (made.root / "secret.csv").write_text("id\n77\n")
    address = "/event?table=bronze.source_0&file="
    assert _event(reading.get(f"{address}landing/0/a.csv&position=3").text) == "id\n3\n"
    for file in ("secret.csv", "landing/0/../../secret.csv", "/etc/passwd", str(made.root / "secret.csv")):
        assert _event(reading.get(f"{address}{file}&position=1").text) == "id\n1\n"
    for position in ("9", "0", "-1", "x", ""):
        assert _event(reading.get(f"{address}landing/0/a.csv&position={position}").text) == "id\n1\n"


def test_an_event_is_made_of_the_columns_where_there_is_no_file(reading: Served) -> None:
    assert re.fullmatch(r"id\n\d+\n", _event(reading.get("/event?table=bronze.source_0").text))


def test_an_event_is_kept_under_a_name_and_shown_again(made: MadeLake, changing: Served) -> None:
    fields = {"table": "bronze.source_0", "source": "files", "text": "id\r\n</textarea>7\r\n"}
    done = changing.post("/event/keep", **fields, name="seven")
    assert (done.status, done.headers["location"]) == (303, "/event?table=bronze.source_0&sample=seven")
    kept = made.root / "events/bronze.source_0/seven.csv"
    assert kept.read_text() == "id\n</textarea>7\n"
    shown = changing.get(done.headers["location"]).text
    assert _event(shown) == "id\n</textarea>7\n" and "kept</span>" in shown


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".a", "a.csv", "ü"])
def test_a_name_that_is_none_is_refused_and_the_text_stays(
    made: MadeLake, changing: Served, name: str
) -> None:
    done = changing.post("/event/keep", table="bronze.source_0", source="files", text="id\n1", name=name)
    assert done.status == 200 and "an event cannot have this name" in _said(done.text)
    assert _event(done.text) == "id\n1" and not (made.root / "events").exists()


def test_a_page_for_reading_keeps_nothing(made: MadeLake, reading: Served) -> None:
    fields = {"table": "bronze.source_0", "source": "files", "text": "id\n1", "name": "x"}
    assert reading.post("/event/keep", **fields).status in (404, 405)
    assert "/event/keep" not in reading.get("/event").text and not (made.root / "events").exists()


@pytest.mark.parametrize(
    ("table", "why"), [("bronze.none", "LS201"), ("silver.part_0", "LS215"), ("<script>", "LS201")]
)
def test_another_table_is_refused(reading: Served, table: str, why: str) -> None:
    found = reading.post("/event", table=table, text="id\n1")
    assert found.status == 200 and why in _said(found.text) and "<script>" not in found.text


def test_a_form_of_another_site_follows_nothing(reading: Served) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "cross-site"}
    headers = {"Authorization": f"Bearer {reading.token}", **form}
    assert reading.ask("/event", headers, "POST", "table=bronze.source_0&text=id").status == 403


def test_a_project_without_sources_says_so(tmp_path: Path) -> None:
    with served(MadeLake(tmp_path / "none", 0).root) as found:
        assert "No table of this project has a source" in _said(found.get("/event").text)
