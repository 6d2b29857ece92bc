"""Nested types: what a declared type is read as from JSON, and how that becomes the type exactly.

Decimals are read with as many digits after the point as fit, dates and times as strings. The rest is read as
declared, because Spark's JSON parser is strict about it. What a number loses when it is read (``1e-400`` is
0) shows only in the record's text: it has a number that becomes the read one and is not equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from lakesmith.project.spark_types import MAX_PRECISION, SqlType, composed, precision_and_scale
from lakesmith.quoting import literal, quoted
from lakesmith.spark.frames.sql_text import any_of, in_regex
from lakesmith.spark.read.exact_text import (
    TextFormats,
    digits_of,
    exact_from_text,
    inexact_from_text,
    more_digits,
    roomy_scale,
    whole_loses_digits,
)
from lakesmith.spark.read.records import VALUE

_AS_TEXT = ("date", "timestamp", "timestamp_ntz")
_FLOATS = ("double", "float")
_NOT_ZERO = r'"?\s*([+-]?[0.]*+[1-9][0-9.]*+(?:[eE][+-]?[0-9]+)?)'
_IN_A_LIST = r"[\[,]\s*"
_IN_A_MAP = r'"\s*:\s*'
_TINY = f"contains({VALUE}, 'e-') OR contains({VALUE}, 'E-') OR contains({VALUE}, '00000000')"
_DOUBLE = r"^-?[0-9]+[.][0-9]+(E-?[0-9]+)?$"
_FLOATS_IN_IT = r"(-?[0-9]+(?:[.][0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))"
STRINGS_IN_IT = r'"(?:[^"\\]|\\.)*+"'
UNUSUAL = "_unusual"
"""The column that is true for records with numbers that may lose digits: see ``unusual``."""


@dataclass(frozen=True, slots=True)
class Place:
    """How a source writes texts, and a regular expression of what precedes a number in a record."""

    formats: TextFormats
    before: str

    @classmethod
    def of(cls, keys: Sequence[str], formats: TextFormats) -> Place:
        """The value of a key with these spellings, in any case."""
        return cls(formats, f'"(?iu:{"|".join(map(in_regex, keys))})"\\s*:\\s*')


Test = Callable[[str, str, str, Place], str | None]
"""SQL of a doubt about the text read, its value and a type without parts; None: no doubt."""


def reading_type(kind: SqlType, decimals_as_texts: bool = False, wide: bool = False) -> SqlType:
    """Returns the type to give to ``from_json``. ``wide``: integers are decimals that hold a bigint."""
    if kind.outer:
        fixed = "key" if kind.outer == "map" else None
        parts = [
            (name, part if name == fixed else reading_type(part, decimals_as_texts, wide))
            for name, part in kind.parts
        ]
        return composed(kind.outer, parts)
    if wide and kind.text in ("int", "bigint"):
        return SqlType(text="decimal(38,19)")
    if shape := None if decimals_as_texts else precision_and_scale(kind.text):
        return SqlType(text=f"decimal({MAX_PRECISION},{roomy_scale(*shape)})")
    return SqlType(text="string") if kind.text in _AS_TEXT or precision_and_scale(kind.text) else kind


def exact(read: str, kind: SqlType, formats: TextFormats, depth: int = 0) -> str:
    """Returns SQL that turns the read text into the declared type, rounded to its digits."""
    if kind.text in _AS_TEXT:
        return exact_from_text(read, kind.text, replace(formats, rounds=True))
    if reading_type(kind).text == kind.text:
        return read
    if kind.outer == "struct":
        fields = (
            f"{literal(field)}, {exact(f'{read}.{quoted(field)}', of, formats, depth)}"
            for field, of in kind.parts
        )
        return f"IF({read} IS NULL, NULL, named_struct({', '.join(fields)}))"
    if kind.outer:
        variable = f"v{depth}"
        value = exact(variable, kind.parts[-1][1], formats, depth + 1)
        if kind.outer == "array":
            return f"transform({read}, {variable} -> {value})"
        return f"transform_values({read}, (k{depth}, {variable}) -> {value})"
    return f"try_cast({read} AS {kind.text})"


def wrong(read: str, value: str, kind: str, _: Place) -> str | None:
    """Tests (``Test``) that it is not a value of the type."""
    if kind in _AS_TEXT or precision_and_scale(kind):
        return f"{read} IS NOT NULL AND {value} IS NULL"
    return f"abs({read}) = {kind}('Infinity')" if kind in _FLOATS else None


def inexact(read: str, value: str, kind: str, place: Place) -> str | None:
    """Tests (``Test``) that it is a value of the type except for digits that this does not hold."""
    if kind in _AS_TEXT:
        return inexact_from_text(read, kind, place.formats)
    if kind in _FLOATS:
        zero = f"{read} = 0 AND {UNUSUAL} AND {_a_number(f'try_cast(n AS {kind}) = 0', place)}"
        whole = f"try_cast(n AS {kind}) = {read} AND {whole_loses_digits('n', read)}"
        large = f"abs({read}) >= 9007199254740992D AND {_a_number(whole, place)}"
        return any_of([zero, large]) if place.formats.is_inferred else zero
    if shape := precision_and_scale(kind):
        return (
            f"{value} IS NOT NULL AND (NOT ({read} <=> {value}) OR {_cut(read, roomy_scale(*shape), place)})"
        )
    return None


def lost(read: str, _value: str, kind: str, place: Place) -> str | None:
    """Tests (``Test``) JSON numbers that go through a double to a string, also nested ones."""
    if kind != "string":
        return None
    number = f"{read} RLIKE '{_DOUBLE}' AND NOT instr({VALUE}, concat('\"', {read}, '\"')) > 0"
    infinite = f"{read} = '\"Infinity\"' OR {read} = '\"-Infinity\"'"
    part = f"(startswith({read}, '{{') OR startswith({read}, '[')) AND {read} RLIKE '[.]|Infinity'"
    return f"(({number}) OR {infinite} OR ({part})) AND {_has_lossy_float(read)}"


def _has_lossy_float(read: str) -> str:
    """Whether a number outside of strings became a double with other digits."""
    double = "CAST(try_cast(n AS double) AS string)"
    other = f"{digits_of('n')} <> {digits_of(double)} AND contains({read}, {double})"
    return f"exists(regexp_extract_all({without_strings(VALUE)}, {literal(_FLOATS_IN_IT)}, 1), n -> {other})"


def without_strings(json: str) -> str:
    return f"regexp_replace({json}, {literal(STRINGS_IN_IT)}, '')"


def _cut(read: str, most: int, place: Place) -> str:
    """Whether a decimal was cut when it was read, with ``most`` digits after the point."""
    becomes = f"try_cast(n AS decimal({MAX_PRECISION},{most})) <=> {read} AND {more_digits('n', most)}"
    return f"({UNUSUAL} AND {_a_number(becomes, place)})"


def unusual(types: Iterable[SqlType]) -> str:
    """Returns SQL that is true for a record with a number that one of the types may cut."""
    shapes = (precision_and_scale(leaf.text) for kind in types for leaf in kind.leaves())
    most = min((roomy_scale(*shape) for shape in shapes if shape), default=None)
    return _TINY if most is None else f"{_TINY} OR {VALUE} RLIKE '[.][0-9]{{{most}}}'"


def _a_number(test: str, place: Place) -> str:
    """Whether the record has at the place a number ``n``, not 0, of which the test is true."""
    numbers = f"regexp_extract_all({VALUE}, {literal(place.before + _NOT_ZERO)}, 1)"
    return f"exists({numbers}, n -> coalesce({test}, false))"


def anywhere(test: Test, read: str, value: str, kind: SqlType, place: Place, depth: int = 0) -> str | None:
    """Returns SQL that is true if the test is, for a value at any depth; None: it never is."""
    if kind.outer == "struct":
        doubts = [_in_field(test, read, field, of, place, depth) for field, of in kind.parts]
        some = [doubt for doubt in doubts if doubt]
        return any_of(some) if some else None
    if kind.outer:
        variable, of = f"w{depth}", kind.parts[-1][1]
        made = exact(variable, of, place.formats, depth + 1)
        inside = Place(place.formats, _IN_A_LIST if kind.outer == "array" else _IN_A_MAP)
        odd = anywhere(test, variable, made, of, inside, depth + 1)
        elements = read if kind.outer == "array" else f"map_values({read})"
        return f"exists({elements}, {variable} -> coalesce({odd}, false))" if odd else None
    return test(read, value, kind.text, place)


def _in_field(test: Test, struct: str, field: str, kind: SqlType, place: Place, depth: int) -> str | None:
    read = f"{struct}.{quoted(field)}"
    made = exact(read, kind, place.formats, depth)
    return anywhere(test, read, made, kind, Place.of([field], place.formats), depth)
