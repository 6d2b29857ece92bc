"""The snippets of every engine for every kind of catalog, as they are printed."""

import ast
import re

import pytest
from snippets import GOLDEN, TARGETS, lake_on, said

from lakesmith.catalog.open import CATALOG_TYPES
from lakesmith.connect.model import SQLITE
from lakesmith.connect.registry import ALL, engine_named
from lakesmith.connect.render import snippet
from lakesmith.errors import UsageError

ENGINES = [engine.name for engine in ALL]
EACH = [(engine, target) for target in TARGETS for engine in ENGINES]
PYTHON = ("pyiceberg", "spark")


@pytest.mark.parametrize(("engine", "target"), EACH)
def test_the_text_is_the_golden_one(engine: str, target: str) -> None:
    parts = re.split(r"^===== (\w+)\n", (GOLDEN / f"{target}.txt").read_text(), flags=re.MULTILINE)
    golden = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert f"{said(engine, target)}\n" == golden[engine]


def test_each_golden_file_is_of_a_target() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(TARGETS)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_reads_a_kind_of_catalog_or_says_why_not(engine: str) -> None:
    found = engine_named(engine)
    kinds = {*CATALOG_TYPES, SQLITE}
    assert set(found.reads) <= kinds
    assert bool(found.why_not) == (set(found.reads) != kinds)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("engine", PYTHON)
def test_what_is_python_can_be_read_by_python(engine: str, target: str) -> None:
    tree = ast.parse(said(engine, target))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imported
    assert ("import os" in said(engine, target)) == ("os.environ" in said(engine, target))


@pytest.mark.parametrize("target", [name for name in TARGETS if lake_on(name).kind not in ("local", SQLITE)])
def test_trino_s_file_has_each_property_once(target: str) -> None:
    lines = [line for line in said("trino", target).splitlines() if not line.startswith("#")]
    keys = [line.split("=", 1)[0] for line in lines if line]
    assert all(re.fullmatch(r"[a-z0-9.-]+=\S+", line) for line in lines if line)
    assert len(set(keys)) == len(keys)


def test_what_cannot_be_read_is_said_with_what_can() -> None:
    with pytest.raises(UsageError) as error:
        snippet(engine_named("athena"), lake_on("local"))
    problem = error.value.problems[0]
    assert (problem.code, error.value.exit_code, str(problem.place)) == ("LS252", 2, "lakesmith.yaml:3")
    assert "Athena cannot read the tables of target 'local'" in problem.what
    assert problem.expected == "a target with a catalog of type glue, s3tables"
    assert problem.hint is not None
    assert problem.hint.startswith("lakesmith connect duckdb | pyiceberg | spark for this target")


def test_format_three_is_told_of_the_tables_that_are_of_it() -> None:
    text = said("athena", "glue")
    assert "-- format 3 (silver.customers):\n--   Athena does not read it" in text


def test_an_unknown_engine_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="LS254 there is no snippet for an engine 'duckbd'") as error:
        engine_named("duckbd")
    assert error.value.problems[0].hint == "did you mean duckdb?"


def test_no_golden_text_shows_a_secret_that_is_written_out() -> None:
    assert all("written-out" not in file.read_text() for file in GOLDEN.iterdir())
    assert "REST_WITH_TOKEN_TOKEN: lakesmith.yaml has the value itself" in said("duckdb", "rest-with-token")
