"""One PostgreSQL for the tests of this folder."""

from collections.abc import Iterator

import pytest

from postgres_server import running


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with running() as url:
        yield url
