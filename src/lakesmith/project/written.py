"""What may be written in a project's files: pydantic models made from declared settings, and the values
found.
"""

from __future__ import annotations

import enum
import keyword
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache, partial, reduce
from operator import or_
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lakesmith.errors import Place, Problem, ProjectError, did_you_mean, nearest
from lakesmith.project.declaring import (
    PATTERNS,
    Choice,
    Limits,
    Setting,
    WrongValue,
    all_settings,
    doc_of,
    settings_of,
)
from lakesmith.project.definitions import Source, TableDefinition
from lakesmith.project.yaml_reader import Document, YamlPath, describe

_OPTIONS: Final = "How files are read. All of it can be set in `_defaults.yaml`, too."
_OF_SOURCES: Final = "Options for every source of the tables below"
_DEFAULTS: Final = (
    "`_defaults.yaml`, and `defaults:` of `lakesmith.yaml`: settings of all tables below, the nearest wins."
)
_SHARED: Final = (
    "Settings that a table can have and that `_defaults.yaml` can give to all tables below it.\n\n"
    "Nothing (`key:` without a value) takes back what a `_defaults.yaml` further up says."
)


class Written(BaseModel):
    """Base of all models. It refuses unknown keys, and converts no value to another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, str | bool | int | float]


def user_doc(kind: type) -> str:
    """Returns what users read of a class: the first paragraph of its docstring."""
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


@cache
def model_of(kind: type) -> type[BaseModel]:
    """Makes the model of what is written for a class of declared settings."""
    base = _Open if getattr(kind, "is_open", False) else Written
    fields = {name: field for name, (_, field) in _fields(kind).items()}
    return _model(kind.__name__, user_doc(kind), base, fields)


@cache
def options_model() -> type[BaseModel]:
    """Makes the model of the options of files that ``_defaults.yaml`` may have."""
    return _model("FileOptions", _OPTIONS, Written, _shared(Source))


@cache
def shared_model(kind: type = TableDefinition) -> type[BaseModel]:
    """Makes the model of the settings that all tables of a folder may share."""
    return _model("SharedSettings", _SHARED, Written, _shared(kind))


@cache
def defaults_model(kind: type = TableDefinition) -> type[BaseModel]:
    """Makes the model of ``_defaults.yaml``."""
    files = Field(None, description="Options for every `files` source of the tables below.")
    sources = _model("SourceDefaults", f"{_OF_SOURCES}.", Written, {"files": (options_model() | None, files)})
    source = Field(None, description="Options for the sources of the tables below.")
    return _model("DefaultsFile", _DEFAULTS, shared_model(kind), {"source": (sources | None, source)})


def _model(name: str, doc: str, base: type[BaseModel], fields: Mapping[str, Any]) -> type[BaseModel]:
    made: type[BaseModel] = create_model(name, __base__=base, __doc__=doc, **fields)
    return made


def _shared(kind: type) -> dict[str, Any]:
    return {name: field for name, (declared, field) in _fields(kind).items() if declared.shared}


def _fields(kind: type) -> dict[str, tuple[Setting, tuple[Any, FieldInfo]]]:
    """The fields of a model by their names, each with its declaration."""
    found = {}
    for key, (owner, declared) in all_settings(kind).items():
        name = f"{key}_" if keyword.iskeyword(key) else key
        written = declared.form if declared.form is not None else hint_of(owner, key)
        default = ... if declared.required else declared.usual
        kept = _type(written)
        described = partial(_describe, owner, key)
        given: Any = Field(default, alias=key, json_schema_extra=described, **declared.limits)
        if default == {}:
            given = Field(default_factory=dict, alias=key, json_schema_extra=described)
        optional = default is None
        found[name] = (declared, (kept | None if optional else kept, given))
    return found


def _describe(kind: type, key: str, schema: dict[str, Any]) -> None:
    """Adds the documentation of a setting to its schema; no command needs it to read a project."""
    schema["description"] = doc_of(kind, field_of(kind, key))


def field_of(kind: type, key: str) -> str:
    """Returns the name of the field that a setting fills."""
    return next(name for name, declared in settings_of(kind).items() if declared.key == key)


def hint_of(kind: type, key: str) -> Any:
    """Returns the type of the field that a setting fills, without None."""
    name = field_of(kind, key)
    hint = get_type_hints(kind, include_extras=True)[name]
    kinds = [each for each in get_args(hint) if each is not type(None)]
    return reduce(or_, kinds) if get_origin(hint) in (Union, types.UnionType) else hint


def _type(hint: Any) -> Any:
    """The type that pydantic validates for a declared one."""
    if isinstance(hint, Choice):
        forms = (Annotated[_type(each), Tag(tag)] for tag, each in hint.forms.items())
        return Annotated[reduce(or_, forms), Discriminator(_picks(hint))]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        limits = [Field(**each.given) for each in parts[1:] if isinstance(each, Limits)]
        return Annotated[(_type(parts[0]), *limits)]
    if origin is tuple:
        return list[_type(parts[0])]  # type: ignore[misc]
    if origin in (list, dict):
        return origin[tuple(map(_type, parts))]
    if origin in (Union, types.UnionType):
        return reduce(or_, map(_type, parts))
    if origin is not Literal and isinstance(hint, type):
        if is_dataclass(hint):
            return model_of(hint)
        if issubclass(hint, enum.Enum):
            return Annotated[hint, Field(strict=False)]
    return hint


def _picks(choice: Choice) -> Callable[[Any], str]:
    """As ``choice.pick``, also for validated values."""
    return lambda value: choice.pick(value.model_dump() if isinstance(value, BaseModel) else value)


@dataclass(frozen=True, slots=True)
class Level:
    """A mapping of settings: a model that was read from ``path`` of a document."""

    document: Document
    model: Any
    path: YamlPath = ()

    def below(self, *names: str) -> Level | None:
        """Returns the level of a model inside this one; None if it is not set."""
        model: Any = self.model
        for name in names:
            model = getattr(model, name, None)
        return None if model is None else Level(self.document, model, (*self.path, *names))

    @property
    def place(self) -> Place:
        return self.document.place(*self.path)


@dataclass(frozen=True, slots=True)
class Found:
    """A setting's value and its place."""

    value: Any
    level: Level
    path: YamlPath

    @property
    def place(self) -> Place:
        """The place of its key."""
        return self.level.document.place(*self.path)

    @property
    def text_place(self) -> Place:
        """The place of its text's first line."""
        return self.level.document.text_place(*self.path)

    def item_place(self, index: int | str) -> Place:
        """Returns the place of one of its items."""
        return self.level.document.place(*self.path, index)

    def problem(self, error: WrongValue) -> Problem:
        """Returns LS105 for the value."""
        place = self.item_place(error.key) if error.key else self.place
        found = repr(self.value) if error.found is None and isinstance(self.value, str) else error.found
        what = str(error).format(self.path[-1])
        return Problem("LS105", what, place, error.expected, found, error.hint)


def find(levels: Sequence[Level], key: str) -> Found | None:
    """Returns the setting of the first level that has it; None if no level has it, or that level sets it to
    null, and null is not one of its values."""
    name = f"{key}_" if keyword.iskeyword(key) else key
    for level in levels:
        if name in level.model.model_fields_set:
            path = (*level.path, key)
            value = getattr(level.model, name)
            if value is None and path in level.document.nulls:
                value = _called_null(type(level.model).model_fields[name].annotation)
            return None if value is None else Found(value, level, path)
    return None


def _called_null(annotation: Any) -> enum.Enum | None:
    """The value of a setting that YAML takes for nothing, as its name is null."""
    kinds = (kind for kind in _flat(annotation) if isinstance(kind, type) and issubclass(kind, enum.Enum))
    return next((value for kind in kinds for value in kind if value.value == "null"), None)


def values_of(
    kind: type, levels: Sequence[Level], problems: list[Problem], but: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Reads the settings that are set, each from the nearest level, as the fields of ``kind``.

    ``but``: fields to leave out. Appends problems LS105 for wrong values, whose fields are left out as well.
    """
    values = {}
    for name, declared in settings_of(kind).items():
        inner = [level for each in levels if (level := each.below(declared.key)) is not None]
        if name in but or (found := find(levels, declared.key)) is None:
            continue
        try:
            part = None if declared.form is not None else hint_of(kind, declared.key)
            if is_dataclass(part) and isinstance(part, type):
                values[name] = part(**values_of(part, inner, problems))
            else:
                values[name] = _meant(declared, found.value)
        except WrongValue as error:
            problems.append(found.problem(error))
    return values


def meant(kind: type, model: Any) -> Any:
    """Makes a ``kind`` of its model. Raises WrongValue."""
    names = {
        name: f"{each.key}_" if keyword.iskeyword(each.key) else each.key
        for name, each in settings_of(kind).items()
    }
    given = {name: getattr(model, written) for name, written in names.items()}
    declared = settings_of(kind)
    return kind(**{name: _meant(declared[name], value) for name, value in given.items() if value is not None})


def _meant(declared: Setting, value: Any) -> Any:
    if declared.read is not None:
        return declared.read(value)
    return tuple(value) if isinstance(value, list) else value


def keys_at(model: type[BaseModel], path: YamlPath) -> list[str]:
    """Returns the keys of the mapping at ``path``, in order; for several possible models, those of all."""
    kinds: list[Any] = [model]
    for part in path:
        models = [inner for kind in kinds if _is_model(kind) for inner in _field(kind, str(part))]
        kinds = models or [inner for kind in kinds for inner in _items(kind)]
    return list(dict.fromkeys(key for kind in kinds for key in _keys(kind)))


def _keys(kind: Any) -> Iterator[str]:
    if _is_model(kind):
        yield from (field.alias or name for name, field in kind.model_fields.items())


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


M = TypeVar("M", bound=BaseModel)

_EXPECTED: Mapping[str, str] = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "list_type": "a list, such as [a, b]",
    "dict_type": "a mapping of names to values",
    "model_type": "a mapping of settings",
    "model_attributes_type": "a mapping of settings",
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of one character at most",
    "too_short": "at least one",
}
_SCALARS = frozenset({"str", "bool", "int", "float"})


def dotted(path: YamlPath) -> str:
    """Returns a path as text: ``source.files.path``, ``tags[1]``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def validated(model: type[M], document: Document) -> M:
    """Returns the document as a model. Raises ProjectError LS103 (unknown key), LS104 (missing key), LS105
    (wrong value)."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        raise ProjectError(list(_problems(error.errors(include_url=False), document, model))) from error


def _problems(errors: list[ErrorDetails], document: Document, model: type[BaseModel]) -> Iterator[Problem]:
    # A union of types gives an error for each of them; the first one says it.
    seen: set[tuple[Place | None, str]] = set()
    meant = set(_intended_keys(errors, document, model))
    for error in errors:
        problem = _problem(error, document, model)
        misspelt = error["type"] == "missing" and (*document.known(error["loc"]), error["loc"][-1]) in meant
        if (problem.place, problem.what) not in seen and not misspelt:
            seen.add((problem.place, problem.what))
            yield problem


def _intended_keys(
    errors: list[ErrorDetails], document: Document, model: type[BaseModel]
) -> Iterator[YamlPath]:
    """The paths that unknown keys were probably meant to be."""
    for error in errors:
        if error["type"] == "extra_forbidden":
            path = document.known(error["loc"])
            yield (*path[:-1], nearest(str(path[-1]), keys_at(model, path[:-1])) or "")


def _problem(error: ErrorDetails, document: Document, model: type[BaseModel]) -> Problem:
    location = error["loc"]
    path = document.known(location)
    place = document.place(*path)
    name = dotted(path)
    if error["type"] == "extra_forbidden":
        known = keys_at(model, path[:-1])
        return Problem(
            "LS103",
            f"unknown setting {str(path[-1])!r}{_inside(path)}",
            place,
            expected=f"one of {', '.join(known)}",
            hint=did_you_mean(str(path[-1]), known),
        )
    if error["type"] == "missing":
        key = str(location[-1])
        return Problem("LS104", f"{key!r} is missing{_inside((*path, key))}", place, expected=f"{key}: …")
    return _wrong_value(error, name, place)


def _inside(path: YamlPath) -> str:
    return f" in {dotted(path[:-1])}" if len(path) > 1 else ""


def _wrong_value(error: ErrorDetails, name: str, place: Place) -> Problem:
    kind, given = error["type"], error["input"]
    hint = None
    expected = _EXPECTED.get(kind) or _from_context(error)
    if error["loc"][-1] in _SCALARS:
        expected = "a single value: a text, a number, true or false"
    of_list = isinstance(error["loc"][-1], int)
    if kind == "string_type" and error["loc"][-1] not in _SCALARS and _is_unquoted(given, of_list):
        hint = "put it in quotes"
    if kind == "list_type" and isinstance(given, str):
        hint = f"write [{given}]"
    if kind == "enum" or kind == "literal_error":
        hint = did_you_mean(str(given), expected.removeprefix("one of ").split(", "))
    what = (
        f"the name {given!r} cannot be used" if error["loc"][-1] == "[key]" else f"{name} has a wrong value"
    )
    return Problem("LS105", what, place, expected, describe(given), hint)


def _is_unquoted(given: Any, of_list: bool) -> bool:
    """Whether YAML reads an intended text as another value, such as a column called ``null``."""
    return isinstance(given, (bool, int, float)) or (of_list and given is None)


def _from_context(error: ErrorDetails) -> str:
    context: dict[str, Any] = error.get("ctx") or {}
    if error["type"] in {"enum", "literal_error"}:
        choices = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        return f"one of {choices}" if "," in choices else choices
    if error["type"] == "string_pattern_mismatch":
        return PATTERNS[str(context["pattern"])]
    return error["msg"]
