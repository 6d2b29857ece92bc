"""Notices records as they arrive in topics: brokers are asked each second how far these go. Without a JVM."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final

from lakesmith.errors import LakesmithError
from lakesmith.project.definitions import KafkaSource
from lakesmith.serve.tables import Tables
from lakesmith.sources.kafka.broker import topic_state
from lakesmith.sources.kafka.slices import TopicState

LOOK_SECONDS: Final = 1.0

Topic = tuple[str, KafkaSource]
"""A table, and a source of it."""


def topics_of(tables: Tables) -> Iterator[Topic]:
    """The topics that tables take."""
    for name, table in tables.definitions.items():
        for source in table.sources_of(KafkaSource):
            yield name, source


class TopicWatcher:
    """Asks in a thread; ``notice`` is called with the name of the table whose topic is not as it was."""

    def __init__(
        self,
        notice: Callable[[str], None],
        ask: Callable[[KafkaSource], TopicState] = topic_state,
        seconds: float = LOOK_SECONDS,
    ) -> None:
        self._notice, self._ask, self._seconds = notice, ask, seconds
        self._topics: tuple[Topic, ...] = ()
        self._seen: dict[Topic, TopicState | None] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, topics: Iterator[Topic]) -> None:
        """Watches these from now on. Cheap where nothing has changed."""
        self._topics = tuple(topics)
        if self._topics and self._thread is None:
            self._thread = threading.Thread(target=self._keep, name="topics", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stops asking."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def look(self) -> None:
        """Asks once for each topic."""
        for topic in self._topics:
            before, now = self._seen.get(topic), self._state(topic)
            self._seen[topic] = now
            if now is not None and now != before:
                self._notice(topic[0])

    def _state(self, topic: Topic) -> TopicState | None:
        # What is wrong is told by the run that meets it; a topic that is back counts as changed.
        try:
            return self._ask(topic[1])
        except LakesmithError:
            return None

    def _keep(self) -> None:
        while not self._ended.wait(self._seconds):
            self.look()
