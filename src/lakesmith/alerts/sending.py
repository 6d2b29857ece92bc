"""Sends messages through apprise, each channel in a thread of its own, in bounded time."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from lakesmith.errors import Problem
from lakesmith.project.definitions import Severity

SECONDS: Final = 15.0
"""How long all channels together may take. One that has not answered by then counts as failed."""
_SHORTEST_HIDDEN: Final = 4
_LONGEST_SUMMARY: Final = 1024
"""Characters that PagerDuty takes as the summary of an incident."""
_BESIDES: Final = 10
"""Characters between a title and a text, where a service has them in one."""
_MORE: Final = "\n… there is more: lakesmith alerts"


@dataclass(frozen=True, slots=True)
class Text:
    """A text for a channel. ``severity`` None: it tells that something is over. ``key``: what it is about,
    for services that keep incidents."""

    title: str
    body: str
    severity: Severity | None = None
    key: str = ""


@dataclass(frozen=True)
class Letter:
    """What one channel is sent. ``texts``: by default one of them all; ``incidents``: one for each, for
    services that keep incidents. ``variable``: the environment variable with its URL."""

    channel: str
    variable: str
    text: Text
    incidents: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsent:
    """Why a channel did not take a letter. ``taken``: how many of its incidents it took all the same;
    ``perhaps``: it may have taken more."""

    problem: Problem
    taken: int = 0
    perhaps: bool = False


@dataclass
class _Sending:
    letter: Letter
    unsent: Unsent | None = None
    taken: int = 0
    is_done: threading.Event = field(default_factory=threading.Event)


def send(
    letters: Sequence[Letter], environment: Mapping[str, str], seconds: float | None = None
) -> dict[str, Unsent]:
    """Sends the letters; returns what is wrong with those channels that did not take theirs, LS661."""
    seconds = SECONDS if seconds is None else seconds
    under_way = [_Sending(letter) for letter in letters]
    for each in under_way:
        # Daemons: a server that hangs must not keep the process from ending.
        threading.Thread(target=_send, args=(each, environment), name="alert", daemon=True).start()
    end = time.monotonic() + seconds
    for each in under_way:
        if not each.is_done.wait(max(0.0, end - time.monotonic())):
            problem = _failed(each.letter, f"no answer within {seconds:.0f} seconds")
            each.unsent = Unsent(problem, each.taken, perhaps=True)
    return {each.letter.channel: each.unsent for each in under_way if each.unsent is not None}


def _send(sending: _Sending, environment: Mapping[str, str]) -> None:
    letter = sending.letter
    try:
        unsent = _unsent(sending, environment.get(letter.variable, "").strip())
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is one channel's problem
        unsent = Unsent(_failed(letter, type(error).__name__), sending.taken, perhaps=True)
    if not sending.is_done.is_set():
        sending.unsent = unsent
    sending.is_done.set()


def _unsent(sending: _Sending, url: str) -> Unsent | None:
    letter = sending.letter
    if not url:
        hint = f"export {letter.variable}=…, or leave the channel out"
        return Unsent(_failed(letter, f"the environment variable {letter.variable} is not set", hint))
    try:
        import apprise
    except ImportError:
        hint = "pip install 'lakesmith[alerts]'"
        return Unsent(_failed(letter, "the package that sends alerts is not installed", hint))
    with _said(url) as said:
        service = apprise.Apprise.instantiate(url)
        if service is None:
            hint = f"correct the URL in {letter.variable}: docs/alerts.md has examples"
            return Unsent(_failed(letter, "its URL is not one that apprise understands", hint))
        for text in _texts(letter, service):
            if not _notify(apprise, service, text):
                problem = _failed(letter, "; ".join(said) or "the service did not take it")
                return Unsent(problem, sending.taken)
            sending.taken += 1
    return None


def _texts(letter: Letter, service: Any) -> Sequence[Text]:
    return letter.incidents if hasattr(service, "dedup") and letter.incidents else (letter.text,)


def _notify(apprise: Any, service: Any, text: Text) -> bool:
    if text.key and hasattr(service, "dedup"):
        # The incident that the first text opens is the one that the last one resolves.
        service.dedup, service.action = text.key, "map"
        # Apprise waits 5.5 seconds between two by default: there would be time for three.
        service.request_rate_per_sec = 0
    kinds = apprise.NotifyType
    kind = {Severity.ERROR: kinds.FAILURE, Severity.WARNING: kinds.WARNING, None: kinds.SUCCESS}[
        text.severity
    ]
    sender = apprise.Apprise()
    sender.add(service)
    most = min(service.body_maxlen, _LONGEST_SUMMARY if text.key else service.body_maxlen)
    body = _cut(text.body, most - len(text.title) - _BESIDES)
    return bool(sender.notify(body=body, title=text.title, notify_type=kind, body_format="text"))


def _cut(body: str, most: int) -> str:
    """Returns a text that a service takes: many refuse a longer one, and nobody would be notified."""
    if len(body) <= most:
        return body
    part = body[: max(0, most - len(_MORE))]
    return (part.rpartition("\n")[0] or part) + _MORE


@contextmanager
def _said(url: str) -> Iterator[list[str]]:
    """Yields a list that gets what apprise says in this thread, and logs, without any part of the URL."""
    said: list[str] = []
    thread, parts = threading.get_ident(), _parts(url)

    def hide(record: logging.LogRecord) -> bool:
        if record.thread == thread:
            record.msg, record.args = _hidden(record.getMessage(), parts), ()
            said.extend([record.msg] if record.levelno >= logging.WARNING else [])
        return True

    # Programs have handlers of their own. Without one at all, Python would print it.
    handler, log = logging.NullHandler(), logging.getLogger("apprise")
    log.addFilter(hide)
    log.addHandler(handler)
    try:
        yield said
    finally:
        log.removeHandler(handler)
        log.removeFilter(hide)


def _parts(url: str) -> list[str]:
    """Returns whatever in a URL may be secret, the longest first."""
    pieces = {piece for text in (url, unquote(url)) for piece in re.split(r"[/?&=:@,\s]+", text)}
    return sorted((each for each in pieces if len(each) >= _SHORTEST_HIDDEN), key=len, reverse=True)


def _hidden(text: str, parts: Sequence[str]) -> str:
    for part in parts:
        text = text.replace(part, "***")
    return text


def _failed(letter: Letter, found: str, hint: str | None = None) -> Problem:
    return Problem(
        "LS661",
        f"the alert for {letter.channel} was not sent",
        expected=f"a service at the URL in {letter.variable} that takes it",
        found=found,
        hint=hint
        or "correct the channel, and try it: lakesmith alerts --test; the next run sends the alert again",
    )
