"""Commands called in this process."""

import shutil
from pathlib import Path

import pytest
from shop import Cli, Said, Shop

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Calls the command line in this process."""

    def call(*arguments: object) -> Said:
        words = [str(argument) for argument in arguments]
        capsys.readouterr()
        code = guarded(lambda: app(words, prog_name="lakesmith", standalone_mode=False), words)
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A copy of the example, nothing run yet, without the table of history: one of each layer is enough."""
    root = tmp_path / "shop"
    left_out = shutil.ignore_patterns(".mypy_cache", ".lakesmith", "customer_history.*")
    shutil.copytree(EXAMPLES / "customer-orders", root, ignore=left_out)
    return Shop(root)
