"""Casts values of typed files (Parquet, Avro) to the declared types, at every depth, and finds what is lost
by it.

A value that does not fit becomes NULL and is reported by ``misfits``. Widening fits; a number out of range, a
fraction for a whole number, a time for a date, or a text that is not a value do not. A number of more digits
than the type holds is rounded, and reported as well. Spark casts structs by position, whatever the fields are
called; here they are matched by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lakesmith.project.spark_types import SqlType, precision_and_scale
from lakesmith.quoting import literal, quoted
from lakesmith.sources.columns.fields import FieldPath, paired
from lakesmith.sources.columns.types import type_changes
from lakesmith.sources.file_types import file_type, has_file_type, loaded_as
from lakesmith.spark.frames.sql_text import any_of
from lakesmith.spark.read import file_values
from lakesmith.spark.read.exact_text import TextFormats, exact_from_text, inexact_from_text
from lakesmith.spark.read.exact_times import ambiguous, local_of, out_of_range, to_instant

_INFINITE = "abs({}) = float('Infinity')"
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_WITH_DIGITS = ("timestamp", "timestamp_ntz")
_TIMES = ("date", *_WITH_DIGITS)
_KEY_TWICE = "a key is given twice"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place of a column where values may be lost. ``path`` begins with the column; ``type`` is the declared
    one there.

    ``wrong`` is SQL that is true in a row where a value is not of the type; ``inexact`` where it is one
    except for digits that the type does not hold (None: not possible). ``found`` is SQL of the first such
    value's text; empty where the bytes are not text. ``why``: the cause, if it does not show in the text.
    """

    path: FieldPath
    type: str
    wrong: str
    inexact: str | None
    found: str
    why: str = ""

    @property
    def either(self) -> str:
        """SQL that is true in a row where a value is not exactly of the type."""
        return f"({self.wrong}) OR ({self.inexact})" if self.inexact else self.wrong


@dataclass(frozen=True, slots=True)
class Casts:
    """Casts of file values to declared types. ``zone``: that of local times; None: UTC, or the session's."""

    zone: str | None = None

    @property
    def _formats(self) -> TextFormats:
        return TextFormats(rounds=True, zone=self.zone)

    def as_loaded(self, read: str, found: SqlType | None) -> str:
        """Returns SQL of a column as ``sources.file_types`` says; None: of one of Spark's own types."""
        return read if found is None else self._converted(read, found, loaded_as(found), 0)

    def as_declared(self, read: str, found: SqlType, declared: SqlType) -> str:
        """Returns SQL of a column ``read``, with the file's type ``found``, as exactly the declared type."""
        value = self._converted(read, found, declared, 0)
        if not declared.outer or found.text == declared.text:
            return value
        return f"try_cast({value} AS {declared.text})"  # fields may still have the file's spelling

    def misfits(
        self, read: str, value: str | None, found: SqlType, declared: SqlType, path: FieldPath, depth: int = 0
    ) -> Iterator[Misfit]:
        """Yields where ``as_declared`` may lack values of ``read``; ``value``: its SQL, if at hand."""
        if _is_text(found) and _is_text(declared):
            # The formats promise UTF-8, but not all writers keep the promise: other engines then cannot read
            # the table.
            yield Misfit(path, "string", f"NOT is_valid_utf8({read})", None, "")
            return
        if members := _members(found, declared):
            for name, kind in members:
                yield from self.misfits(f"{read}.{name}", None, kind, declared, path, depth)
            return
        if self._always_fits(found, declared):
            return
        if not declared.outer or found.outer != declared.outer:
            made = value or self._converted(read, found, declared, depth)
            tests = self._wrong(read, made, found, declared), self._inexact(read, made, found, declared)
            yield Misfit(path, declared.text, *tests, _text(read, found))
        elif declared.outer == "struct":
            pairs, theirs = paired(declared, found), dict(found.parts)
            for field, kind in declared.parts:
                if there := pairs.get(field):
                    yield from self.misfits(
                        f"{read}.{quoted(there)}", None, theirs[there], kind, (*path, field), depth
                    )
        else:
            yield from self._inside(read, found, declared, path, depth)

    def _always_fits(self, found: SqlType, declared: SqlType) -> bool:
        if has_file_type(found) or _has_map(found):
            return False
        if any(
            kind.text == "string" or kind.text in _TIMES for kind in (*found.leaves(), *declared.leaves())
        ):
            return False
        return _same(found, declared) or _only_widens(found, declared)

    def _inside(
        self, read: str, found: SqlType, declared: SqlType, path: FieldPath, depth: int
    ) -> Iterator[Misfit]:
        """The misfits of an array's elements, or of a map's keys and values."""
        each = f"w{depth}"
        for (part, theirs), (_, ours) in zip(found.parts, declared.parts, strict=True):
            items = _items(read, part)
            for one in self.misfits(each, None, theirs, ours, (*path, part), depth + 1):
                texts = f"transform({items}, {each} -> IF({one.either}, {one.found}, NULL))"
                first = f"get(filter({texts}, kept -> kept IS NOT NULL), 0)" if one.found else ""
                inexact = f"exists({items}, {each} -> {one.inexact})" if one.inexact else None
                yield replace(
                    one, wrong=f"exists({items}, {each} -> {one.wrong})", inexact=inexact, found=first
                )
        if declared.outer == "map":
            keys = f"filter({self._keys(read, found, declared, depth)}, kept -> kept IS NOT NULL)"
            yield Misfit(path, declared.text, _any_twice(keys), None, _text(read, found), _KEY_TWICE)

    def _converted(self, read: str, found: SqlType, declared: SqlType, depth: int) -> str:
        if _same(found, declared):
            return read
        if members := _members(found, declared):
            each = (self._converted(f"{read}.{name}", kind, declared, depth) for name, kind in members)
            return f"coalesce({', '.join(each)})"
        if not declared.outer or found.outer != declared.outer:
            return self._leaf(read, found, declared)
        if declared.outer == "struct":
            return (
                f"IF({read} IS NULL, NULL,"
                f" named_struct({', '.join(self._named(read, found, declared, depth))}))"
            )
        if declared.outer == "map":
            return self._map(read, found, declared, depth)
        return self._each(read, found.parts[0][1], declared.parts[0][1], depth)

    def _each(self, items: str, found: SqlType, declared: SqlType, depth: int) -> str:
        if _same(found, declared):
            return items
        variable = f"n{depth}"
        return f"transform({items}, {variable} -> {self._converted(variable, found, declared, depth + 1)})"

    def _named(self, read: str, found: SqlType, declared: SqlType, depth: int) -> Iterator[str]:
        """The names and values of a struct's declared fields: NULL where the file has none."""
        pairs, theirs = paired(declared, found), dict(found.parts)
        for field, kind in declared.parts:
            there = pairs.get(field)
            value = f"CAST(NULL AS {kind.text})"
            if there is not None:
                value = self._converted(f"{read}.{quoted(there)}", theirs[there], kind, depth)
            yield f"{literal(field)}, {value}"

    def _map(self, read: str, found: SqlType, declared: SqlType, depth: int) -> str:
        """SQL that is NULL for the map if a key does not fit, or two become one: no map has such keys."""
        (_, their_key), (_, theirs) = found.parts
        (_, our_key), (_, ours) = declared.parts
        if _same(their_key, our_key):
            # Unlike others, this function keeps a key that the file gives twice, for ``misfits``.
            value = self._converted(f"n{depth}", theirs, ours, depth + 1)
            return f"transform_values({read}, (k{depth}, n{depth}) -> {value})"
        keys = self._keys(read, found, declared, depth)
        values = self._each(f"map_values({read})", theirs, ours, depth)
        made = f"map_from_arrays({keys}, {values})"
        return f"IF(exists({keys}, kept -> kept IS NULL) OR {_any_twice(keys)}, NULL, {made})"

    def _keys(self, read: str, found: SqlType, declared: SqlType, depth: int) -> str:
        return self._each(f"map_keys({read})", found.parts[0][1], declared.parts[0][1], depth)

    def _is_local(self, from_type: str, kind: str) -> bool:
        """Whether a local time becomes an instant in a zone whose clocks may be moved."""
        return self.zone is not None and from_type in ("date", "timestamp_ntz") and kind == "timestamp"

    def _rounds(self, from_type: str, kind: str) -> bool:
        return _has_digits(kind) or self._is_local(from_type, kind)

    def _leaf(self, read: str, found: SqlType, declared: SqlType) -> str:
        from_type, kind = found.text, declared.text
        if file_type(found):
            value, usual = file_values.seen(read, found, declared)
            return value if _same(usual, declared) else self._leaf(value, usual, declared)
        if from_type == "string" and not declared.outer:
            return exact_from_text(read, kind, self._formats)
        if self._is_local(from_type, kind):
            return to_instant(local_of(_as_ntz(read, from_type)), self.zone or "UTC")
        return (
            f"try_cast({read} AS {kind})" if _related(from_type, kind) else f"CAST(NULL AS {declared.text})"
        )

    def _wrong(self, read: str, value: str, found: SqlType, declared: SqlType) -> str:
        if not file_type(found):
            return f"{read} IS NOT NULL AND ({self._lost(read, value, found.text, declared.text)})"
        made, usual = file_values.seen(read, found, declared)
        lost = self._lost(made, value, usual.text, declared.text)
        digits = file_values.inexact(read, found, declared)
        if digits and declared.text not in _WITH_DIGITS:
            lost = f"{lost} OR {digits}"
        return f"{read} IS NOT NULL AND ({lost})"

    def _lost(self, read: str, value: str, from_type: str, kind: str) -> str:
        """SQL that is true if ``value`` is not the value ``read``, which is not NULL."""
        lost = f"{value} IS NULL"
        if kind == "float" and _is_number(from_type):
            lost = f"{lost} OR ({_INFINITE.format(value)} AND {_differs(read, value, from_type)})"
        elif (from_type, kind) == ("binary", "string"):
            lost = f"NOT is_valid_utf8({value})"
        elif (
            from_type != kind
            and kind != "string"
            and _related(from_type, kind)
            and not self._rounds(from_type, kind)
        ):
            lost = f"{lost} OR {_differs(read, value, from_type)}"
        if (beyond := out_of_range(value, kind)) is not None:
            lost = f"{lost} OR {beyond}"
        return lost

    def _inexact(self, read: str, value: str, found: SqlType, declared: SqlType) -> str | None:
        """SQL that is true if the declared type holds the value without all of its digits; or None."""
        from_type, kind = found.text, declared.text
        if file_type(found):
            made, usual = file_values.seen(read, found, declared)
            digits = file_values.inexact(read, found, declared) if kind in _WITH_DIGITS else None
            tests = [test for test in (digits, self._inexact(made, value, usual, declared)) if test]
            return any_of(tests) if tests else None
        if from_type == "string" and not declared.outer:
            return inexact_from_text(read, kind, self._formats)
        if self._is_local(from_type, kind):
            return ambiguous(local_of(_as_ntz(read, from_type)), literal(self.zone or "UTC"))
        if _is_number(from_type) and _has_digits(kind):
            finite = f"AND NOT {_INFINITE.format(value)} " if kind == "float" else ""
            return f"{value} IS NOT NULL {finite}AND {_differs(read, value, from_type)}"
        return None


def _members(found: SqlType, declared: SqlType) -> Sequence[tuple[str, SqlType]]:
    """The members of a union in Avro, a struct with one value, where no struct is declared."""
    names = [f"member{number}" for number, _ in enumerate(found.parts)]
    is_union = found.outer == "struct" and [name for name, _ in found.parts] == names
    return found.parts if is_union and declared.outer != "struct" else ()


def _has_map(kind: SqlType) -> bool:
    return kind.outer == "map" or any(_has_map(part) for _, part in kind.parts)


def _any_twice(items: str) -> str:
    return f"size(array_distinct({items})) < size({items})"


def _items(read: str, part: str) -> str:
    return {"key": f"map_keys({read})", "value": f"map_values({read})"}.get(part, read)


def _same(found: SqlType, declared: SqlType) -> bool:
    """Whether a value can stay as it is, except for the case of its fields' names."""
    if found.outer != declared.outer or not declared.outer:
        return not (found.outer or declared.outer) and found.text == declared.text
    pairs = paired(declared, found)
    in_order = [pairs.get(field) for field, _ in declared.parts] == [field for field, _ in found.parts]
    return in_order and all(
        _same(theirs, ours) for (_, theirs), (_, ours) in zip(found.parts, declared.parts, strict=True)
    )


def _is_text(kind: SqlType) -> bool:
    return not kind.outer and kind.text == "string"


def _only_widens(found: SqlType, declared: SqlType) -> bool:
    """Whether every value fits; only for types without parts, whose fields would have to be in order."""
    return not found.outer and type_changes(found.text, declared.text) is not None


def _differs(read: str, value: str, from_type: str) -> str:
    return f"NOT (try_cast({value} AS {from_type}) <=> {read})"


def _has_digits(kind: str) -> bool:
    """Whether values of the type are rounded to it, if they are numbers of more digits."""
    return kind in ("float", "double") or precision_and_scale(kind) is not None


def _related(from_type: str, kind: str) -> bool:
    """Whether a cast is a conversion at all; a number is not a timestamp: nobody knows its unit."""
    if kind == "string":
        return True
    return (_is_number(from_type) and _is_number(kind)) or (from_type in _TIMES and kind in _TIMES)


def _is_number(kind: str) -> bool:
    return kind in _NUMBERS or precision_and_scale(kind) is not None


def _as_ntz(read: str, from_type: str) -> str:
    return read if from_type == "timestamp_ntz" else f"CAST({read} AS timestamp_ntz)"


def _text(read: str, found: SqlType) -> str:
    if file_type(found):
        return file_values.text(read, found)
    text = f"to_json({read})" if found.outer else f"CAST({read} AS STRING)"
    return f"make_valid_utf8({text})" if found.text == "binary" else text
