"""What channels are sent: incidents that open and resolve, one message for many findings, and no secret."""

import logging
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from apprise.plugins import custom_json, pagerduty

import lakesmith
from alerts_server import Hook, cut_server, free_port, hook_server, silent_server
from lakesmith.alerts import alerting, memory, sending
from lakesmith.alerts.findings import Seen
from lakesmith.errors import Problem
from lakesmith.execute.events import AlertFailed, AlertsSent, Event
from lakesmith.execute.findings import Finding, Kind
from lakesmith.project.definitions import Project

LONG = "x" * 400
SECRETS = ("t0psecret", "s3cr%40tpass", "s3cr@tpass", "K3Y0F9T8H7E6", "S7U6M5M4E3R2")
RUBBISH = {
    "nothing": "",
    "a word": "t0psecret",
    "no such service": "nosuch://user:s3cr%40tpass@host/K3Y0F9T8H7E6",
    "no host": "mailtos://user:s3cr%40tpass@",
    "half a slack": "slack://S7U6M5M4E3R2",
    "half a pager": "pagerduty://K3Y0F9T8H7E6",
    "a bad port": "json://user:s3cr%40tpass@127.0.0.1:999999/K3Y0F9T8H7E6",
    "lines": "json://127.0.0.1\nt0psecret: x",
}


def broken(number: int) -> Finding:
    return Finding(Kind.RULES, f"<{number}>", "bronze.orders", subject=f"{number} {LONG}", stops=True)


MANY = Seen(tuple(map(broken, range(200))))
OVER = Seen((), frozenset({broken(0).about}))


@pytest.fixture
def hook() -> Iterator[Hook]:
    with hook_server() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(alerting, "_PAUSES", alerting.Pauses())
    memory._unkept.clear()
    (tmp_path / "tables/bronze").mkdir(parents=True)
    declared = "source: {files: {path: landing/orders/, format: csv}}\ncolumns: {id: int}\n"
    (tmp_path / "tables/bronze/orders.yaml").write_text(declared)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\nalerts: {channels: {it: CHANNEL_URL}}\n")
    with lakesmith.open(tmp_path) as lake:
        return lake.access.opened().project


def look(project: Project, seen: Seen) -> list[Event]:
    events: list[Event] = []
    alerting.alert(project, lambda: seen, events.append)
    alerting._PAUSES._failed.clear()
    return events


@pytest.fixture
def pager(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> Hook:
    """PagerDuty's API for events, on this machine."""
    url = f"http://127.0.0.1:{hook.port}/v2/enqueue"
    monkeypatch.setitem(pagerduty.PAGERDUTY_API_LOOKUP, pagerduty.PagerDutyRegion.US, url)
    monkeypatch.setenv("CHANNEL_URL", "pagerduty://INTEGRATION@APIKEY")
    return hook


def test_an_incident_opens_for_each_alert_and_its_end_resolves_it(project: Project, pager: Hook) -> None:
    assert look(project, Seen(tuple(map(broken, range(5))))) == [AlertsSent("it", 5, 0)]
    opened = [(call["event_action"], call["dedup_key"]) for call in pager.calls]
    assert {action for action, _ in opened} == {"trigger"} and len({key for _, key in opened}) == 5
    assert max(len(key) for _, key in opened) <= 255, "PagerDuty takes no longer key"
    assert "RULE bronze.orders: <0>" in pager.calls[0]["payload"]["summary"]
    pager.calls.clear()
    assert look(project, OVER) == [AlertsSent("it", 0, 5)]
    ended = [(call["event_action"], call["dedup_key"]) for call in pager.calls]
    assert ended == [("resolve", key) for _, key in opened]


def test_incidents_that_were_not_taken_are_sent_again_and_no_others(
    project: Project, pager: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    pager.takes = 120
    (said,) = look(project, MANY)
    assert isinstance(said, AlertFailed) and len(pager.calls) == 120
    pager.takes = 10_000
    assert look(project, MANY) == [AlertsSent("it", 80, 0)]
    assert set(Counter(call["dedup_key"] for call in pager.calls).values()) == {1}
    assert look(project, OVER) == [AlertsSent("it", 0, 200)]


def test_two_hundred_findings_are_one_message(
    project: Project, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANNEL_URL", hook.url)
    assert look(project, MANY) == [AlertsSent("it", 200, 0)]
    (call,) = hook.calls
    assert all(f"<{number}>" in call["message"] for number in range(200))
    assert call["title"] == "[lakesmith] shop (local): 200 problems: bronze.orders"


def test_a_message_is_as_long_as_its_service_takes(
    project: Project, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANNEL_URL", hook.url)
    monkeypatch.setattr(custom_json.NotifyJSON, "body_maxlen", 500)
    assert look(project, MANY) == [AlertsSent("it", 200, 0)]
    (call,) = hook.calls
    first, *_, last = call["message"].splitlines()
    assert (first, last) == ("RULE bronze.orders: <0>", "… there is more: lakesmith alerts")
    assert 400 < len(call["title"] + call["message"]) <= 500


@pytest.mark.parametrize("title", RUBBISH)
def test_a_url_that_is_rubbish_is_said_without_a_word_of_it(
    project: Project,
    title: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("CHANNEL_URL", RUBBISH[title])
    monkeypatch.setattr(sending, "SECONDS", 5.0)
    caplog.set_level(logging.INFO)
    (said,) = look(project, Seen((broken(1),)))
    assert isinstance(said, AlertFailed) and said.problem.code == "LS661"
    with lakesmith.open(project.root) as lake:
        (tested,) = lake.test_alerts().channels.values()
    assert isinstance(tested, Problem)
    kept = [path.read_text(errors="replace") for path in project.state_dir.rglob("*.json*")]
    shown = "\n".join([*said.problem.lines(), *tested.lines(), *capfd.readouterr(), caplog.text, *kept])
    assert [each for each in SECRETS if each in shown] == []


def test_a_dead_mail_server_delays_a_run_no_longer_than_allowed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SECONDS", 2.0)
    url = f"mailto://user:s3cr%40tpass@127.0.0.1:{free_port()}/?from=a@example.org&to=b@example.org"
    monkeypatch.setenv("CHANNEL_URL", url)
    begun = time.monotonic()
    (said,) = look(project, Seen((broken(1),)))
    assert time.monotonic() - begun < 4
    assert isinstance(said, AlertFailed) and "s3cr" not in str(said)


@contextmanager
def refusing(how: str) -> Iterator[int]:
    """Serves a webhook that fails in one way; yields its port."""
    with hook_server() as hook, silent_server() as silent, cut_server() as cut:
        hook.status, hook.says = 500, b"channel_is_archived: t0psecret"
        yield {"500": hook.port, "a hang": silent, "a cut answer": cut, "nobody": free_port()}[how]


REASONS = {
    "500": "error=500.; b'channel_is_archived: ***'",
    "a hang": "Read timed out",
    "a cut answer": "Remote end closed connection without response",
    "nobody": "Connection refused",
}


@pytest.mark.parametrize("how", REASONS)
def test_a_channel_says_why_it_was_not_notified(
    project: Project,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with refusing(how) as port:
        monkeypatch.setenv("CHANNEL_URL", f"json://user:s3cr%40tpass@127.0.0.1:{port}/hook/t0psecret")
        said, again = (look(project, Seen((broken(1),)))[0] for _ in range(2))
    assert isinstance(said, AlertFailed) and isinstance(again, AlertFailed)
    assert said.problem.found and REASONS[how] in said.problem.found, said.problem.found
    assert said.problem == again.problem, "up says each problem once"
    shown = "\n".join([*said.problem.lines(), *capfd.readouterr(), caplog.text])
    assert [each for each in SECRETS if each in shown] == []


PROGRAM = """
import logging, threading, sys
from lakesmith.alerts.sending import Letter, Text, send
from lakesmith.library_logs import in_own_program
in_own_program()
unsent = send([Letter("it", "CHANNEL_URL", Text("title", "body"))], {"CHANNEL_URL": sys.argv[1]}, 1.0)
print(unsent["it"].problem.found)

def late():
    logging.error("of the root: %s", sys.argv[1])
    logging.getLogger("a.library").warning("Failed to parse headers (url=%s)", sys.argv[1])
    raise ValueError(f"cannot reach {sys.argv[1]}")

thread = threading.Thread(target=late, name="late")
thread.start()
thread.join()
import time
time.sleep(5)
"""


def test_no_thread_of_a_program_prints_a_secret(tmp_path: Path) -> None:
    with silent_server() as port:
        url = f"json://user:s3cr%40tpass@127.0.0.1:{port}/hook/t0psecret"
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, url], capture_output=True, text=True, check=True, timeout=60
        )
    assert "no answer within 1 seconds" in done.stdout
    assert (
        "of the root" in done.stderr
        and "Failed to parse headers" in done.stderr
        and "late has ended by an exception" in done.stderr
    )
    assert "ValueError: cannot reach" in done.stderr and "Connection error" not in done.stderr
    assert [each for each in SECRETS if each in done.stdout + done.stderr] == []
