"""References in the project's texts: ``${vars.x}`` and ``${ENV_VAR}``. ``$${`` means a plain ``${``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakesmith.errors import Place, Problem, did_you_mean
from lakesmith.project.yaml_reader import Document, YamlPath

_REFERENCE = re.compile(r"\$?\$\{\s*([^{}\n]*?)\s*\}")
_NAME = re.compile(r"(vars\.)?[A-Za-z_]\w*")
_VARS = "vars."


@dataclass
class Filler:
    """Replaces references by values. ``environ`` is None where the environment may not be read.

    ``variables`` is None if they are not known; references to them then stay as they are. ``used`` collects
    the values from the environment, which may be secrets; ``problems`` what cannot be replaced.
    """

    variables: Mapping[str, str] | None
    environ: Mapping[str, str] | None = None
    used: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def text(self, text: str, place: Place) -> str:
        """Returns the text with its references replaced. ``place``: where its first line is."""
        if "${" not in text:
            return text
        return _REFERENCE.sub(lambda found: self._value(found, _line_place(place, text, found.start())), text)

    def document(self, document: Document) -> Document:
        """Returns the document with all texts replaced; keys stay as they are."""
        return replace(document, value=self.value(document, ()))

    def value(self, document: Document, path: YamlPath) -> Any:
        """Returns the value at a path of the document with all texts replaced."""
        return self._walk(document.at(path), path, document)

    def _walk(self, value: Any, path: YamlPath, document: Document) -> Any:
        if isinstance(value, str):
            return self.text(value, document.text_place(*path))
        if isinstance(value, dict):
            return {key: self._walk(item, (*path, key), document) for key, item in value.items()}
        if isinstance(value, list):
            return [self._walk(item, (*path, index), document) for index, item in enumerate(value)]
        return value

    def _value(self, found: re.Match[str], place: Place) -> str:
        if found.group().startswith("$$"):
            return found.group()[1:]
        name = found.group(1)
        if not _NAME.fullmatch(name):
            hint = "write $${ for a plain ${"
            what = f"{found.group()} refers to nothing"
            self.problems.append(Problem("LS106", what, place, "${vars.NAME}", hint=hint))
            return ""
        if name.startswith(_VARS):
            known = self.variables
            return found.group() if known is None else self._variable(name.removeprefix(_VARS), known, place)
        return self._environment(name, place)

    def _variable(self, name: str, variables: Mapping[str, str], place: Place) -> str:
        if name in variables:
            return variables[name]
        hint = did_you_mean(name, variables, "set it under vars: of lakesmith.yaml")
        known = ", ".join(sorted(variables)) or "none is set"
        self.problems.append(
            Problem("LS106", f"the variable {name!r} is not set", place, f"one of vars: {known}", hint=hint)
        )
        return ""

    def _environment(self, name: str, place: Place) -> str:
        if self.environ is None:
            what = f"${{{name}}} cannot be used here"
            expected = "${vars.NAME}; the environment is read only under targets: of lakesmith.yaml"
            hint = "a table must not depend on who runs it; write $${ for a plain ${"
            self.problems.append(Problem("LS107", what, place, expected, hint=hint))
            return ""
        if name not in self.environ:
            what = f"the environment variable {name} is not set"
            self.problems.append(Problem("LS107", what, place, hint=f"export {name}=…"))
            return ""
        self.used[name] = self.environ[name]
        return self.environ[name]


def _line_place(place: Place, text: str, offset: int) -> Place:
    return Place(place.file, None if place.line is None else place.line + text.count("\n", 0, offset))
