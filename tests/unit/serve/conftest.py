"""A real intake for the tests that ask for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from intake_process import SALES, Server, Serving


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """Starts the intake of a project of these tables."""
    servers: list[Server] = []

    def start(environment: dict[str, str] | None = None, **tables: str) -> Server:
        root = tmp_path / "shop"
        (root / "tables/bronze").mkdir(parents=True)
        (root / "lakesmith.yaml").write_text("name: shop\n")
        for name, text in (tables or {"sales": SALES}).items():
            (root / f"tables/bronze/{name}.yaml").write_text(text)
        servers.append(Server(root, environment or {}))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
