"""What ``import lakesmith`` gives, and what it does not cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lakesmith

PUBLIC = [
    "Lakehouse",
    "LakesmithError",
    "Problem",
    "Rows",
    "RunFailed",
    "RunResult",
    "Table",
    "events",
    "open",
]


def test_the_public_names_are_these() -> None:
    assert sorted(lakesmith.__all__) == PUBLIC
    assert set(lakesmith.__all__) <= set(dir(lakesmith))
    for name in lakesmith.__all__:
        assert getattr(lakesmith, name).__doc__


def test_another_name_is_none_of_them() -> None:
    with pytest.raises(AttributeError, match="no attribute 'shut'"):
        lakesmith.shut  # noqa: B018


def test_neither_the_import_nor_opening_a_project_imports_spark(tmp_path: object) -> None:
    (tmp_path / "lakesmith.yaml").write_text("name: shop\ntargets: {local: {}}\n")  # type: ignore[operator]
    code = (
        "import sys, lakesmith\n"
        "assert not [name for name in sys.modules if name.startswith('lakesmith.')]\n"
        f"shop = lakesmith.open({str(tmp_path)!r})\n"
        "assert shop.plan() == () and shop.status() == ()\n"
        "shop.close()\n"
        "assert not {'pyspark', 'py4j', 'pyiceberg'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
