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

    def begin(self, number: str, files: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Keeps the landing files by table, with those of a call that did not come to its end; gives them all."""
        begun = self._begun(number)
        before = json.loads(begun.read_text()) if begun.is_file() else {}
        names = {*files, *before}
        both = {name: tuple(sorted({*files.get(name, ()), *before.get(name, ())})) for name in names}
        write_whole(begun, json.dumps(both), to_disk=True)
        return both

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

    def _begun(self, number: str) -> Path:
        return self._folder / f"{number}.begun"

    def _key(self) -> bytes:
        path = self._folder / _KEY
        if not path.is_file():
            write_whole(path, secrets.token_hex(32), to_disk=True)
            path.chmod(0o600)
        return path.read_bytes()
