"""pydantic's errors as problems: the very key's place, what was expected and found, the nearest known name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project.declaring import PATTERNS
from lakesmith.project.nearest import did_you_mean, nearest
from lakesmith.project.written import keys_at
from lakesmith.project.yaml_reader import Document, YamlPath, describe

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
    """A path in words: ``source.files.path``, ``tags[1]``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def validated(model: type[M], document: Document) -> M:
    """The document as a model. Raises ProjectError LS103 (unknown key), LS104 (missing key), LS105 (wrong value)."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        raise ProjectError(list(_problems(error.errors(include_url=False), document, model))) from error


def _problems(errors: list[ErrorDetails], document: Document, model: type[BaseModel]) -> Iterator[Problem]:
    # A union of types gives an error for each of them; the first one says it.
    seen: set[tuple[Place | None, str]] = set()
    meant = set(_meant(errors, document, model))
    for error in errors:
        problem = _problem(error, document, model)
        misspelt = error["type"] == "missing" and (*document.known(error["loc"]), error["loc"][-1]) in meant
        if (problem.place, problem.what) not in seen and not misspelt:
            seen.add((problem.place, problem.what))
            yield problem


def _meant(errors: list[ErrorDetails], document: Document, model: type[BaseModel]) -> Iterator[YamlPath]:
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
    """Whether YAML takes it for something else than the text that was meant: a column called ``null`` in a list of columns."""
    return isinstance(given, (bool, int, float)) or (of_list and given is None)


def _from_context(error: ErrorDetails) -> str:
    context: dict[str, Any] = error.get("ctx") or {}
    if error["type"] in {"enum", "literal_error"}:
        choices = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        return f"one of {choices}" if "," in choices else choices
    if error["type"] == "string_pattern_mismatch":
        return PATTERNS[str(context["pattern"])]
    return error["msg"]
