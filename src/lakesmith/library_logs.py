"""What libraries log, warn of and raise in threads of their own: without secrets, whatever thread it is.

A library logs addresses as it got them, and Python prints the records of a program without handlers to the
standard error. ``hide`` names secrets for that. ``hiding`` hides more, in all records of a context, from
handlers of the calling program as well.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from lakesmith.redaction import redacted

_LOG: Final = logging.getLogger("lakesmith.threads")
_hidden: frozenset[str] = frozenset()
_here: ContextVar[tuple[str, ...]] = ContextVar("hidden_here", default=())
_make_before: list[Any] = []


class _WithoutSecrets(logging.StreamHandler[Any]):
    """Prints records to the standard error, as Python does if there is no handler. What Py4J logs of a dead
    JVM is raised as well, and explained."""

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.WARNING)

    def format(self, record: logging.LogRecord) -> str:
        """Returns the text of a record without secrets."""
        return redacted(super().format(record), _hidden)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] == "py4j":
            return
        # The stream of now: programs, and tests, put others in its place.
        self.stream = sys.stderr
        super().emit(record)


def hide(secrets: Iterable[str]) -> None:
    """Hides secrets in what is printed from now on because no handler of the program takes it."""
    global _hidden
    _hidden |= frozenset(secrets)
    if not isinstance(logging.lastResort, _WithoutSecrets):
        logging.lastResort = _WithoutSecrets()


def in_own_program() -> None:
    """Makes warnings, and exceptions that end a thread, records as well: nothing prints them as they are."""
    hide(())
    root = logging.getLogger()
    if not root.handlers:
        # Else the first library that logs by the root's own functions gets a handler that hides nothing.
        root.addHandler(_WithoutSecrets())
    logging.captureWarnings(True)
    threading.excepthook = _log_exception


def _log_exception(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit or args.exc_value is None:
        return
    name = args.thread.name if args.thread else "a thread"
    found = (args.exc_type, args.exc_value, args.exc_traceback)
    _LOG.error("%s has ended by an exception", name, exc_info=found)


@contextmanager
def hiding(parts: Iterable[str]) -> Iterator[None]:
    """Hides parts of an address in all records of this context, which threads of executors may inherit."""
    if not _make_before:
        _make_before.append(logging.getLogRecordFactory())
        logging.setLogRecordFactory(_record)
    token = _here.set(tuple(parts))
    try:
        yield
    finally:
        _here.reset(token)


def without(text: str, parts: Iterable[str]) -> str:
    """Returns a text without parts of an address, the longest of which come first."""
    for part in parts:
        text = text.replace(part, "***")
    return text


def _record(*args: Any, **more: Any) -> logging.LogRecord:
    record: logging.LogRecord = _make_before[0](*args, **more)
    if parts := _here.get():
        record.msg, record.args = without(record.getMessage(), parts), ()
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = without("".join(traceback.format_exception(*record.exc_info)), parts)
            record.exc_info = None
    return record
