"""Deployments are rendered with templates that are compiled once."""

from collections.abc import Iterator

import pytest
from jinja2 import Environment

from compiled import Compiled
from lakesmith.deploy import render


@pytest.fixture(scope="session", autouse=True)
def _compiled() -> Iterator[None]:
    plain = render._environment

    def environment() -> Environment:
        found = plain()
        found.bytecode_cache = Compiled()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "_environment", environment)
        yield
