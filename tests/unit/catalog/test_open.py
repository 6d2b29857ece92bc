"""From a target to its catalog."""

import subprocess
import sys
from pathlib import Path

import pytest

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.open import open_catalog, pyiceberg_properties
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.errors import EnvironmentProblem, Place
from lakesmith.project.definitions import Project, Target

ARN = "arn:aws:s3tables:eu-central-1:123456789012:bucket/lake"


def target(type_: str, **catalog: str) -> Target:
    settings = tuple((key.replace("__", "."), value) for key, value in catalog.items())
    return Target("prod", type_, settings, place=Place("lakesmith.yaml", 4))


def test_a_local_target_is_the_project_s_own_folder(tmp_path: Path) -> None:
    catalog = open_catalog(Project(tmp_path, "shop", target("local"), ()))
    assert isinstance(catalog, LocalCatalog)
    assert catalog.db == tmp_path / ".lakesmith" / "catalog.db"
    assert catalog.warehouse == tmp_path / ".lakesmith" / "warehouse"
    assert list(tmp_path.iterdir()) == []


def test_other_targets_are_not_contacted_before_they_are_asked(tmp_path: Path) -> None:
    project = Project(tmp_path, "shop", target("rest", uri="http://127.0.0.1:1"), ())
    assert isinstance(open_catalog(project), RemoteCatalog)


def test_opening_never_imports_pyiceberg() -> None:
    script = """
import sys
from pathlib import Path
from lakesmith.catalog.open import open_catalog
from lakesmith.project.definitions import Project, Target
for type_ in ("local", "glue"):
    open_catalog(Project(Path("."), "shop", Target("t", type_), ()))
print([name for name in ("pyiceberg", "sqlalchemy", "pyarrow") if name in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (target("glue", type="glue", warehouse="s3://b/w"), {"type": "glue", "warehouse": "s3://b/w"}),
        (
            target("rest", uri="https://c/api", token="t"),
            {"type": "rest", "uri": "https://c/api", "token": "t"},
        ),
        (
            target("s3tables", warehouse=ARN),
            {
                "type": "rest",
                "uri": "https://s3tables.eu-central-1.amazonaws.com/iceberg",
                "rest.sigv4-enabled": "true",
                "rest.signing-name": "s3tables",
                "rest.signing-region": "eu-central-1",
                "client.region": "eu-central-1",
                "s3.region": "eu-central-1",
                "glue.region": "eu-central-1",
                "warehouse": ARN,
            },
        ),
        (
            target(
                "jdbc",
                uri="jdbc:postgresql://db:5432/lake",
                jdbc__user="me",
                jdbc__password="p@ss/word",
                warehouse="/w",
            ),
            {
                "type": "sql",
                "uri": "postgresql+psycopg://me:p%40ss%2Fword@db:5432/lake",
                "init_catalog_tables": "false",
                "pool_pre_ping": "true",
                "warehouse": "/w",
            },
        ),
        (
            target("jdbc", uri="jdbc:sqlite:/lake/catalog.db"),
            {
                "type": "sql",
                "uri": "sqlite:////lake/catalog.db",
                "init_catalog_tables": "false",
                "pool_pre_ping": "true",
            },
        ),
    ],
    ids=["glue", "rest", "s3tables", "jdbc", "jdbc sqlite"],
)
def test_the_properties_of_each_type(given: Target, expected: dict[str, str]) -> None:
    assert pyiceberg_properties(given) == expected


@pytest.mark.parametrize(
    ("given", "expected", "found"),
    [
        (target("hadoop", warehouse="/w"), "one of local, glue, s3tables, rest, jdbc", "hadoop"),
        (target("s3tables", warehouse="s3://b"), "ARN of a table bucket", "s3://b"),
        (target("s3tables"), "ARN of a table bucket", "none"),
        (target("jdbc", uri="postgresql://u:secret@db/lake"), "a JDBC URL", "not one"),
        (target("jdbc"), "a JDBC URL", "not one"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place(given: Target, expected: str, found: str) -> None:
    with pytest.raises(EnvironmentProblem, match="LS326") as error:
        pyiceberg_properties(given)
    (problem,) = error.value.problems
    assert problem.place == Place("lakesmith.yaml", 4)
    assert expected in (problem.expected or "")
    assert found in (problem.found or "")
    assert "secret" not in str(error.value)
