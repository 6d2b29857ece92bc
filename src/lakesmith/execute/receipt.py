"""Receipts of erasures: what was done, where and when, without a word of whose rows they were.

One is begun before anything is changed, with the landing files that gave the rows: once the rows are gone nothing else would tell them. It is known by a keyed hash of
what was asked, so that the same call goes on where another was killed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lakesmith.project.definitions import TableName
from lakesmith.sql.persons import Persons
from lakesmith.whole_file import write_whole

_FOLDER, _KEY = "erasures", ".key"


class Receipts:
    """Those of a project, in ``.lakesmith/erasures``."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / _FOLDER

    def id_of(self, asked: TableName, persons: Persons) -> str:
        """The same for the same call, and for nobody else to find out."""
        said = json.dumps([str(asked), persons.columns, persons.values])
        return hmac.new(self._key(), said.encode(), hashlib.sha256).hexdigest()[:16]

    def path(self, number: str) -> Path:
        """The receipt's file, once it is written."""
        return self._folder / f"{number}.json"

    def begin(self, number: str, files: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
        """Keeps the landing files by table, each with how many records of theirs it has, with those of a call that did not come to its end;
        gives them all.
        """
        before: dict[str, dict[str, int]] = self._read(number).get("files", {})
        both = {name: _most(files.get(name, {}), before.get(name, {})) for name in sorted({*files, *before})}
        self._keep(number, {**self._read(number), "files": both})
        return both

    def note_made(self, number: str, path: str, digest: str) -> None:
        """Keeps the digest of what a landing file is about to be."""
        known = self._read(number)
        self._keep(number, {**known, "made": {**known.get("made", {}), path: digest}})

    def made(self, number: str) -> dict[str, str]:
        """The digests that were kept, by path."""
        return dict(self._read(number).get("made", {}))

    def finish(self, number: str, receipt: Mapping[str, Any]) -> Path:
        """Writes the receipt; with ``done`` false the call may be made again, and goes on."""
        path = self.path(number)
        write_whole(path, json.dumps(receipt, indent=2) + "\n", to_disk=True)
        if receipt["done"]:
            self._begun(number).unlink(missing_ok=True)
        return path

    def begun(self) -> int:
        """How many erasures were begun here and did not come to their end."""
        return len(list(self._folder.glob("*.begun")))

    def _read(self, number: str) -> dict[str, Any]:
        begun = self._begun(number)
        return dict(json.loads(begun.read_text())) if begun.is_file() else {}

    def _keep(self, number: str, known: Mapping[str, Any]) -> None:
        write_whole(self._begun(number), json.dumps(known), to_disk=True)

    def _begun(self, number: str) -> Path:
        return self._folder / f"{number}.begun"

    def _key(self) -> bytes:
        path = self._folder / _KEY
        if not path.is_file():
            write_whole(path, secrets.token_hex(32), to_disk=True)
            path.chmod(0o600)
        return path.read_bytes()


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {path: max(one.get(path, 0), other.get(path, 0)) for path in sorted({*one, *other})}
