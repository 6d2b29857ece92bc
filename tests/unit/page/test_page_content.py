"""What the pages say, of a lake of real Iceberg tables."""

import html
import json
import re
import socket
import time
from dataclasses import replace
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

import lakesmith
from lakesmith.alerts.findings import seen_in_tables
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.catalog.lock import ProjectLock
from lakesmith.errors import LakesmithError, Place
from lakesmith.execute.findings import Kind, of_state
from lakesmith.journal.lines import Journal
from lakesmith.page.app import drawn_tables
from lakesmith.page.listing import SORTS, STATES, state_of, states_of
from lakesmith.page.overview import Flow
from lakesmith.page.texts import advice, in_words, middle
from lakesmith.project.definitions import TableDefinition
from made_lake import MadeLake
from page_server import Served, served

pytestmark = pytest.mark.processes


def _said(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_what_is_wrong_comes_first_with_its_way_out(page: Served) -> None:
    said = _said(page.get("/").text)
    assert "silver.part_0 : it has 2 rows in quarantine. lakesmith quarantine show silver.part_0" in said
    assert "gold.result_0 is behind: 3 new rows in silver.part_0. lakesmith run" in said
    assert said.index("in quarantine") < said.index("Flow") < said.index("table state")


def _listed(page: Served, path: str) -> list[str]:
    return re.findall(r'id="row-([^"]+)"', page.get(path).text)


def test_the_list_has_the_tables_of_one_state(page: Served) -> None:
    whole, behind = _listed(page, "/"), _listed(page, "/?state=behind&sort=rows")
    assert re.search(r'href="/\?state=behind#list-title">1 behind</a>', page.get("/").text)
    assert behind == ["gold.result_0"] and set(behind) < set(whole)
    assert _listed(page, "/?state=nonsense") == whole


def test_a_table_is_in_one_state(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 6)
    lake.publish()
    lake.publish("bronze.source_0", "bronze.source_1", rows=3)
    (tmp_path / "tables/gold/_defaults.yaml").write_text("freshness: 1 minute\n")
    failure = {"do": "failed", "id": "a", "table": "silver.part_0", "code": "LS601", "what": "Spark failed"}
    Journal(tmp_path / ".lakesmith").append(failure)
    with lakesmith.open(tmp_path) as opened:
        found = opened.overview()
        now = time.time_ns() // 1_000_000 + 120_000
    old = [replace(each, status=replace(each.status, findings=tuple(
        of_state(TableDefinition(each.status.name, Place(""), freshness_seconds=60.0), None, 0, now)
    ))) for each in found.tables if each.name == "gold.result_0"]  # fmt: skip
    of = states_of(found)
    assert of["silver.part_0"] == "failing" and of["silver.part_1"] == "behind"
    assert of["bronze.source_0"] == "up_to_date" and set(of.values()) <= set(STATES)
    behind = [each.what for each in found.findings if "behind: " in each.what]
    assert len(behind) == 1 and "silver.part_0," not in behind[0] and "silver.part_1" in behind[0]
    assert [state_of(each.status, each.status.findings) for each in old] == ["stale"]
    with served(tmp_path) as page:
        counted = sum(map(int, re.findall(r'#list-title">(\d+) ', page.get("/").text)))
        assert counted == 6 and _listed(page, "/?state=failing") == ["silver.part_0"]
        assert "failing" in _said(page.get("/t/silver.part_0").text)


@pytest.mark.parametrize("by", SORTS)
def test_the_list_is_sorted_by_each_column(page: Served, made: MadeLake, by: str) -> None:
    tables = {each.name: each for each in lakesmith.open(made.root).overview().tables}
    up, down = _listed(page, f"/?sort={by}"), _listed(page, f"/?sort=-{by}")
    assert sorted(up) == sorted(down) == sorted(tables)
    plain = {"rows": lambda name: tables[name].status.rows, "table": lambda name: name,
             "published": lambda name: tables[name].status.published_ms}  # fmt: skip
    if by in plain:
        assert [plain[by](each) for each in up] == sorted(map(plain[by], up))
        assert [plain[by](each) for each in down] == sorted(map(plain[by], up), reverse=True)
    text = page.get(f"/?sort={by}").text
    assert text.count('aria-sort="ascending"') == 1
    assert f'id="sort-{by}" href="/?sort=-{by}#list-title"' in text
    assert f'id="sort-{by}" href="/#list-title"' in page.get(f"/?sort=-{by}").text


def test_the_order_stays_with_the_other_choices(page: Served) -> None:
    text = page.get("/?sort=-rows&state=up_to_date&rows=day&show=silver.*").text
    links = [html.unescape(each) for each in re.findall(r'href="(/\?[^"]+)"', text)]
    chosen = [each for each in links if "sort=" in each]
    assert len(chosen) > 8 and all("show=silver" in each for each in chosen)
    assert sum("rows=day" in each for each in chosen) == len(chosen) - 2, "but for the batch and the hour"
    assert '<input type="hidden" name="sort" value="-rows">' in text


@pytest.mark.parametrize(
    ("hint", "commands"),
    [
        ("lakesmith status +gold.sales", ["lakesmith status +gold.sales"]),
        ("lakesmith status gold.a_2 shows what it waits for", ["lakesmith status gold.a_2"]),
        ("lakesmith quarantine show silver.a shows the rows", ["lakesmith quarantine show silver.a"]),
        ("lakesmith up, or lakesmith run; --patience SECONDS waits", ["lakesmith up", "lakesmith run"]),
        ("to take it again: lakesmith files a.b --forget FILE.", ["lakesmith files a.b --forget FILE"]),
        ("create it (`mkdir -p landing`) or correct `path`", []),
        ("did you mean lakesmith_x?", []),
        ("lakesmith logs 1f3 --target prod", ["lakesmith logs 1f3 --target prod"]),
    ],
)
def test_only_commands_look_like_commands(hint: str, commands: list[str]) -> None:
    assert [text for text, is_command in advice(hint) if is_command] == commands
    assert "".join(text for text, _ in advice(hint)) == hint


def test_long_names_in_the_graph_keep_their_ends() -> None:
    long = ("stg_gitlab_dotcom__projects", "stg_gitlab_dotcom__issues__v2")
    assert [middle(each, 24) for each in long] == ["stg_git…dotcom__projects", "stg_git…tcom__issues__v2"]
    assert middle("a" * 24, 24) == "a" * 24


def test_page_status_and_alerts_say_the_same_of_what_is_wrong(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 3)
    lake.publish("bronze.source_0", "silver.part_0", bad=2)
    settings = tmp_path / "tables/bronze/source_0.yaml"
    settings.write_text(f"{settings.read_text()}quarantine_limit: 1\n")
    (tmp_path / "tables/gold/result_0.yaml").write_text("freshness: 6 hours\n")
    failure = {"do": "failed", "id": "a", "table": "gold.result_0", "code": "LS601", "what": "Spark failed"}
    Journal(tmp_path / ".lakesmith").append(failure)
    with lakesmith.open(tmp_path) as opened:
        found = {(each.table, each.kind): each for each in opened.overview().findings}
        notes = {str(each.name): each.notes for each in opened.status().tables}
        inside = opened.access.opened()
    failed, stale = (found["gold.result_0", kind] for kind in (Kind.FAILED, Kind.STALE))
    assert (failed.what, stale.what) == notes["gold.result_0"]
    assert "LS601 Spark failed" in failed.what and "it has never got rows" in stale.what
    bad = found["bronze.source_0", Kind.QUARANTINE].what
    assert bad == "it has 2 rows in quarantine, more than 1" and notes["bronze.source_0"] == (bad,)
    assert not notes["silver.part_0"], "within what is allowed the number alone is shown"
    states = ((table, inside.lake.facts(table.name).state, 2) for table in inside.project.tables)
    alerts = seen_in_tables(states, time.time_ns() // 1_000_000).findings
    assert alerts == tuple(found[each.table, each.kind] for each in alerts) and len(alerts) == 2


def test_lines_have_the_rows_that_were_read_by_commits(made: MadeLake) -> None:
    found = {each.name: each for each in lakesmith.open(made.root).overview().tables}
    assert found["bronze.source_0"].flows["batch"] == {"": Flow(3)}
    assert found["bronze.source_0"].flows["day"] == {"": Flow(8)}
    assert found["silver.part_0"].flows["batch"] == {"bronze.source_0": Flow(3)}
    assert found["silver.part_0"].flows["hour"] == {"bronze.source_0": Flow(8)}
    assert found["gold.result_0"].flows["batch"]["silver.part_0"] == Flow(5)


def test_a_selection_is_as_on_the_command_line(page: Served) -> None:
    text = page.get("/?show=%2Bsilver.part_0").text
    assert "row-bronze.source_0" in text and "row-silver.part_0" in text and "row-silver.part_1" not in text
    wrong = page.get("/?show=silver.prt_0")
    assert wrong.status == 404 and "silver.part_0" in wrong.text


def test_a_table_shows_its_batches_bad_rows_columns_and_definition(page: Served) -> None:
    said = _said(page.get("/t/silver.part_0").text)
    assert "behind" not in said.split("Batches")[0].replace("all that depends", "")
    assert "read 5: 3 inserted, 2 quarantined; 8 rows now" in said
    assert "id: not a bigint" in said and "landing/0/a.csv" in said
    assert "SELECT id FROM bronze.source_0" in said
    assert "key id" in said and "tables/silver/part_0.yaml" in said


def test_an_empty_project_shows_files_that_make_one(tmp_path: Path) -> None:
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    with served(tmp_path) as page:
        text = page.get("/").text
        shown = zip(
            re.findall("<h3>(tables/.*?)</h3>", text), re.findall("(?s)<pre>(.*?)</pre>", text), strict=True
        )
        for name, content in shown:
            (tmp_path / name).parent.mkdir(parents=True)
            (tmp_path / name).write_text(html.unescape(content))
        text = page.get("/").text
        assert "node-bronze.orders" in text and "node-gold.by_city" in text


def test_a_broken_project_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    with served(tmp_path) as page:
        assert "no tables yet" in page.get("/").text
        (tmp_path / "lakesmith.yaml").write_text("name: shop\ntargts: {}\n")
        found = page.get("/")
        assert "targts" in found.text and "lakesmith.yaml:2" in found.text


def test_a_project_that_is_broken_from_the_start_is_shown_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN", "s3cret-word")
    files = {
        "lakesmith.yaml": "name: shop\ntargets: {local: {vars: {hidden: '${HIDDEN}'}}}\n",
        "tables/bronze/orders.yaml": "source: {files: {path: landing, frmat: csv}}\n",
        "tables/gold/sums.sql": "SELECT nothing FROM bronze.ordres WHERE name = '${vars.hidden}'\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with served(tmp_path) as page:
        for path in ("/", "/t/bronze.orders", "/query", "/event", "/activity", "/t/gold.sums/rows"):
            found = page.get(path)
            assert found.status in (200, 503) and "s3cret-word" not in found.text
            if path != "/activity":
                assert "tables/bronze/orders.yaml:1" in found.text and "bronze.ordres" in found.text
        assert "expected: one of path, format" in found.text and "→ did you mean format?" in found.text
        assert "Sign in to shop" in page.ask("/").text
        (tmp_path / "lakesmith.yaml").write_text("name: [\n")
        assert "lakesmith.yaml:" in page.get("/").text and "Sign in to lakesmith" in page.ask("/").text
        (tmp_path / "lakesmith.yaml").write_text(files["lakesmith.yaml"])
        (tmp_path / "tables/bronze/orders.yaml").write_text(
            "source: {files: {path: landing, format: csv}}\ncolumns: {id: bigint}\n"
        )
        assert "orders.yaml" not in page.get("/").text and "bronze.ordres" in page.get("/").text
        (tmp_path / "tables/gold/sums.sql").write_text("SELECT id FROM bronze.orders\n")
        assert "node-gold.sums" in page.get("/").text


def test_the_page_of_no_project_and_of_no_target_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(LakesmithError, match="LS119"):
        Lakehouse(tmp_path).ui(port=0)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\nno: 1\n")
    assert Lakehouse(tmp_path).ui(port=0).link
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    with pytest.raises(LakesmithError, match="LS120"):
        Lakehouse(tmp_path, "prod").ui(port=0)


def test_a_lake_stays_readable_while_its_project_is_broken(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 4)
    lake.publish()
    file = tmp_path / "tables/silver/part_0.sql"
    text = file.read_text()
    with served(tmp_path) as page:
        assert "cannot be read" not in page.get("/").text
        file.write_text("SELECT id FROM bronze.sorce_0\n")
        for path in ("/", "/t/bronze.source_0", "/t/silver.part_0"):
            said = page.get(path)
            assert (
                said.status == 200 and "The project cannot be read; this is what it was before" in said.text
            )
            assert "bronze.sorce_0, which does not exist" in said.text and "bronze.source_0" in said.text
        before = page.get("/").text
        file.write_text(text)
        after = page.get("/").text
        assert "cannot be read" not in after
        versions = [re.findall('data-version="([^"]+)"', each) for each in (before, after)]
        assert versions[0] != versions[1]


def test_a_commit_is_told_within_a_second(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 1)
    lake.publish()
    with served(tmp_path) as page:
        connection = HTTPConnection("127.0.0.1", page.ui.port, timeout=20)
        connection.request("GET", "/live", headers={"Authorization": f"Bearer {page.token}"})
        answer = connection.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")
        first = _next_version(answer)
        told = ""
        # The ten-second look may come in between: then it is tried again.
        for _ in range(3):
            lake.publish(rows=1)
            begun = time.monotonic()
            told = _next_version(answer)
            if time.monotonic() - begun < 1.5:
                break
        assert told != first and time.monotonic() - begun < 1.5
        connection.close()


def _next_version(answer: object) -> str:
    while not (line := answer.readline().decode()).startswith("data: "):  # type: ignore[attr-defined]
        assert line, "the stream has ended"
    return line.removeprefix("data: ").strip()


def test_a_table_that_was_rebuilt_says_that_its_rows_changed(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 3)
    lake.publish()
    writer = lake.catalog.writer()
    writer.load_table("silver.part_0").delete("id = 1")
    found = {each.name: each for each in lakesmith.open(tmp_path).overview().tables}
    assert found["gold.result_0"].waiting == {"silver.part_0": "changed since"}
    lake.publish("bronze.source_0", rows=4)
    found = {each.name: each for each in lakesmith.open(tmp_path).overview().tables}
    assert found["silver.part_0"].waiting == {"bronze.source_0": "4 wait"}
    assert found["bronze.source_0"].waiting == {}


@pytest.mark.parametrize(
    ("flow", "text"),
    [(None, ""), (Flow(), ""), (Flow(1200), "+1,200"), (Flow(0, False), "changed"), (Flow(3, False), "≥3")],
)
def test_rows_on_lines_in_words(flow: Flow | None, text: str) -> None:
    assert in_words(flow) == text


def test_of_a_large_lake_one_table_is_drawn_with_its_neighbours(tmp_path: Path) -> None:
    MadeLake(tmp_path, 60)
    found = lakesmith.open(tmp_path).overview()
    focus, drawn = drawn_tables(found, "silver.part_3", None)
    assert focus == "silver.part_3" and {"silver.part_3", "bronze.source_3"} <= {each.name for each in drawn}
    assert all(focus in each.inputs or each.name in ("silver.part_3", "bronze.source_3") for each in drawn)
    assert len(drawn_tables(found, "gold.nothing", None)[1]) < 60
    assert drawn_tables(found, None, "1") == (None, found.tables)


def test_a_table_that_cannot_be_refreshed_says_why_first(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 3)
    lake.publish()
    (tmp_path / ".lakesmith/warehouse/silver/part_0/metadata").rename(tmp_path / "gone")
    with served(tmp_path) as page:
        said = _said(page.get("/").text)
        assert said.index("silver.part_0 : cannot be refreshed") < said.index("Flow")
        assert page.get("/t/silver.part_0").status in (200, 503)


def test_who_is_at_work_is_said_as_long_as_it_is(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 3)
    lake.publish()
    with served(tmp_path) as page:
        assert "is at work" not in page.get("/").text
        with ProjectLock(tmp_path / ".lakesmith", "run"):
            assert "lakesmith run is at work" in _said(page.get("/").text)
        assert "is at work" not in page.get("/").text
        gone = {"host": socket.gethostname(), "pid": 999999999, "command": "run", "since": ""}
        (tmp_path / ".lakesmith/locks/project.lock").write_text(json.dumps(gone))
        assert "is at work" not in page.get("/").text


def test_the_lake_is_shown_as_of_a_tag_and_as_of_a_time(tmp_path: Path) -> None:
    lake = MadeLake(tmp_path, 3)
    lake.publish("bronze.source_0", "silver.part_0", bad=1)
    lake.publish("bronze.source_0", rows=4)
    writer = lake.catalog.writer()
    for name in ("bronze.source_0", "silver.part_0"):
        table = writer.load_table(name)
        table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "may").commit()
    between = datetime.now(UTC).isoformat()
    time.sleep(0.01)
    lake.publish("silver.part_0", rows=4)
    lake.publish("gold.result_0", rows=2)
    with served(tmp_path) as page:
        assert "+5" not in _said(page.get("/").text)
        for as_of in ("may", quote(between)):
            said = _said(page.get(f"/?as_of={as_of}").text)
            assert "+5" in said, "the rows of the last batch are those of then"
            assert "silver.part_0 is behind: 4 new rows in bronze.source_0" in said
            assert "silver.part_0 : it has 1 row in quarantine" in said and "9 rows" in said
            assert "lakesmith run" not in said and "not there" in said
            assert f"/t/silver.part_0/rows?as_of={quote(unquote(as_of))}" in page.get(f"/?as_of={as_of}").text
        assert "5 rows" in _said(page.get("/?as_of=may&show=silver.*").text)
        assert page.get("/?as_of=1999-01-01").status == 400
        assert "LS230" in page.get("/?as_of=no%20such%20tag").text
        assert '<option value="may">' in page.get("/").text


def test_a_long_list_of_tables_has_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MadeLake(tmp_path, 30)
    monkeypatch.setattr("lakesmith.page.listing.LISTED", 12)
    found, parts = [], ("1", "2", "3")
    with served(tmp_path) as page:
        for part in parts:
            text = page.get(f"/?part={part}").text
            found.append(re.findall(r'id="row-([^"]+)"', text))
            assert ('rel="next"' in text, 'rel="prev"' in text) == (part != "3", part != "1")
        assert [len(each) for each in found] == [12, 12, 6]
        assert len({name for each in found for name in each}) == 30
        for odd in ("0", "99", "x", "-1"):
            assert page.get(f"/?part={odd}").status == 200
