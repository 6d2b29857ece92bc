"""Which keys the models allow at a path of a document."""

from __future__ import annotations

import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from lakesmith.project.yaml_reader import YamlPath


def keys_at(model: type[BaseModel], path: YamlPath) -> list[str]:
    """The keys of the mapping at ``path``, in the models' order; of several possible models, all of theirs."""
    kinds: list[Any] = [model]
    for part in path:
        models = [inner for kind in kinds if _is_model(kind) for inner in _field(kind, str(part))]
        kinds = models or [inner for kind in kinds for inner in _items(kind)]
    keys = (key for kind in kinds for key in _keys(kind))
    return list(dict.fromkeys(keys))


def _keys(kind: Any) -> list[str]:
    if not _is_model(kind):
        return []
    return [field.alias or name for name, field in kind.model_fields.items()]


def _field(model: type[BaseModel], name: str) -> list[Any]:
    fields = {field.alias or key: field for key, field in model.model_fields.items()}
    return list(_flat(fields[name].annotation)) if name in fields else []


def _items(kind: Any) -> list[Any]:
    return list(_flat(get_args(kind)[-1])) if get_origin(kind) in {dict, list} else []


def _flat(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _flat(get_args(annotation)[0])
    if origin in {Union, types.UnionType}:
        return [inner for part in get_args(annotation) for inner in _flat(part)]
    return [annotation]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
