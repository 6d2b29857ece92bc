"""The project as a story sees it: with its variables and environment, and with its clock."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML

from lakesmith.graph.graph import Graph, load
from lakesmith.project.definitions import Project, SqlQuery
from lakesmith.project.files import PROJECT_FILE, FolderFiles
from lakesmith.sql.tokens import Token, TokenKind, tokenize
from lakesmith.stories.model import Story

_CLOCKS: Final = {
    "current_timestamp": "TIMESTAMP '{:%Y-%m-%d %H:%M:%S.%f}+00:00'",
    "current_date": "DATE '{:%Y-%m-%d}'",
}
_ALIASES: Final = {"now": "current_timestamp", "curdate": "current_date"}


@dataclass(frozen=True)
class Environment(Mapping[str, str]):
    """The environment of a story: what it declares. Any other variable is empty, whatever it really is, so
    that no address or secret of a target gets into a test."""

    given: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.given.get(name, "")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)


@dataclass(frozen=True)
class _WithVariables(FolderFiles):
    """A project whose file has other variables, for all targets."""

    variables: Mapping[str, str]

    def read(self, path: str) -> str:
        text = super().read(path)
        if path != PROJECT_FILE or not self.variables:
            return text
        yaml, changed = YAML(typ="safe", pure=True), io.StringIO()
        data = yaml.load(text)
        for level in (data, *(target for target in (data.get("targets") or {}).values() if target)):
            if level is data or self.variables.keys() & (level.get("vars") or {}).keys():
                level["vars"] = {**(level.get("vars") or {}), **self.variables}
        yaml.dump(data, changed)
        return changed.getvalue()


def load_for(story: Story | None, root: Path, target: str | None) -> tuple[Project, Graph]:
    """Reads the project for a story, or for all; nothing of this machine's environment is read.

    Raises ProjectError with every problem of the project.
    """
    given, variables = (dict(story.environment), dict(story.variables)) if story else ({}, {})
    return load(root, target, Environment(given), _WithVariables(root.absolute(), variables))


def at_time(project: Project, now: datetime) -> Project:
    """Returns the project whose queries take ``now`` for the present time."""
    tables = (
        replace(table, query=replace(table.query, text=_fixed(table.query.text, now)))
        if isinstance(table.query, SqlQuery)
        else table
        for table in project.tables
    )
    return replace(project, tables=tuple(tables))


def _fixed(sql: str, now: datetime) -> str:
    tokens, text, at = tokenize(sql), "", 0
    for place, token in enumerate(tokens):
        word = token.text.lower()
        called = [each.text for each in tokens[place + 1 : place + 3]] == ["(", ")"]
        clock = _ALIASES.get(word, word) if called or word in _CLOCKS else word
        if token.kind is not TokenKind.WORD or clock not in _CLOCKS or _is_part(tokens, place):
            continue
        end = tokens[place + 2].end if called else token.end
        text += sql[at : token.start] + _CLOCKS[clock].format(now)
        at = end
    return text + sql[at:]


def _is_part(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether the word is a part of a longer name, such as a column of a table."""
    return "." in {each.text for each in (*tokens[max(0, place - 1) : place], *tokens[place + 1 : place + 2])}
