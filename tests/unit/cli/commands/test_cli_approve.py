"""``run`` asks on a terminal where tables wait for approval, and runs these and what reads them once more."""

from pathlib import Path
from typing import Any

import pytest

from lakesmith.cli.commands import run as command
from lakesmith.cli.commands.run import run_command
from lakesmith.execute.events import RunFailed, RunResult
from lakesmith.plan.losses import waits

FILES = {
    "lakesmith.yaml": "name: shop\n",
    "tables/bronze/orders.yaml": "source: {files: {path: landing/, format: csv}}\ncolumns: {id: int}\n",
    "tables/silver/orders.sql": "SELECT id FROM bronze.orders\n",
    "tables/silver/others.sql": "SELECT id FROM bronze.orders\n",
    "tables/gold/counted.sql": "SELECT count(*) AS n FROM silver.orders\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "shop"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], set[str]]]:
    """The tables of each run, and those that were approved of: silver.orders waits until it is."""
    calls: list[tuple[list[str], set[str]]] = []

    def run(_access: Any, opened: Any, what: Any, _how: Any, _tell: Any) -> RunResult:
        names, decider = what
        calls.append((list(map(str, names)), set(map(str, decider.approved))))
        table = opened.one("silver.orders")
        if table in decider.approved:
            return RunResult({}, {}, {}, (), 0.0, 0)
        problem = waits(opened.graph.node(table).definition, ["column x (int) goes"], ())
        raise RunFailed(RunResult({}, {}, {str(table): (problem,)}, (), 0.0, 1))

    monkeypatch.setattr("lakesmith.api.running.run_decided", run)
    return calls


def _answer(monkeypatch: pytest.MonkeyPatch, answer: bool) -> list[str]:
    asked: list[str] = []
    monkeypatch.setattr(command, "asks", lambda: True)
    monkeypatch.setattr(command.typer, "confirm", lambda text: asked.append(text) or answer)
    return asked


def test_yes_runs_it_and_what_reads_it(
    shop: Path, ran: list[tuple[list[str], set[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _answer(monkeypatch, answer=True)
    assert run_command(shop, None, False) == 0
    assert asked == ["May silver.orders lose that?"]
    assert [len(names) for names, _ in ran] == [4, 2]
    assert ran[1] == (["silver.orders", "gold.counted"], {"silver.orders"})


def test_no_leaves_it(
    shop: Path, ran: list[tuple[list[str], set[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _answer(monkeypatch, answer=False)
    assert run_command(shop, None, False) == 1
    assert len(ran) == 1


@pytest.mark.parametrize("as_json", [True, False])
def test_nobody_is_asked_without_a_terminal(
    shop: Path, ran: list[tuple[list[str], set[str]]], as_json: bool
) -> None:
    assert run_command(shop, None, as_json) == 1
    assert run_command(shop, None, as_json, approve=("silver.*",)) == 0
    assert ran[1][1] == {"silver.orders", "silver.others"}
