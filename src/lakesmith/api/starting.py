"""Makes a new project, empty or a copy of a shipped example."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from lakesmith.errors import EnvironmentProblem, UsageError, did_you_mean, listed

_LEFT_OUT = frozenset(
    {".lakesmith", ".database", ".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__", ".DS_Store"}
)
"""What a worked-in example may hold besides its own files."""

_MAY_BE_THERE = frozenset({".git"})
"""What a folder may hold and still count as empty."""

_PROJECT_FILE = """\
name: {name}
default_target: local
targets:
  local: {{}}          # an embedded catalog in .lakesmith/: nothing to install, nothing to start
"""

_IGNORE_STATE = """\
# What lakesmith keeps on this machine: the catalog, the tables, logs.
.lakesmith/
"""

_IGNORE_LANDING = """\
# What arrives is data, not part of the project.
landing/*
!landing/.gitkeep
"""

_TABLES = """\
# A table is a file: tables/<layer>/<name>.yaml, with its query in <name>.sql beside it.
# To begin, save the parts below under their names, put a CSV file into landing/orders/ and run: lakesmith run
#
# --- tables/bronze/orders.yaml: rows enter the lake here, each file once ---
# source:
#   files: {path: landing/orders/, pattern: "*.csv", format: csv}
# columns: {order_id: bigint, customer: string, amount: "decimal(10,2)", ordered_at: timestamp}
#
# --- tables/silver/orders.yaml: one row per key, the newest wins ---
# key: [order_id]
# latest_by: [ordered_at]
# rules: |
#   Rules = [ IsComplete "customer", ColumnValues "amount" > 0 ]
#
# --- tables/silver/orders.sql ---
# SELECT order_id, trim(customer) AS customer, amount, ordered_at FROM bronze.orders
#
# --- tables/gold/by_customer.sql: a query alone is a table, too ---
# SELECT customer, count(*) AS orders, sum(amount) AS amount FROM silver.orders GROUP BY customer
"""


@dataclass(frozen=True, slots=True)
class Template:
    """A shipped example: its name, its folder, and what it is in one sentence."""

    name: str
    folder: Path
    about: str


@dataclass(frozen=True, slots=True)
class Templates:
    """The shipped examples."""

    templates: tuple[Template, ...]

    def to_dict(self) -> list[dict[str, Any]]:
        return [{"name": each.name, "about": each.about} for each in self.templates]


@dataclass(frozen=True, slots=True)
class NewProject:
    """A project that was made, from an example or none, and the commands to go on with."""

    folder: Path
    template: str | None
    next: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"project": str(self.folder.resolve()), "template": self.template, "next": list(self.next)}


def init(*names: str) -> NewProject:
    """Makes a project: ``init("folder")`` an empty one, ``init("example", "folder")`` a copy of an example.

    Raises UsageError LS206 to LS209, EnvironmentProblem LS327 for a folder that cannot be made.
    """
    template, folder = _wanted(names)
    _require_empty(folder)
    try:
        _copy(template.folder, folder) if template else _make_empty(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    commands = tuple(_next_commands(template, folder))
    return NewProject(folder, template.name if template else None, commands)


def templates() -> tuple[Template, ...]:
    """The shipped examples by name: of the installed package, or of the source tree it is installed from."""
    package = Path(str(files("lakesmith")))
    for folder in (package / "examples", package.parents[1] / "examples"):
        found = sorted(path.parent for path in folder.glob("*/lakesmith.yaml"))
        if found:
            return tuple(Template(path.name, path, _about(path / "README.md")) for path in found)
    return ()


def _about(readme: Path) -> str:
    """The first sentence of a README below its title."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if not part.startswith("#")]
    first = paragraphs[0] if paragraphs else ""
    return re.split(r"(?<=[^0-9])[.:;] ", first + " ")[0].rstrip(". ").replace("`", "")


def _wanted(names: tuple[str, ...]) -> tuple[Template | None, Path]:
    known = {template.name: template for template in templates()}
    expected = "lakesmith init DIR, or lakesmith init TEMPLATE DIR"
    if not 1 <= len(names) <= 2:
        found = listed(names) or "nothing"
        raise UsageError.of("LS206", "which folder to make is not clear", None, expected, found)
    if len(names) == 2:
        if names[0] not in known:
            hint = did_you_mean(names[0], known, "lakesmith init --list lists them")
            raise UsageError.of("LS207", f"there is no example {names[0]}", None, listed(known), hint=hint)
        return known[names[0]], Path(names[1])
    if names[0] in known:
        hint = f"lakesmith init {names[0]} DIR copies it; lakesmith init ./{names[0]} makes an empty project"
        raise UsageError.of(
            "LS208", f"{names[0]} is an example: where is it to go?", None, expected, hint=hint
        )
    return None, Path(names[0])


def _require_empty(folder: Path) -> None:
    if not folder.exists():
        return
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ["a file"]
    there = [name for name in there if name not in _MAY_BE_THERE]
    if there:
        raise UsageError.of(
            "LS209",
            f"{folder} is not empty, and nothing of it is overwritten",
            expected="a new or an empty folder",
            found=listed(there, most=5),
            hint="name another folder",
        )


def _copy(source: Path, folder: Path) -> None:
    shutil.copytree(
        source,
        folder,
        ignore=lambda _folder, names: [name for name in names if name in _LEFT_OUT],
        dirs_exist_ok=True,
    )
    _write_missing(folder / ".gitignore", _IGNORE_STATE)


def _make_empty(folder: Path) -> None:
    for layer in ("bronze", "silver", "gold"):
        _write_missing(folder / "tables" / layer / ".gitkeep", "")
    _write_missing(folder / "landing" / ".gitkeep", "")
    _write_missing(folder / "tables" / "EXAMPLE.txt", _TABLES)
    _write_missing(folder / ".gitignore", _IGNORE_STATE + _IGNORE_LANDING)
    _write_missing(folder / "lakesmith.yaml", _PROJECT_FILE.format(name=_project_name(folder)))


def _write_missing(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(text, encoding="utf-8")


def _project_name(folder: Path) -> str:
    """The folder's name as a project's: lower-case letters, digits and _, a letter first."""
    name = re.sub(r"[^a-z0-9_]+", "_", folder.resolve().name.lower()).strip("_")
    return name if name[:1].isalpha() else f"project_{name}".rstrip("_")


def _next_commands(template: Template | None, folder: Path) -> list[str]:
    go = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    if template is None:
        return [*go, "see tables/EXAMPLE.txt for a first table", "lakesmith run"]
    return [*go, "see README.md for a walk through it", "lakesmith run"]


def _unwritable(folder: Path, error: OSError) -> EnvironmentProblem:
    found = f"{error.strerror or error}"
    return EnvironmentProblem.of(
        "LS327", f"{folder} cannot be made", None, "a folder that can be written", found
    )
