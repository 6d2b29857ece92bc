"""What was sent is kept once, whoever sends: by two real processes, on one disk and in one bucket."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from textwrap import dedent

import pytest

import lakesmith
from alerts_server import Hook, hook_server
from lakesmith.alerts import alerting, memory
from lakesmith.alerts.decide import CLAIM_SECONDS
from lakesmith.alerts.findings import Seen
from lakesmith.execute.events import AlertFailed, AlertsSent, Event
from lakesmith.execute.findings import Finding, Kind
from lakesmith.project.definitions import Project
from s3_server import Server

TABLE = "tables/bronze/orders.yaml"
DECLARED = "source: {files: {path: landing/orders/, format: csv}}\ncolumns: {id: int}\n"
LOOKS = """
    import sys
    import apprise
    import lakesmith
    from lakesmith.alerts import alerting
    from lakesmith.alerts.findings import Seen
    from lakesmith.execute.findings import Finding, Kind

    who = sys.argv[1]
    with lakesmith.open(".") as lake:
        project = lake.access.opened().project
    alerting.alert(project, Seen, print)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(10):
        it = f"{who}-{number}"
        finding = Finding(Kind.RULES, f"<{it}>", "bronze.orders", subject=it, stops=True)
        alerting.alert(project, lambda: Seen((finding,)), print)
    alerting.alert(project, lambda: Seen((), frozenset({(Kind.RULES, "bronze.orders", "")})), print)
"""
BROKEN = Finding(Kind.FAILED, "<it>", "bronze.orders", code="LS601")
OVER = Seen((), frozenset({BROKEN.about}))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    monkeypatch.setattr(alerting, "_PAUSES", alerting.Pauses())
    memory._unkept.clear()
    with hook_server() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        yield server


@pytest.fixture(params=["disk", "bucket"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that keeps what was sent on the disk, or in a bucket."""
    where = ""
    if request.param == "bucket":
        s3: Server = request.getfixturevalue("s3")
        for name, value in {**s3.environ, "AWS_ENDPOINT_URL": s3.endpoint}.items():
            monkeypatch.setenv(name, value)
        where = f", state: {s3.make_bucket()}/state/"
    (tmp_path / TABLE).parent.mkdir(parents=True)
    (tmp_path / TABLE).write_text(DECLARED)
    (tmp_path / "lakesmith.yaml").write_text(f"name: shop\nalerts: {{channels: {{hook: HOOK_URL}}{where}}}\n")
    return tmp_path


@pytest.fixture
def project(root: Path) -> Project:
    with lakesmith.open(root) as lake:
        return lake.access.opened().project


def look(project: Project, seen: Seen) -> list[Event]:
    events: list[Event] = []
    alerting.alert(project, lambda: seen, events.append)
    return events


def _process(root: Path, who: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", dedent(LOOKS), who]
    return subprocess.Popen(command, cwd=root, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.processes
def test_two_processes_send_each_alert_and_each_end_once(root: Path, project: Project, hook: Hook) -> None:
    both = [_process(root, who) for who in "ab"]
    for each in both:
        assert each.stdout is not None and each.stdout.readline() == "ready\n"
    for each in both:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [each.wait(60) for each in both] == [0, 0]
    assert look(project, Seen()) == [], "everything is known"
    lines = [line for call in hook.calls for line in call["message"].splitlines()]
    expected = {f"RULE bronze.orders: <{who}-{number}>": 1 for who in "ab" for number in range(10)}
    assert Counter(line for line in lines if not line.startswith("OVER")) == expected
    ends = Counter(line.partition("UTC: ")[2] for line in lines if line.startswith("OVER"))
    assert ends == {f"<{who}-{number}>": 1 for who in "ab" for number in range(10)}
    assert {(each.is_over, each.is_known) for each in memory.read_firings(project).values()} == {
        (True, False)
    }


def _kept(project: Project) -> Path:
    return project.state_dir / "alerts-local.json"


def _edit(project: Project, **fields: object) -> None:
    """Changes the only alert in the file of what was sent."""
    data = json.loads(_kept(project).read_text())
    data["alerts"][0].update(fields)
    _kept(project).write_text(json.dumps(data))


on_disk = pytest.mark.parametrize("root", ["disk"], indirect=True)


@on_disk
@pytest.mark.parametrize(
    "rubbish", ["", "{", "[1]", '{"format": 9}', "[" * 100_000, "\x00\xff"], ids=range(6)
)
def test_a_file_full_of_rubbish_is_said_and_begun_anew(project: Project, hook: Hook, rubbish: str) -> None:
    _kept(project).write_bytes(rubbish.encode("latin-1"))
    said, sent = look(project, Seen((BROKEN,)))
    assert isinstance(said, AlertFailed | AlertsSent) and {type(said), type(sent)} == {
        AlertFailed,
        AlertsSent,
    }
    assert look(project, Seen((BROKEN,))) == [] and len(hook.calls) == 1
    assert look(project, OVER) == [AlertsSent("hook", 0, 1)]


@on_disk
def test_a_value_that_is_rubbish_is_refused_or_read_as_a_text(project: Project, hook: Hook) -> None:
    values = ["x", None, -1, 1e300, {"hook": "x"}, {"hook": float("nan")}, []]
    for field, value in product(["since", "sent", "what", "table", "claims", "kind", "good_since"], values):
        look(project, Seen((BROKEN,)))
        _edit(project, **{field: value})
        try:
            (read,) = memory.read_firings(project).values()
        except lakesmith.LakesmithError as error:
            assert error.problems[0].code == "LS662"
        else:
            assert field in ("what", "table") and isinstance(read.finding.what, str)
        _kept(project).unlink()


@on_disk
@pytest.mark.parametrize("blocked", ["alerts-local.json", "locks/alerts.lock"])
def test_a_process_that_cannot_keep_what_it_sent_does_not_repeat_itself(
    project: Project, hook: Hook, blocked: str
) -> None:
    (project.state_dir / blocked).mkdir(parents=True)
    said = look(project, Seen((BROKEN,)))
    assert sorted(each.problem.code for each in said if isinstance(each, AlertFailed)) == ["LS662"]
    look(project, Seen((BROKEN,)))
    assert len(hook.calls) == 1
    (project.state_dir / blocked).rmdir()
    assert look(project, OVER) == [AlertsSent("hook", 0, 1)]
    assert [each.is_over for each in memory.read_firings(project).values()] == [True] and not memory._unkept


@on_disk
def test_what_a_killed_process_claimed_is_sent_by_the_next_one(project: Project, hook: Hook) -> None:
    look(project, Seen((BROKEN,)))
    _edit(project, sent={}, claims={"hook": time.time() + CLAIM_SECONDS - 5})
    assert look(project, Seen((BROKEN,))) == [], "the other process may be sending it"
    _edit(project, sent={}, claims={"hook": time.time() - 1})
    assert look(project, Seen((BROKEN,))) == [AlertsSent("hook", 1, 0)]
    _edit(project, sent={}, claims={"hook": time.time() - 1})
    assert look(project, OVER) == [AlertsSent("hook", 0, 1)], "it may have been sent"


@on_disk
@pytest.mark.parametrize(("hours", "is_sent"), [(-23, False), (-25, True), (0.001, False), (9000, True)])
def test_a_clock_that_was_wrong_silences_no_alert(
    project: Project, hook: Hook, hours: float, is_sent: bool
) -> None:
    look(project, Seen((BROKEN,)))
    _edit(project, sent={"hook": time.time() + hours * 3600})
    assert bool(look(project, Seen((BROKEN,)))) is is_sent
    _edit(project, claims={"hook": time.time() + 9_000_000})
    assert look(project, OVER) == [AlertsSent("hook", 0, 1)]


@on_disk
def test_a_fault_in_alerts_fails_no_run(project: Project, hook: Hook) -> None:
    events: list[Event] = []
    alerting.alert(project, lambda: 1 / 0, events.append)  # type: ignore[arg-type,return-value]
    (said,) = events
    assert isinstance(said, AlertFailed) and said.problem.code == "LS900"
