"""From a folder to a graph, or to one error that says everything."""

import subprocess
import sys
from pathlib import Path

import pytest

from lakesmith.errors import ProjectError
from lakesmith.graph.graph import load
from lakesmith.project.definitions import TableName
from lakesmith.sql.words import KEYWORDS


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in {"lakesmith.yaml": "name: shop\n", **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


RIGHT = {
    "tables/bronze/orders.yaml": "source: {files: {path: a/, format: csv}}\ncolumns: {id: int, at: "
    "timestamp}\n",
    "tables/silver/orders.yaml": "from: bronze.orders\nkey: [id]\nlatest_by: [at]\ndelete_when: id < 0\n",
    "tables/gold/number.sql": "SELECT count(*) AS n FROM silver.orders",
}


def test_a_right_project(tmp_path: Path) -> None:
    project, graph = load(write(tmp_path, RIGHT), environ={})

    assert project.name == "shop"
    assert [str(name) for name in graph.order] == ["bronze.orders", "silver.orders", "gold.number"]


def test_all_problems_of_all_families_at_once_sorted_by_place(tmp_path: Path) -> None:
    wrong = {
        "tables/bronze/orders.yaml": "source: {files: {path: a/, format: csv}}\ncolumns: {id: int}\n",
        "tables/silver/orders.yaml": "from: bronze.orders\nkey: [it]\n",
        "tables/silver/b.sql": "SELECT id FROM bronze.order",
        "tables/silver/a.sql": "SELECT (id FROM bronze.orders", "tables/gold/x.yaml": "from: gold.y",
        "tables/gold/y.yaml": "from: gold.x", "tables/gold/z.yaml": "quarry: SELECT 1",
    }  # fmt: skip

    with pytest.raises(ProjectError) as caught:
        load(write(tmp_path, wrong), environ={})

    assert [(problem.code, str(problem.place)) for problem in caught.value.problems] == [
        ("LS133", "tables/gold/x.yaml:1"), ("LS103", "tables/gold/z.yaml:1"),
        ("LS130", "tables/silver/a.sql:1"), ("LS131", "tables/silver/b.sql:1"),
        ("LS134", "tables/silver/orders.yaml:2"),
    ]  # fmt: skip


def test_tables_and_layers_may_be_called_as_any_word_of_sql_or_yaml_is(tmp_path: Path) -> None:
    words = sorted(
        {*map(str.lower, KEYWORDS), "unnest", "no", "yes", "n", "files", "x__y", "branch_main", "e1"}
    )
    source = "source: {files: {path: a/, format: csv}}\ncolumns: {id: int}\n"
    files = {}
    for word in words:
        files[f"tables/b1/{word}.yaml"] = source
        files[f"tables/{word}/orders.yaml"] = source
        files[f"tables/b2/{word}.yaml"] = f"from: b1.{word}\n"
        files[f"tables/b3/{word}.yaml"] = f"from: {word}.orders\n"
        files[f"tables/b4/{word}.sql"] = (
            f"SELECT `{word}`.id FROM b1.`{word}` JOIN `{word}`.orders USING (id)"
        )

    _, graph = load(write(tmp_path, files), environ={})

    for word in words:
        assert list(map(str, graph.node(TableName("b2", word)).inputs)) == [f"b1.{word}"]
        assert list(map(str, graph.node(TableName("b3", word)).inputs)) == [f"{word}.orders"]
        assert list(map(str, graph.node(TableName("b4", word)).inputs)) == [f"b1.{word}", f"{word}.orders"]


def test_a_folder_that_is_no_project_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="LS119"):
        load(tmp_path, environ={})

    assert list(tmp_path.iterdir()) == []


def test_a_second_load_does_without_the_slow_imports(tmp_path: Path) -> None:
    load(write(tmp_path, RIGHT), environ={})
    script = (
        "import sys; from pathlib import Path; from lakesmith.graph.graph import load\n"
        f"project, graph = load(Path({str(tmp_path)!r}), environ={{}})\n"
        "print(len(project.tables), [m for m in ('sqlglot', 'pydantic', 'ruamel.yaml', 'pyspark') if m in "
        "sys.modules])"
    )

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout == "3 []\n"
