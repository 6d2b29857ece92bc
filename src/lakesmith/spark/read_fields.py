"""The fields inside declared columns that only the files have, where the files carry no types: JSON.

Not by Spark's inference: it makes one type of all lines, and a column that is a struct in most lines and a text in one becomes
a text, its fields forgotten. Here each line is asked what it holds at each declared struct, by a walk along the declared type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from lakesmith.sources.fields import FieldPath, SqlType, parse_type
from lakesmith.spark.read_json import json_lines, spellings
from lakesmith.spark.read_request import ReadRequest
from lakesmith.spark.read_scan import VALUE
from lakesmith.spark.read_sql import literal

_OBJECT = "map<string,variant>"
_LIST = "array<variant>"


def json_unknown_fields(spark: SparkSession, request: ReadRequest) -> tuple[FieldPath, ...]:
    """The fields in structs of the declared columns, at any depth, whose keys their types do not name.

    Reads every line, unless no column has a struct in it. Keys match as they are read: exactly. A line that is no JSON object
    has no fields, and neither has a value that is no object where a struct is declared: such rows are bad, their texts kept.
    """
    walk = _Walk()
    asked = list(walk.columns(request))
    lines = json_lines(spark, request) if asked else None
    if lines is None:
        return ()
    row = _bound(_as(f"try_parse_json({VALUE})", _OBJECT), "row", f"concat({', '.join(asked)})")
    found = lines.selectExpr(f"inline({row})").distinct().collect()
    keys = sorted((each.struct, each.key) for each in found)
    return tuple((*walk.structs[struct], key) for struct, key in keys)


@dataclass
class _Walk:
    """Along declared types; ``structs`` are the paths of those met, by whose place in it they are known in the SQL.

    SQL that a method gives is of an array of (struct int, key string) that is never NULL; the walk gives none where a type
    has no struct in it.
    """

    structs: list[FieldPath] = field(default_factory=list)

    def columns(self, request: ReadRequest) -> Iterator[str]:
        for column, type_ in request.columns:
            kind = parse_type(type_) if "<" in type_ else SqlType()
            for key in spellings(request, column) if kind.has_fields else ():
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
        known = ", ".join(literal(name) for name, _ in kind.parts)
        here, each = len(self.structs), f"v{len(path)}"
        self.structs.append(path)
        unknown = f"map_keys({each})" if not known else f"array_except(map_keys({each}), array({known}))"
        found = [f"transform({unknown}, key -> named_struct('struct', {here}, 'key', key))"]
        for name, inner in kind.parts:
            if inner.has_fields:
                found.append(self._unknown(f"try_element_at({each}, {literal(name)})", inner, (*path, name)))
        return _bound(_as(value, _OBJECT), each, f"concat({', '.join(found)})")


def _as(variant: str, kind: str) -> str:
    return f"try_variant_get({variant}, '$', '{kind}')"


def _bound(value: str, variable: str, use: str) -> str:
    """The array ``use`` with ``value`` evaluated once, as ``variable``; an empty one where it is NULL."""
    one = f"filter(array({value}), {variable} -> {variable} IS NOT NULL)"
    return f"flatten(transform({one}, {variable} -> {use}))"
