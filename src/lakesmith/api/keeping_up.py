"""``up``, which takes events and refreshes tables; ``send``, which posts events to it; and ``stop``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from lakesmith.api.access import Access, Host
from lakesmith.api.words import ago, count, iso, size
from lakesmith.catalog.history import account_in_words
from lakesmith.errors import ProjectError
from lakesmith.page.server import Ui
from lakesmith.project.definitions import Project
from lakesmith.project.files import scratch_folder
from lakesmith.serve.loop import Lake
from lakesmith.serve.notices import Observer
from lakesmith.serve.options import Pace, PageChoice, UpOptions, certificate_and_key, page_options
from lakesmith.serve.routes import chosen, event_sources, token_for, url_of
from lakesmith.serve.send.batches import Batches, Shares
from lakesmith.serve.send.check import Found, awaited, count_now, settled
from lakesmith.serve.send.report import SendReport
from lakesmith.serve.send.sender import Pace as SendPace
from lakesmith.serve.send.sender import Sender
from lakesmith.serve.send.values import EventMaker
from lakesmith.serve.up import Up

if TYPE_CHECKING:
    from lakesmith.spark.start.attempts import SessionHandle


@dataclass(frozen=True, slots=True)
class SendOptions:
    """Options of ``Lakehouse.send``.

    Attributes:
        url: where ``lakesmith up`` takes events.
        pace: how many events, and how fast.
        shares: parts of the events that are late, duplicated or bad.
        seed: makes the same values again; None: a random one.
        check: whether to wait until the table has every acknowledged event, once.
    """

    url: str = "http://127.0.0.1:8080"
    pace: SendPace = field(default_factory=lambda: SendPace(10.0, 10, seconds=10.0))
    shares: Shares = field(default_factory=Shares)
    seed: int | None = None
    check: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of the events; ``found``: what the table has of them, if that was checked."""

    report: SendReport
    found: Found | None
    seed: int

    @property
    def is_right(self) -> bool:
        """Whether every event that fits was taken once, and is in the table if that was checked."""
        return self.report.is_right and (self.found is None or self.found.is_right)

    def to_dict(self) -> dict[str, Any]:
        checked = self.found.as_dict() if self.found else None
        return {**self.report.as_dict(), "seed": self.seed, "check": checked}


def send(access: Access, table: str | None, options: SendOptions, on_event: Callable[[str], None]) -> Sent:
    opened = access.opened()
    source = chosen(event_sources(opened.project), table)
    url, token = url_of(source, options.url), token_for(source, os.environ)
    seed = SystemRandom().randrange(2**32) if options.seed is None else options.seed
    maker = EventMaker(source.table.columns, source.source.event_id)
    sender = Sender(url, token, Batches(maker, options.shares, seed), options.pace)
    count_rows = partial(count_now, access.folder, access.target, source)
    before = settled(count_rows, options.pace.patience) if options.check else None
    on_event(f"POST {url.geturl()} -> {source.table.name}, seed {seed}")
    report, found = sender.send(), None
    if before is not None:
        found = awaited(count_rows, before, report.good, report.unanswered, options.pace.patience)
    return Sent(report, found, seed)


@dataclass(frozen=True, slots=True)
class Stopped:
    """What became of a warm JVM: it ``ended``, there was none, or the process ``used_by`` uses it."""

    ended: bool
    used_by: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"ended": self.ended, "used_by": self.used_by}


def up(
    access: Access,
    observer: Observer,
    address: tuple[str, int],
    pace: Pace,
    tls: tuple[Path | None, Path | None],
    page: PageChoice,
) -> Up:
    from lakesmith.api.lakehouse import Lakehouse

    def open_lake(lost: Lake | None) -> Lake:
        lake = Lakehouse(access.folder, access.target, host=Host(observer.notice, service="up"))
        if isinstance(lost, Lakehouse):
            lake.access.session(lake.access.opened(), lost.access.size)
        return lake

    def engine_of(lake: Lake) -> SessionHandle | None:
        return lake.access.handle if isinstance(lake, Lakehouse) else None

    def is_starting(lake: Lake | None) -> bool:
        return isinstance(lake, Lakehouse) and lake.access.is_starting

    options = UpOptions(access.folder, access.target, *address, pace, certificate_and_key(*tls), page)
    access.opened()
    return Up(options, observer, open_lake, engine_of, is_starting)


def ui(
    access: Access,
    port: int | None,
    host: str | None,
    allow_hosts: Sequence[str],
    tls: tuple[Path | None, Path | None],
    may_change: bool,
) -> Ui:
    from lakesmith.api.lakehouse import Lakehouse

    lake = Lakehouse(access.folder, access.target, host=Host(keeps_project=True))
    access.project = _to_show(lake.access)
    options = page_options(access.project, port, host, allow_hosts, tls)
    words: dict[str, Callable[..., str]] = {
        "count": count,
        "ago": ago,
        "size": size,
        "iso": iso,
        "account": account_in_words,
    }

    def project() -> Project | None:
        return lake.access.project

    return Ui(lake, scratch_folder(access.folder), options, words, project, may_change)


def _to_show(access: Access) -> Project:
    """Returns the project; of a broken one, whose problems the page shows, what can be read of it. Raises
    ProjectError LS119, LS120 if there is no project, or no such target."""
    try:
        return access.opened().project
    except ProjectError as error:
        codes = {each.code for each in error.problems}
        if access.project is None or "LS119" in codes or (access.target is not None and "LS120" in codes):
            raise
        return access.project


def stop(access: Access) -> Stopped:
    from lakesmith.spark.start.resident import socket_of
    from lakesmith.spark.start.resident import stop as stop_at

    project = access.opened().project
    found = stop_at(socket_of(project.root, project.target.name))
    return Stopped(found) if isinstance(found, bool) else Stopped(False, found)
