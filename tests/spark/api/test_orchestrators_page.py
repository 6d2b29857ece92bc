"""The examples of docs/orchestrators.md: in a Jupyter kernel, as Dagster's assets, as Airflow's tasks.

``make orchestrators`` installs Jupyter's kernel and Dagster. Airflow is large: without it, two classes stand
in for its own.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from harness import Harness

import lakesmith
from lakesmith.execute.status import Standing
from lakesmith.spark import open as spark_open
from lakesmith.spark.start.session import SessionHandle

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "orchestrators.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, pattern: '*.csv', format: csv}
        columns: {id: bigint, city: string}
        """,
    "tables/silver/cities.sql": "SELECT city, count(*) AS orders FROM bronze.orders GROUP BY city",
    "tables/gold/largest.sql": "SELECT max(orders) AS orders FROM silver.cities",
}
INPUTS = {"bronze.orders": set[str](), "silver.cities": {"bronze.orders"}, "gold.largest": {"silver.cities"}}
DIVIDES = "SELECT city, CAST(1 / 0 AS bigint) AS orders FROM bronze.orders"
MISSING = "is not installed: make orchestrators"


def blocks(title: str) -> list[str]:
    (part,) = (part for part in PAGE.split("\n## ") if part.startswith(title))
    return BLOCK.findall(part)


def example(title: str) -> dict[str, Any]:
    (code,) = blocks(title)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, f"{title} on the page", "exec", dont_inherit=True), names)
    return names


@pytest.fixture
def shop(tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch) -> lakesmith.Lakehouse:
    """The project ``shop`` in the working folder, with one file landed, on the shared session."""
    project = Harness(tmp_path / "shop", session, FILES)
    project.land("landing/orders/1.csv", "id,city\n1,Oslo\n2,Rome\n3,Oslo\n")
    monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: project.handle)
    monkeypatch.chdir(tmp_path)
    return lakesmith.open("shop")


def is_done(shop: lakesmith.Lakehouse) -> bool:
    """Whether all tables are up to date, with their rows."""
    return {status.standing for status in shop.status().tables} == {Standing.UP_TO_DATE} and shop.table(
        "gold.largest"
    ).arrow().to_pydict() == {"orders": [2]}


@pytest.mark.in_turn
def test_jupyter(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason=f"ipykernel {MISSING}")
    nbclient = pytest.importorskip("nbclient", reason=f"nbclient {MISSING}")
    nbformat = pytest.importorskip("nbformat", reason=f"nbformat {MISSING}")
    orders = ROOT / "examples" / "customer-orders"
    shutil.copytree(orders, tmp_path / "shop", ignore=shutil.ignore_patterns(".lakesmith"))
    for file in sorted((orders / "arrivals").rglob("*.csv"))[:1]:
        shutil.copy(file, tmp_path / "shop" / "landing" / "orders")
    cells = [nbformat.v4.new_code_cell(code) for code in blocks("Jupyter")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    published, cities, closed = ([output["data"]["text/plain"] for output in cell.outputs] for cell in cells)
    assert "'gold.customers_by_city_month'" in published[0]
    assert "'customers': " in cities[0]
    assert closed == []


def test_dagster(shop: lakesmith.Lakehouse) -> None:
    dagster = pytest.importorskip("dagster", reason=f"dagster {MISSING}")
    definitions = example("Dagster")["definitions"]
    assets = {asset.key.to_user_string().replace("/", "."): asset for asset in definitions.assets}
    read = {
        name: {key.to_user_string().replace("/", ".") for key in asset.dependency_keys}
        for name, asset in assets.items()
    }
    assert read == INPUTS

    def materialize() -> Any:
        return dagster.materialize(definitions.assets, resources=definitions.resources, raise_on_error=False)

    made = materialize()
    assert made.success and is_done(shop)
    inserted = {
        event.asset_key.to_user_string(): event.materialization.metadata["inserted"].value
        for event in made.get_asset_materialization_events()
    }
    assert inserted == {"bronze/orders": 3, "silver/cities": 2, "gold/largest": 1}
    assert materialize().success
    (shop.folder / "tables/silver/cities.sql").write_text(DIVIDES)
    failed = materialize()
    (failure,) = failed.get_step_failure_events()
    assert failure.step_key == "silver__cities"
    assert "LS601" in failure.step_failure_data.error_display_string
    assert "gold/largest" not in [
        event.asset_key.to_user_string() for event in failed.get_asset_materialization_events()
    ]


@dataclass
class StandInOperator:
    """As much of Airflow's PythonOperator as the example and this test use."""

    task_id: str
    python_callable: Callable[..., object]
    op_args: list[str]
    retries: int
    pool: str
    upstream_task_ids: set[str] = field(default_factory=set)

    def __rshift__(self, other: StandInOperator) -> None:
        other.upstream_task_ids.add(self.task_id)

    def execute(self, _context: object) -> object:
        return self.python_callable(*self.op_args)


class StandInDag:
    """As much of Airflow's DAG."""

    def __init__(self, dag_id: str, *, schedule: str, catchup: bool, max_active_runs: int) -> None:
        self.dag_id = dag_id

    def __enter__(self) -> StandInDag:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow with a home of its own, or its stand-ins."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    if importlib.util.find_spec("airflow"):
        return
    operators, sdk = "airflow.providers.standard.operators.python", "airflow.sdk"
    parents = {name.rsplit(".", n)[0] for name in (operators, sdk) for n in range(1, name.count(".") + 1)}
    for name in (*sorted(parents), operators, sdk):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules[operators].PythonOperator = StandInOperator  # type: ignore[attr-defined]
    sys.modules[sdk].DAG = StandInDag  # type: ignore[attr-defined]


@pytest.mark.usefixtures("airflow")
def test_airflow(shop: lakesmith.Lakehouse) -> None:
    tasks = example("Airflow")["tasks"]
    assert {name: set(task.upstream_task_ids) for name, task in tasks.items()} == INPUTS
    for task in tasks.values():
        task.execute({})
    assert is_done(shop)
    (shop.folder / "tables/silver/cities.sql").write_text(DIVIDES)
    with pytest.raises(lakesmith.RunFailed, match="LS601"):
        tasks["silver.cities"].execute({})
