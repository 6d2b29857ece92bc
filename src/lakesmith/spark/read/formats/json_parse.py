"""Parses a line of JSON by Spark's ``from_json``, as an array's element, with a field a key."""

from __future__ import annotations

from collections.abc import Sequence

from lakesmith.project.spark_types import SqlType, composed, parse_type, precision_and_scale
from lakesmith.quoting import literal, own, quoted
from lakesmith.sources.columns.fields import FieldPath, dotted
from lakesmith.spark.frames.sql_text import any_of, case, options
from lakesmith.spark.read.exact_nested import STRINGS_IN_IT, Place, anywhere, reading_type, without_strings
from lakesmith.spark.read.exact_text import TextFormats
from lakesmith.spark.read.records import VALUE
from lakesmith.spark.read.request import ReadRequest

BAD = own("bad")
"""The field of a parsed line that has its text if it does not parse."""

STRICT = (
    ("mode", "PERMISSIVE"),
    ("columnNameOfCorruptRecord", BAD),
    ("allowSingleQuotes", "false"),
    ("allowNonNumericNumbers", "false"),
)
KEYS = "_keys"
_FAR_NUMBER = "[0-9.][eE][+-]?[0-9]{4}"
_QUOTED = {_FAR_NUMBER: f'"[0-9.eE+-]*{_FAR_NUMBER}', ",": '"([0-9.eE+-]+,|,[0-9])'}
"""How a record looks in which a text may be such a number, and not the end of a text."""
_POINT_ZERO = "(-?[0-9]+)[.]0+(?![0-9.eE])"


def column_types(request: ReadRequest) -> list[tuple[int, SqlType]]:
    return [(i, parse_type(type_)) for i, (_, type_) in enumerate(request.columns)]


def reading_fields(request: ReadRequest, wide: bool = False) -> str:
    """Returns DDL of a line's fields, with the types to read. ``wide``: integers as decimals."""
    return ", ".join(
        f"{quoted(key)}: {_as_spelt(reading_type(parse_type(type_), wide=wide), request, (column,)).text}"
        for column, type_ in request.columns
        for key in request.spelt(column)
    )


def _as_spelt(kind: SqlType, request: ReadRequest, path: FieldPath) -> SqlType:
    """A type with a field for each key under which one of its fields is found."""
    parts = [
        (key, _as_spelt(part, request, (*path, name)))
        for name, part in kind.parts
        for key in (request.spelt(*path, name) if kind.outer == "struct" else [name])
    ]
    return composed(kind.outer, parts) if kind.outer else kind


def in_one(read: str, kind: SqlType, request: ReadRequest, path: FieldPath) -> str:
    """Returns SQL that makes ``kind`` of what was read ``_as_spelt``: of the best key not null."""
    if not any(at[: len(path)] == path and len(at) > len(path) for at in request.keys):
        return read
    if kind.outer != "struct":
        each, (name, part) = f"e{len(path)}", kind.parts[-1]
        value = in_one(each, part, request, (*path, name))
        lambda_ = f"{each} -> {value}" if kind.outer == "array" else f"(k{len(path)}, {each}) -> {value}"
        return f"transform{'' if kind.outer == 'array' else '_values'}({read}, {lambda_})"
    fields = []
    for name, part in kind.parts:
        values = (
            in_one(f"{read}.{quoted(key)}", part, request, (*path, name))
            for key in request.spelt(*path, name)
        )
        fields.append(f"{literal(name)}, coalesce({', '.join(values)})")
    return f"IF({read} IS NULL, NULL, named_struct({', '.join(fields)}))"


def string_fields(request: ReadRequest) -> str:
    keys = (key for column, _ in request.columns for key in request.spelt(column))
    return ", ".join(f"{quoted(key)}: string" for key in keys)


def parse_line(fields: str, json: str = VALUE) -> str:
    """Returns SQL of a line's fields: ``r``, an array of one struct, and ``BAD``, unparsed text."""
    wrapped = f"concat('{{\"r\":[', {json}, ']}}')"
    schema = f"r array<struct<{fields}>>, {BAD} string"
    return f"from_json({wrapped}, {literal(schema)}, {options(STRICT)})"


def with_whole_numbers(json: str) -> str:
    """Returns SQL of a JSON text with numbers such as ``7.0`` as whole numbers."""
    return f"regexp_replace({json}, {literal(f'({STRINGS_IN_IT})|{_POINT_ZERO}')}, '$1$2')"


def found_under(request: ReadRequest, column: str, row: str) -> str:
    """Returns SQL of a column as it was read: under the best of its keys that the line has."""
    *better, last = request.spelt(column)
    branches = [(f"array_contains({KEYS}, {literal(key)})", f"{row}.{quoted(key)}") for key in better]
    return case(branches, f"{row}.{quoted(last)}")


def place_of(index: int, request: ReadRequest) -> Place:
    """Returns where the values of a column are in a line."""
    column = request.columns[index][0]
    return Place.of(request.spelt(column), request.formats(column))


def is_far(request: ReadRequest) -> str:
    """Returns SQL that is true for a record with an exponent that keeps Spark busy without end."""
    if not any(precision_and_scale(leaf.text) for _, kind in column_types(request) for leaf in kind.leaves()):
        return "false"
    bare = f"{VALUE} RLIKE {literal(_FAR_NUMBER)} AND {without_strings(VALUE)} RLIKE {literal(_FAR_NUMBER)}"
    quoted_ones = (text_of_decimal(column, request, _FAR_NUMBER) for column, _ in request.columns)
    return f"coalesce({any_of([bare, *(test for test in quoted_ones if test)])}, false)"


def text_of_decimal(column: str, request: ReadRequest, pattern: str) -> str | None:
    """Returns SQL that is true if a text for a decimal of a column, at any depth, has the pattern; None if it
    has no decimal.

    ``pattern``: one that ``_QUOTED`` has.
    """
    kind = parse_type(dict(request.columns)[column])
    if not any(precision_and_scale(leaf.text) for leaf in kind.leaves()):
        return None

    def test(read: str, _value: str, type_: str, place_of: Place) -> str | None:
        return f"{read} RLIKE {literal(pattern)}" if precision_and_scale(type_) else None

    keys = request.spelt(column)
    fields = ", ".join(f"{quoted(key)}: {reading_type(kind, decimals_as_texts=True).text}" for key in keys)
    place = Place.of(keys, TextFormats.of(request.source))
    row = f"get({parse_line(fields)}.r, 0)"
    tests = (anywhere(test, f"{row}.{quoted(key)}", "", kind, place) for key in keys)
    return f"({VALUE} RLIKE {literal(_QUOTED[pattern])} AND ({any_of(each for each in tests if each)}))"


def rivals(request: ReadRequest) -> list[tuple[str, str]]:
    """Returns branches: whether a line has equally good keys for a column or field, and the reason."""
    kinds, found = dict(request.columns), []
    for path, tiers in request.keys.items():
        for number, names in enumerate(tiers):
            if len(names) > 1 and path[0] in kinds:
                better = [name for tier in tiers[:number] for name in tier]
                found.append(_rivalry(path, names, better, kinds[path[0]], request))
    return found


def _rivalry(
    path: FieldPath, names: Sequence[str], better: Sequence[str], type_: str, request: ReadRequest
) -> tuple[str, str]:
    what = f"{dotted(path)}: several keys differ from it in case only, or look the same"
    if len(path) > 1:
        row = SqlType("struct", ((path[0], parse_type(type_)),))
        test = _several_fields("get(j.r, 0)", row, path, 0, request)
        return f"coalesce({test}, false)", literal(what)
    some, best = (f"array({', '.join(map(literal, keys))})" for keys in (names, better))
    there = f"array_sort(array_intersect({KEYS}, {some}))"
    beaten = f" AND NOT arrays_overlap({KEYS}, {best})" if better else ""
    text = f"concat({literal(what + ': ')}, array_join({there}, ', '))"
    return f"coalesce(size({there}) > 1{beaten}, false)", text


def _several_fields(read: str, kind: SqlType, path: FieldPath, at: int, request: ReadRequest) -> str:
    """Whether an object has several keys for the field at ``path``, and not the field's own, in what was read
    of ``path[:at]``.

    A key counts whose value is not null.
    """
    part = kind.parts[-1][1]
    if kind.outer != "struct":
        each, items = f"w{at}", read if kind.outer == "array" else f"map_values({read})"
        return (
            f"exists({items}, {each} -> coalesce({_several_fields(each, part, path, at + 1, request)},"
            " false))"
        )
    first, *others = (f"{read}.{quoted(key)}" for key in request.spelt(*path[: at + 1]))
    if at + 1 == len(path):
        counted = " + ".join(f"int({value} IS NOT NULL)" for value in others)
        return f"{first} IS NULL AND {counted} > 1"
    part = dict(kind.parts)[path[at]]
    return any_of(_several_fields(value, part, path, at + 1, request) for value in (first, *others))
