"""Values that are in the environment, by their names: the project is read with these in place of the values themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from lakesmith.catalog.open import CATALOG_TYPES

_OPEN, _CLOSE = "\ue000", "\ue001"
_REFERENCE: Final = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


def reference(name: str) -> str:
    """What stands for the value of the environment variable."""
    return f"{_OPEN}{name}{_CLOSE}"


class References(Mapping[str, str]):
    """An environment in which every variable is set: to a reference to itself. A catalog's type is needed as it is, and is no secret."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def __getitem__(self, name: str) -> str:
        value = self._environ.get(name)
        return value if value in CATALOG_TYPES else reference(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


def variables(text: str) -> tuple[str, ...]:
    """The names of the variables that the text refers to, sorted."""
    return tuple(sorted(set(_REFERENCE.findall(text))))


def has_reference(text: str) -> bool:
    """Whether some of the text is in the environment."""
    return bool(_REFERENCE.search(text))


def in_python(text: str) -> str:
    """The value as an expression of Python."""
    parts = _REFERENCE.split(text)
    words = [f'os.environ["{part}"]' if at % 2 else json.dumps(part) for at, part in enumerate(parts)]
    told = [word for word in words if word != '""']
    return " + ".join(told) or '""'


def in_sql(text: str) -> str:
    """The value as a literal of SQL, in which ``${NAME}`` has to be filled in before."""
    return "'" + in_shell(text).replace("'", "''") + "'"


def in_properties(text: str) -> str:
    """The value as Trino's properties have it."""
    return _REFERENCE.sub(r"${ENV:\1}", text)


def in_shell(text: str) -> str:
    """The value as a shell, ``envsubst`` and ``lakesmith.yaml`` have it: ``${NAME}``."""
    return _REFERENCE.sub(r"${\1}", text)
