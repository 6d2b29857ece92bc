"""Sends messages through apprise, each channel in a thread of its own, in bounded time."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from lakesmith.errors import Problem
from lakesmith.library_logs import hide, hiding, without
from lakesmith.project.definitions import Severity

SECONDS: Final = 15.0
"""How long all channels together may take. One that has not answered by then counts as failed."""
_SHORTEST_HIDDEN: Final = 4
_LONGEST_SUMMARY: Final = 1024
"""Characters that PagerDuty takes as the summary of an incident."""
_BESIDES: Final = 10
"""Characters between a title and a text, where a service has them in one."""
_LONGEST_REASON: Final = 400
_DETAIL: Final = re.compile(r"(?:\w+(?:/\w+)? Exception|Response Details):\s*(?P<text>.+)", re.DOTALL)
"""How plugins of apprise log an exception, and the answer of a service."""
_ADDRESS: Final = re.compile(r"<?[\w.]+(?:\([^()]*\))? object at 0x[0-9a-f]+>?:?|^b?(?:''|\"\")$")
"""What differs each time, and nothing."""
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
    parts = _parts(url)
    hide(each for each in parts if each != url.partition(":")[0])
    _keep_silent()
    with hiding(parts):
        service = apprise.Apprise.instantiate(url)
        if service is None:
            hint = f"correct the URL in {letter.variable}: docs/alerts.md has examples"
            return Unsent(_failed(letter, "its URL is not one that apprise understands", hint))
        reasons = _reasons(service)
        for text in _texts(letter, service):
            if not _notify(apprise, service, text):
                return Unsent(_failed(letter, _in_words(reasons.texts, parts)), sending.taken)
            sending.taken += 1
    return None


class _Reasons(logging.Handler):
    """Keeps what a service warns of, with the exceptions and the answers that it tells only to who debugs."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            self.texts.append(text)
        elif found := _DETAIL.match(text):
            self.texts.append(found["text"])


def _reasons(service: Any) -> _Reasons:
    """Gives a service a logger of its own: it logs from a thread of apprise's."""
    reasons, service.logger = _Reasons(), logging.Logger("apprise", logging.DEBUG)
    service.logger.addHandler(reasons)
    return reasons


def _in_words(said: Sequence[str], parts: Sequence[str]) -> str:
    texts = (_ADDRESS.sub("", " ".join(text.split())).strip() for text in said)
    found = without("; ".join(dict.fromkeys(filter(None, texts))), parts)
    return (found if len(found) <= _LONGEST_REASON else f"{found[:_LONGEST_REASON]}…") or "it did not say why"


def _keep_silent() -> None:
    """Keeps Python from printing what apprise logs: the problem has it. Programs have their own handlers."""
    log = logging.getLogger("apprise")
    if not any(isinstance(each, logging.NullHandler) for each in log.handlers):
        log.addHandler(logging.NullHandler())


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


def _parts(url: str) -> list[str]:
    """Returns whatever in a URL may be secret, the longest first."""
    pieces = {piece for text in (url, unquote(url)) for piece in re.split(r"[/?&=:@,\s]+", text)}
    return sorted((each for each in pieces if len(each) >= _SHORTEST_HIDDEN), key=len, reverse=True)


def _failed(letter: Letter, found: str, hint: str | None = None) -> Problem:
    return Problem(
        "LS661",
        f"the alert for {letter.channel} was not sent",
        expected=f"a service at the URL in {letter.variable} that takes it",
        found=found,
        hint=hint
        or "correct the channel, and try it: lakesmith alerts --test; the next run sends the alert again",
    )
