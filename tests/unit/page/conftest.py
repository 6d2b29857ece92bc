"""A small lake and its page, once for all tests of the page."""

from collections.abc import Iterator

import pytest

from made_lake import MadeLake
from page_server import Served, served


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    """Seven tables, of which one has bad rows and another is behind."""
    lake = MadeLake(tmp_path_factory.mktemp("made"), 7)
    lake.publish()
    lake.publish("bronze.source_0", rows=3)
    lake.publish("silver.part_0", rows=3, bad=2)
    return lake


@pytest.fixture(scope="session")
def page(made: MadeLake) -> Iterator[Served]:
    """The page of ``made``."""
    with served(made.root) as found:
        yield found
