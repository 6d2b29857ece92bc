"""Alerts of rules: one for each rule, whether a batch or a check found it, and one end."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from harness import Harness, MakeShop

import lakesmith
from alerts_server import Hook, hook_server
from lakesmith.alerts import alerting
from lakesmith.errors import Problem
from lakesmith.spark import open as spark_open

TABLE = "tables/bronze/orders.yaml"
ORDERS = """
    source: {{files: {{path: landing/orders/, format: csv}}}}
    columns: {{id: bigint, city: string}}
    on_failed_rule: {}
    rules: |
      Rules = [ RowCount between 1 and 4, IsComplete "city" ]
    """
MANY, CITY = "RowCount between 1 and 4", 'IsComplete "city"'


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    monkeypatch.setattr(alerting, "_PAUSES", alerting.Pauses())
    with hook_server() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        yield server


@pytest.fixture
def shop(make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """A project with one table, whose failed rules are notes."""
    project = "name: shop\nalerts: {channels: {hook: HOOK_URL}}\n"
    shop = make_shop({"lakesmith.yaml": project, TABLE: ORDERS.format("warn")})
    monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: shop.handle)
    return shop


def sent(hook: Hook, work: Callable[[], object]) -> list[tuple[str, str]]:
    """The lines that this work sent, each with the kind of its message."""
    hook.calls.clear()
    with suppress(lakesmith.RunFailed):
        work()
    lines = [(call["type"], line) for call in hook.calls for line in call["message"].splitlines()]
    return [
        (kind, re.sub("since .* UTC", "since then", line)) for kind, line in lines if "to do:" not in line
    ]


def test_a_rule_is_one_alert_for_batches_and_checks(shop: Harness, hook: Hook) -> None:
    lake = lakesmith.open(shop.root)
    shop.land_rows("orders", 1, "1,Oslo", "2,Oslo", "3,Oslo", "4,Oslo", "5,Oslo")
    failed = f"RULE bronze.orders: the rule {MANY} failed: 5; expected: between 1 and 4"
    assert sent(hook, lake.run) == [("warning", failed)]
    assert sent(hook, lake.run) == [], "nothing is new, and the rule fails as before"
    assert sent(hook, lake.check) == [], "it is known"

    shop.spark.sql("UPDATE lake.bronze.orders SET city = NULL WHERE id = 1").collect()
    broken = f"RULE bronze.orders: the rule {CITY} failed: 1 row breaks it; expected: no row"
    assert sent(hook, lake.check) == [("failure", broken)]
    assert [each.finding.subject for each in lake.alerts().firing] == [MANY, CITY]

    shop.spark.sql("DELETE FROM lake.bronze.orders WHERE id < 3").collect()
    over = sent(hook, lake.check)
    assert [(kind, line.partition(",")[0]) for kind, line in over] == [
        ("success", "OVER: RULE bronze.orders")
    ] * 2
    assert lake.alerts().firing == ()


def test_a_check_does_not_end_the_alert_of_a_batch_that_was_stopped(shop: Harness, hook: Hook) -> None:
    shop.write({TABLE: ORDERS.format("stop")})
    lake = lakesmith.open(shop.root)
    shop.land_rows("orders", 1, "1,Oslo", "2,Oslo")
    assert sent(hook, lake.run) == []
    shop.land_rows("orders", 2, "3,Oslo", "4,Oslo", "5,Oslo")
    stopped = f"RULE bronze.orders: LS805 the rule {MANY} stopped the batch of bronze.orders"
    ((kind, line),) = sent(hook, lake.run)
    assert kind == "failure" and line.startswith(stopped)
    assert not lake.check().has_failed and sent(hook, lake.check) == []
    shop.write({TABLE: ORDERS.format("warn")})
    ((kind, line),) = sent(hook, lake.run)
    assert (kind, line) == (
        "warning",
        f"RULE bronze.orders: the rule {MANY} failed: 5; expected: between 1 and 4",
    )


def test_a_check_that_cannot_begin_is_an_alert(
    shop: Harness, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lakesmith.open(shop.root)
    shop.take_rows("orders", 1, "1,Oslo")
    problem = lakesmith.LakesmithError(Problem("LS301", "there is no Java"))
    with monkeypatch.context() as broken:
        broken.setattr(lake.access, "session", raising(problem))
        with pytest.raises(lakesmith.LakesmithError):
            lake.check()
    assert [call["message"] for call in hook.calls] == ["RUN FAILED: LS301 there is no Java"]


def raising(error: Exception) -> Callable[..., None]:
    def work(*_args: object) -> None:
        raise error

    return work
