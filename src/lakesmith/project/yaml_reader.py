"""Reading of YAML 1.2: plain values with their lines.

Every scalar is a str, int, float, bool or None. Keys are always text (``on: boolean`` is a column named
"on"); dates stay text. Anchors and aliases work. Tags, merge keys and several documents in one file are
refused. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from ruamel.yaml.reader import ReaderError

from lakesmith.errors import Place, Problem, ProjectError

Scalar: TypeAlias = "str | int | float | bool | None"
YamlPath: TypeAlias = tuple[str | int, ...]

_MOST_VALUES = 100_000
"""A file with aliases of aliases may stand for more values than there is memory."""

_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = {"null", "bool", "int", "float", "str", "timestamp", "merge", "value"}
_NAMES = {
    dict: "a mapping",
    list: "a list",
    str: "the text",
    bool: "the truth value",
    int: "the number",
    float: "the number",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file. ``lines``: those of keys and items; ``text_lines``: the first lines of texts. ``nulls``:
    where the word null is, not just nothing."""

    file: str
    value: Any
    lines: dict[YamlPath, int] = field(default_factory=dict)
    text_lines: dict[YamlPath, int] = field(default_factory=dict)
    nulls: frozenset[YamlPath] = frozenset()

    def known(self, path: YamlPath) -> YamlPath:
        """Returns the part of ``path`` that is in the document. Names that are not in it (tags of a union)
        are skipped."""
        found: YamlPath = ()
        for part in path:
            if (*found, part) in self.lines:
                found = (*found, part)
        return found

    def place(self, *path: str | int) -> Place:
        """Returns the place of the key or item at ``path``, or of the nearest mapping around it."""
        return Place(self.file, self.lines.get(self.known(path), 1))

    def text_place(self, *path: str | int) -> Place:
        """Returns the place of the first line of the text at ``path``: below the ``|`` of a block."""
        return Place(self.file, self.text_lines.get(path, self.place(*path).line))

    def at(self, path: YamlPath) -> Any:
        """Returns the value at ``path``, as far as it is in the document."""
        value = self.value
        for part in self.known(path):
            value = value[part]
        return value


def describe(value: object) -> str:
    """Describes a value for a message: ``the number 12``."""
    if value is None:
        return "nothing"
    name = _NAMES.get(type(value), type(value).__name__)
    if isinstance(value, (dict, list)):
        return name if value else name.replace("a ", "an empty ")
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    first, *rest = shown.splitlines() or [""]
    return (
        f"{name} {first!r} …"
        if rest
        else (f"{name} {shown!r}" if isinstance(value, str) else f"{name} {shown}")
    )


def read_yaml(text: str, file: str) -> Document:
    """Reads one file; an empty one gives an empty mapping.

    Raises ProjectError: LS101 not YAML, or more than ``_MOST_VALUES`` values; LS102 each duplicate key of a
    mapping; LS105 not a mapping.
    """
    node = _compose(text, file)
    if node is None:
        return Document(file, {}, {(): 1})
    builder = _Builder(file)
    value = builder.build(node, ())
    if not isinstance(value, dict):
        builder.problem(
            "LS105", "a file of settings is a mapping", node, "name: value lines", describe(value)
        )
    if builder.problems:
        raise ProjectError(builder.problems)
    return Document(file, value, builder.lines, builder.text_lines, frozenset(builder.nulls))


def _compose(text: str, file: str) -> Node | None:
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise ProjectError(_syntax_problem(error, file)) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = f"the character U+{ord(text[error.position]):04X}"
        raise ProjectError.of("LS101", "this is not YAML", Place(file, line), found=found) from error
    except RecursionError as error:
        raise ProjectError.of("LS101", "this YAML is nested too deeply", Place(file, 1)) from error
    return node


def _syntax_problem(error: MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    said = error.problem or error.context or "unknown"
    line = mark.line + 1 if mark is not None else None
    hint = "indent with spaces; YAML has no tabs" if "'\\t'" in said else None
    if "another document" in said or "but found another document" in str(error):
        hint = "one file holds one document: remove the ---"
    if "mapping values are not allowed" in said:
        hint = "fix the indentation, or put a value that contains a colon and a space in quotes"
    context = f"{error.context}{_opened(error)}, " if error.context and error.context != said else ""
    return Problem("LS101", "this is not YAML", Place(file, line), found=f"{context}{said}", hint=hint)


def _opened(error: MarkedYAMLError) -> str:
    mark = error.context_mark
    return (
        f" that begins at line {mark.line + 1}"
        if mark and mark.line != getattr(error.problem_mark, "line", None)
        else ""
    )


class _Builder:
    """Builder of the values of one file, with their lines and problems."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: set[int] = set()
        self._built = 0
        self.lines: dict[YamlPath, int] = {(): 1}
        self.text_lines: dict[YamlPath, int] = {}
        self.nulls: set[YamlPath] = set()
        self.problems: list[Problem] = []

    def problem(
        self, code: str, what: str, node: Node, expected: str | None = None, found: str | None = None
    ) -> None:
        place = Place(self._file, node.start_mark.line + 1)
        self.problems.append(Problem(code, what, place, expected, found))

    def build(self, node: Node, path: YamlPath) -> Any:
        if id(node) in self._open:
            self.problem("LS101", "an alias contains itself", node)
            return None
        self._built += 1
        if self._built > _MOST_VALUES:
            most = f"at most {_MOST_VALUES:,} values"
            self.problem("LS101", "this YAML has too many values", node, most, "aliases of aliases, it seems")
            raise ProjectError(self.problems)
        self._open.add(id(node))
        try:
            return self._value(node, path)
        finally:
            self._open.discard(id(node))

    def _value(self, node: Node, path: YamlPath) -> Any:
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        if str(node.tag) not in {f"{_TAG}map", f"{_TAG}seq"}:
            self.problem("LS101", "tags are not supported", node, "a plain value", _shown_tag(node))
        if isinstance(node, MappingNode):
            return dict(self._pairs(node, path))
        for index, item in enumerate(node.value):
            self.lines[(*path, index)] = item.start_mark.line + 1
        return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]

    def _pairs(self, node: MappingNode, path: YamlPath) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self.problem("LS101", "a key is a text", key_node, "name: value")
                continue
            key = str(key_node.value)
            if key in seen:
                self.problem(
                    "LS102", f"{key!r} is set twice", key_node, "each key once", f"also at line {seen[key]}"
                )
                continue
            seen[key] = line
            self.lines[(*path, key)] = line
            yield key, self.build(value_node, (*path, key))

    def _scalar(self, node: ScalarNode, path: YamlPath) -> Scalar:
        block = node.style in {"|", ">"}
        self.text_lines[path] = node.start_mark.line + (2 if block else 1)
        kind = str(node.tag)
        if kind.removeprefix(_TAG) not in _SCALAR_TAGS:
            self.problem("LS101", "tags are not supported", node, "a plain value", _shown_tag(node))
        if node.value == "null":
            self.nulls.add(path)
        return _plain_value(kind.removeprefix(_TAG), str(node.value))


def _shown_tag(node: Node) -> str:
    return f"the tag {str(node.tag).replace(_TAG, '!!')}"


def _plain_value(kind: str, text: str) -> Scalar:
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in {"true", "yes", "on", "y"}  # the others only below %YAML 1.1
    try:
        if kind == "int":
            return int(text.replace("_", ""), 0 if text.lstrip("+-")[1:2].isalpha() else 10)
        if kind == "float":
            return float(text.replace("_", ""))
    except ValueError:
        return text
    return text
