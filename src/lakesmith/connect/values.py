"""References that stand for values of environment variables, and for secrets in ``lakesmith.yaml``.

The project is read with references in place of the values, so no secret can be printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from lakesmith.catalog.open import CATALOG_TYPES
from lakesmith.project.definitions import Target
from lakesmith.redaction import ADDRESS_NAME, SECRET_NAME, secrets_in

_OPEN, _CLOSE = "\ue000", "\ue001"
_REFERENCE: Final = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_LOGIN: Final = re.compile(r"(?<=://)[^/@?\s]+(?=@)")
_PARAMETER: Final = re.compile(r"(?<=[?&;])(password|sslpassword|token)=([^&;]+)", re.I)


def reference(name: str) -> str:
    """Returns the reference that stands for the value of the environment variable."""
    return f"{_OPEN}{name}{_CLOSE}"


class References(Mapping[str, str]):
    """An environment in which every variable is set, to a reference to itself.

    A catalog's type is kept as it is: it is needed, and not a secret.
    """

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
    """Returns the sorted names of the variables that the text refers to."""
    return tuple(sorted(set(_REFERENCE.findall(text))))


def has_reference(text: str) -> bool:
    """Returns whether the text contains a reference."""
    return bool(_REFERENCE.search(text))


def in_python(text: str) -> str:
    parts = _REFERENCE.split(text)
    words = [f'os.environ["{part}"]' if at % 2 else json.dumps(part) for at, part in enumerate(parts)]
    return " + ".join(word for word in words if word != '""') or '""'


def in_sql(text: str) -> str:
    """Returns the value as an SQL literal, in which ``${NAME}`` is to be filled in."""
    return "'" + in_shell(text).replace("'", "''") + "'"


def in_properties(text: str) -> str:
    return _REFERENCE.sub(r"${ENV:\1}", text)


def in_shell(text: str) -> str:
    """Returns the value as a shell, ``envsubst`` and ``lakesmith.yaml`` write it: ``${NAME}``."""
    return _REFERENCE.sub(r"${\1}", text)


def without_secrets(target: Target) -> tuple[Target, tuple[str, ...]]:
    """Returns the target with a reference for each secret that is written out, and their names."""
    catalog = tuple((key, _public(target.name, key, value)) for key, value in target.catalog)
    new = set(_variables(catalog)) - set(_variables(target.catalog))
    return replace(target, catalog=catalog), tuple(sorted(new))


def _variables(settings: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return variables("".join(value for _, value in settings))


def _public(target: str, key: str, value: str) -> str:
    name = re.sub(r"\W", "_", f"{target}_{key}").upper()
    if SECRET_NAME.search(key) or (
        ADDRESS_NAME.search(key) and not has_reference(value) and secrets_in(value) is None
    ):
        return value if has_reference(value) else reference(name)
    value = _LOGIN.sub(lambda found: _kept(found[0], f"{name}_LOGIN"), value)
    return _PARAMETER.sub(lambda found: f"{found[1]}={_kept(found[2], f'{name}_PASSWORD')}", value)


def _kept(value: str, name: str) -> str:
    """Keeps a login that is partly in the environment: the part that is written out is a user's name."""
    return value if has_reference(value) else reference(name)
