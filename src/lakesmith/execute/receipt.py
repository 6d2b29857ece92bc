"""Receipts of erasures: what was done, where and when, without a word of whose rows they were.

One is begun before anything is changed, and keeps digests of what landing files were made to be. It is known by a keyed hash of what was asked, so that the
same call goes on where another was killed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from lakesmith.project.definitions import TableName
from lakesmith.sources.ledger_view import HIDDEN
from lakesmith.sql.erasure_filter import ErasureFilter
from lakesmith.whole_file import write_whole

_FOLDER, _KEY = "erasures", ".key"


class Receipts:
    """Those of a project, in ``.lakesmith/erasures``."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / _FOLDER

    def id_of(self, asked: TableName, persons: ErasureFilter) -> str:
        """The same for the same call, and for nobody else to find out."""
        said = json.dumps([str(asked), persons.columns, persons.values])
        return hmac.new(self._key(), said.encode(), hashlib.sha256).hexdigest()[:16]

    def path(self, number: str) -> Path:
        """The receipt's file, once it is written."""
        return self._folder / f"{number}.json"

    def begin(self, number: str) -> None:
        """Notes that the erasure was begun, with what an earlier call made of landing files."""
        self._keep(number, self._read(number))

    def note_made(self, number: str, digest: str) -> None:
        """Keeps the digest of what a landing file is about to be."""
        known = self._read(number)
        self._keep(number, {**known, "made": [*known.get("made", []), digest]})

    def made(self) -> frozenset[str]:
        """The digests that erasures keep which did not come to their end."""
        begun = (self._read(path.stem) for path in self._folder.glob("*.begun"))
        return frozenset(digest for known in begun for digest in known.get("made", []))

    def finish(self, number: str, receipt: Mapping[str, Any]) -> Path:
        """Writes the receipt; with ``done`` false the call may be made again, and goes on."""
        path = self.path(number)
        self._write(path, receipt)
        if receipt["done"]:
            self._begun(number).unlink(missing_ok=True)
        return path

    def begun(self) -> int:
        """How many erasures were begun here and did not come to their end."""
        return len(list(self._folder.glob("*.begun")))

    def hidden(self, data: Any, persons: ErasureFilter, paths: Collection[str] = ()) -> Any:
        """JSON data without the names of files that tell of the persons, and without ``paths``: keyed hashes in their place."""
        if isinstance(data, str):
            # The longest first: one may be the beginning of another.
            for path in sorted(paths, key=len, reverse=True):
                data = data.replace(path, self._hash(path))
            return " ".join(
                self._hash(word) if persons.are_named_in(word) else word for word in data.split(" ")
            )
        if isinstance(data, dict):
            return {key: self.hidden(each, persons, paths) for key, each in data.items()}
        return [self.hidden(each, persons, paths) for each in data] if isinstance(data, list) else data

    def hide_names(self, persons: ErasureFilter) -> None:
        """Takes the names of files that tell of the persons out of all receipts: older ones had them."""
        for path in self._folder.glob("*.json"):
            said = json.loads(path.read_text())
            if (hidden := self.hidden(said, persons)) != said:
                self._write(path, hidden)

    def _hash(self, path: str) -> str:
        return f"{HIDDEN}{hmac.new(self._key(), path.encode('utf-8', 'surrogateescape'), hashlib.sha256).hexdigest()[:16]}"

    def _write(self, path: Path, receipt: Any) -> None:
        write_whole(path, json.dumps(receipt, indent=2) + "\n", to_disk=True)

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
