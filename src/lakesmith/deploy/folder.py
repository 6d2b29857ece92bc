"""The folder of a deployment: what is stale in it, and writing it without losing what a person did.

``lakesmith.json`` has the hash of each file as it was written. A file with another hash was edited, and is
never overwritten. Files that it does not name belong to the person. It also remembers what ever held data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakesmith.deploy.facts import Stack
from lakesmith.deploy.render import digest, holding_data
from lakesmith.errors import Place, Problem, UsageError
from lakesmith.whole_file import write_whole

MANIFEST: Final = "lakesmith.json"

FORM: Final = 1
"""The form of what is written. It grows with changes after which older versions would take something away."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How the folder differs from what would be written.

    ``edited``: files that a person changed, or that were there before. ``gone``: files that are not needed
    any more.
    """

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()

    @property
    def is_stale(self) -> bool:
        """Whether anything differs."""
        return bool(self.new or self.changed or self.gone or self.edited)


def folder_of(stack: Stack) -> Path:
    """Returns the folder: ``deploy/TARGET/`` of the project."""
    return stack.project.root / "deploy" / stack.target


def refuse_newer(folder: Path) -> None:
    """Raises UsageError LS285 if a newer lakesmith wrote the folder: an older one would undo its changes."""
    form = _described(folder).get("form", FORM)
    if not isinstance(form, int) or form > FORM:
        what = f"{folder} was written by a newer version of lakesmith"
        raise UsageError.of("LS285", what, None, f"form {FORM} at most", f"form {form}")


def remembered(folder: Path) -> dict[str, str]:
    """Returns the resources that hold data, of this and all earlier versions of the folder: their regions."""
    found = _described(folder).get("data")
    return {str(each): str(region) for each, region in found.items()} if isinstance(found, dict) else {}


def difference(folder: Path, files: Mapping[str, str]) -> Difference:
    """Compares a folder with the texts of its files."""
    known = _manifest(folder)
    kinds: dict[str, list[str]] = {"new": [], "changed": [], "gone": [], "edited": []}
    for name in sorted({*files, *known}):
        if kind := _kind(_text(folder / name), known.get(name), files.get(name)):
            kinds[kind].append(name)
    return Difference(**{kind: tuple(names) for kind, names in kinds.items()})


def _kind(found: str | None, written: str | None, wanted: str | None) -> str | None:
    if found is None:
        return "new" if wanted is not None else None
    if found == wanted:
        return None
    if written != digest(found):
        return "edited"
    return "gone" if wanted is None else "changed"


def write(stack: Stack, files: Mapping[str, str]) -> Difference:
    """Writes the files that differ, and removes those that are not needed any more.

    Raises UsageError LS281 with each edited file, LS285 for files of a newer version, before anything is
    written.
    """
    folder = folder_of(stack)
    refuse_newer(folder)
    found = difference(folder, files)
    if found.edited:
        raise UsageError(list(_edited(folder.relative_to(stack.project.root).as_posix(), found.edited)))
    for name in found.gone:
        (folder / name).unlink(missing_ok=True)
    for name in (*found.new, *found.changed):
        write_whole(folder / name, files[name])
    # Last: after a kill, what was written already is as it should be, and the rest is as the manifest says.
    manifest = {
        "project": stack.name,
        "target": stack.target,
        "form": FORM,
        "data": dict(sorted((remembered(folder) | holding_data(stack, files)).items())),
        "files": {name: digest(text) for name, text in sorted(files.items())},
    }
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return found


def _edited(folder: str, names: tuple[str, ...]) -> Iterator[Problem]:
    for name in names:
        what = "this file is not as lakesmith deploy wrote it"
        hint = (
            "put the change into a file of your own, such as storage_override.tf, and delete this one: it is "
        )
        yield Problem("LS281", what, Place(f"{folder}/{name}"), "the file as it was written", "edits",
                      f"{hint}written again")  # fmt: skip


def _described(folder: Path) -> dict[str, Any]:
    """Returns the manifest. Raises UsageError LS281 for one that is broken: it remembers what holds data."""
    text = _text(folder / MANIFEST)
    try:
        found: Any = json.loads(text) if text is not None else {}
    except ValueError as error:
        what, hint = (
            "the manifest of the deployment cannot be read",
            "take it from the last commit that had it whole",
        )
        raise UsageError.of(
            "LS281", what, Place(str(folder / MANIFEST)), "JSON, as it was written", str(error), hint
        ) from None
    return found if isinstance(found, dict) else {}


def _manifest(folder: Path) -> dict[str, str]:
    files = _described(folder).get("files")
    return {str(name): str(value) for name, value in files.items()} if isinstance(files, dict) else {}


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        return ""
