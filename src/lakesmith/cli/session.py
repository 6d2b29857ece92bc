"""Spark for one command that is no run, with a live line while it starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from lakesmith.execute.opened import Opened

if TYPE_CHECKING:
    from lakesmith.spark.start.session import SessionHandle


@contextmanager
def spark_session(opened: Opened, little: bool, stays: bool = True) -> Iterator[SessionHandle]:
    """A session on the project's lake, which ends with the body or stays warm. ``little``: for little data.

    ``stays`` false: it ends in any case, with the folders that it wrote to, and so does one that was warm.
    """
    from lakesmith.cli.warm import keep_of
    from lakesmith.spark import open as spark_open
    from lakesmith.spark.start.resident import stop

    keep = keep_of(opened.project)
    if not stays:
        stop(keep.path)
    with _waiting("starting Spark"):
        session = spark_open.open_session(opened.project, little, keep if stays else None)
    try:
        yield session
    finally:
        session.stop()


def _waiting(text: str) -> AbstractContextManager[object]:
    """On stderr, so that it never mixes with what a command prints."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)
