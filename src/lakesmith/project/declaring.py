"""The declaration of settings, each by one call of ``setting`` where its field is defined.

Validation and the JSON Schemas (``written``), the reference pages (``scripts/setting_pages``), ``explain``
and the fingerprint of a table follow from it. This module imports no pydantic, because idle commands import
the definitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

_SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86400),
}
_BYTES: Final = {
    "b": 1,
    **{unit: 1000**power for power, unit in enumerate(("kb", "mb", "gb", "tb"), 1)},
    **{unit: 1024**power for power, unit in enumerate(("kib", "mib", "gib", "tib"), 1)},
}
_TIMES: Final = {unit: _SECONDS[unit] for unit in ("day", "hour", "minute", "second")}
_SIZES: Final = {unit: _BYTES[unit.lower()] for unit in ("GB", "GiB", "MB", "MiB", "KB", "KiB", "B")}
"""Units in which durations and sizes are shown."""


def seconds(text: str) -> float:
    """Returns a duration in seconds. Raises ValueError.

    >>> seconds("5 minutes"), seconds("1.5h")
    (300.0, 5400.0)
    """
    return _parsed(text, _SECONDS)


def size_in_bytes(text: str) -> int:
    """Returns a size in bytes. Raises ValueError.

    >>> size_in_bytes("1.5 MB"), size_in_bytes("1 GiB")
    (1500000, 1073741824)
    """
    return int(_parsed(text, _BYTES))


def _parsed(text: str, units: Mapping[str, int]) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text.lower())
    if found is None or found.group(2) not in units:
        raise ValueError(f"not a number and a unit: {text!r}")
    return float(found.group(1)) * units[found.group(2)]


Read = Callable[[Any], Any]
Comparison = Literal["value", "sql", "names", "own"]
_KEY: Final = "setting"


class WrongValue(ValueError):
    """A value that a setting does not accept.

    ``str()`` gives what is wrong, with ``{}`` in place of the setting's name. ``key``: the wrong setting
    inside it.
    """

    def __init__(
        self, what: str, expected: str, found: str | None = None, hint: str | None = None, key: str = ""
    ) -> None:
        super().__init__(what)
        self.expected, self.found, self.hint, self.key = expected, found, hint, key


@dataclass(frozen=True, slots=True)
class Rows:
    """How a setting decides the rows of a table, and so belongs to the fingerprint.

    ``words``: its name in messages. ``compared``: as it is (``value``), as SQL without formatting (``sql``),
    as column names in any order and case (``names``), or in a way of its own (``own``). ``always``: the
    fingerprint contains its default, too.
    """

    words: str
    compared: Comparison = "value"
    always: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """The declaration of a setting.

    ``key``: its name in the file. ``form``: the type of the written value, if it is not the field's.
    ``read``: converts the written value to the field's, and may raise WrongValue. ``usual``: the written
    default of a setting that cannot be null. ``shared``: ``_defaults.yaml`` may have it, too. ``limits``:
    constraints of the written value, by pydantic's names.
    """

    key: str
    form: Any
    read: Read | None
    usual: Any
    shared: bool
    rows: Rows | None
    limits: Mapping[str, Any]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Constraints of a written value inside another one, by pydantic's names."""

    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that can be written in several forms: ``pick`` returns the name of the form of a value."""

    forms: Mapping[str, Any]
    pick: Callable[[Any], str]


def setting(
    default: Any = MISSING,
    *,
    key: str = "",
    form: Any = None,
    read: Read | None = None,
    usual: Any = None,
    shared: bool = False,
    derived: bool = False,
    rows: Rows | None = None,
    **limits: Any,
) -> Any:
    """Declares a field of a frozen dataclass as a setting. The text below the field is its documentation.

    Without a default it is required. With ``usual``, its default is read from that. ``derived``: a file may
    leave out a field without a default, because the reader finds its value elsewhere. See Setting for the
    other arguments.
    """
    if usual is not None:
        default = read(usual) if read else usual
    required = default is MISSING and not shared and not derived
    metadata = {_KEY: Setting(key, form, read, usual, shared, rows, limits, required)}
    if isinstance(default, dict):
        found: Any = field(default_factory=dict, metadata=metadata)
    else:
        found = field(default=default, metadata=metadata)
    return found


def given() -> Any:
    """Declares a required field that is not a setting, after fields that are."""
    found: Any = field()
    return found


def settings_of(kind: type) -> Mapping[str, Setting]:
    """Returns the declared settings of a class by field; of a kind of source, only its own."""
    if kind not in _known:
        inherits = getattr(kind, "inherits_settings", True)
        own = kind.__dict__["__annotations__"]  # noqa: RUF063 - inspect is slow to import
        _known[kind] = {
            each.name: replace(declared, key=declared.key or each.name)
            for each in fields(kind)
            if (inherits or each.name in own) and (declared := each.metadata.get(_KEY)) is not None
        }
    return _known[kind]


_known: dict[type, dict[str, Setting]] = {}


def all_settings(kind: type) -> dict[str, tuple[type, Setting]]:
    """Returns the settings of a mapping by key, each with its class: those of ``kind`` and of its parts."""
    parts = getattr(kind, "parts", ()) if getattr(kind, "inherits_settings", True) else ()
    found = {declared.key: (kind, declared) for declared in settings_of(kind).values()}
    return found | {each.key: (part, each) for part in parts for each in settings_of(part).values()}


def value_of(definition: Any, key: str) -> Any:
    """Returns the value of a setting in a definition, or in a part of it, as people write it: ``6 hours``. Of
    a value that has settings, those that are not as by default. None for an unknown setting."""
    parts = (getattr(definition, each.name) for each in fields(definition))
    for holder in (definition, *(part for part in parts if is_dataclass(part))):
        for name, declared in settings_of(type(holder)).items():
            if declared.key == key:
                return _in_words(getattr(holder, name), declared.read)
    return None


def _in_words(value: Any, read: Read | None) -> Any:
    parse = read.args[0] if isinstance(read, partial) and read.func is _amount else None
    if parse is not None and value:
        units = _TIMES if parse is seconds else _SIZES
        number, unit = min((value / one, unit) for unit, one in units.items() if value % one == 0 or one == 1)
        return f"{number:g} {unit}{'s' if parse is seconds and number != 1 else ''}"
    if not is_dataclass(value) or not (own := settings_of(type(value))):
        return value
    usual = {each.name: each.default for each in fields(value)}
    given = (
        (each, getattr(value, name)) for name, each in own.items() if getattr(value, name) != usual[name]
    )
    return f"{{{', '.join(f'{each.key}: {_flat(_in_words(one, each.read))}' for each, one in given)}}}"


def _flat(value: Any) -> str:
    """Returns a value inside another one, as YAML has it on one line."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_flat, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def doc_of(kind: type, name: str) -> str:
    """Returns the documentation of a setting: the text below its field in the source, on one line."""
    for each in kind.__mro__:
        if name in each.__dict__.get("__annotations__", {}):  # noqa: RUF063 - inspect is slow to import
            return _docs_of(each).get(name, "")
    return ""


@cache
def _docs_of(kind: type) -> dict[str, str]:
    import ast
    import inspect

    (found,) = ast.parse(inspect.getsource(kind)).body
    body = found.body if isinstance(found, ast.ClassDef) else []
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def limited(kind: Any, **limits: Any) -> Any:
    """The type with constraints, for a part of a written value."""
    return Annotated[kind, Limits(limits)]


def mapping(key: Any, value: Any) -> Any:
    """A mapping whose keys and values are of these forms."""
    return dict[key, value]


def short_or_long(short: Any, long: Any) -> Choice:
    """A single value, or a mapping of settings."""
    return Choice(
        {"short form": short, "long form": long},
        lambda value: "long form" if isinstance(value, Mapping) else "short form",
    )


def duration(
    least: float = 0.0,
    expected: str = "a number and a unit: 30 seconds, 5 minutes, 2 hours, 1 day",
    within: str | None = None,
) -> Read:
    """Reads a duration such as ``5 minutes`` as seconds, at least ``least``.

    ``expected``: what a message asks for; ``within``: the same, of a duration that is too short.
    """
    return partial(_amount, seconds, "duration", (least, float("inf")), (expected, within or expected))


def size(
    least: int = 1,
    most: float = float("inf"),
    expected: str = "a number and a unit: 500 KB, 64 MiB, 1 GB",
    within: str | None = None,
) -> Read:
    """Reads a size such as ``64 MiB`` as bytes, from ``least`` to ``most``. See ``duration`` for texts."""
    return partial(_amount, size_in_bytes, "size", (least, most), (expected, within or expected))


def _amount(
    parse: Callable[[str], float],
    what: str,
    limits: tuple[float, float],
    expected: tuple[str, str],
    text: str,
) -> float:
    try:
        found = parse(text)
    except ValueError:
        raise WrongValue(f"{{}} is not a valid {what}", expected[0]) from None
    if not limits[0] <= found <= limits[1]:
        raise WrongValue(f"{{}} is too {'small' if found < limits[0] else 'large'}", expected[1])
    return found


COLUMN_PATTERN: Final = r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[A-Za-z_]\w*$"
HOST_PATTERN: Final = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
NAME_PATTERN: Final = r"^[a-z][a-z0-9_]*$"
"""The pattern of names of layers, tables, sources, targets and projects: valid in every catalog."""
PATH_PATTERN: Final = r"^(/[A-Za-z0-9_.-]+)+$"
REFERENCE_PATTERN: Final = r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$"
VARIABLE_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
ACCOUNT_PATTERN: Final = r"^[0-9]{12}$"
REGION_PATTERN: Final = r"^[a-z]{2}(-[a-z]+)+-[0-9]$"
BUCKET_PATTERN: Final = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"
MAIL_PATTERN: Final = r"^[^@\s\"\\]+@[^@\s\"\\]+$"
REPOSITORY_PATTERN: Final = r"^[A-Za-z0-9-]+(@[0-9]+)?/[A-Za-z0-9._-]+(@[0-9]+)?$"
FOLDER_PATTERN: Final = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$"

PATTERNS: Final[Mapping[str, str]] = {
    HOST_PATTERN: "a host's name without a port, in lower case: lake.example.com",
    NAME_PATTERN: "lower-case letters, digits and _, a letter first",
    VARIABLE_PATTERN: "letters, digits and _, a letter first",
    REFERENCE_PATTERN: "a table, layer.name",
    COLUMN_PATTERN: "a column of a table, layer.name.column",
    PATH_PATTERN: "a path of letters, digits, _, . and -, such as /sales",
    ACCOUNT_PATTERN: 'the twelve digits of an AWS account, in quotes: "123456789012"',
    REGION_PATTERN: "a region of AWS, such as eu-central-1",
    BUCKET_PATTERN: "the name of a bucket in S3",
    MAIL_PATTERN: "one mail address",
    REPOSITORY_PATTERN: "a repository, owner/name, as GitHub's tokens name it",
    FOLDER_PATTERN: "names without blanks, separated by /",
}
"""Each pattern of a written text, in words."""

Scalar = str | bool | int | float
ColumnName: Final = limited(str, min_length=1)
ColumnNames: Final = list[ColumnName]  # type: ignore[valid-type]
ColumnOfTable: Final = limited(str, pattern=COLUMN_PATTERN)
HostName: Final = limited(str, pattern=HOST_PATTERN)
Name: Final = limited(str, pattern=NAME_PATTERN)
TableReference: Final = limited(str, pattern=REFERENCE_PATTERN)
VariableName: Final = limited(str, pattern=VARIABLE_PATTERN)
