"""Calls that an interrupt of their caller does not cut in two.

Ctrl-C, or an orchestrator's timeout, is raised wherever the main thread is. Within a call to the JVM it would leave an answer behind
that the next call takes for its own; between two lines, a lock that nobody gives back. So what the API does is done on a thread of its own,
for which the caller only waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
GiveUp = Callable[[threading.Event], None]
"""Ends a call early: told when the call has ended, it may try until then."""

PATIENCE_SECONDS = 10.0
"""Seconds that an interrupt waits for the work it ends; then, or at a second one, the work ends in the background."""


def finish(_ended: threading.Event) -> None:
    """Lets a short call finish."""


class Calls:
    """Makes calls for any number of threads."""

    def __init__(self, patience: float | None = PATIENCE_SECONDS) -> None:
        self._patience = patience
        # Per thread: a callback of a call that is being ended must not wait for it.
        self._interrupted = threading.local()

    def do(self, call: Callable[[], T], give_up: GiveUp = finish) -> T:
        """What ``call`` gives or raises; first waits for a call of this thread that was interrupted and is still ending.

        Whatever is raised in this thread meanwhile has ``give_up`` end the call.
        """
        ending: threading.Thread | None = getattr(self._interrupted, "ending", None)
        if ending is not None:
            ending.join()
        return self.do_at_once(call, give_up)

    def do_at_once(self, call: Callable[[], T], give_up: GiveUp = finish) -> T:
        """The same, beside a call that is still ending."""
        answer: Future[T] = Future()
        ended = threading.Event()
        worker = threading.Thread(target=_answer, args=(answer, call, ended), name="lakesmith")
        try:
            worker.start()
            return answer.result()
        except BaseException:
            if not answer.done():
                self._end(give_up, ended)
            raise

    def _end(self, give_up: GiveUp, ended: threading.Event) -> None:
        before: threading.Thread | None = getattr(self._interrupted, "ending", None)

        def end() -> None:
            give_up(ended)
            ended.wait()
            if before is not None:
                before.join()

        # A daemon: Python waits for the call itself at its exit, and lets go of what tries to end it.
        self._interrupted.ending = threading.Thread(target=end, name="lakesmith-end", daemon=True)
        self._interrupted.ending.start()
        self._interrupted.ending.join(self._patience)


def _answer(answer: Future[Any], call: Callable[[], Any], ended: threading.Event) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the answer
        answer.set_exception(error)
    finally:
        ended.set()
