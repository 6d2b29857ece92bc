"""A kept project is the project as it would be read now, and no secret is ever kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith.cache import Cache
from lakesmith.project.files import FolderFiles
from lakesmith.project.loaded import LoadedProject, _code, load_cached
from lakesmith.project.loader import parse_project

FILES = {
    "lakesmith.yaml": "name: shop\ndefault_target: local\ntargets: {local: {}, "
    'prod: {catalog: {type: rest, token: "${TOKEN}"}}}\nvars: {n: 1}\n',
    "tables/_defaults.yaml": "owner: everyone\nschedule: {cron: 0 6 * * *, time_zone: Europe/Amsterdam}\n",
    "tables/bronze/orders.yaml": "source: {files: {path: a/, format: csv, min_age: 1 hour}}\n"
    "avro_schema: schemas/o.avsc\nrules: 'Rules = [ IsComplete \"a\" ]'\n",
    "schemas/o.avsc": '{"type": "record", "name": "o", "fields": [{"name": "a", "type": "int"}]}',
    "tables/silver/orders.yaml": "from: bronze.orders\nkey: [a]\npartition_by: [a]\n",
    "tables/gold/n.sql": "SELECT ${vars.n} AS n FROM silver.orders",
    "tables/gold/p.py": "def p(gold__n):\n    return gold__n\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def cached(root: Path, target: str | None = None, environ: dict[str, str] | None = None) -> LoadedProject:
    return load_cached(FolderFiles(root), target, environ or {}, root / "cache")


def kept(root: Path) -> Path:
    (file,) = (root / "cache").iterdir()
    return file


def tampered(root: Path) -> None:
    """Changes the name of the cached project, so that a test sees where a project comes from."""
    cache = Cache(root / "cache", "project", _code())
    key = f"{root}\0None"
    fingerprint, names, loaded = cache.load(key)
    loaded["project"]["name"] = "from_cache"
    assert cache.save(key, (fingerprint, names, loaded))


def test_what_is_kept_is_what_was_read(root: Path) -> None:
    read = parse_project(FolderFiles(root), environ={})
    assert read.problems == ()

    assert cached(root) == read
    tampered(root)
    again = cached(root)

    assert again.project.name == "from_cache"
    assert again.project.tables == read.project.tables
    assert (again.project.target, again.project.variables, again.declared) == (
        read.project.target, read.project.variables, read.declared,
    )  # fmt: skip
    assert [type(table.query) for table in again.project.tables] == [
        type(t.query) for t in read.project.tables
    ]


def rewrite(path: str, text: str) -> Callable[[Path], object]:
    return lambda root: (root / path).write_text(text)


@pytest.mark.parametrize(
    "change",
    [
        rewrite("lakesmith.yaml", FILES["lakesmith.yaml"].replace("n: 1", "n: 2")),
        rewrite("tables/_defaults.yaml", "owner: no one\n"),
        rewrite("tables/gold/n.sql", "SELECT 2 AS n FROM silver.orders"),
        rewrite("tables/gold/p.py", "def p(silver__orders):\n    return silver__orders\n"),
        rewrite("tables/gold/added.sql", "SELECT 1 AS n"),
        rewrite("tables/gold/_defaults.yaml", "owner: no one\n"),
        rewrite("schemas/o.avsc", FILES["schemas/o.avsc"].replace('"int"', '"long"')),
        lambda root: (root / "tables/gold/p.py").unlink(),
        lambda root: (root / "tables/silver/orders.yaml").rename(root / "tables/silver/renamed.yaml"),
        lambda root: (root / "schemas/o.avsc").unlink(),
    ],
    ids=[
        "header", "defaults", "sql", "python", "new table", "new defaults", "avro", "gone", "renamed",
        "no avro",
    ],
)  # fmt: skip
def test_every_change_of_a_file_counts(root: Path, change: Callable[[Path], object]) -> None:
    cached(root)
    tampered(root)
    change(root)

    assert cached(root) == parse_project(FolderFiles(root), environ={})


def test_a_target_with_secrets_is_not_kept(root: Path) -> None:
    found = cached(root, "prod", {"TOKEN": "hunter2"})

    assert dict(found.project.target.catalog)["token"] == "hunter2"
    assert not (root / "cache").exists()


def test_a_wrong_project_is_not_kept(root: Path) -> None:
    (root / "tables/gold/x.yaml").write_text("quarry: 1\n")

    assert cached(root).problems
    assert not (root / "cache").exists()


@pytest.mark.parametrize(
    "rubbish", ["", "[]", "{}", '{"key": 1, "files": ["nothing"], "loaded": {}}', "\x00"]
)
def test_rubbish_is_read_over(root: Path, rubbish: str) -> None:
    cached(root)
    kept(root).write_text(rubbish)

    assert cached(root) == parse_project(FolderFiles(root), environ={})


def test_a_folder_that_cannot_be_written_changes_nothing(root: Path) -> None:
    (root / "cache").write_text("a file")

    assert cached(root) == parse_project(FolderFiles(root), environ={})


def test_a_name_of_a_target_is_no_path(root: Path) -> None:
    assert [problem.code for problem in cached(root, "../../x").problems] == ["LS120"]
