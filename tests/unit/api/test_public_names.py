"""What ``import lakesmith`` gives, and what it does not cost."""

import subprocess
import sys
from pathlib import Path

import pytest

import lakesmith

PUBLIC = [
    "BadRows", "Lakehouse", "LakesmithError", "Problem", "Rows", "RunFailed", "RunResult", "events",
    "open",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert sorted(lakesmith.__all__) == PUBLIC
    assert set(lakesmith.__all__) <= set(dir(lakesmith))
    for name in lakesmith.__all__:
        assert getattr(lakesmith, name).__doc__


def test_another_name_is_none_of_them() -> None:
    with pytest.raises(AttributeError, match="no attribute 'shut'"):
        lakesmith.shut  # noqa: B018


@pytest.mark.processes
def test_neither_the_import_nor_opening_a_project_imports_spark(tmp_path: object) -> None:
    (tmp_path / "lakesmith.yaml").write_text("name: shop\ntargets: {local: {}}\n")  # type: ignore[operator]
    code = (
        "import sys, lakesmith\n"
        "assert not [name for name in sys.modules if name.startswith('lakesmith.')]\n"
        f"shop = lakesmith.open({str(tmp_path)!r})\n"
        "assert shop.plan().tables == () and shop.status().tables == ()\n"
        "shop.close()\n"
        "assert not {'pyspark', 'py4j', 'pyiceberg'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_a_lakehouse_does_is_this() -> None:
    kinds = lakesmith.Lakehouse.__mro__[:-1]
    calls = {name for kind in kinds for name in vars(kind) if not name.startswith("_")}
    general = {"folder", "lost_spark", "session", "close"}
    reading = {
        "tables", "plan", "status", "query", "table", "diff", "check", "verify", "history", "connect",
        "tags", "files", "explain", "doctor", "alerts", "test_alerts", "overview",
        "trace", "samples", "keep_event",
    }  # fmt: skip
    quarantine = {"quarantine", "quarantine_rows", "quarantine_replay", "quarantine_drop"}
    changing = {
        "run", "drop", "rollback", "release", "tag", "untag", "rename", "register", "relocate", "recover",
        "change_files", "erase", "readmit", "deploy", "check_deployment", "deployment_cost",
        "upload_artifact", "submit", "follow", "cancel", "run_log",
    }  # fmt: skip
    maintaining = {"plan_maintenance", "maintain", "maintain_slice", "rewrite"}
    testing = {"test", "create_story"}
    serving = {"up", "ui", "send", "stop"}
    assert calls == general | reading | quarantine | changing | maintaining | testing | serving


def test_the_tables_are_told_behind_those_they_read(tmp_path: Path) -> None:
    files = {
        "lakesmith.yaml": "name: shop\n",
        "tables/gold/sales.sql": "SELECT o.id FROM silver.orders o JOIN bronze.orders b ON o.id = b.id",
        "tables/silver/orders.sql": "SELECT id FROM bronze.orders",
        "tables/bronze/orders.yaml": "source: {files: {path: landing, format: csv}}\ncolumns: {id: bigint}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shop = lakesmith.open(tmp_path)
    assert list(shop.tables().items()) == [
        ("bronze.orders", ()),
        ("silver.orders", ("bronze.orders",)),
        ("gold.sales", ("silver.orders", "bronze.orders")),
    ]
    assert shop.tables("silver.*") == {"silver.orders": ("bronze.orders",)}
