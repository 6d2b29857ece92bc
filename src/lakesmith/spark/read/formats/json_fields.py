"""Finds fields inside declared columns that only JSON files have.

Not by Spark's inference: it makes one type of all lines, and a column that is a struct in most lines and a
text in one becomes a text, without fields. Here each line is examined at each declared struct, by a walk
along the declared type. The types of such fields are what Spark infers of their values, taken out of the
lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from lakesmith.errors import Problem, SourceError
from lakesmith.project.spark_types import SqlType, composed, parse_type
from lakesmith.quoting import alike, literal
from lakesmith.sources.columns.fields import FieldPath, dotted
from lakesmith.spark.read.formats.json_lines import json_lines, json_rows, one_file
from lakesmith.spark.read.formats.json_types import inferred_json
from lakesmith.spark.read.records import VALUE
from lakesmith.spark.read.request import SOURCE_FILE, ReadRequest

_OBJECT = "map<string,variant>"
_LIST = "array<variant>"
_NO_TEXTS = "CAST(array() AS array<string>)"
_STRING: Final = SqlType(text="string")
_FRACTION: Final = r"([:,\\[]\\s*-?\\d+[.]\\d+)(?=\\s*[,\\]}])"
"""A number with a point: as a variant ``1.0`` is 1, unless it has an exponent."""


def read_json(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Returns the rows, as ``json_rows``. Unknown keys make an event a bad row, but do not stop the batch.

    Raises SourceError LS451 for a map whose keys are not texts.
    """
    _refuse_odd_keys(request)
    if not request.source.has_events:
        return json_rows(spark, request)
    return json_rows(spark, request, json_unknown_names(request))


def _refuse_odd_keys(request: ReadRequest) -> None:
    problems = [
        Problem(
            "LS451",
            f"source {request.source.name!r}: column {column!r} has a map whose keys are not texts, which"
            " JSON lacks",
            request.source.place,
            expected="map<string,...>",
            found=type_,
            hint="declare its keys as string and cast them in a silver query (transform_keys)",
        )
        for column, type_ in request.columns
        if "map<" in type_ and parse_type(type_).has_odd_keys
    ]
    if problems:
        raise SourceError(problems)


def json_unknown_fields(spark: SparkSession, request: ReadRequest) -> dict[FieldPath, tuple[str, ...]]:
    """Returns the fields in structs of the declared columns, at any depth, whose keys their types do not
    name.

    Each is returned with a file that has it, in words.

    Reads every line, unless no column has a struct in it. Keys match as they are read: exactly, or as
    ``ReadRequest.keys`` says; a key beside a better one is unknown. A line that is not a JSON object has no
    fields, and neither has another value where a struct is declared: such rows are bad, their texts kept.
    """
    walk = _UnknownFields(request)
    found = _walked(spark, request, walk, VALUE)
    if found is None:
        return {}
    keys = sorted(map(tuple, found.groupBy("struct", "key").agg(one_file()).collect()))
    return {(*walk.structs[struct], key): (file,) for struct, key, file in keys}


def json_field_types(
    spark: SparkSession, request: ReadRequest, unknown: Sequence[FieldPath]
) -> dict[str, SqlType]:
    """Returns the types of declared columns as far as they lead to ``unknown`` fields, with those.

    Reads every line. A field of which Spark infers no type (nulls, empty objects) is a string.
    """
    walk = _UnknownFields(request, with_values=True)
    found = _walked(spark, request, walk, f"regexp_replace({VALUE}, '{_FRACTION}', '$1e0')")
    if found is None:
        return {}
    structs = inferred_json(found.selectExpr(f"""concat('{{"', struct, '":', fields, '}}') AS {VALUE}"""))
    kinds = {
        (*walk.structs[int(number)], alike(name)): kind
        for number, of_struct in structs.parts
        for name, kind in of_struct.parts
    }
    types = {path: kinds.get((*path[:-1], alike(path[-1])), _STRING) for path in unknown}
    declared = {column: parse_type(type_) for column, type_ in request.columns if "<" in type_}
    return {column: _only(declared[column], (column,), types) for column, *_ in unknown}


def json_unknown_names(request: ReadRequest) -> str:
    """Returns SQL of an array: the reasons for a line's keys that the columns' types do not name."""
    known = ", ".join(literal(key) for column, _ in request.columns for key in request.spelt(column))
    keys = [f"array_except(json_object_keys({VALUE}), array({known}))"]
    for column, _ in request.columns:
        first, *others = request.spelt(column)
        if others:
            some = f"array_intersect(json_object_keys({VALUE}), array({', '.join(map(literal, others))}))"
            keys.append(
                f"IF(array_contains(json_object_keys({VALUE}), {literal(first)}), {some}, {_NO_TEXTS})"
            )
    said = f"transform(concat({', '.join(keys)}), key -> concat(key, ': no such column'))"
    walk = _UnknownFields(request)
    if asked := list(walk.columns()):
        paths = ", ".join(literal(f"{dotted(path)}.") for path in walk.structs)
        fields = _bound(_as(f"try_parse_json({VALUE})", _OBJECT), "row", f"concat({', '.join(asked)})")
        inside = f"transform({fields}, it -> concat(array({paths})[it.struct], it.key, ': no such field'))"
        said = f"concat({said}, array_distinct({inside}))"
    return f"coalesce({said}, {_NO_TEXTS})"


def _walked(spark: SparkSession, request: ReadRequest, walk: _UnknownFields, text: str) -> DataFrame | None:
    """The walk's result for all lines; None if there is nothing to walk along."""
    asked = list(walk.columns())
    lines = json_lines(spark, request) if asked else None
    if lines is None:
        return None
    row = _bound(_as(f"try_parse_json({text})", _OBJECT), "row", f"concat({', '.join(asked)})")
    return lines.selectExpr(SOURCE_FILE, f"inline({row})")


def _only(kind: SqlType, path: FieldPath, types: dict[FieldPath, SqlType]) -> SqlType:
    """A declared type as far as it leads to the fields of ``types``, with those."""
    if kind.outer == "struct":
        inner = [(name, _only(part, (*path, name), types)) for name, part in kind.parts if part.has_fields]
        return composed("struct", [*inner, *((at[-1], of) for at, of in types.items() if at[:-1] == path)])
    *key, (name, part) = kind.parts
    return composed(kind.outer, [*key, (name, _only(part, (*path, name), types))])


@dataclass
class _UnknownFields:
    """A walk along declared types. ``structs`` are the paths of the structs met; the SQL has their indexes.

    A method's SQL is of an array that is never NULL: of (struct int, key string) for each unknown field, or,
    ``with_values``, of (struct int, fields string), a JSON object of the unknown fields of each struct. There
    is no SQL for a type without a struct in it.
    """

    request: ReadRequest
    with_values: bool = False
    structs: list[FieldPath] = field(default_factory=list)

    def columns(self) -> Iterator[str]:
        for column, type_ in self.request.columns:
            kind = parse_type(type_) if "<" in type_ else SqlType()
            for key in self.request.spelt(column) if kind.has_fields else ():
                yield self._unknown(f"try_element_at(row, {literal(key)})", kind, (column,))

    def _unknown(self, value: str, kind: SqlType, path: FieldPath) -> str:
        if kind.outer == "struct":
            return self._of_struct(value, kind, path)
        name, inner = kind.parts[-1]
        each = f"v{len(path)}"
        elements = _as(value, _LIST) if kind.outer == "array" else f"map_values({_as(value, _OBJECT)})"
        unknown = self._unknown(each, inner, (*path, name))
        return f"flatten(transform(coalesce({elements}, array()), {each} -> {unknown}))"

    def _of_struct(self, value: str, kind: SqlType, path: FieldPath) -> str:
        each = f"v{len(path)}"
        found = [self._fields(each, kind, path)]
        for name, inner in kind.parts:
            for key in self.request.spelt(*path, name) if inner.has_fields else ():
                found.append(self._unknown(f"try_element_at({each}, {literal(key)})", inner, (*path, name)))
        return _bound(_as(value, _OBJECT), each, f"concat({', '.join(found)})")

    def _fields(self, value: str, kind: SqlType, path: FieldPath) -> str:
        """Of the struct ``value`` itself."""
        spelt = [self.request.spelt(*path, name) for name, _ in kind.parts]
        known = ", ".join(literal(key) for keys in spelt for key in keys)
        if path not in self.structs:  # a column may have several spellings
            self.structs.append(path)
        here = self.structs.index(path)
        if not self.with_values:
            keys = f"array_except(map_keys({value}), array({known}))" if known else f"map_keys({value})"
            beaten = (_beaten(value, first, others) for first, *others in spelt if others)
            keys = f"concat({', '.join((keys, *beaten))})"
            return f"transform({keys}, key -> named_struct('struct', {here}, 'key', key))"
        unknown = f"map_filter({value}, (key, _) -> key NOT IN ({known}))" if known else value
        some = f"filter(array({unknown}), fields -> size(fields) > 0)"
        return f"transform({some}, fields -> named_struct('struct', {here}, 'fields', to_json(fields)))"


def _beaten(value: str, first: str, others: Sequence[str]) -> str:
    """The keys of one field that are in the map ``value`` beside the field's own, unless that is null."""
    some = f"array_intersect(map_keys({value}), array({', '.join(map(literal, others))}))"
    own = f"try_element_at({value}, {literal(first)})"
    return f"IF({own} IS NOT NULL AND NOT is_variant_null({own}), {some}, {_NO_TEXTS})"


def _as(variant: str, kind: str) -> str:
    return f"try_variant_get({variant}, '$', '{kind}')"


def _bound(value: str, variable: str, use: str) -> str:
    """The array ``use`` with ``value`` evaluated once, as ``variable``; an empty one where it is NULL."""
    one = f"filter(array({value}), {variable} -> {variable} IS NOT NULL)"
    return f"flatten(transform({one}, {variable} -> {use}))"
