"""The columns of a table: as they are declared, or as the fields of an Avro record schema (``.avsc``)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project.avro_types import AvroTypes, NoAvroType, part_of, text_of
from lakesmith.project.definitions import ADDED_COLUMNS, Column, is_taken
from lakesmith.project.free_names import clash_text, first_clash, own_fields
from lakesmith.project.layout import DraftReader
from lakesmith.project.spark_types import TypeProblem, normal_type, parse_type

_SUPPORTED: Final = (
    f"{', '.join(AvroTypes.simple)}, enum, fixed, array, map, record, or a union of one of them with null"
)


def avro_columns(text: str, file: str) -> tuple[Column, ...]:
    """Returns the fields of a record schema as columns, each with its line, aliases and default.

    No column is ``required``: deletes often have only their key, whatever the schema says of null. Raises
    ProjectError LS113 if the text is not JSON or not a record, and for every field without a Spark type.
    """
    schema = _schema(text, file)
    columns, problems, types = [], [], AvroTypes(schema)
    for field in schema["fields"]:
        name, doc = field.get("name"), field.get("doc")
        place = Place(file, _line_of(text, name))
        try:
            kind = part_of(field, "type")
            found = normal_type(types.of(kind).text)
            columns.append(
                Column(
                    text_of(field, "name"),
                    found,
                    doc if isinstance(doc, str) else None,
                    place=place,
                    aliases=_texts(field, "aliases"),
                    default=types.default(kind, field["default"]) if "default" in field else None,
                    symbols=_symbols(types.named(kind)),
                )
            )
        except (NoAvroType, TypeProblem) as error:
            what = f"the Avro field {name!r} cannot be a column"
            problems.append(Problem("LS113", what, place, f"a type: {_SUPPORTED}", str(error)))
    if problems:
        raise ProjectError(problems)
    return tuple(columns)


def _texts(schema: dict[str, Any], name: str) -> tuple[str, ...]:
    found = schema.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise NoAvroType(f"{json.dumps(found)}, where {name} are no list of texts")
    return tuple(found)


def _symbols(kind: Any) -> tuple[str, ...]:
    """The symbols of an enum that has a default, the default first."""
    if not isinstance(kind, dict) or kind.get("type") != "enum" or not isinstance(kind.get("default"), str):
        return ()
    return tuple(dict.fromkeys((kind["default"], *_texts(kind, "symbols"))))


def _schema(text: str, file: str) -> dict[str, Any]:
    try:
        schema: Any = json.loads(text)
    except json.JSONDecodeError as error:
        problem = Problem("LS113", "this Avro schema is not JSON", Place(file, error.lineno), found=error.msg)
        raise ProjectError(problem) from error
    fields = schema.get("fields") if isinstance(schema, dict) and schema.get("type") == "record" else None
    if not isinstance(fields, list) or not fields or not all(isinstance(field, dict) for field in fields):
        what = "this Avro schema is no record"
        raise ProjectError.of("LS113", what, Place(file, 1), '{"type": "record", "fields": [ ... ]}')
    return schema  # type: ignore[no-any-return]


def _line_of(text: str, name: Any) -> int:
    found = re.search(r'"name"\s*:\s*' + re.escape(json.dumps(name, ensure_ascii=False)), text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


class ColumnReader(DraftReader):
    """Reads the columns of a table."""

    __slots__ = ()

    def columns(self) -> tuple[Column, ...]:
        """Returns the columns, each once."""
        own = self.draft.settings
        if own.avro_schema is not None:
            columns = self._avro_columns(own.avro_schema)
        else:
            columns = tuple(self._column(name, form) for name, form in (own.columns or {}).items())
        self._check_column_names(columns)
        return columns

    def avro_schema(self) -> str | None:
        """Returns the text of the Avro schema, if the file is there."""
        path = self.draft.settings.avro_schema
        return self.files.read(path) if path is not None and self.files.exists(path) else None

    def _avro_columns(self, path: str) -> tuple[Column, ...]:
        place = self.draft.own.document.place("avro_schema")
        if self.draft.settings.columns is not None:
            self.problem(
                "LS105", "columns and avro_schema exclude each other", place, expected="one of the two"
            )
        if not self.files.exists(path):
            self.problem("LS113", f"there is no Avro schema {path}", place, expected="a path in the project")
            return ()
        try:
            return avro_columns(self.files.read(path), path)
        except ProjectError as error:
            self.problems.extend(error.problems)
            return ()

    def _column(self, name: str, form: Any) -> Column:
        place = self.draft.own.document.place("columns", name)
        if isinstance(form, str):
            return Column(name, self._type(form, place), place=place)
        type_place = self.draft.own.document.place("columns", name, "type")
        given = None if form.type is None else self._type(form.type, type_place)
        if given is None and form.type is None and self.draft.settings.source is not None:
            self.problem(
                "LS104", f"the column {name!r} has no type", place, expected="type: … on a sourced table"
            )
        if form.renamed_from is not None:
            self._check_earlier_name(name, form.renamed_from, place)
        return Column(name, given, form.doc, form.required, place, form.renamed_from, pii=form.pii)

    def _check_earlier_name(self, name: str, earlier: str, place: Place) -> None:
        others = self.draft.settings.columns or {}
        also = [
            other
            for other, form in others.items()
            if other != name
            and earlier.lower() in (other.lower(), (getattr(form, "renamed_from", None) or "").lower())
        ]
        if also or earlier.lower() == name.lower():
            what = f"the column {name!r} cannot have been {earlier!r}"
            found = f"{earlier!r} is what {also[0]!r} is or was called" if also else "its own name"
            hint = "two columns change names in two runs: give one a third name first" if also else None
            self.problem(
                "LS105", what, place, expected="a name that no column has now", found=found, hint=hint
            )

    def _type(self, text: str, place: Place) -> str | None:
        try:
            return normal_type(text)
        except TypeProblem as error:
            self.problem("LS114", str(error), place, expected="a Spark SQL type", found=text, hint=error.hint)
            return None

    def _check_column_names(self, columns: Sequence[Column]) -> None:
        added = ADDED_COLUMNS if self.is_sourced else ()
        seen: dict[str, str] = {}
        for column in columns:
            place = column.place or self.draft.place
            folded = column.name.lower()
            if folded in seen:
                what = f"the columns {seen[folded]!r} and {column.name!r} differ only in case"
                self.problem("LS105", what, place, hint="Spark takes them for one: rename one of them")
            seen.setdefault(folded, column.name)
            if folded in added or is_taken(folded):
                what = f"the column {column.name!r} is lakesmith's or Iceberg's own"
                self.problem("LS105", what, place, hint="choose another name")
        self._check_fields({it.name: it for it in columns})

    def _check_fields(self, columns: Mapping[str, Column]) -> None:
        """Adds problems for names that Iceberg cannot tell apart, and for names of lakesmith's own fields."""
        types = [(name, parse_type(it.type or "string")) for name, it in columns.items()]
        for column, *_, field in own_fields(types):
            what = f"the field {field!r} in the column {column!r} has a name of lakesmith's own"
            self.problem("LS105", what, columns[column].place or self.draft.place, hint="choose another name")
        if clash := first_clash(types):
            what = f"Iceberg takes {clash_text(clash)} for one"
            hint = "rename one of them; `renamed_from` of a column says what it is called in files"
            place = columns[clash[1][0]].place or self.draft.place
            self.problem("LS105", what, place, hint=hint)
