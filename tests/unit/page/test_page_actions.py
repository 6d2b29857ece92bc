"""Actions: in two steps, bound to the heads that were shown, sent by the page itself, each done once."""

import html
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

import lakesmith
from lakesmith.api.doing.__main__ import do
from lakesmith.serve.orders import Orders
from made_lake import MadeLake
from page_server import Answer, Served, served

pytestmark = pytest.mark.processes
NAME = "silver.part_0"


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> tuple[MadeLake, Callable[[], None]]:
    """Three tables, of which the last two are behind; and what puts them back as they were."""
    made = MadeLake(tmp_path_factory.mktemp("made") / "lake", 3)
    made.publish()
    made.publish("bronze.source_0", rows=3)
    return made, made.kept()


@pytest.fixture
def lake(behind: tuple[MadeLake, Callable[[], None]]) -> MadeLake:
    made, put_back = behind
    put_back()
    return made


@pytest.fixture
def page(lake: MadeLake) -> Iterator[Served]:
    with served(lake.root, may_change=True) as found:
        yield found


def _send(page: Served, path: str, fields: dict[str, str], **headers: str) -> Answer:
    """Sends a form as the browser of somebody who is signed in does."""
    cookie = page.ask(f"/?token={page.token}").headers["set-cookie"].split(";")[0]
    given = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    given |= {name.replace("_", "-"): text for name, text in headers.items()}
    return page.ask(path, given, "POST", urlencode(fields))


def _form(text: str) -> dict[str, str]:
    """The hidden fields of the form that confirms."""
    confirm = text.partition('class="confirm"')[2].partition("</form>")[0]
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', confirm)
    return {html.unescape(name): html.unescape(text) for name, text in found}


def _said(answer: Answer) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())


OURS = {"Sec_Fetch_Site": "same-origin"}


def _ended(page: Served, place: str) -> str:
    for _ in range(200):
        said = _said(page.get(place))
        if "under way" not in said:
            return said
        time.sleep(0.05)
    raise AssertionError(said)


def test_a_page_that_only_shows_has_no_route_that_changes(lake: MadeLake) -> None:
    with served(lake.root) as page:
        for action in ("run", "pause", "rollback", "tag"):
            assert page.get(f"/do/{action}?table={NAME}").status == 404
            assert _send(page, f"/do/{action}", {"table": NAME, "key": "1"}, **OURS).status in (404, 405)
        assert "/do/" not in page.get(f"/t/{NAME}").text + page.get("/").text
    assert Orders(lake.root / ".lakesmith").paused() == frozenset()


@pytest.mark.parametrize("action", ["erase", "drop", "rename", "purge", "..", "<b>"])
def test_what_destroys_is_not_offered(page: Served, action: str) -> None:
    assert page.get(f"/do/{action}?table={NAME}").status in (404, 405)
    assert _send(page, f"/do/{action}", {"table": NAME, "key": "1"}, **OURS).status in (404, 405)


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site", "Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {},
    ],
)
def test_a_form_of_another_page_is_refused(lake: MadeLake, page: Served, headers: dict[str, str]) -> None:
    fields = _form(page.get(f"/do/pause?table={NAME}").text)
    assert fields["heads"] and _send(page, "/do/pause", fields, **headers).status == 403
    assert Orders(lake.root / ".lakesmith").paused() == frozenset()


def test_a_browser_that_says_only_the_origin_is_believed(lake: MadeLake, page: Served) -> None:
    fields = _form(page.get(f"/do/pause?table={NAME}").text)
    assert _send(page, "/do/pause", fields, Origin=page.url).status == 303
    assert Orders(lake.root / ".lakesmith").paused() == {NAME}


def test_an_action_says_what_would_happen_and_is_done_on_the_heads_that_were_shown(
    lake: MadeLake, page: Served
) -> None:
    shown = page.get(f"/do/run?table={NAME}&with=down")
    said = _said(shown)
    assert f"{NAME} is refreshed (upsert)" in said and "gold.result_0 follows silver.part_0" in said
    assert "lakesmith run silver.part_0+" in said
    fields = _form(shown.text)
    assert set(json.loads(fields["heads"])) == {NAME, "gold.result_0"}
    lake.publish(NAME, rows=1)
    moved = _send(page, "/do/run", fields, **OURS)
    assert moved.status == 409 and "nothing was done" in _said(moved)
    anew = _form(moved.text)
    assert anew["heads"] != fields["heads"] and anew["key"] != fields["key"] and anew["with"] == "down"
    for heads in ("", "{}", "[", "null"):
        assert _send(page, "/do/run", {**anew, "heads": heads}, **OURS).status == 409


def test_what_needs_nothing_cannot_be_confirmed(page: Served) -> None:
    for path in ("replay", "resume", "maintain"):
        shown = page.get(f"/do/{path}?table={NAME}")
        assert "There is nothing to do" in _said(shown) and _form(shown.text) == {}
        assert _send(page, f"/do/{path}", {"table": NAME, "heads": "{}", "key": "a"}, **OURS).status == 409


def test_a_form_that_is_sent_twice_is_done_once(lake: MadeLake, page: Served) -> None:
    fields = _form(page.get(f"/do/pause?table={NAME}").text)
    first, second = (_send(page, "/do/pause", fields, **OURS) for _ in range(2))
    assert first.status == second.status == 303
    assert first.headers["location"] == second.headers["location"]
    assert "silver.part_0 is paused" in _said(page.get(first.headers["location"]))
    assert _said(page.get("/activity")).count("pause silver.part_0 (on the page)") == 1
    assert "silver.part_0 : is paused: lakesmith up leaves it alone" in _said(page.get("/"))
    assert '<span class="tag">paused</span>' in page.get(f"/t/{NAME}").text
    resumed = _form(page.get(f"/do/resume?table={NAME}").text)
    assert _send(page, "/do/resume", resumed, **OURS).status == 303
    assert _send(page, "/do/pause", fields, **OURS).headers["location"] == first.headers["location"]
    assert Orders(lake.root / ".lakesmith").paused() == frozenset()


SCRIPT = """
import json, sys, time, signal
task = json.loads(sys.stdin.readline())
open(task["folder"] + "/ran", "a").write(task["action"] + "\\n")
def say(**what): print(json.dumps(what), flush=True)
say(now="starting Spark"); say(line="silver.part_0: <b>batch 2</b>")
if MODE == "fail":
    say(problems=[{"code": "LS601", "what": "Spark failed", "hint": "mend it", "file": "t.sql", "line": 3}])
elif MODE == "hang":
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        say(problems=[{"code": "LS278", "what": "it was cancelled"}])
elif MODE == "done":
    say(result={})
"""


def _with_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str) -> None:
    """Has another program in the place of the process that uses Spark."""
    script = tmp_path / "script.py"
    script.write_text(f"MODE = {mode!r}\n{SCRIPT}")
    monkeypatch.setattr("lakesmith.page.jobs.COMMAND", (sys.executable, str(script)))


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("fail", "failed begun just now"),
        ("fail", "Spark failed in t.sql:3 LS601 → mend it"),
        ("die", "its process has ended by itself LS672"),
        ("done", "silver.part_0: &lt;b&gt;batch 2&lt;/b&gt;"),
    ],
)
def test_the_outcome_is_shown(
    lake: MadeLake, page: Served, monkeypatch: pytest.MonkeyPatch, mode: str, said: str
) -> None:
    _with_script(monkeypatch, lake.root, mode)
    fields = _form(page.get(f"/do/run?table={NAME}").text)
    for _ in range(3):
        place = _send(page, "/do/run", fields, **OURS).headers["location"]
    assert said in _ended(page, place)
    assert (lake.root / "ran").read_text() == "run\n"


def test_a_job_is_cancelled_as_a_command_is(
    lake: MadeLake, page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_script(monkeypatch, lake.root, "hang")
    place = _send(page, "/do/run", _form(page.get(f"/do/run?table={NAME}").text), **OURS).headers["location"]
    while "batch 2" not in page.get(place).text:
        time.sleep(0.05)
    assert "under way" in page.get(place).text and "starting Spark" in page.get(place).text
    assert _send(page, f"{place}/cancel", {}, Sec_Fetch_Site="cross-site").status == 403
    assert _send(page, f"{place}/cancel", {}, **OURS).status == 303
    assert "it was cancelled LS278" in _ended(page, place)


def test_a_rollback_on_other_heads_does_nothing(lake: MadeLake) -> None:
    said: list[tuple[str, object]] = []
    points = lakesmith.open(lake.root).history("bronze.source_0").points
    task = {"folder": str(lake.root), "target": None, "action": "rollback", "table": "bronze.source_0"}
    task |= {"to": str(points[-1].snapshot_id), "downstream": False, "hold": True}
    task |= {"heads": {"bronze.source_0": points[-1].snapshot_id}}
    assert not do(task, lambda kind, content: said.append((kind, content)))
    assert [kind for kind, _ in said] == ["problems"]
    assert said[0][1][0]["code"] == "LS511"  # type: ignore[index]


def test_a_problem_of_the_first_step_is_shown(page: Served) -> None:
    wrong = page.get(f"/do/rollback?table={NAME}&to=1999-01-01")
    assert wrong.status == 400 and "LS231" in wrong.text
    assert page.get("/do/run?table=nothing").status == 400
    assert page.get("/do/pause").status == 400
    assert "LS256" in page.get("/do/tag?name=main").text
    assert page.get("/do/tag").status == 200


def test_a_form_that_is_too_large_is_refused(page: Served) -> None:
    assert _send(page, "/do/run", {"table": "a" * 2_000_000}, **OURS).status == 413


def test_two_points_are_compared_by_a_page_that_only_shows(
    lake: MadeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake.root / "script.py").write_text(
        "import json, sys\ntask = json.loads(sys.stdin.readline())\n"
        "open(task['folder'] + '/ran', 'a').write(task['begin'] + ' ' + task['end'] + chr(10))\n"
        "rows = [['before', '1', None], ['after', '1', '<b>'], ['inserted', '2', 'x']]\n"
        "counts = {'inserted': 1, 'deleted': 0, 'updated': 1, 'columns': {'name': 1}}\n"
        "print(json.dumps({'result': {'counts': counts, 'names': ['_change', 'id', 'name'],"
        " 'rows': rows, 'is_cut': True}}))\n"
    )
    monkeypatch.setattr("lakesmith.page.jobs.COMMAND", (sys.executable, str(lake.root / "script.py")))
    new, old = (point.snapshot_id for point in lakesmith.open(lake.root).history("bronze.source_0").points)
    with served(lake.root) as page:
        path = "/t/bronze.source_0/diff"
        assert "Compare" in _said(page.get(path))
        fields = {"begin": str(old), "end": str(new)}
        assert _send(page, path, fields, Sec_Fetch_Site="cross-site").status == 403
        for _ in range(2):
            place = _send(page, path, fields, **OURS).headers["location"]
            said = _ended(page, place)
        assert "1 inserted 1 updated name in 1 row" in said and "after 1 &lt;b&gt;" in said
        assert f"lakesmith diff bronze.source_0 {old} {new}" in said
        assert (lake.root / "ran").read_text() == f"{old} {new}\n"
        assert _send(page, path, {"begin": "1; x", "end": "2"}, **OURS).headers["location"] == path
        assert page.get("/t/nothing/diff").status == 404


def test_what_is_wrong_leads_to_the_action_that_helps(lake: MadeLake, page: Served) -> None:
    assert '<a class="todo" href="/do/run"' in page.get("/").text
    with served(lake.root) as shown:
        assert "/do/" not in shown.get("/").text and "lakesmith run" in shown.get("/").text


def test_an_action_goes_on_when_the_page_has_ended(lake: MadeLake, monkeypatch: pytest.MonkeyPatch) -> None:
    script = lake.root / "script.py"
    script.write_text(
        "import sys, time\nfrom pathlib import Path\nsys.stdin.readline()\nprint('{}', flush=True)\n"
        "while not Path(sys.argv[1], 'page-ended').exists(): time.sleep(0.05)\n"
        "Path(sys.argv[1], 'done').touch()\n"
    )
    command = (sys.executable, str(script), str(lake.root))
    monkeypatch.setattr("lakesmith.page.jobs.COMMAND", command)
    with served(lake.root, may_change=True) as page:
        assert _send(page, "/do/run", _form(page.get(f"/do/run?table={NAME}").text), **OURS).status == 303
    (lake.root / "page-ended").touch()
    for _ in range(200):
        if (lake.root / "done").exists():
            break
        time.sleep(0.05)
    assert (lake.root / "done").exists()
