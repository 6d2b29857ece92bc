"""Alerts of real runs that start no Spark, sent to a real mail server and a real webhook on this machine."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import lakesmith
from alerts_server import Hook, Mailbox, hook_server, mail_server, silent_server
from lakesmith.alerts import alerting, sending
from lakesmith.errors import Problem, ProjectError
from lakesmith.execute.events import AlertFailed, AlertsSent, Event, ExportFailed
from lakesmith.plan.expiry import HeldBack
from lakesmith.project.definitions import TableName
from lakesmith.serve.notices import Besides

PROJECT = """
name: shop
targets: {{local: {{}}, prod: {{}}}}
default_target: local
alerts:
  channels: {{team: TEAM_URL, hook: HOOK_URL}}
{more}"""
ORDERS = """
source: {files: {path: landing/orders/, format: csv}}
columns: {id: int}
tags: [money]
owner: sales
"""


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mailbox]:
    with mail_server() as server:
        monkeypatch.setenv("TEAM_URL", server.url)
        yield server


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    with hook_server() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        yield server


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerting, "_PAUSES", alerting.Pauses())


@dataclass
class Shop:
    """A project whose only table fails as long as its landing folder is missing."""

    root: Path
    more: str = ""
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "tables/bronze").mkdir(parents=True)
        (self.root / "tables/bronze/orders.yaml").write_text(ORDERS)
        self.configure(self.more)

    def configure(self, more: str) -> None:
        (self.root / "lakesmith.yaml").write_text(PROJECT.format(more=more))

    @property
    def landing(self) -> Path:
        return self.root / "landing/orders"

    def run(self, target: str | None = None) -> list[Event]:
        """Runs, each time as a process of its own would; returns what was said of alerts."""
        events: list[Event] = []
        with lakesmith.open(self.root, target) as lake:
            try:
                lake.run(on_event=events.append)
            except lakesmith.RunFailed as failed:
                assert failed.result.failed
        return [each for each in events if isinstance(each, AlertsSent | AlertFailed)]

    def age(self, seconds: float) -> None:
        """Lets time pass since alerts were found to be over."""
        path = self.root / ".lakesmith/alerts-local.json"
        data = json.loads(path.read_text())
        for each in data["alerts"]:
            each["good_since"] -= seconds
        path.write_text(json.dumps(data))

    def kept(self, target: str = "local") -> list[dict[str, Any]]:
        path = self.root / f".lakesmith/alerts-{target}.json"
        return json.loads(path.read_text())["alerts"] if path.exists() else []


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


def test_a_failure_is_sent_once_and_its_end_to_those_who_know(
    shop: Shop, mailbox: Mailbox, hook: Hook
) -> None:
    assert {each.channel for each in shop.run() if isinstance(each, AlertsSent)} == {"team", "hook"}
    ((subject, body),) = mailbox.mails
    assert subject == "[lakesmith] shop (local): 1 problem: bronze.orders"
    assert body.startswith("FAILED bronze.orders: LS401 ") and "tables/bronze/orders.yaml" in body
    assert [(call["type"], call["title"]) for call in hook.calls] == [("failure", subject)]
    assert shop.run() == [] and len(mailbox.mails) == 1, "it goes on, and everybody knows"

    shop.landing.mkdir(parents=True)
    assert shop.run() == [AlertsSent("hook", 0, 1), AlertsSent("team", 0, 1)]
    assert mailbox.mails[-1][1].startswith("OVER: FAILED bronze.orders, since ")
    assert hook.calls[-1]["type"] == "success"
    assert shop.run() == [] and shop.run() == []
    assert [each["is_over"] for each in shop.kept()] == [True], "it is remembered in case it comes back"
    shop.age(3700)
    assert shop.run() == [] and shop.kept() == []


def test_what_comes_and_goes_at_each_run_is_sent_once_and_its_end_when_it_has_stayed_away(
    shop: Shop, mailbox: Mailbox, hook: Hook
) -> None:
    shop.landing.parent.mkdir(parents=True)
    for _ in range(6):
        shop.run()
        shop.landing.mkdir()
        shop.run()
        shop.landing.rmdir()
    first, end, again = (body for _, body in mailbox.mails)
    assert first.startswith("FAILED") and end.startswith("OVER") and again.startswith("FAILED")
    assert "it comes and goes" in again and "it comes and goes" not in first
    assert len(hook.calls) == 3
    shop.landing.mkdir()
    for _ in range(4):
        assert shop.run() == [], "it has not been good for long enough"
    shop.age(3700)
    assert shop.run() == [AlertsSent("hook", 0, 1), AlertsSent("team", 0, 1)]
    assert shop.run() == [] and shop.kept() == []
    shop.landing.rmdir()
    shop.run()
    assert "it comes and goes" not in mailbox.mails[-1][1] and len(mailbox.mails) == 5


def test_a_long_time_alone_does_not_end_what_comes_and_goes(shop: Shop, mailbox: Mailbox, hook: Hook) -> None:
    """Runs once a day: the time between two looks says nothing of what was in between."""
    shop.configure("  recover_after: 0 seconds\n")
    shop.landing.parent.mkdir(parents=True)
    for _ in range(2):
        shop.run()
        shop.landing.mkdir()
        shop.run()
        shop.landing.rmdir()
    assert len(mailbox.mails) == 3
    shop.landing.mkdir()
    assert [len(shop.run()) for _ in range(3)] == [0, 2, 0], "the third good look in a row"


def test_a_channel_that_failed_is_said_and_told_by_the_next_run(
    shop: Shop, mailbox: Mailbox, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook.status, mailbox.refuses = 500, True
    said = shop.run()
    assert [(type(each), each.channel) for each in said] == [(AlertFailed, "hook"), (AlertFailed, "team")]
    (problem,) = {each.problem.code for each in said if isinstance(each, AlertFailed)}
    assert problem == "LS661"
    assert "t0psecret" not in str(said) and hook.url not in str(said)
    hook.status, mailbox.refuses = 200, False
    monkeypatch.setattr(alerting, "_PAUSES", alerting.Pauses())
    assert shop.run() == [AlertsSent("hook", 1, 0), AlertsSent("team", 1, 0)]


def test_nobody_is_told_of_the_end_of_what_nobody_was_told_of(
    shop: Shop, mailbox: Mailbox, hook: Hook
) -> None:
    hook.status = 500
    shop.run()
    hook.status = 200
    shop.landing.mkdir(parents=True)
    assert shop.run() == [AlertsSent("team", 0, 1)]
    assert hook.calls == []


def test_a_server_that_hangs_hangs_no_run(shop: Shop, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SECONDS", 2.0)
    with silent_server() as port:
        monkeypatch.setenv("TEAM_URL", f"mailto://127.0.0.1:{port}/?from=a@example.org&to=b@example.org")
        begun = time.monotonic()
        said = shop.run()
        assert time.monotonic() - begun < 5
    assert AlertsSent("hook", 1, 0) in said
    (failed,) = (each for each in said if isinstance(each, AlertFailed))
    assert failed.channel == "team" and "no answer" in (failed.problem.found or "")


@pytest.mark.parametrize(
    ("route", "is_told"),
    [
        ("to: [team]", True),
        ("to: [team], tables: [bronze.*]", True),
        ("to: [team], tables: [gold.*]", False),
        ("to: [team], tags: [money, other]", True),
        ("to: [team], tags: [other]", False),
        ("to: [team], owners: [sales], severity: error", True),
        ("to: [team], owners: [finance]", False),
        ("to: [hook]", False),
    ],
)
def test_routes_choose_by_table_tag_owner_and_severity(
    shop: Shop, mailbox: Mailbox, hook: Hook, route: str, is_told: bool
) -> None:
    shop.configure(f"  routes: [{{{route}}}]\n")
    shop.run()
    assert bool(mailbox.mails) is is_told


def test_what_goes_on_is_told_again_after_a_while(shop: Shop, mailbox: Mailbox, hook: Hook) -> None:
    shop.configure("  repeat: 1 hour\n")
    shop.run()
    path = shop.root / ".lakesmith/alerts-local.json"
    data = json.loads(path.read_text())
    data["alerts"][0]["sent"] = {"team": time.time() - 3700, "hook": time.time() - 3500}
    path.write_text(json.dumps(data))
    assert shop.run() == [AlertsSent("team", 1, 0)]
    assert mailbox.mails[-1][1].startswith("FAILED bronze.orders, since ")


def test_other_targets_send_nothing(shop: Shop, mailbox: Mailbox, hook: Hook) -> None:
    shop.configure("  targets: [prod]\n")
    assert shop.run() == [] and not mailbox.mails
    assert len(shop.run("prod")) == 2


def test_a_table_that_gets_no_rows_is_stale(shop: Shop, mailbox: Mailbox, hook: Hook) -> None:
    shop.landing.mkdir(parents=True)
    (shop.root / "tables/bronze/orders.yaml").write_text(f"{ORDERS}freshness: 6 hours\n")
    assert len(shop.run()) == 2
    assert mailbox.mails[0][1].startswith("STALE bronze.orders: it has never got rows")


def test_a_test_goes_to_each_channel(shop: Shop, mailbox: Mailbox, hook: Hook) -> None:
    with lakesmith.open(shop.root) as lake:
        assert not lake.test_alerts().has_failed
        hook.status = 404
        assert lake.test_alerts("hook").has_failed
        with pytest.raises(lakesmith.LakesmithError, match="LS262"):
            lake.test_alerts("teem")
    assert len(mailbox.mails) == 1 and "a test" in mailbox.mails[0][0]


def test_a_route_to_an_unknown_channel_is_a_problem(shop: Shop) -> None:
    shop.configure("  routes: [{to: [teem]}]\n")
    with pytest.raises(ProjectError, match="there is no channel 'teem'"):
        shop.run()


def test_a_parked_table_is_an_alert_until_it_is_not_parked(shop: Shop, mailbox: Mailbox, hook: Hook) -> None:
    with lakesmith.open(shop.root) as lake:
        project = lake.access.opened().project
    said: list[Event] = []
    problem = Problem("LS601", "it is broken")
    alerting.alert_parked(project, {"bronze.orders": problem}, said.append)
    assert mailbox.mails[-1][1].startswith("PARKED bronze.orders: LS601 it keeps failing")
    alerting.alert_parked(project, {}, said.append)
    assert said[-2:] == [AlertsSent("hook", 0, 1), AlertsSent("team", 0, 1)]


def test_what_is_not_sent_is_said_once_by_a_service() -> None:
    heard: list[str] = []

    class Observer:
        def notice(self, text: str, /) -> None:
            heard.append(text)

        def on_problems(self, error: lakesmith.LakesmithError, /) -> None:
            heard.append(error.problems[0].code)

    besides, problem = Besides(Observer()), Problem("LS661", "not sent")  # type: ignore[arg-type]
    for _ in range(3):
        besides(AlertFailed("team", problem))
    besides(AlertsSent("team", 1, 0))
    besides(ExportFailed(TableName("gold", "a"), (Problem("LS651", "no"),), 1))
    assert heard == ["LS661", "the channel team works again", "LS651"]


def test_a_reader_that_keeps_snapshots_is_an_alert(shop: Shop, mailbox: Mailbox, hook: Hook) -> None:
    with lakesmith.open(shop.root) as lake:
        project = lake.access.opened().project
    held = HeldBack(TableName("silver", "slow"), 40, 1_700_000_000_000)
    alerting.alert_held_back(project, {"bronze.orders": (held,)}, print)
    assert (
        "40 old snapshots stay, because silver.slow has not read on since 2023-11-14" in mailbox.mails[-1][1]
    )
    assert hook.calls[-1]["type"] == "warning"
    alerting.alert_held_back(project, {"bronze.orders": ()}, print)
    assert mailbox.mails[-1][1].startswith("OVER: EXPIRY bronze.orders")
