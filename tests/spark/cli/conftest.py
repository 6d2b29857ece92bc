"""What the tests of commands on Spark share."""

from collections.abc import Callable

import pytest

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Calls the command line in this process: exit code, output, errors."""

    def call(*words: object) -> tuple[int, str, str]:
        said = [str(word) for word in words]
        capsys.readouterr()
        code = guarded(lambda: app(said, prog_name="lakesmith", standalone_mode=False), said)
        return (code, *capsys.readouterr())

    return call
