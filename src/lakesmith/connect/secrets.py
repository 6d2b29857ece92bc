"""Secrets that stand in ``lakesmith.yaml`` itself: they are not printed either."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from lakesmith.connect.values import has_reference, reference, variables
from lakesmith.project.definitions import Target
from lakesmith.redaction import ADDRESS_NAME, SECRET_NAME, secrets_in

_LOGIN: Final = re.compile(r"(?<=://)[^/@?\s]+(?=@)")
_PARAMETER: Final = re.compile(r"(?<=[?&;])(password|sslpassword|token)=([^&;]+)", re.I)


def without_secrets(target: Target) -> tuple[Target, tuple[str, ...]]:
    """The target with the name of a variable in place of each secret that is written out, and those names."""
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
    """A login that is partly in the environment is known by that; its written part is a user's name."""
    return value if has_reference(value) else reference(name)
