"""Queries that are kept in the project: ``queries/NAME.sql``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lakesmith.errors import UsageError
from lakesmith.whole_file import write_whole

FOLDER: Final = "queries"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""Names that are the same file on every system, and no path."""
_MOST_BYTES: Final = 400_000


def saved_names(root: Path) -> list[str]:
    """Returns the names of the project's queries."""
    return sorted(_listed(root))


def _listed(root: Path) -> Iterator[str]:
    folder = root / FOLDER
    if _is_inside(root) and folder.is_dir():
        for path in folder.iterdir():
            if (
                path.suffix == ".sql"
                and _NAME.fullmatch(path.stem)
                and path.is_file()
                and not path.is_symlink()
            ):
                yield path.stem


def saved(root: Path, name: str) -> str:
    """Returns the text of a query. Raises UsageError LS249 for a name that there is not."""
    path = _path(root, name)
    if name not in _listed(root):
        raise UsageError.of("LS249", f"there is no query {name!r}", None, "one of the list")
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")


def save(root: Path, name: str, sql: str, *, replace: bool = False) -> Path:
    """Keeps a query. Raises UsageError LS249 if the name cannot be used, or is another query's."""
    path = _path(root, name)
    if not replace and (path.exists() or path.is_symlink()) and saved(root, name) != sql:
        hint = "choose another name, or tick `replace`"
        raise UsageError.of("LS249", f"there is a query {name!r} already", None, "a new name", hint=hint)
    try:
        write_whole(path, sql)
    except OSError as error:
        found = error.strerror or type(error).__name__
        raise UsageError.of("LS249", f"{FOLDER}/{path.name} cannot be written", found=found) from error
    return path


def _path(root: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        expected = "up to 64 small letters, digits, - and _, a letter or digit first"
        raise UsageError.of("LS249", "a query cannot have this name", None, expected, found=name[:80] or None)
    if not _is_inside(root):
        raise UsageError.of("LS249", f"the folder {FOLDER} is elsewhere", None, "a folder of the project")
    return root / FOLDER / f"{name}.sql"


def _is_inside(root: Path) -> bool:
    """Whether the folder is one of the project, and no link to another place."""
    return (root / FOLDER).resolve().is_relative_to(root.resolve())
