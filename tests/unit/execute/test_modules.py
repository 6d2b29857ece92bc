"""Which of the project's own modules belong to a Python table."""

from pathlib import Path

import pytest

from lakesmith.errors import Place, ProjectError
from lakesmith.execute.modules import project_modules
from lakesmith.project.definitions import PythonQuery


def modules(root: Path, source: str, **files: str) -> list[str]:
    for name, text in files.items():
        path = root / f"{name if '/' in name else name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    query = PythonQuery(root / "tables/silver/a.py", "a", source, Place("tables/silver/a.py", 1))
    return list(project_modules(query, root))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import rules", ["rules"]),
        ("from rules import keep", ["rules"]),
        ("def a(t):\n    from rules import keep\n    return keep(t)", ["rules"]),
        ("import pyspark.sql.functions as F\nimport json", []),
        ("import shared.dates as d", ["rules", "shared.dates"]),
        ("from shared import dates", ["rules", "shared.dates"]),
        ("from shared.names import short", ["shared.dates", "shared.names", "rules"]),
    ],
)
def test_what_is_imported_and_what_that_imports(tmp_path: Path, source: str, found: list[str]) -> None:
    files = {
        "rules": "import datetime", "unused": "1 / 0", "shared__dates": "import rules",
        "shared__names": "from . import dates\nfrom .dates import today",
    }  # fmt: skip
    assert modules(tmp_path, source, **files) == sorted(found)


def test_modules_in_a_circle_and_packages(tmp_path: Path) -> None:
    package = {
        "both/__init__": "from both.one import x",
        "both__one": "import both.two",
        "both__two": "import both.one",
    }
    assert modules(tmp_path, "import both", **package) == ["both", "both.one", "both.two"]


def test_where_there_is_a_package_beside_a_module_python_takes_the_package(tmp_path: Path) -> None:
    (tmp_path / "both").mkdir()
    (tmp_path / "both/__init__.py").write_text("x = 1")
    (tmp_path / "both.py").write_text("x = 2")
    query = PythonQuery(tmp_path / "tables/silver/a.py", "a", "import both", Place("tables/silver/a.py", 1))
    assert project_modules(query, tmp_path) == {"both": "x = 1"}


def test_a_module_that_is_not_python_says_where(tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as error:
        modules(tmp_path, "import rules", rules="x = (\n")
    assert str(error.value.problems[0].place).startswith("rules.py:")


def test_a_module_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_bytes("name = 'Zoë'\n".encode("latin-1"))
    with pytest.raises(ProjectError) as error:
        modules(tmp_path, "import rules")
    assert str(error.value.problems[0].place) == "rules.py:1"
    assert error.value.problems[0].what == "this is not UTF-8"
