"""Where a setting comes from: the table's own file, or the nearest ``_defaults.yaml`` that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from lakesmith.errors import Place
from lakesmith.project.yaml_reader import Document, YamlPath

M = TypeVar("M", bound=BaseModel, covariant=True)


@dataclass(frozen=True, slots=True)
class Level(Generic[M]):
    """One place settings can stand in: a model that was read from ``path`` of a document."""

    document: Document
    model: M
    path: YamlPath = ()

    def below(self, *names: str) -> Level[BaseModel] | None:
        """The level of a model inside this one; None when it is not set."""
        model: Any = self.model
        for name in names:
            model = getattr(model, name, None)
        return None if model is None else Level(self.document, model, (*self.path, *names))


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that was set, and where."""

    value: Any
    level: Level[BaseModel]
    path: YamlPath

    @property
    def place(self) -> Place:
        """Where its key stands."""
        return self.level.document.place(*self.path)

    @property
    def text_place(self) -> Place:
        """Where the first line of its text stands."""
        return self.level.document.text_place(*self.path)

    def item_place(self, index: int | str) -> Place:
        """Where an item of it stands."""
        return self.level.document.place(*self.path, index)


def find(levels: Sequence[Level[BaseModel]], name: str) -> Setting | None:
    """The setting called ``name`` of the first level that has it; None when none has, or that one takes it back."""
    for level in levels:
        if name in level.model.model_fields_set:
            field = type(level.model).model_fields[name]
            setting = Setting(getattr(level.model, name), level, (*level.path, field.alias or name))
            return None if setting.value is None else setting
    return None
