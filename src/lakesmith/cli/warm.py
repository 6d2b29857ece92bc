"""Whether a command leaves Spark warm for the next one: where somebody is there to give another."""

from __future__ import annotations

import sys

from lakesmith.api.words import duration
from lakesmith.cli.opening import is_watched
from lakesmith.project.definitions import Project
from lakesmith.spark.start.resident import KeepWarm, socket_of


def keep_of(project: Project) -> KeepWarm:
    """Where this project's warm Spark is, and how long this command leaves one: not at all without a terminal, or in CI."""
    seconds = project.keep_warm_seconds if is_watched() else 0.0

    def say() -> None:
        print(f"Spark stays warm for {duration(seconds)}; lakesmith stop ends it", file=sys.stderr)

    return KeepWarm(socket_of(project.root, project.target.name), seconds, say)
